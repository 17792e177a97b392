//! Operations that choose among others.

use super::*;
use crate::Recipe;
use crate::actions::Jpeg;
use crate::operations::filter::{GaussianBlur, JPEG};

const SIZE: ImageSize = ImageSize { width: 40, height: 30 };

fn recipe(text: &str) -> Recipe {
    let recipe: Recipe = serde_json::from_str(text).unwrap();
    recipe.validate().unwrap();
    recipe
}

fn drawn(recipe: &Recipe, seed: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    recipe.draw(seed, 0, Shape { size: SIZE, channels: 3 }, &mut actions).unwrap();
    actions
}

/// A step that always draws the action of this quality.
fn step(quality: u8) -> Operation {
    JPEG { quality: [quality, quality] }.into()
}

fn steps(qualities: &[u8]) -> Steps {
    Steps::from(qualities.iter().map(|quality| step(*quality)).collect::<Vec<_>>())
}

fn qualities(actions: &[Action]) -> Vec<u8> {
    let qualities = actions.iter().map(|action| match action {
        Action::Jpeg(Jpeg { quality }) => *quality,
        other => panic!("{other:?}"),
    });
    qualities.collect()
}

const BLUR: &str = r#"{"GaussianBlur": {"kernel_size": [3, 3]}}"#;
const NOISE: &str = r#"{"GaussianNoise": {}}"#;
const ERASE: &str = r#"{"RandomErasing": {"p": 1.0, "value": "random"}}"#;

#[test]
fn an_inserted_step_changes_the_draws_of_no_other_name() {
    let lists = [
        (format!("[{BLUR}, {NOISE}]"), format!("[{ERASE}, {BLUR}, {ERASE}, {NOISE}]")),
        (
            format!(r#"[{{"RandomApply": {{"transforms": [{BLUR}, {NOISE}], "p": 0.7}}}}]"#),
            format!(
                r#"[{ERASE}, {{"RandomApply": {{"transforms": [{BLUR}, {ERASE}, {NOISE}], "p": 0.7}}}}]"#
            ),
        ),
        (
            format!(
                r#"[{{"Compose": {{"transforms": [{{"RandomApply": {{"transforms": [{NOISE}]}}}}]}}}}]"#
            ),
            format!(
                r#"[{{"Compose": {{"transforms": [{ERASE}, {{"RandomApply": {{"transforms": [{ERASE}, {NOISE}]}}}}]}}}}]"#
            ),
        ),
    ];
    for (short, long) in lists {
        let short = recipe(&short);
        let long = recipe(&long);
        let mut some = 0;
        for seed in 0..200 {
            let mut actions = drawn(&long, seed);
            actions.retain(|action| !matches!(action, Action::Erase(_)));
            assert_eq!(actions, drawn(&short, seed), "seed {seed}");
            some += actions.len();
        }
        assert!(some > 50);
    }
}

#[test]
fn equal_steps_at_other_places_draw_alone() {
    let inner = format!(r#"{{"Compose": {{"transforms": [{BLUR}, {BLUR}]}}}}"#);
    let recipe = recipe(&format!("[{BLUR}, {inner}, {inner}, {BLUR}]"));
    let actions = drawn(&recipe, 3);
    assert_eq!(actions.len(), 6);
    for (at, action) in actions.iter().enumerate() {
        assert!(!actions[..at].contains(action));
    }
}

#[test]
fn steps_apply_with_their_probability() {
    for p in [0.0, 0.3, 1.0] {
        let recipe = Recipe::new([RandomApply { transforms: steps(&[1, 2]), p }.into()]);
        let mut count = 0;
        for seed in 0..2000 {
            match qualities(&drawn(&recipe, seed))[..] {
                [] => {}
                [1, 2] => count += 1,
                ref other => panic!("{other:?}"),
            }
        }
        assert!((f64::from(count) / 2000.0 - p).abs() < 0.04, "{count}");
    }
}

#[test]
fn one_step_is_chosen_by_its_weight() {
    for (p, shares) in [
        (None, [0.25, 0.25, 0.25, 0.25]),
        (Some(vec![2.0, 0.0, 5.0, 1.0]), [0.25, 0.0, 0.625, 0.125]),
        (Some(vec![0.0, 1e-9, 0.0, 0.0]), [0.0, 1.0, 0.0, 0.0]),
    ] {
        let choice = RandomChoice { transforms: steps(&[0, 1, 2, 3]), p };
        let recipe = Recipe::new([choice.into()]);
        let mut counts = [0; 4];
        for seed in 0..4000 {
            let [quality] = qualities(&drawn(&recipe, seed))[..] else { panic!("one step") };
            counts[usize::from(quality)] += 1;
        }
        for (count, share) in counts.iter().zip(shares) {
            assert!((f64::from(*count) / 4000.0 - share).abs() < 0.035, "{counts:?}");
        }
    }
}

#[test]
fn each_order_is_equally_likely() {
    let recipe = Recipe::new([RandomOrder { transforms: steps(&[0, 1, 2]) }.into()]);
    let mut counts = [0; 27];
    for seed in 0..6000 {
        let order = qualities(&drawn(&recipe, seed));
        assert_eq!(order.iter().map(|step| 1 << step).sum::<u32>(), 7);
        counts[order.iter().fold(0, |sum, step| sum * 3 + usize::from(*step))] += 1;
    }
    let seen: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
    assert_eq!(seen.len(), 6);
    assert!(seen.iter().all(|count| (880..1120).contains(count)), "{seen:?}");
}

#[test]
fn the_order_changes_no_draws_of_the_steps() {
    let ordered = recipe(&format!(r#"[{{"RandomOrder": {{"transforms": [{BLUR}, {NOISE}]}}}}]"#));
    let mut seen = Vec::new();
    for seed in 0..40 {
        let mut actions = drawn(&ordered, seed);
        let swapped = matches!(actions[0], Action::GaussianNoise(_));
        if swapped {
            actions.reverse();
        }
        assert!(matches!(actions[..], [Action::GaussianBlur(_), Action::GaussianNoise(_)]));
        seen.push(swapped);
    }
    assert!(seen.contains(&true) && seen.contains(&false));
}

#[test]
fn errors_reach_the_inner_steps() {
    let bad: Operation = GaussianBlur { kernel_size: [2, 2], sigma: [1.0, 1.0] }.into();
    let transforms = Steps::from(vec![step(5), bad]);
    let nested = Steps::from(vec![Compose { transforms: transforms.clone() }.into()]);
    for operation in [
        Operation::from(Compose { transforms: transforms.clone() }),
        RandomApply { transforms: transforms.clone(), p: 0.5 }.into(),
        RandomChoice { transforms: transforms.clone(), p: None }.into(),
        RandomOrder { transforms }.into(),
        RandomApply { transforms: nested, p: 0.5 }.into(),
    ] {
        let text = operation.validate().unwrap_err().to_string();
        assert!(text.starts_with("GaussianBlur: kernel_size is [2, 2]"), "{text}");
    }
}

#[test]
fn errors_name_the_argument_and_valid_ones() {
    fn choice(p: Vec<f64>) -> Operation {
        RandomChoice { transforms: steps(&[1, 2]), p: Some(p) }.into()
    }
    for (operation, text) in [
        (
            Operation::from(RandomApply { transforms: Steps::default(), p: 0.5 }),
            "RandomApply: transforms is empty; pass one operation at least",
        ),
        (
            RandomApply { transforms: steps(&[1]), p: 1.5 }.into(),
            "RandomApply: p is 1.5; a probability is 0 to 1",
        ),
        (choice(vec![1.0]), "RandomChoice: p has 1 weights for 2 transforms; pass one for each"),
        (
            choice(vec![0.0, 0.0]),
            "RandomChoice: p is [0.0, 0.0]; pass weights of 0 or more, not all of them 0",
        ),
        (
            RandomOrder { transforms: steps(&[1; 65]) }.into(),
            "RandomOrder: transforms has 65 steps; there may be 64",
        ),
    ] {
        assert_eq!(operation.validate().unwrap_err().to_string(), text);
    }
}

#[test]
fn steps_that_keep_the_size_keep_it_inside_others() {
    let inner = RandomApply { transforms: steps(&[1, 2]), p: 0.5 };
    let inner = RandomChoice { transforms: Steps::from(vec![inner.into(), step(3)]), p: None };
    let inner = RandomOrder { transforms: Steps::from(vec![inner.into(), step(4)]) };
    let recipe = Recipe::new([inner.into()]);
    assert_eq!(recipe.fixed_size(), None);
    assert_eq!(recipe.most_pixels(77), 77);
    assert_eq!(recipe.operations()[0].fixed_size(Some(SIZE)), Some(SIZE));
}
