//! JPEGs through the whole loader: rows are the same with entry points or without, alone or in groups, and
//! statistics report the skipped blocks.

use tarflume::{
    Blocks, Dataset, Image, Loader, LoaderBuilder, OnBad, RandomResizedCrop, Shuffle, Stream,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, ShardWriter};
use tarflume_jpeg::{Header, Scanner};

const SAMPLES: u64 = 70;

/// Which entry points a shard's pictures have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Points {
    None,
    Own,
    /// Those of the picture before.
    Strange,
}

fn jpeg(ordinal: u64) -> Vec<u8> {
    let kind = PhotoKind::ALL[ordinal as usize % PhotoKind::ALL.len()];
    let width = 60 + ordinal as u16 % 50;
    let height = 90 + ordinal as u16 % 30;
    let mut bytes = Photo::new(width, height, kind).encode(ordinal).unwrap();
    if ordinal % 11 == 10 {
        bytes.truncate(bytes.len() / 2);
    }
    bytes
}

fn points_of(bytes: &[u8]) -> Vec<u8> {
    let mut blob = Vec::new();
    // Cut ones and kinds of several scans have none.
    if let Ok(header) = Header::parse(bytes) {
        _ = Scanner::new().scan(bytes, &header, &mut blob);
    }
    blob
}

fn shard(points: Points) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "0.tar").unwrap();
    let mut before = Vec::new();
    for ordinal in 0..SAMPLES {
        let bytes = jpeg(ordinal);
        shard.begin(format!("{ordinal:03}").as_bytes());
        shard.part(b"jpg", bytes.len() as u64).unwrap().copy_from_slice(&bytes);
        let own = points_of(&bytes);
        match points {
            Points::None => {}
            Points::Own => shard.entry_points(&own),
            Points::Strange => shard.entry_points(&before),
        }
        before = own;
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(folder.path(), "0.tar", Durability::Cached).unwrap();
    folder
}

fn columns(loader: LoaderBuilder, batch: u64) -> LoaderBuilder {
    fn crop() -> RandomResizedCrop {
        RandomResizedCrop::new(16).flip(0.5)
    }

    loader
        .column("image", Image::new("jpg", crop()))
        .column("second", Image::new("jpg", crop()).stream(1))
        .batch(batch)
        .threads(2)
        .on_bad(OnBad::Skip)
}

/// The ordinal of a sample, and the content of its two columns.
type Pictures = (u64, Vec<u8>, Vec<u8>);

/// The rows of an epoch by ordinal, and what was spared.
fn epoch(loader: &Loader) -> (Vec<Pictures>, Blocks) {
    let mut found = Vec::new();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let [image, second] = ["image", "second"].map(|name| batch.column(name).unwrap());
        for (row, facts) in batch.rows().enumerate() {
            found.push((facts.ordinal, image.row(row).to_vec(), second.row(row).to_vec()));
        }
    }
    found.sort();
    (found, loader.stats().blocks)
}

#[test]
fn rows_do_not_depend_on_entry_points_nor_on_what_is_decoded_together() {
    let folders =
        [Points::None, Points::Own, Points::Strange].map(|points| (points, shard(points)));
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 5 }] {
        let mut expected = None;
        for (points, folder) in &folders {
            // Batches of 2 leave nothing to decode together; of 70, eight at once.
            for batch in [2, 70] {
                let loader =
                    Loader::from_dataset(Dataset::open(folder.path()).unwrap()).shuffle(shuffle);
                let (rows, blocks) = epoch(&columns(loader, batch).build().unwrap());
                assert_eq!(rows.len() as u64, SAMPLES - SAMPLES / 11);
                assert!(expected.get_or_insert_with(|| rows.clone()) == &rows);
                assert!(blocks.drawn > 0 && blocks.drawn <= blocks.decoded);
                assert!(blocks.several_scans > 0);
                assert_eq!(blocks.entered > 0, *points == Points::Own);
                assert_eq!(blocks.refused > 0, *points == Points::Strange);
                let least = if *points == Points::Own { 0.2 } else { 0.05 };
                assert!(blocks.skipped() > least, "{}", blocks.skipped());
            }
        }
    }
}

#[test]
fn rows_of_a_stream_do_not_depend_on_decoding_groups() {
    let folder = shard(Points::Own);
    let tar = folder.path().join("0.tar");
    let [single, grouped] = [1, 70].map(|batch| {
        let stream = Stream::open(tar.to_str().unwrap()).unwrap();
        let crop = Image::new("jpg", RandomResizedCrop::new(16).flip(0.5));
        let loader = Loader::stream(stream).column("image", crop).on_bad(OnBad::Skip);
        let loader = loader.batch(batch).threads(2).build().unwrap();
        let mut found = Vec::new();
        for batch in loader.epoch(0) {
            let batch = batch.unwrap();
            let image = batch.column("image").unwrap();
            found.extend((0..batch.len()).map(|row| image.row(row).to_vec()));
        }
        assert!(loader.stats().blocks.drawn > 0);
        found
    });
    assert!(single == grouped && single.len() as u64 == SAMPLES - SAMPLES / 11);
}
