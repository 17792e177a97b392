//! Mixed batches in the memory of a simulated device: to the bit what the host has.

use tarflume::transforms::mixing::{Mix, MixMode};
use tarflume::{
    Device, DeviceShare, ErrorKind, Image, Libraries, Loader, LoaderBuilder, Normalize, Residency,
    Resize, Shuffle,
};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::gpu::simulated::{Consumer, child};
use crate::loader::harness::{Shards, json, key};

fn shards() -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..12).map(|o| (key(o), vec![("jpg", photo(o)), ("json", json(o))])));
    shards
}

fn photo(o: u64) -> Vec<u8> {
    Photo::new(40 + o as u16, 50, PhotoKind::Yuv420).encode(o).unwrap()
}

fn builder(shards: &Shards, image: Image) -> LoaderBuilder {
    let other = Image::new("jpg", Resize::exact(9)).to_f16(Normalize::imagenet());
    let mix = Mix::new("image", "label").mixup(0.8).cutmix(1.0).num_classes(10);
    Loader::builder(shards.path())
        .shuffle(Shuffle::Full { seed: 4 })
        .column("image", image)
        .column("other", other)
        .label("json", "/class")
        .mix(mix.mode(MixMode::Elem))
        .batch(4)
        .threads(2)
}

fn floats() -> Image {
    Image::new("jpg", Resize::exact(16)).to_f32(Normalize::imagenet())
}

fn device() -> Device {
    let libraries = std::env::var_os("SITE").map(std::path::PathBuf::from);
    Device::cuda_with(0, Libraries::beside(libraries)).unwrap()
}

#[test]
#[ignore = "a child of the test below"]
fn child_equal() {
    let shards = shards();
    let host = builder(&shards, floats()).build().unwrap();
    let there = builder(&shards, floats()).device(device()).build().unwrap();
    let consumer = Consumer::new();
    let mut batches = 0;
    for (right, batch) in host.epoch(0).zip(there.epoch(0)) {
        let right = right.unwrap();
        let batch = batch.unwrap();
        batch.ready_on(consumer.stream()).unwrap();
        for column in right.columns() {
            let found = batch.column(column.name()).unwrap();
            let bytes = consumer.read(found.pointer, column.bytes().len());
            assert!(bytes == column.bytes(), "{} of step {}", column.name(), right.step());
        }
        batches += 1;
    }
    assert_eq!(batches, 3);
    let shared = floats().device_decoder(DeviceShare::auto(500));
    let error = builder(&shards, shared).device(device()).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("leave the device's decoder out"), "{error}");
    let resident = Residency::within("1GiB".parse().unwrap());
    let error = builder(&shards, floats()).device(device()).resident(resident).build();
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("resident"), "{error}");
}

#[test]
fn a_device_gets_the_mixed_batches_of_the_host() {
    let cache = tempfile::tempdir().unwrap();
    child("mixing::device::child_equal", cache.path(), &[]);
}
