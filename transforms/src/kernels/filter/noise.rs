//! Normal noise by counting: a number depends on its position and a key alone, so that all lanes compute at once.
//!
//! Only basic arithmetic and square roots are used, which are the same on every machine.

use tarflume_image::Random;

use crate::kernels::sets::wide;

/// Chooses a sequence of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key([u32; 2]);

impl Key {
    /// The key of a seed.
    pub(crate) fn new(seed: u64) -> Key {
        let bits = Random::new(seed).bits();
        Key([bits as u32, (bits >> 32) as u32])
    }

    /// The key, for a device.
    pub(crate) fn words(self) -> [u32; 2] {
        self.0
    }
}

wide! {
    /// Writes standard normal numbers: those from position `first` on.
    pub(crate) fn normals(key: Key, first: u32, out: &mut [f32]) {
        for (at, out) in (0u32..).zip(out) {
            *out = normal(key, first.wrapping_add(at));
        }
    }
}

wide! {
    /// Adds to each byte `mean` and `sigma` times a normal number, without the fraction. Results are limited to bytes.
    pub(crate) fn add_noise(key: Key, mean: f32, sigma: f32, bytes: &mut [u8]) {
        for (at, byte) in (0u32..).zip(bytes) {
            *byte = (i32::from(*byte) + noise(key, at, mean, sigma)).clamp(0, 255) as u8;
        }
    }
}

wide! {
    /// As [`add_noise`], but of results that are no bytes the last 8 bits remain.
    pub(crate) fn add_noise_wrapped(key: Key, mean: f32, sigma: f32, bytes: &mut [u8]) {
        for (at, byte) in (0u32..).zip(bytes) {
            *byte = (i32::from(*byte) + noise(key, at, mean, sigma)) as u8;
        }
    }
}

#[inline(always)]
fn noise(key: Key, at: u32, mean: f32, sigma: f32) -> i32 {
    let noise = mean + normal(key, at) * sigma;
    let noise = if noise > -32768.0 { noise } else { -32768.0 };
    let noise = if noise < 32767.0 { noise } else { 32767.0 };
    // The sum has no fraction: it is rounded as every sum is. What was rounded away from zero is one too large.
    let sum = noise + WHOLE;
    let rounded = sum - WHOLE;
    let whole = (sum.to_bits() as i32).wrapping_sub(WHOLE.to_bits() as i32);
    whole - i32::from(noise > 0.0 && rounded > noise) + i32::from(noise < 0.0 && rounded < noise)
}

/// Numbers near it have no fraction.
const WHOLE: f32 = 12_582_912.0;

/// The standard normal number at a position: the inverse of the error function at a uniform number.
#[inline(always)]
fn normal(key: Key, at: u32) -> f32 {
    let bits = hash(key, at);
    // The distance from the nearer end of (-1, 1), which is exact where it is small: up to 6.2 standard deviations.
    let tail = ((bits & 0x7fff_ffff) as i32 as f32 + 0.5) * (1.0 / 2_147_483_648.0);
    let size = inverse_error(tail) * std::f32::consts::SQRT_2;
    f32::from_bits(size.to_bits() ^ (bits & 0x8000_0000))
}

/// Random bits of a position: the mixing function "lowbias32" of C. Wellons, with a part of the key before each of two
/// rounds.
#[inline(always)]
fn hash(key: Key, at: u32) -> u32 {
    let Key([first, second]) = key;
    mixed(mixed(at.wrapping_mul(0x9e37_79b9) ^ first).wrapping_add(second))
}

#[inline(always)]
fn mixed(bits: u32) -> u32 {
    let bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    let bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

/// The inverse of the error function at 1 - `tail`, for a tail in (0, 1]. The polynomials are those of M. Giles:
/// "Approximating the erfinv function", 2010, in single precision.
#[inline(always)]
fn inverse_error(tail: f32) -> f32 {
    const MIDDLE: [f32; 9] = [
        2.810_226_4e-8,
        3.432_739_4e-7,
        -3.523_387_7e-6,
        -4.391_506_5e-6,
        0.000_218_580_87,
        -0.001_253_725,
        -0.004_177_681_6,
        0.246_640_73,
        1.501_409_4,
    ];
    const FAR: [f32; 9] = [
        -0.000_200_214_26,
        0.000_100_950_56,
        0.001_349_343_2,
        -0.003_673_428_4,
        0.005_739_507_7,
        -0.007_622_461,
        0.009_438_870_5,
        1.001_674,
        2.832_976_8,
    ];
    let depth = -logarithm(tail * (2.0 - tail));
    let middle = polynomial(&MIDDLE, depth - 2.5);
    let far = polynomial(&FAR, depth.abs().sqrt() - 3.0);
    let factor = if depth < 5.0 { middle } else { far };
    factor * (1.0 - tail)
}

/// The natural logarithm of a normal number above 0: the polynomial of the Cephes library in single precision.
#[inline(always)]
fn logarithm(x: f32) -> f32 {
    const TERMS: [f32; 9] = [
        0.070_376_836,
        -0.115_146_1,
        0.116_769_99,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_58,
        0.200_007_15,
        -0.249_999_94,
        0.333_333_3,
    ];
    // From the square root of 1/2 to that of 2, and a power of 2.
    let shifted = x.to_bits().wrapping_sub(0x3f35_04f3);
    let power = (shifted as i32 >> 23) as f32;
    let part = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    let square = part * part;
    let tail = polynomial(&TERMS, part) * part * square - power * 0.000_212_194_44 - 0.5 * square;
    part + tail + power * 0.693_359_4
}

/// The polynomial whose first coefficient is that of the highest power.
#[inline(always)]
fn polynomial(coefficients: &[f32; 9], x: f32) -> f32 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = sum * x + coefficient;
    }
    sum
}
