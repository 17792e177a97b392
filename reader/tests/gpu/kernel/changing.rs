//! Lists of actions, applied by the kernel and by the host's own code: each action alone, and whole recipes.

use tarflume::internal::convert::{Pictures, PixelElement};
use tarflume::internal::program::Program;
use tarflume::transforms::actions::{Action, Erase, EraseValue, RowLayout, RowScale};
use tarflume::transforms::device_list::{self, LIST_BYTES};
use tarflume::transforms::mixing::{How, MixedRow, Region};
use tarflume::transforms::{Frame, Recipe, Shape, apply};

use tarflume::{ImageSize, Layout};

use crate::gpu::kernel::runner::{Case, Dice, Run, finish};

/// Sides of one pixel, odd ones, squares, and a row that is longer than what a block blurs at once.
const SIZES: [[u32; 2]; 9] =
    [[1, 1], [1, 9], [9, 1], [2, 3], [3, 3], [16, 16], [33, 31], [61, 47], [1300, 4]];

/// Every action that a device does, with common and extreme numbers.
const ACTIONS: [&str; 52] = [
    r#"{"adjust_brightness": {"factor": 1.3}}"#,
    r#"{"adjust_gamma": {"gamma": 0.7, "gain": 1.0}}"#,
    r#"{"invert": {}}"#,
    r#"{"posterize": {"bits": 3}}"#,
    r#"{"solarize": {"threshold": 100.0}}"#,
    r#"{"solarize_add": {"add": 60, "threshold": 128}}"#,
    r#"{"adjust_contrast": {"factor": 0.2}}"#,
    r#"{"adjust_contrast": {"factor": 1.9}}"#,
    r#"{"adjust_contrast": {"factor": 0.0}}"#,
    r#"{"adjust_saturation": {"factor": 0.37}}"#,
    r#"{"adjust_saturation": {"factor": 2.5}}"#,
    r#"{"adjust_hue": {"factor": 0.5}}"#,
    r#"{"adjust_hue": {"factor": -0.5}}"#,
    r#"{"adjust_hue": {"factor": 0.013}}"#,
    r#"{"adjust_hue": {"factor": -0.21}}"#,
    r#"{"rgb_to_grayscale": {}}"#,
    r#"{"permute_channels": {"permutation": [2, 0, 1]}}"#,
    r#"{"autocontrast": {}}"#,
    r#"{"equalize": {}}"#,
    r#"{"horizontal_flip": {}}"#,
    r#"{"vertical_flip": {}}"#,
    r#"{"quarter_turn": {"turns": 2}}"#,
    r#"{"adjust_sharpness": {"factor": 0.0}}"#,
    r#"{"adjust_sharpness": {"factor": 1.9}}"#,
    r#"{"adjust_sharpness": {"factor": 1.0}}"#,
    r#"{"gaussian_blur": {"kernel_size": [3, 3], "sigma": [0.5, 0.5]}}"#,
    r#"{"gaussian_blur": {"kernel_size": [23, 23], "sigma": [2.0, 2.0]}}"#,
    r#"{"gaussian_blur": {"kernel_size": [23, 5], "sigma": [9.0, 0.3]}}"#,
    r#"{"gaussian_blur": {"kernel_size": [1, 7], "sigma": [1.0, 3.0]}}"#,
    r#"{"gaussian_blur": {"kernel_size": [1, 1], "sigma": [1.0, 1.0]}}"#,
    r#"{"gaussian_blur": {"kernel_size": [255, 201], "sigma": [80.0, 60.0]}}"#,
    r#"{"gaussian_noise": {"mean": 0.0, "sigma": 0.1, "clip": true, "seed": 5}}"#,
    r#"{"gaussian_noise": {"mean": -0.3, "sigma": 1.5, "clip": false, "seed": 77}}"#,
    r#"{"erase": {"top": 1, "left": 0, "height": 5, "width": 900, "value": {"constant": [1.4, 250.0, 300.0]}}}"#,
    r#"{"erase": {"top": 0, "left": 2, "height": 2, "width": 3, "value": {"pixel": 9}}}"#,
    r#"{"erase": {"top": 2, "left": 1, "height": 4000000000, "width": 40, "value": {"noise": 3}}}"#,
    r#"{"erase": {"top": 99, "left": 99, "height": 2, "width": 4, "value": {"noise": 3}}}"#,
    r#"{"affine": {"matrix": [0.8, 0.5, -3.25, -0.5, 0.8, 2.5], "interpolation": "nearest", "fill": [7, 90, 200]}}"#,
    r#"{"affine": {"matrix": [0.8, 0.5, -3.25, -0.5, 0.8, 2.5], "interpolation": "bilinear", "fill": [7, 90, 200]}}"#,
    r#"{"affine": {"matrix": [0.8, 0.5, -3.25, -0.5, 0.8, 2.5], "interpolation": "bicubic", "fill": [7, 90, 200]}}"#,
    r#"{"affine": {"matrix": [1.0, 0.2, -1.5, 0.0, 1.0, 0.5], "interpolation": "nearest", "fill": [0, 0, 0]}}"#,
    r#"{"affine": {"matrix": [1.0, 0.2, -1.5, 0.0, 1.0, 0.5], "interpolation": "bilinear", "fill": [0, 0, 0]}}"#,
    r#"{"affine": {"matrix": [1.0, 0.0, 1.3, 0.0, 1.0, -1.7], "interpolation": "bicubic", "fill": [255, 0, 1]}}"#,
    r#"{"affine": {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 400.0], "interpolation": "bilinear", "fill": [9, 8, 7]}}"#,
    r#"{"affine": {"matrix": [1e-9, 30.0, 0.0, -30.0, 1e30, 4.0], "interpolation": "bicubic", "fill": [9, 8, 7]}}"#,
    r#"{"affine": {"matrix": [1e-9, 30.0, 0.0, -30.0, 1e30, 4.0], "interpolation": "nearest", "fill": [9, 8, 7]}}"#,
    r#"{"perspective": {"coefficients": [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, 0.01, -0.01], "interpolation": "nearest", "fill": [1, 2, 3]}}"#,
    r#"{"perspective": {"coefficients": [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, 0.01, -0.01], "interpolation": "bilinear", "fill": [1, 2, 3]}}"#,
    r#"{"perspective": {"coefficients": [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, 0.01, -0.01], "interpolation": "bicubic", "fill": [1, 2, 3]}}"#,
    r#"{"perspective": {"coefficients": [1.1, 0.1, -2.0, 0.1, 0.9, 1.0, 5.0, -5.0], "interpolation": "bilinear", "fill": [1, 2, 3]}}"#,
    r#"{"perspective": {"coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], "interpolation": "bilinear", "fill": [1, 2, 3]}}"#,
    r#"{"perspective": {"coefficients": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4, 0.0], "interpolation": "nearest", "fill": [1, 2, 3]}}"#,
];

/// Recipes behind a crop: policies of torchvision and timm, SimCLR, DINO, and what else draws.
const RECIPES: [&str; 12] = [
    r#"[{"TimmAugment": {"config": "rand-m9-mstd0.5-inc1"}}, {"RandomErasing": {"p": 0.9, "value": "random"}}]"#,
    r#"[{"TimmAugment": {"config": "rand-m9-n5-mstd1.5"}}]"#,
    r#"[{"TimmAugment": {"config": "original-mstd0.5"}}, {"TimmAugment": {"config": "3a"}}]"#,
    r#"[{"AutoAugment": {"policy": "imagenet"}}, {"AutoAugment": {"policy": "svhn", "interpolation": "bilinear"}}]"#,
    r#"[{"AutoAugment": {"policy": "cifar10"}}, {"RandomErasing": {"p": 1.0, "value": "random_color", "count": [1, 3]}}]"#,
    r#"[{"TrivialAugmentWide": {}}, {"TrivialAugmentWide": {"interpolation": "bicubic", "fill": [3, 4, 5]}}]"#,
    r#"[{"RandAugment": {"num_ops": 4, "magnitude": 20, "interpolation": "bilinear"}}]"#,
    r#"[{"RandomApply": {"transforms": [{"ColorJitter": {"brightness": [0.2, 1.8], "contrast": [0.2, 1.8], "saturation": [0.2, 1.8], "hue": [-0.2, 0.2]}}], "p": 0.8}},
        {"RandomGrayscale": {"p": 0.2}}, {"RandomApply": {"transforms": [{"GaussianBlur": {"kernel_size": [23, 23], "sigma": [0.1, 2.0]}}], "p": 0.5}},
        {"RandomSolarize": {"threshold": 128.0, "p": 0.3}}]"#,
    r#"[{"RandomPhotometricDistort": {"p": 0.6}}, {"RandomChannelPermutation": {}}, {"RandomGamma": {"p": 0.7}}]"#,
    r#"[{"RandomAffine": {"degrees": [-40.0, 40.0], "translate": [0.2, 0.2], "scale": [0.5, 1.5], "shear": [-10.0, 10.0, -10.0, 10.0], "interpolation": "bilinear", "fill": [5, 6, 7]}},
        {"RandomRotation": {"degrees": [-90.0, 90.0]}}, {"RandomPerspective": {"p": 0.7, "fill": [9, 9, 9]}}]"#,
    r#"[{"RandomOrder": {"transforms": [{"RandomInvert": {}}, {"RandomPosterize": {"bits": 4}}, {"RandomEqualize": {}}, {"RandomAutocontrast": {}},
        {"RandomAdjustSharpness": {"sharpness_factor": 2.0}}, {"RandomVerticalFlip": {}}, {"RandomHorizontalFlip": {}}]}}, {"GaussianNoise": {"sigma": 0.05}}]"#,
    r#"[{"RandomChoice": {"transforms": [{"RandomGrayscale": {"p": 1.0}}, {"RandomQuarterTurn": {}}, {"RandomErasing": {"p": 1.0, "value": 77.0}}]}}]"#,
];

/// Reads an action; one without a size gets that of the picture.
fn action(text: &str, size: ImageSize) -> Action {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    if let Some(affine) = value.get_mut("affine") {
        affine["size"] = [size.height, size.width].into();
    }
    serde_json::from_value(value).unwrap()
}

/// A picture with a few levels, whose histograms are uneven, or with all.
fn picture(dice: &mut Dice, bytes: usize) -> Vec<u8> {
    let of = dice.bytes(bytes);
    match dice.next() % 3 {
        0 => of,
        1 => of.iter().map(|byte| 40 + byte % 7 * 20).collect(),
        _ => vec![of[0]; bytes],
    }
}

/// Lists of actions, pictures, and what the host makes of them.
struct ChangedBatch {
    lists: Vec<u8>,
    shape: Pictures,
    pictures: Vec<u8>,
    expected: Vec<u8>,
}

impl ChangedBatch {
    /// Each row has a picture, and its own actions.
    fn of(rows: &[Vec<Action>], on: Shape, seed: u64) -> ChangedBatch {
        let shape = Pictures::new(rows.len(), on.size, on.channels).unwrap();
        let mut dice = Dice(seed);
        let mut batch =
            ChangedBatch { lists: Vec::new(), shape, pictures: Vec::new(), expected: Vec::new() };
        for actions in rows {
            let mut list = [0; LIST_BYTES];
            let on_host = device_list::write(actions, on, None, usize::MAX, &mut list).unwrap();
            let mut frame = Frame::default();
            let from = picture(&mut dice, shape.row_bytes());
            frame.begin(on.size, on.channels).unwrap().copy_from_slice(&from);
            apply(&actions[..on_host], &mut frame).unwrap();
            batch.pictures.extend_from_slice(frame.pixels());
            apply(&actions[on_host..], &mut frame).unwrap();
            batch.expected.extend_from_slice(frame.pixels());
            batch.lists.extend_from_slice(&list);
        }
        batch
    }

    fn run(&self) -> Run {
        Run::of("change").changed(&self.lists, &self.shape, &self.pictures)
    }
}

/// Applies lists by the kernel, and the same actions by the host.
fn same_as_on_the_host(rows: &[Vec<Action>], on: Shape, seed: u64, threads: u32) {
    let batch = ChangedBatch::of(rows, on, seed);
    let out = batch.run().grid(3, 2, threads).output(batch.expected.len());
    let bytes = batch.shape.row_bytes();
    let pairs = out.chunks(bytes).zip(batch.expected.chunks(bytes)).zip(rows);
    for ((found, expected), actions) in pairs {
        let others = found.iter().zip(expected).filter(|(one, other)| one != other).count();
        assert_eq!(others, 0, "bytes of {} differ: {actions:?} on {on:?}", found.len());
    }
}

/// Every action on a small picture of each number of channels, for runs in many orders.
pub(crate) fn changed() -> Vec<Case> {
    let mut cases = Vec::new();
    for ([width, height], channels) in [([9, 7], 3), ([5, 5], 1)] {
        let on = Shape { size: ImageSize::new(width, height), channels };
        let rows = ACTIONS.map(|text| vec![action(text, on.size)]);
        let batch = ChangedBatch::of(&rows, on, 24);
        let run = batch.run().grid(2, 2, 64);
        cases.push(Case { run, expected: batch.expected });
    }
    cases
}

/// Three rows: one alone, one blended with it, one with a region of another; two have erased rectangles.
pub(crate) fn delivered() -> Vec<Case> {
    let shape = Pictures::new(3, ImageSize::new(9, 7), 3).unwrap();
    let from = Dice(25).bytes(shape.bytes());
    [PixelElement::F32, PixelElement::U8].map(|element| delivered_as(element, &shape, &from)).into()
}

/// The elements of finished pictures, as numbers.
fn numbers(element: PixelElement, bytes: &[u8]) -> Vec<f32> {
    match element {
        PixelElement::U8 => bytes.iter().map(|&byte| byte.into()).collect(),
        PixelElement::F32 => {
            bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_ne_bytes(b)).collect()
        }
        other => panic!("no case delivers {other:?}"),
    }
}

fn delivered_as(element: PixelElement, shape: &Pictures, from: &[u8]) -> Case {
    let finish = finish(element, Layout::Chw);
    let mut finished = vec![0; finish.output_bytes(shape)];
    finish.on_host(shape, from, None, &mut finished).unwrap();
    let mut values = numbers(element, &finished);
    let on = Shape { size: shape.size(), channels: 3 };
    let layout = RowLayout { size: shape.size(), channels: 3, channels_first: true };
    let region = Region { top: 2, left: 3, bottom: 6, right: 9 };
    let hows = [How::Alone, How::Blend { lam: 0.3 }, How::Paste { region, lam: 0.6 }];
    let row = values.len() / 3;
    let mut lists = Vec::new();
    for (n, how) in hows.into_iter().enumerate() {
        let value = [EraseValue::Noise(9), EraseValue::Constant([1.5, -2.0, 0.25])][n % 2];
        let erase = Erase { top: 1, left: 4, height: 4, width: 99, value };
        let is_float = element == PixelElement::F32;
        let actions: &[Action] = if n < 2 && is_float { &[erase.into()] } else { &[] };
        let scale = is_float.then_some(RowScale::Normalized);
        let mut list = [0; LIST_BYTES];
        device_list::write(actions, on, scale, usize::MAX, &mut list).unwrap();
        device_list::write_mix(&mut list, &MixedRow { row: n, partner: (n + 2) % 3, how });
        lists.extend_from_slice(&list);
        if !actions.is_empty() {
            let of_row = &mut values[n * row..][..row];
            erase.on_values(of_row, layout, RowScale::Normalized, &mut Vec::new()).unwrap();
        }
    }
    let mut mixed = values.clone();
    for at in 0..row {
        // The second row is blended with the first one, and the third one gets a region of the second.
        let sum = values[row + at] * 0.3f32 + values[at] * (1.0 - 0.3f64) as f32;
        mixed[row + at] = if element == PixelElement::U8 { sum.round_ties_even() } else { sum };
        let place = at % 63;
        if (2..6).contains(&(place / 9)) && place % 9 >= 3 {
            mixed[2 * row + at] = values[row + at];
        }
    }
    let expected = match element {
        PixelElement::U8 => mixed.iter().map(|&value| value as u8).collect(),
        _ => mixed.iter().flat_map(|value| value.to_ne_bytes()).collect(),
    };
    let run = Run::of("deliver").delivered(&lists, shape, &finish, from).grid(2, 2, 64);
    Case { run, expected }
}

#[test]
fn each_action_gives_the_bytes_of_the_host() {
    for (n, [width, height]) in SIZES.into_iter().enumerate() {
        for channels in [1, 3] {
            let on = Shape { size: ImageSize::new(width, height), channels };
            let actions = ACTIONS.map(|text| vec![action(text, on.size)]);
            let mut list = [0; LIST_BYTES];
            for actions in &actions {
                let on_host = device_list::write(actions, on, None, usize::MAX, &mut list).unwrap();
                assert_eq!(on_host, 0, "the host has {actions:?}");
            }
            same_as_on_the_host(&actions, on, n as u64, [64, 1, 256][n % 3]);
        }
    }
    let square = Shape { size: ImageSize::new(16, 16), channels: 3 };
    for turns in 0..4 {
        let turn = action(&format!(r#"{{"quarter_turn": {{"turns": {turns}}}}}"#), square.size);
        same_as_on_the_host(&[vec![turn]], square, turns, 32);
    }
}

#[test]
fn recipes_give_the_bytes_of_the_host() {
    for (n, [width, height]) in [[24, 24], [31, 17], [1, 1], [5, 2]].into_iter().enumerate() {
        for channels in [1, 3] {
            let on = Shape { size: ImageSize::new(width, height), channels };
            let mut rows = Vec::new();
            for text in RECIPES {
                let recipe: Recipe = serde_json::from_str(text).expect(text);
                assert_eq!(recipe.without_kernel(), None);
                for seed in 0..12 {
                    let mut actions = Vec::new();
                    recipe.draw(seed, 0, on, &mut actions).unwrap();
                    rows.push(actions);
                }
            }
            same_as_on_the_host(&rows, on, n as u64, [96, 256][n % 2]);
        }
    }
}

/// A list that no host writes: lengths that are false, kinds that do not exist.
#[test]
fn forged_lists_touch_nothing_else() {
    let mut dice = Dice(4);
    let rows = 400;
    let mut lists = dice.bytes(rows * LIST_BYTES);
    for (n, list) in lists.chunks_exact_mut(LIST_BYTES).enumerate() {
        let words = list.as_chunks_mut::<4>().0;
        words[0] = (n as u32 % 9).to_ne_bytes();
        for word in words[16..].iter_mut().step_by(2) {
            *word = (dice.next() as u32 % 18).to_ne_bytes();
        }
        for word in words[17..].iter_mut().step_by(2) {
            let length = dice.next() as u32;
            *word = if length.is_multiple_of(7) { length } else { length % 90 }.to_ne_bytes();
        }
    }
    let shape = Pictures::new(rows, ImageSize::new(7, 6), 3).unwrap();
    let pictures = dice.bytes(shape.bytes());
    let run = Run::of("change").changed(&lists, &shape, &pictures);
    assert_eq!(run.grid(4, 1, 64).output(pictures.len()).len(), pictures.len());
    let floats = finish(PixelElement::F32, Layout::Chw);
    let run = Run::of("deliver").delivered(&lists, &shape, &floats, &pictures);
    run.grid(1, 5, 64).output(floats.output_bytes(&shape));
}

#[test]
fn host_and_kernels_have_the_same_constants() {
    let source = Program::Pictures.source();
    for (name, number) in device_list::constants() {
        let text = format!("{name} = {number}");
        let found = source.match_indices(&text).any(|(at, _)| {
            !source[at + text.len()..].starts_with(|next: char| next.is_ascii_digit())
        });
        assert!(found, "the kernels have no {text}");
    }
}
