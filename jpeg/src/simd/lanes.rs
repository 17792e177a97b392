//! The operations that kernels need from a processor: vectors of one or more groups of 16 bytes.
//!
//! Kernels are written once, over this trait, in safe code; a set is the trait's implementation by
//! one processor's instructions. The trait does not know what is computed. Except for stores, no
//! operation moves anything between groups.
//!
//! Every method, and every function that calls one, is inlined, so that a whole kernel is compiled
//! for the processor of its outermost function.

use super::run::Simd;
use super::taps::Places;

/// The instructions of a detected processor. Numbers in names are bits; arithmetic wraps unless
/// stated otherwise.
pub(super) trait Lanes: Copy {
    /// `GROUPS` times 16 bytes.
    type V: Copy;
    const GROUPS: usize;
    const BYTES: usize = 16 * Self::GROUPS;

    /// Returns the set for lines that do not fill a vector.
    fn shorter(self) -> &'static Simd;

    /// Loads the first `BYTES`.
    fn load(self, from: &[u8]) -> Self::V;
    /// Stores to the first `BYTES`.
    fn store(self, v: Self::V, to: &mut [u8]);
    /// Loads groups of 16 bytes: `more` bytes behind `GROUPS` places, from number `first` on.
    fn load_groups(self, from: &[u8], places: Places<'_>, first: usize, more: usize) -> Self::V;
    /// Stores the first twelve bytes of each group in turn.
    #[inline(always)]
    fn store_twelves(self, v: Self::V, to: &mut [u8]) {
        let groups = self.groups(v);
        for (to, group) in to[..12 * Self::GROUPS].as_chunks_mut::<12>().0.iter_mut().zip(&groups) {
            to.copy_from_slice(&group[..12]);
        }
    }
    /// Stores groups of `low` and `high` alternately, as if `zip_low_8` and `zip_high_8` had been
    /// applied to whole vectors.
    fn store_zipped(self, low: Self::V, high: Self::V, to: &mut [u8]);
    /// Stores groups of the three vectors in turn.
    fn store_three(self, v: [Self::V; 3], to: &mut [u8]);
    /// Loads a row of 8 of one block per group: blocks `first`, `first + step`, ...
    fn row(self, blocks: &[[i16; 64]], first: usize, step: usize, row: usize) -> Self::V;
    /// Stores 8 rows of 8 samples per group; each group `across` samples after the previous one.
    fn store_8x8(self, rows: [Self::V; 4], to: &mut [u8], stride: usize, across: usize);
    /// Returns the groups' bytes, for smaller blocks.
    #[inline(always)]
    fn groups(self, v: Self::V) -> [[u8; 16]; MOST_GROUPS] {
        let mut groups = [[0; 16]; MOST_GROUPS];
        self.store(v, groups.as_flattened_mut());
        groups
    }

    /// Repeats the bytes in every group.
    fn bytes(self, group: &[u8; 16]) -> Self::V;
    /// Repeats the numbers in every group.
    fn eight(self, group: &[i16; 8]) -> Self::V;
    fn all_16(self, value: i16) -> Self::V;
    fn all_32(self, value: i32) -> Self::V;
    /// Alternates two numbers.
    #[inline(always)]
    fn pair_16(self, even: i16, odd: i16) -> Self::V {
        self.all_32(i32::from(even) & 0xffff | i32::from(odd) << 16)
    }

    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Returns true if any bit of `mask` is set in `a`.
    fn any(self, a: Self::V, mask: Self::V) -> bool;

    fn add_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// `(a b + 2^14) >> 15`, signed.
    fn mul_round_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// Shifts in zeros.
    fn left_16<const BITS: i32>(self, a: Self::V) -> Self::V;
    /// Shifts in zeros.
    fn right_16<const BITS: i32>(self, a: Self::V) -> Self::V;
    fn add_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn left_32<const BITS: i32>(self, a: Self::V) -> Self::V;
    /// Shifts in the sign.
    fn right_32<const BITS: i32>(self, a: Self::V) -> Self::V;
    /// The same by a number of bits that is not known before, below 32.
    fn right_32_by(self, a: Self::V, bits: u32) -> Self::V;
    /// 32-bit sums of products of adjacent 16-bit numbers, signed.
    fn dot(self, a: Self::V, b: Self::V) -> Self::V;
    /// `sum` plus `dot`.
    #[inline(always)]
    fn dot_add(self, sum: Self::V, a: Self::V, b: Self::V) -> Self::V {
        self.add_32(sum, self.dot(a, b))
    }
    /// 16-bit sums of products of adjacent 8-bit numbers; those of `b` are below 64.
    fn dot_8(self, a: Self::V, b: Self::V) -> Self::V;
    /// `(a + b + 1) / 2`, unsigned 8 bits.
    fn mean_up(self, a: Self::V, b: Self::V) -> Self::V;
    /// `(a + b) / 2`, unsigned 8 bits.
    fn mean_down(self, a: Self::V, b: Self::V) -> Self::V;

    /// A group's values of `a`, then those of `b`: 32 to 16 bits, signed, saturated.
    fn narrow_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// The same, 16 to 8 bits, signed.
    fn narrow_16(self, a: Self::V, b: Self::V) -> Self::V;
    /// The same, signed 16 to unsigned 8 bits.
    fn narrow_to_unsigned(self, a: Self::V, b: Self::V) -> Self::V;
    /// Interleaves the lower halves of the groups of `a` and `b` element by element.
    fn zip_low_8(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_8(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_64(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_64(self, a: Self::V, b: Self::V) -> Self::V;
    /// Swaps the middle two of a group's four 32-bit numbers.
    fn swap_middle_32(self, a: Self::V) -> Self::V;
    /// Takes 32-bit numbers 0 and 2 from `b`, 1 and 3 from `a`.
    fn blend_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// Moves byte `table[i]` of the group to position i; 0 if it is [`NONE`].
    fn shuffle(self, a: Self::V, table: &[u8; 16]) -> Self::V;
}

/// The instructions of a processor that multiplies bytes by bytes and adds to sums of 32 bits.
pub(super) trait ByteLanes: Lanes {
    /// `sum` plus 32-bit sums of products of four adjacent bytes: unsigned ones by signed ones.
    fn dot_bytes_add(self, sum: Self::V, unsigned: Self::V, signed: Self::V) -> Self::V;
    /// Loads groups: `more` bytes behind the first `GROUPS` of the places.
    fn load_each(self, from: &[u8], places: [usize; MOST_GROUPS], more: usize) -> Self::V;
    /// Stores each group of the vectors in turn, `stride` bytes after the previous one.
    fn store_each(self, v: [Self::V; 2], to: &mut [u8], stride: usize);
}

/// In tables of `shuffle`: zero.
pub(super) const NONE: u8 = 0x80;

/// Number of groups in the longest vector of any set.
pub(super) const MOST_GROUPS: usize = 4;

/// Returns how many samples a plane must have for `groups` of `side` rows of `side` samples; the
/// maximum on overflow. NEON's kernels slice instead.
#[cfg(target_arch = "x86_64")]
pub(super) fn samples_needed(side: usize, groups: usize, stride: usize, across: usize) -> usize {
    let last_row = stride.saturating_mul(side - 1);
    across.saturating_mul(groups - 1).saturating_add(last_row).saturating_add(side)
}

/// Returns where the vectors of a line of `n` samples begin: the last one ends with the line, and
/// overlaps the one before it.
#[inline(always)]
pub(super) fn starts(n: usize, length: usize) -> impl Iterator<Item = usize> {
    let last = n.saturating_sub(length);
    (0..n.div_ceil(length)).map(move |i| (i * length).min(last))
}
