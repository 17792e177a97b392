//! Table look-ups by shuffles of bytes, which compilers do not find.
#![allow(unsafe_code)]

use crate::kernels::color::table::Table;
use crate::kernels::sets::Set;

/// Replaces the first bytes by their values in the table. Returns their number: none on a set
/// without a shuffle that is quicker than loads.
pub(crate) fn look_up(set: Set, bytes: &mut [u8], table: &Table) -> usize {
    match set {
        // SAFETY: `Set::all` lists a set only if the processor has its instructions.
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => unsafe { x86::look_up_64(bytes, table) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { x86::look_up_32(bytes, table) },
        _ => {
            let _ = (bytes, table);
            0
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::kernels::color::table::Table;

    /// 64 bytes at a time: each half of the table is in two registers.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn look_up_64(bytes: &mut [u8], table: &Table) -> usize {
        // SAFETY: the four loads read the 256 bytes of the table.
        let [a, b, c, d] =
            [0, 64, 128, 192].map(|at| unsafe { _mm512_loadu_si512(table[at..].as_ptr().cast()) });
        let mut blocks = bytes.chunks_exact_mut(64);
        let mut done = 0;
        for block in &mut blocks {
            // SAFETY: a block has 64 bytes.
            let index = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let low = _mm512_permutex2var_epi8(a, index, b);
            let high = _mm512_permutex2var_epi8(c, index, d);
            let value = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), value) };
            done += 64;
        }
        done
    }

    /// 32 bytes at a time, by sixteen shuffles of a sixteenth of the table.
    ///
    /// A shuffle gives 0 for a negative index. Register k has the xor of the parts k and k - 1 of
    /// the table: the xor of all registers whose index is not negative yet is the part that the
    /// byte selects.
    #[target_feature(enable = "avx2")]
    pub(super) fn look_up_32(bytes: &mut [u8], table: &Table) -> usize {
        let lower = parts(&table[..128]);
        let upper = parts(&table[128..]);
        let sixteen = _mm256_set1_epi8(16);
        let sign = _mm256_set1_epi8(-128);
        let mut done = 0;
        for block in bytes.chunks_exact_mut(32) {
            // SAFETY: a block has 32 bytes.
            let index = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let mut low = index;
            let mut high = _mm256_xor_si256(index, sign);
            let mut value = _mm256_xor_si256(
                _mm256_shuffle_epi8(lower[0], low),
                _mm256_shuffle_epi8(upper[0], high),
            );
            for part in 1..8 {
                low = _mm256_subs_epi8(low, sixteen);
                high = _mm256_subs_epi8(high, sixteen);
                let pair = _mm256_xor_si256(
                    _mm256_shuffle_epi8(lower[part], low),
                    _mm256_shuffle_epi8(upper[part], high),
                );
                value = _mm256_xor_si256(value, pair);
            }
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), value) };
            done += 32;
        }
        done
    }

    /// The registers for a half of the table.
    #[target_feature(enable = "avx2")]
    fn parts(half: &[u8]) -> [__m256i; 8] {
        let mut parts = [_mm256_setzero_si256(); 8];
        let mut before = _mm256_setzero_si256();
        for (part, bytes) in parts.iter_mut().zip(half.chunks_exact(16)) {
            // SAFETY: a chunk has 16 bytes.
            let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
            let both = _mm256_broadcastsi128_si256(bytes);
            *part = _mm256_xor_si256(both, before);
            before = both;
        }
        parts
    }
}
