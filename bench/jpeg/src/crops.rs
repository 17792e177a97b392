//! The windows of RandomResizedCrop, as torchvision draws them: an area of 0.08 to 1 of the image, a
//! ratio of 3/4 to 4/3 (log-uniform), ten tries, else the largest window in the middle.

use tarflume_fixtures::SplitMix64;

use crate::work::Window;

const AREA: (f64, f64) = (0.08, 1.0);
const RATIO: (f64, f64) = (3.0 / 4.0, 4.0 / 3.0);

/// The window number `index` of a seed, for an image of this size.
pub(crate) fn window(seed: u64, index: u64, width: u32, height: u32) -> Window {
    let mut rng = SplitMix64::nth(seed, index);
    let area = f64::from(width) * f64::from(height);
    for _ in 0..10 {
        let part = area * uniform(&mut rng, AREA.0, AREA.1);
        let ratio = uniform(&mut rng, RATIO.0.ln(), RATIO.1.ln()).exp();
        let wide = (part * ratio).sqrt().round() as u32;
        let high = (part / ratio).sqrt().round() as u32;
        if (1..=width).contains(&wide) && (1..=height).contains(&high) {
            let top = rng.between(0, height - high);
            let left = rng.between(0, width - wide);
            return Window { left, top, width: wide, height: high };
        }
    }
    let w = f64::from(width);
    let h = f64::from(height);
    let (wide, high) = if w / h < RATIO.0 {
        (width, (w / RATIO.0).round() as u32)
    } else if w / h > RATIO.1 {
        ((h * RATIO.1).round() as u32, height)
    } else {
        (width, height)
    };
    let wide = wide.clamp(1, width);
    let high = high.clamp(1, height);
    Window { left: (width - wide) / 2, top: (height - high) / 2, width: wide, height: high }
}

fn uniform(rng: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * ((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}
