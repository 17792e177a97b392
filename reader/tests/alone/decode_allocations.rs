//! Allocations of decoding after warm-up: none for numbers and bytes; for pictures only inside the libraries
//! that decode and resize, a bounded number of times.
//!
//! A separate test binary, because it counts every allocation of the process.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume::transforms::operations::resize::ResizeSize;
use tarflume::transforms::{Interpolation, Recipe, operations};
use tarflume::{
    CenterCrop, Class, DType, Decode, Image, Json, Layout, Normalize, Npy, RandomResizedCrop, Raw,
    Resize, Row, Sample, Scratch, Sequence, Text, Tokens, Views,
};
use tarflume_fixtures::{Photo, PhotoKind};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(block.size() as u64, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn dealloc(&self, at: *mut u8, block: Block) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations and bytes of one sample, after one that was not counted.
fn counted(column: &dyn Decode, part: &[u8]) -> (u64, u64) {
    let room = column.shape().bytes().unwrap_or(column.room(&[part.len() as u64]) as usize);
    let fixed = column.shape().bytes().is_some();
    let mut row = vec![0u64; room.div_ceil(8)];
    let mut scratch = Scratch::default();
    let mut counts = (0, 0);
    for _ in 0..2 {
        let parts = [("ext", part)];
        let sample = Sample { key: b"a", ordinal: 0, seed: 7, parts: &parts, ..Sample::default() };
        let bytes = &mut bytemuck::cast_slice_mut(&mut row)[..room];
        let mut used = 0;
        let row = if fixed { Row::fixed(bytes) } else { Row::variable(bytes, &mut used) };
        let before = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
        let result = column.decode(&sample, row, &mut scratch);
        counts = (
            ALLOCATIONS.load(Ordering::Relaxed) - before.0,
            BYTES.load(Ordering::Relaxed) - before.1,
        );
        result.unwrap();
    }
    counts
}

fn array(shape: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let dtype = tarflume_formats::npy::Dtype { kind: 'u', size: 2, little: true };
    tarflume_formats::npy::write_header(&mut bytes, dtype, false, shape).unwrap();
    bytes.extend([7; 12]);
    bytes
}

#[test]
fn a_warm_thread_allocates_nothing_but_what_picture_libraries_do() {
    fn number(pointer: &str) -> Json {
        Json::new("ext", pointer)
    }

    fn crop() -> RandomResizedCrop {
        RandomResizedCrop::new(224).flip(1.0)
    }

    let json = br#"{"name": "tench", "class": 3, "box": [1, 2.5, 3, 4], "deep": {"x": [1, 2]}}"#;
    let ids = array(&[6]);
    let array = array(&[3, 2]);
    let tokens = Tokens::new(9).parts("ext", "ext");
    let none: [(&str, Box<dyn Decode>, &[u8]); 12] = [
        ("a JSON number", Box::new(number("/class")), json),
        ("a JSON array", Box::new(number("/box").dtype(DType::F32).shape([4])), json),
        ("a JSON list", Box::new(number("/box").dtype(DType::F32).variable()), json),
        ("a JSON text", Box::new(number("/name").text()), json),
        ("a JSON label", Box::new(number("/name").labels(["shark", "tench"])), json),
        ("a JSON default", Box::new(number("/no").default(1)), json),
        ("raw bytes", Box::new(Raw::new("ext")), b"bytes"),
        ("text", Box::new(Text::new("ext")), b"text"),
        ("a class", Box::new(Class::new("ext")), b"207\n"),
        ("an array", Box::new(Npy::new("ext", DType::U16).shape([3, 2])), &array),
        ("a sequence", Box::new(Sequence::new(Raw::new("ext")).pad_to(9, 0)), b"bytes"),
        ("token ids", Box::new(tokens.ids()), &ids),
    ];
    for (name, column, part) in &none {
        assert_eq!(counted(column.as_ref(), part), (0, 0), "{name}");
    }

    // A crop without resizing: what is left is the decoder's own. Resizing adds the weights, two
    // small lists for each row and column of the output at most.
    let photo = Photo::new(500, 375, PhotoKind::Yuv420).encode(1).unwrap();
    let pixels = 500 * 375 * 3;
    let (decoder, bytes) = counted(&Image::new("ext", CenterCrop::new(224)), &photo);
    assert!(decoder <= 60, "{decoder} allocations by the JPEG decoder");
    assert!(bytes < pixels, "{bytes} bytes: the picture itself is in a kept buffer");
    let normalized = Image::new("ext", crop()).layout(Layout::Chw).to_f16(Normalize::imagenet());
    for column in [Image::new("ext", Resize::exact(224)), Image::new("ext", crop()), normalized] {
        let (count, bytes) = counted(&column, &photo);
        assert!(count <= decoder + 2 * 224 + 16, "{count} allocations by {column:?}");
        assert!(bytes < pixels, "{bytes} bytes by {column:?}");
    }
    let local = Image::new("ext", RandomResizedCrop::new(96));
    let views = Views::new().group("global", 2, Image::new("ext", crop())).group("local", 3, local);
    for column in views.columns() {
        let (count, bytes) = counted(&column, &photo);
        let resizes = 2 * (2 * 224 + 16) + 3 * (2 * 96 + 16);
        assert!(count <= decoder + resizes, "{count} allocations by the views {}", column.name());
        assert!(bytes < pixels, "{bytes} bytes by the views {}", column.name());
    }
    // The decoder and the first resize are in the allowance above; a frame resizes once more.
    let size = ResizeSize::Exact([112, 112]);
    let resize =
        operations::resize::Resize { size, interpolation: Interpolation::Bilinear, max_size: None };
    let crop = operations::crop::RandomResizedCrop::new([224, 224]);
    let recipe = Recipe::new([crop.into(), resize.into()]);
    let (count, bytes) = counted(&Image::new("ext", recipe), &photo);
    assert!(count <= decoder + 2 * 224 + 2 * 112 + 32, "{count} allocations by a recipe");
    assert!(bytes < pixels, "{bytes} bytes by a recipe");
}
