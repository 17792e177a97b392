//! Tests of arguments, of rotations by quarter turns, and of changes that change nothing.

use serde_json::{from_str, to_string};
use tarflume_image::ImageSize;

use super::chain::Chain;
use crate::actions::{Action, QuarterTurn};
use crate::operations::{Draws, Operation, Shape};
use crate::settings::{Fill, Interpolation};

#[test]
fn arguments_have_the_defaults_of_torchvision() {
    for (text, expected) in [
        (
            r#"{"RandAugment":{}}"#,
            r#"{"RandAugment":{"num_ops":2,"magnitude":9,"num_magnitude_bins":31,"interpolation":"nearest","fill":[0,0,0]}}"#,
        ),
        (
            r#"{"TrivialAugmentWide":{}}"#,
            r#"{"TrivialAugmentWide":{"num_magnitude_bins":31,"interpolation":"nearest","fill":[0,0,0]}}"#,
        ),
        (
            r#"{"AutoAugment":{}}"#,
            r#"{"AutoAugment":{"policy":"imagenet","interpolation":"nearest","fill":[0,0,0]}}"#,
        ),
        (
            r#"{"AugMix":{}}"#,
            r#"{"AugMix":{"severity":3,"mixture_width":3,"chain_depth":-1,"alpha":1.0,"all_ops":true,"interpolation":"bilinear","fill":[0,0,0]}}"#,
        ),
    ] {
        let operation: Operation = from_str(text).unwrap();
        assert_eq!(to_string(&operation).unwrap(), expected);
        operation.validate().unwrap();
    }
}

#[test]
fn wrong_arguments_are_named_with_what_is_valid() {
    for (text, expected) in [
        (r#"{"RandAugment":{"num_ops":101}}"#, "num_ops is 101; it must be 0 to 100"),
        (r#"{"RandAugment":{"magnitude":31}}"#, "magnitude is 31; it must be below"),
        (r#"{"RandAugment":{"num_magnitude_bins":1}}"#, "num_magnitude_bins is 1; it must be 2"),
        (r#"{"TrivialAugmentWide":{"interpolation":"lanczos"}}"#, "nearest, bilinear or bicubic"),
        (r#"{"AugMix":{"severity":11}}"#, "severity is 11; it must be 1 to 10"),
        (r#"{"AugMix":{"mixture_width":0}}"#, "mixture_width is 0; it must be 1 to 100"),
        (r#"{"AugMix":{"chain_depth":101}}"#, "chain_depth is 101; it must be at most 100"),
        (r#"{"AugMix":{"alpha":-1.0}}"#, "alpha is -1; it must be above 0"),
    ] {
        let error = from_str::<Operation>(text).unwrap().validate().unwrap_err();
        assert!(error.text().contains(expected), "{text}: {error}");
    }
    let error = from_str::<Operation>(r#"{"AutoAugment":{"policy":"mnist"}}"#).unwrap_err();
    assert!(error.to_string().contains("imagenet, cifar10, svhn"), "{error}");
}

/// What a chain does to a picture of this size.
fn chained(size: ImageSize, change: impl FnOnce(&mut Chain<'_>)) -> Vec<Action> {
    let mut actions = Vec::new();
    let interpolation = Interpolation::Nearest;
    change(&mut Chain { size, interpolation, fill: Fill::default(), actions: &mut actions });
    actions
}

#[test]
fn quarter_turns_are_exact_where_they_keep_the_size() {
    let square = ImageSize::new(5, 5);
    let wide = ImageSize::new(7, 5);
    for (degrees, turns) in [(90.0, 1), (-270.0, 1), (180.0, 2), (-180.0, 2), (-90.0, 3)] {
        let turned = [QuarterTurn { turns }.into()];
        assert_eq!(chained(square, |chain| chain.rotate(degrees)), turned);
        let same = chained(wide, |chain| chain.rotate(degrees)) == turned;
        assert_eq!(same, turns == 2, "{degrees}");
    }
}

#[test]
fn what_changes_no_pixel_is_left_out() {
    let actions = chained(ImageSize::new(7, 5), |chain| {
        chain.rotate(0.0);
        chain.rotate(-360.0);
        chain.shear_x(0.0);
        chain.translate_y(-0.0);
        chain.brightness(1.0);
        chain.saturation(1.0);
        chain.posterize(8);
        chain.solarize(256.0);
    });
    assert_eq!(actions, []);
}

#[test]
fn a_sample_gets_the_same_changes_each_time() {
    let on = Shape { size: ImageSize::new(9, 8), channels: 1 };
    for text in [r#"{"RandAugment":{}}"#, r#"{"AugMix":{"mixture_width":100}}"#] {
        let operation: Operation = from_str(text).unwrap();
        let mut twice = [Vec::new(), Vec::new()];
        for actions in &mut twice {
            operation.draw(on, Draws::new(7, 8), actions).unwrap();
        }
        assert_eq!(twice[0], twice[1]);
        assert_eq!(operation.fixed_size(Some(on.size)), Some(on.size));
    }
}
