//! Draws and arguments of erasing.

use super::*;
use crate::Recipe;

const ON: ImageSize = ImageSize { width: 64, height: 48 };

fn drawn(operation: RandomErasing, size: ImageSize, seed: u64) -> Vec<Erase> {
    operation.validate().unwrap();
    let mut actions = Vec::new();
    let on = Shape { size, channels: 3 };
    Recipe::new([operation.into()]).draw(seed, 0, on, &mut actions).unwrap();
    let erased = actions.into_iter().map(|action| match action {
        Action::Erase(erase) => erase,
        other => panic!("{other:?}"),
    });
    erased.collect()
}

#[test]
fn rectangles_are_inside_and_of_the_shape() {
    let operation = RandomErasing { p: 1.0, ..RandomErasing::default() };
    for seed in 0..2000 {
        let [erase] = drawn(operation.clone(), ON, seed)[..] else { panic!("one rectangle") };
        assert!(erase.top + erase.height <= ON.height && erase.left + erase.width <= ON.width);
        let area = f64::from(erase.height * erase.width);
        let all = ON.pixels() as f64;
        assert!(area > 0.02 * all * 0.8 && area < 0.33 * all * 1.2, "{erase:?}");
        assert_eq!(erase.value, EraseValue::Constant([0.0; 3]));
    }
}

#[test]
fn a_probability_of_one_fifth_is_one_fifth() {
    let operation = RandomErasing { p: 0.2, ..RandomErasing::default() };
    let count = (0..5000).filter(|seed| !drawn(operation.clone(), ON, *seed).is_empty()).count();
    assert!((900..1100).contains(&count), "{count}");
}

#[test]
fn several_rectangles_share_the_area() {
    let whole = RandomErasing {
        p: 1.0,
        scale: [0.25, 0.25],
        ratio: [1.0, 1.0],
        count: [1, 3],
        ..RandomErasing::default()
    };
    let mut counts = [0; 4];
    for seed in 0..900 {
        let erased = drawn(whole.clone(), ImageSize::new(240, 240), seed);
        counts[erased.len()] += 1;
        let side = [0, 120, 85, 69][erased.len()];
        assert!(erased.iter().all(|erase| erase.width == side && erase.height == side));
    }
    assert!(counts[0] == 0 && counts[1..].iter().all(|count| (250..350).contains(count)));
}

#[test]
fn nothing_is_erased_where_no_rectangle_is_smaller_than_the_picture() {
    let operation = RandomErasing { p: 1.0, ..RandomErasing::default() };
    for size in [[1, 1], [300, 1], [1, 300]] {
        for seed in 0..100 {
            assert!(drawn(operation.clone(), ImageSize::new(size[0], size[1]), seed).is_empty());
        }
    }
    let whole = RandomErasing { scale: [1.0, 1.0], ratio: [1.0, 1.0], ..operation };
    assert!(drawn(whole, ON, 1).is_empty());
}

#[test]
fn values_have_four_forms() {
    for (text, value) in [
        ("7", ErasingValue::Number(7.0)),
        ("[0.5, 1, 2]", ErasingValue::Each([0.5, 1.0, 2.0])),
        ("\"random\"", ErasingValue::Noise(ErasingNoise::Random)),
        ("\"random_color\"", ErasingValue::Noise(ErasingNoise::RandomColor)),
    ] {
        let read: ErasingValue = serde_json::from_str(text).unwrap();
        assert_eq!(read, value);
        let written = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<ErasingValue>(&written).unwrap(), value);
    }
    let error = serde_json::from_str::<ErasingValue>("\"pixel\"").unwrap_err().to_string();
    assert_eq!(
        error,
        "the value of RandomErasing is a number, three numbers, \"random\" or \"random_color\""
    );
}

#[test]
fn rectangles_have_other_noise() {
    let value = ErasingValue::Noise(ErasingNoise::RandomColor);
    let operation = RandomErasing { p: 1.0, value, count: [4, 4], ..RandomErasing::default() };
    let erased = drawn(operation, ON, 5);
    assert_eq!(erased.len(), 4);
    for (at, erase) in erased.iter().enumerate() {
        assert!(matches!(erase.value, EraseValue::Pixel(_)));
        assert!(erased[..at].iter().all(|other| other.value != erase.value));
    }
}

#[test]
fn errors_name_the_argument_and_valid_ones() {
    let usual = RandomErasing::default;
    for (operation, text) in [
        (RandomErasing { p: -0.1, ..usual() }, "p is -0.1; a probability is 0 to 1"),
        (
            RandomErasing { scale: [0.5, 1.5], ..usual() },
            "scale is [0.5, 1.5]; pass a range within 0 to 1, the lower first",
        ),
        (
            RandomErasing { ratio: [0.0, 1.0], ..usual() },
            "ratio is [0, 1]; pass a range of numbers above 0, the lower first",
        ),
        (
            RandomErasing { count: [0, 1], ..usual() },
            "count is [0, 1]; pass a range within 1 to 1000, the lower first",
        ),
        (
            RandomErasing { value: ErasingValue::Number(f64::NAN), ..usual() },
            "value is no number; pass finite numbers",
        ),
    ] {
        let error = operation.validate().unwrap_err().to_string();
        assert_eq!(error, format!("RandomErasing: {text}"));
    }
}
