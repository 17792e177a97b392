//! Draws and arguments of filters.

use tarflume_image::ImageSize;

use super::*;
use crate::Recipe;

fn message(recipe: &str) -> String {
    let recipe: Recipe = serde_json::from_str(recipe).unwrap();
    recipe.validate().unwrap_err().to_string()
}

fn drawn(recipe: &str, seed: u64) -> Vec<Action> {
    let recipe: Recipe = serde_json::from_str(recipe).unwrap();
    recipe.validate().unwrap();
    let mut actions = Vec::new();
    let on = Shape { size: ImageSize::new(224, 224), channels: 3 };
    recipe.draw(seed, 0, on, &mut actions).unwrap();
    actions
}

#[test]
fn defaults_are_those_of_torchvision() {
    for (short, long) in [
        (
            r#"[{"GaussianBlur": {"kernel_size": [5, 7]}}]"#,
            r#"[{"GaussianBlur":{"kernel_size":[5,7],"sigma":[0.1,2.0]}}]"#,
        ),
        (
            r#"[{"GaussianNoise": {}}]"#,
            r#"[{"GaussianNoise":{"mean":0.0,"sigma":0.1,"clip":true}}]"#,
        ),
        (
            r#"[{"RandomAdjustSharpness": {"sharpness_factor": 2}}]"#,
            r#"[{"RandomAdjustSharpness":{"sharpness_factor":2.0,"p":0.5}}]"#,
        ),
        (r#"[{"JPEG": {"quality": [5, 50]}}]"#, r#"[{"JPEG":{"quality":[5,50]}}]"#),
    ] {
        let recipe: Recipe = serde_json::from_str(short).unwrap();
        recipe.validate().unwrap();
        assert_eq!(serde_json::to_string(&recipe).unwrap(), long);
    }
}

#[test]
fn arguments_without_a_default_are_required() {
    for recipe in [
        r#"[{"GaussianBlur": {}}]"#,
        r#"[{"RandomAdjustSharpness": {"p": 1.0}}]"#,
        r#"[{"JPEG": {}}]"#,
        r#"[{"JPEG": {"quality": [5, 50], "p": 1.0}}]"#,
    ] {
        assert!(serde_json::from_str::<Recipe>(recipe).is_err(), "{recipe}");
    }
}

#[test]
fn errors_name_the_argument_and_valid_ones() {
    for (recipe, text) in [
        (
            r#"[{"GaussianBlur": {"kernel_size": [4, 5]}}]"#,
            "GaussianBlur: kernel_size is [4, 5]; taps are odd and at most 4095",
        ),
        (
            r#"[{"GaussianBlur": {"kernel_size": [3, 5], "sigma": [2.0, 1.0]}}]"#,
            "GaussianBlur: sigma is [2, 1]; pass a range of numbers above 0, the lower first",
        ),
        (r#"[{"GaussianNoise": {"sigma": -1}}]"#, "GaussianNoise: sigma is -1; pass 0 or more"),
        (
            r#"[{"JPEG": {"quality": [0, 101]}}]"#,
            "JPEG: quality is [0, 101]; pass a range within 1 to 100, the lower first",
        ),
        (
            r#"[{"RandomAdjustSharpness": {"sharpness_factor": -0.5}}]"#,
            "RandomAdjustSharpness: sharpness_factor is -0.5; pass 0 or more",
        ),
        (
            r#"[{"RandomAdjustSharpness": {"sharpness_factor": 2, "p": 2}}]"#,
            "RandomAdjustSharpness: p is 2; a probability is 0 to 1",
        ),
    ] {
        assert_eq!(message(recipe), text);
    }
}

#[test]
fn draws_reach_both_ends_of_a_range() {
    let mut seen = [false; 4];
    for seed in 0..200 {
        match drawn(r#"[{"JPEG": {"quality": [97, 100]}}]"#, seed)[..] {
            [Action::Jpeg(Jpeg { quality })] => seen[usize::from(quality) - 97] = true,
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, [true; 4]);
    let sharp = r#"[{"RandomAdjustSharpness": {"sharpness_factor": 2, "p": 0.25}}]"#;
    let count = (0..1000).filter(|seed| !drawn(sharp, *seed).is_empty()).count();
    assert!((200..300).contains(&count), "{count}");
}

#[test]
fn each_sample_has_other_noise() {
    let noise = r#"[{"GaussianNoise": {}}, {"GaussianNoise": {}}]"#;
    let mut seeds = Vec::new();
    for action in (0..50).flat_map(|seed| drawn(noise, seed)) {
        match action {
            Action::GaussianNoise(noise) => seeds.push(noise.seed),
            other => panic!("{other:?}"),
        }
    }
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 100);
}
