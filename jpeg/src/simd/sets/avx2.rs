//! The kernels for AVX2: vectors of two groups.
//!
//! What holds, and why:
//! - [`Avx2`] is only created in functions of [`set!`] that are compiled for AVX2: its methods may
//!   use all instructions of AVX2 and of the sets below it;
//! - those functions are called only through the table, and [`simd`] returns the table only after
//!   it has detected AVX2;
//! - a vector is loaded from or stored to a slice or array of at least the length that the
//!   instruction touches; none needs to be aligned;
//! - a group is loaded at one of [`Places`], whose reach was compared with the line: `taps` keeps
//!   every place 16 bytes before it.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::set::{composed, immediates, instructions, set};
use super::sse41;
use crate::simd::dct::{idct, reduced};
use crate::simd::lanes::{Lanes, samples_needed};
use crate::simd::run::{Blocks, Simd};
use crate::simd::taps::{Across, Column, Places};
use crate::simd::weights::{Each, Outputs};
use crate::simd::{color, portable, resize, upsample, weights};

/// Returns the table if the processor has AVX2.
pub(in crate::simd) fn simd() -> Option<&'static Simd> {
    is_x86_feature_detected!("avx2").then_some(&SIMD)
}

set!(Avx2, "avx2", "avx2");

/// Proof that the processor has AVX2.
#[derive(Clone, Copy)]
struct Avx2(());

/// 32 bytes.
type V = __m256i;

impl Lanes for Avx2 {
    type V = V;
    const GROUPS: usize = 2;

    #[inline(always)]
    fn shorter(self) -> &'static Simd {
        sse41::simd().unwrap_or(&portable::SIMD)
    }

    #[inline(always)]
    fn load(self, from: &[u8]) -> V {
        let from = from[..32].as_ptr();
        // SAFETY: 32 bytes were just sliced.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u8]) {
        let to = to[..32].as_mut_ptr();
        // SAFETY: 32 bytes were just sliced.
        unsafe { _mm256_storeu_si256(to.cast(), v) }
    }

    #[inline(always)]
    fn load_groups(self, from: &[u8], places: Places<'_>, first: usize, more: usize) -> V {
        let low = self.load_at(from, places, first, more);
        self.joined(low, self.load_at(from, places, first + 1, more))
    }

    #[inline(always)]
    fn store_twelves(self, v: V, to: &mut [u8]) {
        let (low, high) = self.split(self.twelves(v));
        self.store_16(low, to);
        let to = to[16..24].as_mut_ptr();
        // SAFETY: 8 bytes were just sliced.
        unsafe { _mm_storel_epi64(to.cast(), high) };
    }

    #[inline(always)]
    fn store_zipped(self, low: V, high: V, to: &mut [u8]) {
        let (first, second) = self.in_turns(low, high);
        self.store(first, to);
        self.store(second, &mut to[32..]);
    }

    #[inline(always)]
    fn store_three(self, v: [V; 3], to: &mut [u8]) {
        for (i, v) in v.into_iter().enumerate() {
            let (low, high) = self.split(v);
            self.store_16(low, &mut to[16 * i..]);
            self.store_16(high, &mut to[48 + 16 * i..]);
        }
    }

    #[inline(always)]
    fn row(self, blocks: &[[i16; 64]], first: usize, step: usize, row: usize) -> V {
        let a = self.load_row(&blocks[first].as_chunks().0[row]);
        let b = self.load_row(&blocks[first + step].as_chunks().0[row]);
        self.joined(a, b)
    }

    #[inline(always)]
    fn store_8x8(self, rows: [V; 4], to: &mut [u8], stride: usize, across: usize) {
        assert!(to.len() >= samples_needed(8, 2, stride, across));
        let to = to.as_mut_ptr();
        for (i, rows) in rows.into_iter().enumerate() {
            let to = to.wrapping_add(2 * i * stride);
            if across == 8 {
                // The blocks touch, so two rows of them are one store.
                let (upper, lower) = self.split(self.swap_middle_64(rows));
                // SAFETY: 16 bytes, which end where the 2 i-th row of the second block does.
                unsafe { _mm_storeu_si128(to.cast(), upper) };
                // SAFETY: the same of the next row, at most the last, as was asserted.
                unsafe { _mm_storeu_si128(to.wrapping_add(stride).cast(), lower) };
                continue;
            }
            let (a, b) = self.split(rows);
            for (v, to) in [(a, to), (b, to.wrapping_add(across))] {
                // SAFETY: 8 bytes, which end where the 2 i-th row of the block does.
                unsafe { _mm_storel_epi64(to.cast(), v) };
                // SAFETY: the same of the next row, at most the block's last, as was asserted.
                unsafe { sse41::store_high(to.wrapping_add(stride), v) };
            }
        }
    }

    #[inline(always)]
    fn bytes(self, group: &[u8; 16]) -> V {
        // SAFETY: the array is 16 bytes long.
        let group = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
        self.repeated(group)
    }

    #[inline(always)]
    fn eight(self, group: &[i16; 8]) -> V {
        self.repeated(self.load_row(group))
    }

    #[inline(always)]
    fn shuffle(self, a: V, table: &[u8; 16]) -> V {
        let table = self.bytes(table);
        // SAFETY: `self` proves that the processor has these instructions.
        unsafe { _mm256_shuffle_epi8(a, table) }
    }

    composed! {
        "avx2":
        all_16(value: i16) -> V { _mm256_set1_epi16(value) }
        all_32(value: i32) -> V { _mm256_set1_epi32(value) }
        right_32_by(a: V, bits: u32) -> V {
            _mm256_sra_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()))
        }
        any(a: V, mask: V) -> bool { _mm256_testz_si256(a, mask) == 0 }
        mean_down(a: V, b: V) -> V {
            let differ = _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_set1_epi8(1));
            _mm256_sub_epi8(_mm256_avg_epu8(a, b), differ)
        }
        swap_middle_32(a: V) -> V { _mm256_shuffle_epi32::<0b11_01_10_00>(a) }
        blend_32(a: V, b: V) -> V { _mm256_blend_epi32::<0b0101_0101>(a, b) }
    }

    immediates! {
        left_16 = _mm256_slli_epi16;
        right_16 = _mm256_srli_epi16;
        left_32 = _mm256_slli_epi32;
        right_32 = _mm256_srai_epi32;
    }

    instructions! {
        or = _mm256_or_si256(a, b);
        and = _mm256_and_si256(a, b);
        xor = _mm256_xor_si256(a, b);
        add_16 = _mm256_add_epi16(a, b);
        sub_16 = _mm256_sub_epi16(a, b);
        mul_16 = _mm256_mullo_epi16(a, b);
        mul_round_16 = _mm256_mulhrs_epi16(a, b);
        add_32 = _mm256_add_epi32(a, b);
        sub_32 = _mm256_sub_epi32(a, b);
        dot = _mm256_madd_epi16(a, b);
        dot_8 = _mm256_maddubs_epi16(a, b);
        mean_up = _mm256_avg_epu8(a, b);
        narrow_32 = _mm256_packs_epi32(a, b);
        narrow_16 = _mm256_packs_epi16(a, b);
        narrow_to_unsigned = _mm256_packus_epi16(a, b);
        zip_low_8 = _mm256_unpacklo_epi8(a, b);
        zip_high_8 = _mm256_unpackhi_epi8(a, b);
        zip_low_16 = _mm256_unpacklo_epi16(a, b);
        zip_high_16 = _mm256_unpackhi_epi16(a, b);
        zip_low_32 = _mm256_unpacklo_epi32(a, b);
        zip_high_32 = _mm256_unpackhi_epi32(a, b);
        zip_low_64 = _mm256_unpacklo_epi64(a, b);
        zip_high_64 = _mm256_unpackhi_epi64(a, b);
    }
}

impl Avx2 {
    composed! {
        "avx2":
        joined(a: __m128i, b: __m128i) -> V { _mm256_set_m128i(b, a) }
        twelves(v: V) -> V {
            _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7))
        }
        repeated(group: __m128i) -> V { _mm256_broadcastsi128_si256(group) }
        split(v: V) -> (__m128i, __m128i) {
            (_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v))
        }
        in_turns(a: V, b: V) -> (V, V) {
            let first = _mm256_permute2x128_si256::<0x20>(a, b);
            (first, _mm256_permute2x128_si256::<0x31>(a, b))
        }
        swap_middle_64(v: V) -> V { _mm256_permute4x64_epi64::<0b11_01_10_00>(v) }
    }

    #[inline(always)]
    fn load_at(self, from: &[u8], places: Places<'_>, number: usize, more: usize) -> __m128i {
        assert!(places.reach() <= from.len() && more <= from.len() - places.reach());
        let from = from.as_ptr().wrapping_add(places.get(number) + more);
        // SAFETY: 16 bytes at a place end within the reach, and the line is `more` bytes longer.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    fn load_row(self, from: &[i16; 8]) -> __m128i {
        // SAFETY: the array is 16 bytes long.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_16(self, v: __m128i, to: &mut [u8]) {
        let to = to[..16].as_mut_ptr();
        // SAFETY: 16 bytes were just sliced.
        unsafe { _mm_storeu_si128(to.cast(), v) }
    }
}
