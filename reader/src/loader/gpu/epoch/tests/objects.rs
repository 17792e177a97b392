//! Columns of objects in the memory of a simulated device.

use tarflume_annotations::boxes::BoxFormat;
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_transforms::Mosaic;

use super::*;
use crate::{Annotations, Boxes, Image, Keypoints, Masks, RandomResizedCrop, Resize};

const NAMES: [&str; 4] = ["boxes", "labels", "masks", "points"];

/// The number of objects of a sample: none of some, and more and more of the others.
fn count(ordinal: u64) -> u64 {
    if ordinal.is_multiple_of(3) { 0 } else { 1 + ordinal / 6 }
}

/// What `one` writes for each object of a sample.
fn list(ordinal: u64, one: fn(u64, u64) -> String) -> String {
    let all: Vec<String> = (0..count(ordinal)).map(|n| one(ordinal, n)).collect();
    format!("[{}]", all.join(","))
}

/// The annotations of a sample.
fn json(ordinal: u64) -> String {
    let boxes = list(ordinal, |ordinal, n| format!("[{n}, 2, 40, {}]", 20 + ordinal));
    let classes = list(ordinal, |ordinal, n| (100 * ordinal + n).to_string());
    let outlines = list(ordinal, |ordinal, n| format!("[[{n}, 2, 60, 2, 60, {}]]", 22 + ordinal));
    let points = list(ordinal, |_, n| format!("[{n}, 5, 2, 30, 30, 1]"));
    format!(r#"{{"b": {boxes}, "c": {classes}, "s": {outlines}, "p": {points}}}"#)
}

/// A data set of pictures of 96 x 80 pixels with objects.
fn shards() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    let photo = Photo::new(96, 80, PhotoKind::Yuv420).encode(3).unwrap();
    for ordinal in 0..SAMPLES {
        shard.begin(format!("{ordinal:04}").as_bytes());
        let json = json(ordinal);
        for (ext, bytes) in [(&b"jpg"[..], &photo[..]), (b"json", json.as_bytes())] {
            shard.part(ext, bytes.len() as u64).unwrap().copy_from_slice(bytes);
        }
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

fn columns(dir: &tempfile::TempDir, image: Image) -> LoaderBuilder {
    let annotations = Annotations::of(&image)
        .boxes("boxes", Boxes::new("/b", BoxFormat::Xywh))
        .values("labels", "/c", DType::I64)
        .masks("masks", Masks::new("/s"))
        .keypoints("points", Keypoints::new("/p", 2));
    let builder = Loader::builder(dir.path()).column("image", image).annotations(&annotations);
    builder.batch(BATCH).threads(2)
}

fn crop() -> Image {
    Image::new("jpg", RandomResizedCrop::new(48).flip(0.5))
}

/// Has a stream compare all columns of objects on the device with those of a batch on the host.
fn compare(
    simulated: &FakeDevice,
    batch: &DeviceBatch,
    right: &crate::Batch,
    seen: &Arc<AtomicU64>,
) {
    let stream = DeviceStream::LEGACY;
    batch.ready_on(stream).unwrap();
    for name in NAMES {
        let column = batch.objects(name).unwrap();
        let host = right.column(name).unwrap();
        let elements = host.bytes().len() / host.dtype().size();
        let inner: &[usize] = match name {
            "boxes" => &[4],
            "points" => &[2, 3],
            _ => &[],
        };
        let objects = elements / inner.iter().product::<usize>();
        assert_eq!(column.shape, [&[objects], inner].concat(), "{name}");
        assert_eq!((column.dtype, column.pointer % 64), (host.dtype(), 0));
        assert_eq!(batch.host().column(name).unwrap().bytes(), host.bytes());
        let expected = host.bytes().to_vec();
        let seen = seen.clone();
        let place = (column.pointer & 0xffff_ffff) as usize;
        simulated.read(stream, column.pointer >> 32 << 32, move |memory| {
            assert!(memory[place..].starts_with(&expected), "the device has other {name}");
            seen.fetch_add(expected.len() as u64, Ordering::SeqCst);
        });
    }
}

/// Takes two epochs on a device and on the host, and compares them. Returns the bytes of objects.
fn same_as_on_the_host(
    simulated: &Arc<FakeDevice>,
    slots: usize,
    builder: fn(&tempfile::TempDir) -> LoaderBuilder,
) -> u64 {
    let dir = shards();
    let loader = on(simulated, builder(&dir), slots).build().unwrap();
    let host = builder(&dir).build().unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let mut bytes = 0;
    for epoch in 0..2 {
        let right: Vec<_> = host.epoch(epoch).map(Result::unwrap).collect();
        let mut steps = 0;
        for (batch, right) in loader.epoch(epoch).zip(&right) {
            compare(simulated, &batch.unwrap(), right, &seen);
            let of = NAMES.map(|name| right.column(name).unwrap().bytes().len());
            bytes += of.iter().sum::<usize>() as u64;
            steps += 1;
        }
        assert_eq!(steps, right.len());
    }
    simulated.drain(DeviceStream::LEGACY);
    assert_eq!(seen.load(Ordering::SeqCst), bytes);
    let copied = loader.stats().stage("upload").unwrap().bytes;
    assert!(copied >= bytes, "{copied} of {bytes} bytes");
    bytes
}

fn shuffled(dir: &tempfile::TempDir) -> LoaderBuilder {
    columns(dir, crop()).shuffle(Shuffle::Full { seed: 9 })
}

fn ordered(dir: &tempfile::TempDir) -> LoaderBuilder {
    columns(dir, Image::new("jpg", Resize::exact(128)))
}

fn mosaics(dir: &tempfile::TempDir) -> LoaderBuilder {
    let mosaic = Mosaic { p: 0.7, ..Mosaic::default() };
    columns(dir, Image::new("jpg", Resize::exact(64))).mosaic(mosaic)
}

#[test]
fn objects_on_the_device_are_those_of_the_host() {
    for (delay, slots) in [(SLOW, 1), (FAST, 3)] {
        let simulated = Arc::new(FakeDevice::new(delay));
        assert!(same_as_on_the_host(&simulated, slots, shuffled) > 0);
        assert_eq!(simulated.used(), 0, "device memory is left");
    }
}

/// In the order of the shard, each batch has more objects than the one before. Their masks are longer than the memory that a
/// slot has at first.
#[test]
fn memory_for_objects_grows_with_the_batches() {
    for slots in [1, 3] {
        let simulated = Arc::new(FakeDevice::new(FAST));
        assert!(same_as_on_the_host(&simulated, slots, ordered) > 2 << 20);
        assert_eq!(simulated.used(), 0, "device memory is left");
    }
}

#[test]
fn objects_of_mosaics_are_those_of_the_host() {
    let simulated = Arc::new(FakeDevice::new(FAST));
    assert!(same_as_on_the_host(&simulated, 2, mosaics) > 0);
}

#[test]
fn a_column_tells_how_it_is_taken() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = on(&simulated, columns(&dir, crop()).text("json"), 2).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    assert_eq!(batch.columns().map(|column| column.name).collect::<Vec<_>>(), ["image"]);
    let refused = [
        batch.column("boxes"),
        batch.objects("image"),
        batch.objects("json"),
        batch.objects("box"),
    ];
    let said = refused.map(|column| column.unwrap_err().to_string());
    assert!(said[0].contains("different numbers of objects: use objects(\"boxes\")"), "{said:?}");
    assert!(said[1].contains("is not one of objects: use column(\"image\")"), "{said:?}");
    assert!(said[2].contains("is not one of objects"), "{said:?}");
    assert!(said[3].contains("no column 'box'"), "{said:?}");
    let text = batch.host().column("json").unwrap();
    assert_eq!((text.dtype(), text.row(1)), (DType::U8, json(1).as_bytes()));
}

/// The device has memory for the pictures of its slot, and not for the masks of a later batch.
#[test]
fn too_little_memory_for_objects_ends_the_epoch() {
    let dir = shards();
    let room = BATCH * 128 * 128 * 3 + (132 << 10);
    let simulated = Arc::new(FakeDevice::new(FAST).with_room(room));
    let loader = on(&simulated, ordered(&dir), 1).build().unwrap();
    let mut batches = 0;
    let mut said = None;
    for batch in loader.epoch(0) {
        match batch {
            Ok(batch) => batches += usize::from(batch.objects("masks").is_ok()),
            Err(error) => said = Some(error),
        }
    }
    let error = said.expect("an error of memory");
    assert!((1..10).contains(&batches), "{batches}");
    assert_eq!(error.kind(), ErrorKind::Device, "{error}");
    assert!(error.to_string().contains("bytes are free"), "{error}");
    drop(loader);
    assert_eq!(simulated.used(), 0, "device memory is left");
}
