//! Pictures of different sizes: every row has its own shape and the room that its picture needs.

use tarflume::{
    ErrorKind, Image, Layout, Loader, LoaderBuilder, OnBad, PictureShape, Stream, Whole,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, ShardWriter};

const SAMPLES: u64 = 24;
/// A sample that is cut.
const BAD: u64 = 5;

fn sides(ordinal: u64) -> (u16, u16) {
    (40 + ordinal as u16 % 9, 30 + ordinal as u16 % 13)
}

fn jpeg(ordinal: u64) -> Vec<u8> {
    let kind = if ordinal.is_multiple_of(3) { PhotoKind::Exif(6) } else { PhotoKind::Yuv420 };
    let (width, height) = sides(ordinal);
    let mut bytes = Photo::new(width, height, kind).encode(ordinal).unwrap();
    if ordinal == BAD {
        bytes.truncate(bytes.len() / 2);
    }
    bytes
}

/// A shard whose sidecar contains the dimensions that `dimensions` returns.
fn shard(dimensions: impl Fn(u64) -> Option<(u32, u32)>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "0.tar").unwrap();
    for ordinal in 0..SAMPLES {
        let bytes = jpeg(ordinal);
        shard.begin(format!("{ordinal:03}").as_bytes());
        shard.part(b"jpg", bytes.len() as u64).unwrap().copy_from_slice(&bytes);
        shard.commit(dimensions(ordinal)).unwrap();
    }
    shard.finish().unwrap().publish(folder.path(), "0.tar", Durability::Cached).unwrap();
    folder
}

fn as_it_is(ordinal: u64) -> Option<(u32, u32)> {
    let (width, height) = sides(ordinal);
    Some((width.into(), height.into()))
}

fn loader(folder: &tempfile::TempDir, image: Image) -> LoaderBuilder {
    let loader = Loader::builder(folder.path()).column("image", image).batch(8).threads(2);
    loader.on_bad(OnBad::Skip).memory_limit("64MiB".parse().unwrap())
}

#[test]
fn every_row_has_the_shape_of_its_picture() {
    let folder = shard(as_it_is);
    for layout in [Layout::Hwc, Layout::Chw] {
        let image = Image::new("jpg", Whole::up_to(1 << 28)).layout(layout);
        let loader = loader(&folder, image).build().unwrap();
        let mut seen = 0;
        for batch in loader.epoch(0) {
            let batch = batch.unwrap();
            let column = batch.column("image").unwrap();
            for (row, facts) in batch.rows().enumerate() {
                let (width, height) = as_it_is(facts.ordinal).unwrap();
                // Those that lie on their side are turned upright.
                let turned = facts.ordinal.is_multiple_of(3);
                let (width, height) = if turned { (height, width) } else { (width, height) };
                let channels_first = layout == Layout::Chw;
                let shape = PictureShape { height, width, channels: 3, channels_first };
                assert_eq!(column.picture(row), Some(shape), "{}", facts.ordinal);
                assert_eq!(column.row(row).len(), shape.elements());
                seen += 1;
            }
            check_padded(&column, layout);
        }
        assert_eq!(seen, SAMPLES - 1);
    }
}

/// Padded pictures equal the rows where the mask is set, and the value elsewhere.
fn check_padded(column: &tarflume::Column<'_>, layout: Layout) {
    let padded = column.padded_pictures::<u8>(7).unwrap();
    let [rows, a, b, c] = padded.shape;
    let mask = padded.mask().unwrap();
    let mut own = vec![Vec::new(); rows];
    for (at, &value) in padded.values.iter().enumerate() {
        let row = at / (a * b * c);
        let i = at / (b * c) % a;
        let j = at / c % b;
        let k = at % c;
        let pixel = match layout {
            Layout::Hwc => (row * a + i) * b + j,
            Layout::Chw => (row * b + j) * c + k,
        };
        if mask[pixel] {
            own[row].push(value);
        } else {
            assert_eq!(value, 7);
        }
    }
    for (row, own) in own.iter().enumerate() {
        assert_eq!(own, column.row(row));
    }
}

/// A sidecar may have the size of another image than the first: of one whose header could be read.
#[test]
fn the_size_of_one_of_several_images_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(folder.path(), "0.tar").unwrap();
    for ordinal in 0..8 {
        shard.begin(format!("{ordinal:03}").as_bytes());
        let thumb = Photo::new(8, 4, PhotoKind::Yuv444).encode(ordinal).unwrap();
        for (ext, bytes) in [("jpg", &jpeg(0)), ("thumb.jpg", &thumb)] {
            shard.part(ext.as_bytes(), bytes.len() as u64).unwrap().copy_from_slice(bytes);
        }
        shard.commit(Some((8, 4))).unwrap();
    }
    shard.finish().unwrap().publish(folder.path(), "0.tar", Durability::Cached).unwrap();
    let loader = loader(&folder, Image::new("jpg", Whole::up_to(1 << 16))).build().unwrap();
    let batches: Vec<_> = loader.epoch(0).map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(|batch| batch.len()).sum::<usize>(), 8);
    let bad = loader.bad_samples();
    assert!(bad.is_empty(), "{bad:?}");
}

#[test]
fn rows_are_sized_by_the_sidecar() {
    fn image() -> Image {
        Image::new("jpg", Whole::up_to(1 << 28))
    }

    let known = shard(as_it_is);
    assert!(loader(&known, image()).build().unwrap().epoch(0).all(|batch| batch.is_ok()));
    // Their sizes are unknown, so the maximum is reserved.
    let unknown = shard(|_| None);
    let mut epoch = loader(&unknown, image()).build().unwrap().epoch(0);
    assert_eq!(epoch.next().unwrap().unwrap_err().kind(), ErrorKind::Limit);
    let mut epoch =
        loader(&unknown, Image::new("jpg", Whole::up_to(60 * 60))).build().unwrap().epoch(0);
    assert!(epoch.all(|batch| batch.is_ok()));
}

#[test]
fn a_picture_larger_than_in_its_sidecar_is_a_bad_sample() {
    let liar = shard(|ordinal| if ordinal == 2 { Some((8, 8)) } else { as_it_is(ordinal) });
    let loader = loader(&liar, Image::new("jpg", Whole::up_to(1 << 28))).build().unwrap();
    assert!(loader.epoch(0).all(|batch| batch.is_ok()));
    let bad: Vec<_> = loader.bad_samples().iter().map(|bad| bad.ordinal).collect();
    assert_eq!(bad, [2, BAD]);
}

#[test]
fn rows_of_a_stream_take_what_their_pictures_need() {
    let folder = shard(as_it_is);
    let stream = Stream::open(folder.path().join("0.tar").to_str().unwrap()).unwrap();
    let image = Image::new("jpg", Whole::up_to(1 << 28));
    let loader = Loader::stream(stream).column("image", image).batch(8).threads(2);
    let loader =
        loader.on_bad(OnBad::Skip).memory_limit("128MiB".parse().unwrap()).build().unwrap();
    let rows: usize = loader.epoch(0).map(|batch| batch.unwrap().len()).sum();
    assert_eq!(rows as u64, SAMPLES - 1);
}
