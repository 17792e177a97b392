//! The crops against their definition, and frozen ones.

use super::*;

fn cuts(crop: &RandomResizedCrop, source: ImageSize, seeds: u64) -> impl Iterator<Item = Cut> + '_ {
    (0..seeds).map(move |seed| crop.place(source, &mut Random::new(seed)).unwrap().cut)
}

#[test]
fn area_is_uniform_and_shapes_are_log_uniform() {
    // So large and square that every first try fits and rounding is nothing.
    let crop = RandomResizedCrop::new(224).scale(0.1..=0.5);
    let source = ImageSize::new(20_000, 20_000);
    let n = 40_000;
    let mut areas = [0u32; 8];
    let mut shapes = [0u32; 8];
    for cut in cuts(&crop, source, n) {
        let area = cut.size.pixels() as f64 / source.pixels() as f64;
        let shape = f64::from(cut.size.width) / f64::from(cut.size.height);
        let shape = (shape.ln() + (4.0f64 / 3.0).ln()) / (2.0 * (4.0f64 / 3.0).ln());
        areas[(((area - 0.1) / 0.4 * 8.0) as usize).min(7)] += 1;
        shapes[((shape * 8.0) as usize).min(7)] += 1;
    }
    // 5000 expected in each, standard deviation 66: six of them.
    for counts in [areas, shapes] {
        assert!(counts.iter().all(|&c| c.abs_diff(5000) < 400), "{counts:?}");
    }
}

#[test]
fn places_are_uniform_and_within_the_picture() {
    let crop = RandomResizedCrop::new((32, 64));
    for source in [
        ImageSize::new(500, 375),
        ImageSize::new(61, 97),
        ImageSize::new(1, 1),
        ImageSize::new(3, 2),
    ] {
        let mut center = (0.0, 0.0, 0.0);
        for cut in cuts(&crop, source, 4000) {
            let placement = Placement::of(cut, ImageSize::new(64, 32));
            placement.check(source).unwrap();
            let free = (source.width - cut.size.width, source.height - cut.size.height);
            if free.0 > 8 && free.1 > 8 {
                center.0 += f64::from(cut.left) / f64::from(free.0);
                center.1 += f64::from(cut.top) / f64::from(free.1);
                center.2 += 1.0;
            }
        }
        if center.2 > 1000.0 {
            let mean = (center.0 / center.2, center.1 / center.2);
            assert!((mean.0 - 0.5).abs() < 0.03 && (mean.1 - 0.5).abs() < 0.03, "{mean:?}");
        }
    }
}

#[test]
fn where_no_crop_fits_the_largest_centered_one_is_taken() {
    let crop = RandomResizedCrop::new(224).scale(1.0..=1.0);
    let centered = |width, height| crop.centered(ImageSize::new(width, height));
    assert_eq!(centered(1000, 100), Cut { left: 433, top: 0, size: ImageSize::new(133, 100) });
    assert_eq!(centered(100, 1000), Cut { left: 0, top: 433, size: ImageSize::new(100, 133) });
    assert_eq!(centered(100, 100), Cut::whole(ImageSize::new(100, 100)));
    let cut = cuts(&crop, ImageSize::new(1000, 100), 1).next().unwrap();
    assert_eq!(cut, centered(1000, 100), "a crop of all the area fits only its own shape");
}

#[test]
fn half_of_the_crops_are_mirrored_at_a_probability_of_one_half() {
    fn flips(p: f64) -> usize {
        let crop = RandomResizedCrop::new(224).flip(p);
        let size = ImageSize::new(500, 375);
        let placed = (0..2000).map(|seed| crop.place(size, &mut Random::new(seed)).unwrap());
        placed.filter(|placed| placed.flip).count()
    }

    assert_eq!((flips(0.0), flips(1.0)), (0, 2000));
    assert!(flips(0.5).abs_diff(1000) < 140);
}

#[test]
fn invalid_options_are_refused_before_anything_is_read() {
    let good = RandomResizedCrop::new(224);
    good.validate().unwrap();
    let bad = [
        good.clone().scale(0.0..=1.0),
        good.clone().scale(0.5..=1.5),
        good.clone().ratio(2.0..=1.0),
        good.clone().ratio(-1.0..=1.0),
        good.clone().flip(1.5),
        good.clone().flip(f64::NAN),
        RandomResizedCrop::new(0),
    ];
    assert!(bad.iter().all(|crop| crop.validate().is_err()));
}

/// Width and height, seed, box, mirrored: made by tests/golden/make.py, which has torchvision's
/// algorithm in Python.
type Frozen = (u32, u32, u64, (u32, u32, u32, u32), bool);

#[test]
fn frozen_crops_stay_as_they_are() {
    const FROZEN: [Frozen; 18] = [
        (500, 375, 0, (111, 27, 160, 122), true),
        (500, 375, 1, (62, 61, 360, 313), true),
        (500, 375, 2, (102, 34, 367, 318), true),
        (500, 375, 42, (226, 4, 240, 263), true),
        (500, 375, 1 << 40, (312, 139, 166, 219), true),
        (500, 375, u64::MAX, (16, 2, 463, 365), false),
        (61, 97, 0, (11, 8, 28, 22), true),
        (61, 97, 1, (2, 42, 58, 50), true),
        (61, 97, 2, (12, 35, 45, 49), true),
        (61, 97, 42, (0, 6, 61, 74), true),
        (61, 97, 1 << 40, (29, 52, 30, 39), true),
        (61, 97, u64::MAX, (18, 39, 40, 42), false),
        (4000, 300, 0, (1800, 0, 400, 300), false),
        (4000, 300, 1, (1800, 0, 400, 300), true),
        (4000, 300, 2, (1800, 0, 400, 300), true),
        (4000, 300, 42, (1800, 0, 400, 300), false),
        (4000, 300, 1 << 40, (1800, 0, 400, 300), false),
        (4000, 300, u64::MAX, (2460, 2, 358, 290), true),
    ];
    let crop = RandomResizedCrop::new(224).flip(0.5);
    for (width, height, seed, (left, top, w, h), flip) in FROZEN {
        let placed = crop.place(ImageSize::new(width, height), &mut Random::new(seed)).unwrap();
        assert_eq!(placed.cut, Cut { left, top, size: ImageSize::new(w, h) }, "seed {seed}");
        assert_eq!(placed.flip, flip, "seed {seed}");
    }
}
