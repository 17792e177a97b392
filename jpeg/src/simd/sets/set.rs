//! What the sets of kernels for the processors share: the table with its functions, and the forms of methods that are one
//! instruction or a few. Macros, because the features of a function can be named only by a literal.
//!
//! What holds, and why:
//! - `set!` creates the proof that the processor has the features only in functions that are compiled for these features;
//! - those functions are called only through the table, and the function `simd` of a set returns the table only after it
//!   has detected the features;
//! - the macros for methods expand in implementations for the proof, whose `self` is it.

/// Defines the table `SIMD` of a set and its functions, which run the kernels over the proof `$proof` of the processor's
/// `$features`.
macro_rules! set {
    ($proof:ident, $name:literal, $features:tt) => {
        set!($proof, $name, $features, None);
    };
    ($proof:ident, $name:literal, $features:tt, $bytes:expr) => {
        static SIMD: Simd = Simd {
            name: $name,
            idct: [to_8x8, to_4x4, to_2x2, portable::reduced::to_1x1],
            h2v1,
            h2v2,
            h1v2,
            ycc_rgb,
            gray_rgb,
            rgb_planes,
            down,
            across_rgb,
            across_gray,
            floats,
            cubic,
            lanczos,
            in_digits,
            groups: $proof::GROUPS,
            bytes: $bytes,
        };

        set! {
            $proof, $features:
            to_8x8 = idct::to_8x8(blocks: &mut Blocks<'_>);
            to_4x4 = reduced::to_4x4(blocks: &mut Blocks<'_>);
            to_2x2 = reduced::to_2x2(blocks: &mut Blocks<'_>);
            h2v1 = upsample::h2v1(line: &[u8], out: &mut [u8]);
            h2v2 = upsample::h2v2(near: &[u8], far: &[u8], out: &mut [u8]);
            h1v2 = upsample::h1v2(near: &[u8], far: &[u8], bias: u8, out: &mut [u8]);
            ycc_rgb = color::ycc_rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]);
            gray_rgb = color::gray_rgb(gray: &[u8], out: &mut [u8]);
            rgb_planes = color::rgb_planes(rgb: &[u8], red: &mut [u8], green: &mut [u8], blue: &mut [u8]);
            down = resize::down(column: &Column<'_>, out: &mut [u8]);
            across_rgb = resize::across_rgb(across: &Across<'_>, line: &[u8], out: &mut [u8]);
            across_gray = resize::across_gray(across: &Across<'_>, line: &[u8], out: &mut [u8]);
            floats = color::floats(bytes: &[u8], by: [f32; 2], out: &mut [f32]);
            cubic = weights::cubic(outputs: &Outputs, exact: &mut [Each<f64>], out: &mut [Each<i32>]);
            lanczos = weights::lanczos(outputs: &Outputs, exact: &mut [Each<f64>], out: &mut [Each<i32>]);
            in_digits = weights::in_digits(from: &[Each<i32>], digits: &mut [Each<i32>], beyond: &mut i32);
        }
    };
    // One function of the table each.
    ($proof:ident, $features:tt:
     $($name:ident = $module:ident::$kernel:ident($($arg:ident: $type:ty),*);)*) => {$(
        fn $name($($arg: $type),*) {
            #[target_feature(enable = $features)]
            fn inner($($arg: $type),*) {
                $module::$kernel($proof(()), $($arg),*);
            }
            // SAFETY: the table was handed out, so the processor has the features.
            unsafe { inner($($arg),*) }
        }
    )*};
}

/// Defines methods that are one instruction.
#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    ($($name:ident = $instruction:ident($($arg:ident),*);)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: V),*) -> V {
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { $instruction($($arg),*) }
        }
    )*};
}

/// Defines methods that are one instruction with an immediate.
#[cfg(target_arch = "x86_64")]
macro_rules! immediates {
    ($($name:ident = $instruction:ident;)*) => {$(
        #[inline(always)]
        fn $name<const BITS: i32>(self, a: V) -> V {
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { $instruction::<BITS>(a) }
        }
    )*};
}

/// Defines methods that take several instructions, or arguments other than vectors, compiled for `$features`.
macro_rules! composed {
    ($features:tt: $($name:ident($($arg:ident: $type:ty),*) -> $result:ty $body:block)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $type),*) -> $result {
            #[target_feature(enable = $features)]
            #[inline]
            fn inner($($arg: $type),*) -> $result $body
            // SAFETY: `self` proves that the processor has these instructions.
            unsafe { inner($($arg),*) }
        }
    )*};
}

pub(in crate::simd) use {composed, set};
#[cfg(target_arch = "x86_64")]
pub(in crate::simd) use {immediates, instructions};
