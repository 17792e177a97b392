//! What was drawn for the rows of a batch in device memory is what was drawn for the same rows on the host.
#![allow(missing_docs, clippy::unwrap_used)]

use tarflume::transforms::Interpolation;
use tarflume::{Device, Image, Loader, LoaderBuilder, Shuffle};

use crate::gpu::simulated::alone as child;
use crate::loader::harness::Shards;
use crate::transforms::{jittered, shards};

fn builder(shards: &Shards) -> LoaderBuilder {
    let image = Image::new("jpg", jittered(Interpolation::Bilinear));
    let loader = Loader::builder(shards.path()).column("image", image);
    loader.shuffle(Shuffle::Full { seed: 5 }).batch(8).threads(2)
}

#[test]
#[ignore = "a child of the test below"]
fn child_draws() {
    let shards = shards();
    let device = Device::cuda(0).unwrap();
    let host = builder(&shards).keep_transforms().build().unwrap();
    let kept = builder(&shards).keep_transforms().device(device.clone()).build().unwrap();
    let mut rows = 0;
    for epoch in 0..2 {
        for (batch, expected) in kept.epoch(epoch).zip(host.epoch(epoch)) {
            let batch = batch.unwrap();
            let expected = expected.unwrap();
            let drawn = kept.transforms(&batch).unwrap();
            assert_eq!(drawn, host.transforms(&expected).unwrap());
            rows += drawn[0].rows.len();
        }
    }
    assert_eq!(rows, 80);
    let plain = builder(&shards).device(device).build().unwrap();
    let batch = plain.epoch(0).next().unwrap().unwrap();
    let error = plain.transforms(&batch).unwrap_err();
    assert!(error.text().contains(".keep_transforms()"), "{error}");
}

#[test]
fn draws_of_a_device_are_those_of_the_host() {
    child("gpu::draws::child_draws", &[]);
}
