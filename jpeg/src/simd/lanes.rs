//! What the kernels ask of a processor: vectors of one or more groups of 16 bytes.
//!
//! Kernels are written once, over this trait, in safe code; a set is the trait's implementation by
//! one processor's instructions. Nothing here knows what is computed. No operation moves anything
//! between groups, but stores do.
//!
//! Every method and every function that calls one is inlined, so that all of a kernel is compiled
//! for the processor that its outermost function names.

use super::run::Simd;

/// The instructions of a processor that is there. Numbers in names are bits; all wrap unless said.
pub(super) trait Lanes: Copy {
    /// `GROUPS` times 16 bytes.
    type V: Copy;
    const GROUPS: usize;
    const BYTES: usize = 16 * Self::GROUPS;

    /// The set for what does not fill a vector.
    fn shorter(self) -> &'static Simd;

    /// The first `BYTES`.
    fn load(self, from: &[u8]) -> Self::V;
    /// To the first `BYTES`.
    fn store(self, v: Self::V, to: &mut [u8]);
    /// As if `zip_low_8` and `zip_high_8` of these had been taken over whole vectors: groups of `low`
    /// and `high` by turns.
    fn store_zipped(self, low: Self::V, high: Self::V, to: &mut [u8]);
    /// Groups of the three by turns.
    fn store_three(self, v: [Self::V; 3], to: &mut [u8]);
    /// A row of 8 of one block a group: blocks `first`, `first + step`, ...
    fn row(self, blocks: &[[i16; 64]], first: usize, step: usize, row: usize) -> Self::V;
    /// Each group holds 8 rows of 8 samples; a group's go `across` samples behind the former's.
    fn store_8x8(self, rows: [Self::V; 4], to: &mut [u8], stride: usize, across: usize);
    /// The groups' bytes, for smaller blocks.
    #[inline(always)]
    fn groups(self, v: Self::V) -> [[u8; 16]; MOST_GROUPS] {
        let mut groups = [[0; 16]; MOST_GROUPS];
        self.store(v, groups.as_flattened_mut());
        groups
    }

    /// The same in every group.
    fn bytes(self, group: &[u8; 16]) -> Self::V;
    /// The same in every group.
    fn eight(self, group: &[i16; 8]) -> Self::V;
    fn all_16(self, value: i16) -> Self::V;
    fn all_32(self, value: i32) -> Self::V;
    /// By turns.
    #[inline(always)]
    fn pair_16(self, even: i16, odd: i16) -> Self::V {
        self.all_32(i32::from(even) & 0xffff | i32::from(odd) << 16)
    }

    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Whether a bit of `mask` is set in `a`.
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
    /// Sums of 32 bits of products of neighboring 16 bits, signed.
    fn dot(self, a: Self::V, b: Self::V) -> Self::V;
    /// `sum` plus `dot`.
    #[inline(always)]
    fn dot_add(self, sum: Self::V, a: Self::V, b: Self::V) -> Self::V {
        self.add_32(sum, self.dot(a, b))
    }
    /// Sums of 16 bits of products of neighboring 8 bits, of which those of `b` are below 64.
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
    /// The lower halves of groups of `a` and `b`, element by element in turns.
    fn zip_low_8(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_8(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_16(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_32(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_low_64(self, a: Self::V, b: Self::V) -> Self::V;
    fn zip_high_64(self, a: Self::V, b: Self::V) -> Self::V;
    /// The middle two of a group's four 32 bits change places.
    fn swap_middle_32(self, a: Self::V) -> Self::V;
    /// 32 bits 0 and 2 of `b`, 1 and 3 of `a`.
    fn blend_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// Byte `table[i]` of the group to place i; 0 where it is [`NONE`].
    fn shuffle(self, a: Self::V, table: &[u8; 16]) -> Self::V;
}

/// In tables of `shuffle`: a zero.
pub(super) const NONE: u8 = 0x80;

/// Groups in the longest vector of any set.
pub(super) const MOST_GROUPS: usize = 4;

/// How many samples a plane must have for `groups` of `side` rows of `side` samples; the greatest
/// number if that can't be said.
pub(super) fn samples_needed(side: usize, groups: usize, stride: usize, across: usize) -> usize {
    let last_row = stride.saturating_mul(side - 1);
    across.saturating_mul(groups - 1).saturating_add(last_row).saturating_add(side)
}

/// Where the vectors of a line of `n` samples begin: the last one ends with the line, and overlaps the
/// one before it.
#[inline(always)]
pub(super) fn starts(n: usize, length: usize) -> impl Iterator<Item = usize> {
    let last = n.saturating_sub(length);
    (0..n.div_ceil(length)).map(move |i| (i * length).min(last))
}
