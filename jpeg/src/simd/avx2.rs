//! The kernels for AVX2: vectors of two groups.
//!
//! What holds, and why:
//! - [`Avx2`] is made in functions of this file that the compiler lets run with AVX2 only: there its
//!   methods may use all instructions of AVX2 and of the sets below it;
//! - those functions are called through the table alone, and [`simd`] hands the table out only after
//!   the processor has said that it has AVX2;
//! - a vector is loaded from or stored to a slice or an array just taken that is at least as long
//!   as what the instruction touches; none needs to be aligned.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::lanes::{Lanes, samples_needed};
use super::run::{Blocks, Simd};
use super::{colour, idct, portable, reduced, upsample};

/// The table, if the processor has AVX2.
pub(super) fn simd() -> Option<&'static Simd> {
    is_x86_feature_detected!("avx2").then_some(&SIMD)
}

static SIMD: Simd = Simd {
    name: "avx2",
    idct: [to_8x8, to_4x4, to_2x2, portable::reduced::to_1x1],
    h2v1,
    h2v2,
    h1v2,
    ycc_rgb,
    grey_rgb,
};

/// A function of the table that runs a kernel.
macro_rules! entry {
    ($name:ident = $kernel:path, ($($arg:ident: $type:ty),*)) => {
        fn $name($($arg: $type),*) {
            #[target_feature(enable = "avx2")]
            fn inner($($arg: $type),*) {
                $kernel(Avx2(()), $($arg),*);
            }
            // SAFETY: the table was handed out, so the processor has AVX2.
            unsafe { inner($($arg),*) }
        }
    };
}

entry!(to_8x8 = idct::to_8x8, (blocks: &mut Blocks<'_>));
entry!(to_4x4 = reduced::to_4x4, (blocks: &mut Blocks<'_>));
entry!(to_2x2 = reduced::to_2x2, (blocks: &mut Blocks<'_>));
entry!(h2v1 = upsample::h2v1, (line: &[u8], out: &mut [u8]));
entry!(h2v2 = upsample::h2v2, (near: &[u8], far: &[u8], out: &mut [u8]));
entry!(h1v2 = upsample::h1v2, (near: &[u8], far: &[u8], bias: u8, out: &mut [u8]));
entry!(ycc_rgb = colour::ycc_rgb, (y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]));
entry!(grey_rgb = colour::grey_rgb, (grey: &[u8], out: &mut [u8]));

/// A processor that has AVX2.
#[derive(Clone, Copy)]
struct Avx2(());

/// Methods that are one instruction.
macro_rules! instructions {
    ($($name:ident = $instruction:ident($($arg:ident),*);)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: __m256i),*) -> __m256i {
            // SAFETY: there is an `Avx2`, so the processor has AVX2.
            unsafe { $instruction($($arg),*) }
        }
    )*};
}

/// Methods that are one instruction with a number in it.
macro_rules! shifts {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name<const BITS: i32>(self, a: __m256i) -> __m256i {
            // SAFETY: as above.
            unsafe { $instruction::<BITS>(a) }
        }
    )*};
}

/// Methods that fill a vector with a number.
macro_rules! fills {
    ($($name:ident = $instruction:ident($type:ty);)*) => {$(
        #[inline(always)]
        fn $name(self, value: $type) -> __m256i {
            // SAFETY: as above.
            unsafe { $instruction(value) }
        }
    )*};
}

impl Lanes for Avx2 {
    type V = __m256i;
    const GROUPS: usize = 2;

    #[inline(always)]
    fn load(self, from: &[u8]) -> __m256i {
        let from = from[..32].as_ptr();
        // SAFETY: 32 bytes were just sliced.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    fn store(self, v: __m256i, to: &mut [u8]) {
        let to = to[..32].as_mut_ptr();
        // SAFETY: 32 bytes were just sliced.
        unsafe { _mm256_storeu_si256(to.cast(), v) }
    }

    #[inline(always)]
    fn store_zipped(self, low: __m256i, high: __m256i, to: &mut [u8]) {
        // SAFETY: there is an `Avx2`.
        self.store(unsafe { _mm256_permute2x128_si256::<0x20>(low, high) }, to);
        // SAFETY: there is an `Avx2`.
        self.store(unsafe { _mm256_permute2x128_si256::<0x31>(low, high) }, &mut to[32..]);
    }

    #[inline(always)]
    fn store_three(self, v: [__m256i; 3], to: &mut [u8]) {
        for (i, v) in v.into_iter().enumerate() {
            let (low, high) = self.split(v);
            self.store_16(low, &mut to[16 * i..]);
            self.store_16(high, &mut to[48 + 16 * i..]);
        }
    }

    #[inline(always)]
    fn row(self, blocks: &[[i16; 64]], first: usize, step: usize, row: usize) -> __m256i {
        let load = |block: usize| self.load_row(&blocks[block].as_chunks().0[row]);
        let (a, b) = (load(first), load(first + step));
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_set_m128i(b, a) }
    }

    #[inline(always)]
    fn store_8x8(self, rows: [__m256i; 4], to: &mut [u8], stride: usize, across: usize) {
        assert!(to.len() >= samples_needed(8, 2, stride, across));
        for (i, rows) in rows.into_iter().enumerate() {
            let (a, b) = self.split(rows);
            for (v, at) in [(a, 2 * i * stride), (b, 2 * i * stride + across)] {
                let low = to[at..][..8].as_mut_ptr();
                // SAFETY: 8 bytes were just sliced.
                unsafe { _mm_storel_epi64(low.cast(), v) };
                let high = to[at + stride..][..8].as_mut_ptr();
                // SAFETY: there is an `Avx2`.
                let v = unsafe { _mm_castsi128_pd(v) };
                // SAFETY: 8 bytes were just sliced.
                unsafe { _mm_storeh_pd(high.cast(), v) };
            }
        }
    }

    #[inline(always)]
    fn store_4x4(self, rows: __m256i, to: &mut [u8], stride: usize, across: usize) {
        assert!(to.len() >= samples_needed(4, 2, stride, across));
        let (a, b) = self.split(rows);
        for (v, at) in [(a, 0), (b, across)] {
            let mut rows = [0; 16];
            self.store_16(v, &mut rows);
            for (y, row) in rows.as_chunks::<4>().0.iter().enumerate() {
                to[at + y * stride..][..4].copy_from_slice(row);
            }
        }
    }

    #[inline(always)]
    fn store_2x2(self, rows: __m256i, to: &mut [u8], stride: usize, across: usize) {
        assert!(to.len() >= samples_needed(2, 2, stride, across));
        let (a, b) = self.split(rows);
        for (v, at) in [(a, 0), (b, across)] {
            let mut rows = [0; 16];
            self.store_16(v, &mut rows);
            to[at..][..2].copy_from_slice(&rows[..2]);
            to[at + stride..][..2].copy_from_slice(&rows[2..4]);
        }
    }

    #[inline(always)]
    fn bytes(self, group: &[u8; 16]) -> __m256i {
        let v = self.load_16(group);
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_broadcastsi128_si256(v) }
    }

    #[inline(always)]
    fn eight(self, group: &[i16; 8]) -> __m256i {
        let v = self.load_row(group);
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_broadcastsi128_si256(v) }
    }

    #[inline(always)]
    fn pair_16(self, even: i16, odd: i16) -> __m256i {
        self.all_32(i32::from(even) & 0xffff | i32::from(odd) << 16)
    }

    #[inline(always)]
    fn any(self, a: __m256i, mask: __m256i) -> bool {
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_testz_si256(a, mask) == 0 }
    }

    #[inline(always)]
    fn mean_down(self, a: __m256i, b: __m256i) -> __m256i {
        let differ = self.and(self.xor(a, b), self.bytes(&[1; 16]));
        let up = self.mean_up(a, b);
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_sub_epi8(up, differ) }
    }

    #[inline(always)]
    fn swap_middle_32(self, a: __m256i) -> __m256i {
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_shuffle_epi32::<0b11_01_10_00>(a) }
    }

    #[inline(always)]
    fn blend_32(self, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_blend_epi32::<0b0101_0101>(a, b) }
    }

    #[inline(always)]
    fn shuffle(self, a: __m256i, table: &[u8; 16]) -> __m256i {
        let table = self.bytes(table);
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_shuffle_epi8(a, table) }
    }

    fills! {
        all_16 = _mm256_set1_epi16(i16);
        all_32 = _mm256_set1_epi32(i32);
    }

    shifts! {
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
    /// Both groups.
    #[inline(always)]
    fn split(self, v: __m256i) -> (__m128i, __m128i) {
        // SAFETY: there is an `Avx2`.
        let low = unsafe { _mm256_castsi256_si128(v) };
        // SAFETY: there is an `Avx2`.
        (low, unsafe { _mm256_extracti128_si256::<1>(v) })
    }

    #[inline(always)]
    fn load_16(self, from: &[u8; 16]) -> __m128i {
        // SAFETY: the array is 16 bytes long.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
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
