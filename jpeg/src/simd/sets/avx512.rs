//! The kernels for AVX-512: vectors of four groups.
//!
//! What holds, and why:
//! - [`Avx512`] is only created in functions of [`set!`] that are compiled for AVX-512 (its parts
//!   F, BW, VL and VNNI): its methods may use all instructions of those and of the sets below them;
//! - those functions are called only through the table, and [`simd`] returns the table only after
//!   it has detected all four;
//! - a vector is loaded from or stored to a slice or array of at least the length that the
//!   instruction touches; none needs to be aligned;
//! - a group is loaded at one of [`Places`], whose reach was compared with the line: `taps` keeps
//!   every place 16 bytes before it.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::set::{composed, instructions, set};
use super::{avx2, sse41};
use crate::simd::dct::{idct, reduced};
use crate::simd::lanes::{ByteLanes, Lanes, MOST_GROUPS, samples_needed};
use crate::simd::run::{Blocks, ByteKernels, Simd};
use crate::simd::taps::{Across, Column, Digits, Lines, Places};
use crate::simd::weights::{Each, Outputs};
use crate::simd::{color, portable, resize, upsample, weights};

/// Returns the table if the processor has AVX-512. Requiring VNNI excludes processors that slow
/// down for long vectors.
pub(in crate::simd) fn simd() -> Option<&'static Simd> {
    let there = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    there.then_some(&SIMD)
}

set!(Avx512, "avx512", "avx512f,avx512bw,avx512vl,avx512vnni", Some(BYTES));

const BYTES: ByteKernels =
    ByteKernels { weave, across: across_bytes, down: down_bytes, shortest: Avx512::BYTES };

set! {
    Avx512, "avx512f,avx512bw,avx512vl,avx512vnni":
    weave = resize::weave(lines: Lines<'_>, woven: &mut [u8]);
    across_bytes = resize::across_bytes(digits: &Digits, woven: &[u8], count: usize, out: &mut [u8]);
    down_bytes = resize::down_bytes(rows: Lines<'_>, digits: &Digits, output: usize, out: &mut [u8]);
}

/// Proof that the processor has AVX-512.
#[derive(Clone, Copy)]
struct Avx512(());

/// 64 bytes.
type V = __m512i;

/// Defines methods that are a shift by an immediate.
macro_rules! shifts {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name<const BITS: i32>(self, a: V) -> V {
            #[target_feature(enable = "avx512f,avx512bw")]
            #[inline]
            fn inner<const BITS: i32>(a: V) -> V {
                $instruction(a, _mm_cvtsi32_si128(BITS))
            }
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { inner::<BITS>(a) }
        }
    )*};
}

impl Lanes for Avx512 {
    type V = V;
    const GROUPS: usize = 4;

    #[inline(always)]
    fn shorter(self) -> &'static Simd {
        avx2::simd().unwrap_or(&portable::SIMD)
    }

    #[inline(always)]
    fn load(self, from: &[u8]) -> V {
        let from = from[..64].as_ptr();
        // SAFETY: 64 bytes were just sliced.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    fn store(self, v: V, to: &mut [u8]) {
        let to = to[..64].as_mut_ptr();
        // SAFETY: 64 bytes were just sliced.
        unsafe { _mm512_storeu_si512(to.cast(), v) }
    }

    #[inline(always)]
    fn load_groups(self, from: &[u8], places: Places<'_>, first: usize, more: usize) -> V {
        self.placed(
            self.load_at(from, places, first, more),
            self.load_at(from, places, first + 1, more),
            self.load_at(from, places, first + 2, more),
            self.load_at(from, places, first + 3, more),
        )
    }

    #[inline(always)]
    fn store_twelves(self, v: V, to: &mut [u8]) {
        let v = self.twelves(v);
        let to = to[..48].as_mut_ptr();
        // SAFETY: 48 bytes were just sliced, and the mask selects twelve times 4 bytes.
        unsafe { _mm512_mask_storeu_epi32(to.cast(), 0x0fff, v) }
    }

    #[inline(always)]
    fn store_zipped(self, low: V, high: V, to: &mut [u8]) {
        self.store(self.gathered(low, high, [0, 1, 8, 9, 2, 3, 10, 11]), to);
        self.store(self.gathered(low, high, [4, 5, 12, 13, 6, 7, 14, 15]), &mut to[64..]);
    }

    #[inline(always)]
    fn store_three(self, v: [V; 3], to: &mut [u8]) {
        for (i, v) in v.into_iter().enumerate() {
            for (group, v) in self.split(v).into_iter().enumerate() {
                self.store_16(v, &mut to[48 * group + 16 * i..]);
            }
        }
    }

    #[inline(always)]
    fn row(self, blocks: &[[i16; 64]], first: usize, step: usize, row: usize) -> V {
        let a = self.load_row(&blocks[first].as_chunks().0[row]);
        let b = self.load_row(&blocks[first + step].as_chunks().0[row]);
        let c = self.load_row(&blocks[first + 2 * step].as_chunks().0[row]);
        let d = self.load_row(&blocks[first + 3 * step].as_chunks().0[row]);
        self.joined(a, b, c, d)
    }

    #[inline(always)]
    fn store_8x8(self, rows: [V; 4], to: &mut [u8], stride: usize, across: usize) {
        assert!(to.len() >= samples_needed(8, 4, stride, across));
        let to = to.as_mut_ptr();
        for (i, rows) in rows.into_iter().enumerate() {
            let to = to.wrapping_add(2 * i * stride);
            if across == 8 {
                // The blocks touch, so two rows of them are one store.
                let (upper, lower) =
                    self.halves(self.gathered(rows, rows, [0, 2, 4, 6, 1, 3, 5, 7]));
                // SAFETY: 32 bytes, which end where the 2 i-th row of the last block does.
                unsafe { _mm256_storeu_si256(to.cast(), upper) };
                // SAFETY: the same of the next row, at most the last, as was asserted.
                unsafe { _mm256_storeu_si256(to.wrapping_add(stride).cast(), lower) };
                continue;
            }
            for (group, v) in self.split(rows).into_iter().enumerate() {
                let to = to.wrapping_add(group * across);
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
        unsafe { _mm512_shuffle_epi8(a, table) }
    }

    composed! {
        "avx512f,avx512bw":
        all_16(value: i16) -> V { _mm512_set1_epi16(value) }
        all_32(value: i32) -> V { _mm512_set1_epi32(value) }
        right_32_by(a: V, bits: u32) -> V {
            _mm512_sra_epi32(a, _mm_cvtsi32_si128(bits.cast_signed()))
        }
        any(a: V, mask: V) -> bool { _mm512_test_epi32_mask(a, mask) != 0 }
        mean_down(a: V, b: V) -> V {
            let differ = _mm512_and_si512(_mm512_xor_si512(a, b), _mm512_set1_epi8(1));
            _mm512_sub_epi8(_mm512_avg_epu8(a, b), differ)
        }
        swap_middle_32(a: V) -> V { _mm512_shuffle_epi32::<0b11_01_10_00>(a) }
        blend_32(a: V, b: V) -> V { _mm512_mask_blend_epi32(0x5555, a, b) }
    }

    shifts! {
        left_16 = _mm512_sll_epi16;
        right_16 = _mm512_srl_epi16;
        left_32 = _mm512_sll_epi32;
        right_32 = _mm512_sra_epi32;
    }

    instructions! {
        or = _mm512_or_si512(a, b);
        and = _mm512_and_si512(a, b);
        xor = _mm512_xor_si512(a, b);
        add_16 = _mm512_add_epi16(a, b);
        sub_16 = _mm512_sub_epi16(a, b);
        mul_16 = _mm512_mullo_epi16(a, b);
        mul_round_16 = _mm512_mulhrs_epi16(a, b);
        add_32 = _mm512_add_epi32(a, b);
        sub_32 = _mm512_sub_epi32(a, b);
        dot = _mm512_madd_epi16(a, b);
        dot_add = _mm512_dpwssd_epi32(sum, a, b);
        dot_8 = _mm512_maddubs_epi16(a, b);
        mean_up = _mm512_avg_epu8(a, b);
        narrow_32 = _mm512_packs_epi32(a, b);
        narrow_16 = _mm512_packs_epi16(a, b);
        narrow_to_unsigned = _mm512_packus_epi16(a, b);
        zip_low_8 = _mm512_unpacklo_epi8(a, b);
        zip_high_8 = _mm512_unpackhi_epi8(a, b);
        zip_low_16 = _mm512_unpacklo_epi16(a, b);
        zip_high_16 = _mm512_unpackhi_epi16(a, b);
        zip_low_32 = _mm512_unpacklo_epi32(a, b);
        zip_high_32 = _mm512_unpackhi_epi32(a, b);
        zip_low_64 = _mm512_unpacklo_epi64(a, b);
        zip_high_64 = _mm512_unpackhi_epi64(a, b);
    }
}

impl ByteLanes for Avx512 {
    #[inline(always)]
    fn load_each(self, from: &[u8], places: [usize; MOST_GROUPS], more: usize) -> V {
        let [a, b, c, d] = places;
        let from = &from[more..];
        self.placed(
            self.load_16(&from[a..]),
            self.load_16(&from[b..]),
            self.load_16(&from[c..]),
            self.load_16(&from[d..]),
        )
    }

    #[inline(always)]
    fn store_each(self, v: [V; 2], to: &mut [u8], stride: usize) {
        assert!(to.len() >= stride.saturating_mul(7).saturating_add(16));
        let [a, b, c, d] = self.split(v[0]);
        let [e, f, g, h] = self.split(v[1]);
        self.store_16(a, to);
        self.store_16(b, &mut to[stride..]);
        self.store_16(c, &mut to[2 * stride..]);
        self.store_16(d, &mut to[3 * stride..]);
        self.store_16(e, &mut to[4 * stride..]);
        self.store_16(f, &mut to[5 * stride..]);
        self.store_16(g, &mut to[6 * stride..]);
        self.store_16(h, &mut to[7 * stride..]);
    }

    instructions! {
        dot_bytes_add = _mm512_dpbusd_epi32(sum, unsigned, signed);
    }
}

impl Avx512 {
    composed! {
        "avx512f,avx512bw":
        joined(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> V {
            let v = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
            _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(v, c), d)
        }
        placed(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> V {
            // Masked broadcasts from memory need no port for shuffles.
            let v = _mm512_mask_broadcast_i32x4(_mm512_castsi128_si512(a), 0x00f0, b);
            let v = _mm512_mask_broadcast_i32x4(v, 0x0f00, c);
            _mm512_mask_broadcast_i32x4(v, 0xf000, d)
        }
        twelves(v: V) -> V {
            let places = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
            _mm512_permutexvar_epi32(places, v)
        }
        repeated(group: __m128i) -> V { _mm512_broadcast_i32x4(group) }
        split(v: V) -> [__m128i; 4] {
            [
                _mm512_castsi512_si128(v),
                _mm512_extracti32x4_epi32::<1>(v),
                _mm512_extracti32x4_epi32::<2>(v),
                _mm512_extracti32x4_epi32::<3>(v),
            ]
        }
        halves(v: V) -> (__m256i, __m256i) {
            (_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v))
        }
        gathered(a: V, b: V, places: [i64; 8]) -> V {
            let [p, q, r, s, t, u, v, w] = places;
            _mm512_permutex2var_epi64(a, _mm512_setr_epi64(p, q, r, s, t, u, v, w), b)
        }
    }

    #[inline(always)]
    fn load_at(self, from: &[u8], places: Places<'_>, number: usize, more: usize) -> __m128i {
        assert!(places.reach() <= from.len() && more <= from.len() - places.reach());
        let from = from.as_ptr().wrapping_add(places.get(number) + more);
        // SAFETY: 16 bytes at a place end within the reach, and the line is `more` bytes longer.
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    fn load_16(self, from: &[u8]) -> __m128i {
        let from = from[..16].as_ptr();
        // SAFETY: 16 bytes were just sliced.
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
