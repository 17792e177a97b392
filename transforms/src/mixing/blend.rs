//! Weighted sums of two rows, in f32: a product for each, then their sum, as torch computes them.

use crate::kernels::sets::wide;

/// A float from here on has no bits below 1, so that adding it rounds to the nearest integer, ties to even.
const ROUND: f32 = 8_388_608.0;

/// The weights of a row and of its partner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlendWeights {
    own: f32,
    other: f32,
}

impl BlendWeights {
    /// The weights for `lam` of the row. The rest is computed in f64, as Python does.
    pub(crate) fn new(lam: f64) -> BlendWeights {
        BlendWeights { own: lam as f32, other: (1.0 - lam) as f32 }
    }

    /// The weight of the row, and that of its partner.
    pub(crate) fn parts(self) -> [f32; 2] {
        [self.own, self.other]
    }

    #[inline(always)]
    pub(super) fn sum(self, own: f32, other: f32) -> f32 {
        own * self.own + other * self.other
    }
}

wide! {
    /// Blends bytes; results are rounded to the nearest, ties to even.
    pub(super) fn blend_u8(own: &mut [u8], other: &[u8], weights: BlendWeights) {
        for (own, other) in own.iter_mut().zip(other) {
            let sum = weights.sum(f32::from(*own), f32::from(*other));
            *own = (sum + ROUND).to_bits() as u8;
        }
    }
}

wide! {
    /// Blends f32 in the machine's byte order.
    pub(super) fn blend_f32(own: &mut [[u8; 4]], other: &[[u8; 4]], weights: BlendWeights) {
        for (own, other) in own.iter_mut().zip(other) {
            let sum = weights.sum(f32::from_ne_bytes(*own), f32::from_ne_bytes(*other));
            *own = sum.to_ne_bytes();
        }
    }
}

wide! {
    /// Blends f16 in the machine's byte order; results are rounded once.
    pub(super) fn blend_f16(own: &mut [[u8; 2]], other: &[[u8; 2]], weights: BlendWeights) {
        for (own, other) in own.iter_mut().zip(other) {
            let one = from_f16(u16::from_ne_bytes(*own));
            let two = from_f16(u16::from_ne_bytes(*other));
            *own = to_f16(weights.sum(one, two)).to_ne_bytes();
        }
    }
}

wide! {
    /// Blends bf16 in the machine's byte order; results are rounded once.
    pub(super) fn blend_bf16(own: &mut [[u8; 2]], other: &[[u8; 2]], weights: BlendWeights) {
        for (own, other) in own.iter_mut().zip(other) {
            let one = from_bf16(u16::from_ne_bytes(*own));
            let two = from_bf16(u16::from_ne_bytes(*other));
            *own = to_bf16(weights.sum(one, two)).to_ne_bytes();
        }
    }
}

/// Without a branch, so that the loop is compiled for lanes.
#[inline(always)]
fn from_f16(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    // 2^112 moves the exponent from one bias to the other, and makes subnormal numbers normal.
    let finite = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = f32::from_bits(magnitude | 0x7f80_0000);
    let value = if half & 0x7c00 == 0x7c00 { special } else { finite };
    f32::from_bits(value.to_bits() | (u32::from(half & 0x8000) << 16))
}

/// Rounds to the nearest f16, ties to even.
#[inline(always)]
fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // A float whose last bit is that of a subnormal f16: adding it rounds there.
    let magic = ((127 - 15) + (23 - 10) + 1) << 23;
    let small = (f32::from_bits(magnitude) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let odd = (magnitude >> 13) & 1;
    let rounded = magnitude.wrapping_add(0xfff + odd).wrapping_sub((127 - 15) << 23) >> 13;
    let finite = if magnitude < 0x3880_0000 { small } else { rounded };
    let special = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let half = if magnitude >= 0x4780_0000 { special } else { finite };
    (half | ((bits >> 16) & 0x8000)) as u16
}

#[inline(always)]
fn from_bf16(brain: u16) -> f32 {
    f32::from_bits(u32::from(brain) << 16)
}

/// Rounds to the nearest bf16, ties to even.
#[inline(always)]
fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x40;
    (if value.is_nan() { quiet } else { rounded }) as u16
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use tarflume_fixtures::SplitMix64;

    use super::*;
    use crate::kernels::sets::Set;

    fn random(count: usize, seed: u64) -> Vec<u8> {
        let mut random = SplitMix64::nth(seed, 0);
        (0..count).map(|_| random.next_u64() as u8).collect()
    }

    #[test]
    fn halves_are_those_of_the_crate_half() {
        for bits in 0..=u16::MAX {
            let same = |one: f32, other: f32| one.to_bits() == other.to_bits() || one.is_nan();
            assert!(same(from_f16(bits), f16::from_bits(bits).to_f32()), "{bits:#x}");
            assert!(same(from_bf16(bits), bf16::from_bits(bits).to_f32()), "{bits:#x}");
        }
        let mut random = SplitMix64::nth(1, 0);
        for _ in 0..200_000 {
            let value = f32::from_bits(random.next_u64() as u32);
            // Between the exponents of f16 most random floats are not.
            let near = f32::from_bits((value.to_bits() & 0x87ff_ffff) | 0x3000_0000);
            for value in [value, near].into_iter().filter(|value| !value.is_nan()) {
                assert_eq!(to_f16(value), f16::from_f32(value).to_bits(), "{value:e}");
                assert_eq!(to_bf16(value), bf16::from_f32(value).to_bits(), "{value:e}");
            }
        }
        assert!(f16::from_bits(to_f16(f32::NAN)).is_nan());
        assert!(bf16::from_bits(to_bf16(f32::from_bits(0x7fff_ffff))).is_nan());
    }

    #[test]
    fn bytes_are_rounded_to_the_nearest() {
        for lam in [0.0, 0.1, 0.3, 0.5, 0.731, 1.0] {
            for own in 0..=255u8 {
                let other: Vec<u8> = (0..=255).collect();
                let mut mixed = vec![own; 256];
                blend_u8(Set::best(), &mut mixed, &other, BlendWeights::new(lam));
                for (mixed, other) in mixed.into_iter().zip(other) {
                    let sum = f32::from(own) * lam as f32 + f32::from(other) * (1.0 - lam) as f32;
                    assert_eq!(f32::from(mixed), sum.round_ties_even(), "{own} {other} {lam}");
                }
            }
        }
    }

    #[test]
    fn all_sets_give_the_same_bytes() {
        for length in [0, 4, 52, 1000, 10_004] {
            let own = random(length, 7);
            let other = random(length, 8);
            let weights = BlendWeights::new(0.3);
            let blend = |set: Set, kind: usize| {
                let mut own = own.clone();
                match kind {
                    0 => blend_u8(set, &mut own, &other, weights),
                    1 => blend_f32(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
                    2 => blend_f16(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
                    _ => blend_bf16(set, own.as_chunks_mut().0, other.as_chunks().0, weights),
                }
                own
            };
            // Which of two NaN a sum has is not defined, so floats are compared without them.
            let numbers = |kind: usize, bytes: Vec<u8>| -> Vec<u32> {
                match kind {
                    1 => {
                        let floats = bytes.as_chunks().0.iter().map(|b| f32::from_ne_bytes(*b));
                        floats.map(|f| if f.is_nan() { 1 } else { f.to_bits() }).collect()
                    }
                    2 => {
                        let halves = bytes.as_chunks().0.iter().map(|b| f16::from_ne_bytes(*b));
                        halves.map(|f| if f.is_nan() { 1 } else { f.to_bits().into() }).collect()
                    }
                    3 => {
                        let halves = bytes.as_chunks().0.iter().map(|b| bf16::from_ne_bytes(*b));
                        halves.map(|f| if f.is_nan() { 1 } else { f.to_bits().into() }).collect()
                    }
                    _ => bytes.into_iter().map(u32::from).collect(),
                }
            };
            for kind in 0..4 {
                let portable = numbers(kind, blend(Set::Portable, kind));
                for set in Set::all() {
                    assert_eq!(numbers(kind, blend(set, kind)), portable, "{set:?} kind {kind}");
                }
            }
        }
    }
}
