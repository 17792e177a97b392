//! Tests of configuration strings and of what is drawn.

use serde_json::{from_str, to_string};
use tarflume_image::ImageSize;

use super::*;

const ON: Shape = Shape { size: ImageSize { width: 64, height: 48 }, channels: 3 };

fn augment(config: &str) -> TimmAugment {
    TimmAugment::new(config, TimmSettings::default()).unwrap()
}

fn drawn(config: &str, seeds: u64) -> Vec<Vec<Action>> {
    let augment = augment(config);
    augment.validate().unwrap();
    let draw = |seed| {
        let mut actions = Vec::new();
        augment.draw(ON, Draws::new(seed, 1), &mut actions).unwrap();
        actions
    };
    (0..seeds).map(draw).collect()
}

#[test]
fn sections_set_what_timm_says() {
    let Plan::Rand { ops, layers: 3, weights: None } =
        augment("rand-m7-n3-p0.25-mstd0.5-inc1").plan
    else {
        panic!("three of equal changes")
    };
    assert_eq!(ops.len(), 15);
    let op = ops[4];
    assert_eq!(op.kind, ops::Kind::PosterizeIncreasing);
    assert_eq!([op.probability, op.level, op.most], [0.25, 7.0, 10.0]);
    assert_eq!(op.noise, ops::Noise::Normal(0.5));

    let Plan::Rand { ops, .. } = augment("rand-mstd101-m15-mmax20").plan else { panic!("equal") };
    assert_eq!([ops[0].level, ops[0].most], [15.0, 20.0]);
    assert_eq!((ops[0].noise, ops[4].kind), (ops::Noise::Uniform, ops::Kind::Posterize));

    let Plan::Rand { ops, layers: 2, weights: Some(weights) } = augment("rand-t3aw").plan else {
        panic!("weights")
    };
    assert_eq!([ops.len() as f64, weights[0], weights[14]], [14.0, 6.0, 0.0]);

    let Plan::Mix { ops, width, depth, alpha } = augment("augmix-m5-w4-d2-b1-a0.5").plan else {
        panic!("a mix")
    };
    assert_eq!((ops.len(), width, depth, alpha), (13, 4, 2, 0.5));
    assert_eq!((ops[0].level, ops[0].noise), (5.0, ops::Noise::Uniform));

    let Plan::Auto { ops, steps: 1 } = augment("3a-mstd0.5").plan else { panic!("one of three") };
    assert_eq!((ops.len(), ops[0].noise), (3, ops::Noise::Normal(0.5)));
    for config in ["original", "originalr", "v0", "v0r"] {
        let Plan::Auto { ops, steps: 2 } = augment(config).plan else { panic!("{config}") };
        assert_eq!(ops.len(), 50);
        let increasing = ops.iter().any(|op| op.kind == ops::Kind::PosterizeIncreasing);
        assert_eq!(increasing, config.ends_with('r'), "{config}");
    }
}

#[test]
fn wrong_texts_name_the_section_and_what_is_valid() {
    for (config, expected) in [
        ("", "begin with rand"),
        ("random-m9", "begin with rand"),
        ("rand-w3", "'w3' is not known; its sections are m, n,"),
        ("rand-m9.5", "'m9.5' has not a whole number after 'm'"),
        ("rand-mstd", "'mstd' has not a number"),
        ("rand-mstdinf", "not known"),
        ("rand-p1.5", "p is 1.5"),
        ("rand-n101", "0 to 100"),
        ("rand-tweights-n16", "0 to 15"),
        ("augmix-d-1", "'d' has not a whole number"),
        ("augmix-w0", "mixture_width is 0"),
        ("augmix-a0", "alpha is 0"),
        ("v0-m9", "'m9' is not known"),
    ] {
        let error = parse(config, TimmSettings::default()).unwrap_err();
        assert!(error.text().contains(expected), "{config}: {error}");
    }
}

#[test]
fn serde_has_the_text_and_the_settings() {
    let text = r#"{"TimmAugment":{"config":"rand-m9-mstd0.5-inc1"}}"#;
    let operation: Operation = from_str(text).unwrap();
    assert_eq!(operation, parse("rand-m9-mstd0.5-inc1", TimmSettings::default()).unwrap());
    let long = r#"{"TimmAugment":{"config":"v0","fill":[1,2,3],"interpolation":"nearest","translate_pct":0.3}}"#;
    let operation: Operation = from_str(long).unwrap();
    assert_eq!(to_string(&operation).unwrap(), long);
    let error = from_str::<Operation>(r#"{"TimmAugment":{"config":"rand-q1"}}"#).unwrap_err();
    assert!(error.to_string().contains("'q1' is not known"), "{error}");
    assert!(from_str::<Operation>(r#"{"TimmAugment":{"fill":0}}"#).is_err());
    let lanczos: Operation =
        from_str(r#"{"TimmAugment":{"config":"v0","interpolation":"lanczos"}}"#).unwrap();
    assert!(lanczos.validate().unwrap_err().text().contains("bilinear"));
}

#[test]
fn weighted_changes_are_drawn_at_most_once() {
    for actions in drawn("rand-tweights-n15-p1-m9", 50) {
        assert_eq!(actions.len(), 15);
        let equalized = actions.iter().filter(|action| matches!(action, Action::Equalize(_)));
        assert_eq!(equalized.count(), 1);
    }
}

#[test]
fn interpolation_is_random_unless_it_is_given() {
    let count = |interpolation: Interpolation, drawn: &[Vec<Action>]| {
        let all = drawn.iter().flatten();
        all.filter(|action| matches!(action, Action::Affine(a) if a.interpolation == interpolation))
            .count()
    };
    let both = drawn("rand-p1", 2000);
    let bilinear = count(Interpolation::Bilinear, &both);
    let bicubic = count(Interpolation::Bicubic, &both);
    // Five of 15 changes are warps: 1,333 of 4,000. Five standard deviations of their half.
    assert!(bilinear + bicubic > 1200 && bilinear.abs_diff(bicubic) < 190, "{bilinear}, {bicubic}");
    assert_eq!(count(Interpolation::Nearest, &both), 0);
}

#[test]
fn a_mix_has_the_picture_and_its_chains_with_weights_of_1() {
    for actions in drawn("augmix-m5-w4", 100) {
        let mut weights = Vec::new();
        for action in &actions {
            match action {
                Action::MixBegin(begin) => weights.push(begin.weight),
                Action::MixNext(next) => weights.push(next.weight),
                Action::MixEnd(end) => weights.push(end.weight),
                _ => (),
            }
        }
        assert_eq!(weights.len(), 5);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(matches!(actions.first(), Some(Action::MixBegin(_))));
        assert!(matches!(actions.last(), Some(Action::MixEnd(_))));
    }
}

#[test]
fn a_blur_fits_into_a_small_picture() {
    let augment = augment("3a");
    for seed in 0..100 {
        let mut actions = Vec::new();
        let on = Shape { size: ImageSize::new(1, 3), channels: 1 };
        augment.draw(on, Draws::new(seed, 1), &mut actions).unwrap();
        if let Some(Action::GaussianBlur(blur)) = actions.first() {
            assert!(blur.kernel_size[0] == 1 && blur.kernel_size[1] <= 5);
        }
    }
}

#[test]
fn no_level_draws_an_action_out_of_range() {
    for actions in drawn("rand-m40-mmax40-mstd101-inc1-p1", 500).into_iter().flatten() {
        match actions {
            Action::Posterize(posterize) => assert!(posterize.bits < 8),
            Action::Solarize(solarize) => assert!((0.0..=255.0).contains(&solarize.threshold)),
            Action::AdjustBrightness(adjust) => assert!(adjust.factor >= 0.1),
            _ => (),
        }
    }
}
