//! Excerpts of JPEGs: rows are those of whole JPEGs, fewer bytes are read, and damage is judged by the whole part.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

use tarflume::{
    CenterCrop, Channels, Cut, Error, Extent, Image, ImageSize, Loader, LoaderBuilder, OnBad,
    Placement, Random, RandomResizedCrop, Resize, Result, Shuffle, SourceKind, Transform, Verify,
    Views,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, Manifest, ShardWriter};
use tarflume_jpeg::{Header, Scanner, strips};

use crate::loader::faults::replaced::renew;

const SAMPLES: u64 = 36;

/// What the sidecar has beside entry points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strips {
    None,
    Own,
    /// Those of the picture before, of another size.
    Strange,
    /// Changed in every byte that is a checksum.
    False,
    /// Right for entry points that lead to wrong places.
    Misled,
    /// With another orientation.
    Turned,
}

fn jpeg(ordinal: u64) -> Vec<u8> {
    use PhotoKind::{Exif, Gray, Progressive, Yuv420, Yuv422, Yuv444};
    let kinds = [Yuv420, Exif(6), Yuv444, Gray, Exif(3), Progressive, Yuv422, Exif(8), Yuv420];
    let (width, height) = match ordinal % 12 {
        5 => (60, 40),     // no strips
        7 => (1500, 1300), // holes of more than 64 KiB
        n => (460 + 20 * n as u16, 500),
    };
    Photo::new(width, height, kinds[ordinal as usize % kinds.len()]).encode(ordinal).unwrap()
}

fn blobs_of(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut points = Vec::new();
    let mut sums = Vec::new();
    Scanner::new().scan(bytes, &Header::parse(bytes).unwrap(), &mut points).unwrap();
    if !points.is_empty() {
        strips(bytes, &points, &mut sums).unwrap();
    }
    (points, sums)
}

/// A JPEG, its entry points and the checksums of its strips.
type Made = (Vec<u8>, Vec<u8>, Vec<u8>);

/// The JPEGs of all samples. Encoding them takes longer than an epoch.
fn jpegs() -> &'static [Made] {
    static JPEGS: OnceLock<Vec<Made>> = OnceLock::new();
    JPEGS.get_or_init(|| {
        let made = (0..SAMPLES).map(jpeg).map(|bytes| {
            let (points, sums) = blobs_of(&bytes);
            (bytes, points, sums)
        });
        made.collect()
    })
}

/// Entry points of which all but the first lead to the bit before or behind the right one (FORMAT.md).
fn misleading(mut points: Vec<u8>) -> Vec<u8> {
    if points.is_empty() {
        return points;
    }
    let [columns, rows] = [2, 4].map(|at| u16::from_le_bytes([points[at], points[at + 1]]));
    let count = usize::from(columns) * usize::from(rows) + 1;
    let residual = usize::from(points[38]);
    let width = 3 + points[38..42].iter().map(|&width| usize::from(width)).sum::<usize>();
    for n in 1..count {
        let at = n * width + residual;
        points[42 + at / 8] ^= 1 << (at % 8);
    }
    points[16..20].fill(0);
    let sum = tarflume_formats::crc32c(&points);
    points[16..20].copy_from_slice(&sum.to_le_bytes());
    points
}

fn shard(kept: Strips, compressed: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let name = if compressed { "0.tar.zst" } else { "0.tar" };
    let mut shard = if compressed {
        ShardWriter::create_compressed(folder.path(), name, 3).unwrap()
    } else {
        ShardWriter::create(folder.path(), name).unwrap()
    };
    let mut before = Vec::new();
    for (ordinal, (bytes, points, own)) in (0..SAMPLES).zip(jpegs()) {
        let points = points.clone();
        let own = own.clone();
        let header = Header::parse(bytes).unwrap();
        shard.begin(format!("{ordinal:03}").as_bytes());
        shard.part(b"cls", 1).unwrap().fill(b'0' + (ordinal % 10) as u8);
        shard.part(b"jpg", bytes.len() as u64).unwrap().copy_from_slice(bytes);
        let points = if kept == Strips::Misled { misleading(points) } else { points };
        shard.entry_points(&points);
        match kept {
            Strips::None | Strips::Misled => {}
            Strips::Own => shard.strips(&own),
            Strips::Strange => shard.strips(&before),
            Strips::Turned if own.is_empty() => {}
            Strips::Turned => shard.strips(&[&[1, 5], &own[2..]].concat()),
            Strips::False => {
                let first = own.iter().take(4).copied();
                let changed: Vec<u8> = first.chain(own.iter().skip(4).map(|b| b ^ 1)).collect();
                shard.strips(&changed);
            }
        }
        if kept == Strips::Misled && !points.is_empty() {
            let mut sums = Vec::new();
            strips(bytes, &points, &mut sums).unwrap();
            shard.strips(&sums);
        }
        before = own;
        shard.part(b"json", 2).unwrap().copy_from_slice(b"{}");
        shard.commit(Some((header.width(), header.height()))).unwrap();
    }
    let written = shard.finish().unwrap();
    let extensions = written.extensions.clone();
    let entry = written.publish(folder.path(), name, Durability::Cached).unwrap();
    let manifest = Manifest::new("test", None, extensions, vec![entry]).to_json();
    fs::write(folder.path().join("dataset.json"), manifest).unwrap();
    folder
}

fn crop() -> Image {
    Image::new("jpg", RandomResizedCrop::new(48).scale(0.05..=0.3).flip(0.5))
}

/// Two crops of each sample, and a smaller one.
fn views() -> Views {
    let smaller = Image::new("jpg", RandomResizedCrop::new(16).scale(0.01..=0.05));
    Views::new().group("pair", 2, crop()).group("small", 1, smaller)
}

fn loader(folder: &Path) -> LoaderBuilder {
    Loader::builder(folder).shuffle(Shuffle::Full { seed: 3 }).batch(5).threads(2)
}

/// The rows of two epochs, or the errors; and the bytes that were read.
fn epochs(loader: LoaderBuilder) -> (Vec<Vec<u8>>, u64) {
    let loader = loader.build().unwrap();
    let mut rows = Vec::new();
    for batch in [0, 1].into_iter().flat_map(|n| loader.epoch(n).collect::<Vec<_>>()) {
        let batch = batch.unwrap();
        for name in batch.names().filter(|name| *name != "key") {
            let column = batch.column(name).unwrap();
            rows.extend((0..batch.len()).map(|row| column.row(row).to_vec()));
        }
    }
    for bad in loader.bad_samples() {
        let byte = bad.byte;
        let key = bad.key;
        let substitute = bad.substitute;
        rows.push(format!("{byte:?} {key:?} {substitute:?} {}", bad.reason).into_bytes());
    }
    let read = loader.stats().stages.iter().map(|stage| stage.bytes).sum();
    (rows, read)
}

#[test]
fn the_rows_are_those_of_whole_jpegs_and_fewer_bytes_are_read() {
    let whole = shard(Strips::None, false);
    let some = shard(Strips::Own, false);
    let columns: [fn(LoaderBuilder) -> LoaderBuilder; 6] = [
        |loader| loader.views(&views()),
        |loader| loader.column("image", crop()),
        |loader| loader.column("image", crop()).column("class", crop().channels(Channels::Gray)),
        |loader| {
            // Another stream of random numbers: the union of two crops.
            loader.column("one", crop()).column("two", crop().stream(1))
        },
        |loader| loader.column("image", Image::new("jpg", CenterCrop::new(40)).orientation(false)),
        |loader| loader.column("image", crop().reducing_gap(None)),
    ];
    for (n, columns) in columns.into_iter().enumerate() {
        for source in [SourceKind::File, SourceKind::Mapped] {
            let with = |folder: &Path| epochs(columns(loader(folder).source(source)));
            let (expected, before) = with(whole.path());
            let (found, read) = with(some.path());
            assert!(found == expected, "columns {n} from {source:?}");
            assert!(read < before / 20 * 19, "columns {n}: {read} of {before} bytes");
        }
    }
}

/// A crop that panics for some sizes, and refuses others.
#[derive(Debug)]
struct Moody;

impl Transform for Moody {
    fn extent(&self) -> Extent {
        Extent::Fixed(32.into())
    }

    fn place(&self, source: ImageSize, _: &mut Random) -> Result<Placement> {
        assert_ne!(source.height, 1500, "the transform does not handle this height");
        if source.width == 480 {
            return Err(Error::usage("too narrow"));
        }
        Ok(Placement::of(Cut { left: 3, top: 0, size: 40.into() }, 32.into()))
    }
}

#[test]
fn a_transform_that_panics_or_fails_is_reported_as_with_whole_jpegs() {
    fn with(folder: &Path) -> (Vec<Vec<u8>>, u64) {
        let loader = loader(folder).on_bad(OnBad::Skip).bad_budget(100);
        epochs(loader.column("image", Image::new("jpg", Moody)))
    }

    fn text(rows: &[Vec<u8>]) -> String {
        String::from_utf8_lossy(&rows.concat()).into_owned()
    }

    let whole = shard(Strips::None, false);
    let some = shard(Strips::Own, false);
    let (expected, before) = with(whole.path());
    let (found, read) = with(some.path());
    assert!(
        text(&expected).contains("does not handle this height")
            && text(&expected).contains("narrow")
    );
    assert!(found == expected);
    assert!(read < before);
}

#[test]
fn columns_that_need_the_whole_part_get_it() {
    let whole = shard(Strips::None, false);
    let some = shard(Strips::Own, false);
    let columns: [fn(LoaderBuilder) -> LoaderBuilder; 3] = [
        |loader| loader.column("image", crop()).bytes("jpg"),
        |loader| loader.column("image", Image::new("jpg", Resize::exact(32))),
        |loader| loader.column("image", crop()).column("size", crop().sizes()),
    ];
    for (n, columns) in columns.into_iter().enumerate() {
        let with = |folder: &Path| epochs(columns(loader(folder)));
        let (expected, before) = with(whole.path());
        let (found, read) = with(some.path());
        assert!(found == expected, "columns {n}");
        assert_eq!(read, before, "columns {n}");
    }
}

#[test]
fn neighbors_are_read_together_as_before() {
    let whole = shard(Strips::None, false);
    let some = shard(Strips::Own, false);
    for shuffle in [Shuffle::None, Shuffle::Blocks { block: 12, window: 2, seed: 1 }] {
        let with = |folder: &Path| {
            let loader = loader(folder).shuffle(shuffle).column("image", crop()).bytes("json");
            let loader = loader.batch(12);
            epochs(loader)
        };
        let (expected, before) = with(whole.path());
        let (found, read) = with(some.path());
        assert!(found == expected, "{shuffle:?}");
        assert!(read < before, "large pictures have holes: {read} of {before} bytes");
    }
}

#[test]
fn compressed_shards_and_small_memory_give_the_same_rows() {
    let whole = shard(Strips::None, false);
    let packed = shard(Strips::Own, true);
    let (expected, _) = epochs(loader(whole.path()).column("image", crop()));
    assert!(epochs(loader(packed.path()).column("image", crop())).0 == expected);
    let some = shard(Strips::Own, false);
    let small = loader(some.path()).memory_limit("64MiB".parse().unwrap());
    assert!(epochs(small.column("image", crop())).0 == expected);
}

#[test]
fn false_strips_change_no_row() {
    let whole = shard(Strips::None, false);
    let (expected, before) = epochs(loader(whole.path()).column("image", crop()));
    for kept in [Strips::Strange, Strips::False, Strips::Misled, Strips::Turned] {
        for verify in [Verify::Off, Verify::All] {
            let folder = shard(kept, false);
            let loader = loader(folder.path()).verify(verify).column("image", crop());
            let (found, read) = epochs(loader);
            assert!(found == expected, "{kept:?}");
            if verify == Verify::All {
                assert_eq!(read, before, "files are verified whole");
            } else if matches!(kept, Strips::False | Strips::Misled) {
                assert!(read > before, "excerpts, then whole parts: {read} of {before}");
            }
        }
    }
}

/// Changes every 5,000th byte of some parts.
fn damage(folder: &Path) {
    let index = tarflume_formats::Index::open(folder.join("0.index")).unwrap();
    let tar = File::options().read(true).write(true).open(folder.join("0.tar")).unwrap();
    for sample in index.iter().step_by(3) {
        let jpg = sample.unwrap().parts().nth(1).unwrap().unwrap();
        for at in (jpg.offset + 700..jpg.offset + jpg.length).step_by(5000) {
            let mut byte = [0];
            tar.read_exact_at(&mut byte, at).unwrap();
            tar.write_all_at(&[byte[0] ^ 0x5a], at).unwrap();
        }
    }
    renew(&folder.join("0.tar")); // a disk changes bytes, but no times
}

#[test]
fn a_damaged_excerpt_is_judged_as_the_whole_part() {
    let whole = shard(Strips::None, false);
    let some = shard(Strips::Own, false);
    [&whole, &some].into_iter().for_each(|folder| damage(folder.path()));
    for verify in [Verify::Off, Verify::All] {
        for on_bad in [OnBad::Skip, OnBad::Substitute] {
            let with = |folder: &Path| {
                let loader = loader(folder).verify(verify).on_bad(on_bad).bad_budget(100);
                [epochs(loader.clone().column("image", crop())).0, epochs(loader.views(&views())).0]
            };
            let expected = with(whole.path());
            let found = with(some.path());
            assert!(found == expected, "{verify:?} {on_bad:?}");
        }
    }
}
