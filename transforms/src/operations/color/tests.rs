//! Tests of the operations on color. Python tests compare their distributions with torchvision's.

use std::collections::HashMap;

use tarflume_image::ImageSize;

use crate::Recipe;
use crate::actions::Action;
use crate::operations::{Operation, Shape};

fn operation(text: &str) -> Operation {
    serde_json::from_str(text).unwrap()
}

fn drawn(text: &str, channels: usize, seed: u64) -> Vec<Action> {
    let recipe = Recipe::new([operation(text)]);
    recipe.validate().unwrap();
    let mut actions = Vec::new();
    let on = Shape { size: ImageSize::new(5, 4), channels };
    assert_eq!(recipe.draw(seed, 0, on, &mut actions).unwrap(), on);
    actions
}

#[test]
fn texts_have_torchvisions_names_and_defaults() {
    for (text, full) in [
        (
            r#"{"ColorJitter":{}}"#,
            r#"{"brightness":null,"contrast":null,"saturation":null,"hue":null}"#,
        ),
        (r#"{"Grayscale":{}}"#, r#"{"num_output_channels":1}"#),
        (r#"{"RandomAutocontrast":{}}"#, r#"{"p":0.5}"#),
        (r#"{"RandomChannelPermutation":{}}"#, "{}"),
        (r#"{"RandomEqualize":{}}"#, r#"{"p":0.5}"#),
        (r#"{"RandomGamma":{}}"#, r#"{"gamma":[0.8,1.2],"p":0.5}"#),
        (r#"{"RandomGrayscale":{}}"#, r#"{"p":0.1}"#),
        (r#"{"RandomInvert":{}}"#, r#"{"p":0.5}"#),
        (
            r#"{"RandomPhotometricDistort":{}}"#,
            r#"{"brightness":[0.875,1.125],"contrast":[0.5,1.5],"saturation":[0.5,1.5],"hue":[-0.05,0.05],"p":0.5}"#,
        ),
        (r#"{"RandomPosterize":{"bits":2}}"#, r#"{"bits":2,"p":0.5}"#),
        (r#"{"RandomSolarize":{"threshold":128}}"#, r#"{"threshold":128.0,"p":0.5}"#),
    ] {
        let written = serde_json::to_string(&operation(text)).unwrap();
        assert_eq!(written, text[..text.find(':').unwrap() + 1].to_owned() + full + "}");
        let unknown = text.replacen(":{", r#":{"q":1,"#, 1).replace(",}", "}");
        assert!(serde_json::from_str::<Operation>(&unknown).is_err(), "{unknown}");
    }
    assert!(serde_json::from_str::<Operation>(r#"{"RandomPosterize":{}}"#).is_err());
    assert!(serde_json::from_str::<Operation>(r#"{"RandomSolarize":{"p":0.1}}"#).is_err());
}

#[test]
fn refused_arguments_are_named_with_valid_ones() {
    for (text, parts) in [
        (r#"{"ColorJitter":{"brightness":[-0.1,1]}}"#, "ColorJitter: brightness is [-0.1, 1.0]"),
        (r#"{"ColorJitter":{"contrast":[1.5,0.5]}}"#, "ColorJitter: contrast is [1.5, 0.5]"),
        (r#"{"ColorJitter":{"saturation":[0.5,1e300]}}"#, "ColorJitter: saturation is"),
        (r#"{"ColorJitter":{"hue":[-0.6,0.1]}}"#, "two increasing numbers within [-0.5, 0.5]"),
        (
            r#"{"RandomPhotometricDistort":{"hue":[0,0.6]}}"#,
            "RandomPhotometricDistort: hue is [0.0, 0.6]",
        ),
        (r#"{"RandomPhotometricDistort":{"p":1.5}}"#, "RandomPhotometricDistort: p is 1.5"),
        (r#"{"RandomPosterize":{"bits":9}}"#, "RandomPosterize: bits is 9; valid are 0 to 8"),
        (
            r#"{"RandomSolarize":{"threshold":256}}"#,
            "RandomSolarize: threshold is 256; valid are 0 to 255",
        ),
        (r#"{"RandomGamma":{"gamma":[-1,1]}}"#, "RandomGamma: gamma is [-1.0, 1.0]"),
        (r#"{"RandomInvert":{"p":-0.5}}"#, "RandomInvert: p is -0.5; a probability is 0 to 1"),
        (r#"{"Grayscale":{"num_output_channels":2}}"#, "valid are 1 and 3"),
    ] {
        let error = operation(text).validate().unwrap_err().to_string();
        assert!(error.contains(parts), "{error}");
    }
}

#[test]
fn a_jitter_has_all_orders_and_each_factor_once() {
    let text = r#"{"ColorJitter":{"brightness":[0.5,1.5],"contrast":[0.5,1.5],"saturation":[0.5,1.5],"hue":[-0.1,0.1]}}"#;
    let mut found = HashMap::new();
    for seed in 0..2400 {
        let actions = drawn(text, 3, seed);
        assert_eq!(actions.len(), 4);
        let order: Vec<_> = actions.iter().map(std::mem::discriminant).collect();
        *found.entry(order).or_insert(0_u32) += 1;
    }
    assert_eq!(found.len(), 24);
    // Standard deviation 10: five of them.
    assert!(found.values().all(|count| count.abs_diff(100) < 50), "{found:?}");
}

#[test]
fn what_changes_nothing_is_not_drawn() {
    assert_eq!(drawn(r#"{"ColorJitter":{"brightness":[1,1],"hue":[0,0]}}"#, 3, 1), []);
    assert_eq!(drawn(r#"{"RandomChannelPermutation":{}}"#, 1, 1), []);
    for name in
        ["RandomAutocontrast", "RandomEqualize", "RandomGrayscale", "RandomInvert", "RandomGamma"]
    {
        let never = format!(r#"{{"{name}":{{"p":0}}}}"#);
        let always = format!(r#"{{"{name}":{{"p":1}}}}"#);
        assert!((0..50).all(|seed| drawn(&never, 3, seed).is_empty() && drawn(&always, 3, seed).len() == 1));
    }
}

#[test]
fn a_distortion_has_its_steps_in_their_order() {
    let all = drawn(r#"{"RandomPhotometricDistort":{"p":1}}"#, 3, 1);
    assert_eq!(all.len(), 5);
    assert!(matches!(all[0], Action::AdjustBrightness(_)));
    assert!(matches!(all[4], Action::PermuteChannels(_)));
    let first = (0..100).filter(|&seed| {
        let actions = drawn(r#"{"RandomPhotometricDistort":{"p":1}}"#, 3, seed);
        matches!(actions[1], Action::AdjustContrast(_))
    });
    assert!((20..80).contains(&first.count()));
    assert_eq!(drawn(r#"{"RandomPhotometricDistort":{"p":1}}"#, 1, 1).len(), 4);
}

#[test]
fn grayscale_keeps_the_number_of_channels() {
    assert_eq!(drawn(r#"{"Grayscale":{"num_output_channels":3}}"#, 3, 1).len(), 1);
    let recipe = Recipe::new([operation(r#"{"Grayscale":{}}"#)]);
    let on = Shape { size: ImageSize::new(5, 4), channels: 3 };
    let error = recipe.draw(1, 0, on, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("num_output_channels is 1, and the picture has 3"), "{error}");
}
