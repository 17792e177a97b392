//! Entry points on their way from the sidecar to a decoder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume::{
    DType, Dataset, Decode, Error, ErrorKind, Loader, LoaderBuilder, OnBad, Result, Row, RowShape,
    Sample, Scratch, Shuffle, Stream,
};
use tarflume_formats::{Durability, ShardWriter};

const SAMPLES: u64 = 90;

/// What a column may see of a sample: the entry points of `jpg`, a bar, and those of `json`.
struct Seen {
    wants: bool,
    /// How many samples were looked at.
    looked: Arc<AtomicU64>,
}

impl Decode for Seen {
    fn parts(&self) -> Vec<String> {
        vec!["jpg".into(), "json".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Variable(DType::U8)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        self.looked.fetch_add(1, Ordering::Relaxed);
        if sample.part(0).starts_with(b"bad") {
            return Err(Error::new(ErrorKind::Decode, "a bad picture"));
        }
        assert_eq!(sample.entry_points(7), None);
        let [jpg, json] = [0, 1].map(|n| sample.entry_points(n).unwrap_or(b"none"));
        row.put(&[jpg, b"|", json].concat())
    }

    fn wants_entry_points(&self) -> bool {
        self.wants
    }
}

/// One shard; every fifth picture has no entry points, every seventh is bad.
fn shards() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "0.tar").unwrap();
    for ordinal in 0..SAMPLES {
        shard.begin(format!("{ordinal:03}").as_bytes());
        let start: &[u8] = if ordinal % 7 == 6 { b"bad" } else { b"jpg" };
        let part = shard.part(b"jpg", 300).unwrap();
        part.fill(0);
        part[..3].copy_from_slice(start);
        if ordinal % 5 > 0 {
            shard.entry_points(format!("points of {ordinal}").as_bytes());
        }
        shard.part(b"json", 2).unwrap().copy_from_slice(b"{}");
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(folder.path(), "0.tar", Durability::Cached).unwrap();
    folder
}

fn expected(ordinal: u64) -> String {
    match ordinal % 5 {
        0 => "none|none".into(),
        _ => format!("points of {ordinal}|none"),
    }
}

fn seen(wants: bool) -> Seen {
    Seen { wants, looked: Arc::default() }
}

/// Two columns of the same parts, of which one wants entry points.
fn columns(loader: LoaderBuilder) -> LoaderBuilder {
    loader.column("with", seen(true)).column("without", seen(false)).batch(8).threads(3)
}

#[test]
fn a_decoder_gets_the_entry_points_of_its_own_sample() {
    let folder = shards();
    let mapped = Dataset::open(folder.path()).unwrap();
    for dataset in [mapped.with_mapped_sidecars(0), mapped] {
        for shuffle in
            [Shuffle::None, Shuffle::Full { seed: 5 }, Shuffle::Buffer { size: 40, seed: 5 }]
        {
            for on_bad in [OnBad::Skip, OnBad::Substitute] {
                let loader = Loader::from_dataset(dataset.clone()).shuffle(shuffle).on_bad(on_bad);
                let loader = columns(loader).build().unwrap();
                let mut rows = 0;
                let mut replaced = 0;
                for batch in loader.epoch(0) {
                    let batch = batch.unwrap();
                    let with = batch.column("with").unwrap();
                    let without = batch.column("without").unwrap();
                    for (row, facts) in batch.rows().enumerate() {
                        assert_eq!(with.row(row), expected(facts.ordinal).as_bytes());
                        assert_eq!(without.row(row), b"none|none");
                        replaced += u64::from(facts.planned != facts.ordinal);
                        rows += 1;
                    }
                }
                assert!(rows > 60);
                assert_eq!(replaced > 0, on_bad == OnBad::Substitute);
            }
        }
    }
}

#[test]
fn a_stream_has_no_entry_points() {
    let folder = shards();
    let stream = Stream::open(folder.path().join("0.tar").to_str().unwrap()).unwrap();
    let column = seen(true);
    let looked = column.looked.clone();
    let loader = Loader::stream(stream).column("with", column).on_bad(OnBad::Skip).batch(8);
    for batch in loader.build().unwrap().epoch(0) {
        let batch = batch.unwrap();
        let with = batch.column("with").unwrap();
        (0..batch.len()).for_each(|row| assert_eq!(with.row(row), b"none|none"));
    }
    assert_eq!(looked.load(Ordering::Relaxed), SAMPLES);
}
