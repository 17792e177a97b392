//! Recipes of a resident data set: what the host's own code makes of the pixels that the device draws for the crop alone.

use tarflume::internal::sample_seed;
use tarflume::transforms::{Frame, Recipe, Shape, apply};
use tarflume::{
    ErrorKind, Image, ImageSize, Layout, Loader, LoaderBuilder, Normalize, OnBad, Remainder,
    Residency, Shuffle, TransformsOn,
};

use super::{Consumer, LATE, child, device, image, shards};

const SEED: u64 = 4;

/// A crop, and what follows it: everything that draws, and keeps the size.
const CROP: &str = r#"{"RandomResizedCrop": {"size": [20, 20]}}, {"RandomHorizontalFlip": {}}"#;
const REST: &str = r#"{"RandAugment": {"num_ops": 3}}, {"RandomAffine": {"degrees": [-30.0, 30.0], "translate": [0.2, 0.2]}},
    {"GaussianBlur": {"kernel_size": [5, 5]}}, {"RandomErasing": {"p": 0.5, "value": "random"}}"#;

fn recipe(rest: bool) -> Recipe {
    let text = if rest { format!("[{CROP}, {REST}]") } else { format!("[{CROP}]") };
    serde_json::from_str(&text).unwrap()
}

fn residency() -> Residency {
    Residency::within("64MiB".parse().unwrap())
}

fn of(dir: &tempfile::TempDir, image: Image) -> LoaderBuilder {
    Loader::builder(dir.path())
        .column("image", image)
        .label("json", "/class")
        .shuffle(Shuffle::Full { seed: SEED })
        .on_bad(OnBad::Skip)
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

#[test]
#[ignore = "a child of the test below"]
fn child_resident() {
    let dir = shards();
    let consumer = Consumer::new();
    for kept in [residency(), residency().yuv420(), residency().compressed()] {
        let changed = Image::new("jpg", recipe(true)).transforms_on(TransformsOn::Device);
        let floats = changed.clone().layout(Layout::Chw).to_f32(Normalize::unit());
        let all = [Image::new("jpg", recipe(false)), changed, floats];
        let [crops, bytes, floats] = all.map(|image| {
            let builder = of(&dir, image).device(device()).device_slots(2);
            builder.resident(kept.clone()).build().unwrap()
        });
        let mut rows = 0;
        for epoch in 0..2 {
            let all = crops.epoch(epoch).zip(bytes.epoch(epoch)).zip(floats.epoch(epoch));
            for ((crop, made), floats) in all {
                let [crop, made, floats] = [crop, made, floats].map(Result::unwrap);
                let [from, found, numbers] = [&crop, &made, &floats].map(|batch| {
                    batch.ready_on(consumer.stream()).unwrap();
                    let column = batch.column("image").unwrap();
                    let all = column.shape.iter().product::<usize>() * column.dtype.size();
                    consumer.read(column.pointer, all)
                });
                let rows_of = from.chunks(1200).zip(found.chunks(1200)).zip(numbers.chunks(4800));
                for (ordinal, ((from, found), numbers)) in crop.host().ordinals().zip(rows_of) {
                    let right = expected(epoch, ordinal, from);
                    assert!(found == right, "sample {ordinal} of epoch {epoch}: {kept}");
                    same_numbers(&right, numbers);
                    rows += 1;
                }
            }
        }
        assert_eq!(rows, 44, "{kept}");
        // 64 bytes of a header and a list of each row, and no pixel.
        let batch = bytes.epoch(2).next().unwrap().unwrap();
        assert_eq!(batch.host().column("image").unwrap().bytes().len(), 4 * (64 + 2048));
    }
    let error = of(&dir, Image::new("jpg", recipe(true))).device(device()).resident(residency());
    let error = error.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("transforms_on=\"device\""), "{error}");
    let late = image(LATE, TransformsOn::Device);
    let error = of(&dir, late).device(device()).resident(residency()).build().unwrap_err();
    assert!(error.to_string().contains("RandomCrop changes it"), "{error}");
}

/// The crop's pixels, changed by the host.
fn expected(epoch: u64, ordinal: u64, crop: &[u8]) -> Vec<u8> {
    let size = ImageSize::new(60 + ordinal as u32, 50 + 2 * ordinal as u32);
    let on = Shape { size, channels: 3 };
    let seed = sample_seed(SEED, epoch, ordinal);
    let mut actions = Vec::new();
    recipe(true).draw(seed, 0, on, &mut actions).unwrap();
    let placed = recipe(true).placed(seed, 0, on, &actions);
    let mut frame = Frame::default();
    frame.begin(ImageSize::new(20, 20), 3).unwrap().copy_from_slice(crop);
    apply(&actions[placed..], &mut frame).unwrap();
    frame.pixels().to_vec()
}

/// Outside of erased rectangles floats are the bytes: a row of another type has the same changes.
fn same_numbers(bytes: &[u8], numbers: &[u8]) {
    let mut others = 0;
    for (at, number) in numbers.as_chunks::<4>().0.iter().enumerate() {
        let byte = bytes[at % 400 * 3 + at / 400];
        others += usize::from((f32::from_ne_bytes(*number) * 255.0 - f32::from(byte)).abs() > 1e-3);
    }
    assert!(others <= 1200 / 2, "{others} of 1200 differ");
}

#[test]
fn a_resident_data_set_takes_recipes() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::device_transforms::resident::child_resident", cache.path(), &[]);
}
