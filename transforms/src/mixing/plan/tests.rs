//! Plans, and their numbers beside those of torchvision and timm.

use super::*;

const SIZE: [u32; 2] = [224, 224];

fn key(seed: u64) -> Key {
    Key::new(seed, 0, b"test    ")
}

fn takers(rows: &[usize]) -> impl Iterator<Item = Taker> {
    rows.iter().map(|&row| Taker { row, planned: 10 + row as u64 })
}

fn drawn(mix: &Mix, seed: u64, rows: &[usize]) -> MixPlan {
    let mut plan = MixPlan::default();
    plan.draw(mix, key(seed), SIZE, takers(rows));
    plan
}

fn partners(plan: &MixPlan) -> Vec<[usize; 2]> {
    plan.rows().iter().map(|mixed| [mixed.row, mixed.partner]).collect()
}

fn both() -> Mix {
    Mix::default().mixup(0.8).cutmix(1.0).num_classes(10)
}

#[test]
fn the_partners_are_those_of_torchvision_or_timm() {
    let plan = drawn(&both(), 1, &[0, 1, 2, 4]);
    assert_eq!(partners(&plan), [[4, 2], [2, 1], [1, 0], [0, 4]]);
    assert!(plan.rows().iter().all(|mixed| mixed.how == plan.rows()[0].how), "one draw");
    let mirrored = both().mode(MixMode::Elem);
    let plan = drawn(&mirrored, 1, &[0, 1, 2, 4, 5]);
    assert_eq!(partners(&plan), [[0, 5], [5, 0], [1, 4], [4, 1]]);
    assert!(plan.rows().windows(2).all(|two| two[0].how != two[1].how), "a draw each");
    let plan = drawn(&both().mode(MixMode::Pair), 1, &[0, 1, 2, 3]);
    let hows: Vec<How> = plan.rows().iter().map(|mixed| mixed.how).collect();
    assert!(hows[0] == hows[1] && hows[2] == hows[3] && hows[0] != hows[2]);
}

#[test]
fn a_row_alone_has_no_partner() {
    for mix in [both(), both().mode(MixMode::Elem)] {
        for rows in [&[][..], &[3]] {
            let plan = drawn(&mix, 1, rows);
            assert!(plan.rows().is_empty() && plan.is_idle() && plan.cycles().count() == 0);
        }
    }
}

#[test]
fn a_row_that_is_left_out_changes_the_draws_of_no_other() {
    let mix = both().mode(MixMode::Elem).partner(Partner::Previous);
    let hows = |rows: &[usize]| {
        let plan = drawn(&mix, 3, rows);
        let mut hows: Vec<_> = plan.rows().iter().map(|mixed| (mixed.row, mixed.how)).collect();
        hows.sort_by_key(|(row, _)| *row);
        hows
    };
    let all = hows(&[0, 1, 2, 3]);
    assert_eq!(hows(&[0, 2, 3]), [all[0], all[2], all[3]]);
}

#[test]
fn a_plan_is_reused() {
    let mut plan = drawn(&both(), 1, &[0, 1, 2]);
    plan.draw(&both().mode(MixMode::Elem), key(9), SIZE, takers(&[1, 2]));
    assert_eq!(partners(&plan), [[1, 2], [2, 1]]);
}

/// Mean and deviation of each number.
fn moments(rows: &[[f64; 3]]) -> [[f64; 2]; 3] {
    [0, 1, 2].map(|n| {
        let count = rows.len() as f64;
        let mean = rows.iter().map(|row| row[n]).sum::<f64>() / count;
        let square = rows.iter().map(|row| (row[n] - mean).powi(2)).sum::<f64>() / count;
        [mean, square.sqrt()]
    })
}

/// 100,000 draws of lam, width and height.
fn regions(alpha: f64, size: [u32; 2]) -> Vec<[f64; 3]> {
    let numbers = (0..100_000).map(|seed| {
        let region = Region::draw(&mut Random::new(key(seed).draw(0)), alpha, size);
        let width = f64::from(region.right - region.left);
        let height = f64::from(region.bottom - region.top);
        [How::paste(region, size).lam(), width, height]
    });
    numbers.collect()
}

/// Alpha, height and width, then mean and deviation of lam, width and height over 2,000,000 draws by the rule of
/// torchvision's `CutMix`, of which 10,000 draws have the same within their errors. The regions of timm are those, up to a
/// pixel wider and higher.
const OF_TORCHVISION: [(f64, [u32; 2], [[f64; 2]; 3]); 2] = [
    (1.0, [224, 224], [[0.68209, 0.18822], [120.6883, 44.8168], [120.67899, 44.80931]]),
    (0.2, [97, 31], [[0.71226, 0.25412], [13.70945, 9.69332], [44.17499, 30.23652]]),
];

#[test]
fn regions_have_the_moments_of_torchvision() {
    for (alpha, size, [lam, width, height]) in OF_TORCHVISION {
        let found = moments(&regions(alpha, size));
        for (name, found, expected) in
            [("lam", found[0], lam), ("width", found[1], width), ("height", found[2], height)]
        {
            // Five deviations of a mean of 100,000 draws.
            let error = 5.0 * expected[1] / 100_000f64.sqrt();
            assert!((found[0] - expected[0]).abs() < error, "{name} {alpha}: {found:?}");
            assert!((found[1] / expected[1] - 1.0).abs() < 0.02, "{name} {alpha}: {found:?}");
        }
    }
}

#[test]
fn draws_of_elements_have_the_shares_of_timm() {
    let mix = both().prob(0.7).switch_prob(0.3).mode(MixMode::Elem);
    let mut counts = [0.0f64; 3];
    for seed in 0..100_000 {
        let at = match How::draw(&mix, key(seed), SIZE) {
            How::Alone => 0,
            How::Blend { .. } => 1,
            How::Paste { .. } => 2,
        };
        counts[at] += 1e-5;
    }
    let [alone, blend, paste] = counts;
    assert!((blend - 0.7 * 0.7).abs() < 0.008, "{counts:?}");
    // A few regions are so small that they have no pixel.
    assert!((paste - 0.7 * 0.3).abs() < 0.008 && (alone - 0.3).abs() < 0.01, "{counts:?}");
}

#[test]
fn plans_are_frozen() {
    let plan = drawn(&both().mode(MixMode::Elem), 42, &[0, 1, 2, 3]);
    let lams: Vec<u64> = plan.rows().iter().map(|mixed| mixed.how.lam().to_bits()).collect();
    let frozen = [
        4_603_826_470_011_615_889,
        4_606_619_468_846_596_096,
        4_590_051_483_614_488_253,
        4_604_326_184_069_117_048,
    ];
    assert_eq!(lams, frozen);
}
