//! Excerpts of JPEGs from a store: the rows of the files, fewer bytes, and a flipped byte changes no row.

use tarflume::{Dataset, Image, Loader, LoaderBuilder, RandomResizedCrop, Shuffle, Size, Stats};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, Manifest, ShardWriter};
use tarflume_jpeg::{Header, Scanner, strips};
use tarflume_store::simulated::{Asked, Fault, Server};

use super::Set;

const PHOTOS: u64 = 14;

/// A set of one shard of photographs of 1300 x 1000 pixels, with strips or without.
fn photos(with_strips: bool) -> Set {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "shard-000000.tar").unwrap();
    for ordinal in 0..PHOTOS {
        let kind = if ordinal % 2 == 0 { PhotoKind::Yuv420 } else { PhotoKind::Exif(6) };
        let bytes = Photo::new(1300, 1000, kind).encode(ordinal).unwrap();
        let mut points = Vec::new();
        let mut sums = Vec::new();
        let header = Header::parse(&bytes).unwrap();
        Scanner::new().scan(&bytes, &header, &mut points).unwrap();
        strips(&bytes, &points, &mut sums).unwrap();
        shard.begin(format!("{ordinal:06}").as_bytes());
        shard.part(b"jpg", bytes.len() as u64).unwrap().copy_from_slice(&bytes);
        shard.entry_points(&points);
        if with_strips {
            shard.strips(&sums);
        }
        shard.commit(Some((header.width(), header.height()))).unwrap();
    }
    let written = shard.finish().unwrap();
    let extensions = written.extensions.clone();
    let entry = written.publish(folder.path(), "shard-000000.tar", Durability::Cached).unwrap();
    let manifest = Manifest::new("test", None, extensions, vec![entry]).to_json();
    std::fs::write(folder.path().join("dataset.json"), manifest).unwrap();
    Set::of(Server::new(), folder)
}

fn images(dataset: Dataset, shuffle: Shuffle) -> LoaderBuilder {
    let crop = RandomResizedCrop::new(32).scale(0.05..=0.3);
    // Each batch is read before the next is planned, so the requests are the same in every run.
    let loader = Loader::from_dataset(dataset).shuffle(shuffle).batch(4).threads(1).prefetch(1);
    loader.column("image", Image::new("jpg", crop))
}

/// The pictures of two epochs.
fn run(builder: LoaderBuilder) -> (Vec<Vec<u8>>, Stats) {
    let loader = builder.build().unwrap();
    let mut rows = Vec::new();
    for batch in [0, 1].into_iter().flat_map(|n| loader.epoch(n).collect::<Vec<_>>()) {
        let batch = batch.unwrap();
        let column = batch.column("image").unwrap();
        rows.extend((0..batch.len()).map(|row| column.row(row).to_vec()));
    }
    (rows, loader.stats())
}

/// Ranges of shards that were asked for, and their bytes.
fn asked(set: &Set) -> (usize, u64) {
    let asked = set.server.take_asked();
    let ranges = asked.iter().filter(|asked| asked.name.ends_with(".tar"));
    let lengths: Vec<u64> = ranges.filter_map(|asked| asked.range).map(|(a, b)| b - a).collect();
    (lengths.len(), lengths.iter().sum())
}

#[test]
fn fewer_bytes_are_asked_for_and_holes_cost_a_request() {
    let whole = photos(false);
    let some = photos(true);
    for shuffle in [Shuffle::Full { seed: 2 }, Shuffle::None] {
        let files = run(images(some.local(), shuffle)).0;
        for set in [&whole, &some] {
            asked(set);
        }
        assert!(run(images(whole.remote(), shuffle)).0 == files);
        let (requests, bytes) = asked(&whole);
        let [(all, most), (more, least)] = [1 << 30, 0].map(|hole| {
            let storage = some.storage().hole(Size::new(hole));
            let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
            assert!(run(images(dataset, shuffle)).0 == files);
            asked(&some)
        });
        let text = format!("{requests} {bytes}, {all} {most}, {more} {least}");
        assert!(all <= requests && more > requests, "{text}");
        assert!(least < most && most <= bytes && least < bytes * 7 / 10, "{text}");
    }
}

/// Flips a byte of the first answers that have one there.
fn flip(at: usize) -> impl FnMut(&Asked) -> Option<Fault> {
    let mut left = 5;
    move |asked| {
        let (from, to) = asked.range.filter(|_| asked.name.ends_with(".tar"))?;
        if left == 0 || to - from < at as u64 + 1000 {
            return None;
        }
        left -= 1;
        Some(Fault::Flip(at))
    }
}

#[test]
fn a_byte_that_flips_on_its_way_changes_no_row_and_is_named() {
    let set = photos(true);
    let shuffle = Shuffle::Full { seed: 2 };
    let files = run(images(set.local(), shuffle)).0;
    for at in [100, 900, 20_000] {
        set.server.plan(flip(at));
        let (rows, stats) = run(images(set.remote(), shuffle));
        assert!(rows == files, "byte {at}");
        // A byte of a hole is not looked at.
        assert!(stats.reread <= 5 && (stats.reread > 0 || at == 20_000), "{at}: {stats}");
        assert!(stats.reread_texts.iter().all(|text| text.contains("shard-000000.tar")));
    }
}
