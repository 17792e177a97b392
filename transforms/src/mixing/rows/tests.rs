//! Rows beside a simple mixing of copies.

use half::{bf16, f16};
use tarflume_fixtures::SplitMix64;
use tarflume_order::Key;

use super::*;
use crate::mixing::plan::Taker;
use crate::mixing::settings::{Mix, MixMode, Partner};

fn takers(rows: usize) -> impl Iterator<Item = Taker> {
    (0..rows).map(|row| Taker { row, planned: row as u64 })
}

fn planned(mix: &Mix, seed: u64, rows: &MixedRows, count: usize) -> MixPlan {
    let mut plan = MixPlan::default();
    plan.draw(mix, Key::new(seed, 0, b"test    "), rows.size(), takers(count));
    plan
}

/// Random elements: floats between -4 and 4.
fn column(dtype: DType, elements: usize, seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::nth(seed, 0);
    let mut bytes = Vec::new();
    for _ in 0..elements {
        let float = (random.next_u64() >> 40) as f32 / (1 << 21) as f32 - 4.0;
        match dtype {
            DType::U8 => bytes.push(random.next_u64() as u8),
            DType::F16 => bytes.extend(f16::from_f32(float).to_ne_bytes()),
            DType::Bf16 => bytes.extend(bf16::from_f32(float).to_ne_bytes()),
            _ => bytes.extend(float.to_ne_bytes()),
        }
    }
    bytes
}

/// Element `at` of a column, and its bytes.
fn element(dtype: DType, column: &[u8], at: usize) -> f32 {
    let bytes = &column[at * dtype.size()..][..dtype.size()];
    match dtype {
        DType::U8 => f32::from(bytes[0]),
        DType::F16 => f16::from_ne_bytes(bytes.try_into().unwrap()).to_f32(),
        DType::Bf16 => bf16::from_ne_bytes(bytes.try_into().unwrap()).to_f32(),
        _ => f32::from_ne_bytes(bytes.try_into().unwrap()),
    }
}

fn blended(dtype: DType, own: f32, other: f32, lam: f64) -> f32 {
    let sum = own * lam as f32 + other * (1.0 - lam) as f32;
    match dtype {
        DType::U8 => sum.round_ties_even(),
        DType::F16 => f16::from_f32(sum).to_f32(),
        DType::Bf16 => bf16::from_f32(sum).to_f32(),
        _ => sum,
    }
}

/// Compares a mixed column with the plan, element by element.
fn check(dtype: DType, shape: [usize; 3], plan: &MixPlan, before: &[u8], after: &[u8]) {
    let [height, width, channels] = shape;
    let last = channels <= 4;
    let each = height * width * channels;
    let mut seen = vec![false; before.len() / dtype.size() / each];
    for mixed in plan.rows() {
        seen[mixed.row] = true;
        for at in 0..each {
            let [y, x] = if last {
                [at / channels / width, at / channels % width]
            } else {
                [at / channels % width, at % channels]
            };
            let own = element(dtype, before, mixed.row * each + at);
            let other = element(dtype, before, mixed.partner * each + at);
            let expected = match mixed.how {
                How::Alone => own,
                How::Blend { lam } => blended(dtype, own, other, lam),
                How::Paste { region, .. } => {
                    let down = (region.top..region.bottom).contains(&(y as u32));
                    let right = (region.left..region.right).contains(&(x as u32));
                    if down && right { other } else { own }
                }
            };
            let found = element(dtype, after, mixed.row * each + at);
            assert_eq!(found, expected, "row {} element {at} of {shape:?} {dtype}", mixed.row);
        }
    }
    for row in (0..seen.len()).filter(|&row| !seen[row]) {
        let bytes = row * each * dtype.size()..(row + 1) * each * dtype.size();
        assert_eq!(before[bytes.clone()], after[bytes], "row {row} has no partner");
    }
}

fn both() -> Mix {
    Mix::default().mixup(0.8).cutmix(1.0).num_classes(10)
}

#[test]
fn rows_are_mixed_with_their_partners_as_these_were() {
    let modes = [
        both(),
        both().partner(Partner::Mirrored),
        both().mode(MixMode::Pair),
        both().mode(MixMode::Elem),
        both().mode(MixMode::Elem).partner(Partner::Previous).prob(0.5),
    ];
    let shapes = [[7, 5, 3], [1, 1, 1], [1, 700, 4], [31, 67, 3], [3, 9, 11], [1, 40, 100]];
    for (seed, mix) in modes.iter().cycle().take(10).enumerate() {
        for shape in shapes {
            for dtype in [DType::U8, DType::F16, DType::Bf16, DType::F32] {
                for count in [2, 5] {
                    let rows = MixedRows::new(dtype, &shape, true).unwrap();
                    let before = column(dtype, count * shape.iter().product::<usize>(), 3);
                    let plan = planned(mix, seed as u64, &rows, count);
                    let mut after = before.clone();
                    rows.mix(&plan, &mut after);
                    check(dtype, shape, &plan, &before, &after);
                }
            }
        }
    }
}

#[test]
fn all_sets_mix_to_the_same_bytes() {
    for shape in [[1, 1, 3], [1, 10_000, 1], [33, 65, 3]] {
        let rows = MixedRows::new(DType::U8, &shape, true).unwrap();
        let before = column(DType::U8, 5 * shape.iter().product::<usize>(), 9);
        let mix = both().mode(MixMode::Elem).partner(Partner::Previous);
        let plan = planned(&mix, 5, &rows, 5);
        let mixed = |set: Set| {
            let mut after = before.clone();
            rows.mix_with(set, &plan, &mut after);
            after
        };
        for set in Set::all() {
            assert_eq!(mixed(set), mixed(Set::Portable), "{set:?}");
        }
    }
}

#[test]
fn other_rows_and_types_are_refused() {
    let refused = |dtype, shape: &[usize], boxes| {
        MixedRows::new(dtype, shape, boxes).unwrap_err().to_string()
    };
    assert!(refused(DType::I64, &[2], false).contains("its elements are int64"));
    assert!(refused(DType::F32, &[5, 5, 5], true).contains("leave cutmix out"));
    assert!(refused(DType::F32, &[0, 5, 3], true).contains("are empty"));
    MixedRows::new(DType::F32, &[5, 5, 5], false).unwrap();
    MixedRows::new(DType::F32, &[128], false).unwrap();
    assert_eq!(MixedRows::new(DType::F32, &[3, 20, 30], true).unwrap().size(), [20, 30]);
    assert_eq!(MixedRows::new(DType::U8, &[20, 30, 3], true).unwrap().size(), [20, 30]);
}
