//! `Number`: converts one number into an element of a given type. Never rounds to a different integer, wraps, or
//! becomes infinite silently.

use tarflume_types::DType;

use crate::rounding::{nearest_bf16, nearest_f16};

/// A number as read from a file.
///
/// ```
/// use tarflume::{Json, Number};
///
/// let number: Number = 0.5.into();
/// let column = Json::new("json", "/weight").default(number);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer.
    Whole(i128),
    /// A number with a fraction or an exponent.
    Real(f64),
}

macro_rules! numbers {
    ($($whole:ty),*) => { $(impl From<$whole> for Number {
        fn from(value: $whole) -> Number {
            Number::Whole(value.into())
        }
    })* };
}
numbers!(bool, u8, i8, u16, i16, u32, i32, u64, i64);

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::Real(value)
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Number {
        Number::Real(value.into())
    }
}

impl Number {
    /// The bytes of the number as an element of type `dtype`, and their count. `None` if the type cannot
    /// represent it: a fraction in an integer type, a whole number that a float type would round, or a value outside its
    /// range. Fractions round to nearest.
    pub(in crate::decode) fn encode(self, dtype: DType) -> Option<([u8; 8], usize)> {
        let mut bytes = [0; 8];
        let size = dtype.size();
        macro_rules! put {
            ($value:expr) => {
                bytes[..size].copy_from_slice(&$value.to_ne_bytes())
            };
        }
        match dtype {
            DType::U8 => put!(u8::try_from(self.whole()?).ok()?),
            DType::I8 => put!(i8::try_from(self.whole()?).ok()?),
            DType::U16 => put!(u16::try_from(self.whole()?).ok()?),
            DType::I16 => put!(i16::try_from(self.whole()?).ok()?),
            DType::U32 => put!(u32::try_from(self.whole()?).ok()?),
            DType::I32 => put!(i32::try_from(self.whole()?).ok()?),
            DType::U64 => put!(u64::try_from(self.whole()?).ok()?),
            DType::I64 => put!(i64::try_from(self.whole()?).ok()?),
            DType::Bool => put!(u8::try_from(self.whole()?).ok().filter(|&bit| bit < 2)?),
            DType::F64 => put!(Some(self.real()).filter(|&x| self.is_same(x))?),
            DType::F32 => {
                let value = Some(self.real() as f32);
                put!(value.filter(|x| self.fits(x.is_finite()) && self.is_same((*x).into()))?);
            }
            DType::F16 => {
                let value = Some(nearest_f16(self.real()));
                put!(value.filter(|x| self.fits(x.is_finite()) && self.is_same((*x).into()))?);
            }
            DType::Bf16 => {
                let value = Some(nearest_bf16(self.real()));
                put!(value.filter(|x| self.fits(x.is_finite()) && self.is_same((*x).into()))?);
            }
            // `DType` is `#[non_exhaustive]`: a type without an arm cannot represent the number.
            _ => return None,
        }
        Some((bytes, size))
    }

    fn whole(self) -> Option<i128> {
        match self {
            Number::Whole(value) => Some(value),
            // Below this bound, which is above u64::MAX, the cast to i128 is exact.
            Number::Real(value) if value.fract() == 0.0 && value.abs() < 1.9e19 => {
                Some(value as i128)
            }
            Number::Real(_) => None,
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
        }
    }

    /// Returns why a type cannot represent the number.
    pub(in crate::decode) fn misfit(self, dtype: DType) -> String {
        match self {
            Number::Whole(whole) if dtype.is_float() => {
                format!(
                    "{whole} would be rounded in {dtype}; read it as an integer or a wider float"
                )
            }
            Number::Whole(whole) => format!("{whole} is outside the range of {dtype}"),
            Number::Real(real) => format!("{real} is outside the range of {dtype}"),
        }
    }

    /// Returns true for a whole number that is this float, and for any other number.
    fn is_same(self, float: f64) -> bool {
        match self {
            Number::Whole(whole) => float as i128 == whole && whole != i128::MAX,
            Number::Real(_) => true,
        }
    }

    /// A number that is already infinite may stay infinite.
    fn fits(self, finite: bool) -> bool {
        finite || !self.real().is_finite()
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    fn held(number: impl Into<Number>, dtype: DType) -> Option<Vec<u8>> {
        number.into().encode(dtype).map(|(bytes, size)| bytes[..size].to_vec())
    }

    #[test]
    fn every_type_holds_its_ends_and_nothing_beyond() {
        macro_rules! ends {
            ($($rust:ident $dtype:ident),*) => { $(
                let (low, high) = (i128::from($rust::MIN), i128::from($rust::MAX));
                for value in [low, high] {
                    let expected = ($rust::try_from(value).unwrap()).to_ne_bytes().to_vec();
                    let (bytes, size) = Number::Whole(value).encode(DType::$dtype).unwrap();
                    assert_eq!(bytes[..size], expected);
                }
                assert!(Number::Whole(low - 1).encode(DType::$dtype).is_none());
                assert!(Number::Whole(high + 1).encode(DType::$dtype).is_none());
            )* };
        }
        ends!(u8 U8, i8 I8, u16 U16, i16 I16, u32 U32, i32 I32, u64 U64, i64 I64);
        assert_eq!((held(2, DType::Bool), held(true, DType::Bool)), (None, Some(vec![1])));
        assert_eq!(held(1e300, DType::F32), None);
        assert_eq!(held(65520.0, DType::F16), None);
        assert_eq!(held(65504, DType::F16), Some(f16::MAX.to_ne_bytes().to_vec()));
        assert_eq!(held(f64::INFINITY, DType::F32), Some(f32::INFINITY.to_ne_bytes().to_vec()));
    }

    #[test]
    fn whole_numbers_stay_the_same_in_floats() {
        for (dtype, most) in [
            (DType::F64, 1i64 << 53),
            (DType::F32, 1 << 24),
            (DType::F16, 1 << 11),
            (DType::Bf16, 1 << 8),
        ] {
            assert!(held(most, dtype).is_some() && held(-most, dtype).is_some());
            assert_eq!((held(most + 1, dtype), held(-most - 1, dtype)), (None, None), "{dtype}");
            assert!(held(most + 2, dtype).is_some());
            assert!(Number::Whole((most + 1).into()).misfit(dtype).contains("would be rounded"));
        }
        assert_eq!(Number::Whole(i128::MAX).encode(DType::F64), None);
    }

    #[test]
    fn a_float_of_16_bits_is_rounded_once() {
        // Nearer to the upper of two floats by less than a float of 32 bits shows.
        let f16_middle = 1.0 + 2f64.powi(-11);
        let bf16_middle = 1.0 + 2f64.powi(-8);
        for (value, half, brain) in [
            (f16_middle.next_up(), 0x3c01, 0x3f80),
            (f16_middle, 0x3c00, 0x3f80),
            (bf16_middle.next_up(), 0x3c04, 0x3f81),
            (-bf16_middle, 0xbc04, 0xbf80),
        ] {
            let half = f16::from_bits(half).to_ne_bytes().to_vec();
            assert_eq!(held(value, DType::F16), Some(half), "{value}");
            let brain = bf16::from_bits(brain).to_ne_bytes().to_vec();
            assert_eq!(held(value, DType::Bf16), Some(brain), "{value}");
        }
    }

    #[test]
    fn fractions_do_not_become_whole() {
        assert_eq!(held(3.5, DType::I64), None);
        assert_eq!(held(3.0, DType::U8), Some(vec![3]));
        assert_eq!(held(f64::NAN, DType::I64), None);
        assert_eq!(held(1e30, DType::U64), None);
        assert_eq!(held(0.1, DType::F64), Some(0.1f64.to_ne_bytes().to_vec()));
    }
}
