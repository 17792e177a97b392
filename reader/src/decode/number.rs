//! One number on its way into an element of some type: never rounded to another whole number, never
//! wrapped, never made infinite without a word.

use half::{bf16, f16};

use crate::column::DType;

/// A number as a file has it.
///
/// ```
/// use tarflume::{Json, Number};
///
/// let number: Number = 0.5.into();
/// let column = Json::new("json", "/weight").default(number);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Without a fraction.
    Whole(i128),
    /// With one, or with an exponent.
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
    /// Its bytes as an element of type `dtype`, and how many they are; none if the type can't hold
    /// it: a fraction in a whole type, or a value outside its range. Floats take the nearest value.
    pub(super) fn encode(self, dtype: DType) -> Option<([u8; 8], usize)> {
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
            DType::F64 => put!(self.real()),
            DType::F32 => put!(Some(self.real() as f32).filter(|x| self.fits(x.is_finite()))?),
            DType::F16 => {
                put!(Some(f16::from_f64(self.real())).filter(|x| self.fits(x.is_finite()))?);
            }
            DType::Bf16 => {
                put!(Some(bf16::from_f64(self.real())).filter(|x| self.fits(x.is_finite()))?);
            }
        }
        Some((bytes, size))
    }

    fn whole(self) -> Option<i128> {
        match self {
            Number::Whole(value) => Some(value),
            // All whole doubles below 2^63 are exact as i128.
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

    /// What was infinite may stay so.
    fn fits(self, finite: bool) -> bool {
        finite || !self.real().is_finite()
    }
}

#[cfg(test)]
mod tests {
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
    fn fractions_do_not_become_whole() {
        assert_eq!(held(3.5, DType::I64), None);
        assert_eq!(held(3.0, DType::U8), Some(vec![3]));
        assert_eq!(held(f64::NAN, DType::I64), None);
        assert_eq!(held(1e30, DType::U64), None);
        assert_eq!(held(0.1, DType::F64), Some(0.1f64.to_ne_bytes().to_vec()));
    }
}
