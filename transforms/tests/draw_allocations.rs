//! Allocations of drawing and of mixing after warm-up: none.
//!
//! A separate test binary, because it counts every allocation of the process.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume_image::ImageSize;
use tarflume_transforms::actions::{Action, MixBegin, MixEnd, MixNext, SolarizeAdd};
use tarflume_transforms::operations::{Operation, Shape};
use tarflume_transforms::{Frame, Recipe, apply};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const POLICIES: [&str; 10] = [
    r#"{"RandAugment": {"num_ops": 3}}"#,
    r#"{"TrivialAugmentWide": {}}"#,
    r#"{"AutoAugment": {"policy": "imagenet"}}"#,
    r#"{"AutoAugment": {"policy": "svhn"}}"#,
    r#"{"AugMix": {"alpha": 0.3, "mixture_width": 5}}"#,
    r#"{"TimmAugment": {"config": "rand-m9-mstd0.5-inc1"}}"#,
    r#"{"TimmAugment": {"config": "rand-m9-n5-tweights"}}"#,
    r#"{"TimmAugment": {"config": "v0r-mstd0.5"}}"#,
    r#"{"TimmAugment": {"config": "3a"}}"#,
    r#"{"TimmAugment": {"config": "augmix-m5-w4"}}"#,
];

/// The allocations of the best of three runs: the first warms up, and the test harness allocates beside them.
fn fewest_allocations(mut run: impl FnMut()) -> u64 {
    let counts = [(); 3].map(|()| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        run();
        ALLOCATIONS.load(Ordering::Relaxed) - before
    });
    counts.into_iter().min().expect("there are three")
}

#[test]
fn drawing_and_mixing_allocate_nothing_after_warm_up() {
    let mut actions = Vec::with_capacity(100);
    let on = Shape { size: ImageSize::new(224, 224), channels: 3 };
    for policy in POLICIES {
        let recipe = Recipe::new([serde_json::from_str::<Operation>(policy).unwrap()]);
        recipe.validate().unwrap();
        let fewest = fewest_allocations(|| {
            for seed in 0..1000 {
                actions.clear();
                recipe.draw(seed, 0, on, &mut actions).unwrap();
            }
        });
        assert_eq!(fewest, 0, "{policy}");
    }

    let ssd: Operation = serde_json::from_str(r#"{"RandomIoUCrop": {}}"#).unwrap();
    let flip: Operation = serde_json::from_str(r#"{"RandomHorizontalFlip": {}}"#).unwrap();
    let recipe = Recipe::new([flip, ssd]);
    let boxes = [[20.0, 30.0, 120.0, 100.0]; 10];
    let fewest = fewest_allocations(|| {
        for seed in 0..100 {
            actions.clear();
            recipe.draw_with(seed, 0, on, Some(&boxes), &mut actions).unwrap();
        }
    });
    assert_eq!(fewest, 0, "boxes");

    let mix: [Action; 5] = [
        MixBegin { weight: 0.5 }.into(),
        SolarizeAdd { add: 9, threshold: 128 }.into(),
        MixNext { weight: 0.25 }.into(),
        SolarizeAdd { add: 3, threshold: 200 }.into(),
        MixEnd { weight: 0.25 }.into(),
    ];
    let mut frame = Frame::default();
    let fewest = fewest_allocations(|| {
        for size in [ImageSize::new(64, 48), ImageSize::new(3, 1)] {
            frame.begin(size, 3).unwrap().fill(7);
            apply(&mix, &mut frame).unwrap();
        }
    });
    assert_eq!(fewest, 0);
}
