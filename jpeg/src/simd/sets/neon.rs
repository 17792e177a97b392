//! The kernels for NEON: vectors of one group.
//!
//! What holds, and why:
//! - [`Neon`] is only created in functions of [`set!`] that are compiled for NEON: its methods may
//!   use all its instructions;
//! - those functions are called only through the table, and [`simd`] returns the table only after
//!   it has detected NEON;
//! - a vector is loaded from or stored to a slice or array of at least the length that the
//!   instruction touches; none needs to be aligned.
#![allow(unsafe_code)]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use super::set::{composed, set};
use crate::simd::dct::{idct, reduced};
use crate::simd::lanes::Lanes;
use crate::simd::run::{Blocks, Simd};
use crate::simd::taps::{Across, Column, Places};
use crate::simd::weights::{Each, Outputs};
use crate::simd::{color, portable, resize, upsample, weights};

/// Returns the table if the processor has NEON.
pub(in crate::simd) fn simd() -> Option<&'static Simd> {
    is_aarch64_feature_detected!("neon").then_some(&SIMD)
}

set!(Neon, "neon", "neon");

/// Proof that the processor has NEON.
#[derive(Clone, Copy)]
struct Neon(());

/// 16 bytes, cast to the type that an instruction needs.
type V = uint8x16_t;

/// Defines methods of instructions on vectors of bytes.
macro_rules! of_bytes {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: V, b: V) -> V {
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { $instruction(a, b) }
        }
    )*};
}

/// Defines methods of instructions on vectors of other numbers: casts to these, the instruction, a
/// cast to bytes.
macro_rules! of_others {
    ($($name:ident = $from:ident, $instruction:ident, $to:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, a: V, b: V) -> V {
            #[target_feature(enable = "neon")]
            #[inline]
            fn inner(a: V, b: V) -> V {
                $to($instruction($from(a), $from(b)))
            }
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { inner(a, b) }
        }
    )*};
}

/// Defines methods that shift by an immediate.
macro_rules! shifts {
    ($($name:ident = $from:ident, $instruction:ident, $to:ident;)*) => {$(
        #[inline(always)]
        fn $name<const BITS: i32>(self, a: V) -> V {
            #[target_feature(enable = "neon")]
            #[inline]
            fn inner<const BITS: i32>(a: V) -> V {
                $to($instruction::<BITS>($from(a)))
            }
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { inner::<BITS>(a) }
        }
    )*};
}

impl Lanes for Neon {
    type V = V;
    const GROUPS: usize = 1;

    #[inline(always)]
    fn shorter(self) -> &'static Simd {
        &portable::SIMD
    }

    #[inline(always)]
    fn load(self, from: &[u8]) -> V {
        let from = from[..16].as_ptr();
        // SAFETY: 16 bytes were just sliced.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u8]) {
        let to = to[..16].as_mut_ptr();
        // SAFETY: 16 bytes were just sliced.
        unsafe { vst1q_u8(to, v) }
    }

    #[inline(always)]
    fn load_groups(self, from: &[u8], places: Places<'_>, first: usize, more: usize) -> V {
        self.load(&from[places.get(first) + more..])
    }

    #[inline(always)]
    fn store_zipped(self, low: V, high: V, to: &mut [u8]) {
        self.store(low, to);
        self.store(high, &mut to[16..]);
    }

    #[inline(always)]
    fn store_three(self, v: [V; 3], to: &mut [u8]) {
        for (i, v) in v.into_iter().enumerate() {
            self.store(v, &mut to[16 * i..]);
        }
    }

    #[inline(always)]
    fn row(self, blocks: &[[i16; 64]], first: usize, _step: usize, row: usize) -> V {
        self.eight(&blocks[first].as_chunks().0[row])
    }

    #[inline(always)]
    fn store_8x8(self, rows: [V; 4], to: &mut [u8], stride: usize, _across: usize) {
        for (i, rows) in rows.into_iter().enumerate() {
            let mut pair = [0; 16];
            self.store(rows, &mut pair);
            to[2 * i * stride..][..8].copy_from_slice(&pair[..8]);
            to[(2 * i + 1) * stride..][..8].copy_from_slice(&pair[8..]);
        }
    }

    #[inline(always)]
    fn bytes(self, group: &[u8; 16]) -> V {
        // SAFETY: the array is 16 bytes long.
        unsafe { vld1q_u8(group.as_ptr()) }
    }

    #[inline(always)]
    fn eight(self, group: &[i16; 8]) -> V {
        // SAFETY: the array is 16 bytes long.
        unsafe { vld1q_u8(group.as_ptr().cast()) }
    }

    #[inline(always)]
    fn shuffle(self, a: V, table: &[u8; 16]) -> V {
        let table = self.bytes(table);
        // SAFETY: `self` proves that the processor has NEON; indices past the vector give 0.
        unsafe { vqtbl1q_u8(a, table) }
    }

    of_bytes! {
        or = vorrq_u8;
        and = vandq_u8;
        xor = veorq_u8;
        mean_up = vrhaddq_u8;
        mean_down = vhaddq_u8;
        zip_low_8 = vzip1q_u8;
        zip_high_8 = vzip2q_u8;
    }

    of_others! {
        add_16 = vreinterpretq_u16_u8, vaddq_u16, vreinterpretq_u8_u16;
        sub_16 = vreinterpretq_u16_u8, vsubq_u16, vreinterpretq_u8_u16;
        mul_16 = vreinterpretq_u16_u8, vmulq_u16, vreinterpretq_u8_u16;
        mul_round_16 = vreinterpretq_s16_u8, vqrdmulhq_s16, vreinterpretq_u8_s16;
        add_32 = vreinterpretq_u32_u8, vaddq_u32, vreinterpretq_u8_u32;
        sub_32 = vreinterpretq_u32_u8, vsubq_u32, vreinterpretq_u8_u32;
        zip_low_16 = vreinterpretq_u16_u8, vzip1q_u16, vreinterpretq_u8_u16;
        zip_high_16 = vreinterpretq_u16_u8, vzip2q_u16, vreinterpretq_u8_u16;
        zip_low_32 = vreinterpretq_u32_u8, vzip1q_u32, vreinterpretq_u8_u32;
        zip_high_32 = vreinterpretq_u32_u8, vzip2q_u32, vreinterpretq_u8_u32;
        zip_low_64 = vreinterpretq_u64_u8, vzip1q_u64, vreinterpretq_u8_u64;
        zip_high_64 = vreinterpretq_u64_u8, vzip2q_u64, vreinterpretq_u8_u64;
    }

    shifts! {
        left_16 = vreinterpretq_u16_u8, vshlq_n_u16, vreinterpretq_u8_u16;
        right_16 = vreinterpretq_u16_u8, vshrq_n_u16, vreinterpretq_u8_u16;
        left_32 = vreinterpretq_u32_u8, vshlq_n_u32, vreinterpretq_u8_u32;
        right_32 = vreinterpretq_s32_u8, vshrq_n_s32, vreinterpretq_u8_s32;
    }

    composed! {
        "neon":
        all_16(value: i16) -> V { vreinterpretq_u8_s16(vdupq_n_s16(value)) }
        all_32(value: i32) -> V { vreinterpretq_u8_s32(vdupq_n_s32(value)) }
        right_32_by(a: V, bits: u32) -> V {
            let left = vdupq_n_s32(-bits.cast_signed());
            vreinterpretq_u8_s32(vshlq_s32(vreinterpretq_s32_u8(a), left))
        }
        any(a: V, mask: V) -> bool { vmaxvq_u8(vandq_u8(a, mask)) != 0 }
        dot(a: V, b: V) -> V {
            let a = vreinterpretq_s16_u8(a);
            let b = vreinterpretq_s16_u8(b);
            let low = vmull_s16(vget_low_s16(a), vget_low_s16(b));
            vreinterpretq_u8_s32(vpaddq_s32(low, vmull_high_s16(a, b)))
        }
        dot_8(a: V, b: V) -> V {
            // Factors are small and positive, so they may be treated as unsigned like `a`.
            let low = vmull_u8(vget_low_u8(a), vget_low_u8(b));
            vreinterpretq_u8_u16(vpaddq_u16(low, vmull_high_u8(a, b)))
        }
        narrow_32(a: V, b: V) -> V {
            let low = vqmovn_s32(vreinterpretq_s32_u8(a));
            vreinterpretq_u8_s16(vqmovn_high_s32(low, vreinterpretq_s32_u8(b)))
        }
        narrow_16(a: V, b: V) -> V {
            let low = vqmovn_s16(vreinterpretq_s16_u8(a));
            vreinterpretq_u8_s8(vqmovn_high_s16(low, vreinterpretq_s16_u8(b)))
        }
        narrow_to_unsigned(a: V, b: V) -> V {
            let low = vqmovun_s16(vreinterpretq_s16_u8(a));
            vqmovun_high_s16(low, vreinterpretq_s16_u8(b))
        }
        swap_middle_32(a: V) -> V {
            let a = vreinterpretq_u32_u8(a);
            vreinterpretq_u8_u32(vuzp1q_u32(a, vextq_u32::<1>(a, a)))
        }
        blend_32(a: V, b: V) -> V {
            let b_first = vdupq_n_u64(0xffff_ffff);
            vbslq_u8(vreinterpretq_u8_u64(b_first), b, a)
        }
    }
}
