//! Numbers of arrays and columns as JSON. Pure.

use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message::Message;
use tarflume_table::json_float::{double, single};

/// Returns a little-endian number of a type, by numpy's name or `bfloat16`, as JSON.
///
/// # Errors
/// Returns a sentence for a value that JSON lacks, and for another type.
pub(crate) fn number(dtype: &str, bytes: &[u8], rules: JsonRules) -> Result<Value, Message> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len()).ok_or_else(|| other(dtype, bytes))?.copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let float = match (dtype, bytes.len()) {
        ("bool", 1) => return Ok((bits != 0).into()),
        ("uint8", 1) | ("uint16", 2) | ("uint32", 4) | ("uint64", 8) => return Ok(bits.into()),
        ("int8", 1) => return Ok(i64::from((bits as u8).cast_signed()).into()),
        ("int16", 2) => return Ok(i64::from((bits as u16).cast_signed()).into()),
        ("int32", 4) => return Ok(i64::from((bits as u32).cast_signed()).into()),
        ("int64", 8) => return Ok(bits.cast_signed().into()),
        ("float16", 2) => double(half(bits as u16), rules),
        ("bfloat16", 2) => double(f32::from_bits((bits as u32) << 16).into(), rules),
        ("float32", 4) => single(f32::from_bits(bits as u32), rules),
        ("float64", 8) => double(f64::from_bits(bits), rules),
        _ => return Err(other(dtype, bytes).into()),
    };
    float.map_err(|lacking| lacking.message())
}

fn other(dtype: &str, bytes: &[u8]) -> String {
    format!("{} bytes are no number of type {dtype}", bytes.len())
}

/// Returns the word for a type in the description of a data set: the type as which the text of a number reads back the
/// same. Of floats of 16 bits it has the digits of their exact value.
pub(crate) fn json_kind(dtype: &str) -> &'static str {
    match dtype {
        "bool" => "bool",
        "uint64" => "uint64",
        "float32" => "float32",
        other if other.contains("float") => "float64",
        _ => "int64",
    }
}

/// Converts a number of IEEE binary16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(dtype: &str, bytes: &[u8]) -> Result<String, Message> {
        number(dtype, bytes, JsonRules::Strict).map(|number| number.to_string())
    }

    fn is(dtype: &str, bytes: &[u8], wanted: &str) {
        assert_eq!(text(dtype, bytes).as_deref(), Ok(wanted), "{dtype}");
    }

    #[test]
    fn numbers_of_all_sizes_are_json() {
        is("int8", &[0xff], "-1");
        is("int16", &(-5i16).to_le_bytes(), "-5");
        is("int32", &i32::MIN.to_le_bytes(), "-2147483648");
        is("int64", &i64::MIN.to_le_bytes(), "-9223372036854775808");
        is("uint8", &[0xff], "255");
        is("uint64", &u64::MAX.to_le_bytes(), "18446744073709551615");
        is("bool", &[1], "true");
        is("float32", &0.1f32.to_le_bytes(), "0.1");
        is("float32", &0x15ae_43fdu32.to_le_bytes(), "7.038530691851209e-26");
        is("float64", &0.1f64.to_le_bytes(), "0.1");
        is("float16", &0x3c00u16.to_le_bytes(), "1.0");
        is("float16", &0x3555u16.to_le_bytes(), "0.333251953125");
        is("float16", &0xc500u16.to_le_bytes(), "-5.0");
        is("float16", &1u16.to_le_bytes(), "5.960464477539063e-8");
        is("bfloat16", &0x3fc0u16.to_le_bytes(), "1.5");
        is("bfloat16", &0xc2f7u16.to_le_bytes(), "-123.5");
    }

    #[test]
    fn what_json_lacks_is_named() {
        for (dtype, bytes) in [
            ("float16", 0x7e00u16.to_le_bytes().to_vec()),
            ("bfloat16", 0x7fc0u16.to_le_bytes().to_vec()),
            ("float32", f32::NAN.to_le_bytes().to_vec()),
            ("float64", f64::NAN.to_le_bytes().to_vec()),
        ] {
            let why = text(dtype, &bytes).unwrap_err();
            assert!(why.text().contains("it is NaN, which JSON lacks"), "{why:?}");
            assert_eq!(number(dtype, &bytes, JsonRules::Python).unwrap().to_string(), "NaN");
        }
        let infinite = (f32::NEG_INFINITY).to_le_bytes();
        assert!(text("float32", &infinite).unwrap_err().text().contains("-Infinity"));
        for (dtype, bytes) in [("int64", &[0; 9][..]), ("float32", &[0; 3]), ("complex64", &[0; 8])]
        {
            assert!(text(dtype, bytes).unwrap_err().text().contains("no number of type"));
        }
    }

    #[test]
    fn each_type_is_declared_as_one_whose_numbers_read_back_the_same() {
        for (dtype, kind) in [
            ("bool", "bool"),
            ("int8", "int64"),
            ("uint32", "int64"),
            ("uint64", "uint64"),
            ("float16", "float64"),
            ("bfloat16", "float64"),
            ("float32", "float32"),
            ("float64", "float64"),
        ] {
            assert_eq!(json_kind(dtype), kind);
        }
    }
}
