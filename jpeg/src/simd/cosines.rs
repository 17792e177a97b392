//! The factors of the inverse DCTs: sums of cosines, times 2^13.
//!
//! Constants only, named by their decimals. Those of 8x8 are from Loeffler, Ligtenberg and Moschytz
//! (1989), as in libjpeg-turbo's jidctint.c; those of 4x4 and 2x2, as in its jidctred.c, follow
//! from them by omitting outputs.

/// Fraction bits of the factors (`CONST_BITS`).
pub(super) const FACTOR_BITS: i32 = 13;
/// Fraction bits that pass 1 (columns) leaves to pass 2 (rows) (`PASS1_BITS`).
pub(super) const BETWEEN_BITS: i32 = 2;
/// Fraction bits of a two-dimensional DCT of 8x8 without its division by 8.
pub(super) const EIGHTH_BITS: i32 = 3;

pub(super) const C_0_211: i16 = 1730; // 0.211164243
pub(super) const C_0_298: i16 = 2446; // 0.298631336
pub(super) const C_0_390: i16 = 3196; // 0.390180644
pub(super) const C_0_509: i16 = 4176; // 0.509795579
pub(super) const C_0_541: i16 = 4433; // 0.541196100
pub(super) const C_0_601: i16 = 4926; // 0.601344887
pub(super) const C_0_720: i16 = 5906; // 0.720959822
pub(super) const C_0_765: i16 = 6270; // 0.765366865
pub(super) const C_0_850: i16 = 6967; // 0.850430095
pub(super) const C_0_899: i16 = 7373; // 0.899976223
pub(super) const C_1_061: i16 = 8697; // 1.061594337
pub(super) const C_1_175: i16 = 9633; // 1.175875602
pub(super) const C_1_272: i16 = 10426; // 1.272758580
pub(super) const C_1_451: i16 = 11893; // 1.451774981
pub(super) const C_1_501: i16 = 12299; // 1.501321110
pub(super) const C_1_847: i16 = 15137; // 1.847759065
pub(super) const C_1_961: i16 = 16069; // 1.961570560
pub(super) const C_2_053: i16 = 16819; // 2.053119869
pub(super) const C_2_172: i16 = 17799; // 2.172734803
pub(super) const C_2_562: i16 = 20995; // 2.562915447
pub(super) const C_3_072: i16 = 25172; // 3.072711026
pub(super) const C_3_624: i16 = 29692; // 3.624509785
