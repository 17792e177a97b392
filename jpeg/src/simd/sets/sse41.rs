//! The kernels for SSE4.1: vectors of one group. It uses two instructions of SSE4.1 (a bit test and
//! a blend), `pshufb` of SSSE3, and otherwise SSE2.
//!
//! What holds, and why:
//! - [`Sse41`] is only created in functions of [`set!`] that are compiled for SSE4.1: its methods
//!   may use all instructions of SSE4.1 and of the sets below it;
//! - those functions are called only through the table, and [`simd`] returns the table only after
//!   it has detected SSE4.1;
//! - a vector is loaded from or stored to a slice or array of at least the length that the
//!   instruction touches; none needs to be aligned.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::set::{composed, immediates, instructions, set};
use crate::simd::dct::{idct, reduced};
use crate::simd::lanes::{Lanes, samples_needed};
use crate::simd::run::{Blocks, Simd};
use crate::simd::taps::{Across, Column, Places};
use crate::simd::weights::{Each, Outputs};
use crate::simd::{color, portable, resize, upsample, weights};

/// Returns the table if the processor has SSE4.1 and SSSE3, which the compiler includes in it.
pub(in crate::simd) fn simd() -> Option<&'static Simd> {
    let there = is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("sse4.1");
    there.then_some(&SIMD)
}

set!(Sse41, "sse4.1", "sse4.1");

/// Stores the upper 8 bytes of a vector. `_mm_storeh_pd` demands an aligned address, although the instruction does not.
///
/// # Safety
/// The 8 bytes at `to` may be written.
#[inline(always)]
pub(in crate::simd) unsafe fn store_high(to: *mut u8, v: V) {
    // SAFETY: all processors of this architecture have these instructions.
    let v = unsafe { _mm_castsi128_pd(v) };
    // SAFETY: as above.
    let high = unsafe { _mm_unpackhi_pd(v, v) };
    // SAFETY: as above.
    let high = unsafe { _mm_cvtsd_f64(high) };
    // SAFETY: by this function's contract.
    unsafe { to.cast::<f64>().write_unaligned(high) };
}

/// Proof that the processor has SSE4.1.
#[derive(Clone, Copy)]
struct Sse41(());

/// 16 bytes.
type V = __m128i;

impl Lanes for Sse41 {
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
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u8]) {
        let to = to[..16].as_mut_ptr();
        // SAFETY: 16 bytes were just sliced.
        unsafe { _mm_storeu_si128(to.cast(), v) }
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
        assert!(to.len() >= samples_needed(8, 1, stride, 0));
        let to = to.as_mut_ptr();
        for (i, rows) in rows.into_iter().enumerate() {
            let at = 2 * i * stride;
            // SAFETY: 8 bytes, which end where the 2 i-th row of the block does.
            unsafe { _mm_storel_epi64(to.wrapping_add(at).cast(), rows) };
            // SAFETY: the same of the next row, at most the block's last, as was asserted.
            unsafe { store_high(to.wrapping_add(at + stride), rows) };
        }
    }

    #[inline(always)]
    fn bytes(self, group: &[u8; 16]) -> V {
        // SAFETY: the array is 16 bytes long.
        unsafe { _mm_loadu_si128(group.as_ptr().cast()) }
    }

    #[inline(always)]
    fn eight(self, group: &[i16; 8]) -> V {
        // SAFETY: the array is 16 bytes long.
        unsafe { _mm_loadu_si128(group.as_ptr().cast()) }
    }

    #[inline(always)]
    fn shuffle(self, a: V, table: &[u8; 16]) -> V {
        let table = self.bytes(table);
        // SAFETY: `self` proves that the processor has these instructions.
        unsafe { _mm_shuffle_epi8(a, table) }
    }

    composed! {
        "sse4.1":
        all_16(value: i16) -> V { _mm_set1_epi16(value) }
        all_32(value: i32) -> V { _mm_set1_epi32(value) }
        right_32_by(a: V, bits: u32) -> V {
            _mm_sra_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()))
        }
        any(a: V, mask: V) -> bool { _mm_testz_si128(a, mask) == 0 }
        mean_down(a: V, b: V) -> V {
            let differ = _mm_and_si128(_mm_xor_si128(a, b), _mm_set1_epi8(1));
            _mm_sub_epi8(_mm_avg_epu8(a, b), differ)
        }
        swap_middle_32(a: V) -> V { _mm_shuffle_epi32::<0b11_01_10_00>(a) }
        blend_32(a: V, b: V) -> V { _mm_blend_epi16::<0b0011_0011>(a, b) }
    }

    immediates! {
        left_16 = _mm_slli_epi16;
        right_16 = _mm_srli_epi16;
        left_32 = _mm_slli_epi32;
        right_32 = _mm_srai_epi32;
    }

    instructions! {
        or = _mm_or_si128(a, b);
        and = _mm_and_si128(a, b);
        xor = _mm_xor_si128(a, b);
        add_16 = _mm_add_epi16(a, b);
        sub_16 = _mm_sub_epi16(a, b);
        mul_16 = _mm_mullo_epi16(a, b);
        mul_round_16 = _mm_mulhrs_epi16(a, b);
        add_32 = _mm_add_epi32(a, b);
        sub_32 = _mm_sub_epi32(a, b);
        dot = _mm_madd_epi16(a, b);
        dot_8 = _mm_maddubs_epi16(a, b);
        mean_up = _mm_avg_epu8(a, b);
        narrow_32 = _mm_packs_epi32(a, b);
        narrow_16 = _mm_packs_epi16(a, b);
        narrow_to_unsigned = _mm_packus_epi16(a, b);
        zip_low_8 = _mm_unpacklo_epi8(a, b);
        zip_high_8 = _mm_unpackhi_epi8(a, b);
        zip_low_16 = _mm_unpacklo_epi16(a, b);
        zip_high_16 = _mm_unpackhi_epi16(a, b);
        zip_low_32 = _mm_unpacklo_epi32(a, b);
        zip_high_32 = _mm_unpackhi_epi32(a, b);
        zip_low_64 = _mm_unpacklo_epi64(a, b);
        zip_high_64 = _mm_unpackhi_epi64(a, b);
    }
}
