//! Sizes as torchvision computes them, and refused arguments.

use super::*;
use crate::{Operation, Recipe};

fn sizes(operation: impl Into<Operation>, from: [u32; 2]) -> Vec<(u32, u32)> {
    let recipe = Recipe::new([operation.into()]);
    recipe.validate().unwrap();
    let on = Shape { size: ImageSize::new(from[0], from[1]), channels: 3 };
    let seeds = 0..400;
    let drawn = seeds.map(|seed| recipe.draw(seed, 0, on, &mut Vec::new()).unwrap().size);
    let mut sizes: Vec<(u32, u32)> = drawn.map(|size| (size.width, size.height)).collect();
    let most = recipe.most_pixels(on.size.pixels());
    assert!(
        from[0].max(from[1]) > 4 * from[0].min(from[1])
            || sizes.iter().all(|s| u64::from(s.0) * u64::from(s.1) <= most)
    );
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn resize(size: ResizeSize, max_size: Option<u32>) -> Resize {
    Resize { size, interpolation: Interpolation::Bilinear, max_size }
}

/// Width and height, then those that `torchvision.transforms.v2.Resize` makes of them.
#[test]
fn resized_pictures_have_the_size_of_torchvision() {
    fn shorter(from: [u32; 2], side: u32, max_size: Option<u32>) -> (u32, u32) {
        sizes(resize(ResizeSize::Shorter(side), max_size), from)[0]
    }

    assert_eq!(shorter([500, 375], 256, None), (341, 256));
    assert_eq!(shorter([375, 500], 256, None), (256, 341));
    assert_eq!(shorter([500, 375], 256, Some(300)), (300, 225));
    assert_eq!(shorter([100, 100], 256, Some(300)), (256, 256));
    assert_eq!(shorter([1000, 1], 256, None), (256_000, 256));
    assert_eq!(shorter([1000, 1], 256, Some(300)), (300, 1));
    assert_eq!(sizes(resize(ResizeSize::Exact([7, 9]), None), [500, 375]), [(9, 7)]);
}

#[test]
fn random_lengths_are_within_their_range() {
    let some = RandomResize { min_size: 5, max_size: 8, interpolation: Interpolation::Bilinear };
    assert_eq!(sizes(some, [20, 10]), [(10, 5), (12, 6), (14, 7)]);
    let interpolation = Interpolation::Bilinear;
    let lengths = |max_size| RandomShortestSize { min_size: vec![6, 9], max_size, interpolation };
    assert_eq!(sizes(lengths(None), [10, 20]), [(6, 12), (9, 18)]);
    assert_eq!(sizes(lengths(Some(15)), [10, 20]), [(6, 12), (7, 15)]);
    let jitter = ScaleJitter { target_size: [40, 20], scale_range: [0.5, 1.0], interpolation };
    let found = sizes(jitter, [20, 20]);
    assert_eq!((found[0], *found.last().unwrap()), ((10, 10), (19, 19)));
}

#[test]
fn a_letterbox_is_a_square() {
    let interpolation = Interpolation::Bilinear;
    let fill = letterbox_gray();
    let fit = |letterbox| ResizeKeepRatio { size: 64, letterbox, fill, interpolation };
    assert_eq!(sizes(fit(false), [500, 375]), [(64, 48)]);
    assert_eq!(sizes(fit(true), [500, 375]), [(64, 64)]);
    assert_eq!(sizes(fit(false), [1, 1000]), [(1, 64)]);
    assert_eq!(Recipe::new([fit(true).into()]).fixed_size(), Some(64.into()));
    let mut actions = Vec::new();
    let on = Shape { size: ImageSize::new(64, 59), channels: 3 };
    Recipe::new([fit(true).into()]).draw(0, 0, on, &mut actions).unwrap();
    let Action::Pad(Pad { padding, .. }) = actions[1] else { panic!("{actions:?}") };
    assert_eq!(padding, [0, 2, 0, 3]);
}

#[test]
fn forms_of_arguments() {
    let text = r#"[{"Resize": {"size": 256}}, {"Resize": {"size": [7, 9], "interpolation": "bicubic"}},
        {"ResizeKeepRatio": {"size": 64, "letterbox": true}}, {"RandomResize": {"min_size": 1, "max_size": 2}},
        {"RandomShortestSize": {"min_size": [480, 800], "max_size": 1333}},
        {"ScaleJitter": {"target_size": [1024, 1024]}}]"#;
    let recipe: Recipe = serde_json::from_str(text).unwrap();
    recipe.validate().unwrap();
    let again = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&again).unwrap(), recipe);
}

#[test]
fn impossible_arguments_are_named() {
    fn refused(text: &str) -> String {
        let recipe: Recipe = serde_json::from_str(text).unwrap();
        recipe.validate().unwrap_err().text().to_owned()
    }

    assert!(refused(r#"[{"Resize": {"size": 0}}]"#).contains("size is 0 x 0"));
    assert!(refused(r#"[{"Resize": {"size": 9, "max_size": 9}}]"#).contains("max_size is 9"));
    assert!(refused(r#"[{"Resize": {"size": [9, 9], "max_size": 9}}]"#).contains("max_size"));
    assert!(refused(r#"[{"ResizeKeepRatio": {"size": 0}}]"#).contains("ResizeKeepRatio"));
    let range = r#"[{"RandomResize": {"min_size": 3, "max_size": 3}}]"#;
    assert!(refused(range).contains("max_size is larger"));
    assert!(refused(r#"[{"RandomShortestSize": {"min_size": []}}]"#).contains("empty"));
    let jitter = r#"[{"ScaleJitter": {"target_size": [9, 9], "scale_range": [0, 1]}}]"#;
    assert!(refused(jitter).contains("scale_range is 0 to 1"));
}
