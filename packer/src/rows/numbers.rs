//! Numbers of arrays and columns as JSON. Pure.

use serde_json::Value;

/// Returns a little-endian number of numpy's kind (`b`, `u`, `i`, `f`) and its bytes as JSON;
/// `None` for values that JSON lacks, and for other types.
pub(super) fn number(kind: char, bytes: &[u8]) -> Option<Value> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let shift = 64u32.checked_sub(8 * bytes.len() as u32)?;
    match (kind, bytes.len()) {
        ('b', 1) => Some((bits != 0).into()),
        ('u', 1 | 2 | 4 | 8) => Some(bits.into()),
        ('i', 1 | 2 | 4 | 8) => Some((((bits << shift) as i64) >> shift).into()),
        ('f', 2) => finite(half(bits as u16)),
        ('f', 4) => finite(short(f32::from_bits(bits as u32))),
        ('f', 8) => finite(f64::from_bits(bits)),
        _ => None,
    }
}

/// Returns a number of numpy's type by its name (`int64`).
pub(super) fn named(kind: &str, bytes: &[u8]) -> Option<Value> {
    number(kind.chars().next()?, bytes)
}

/// Returns the word for a type in the description of a data set.
pub(super) fn json_kind(kind: char) -> &'static str {
    match kind {
        'b' => "bool",
        'f' => "float64",
        _ => "int64",
    }
}

pub(super) fn finite(value: f64) -> Option<Value> {
    serde_json::Number::from_f64(value).map(Value::Number)
}

/// Returns the `f64` with the shortest decimal text that is this `f32`.
pub(super) fn short(value: f32) -> f64 {
    if value.is_finite() { value.to_string().parse().unwrap_or(value.into()) } else { value.into() }
}

/// Converts a number of IEEE binary16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
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

    #[test]
    fn numbers_of_all_sizes_are_json() {
        let text = |kind, bytes: &[u8]| number(kind, bytes).map(|n| n.to_string());
        let is = |kind, bytes: &[u8], wanted: &str| {
            assert_eq!(text(kind, bytes).as_deref(), Some(wanted));
        };
        is('i', &(-5i16).to_le_bytes(), "-5");
        is('i', &i64::MIN.to_le_bytes(), "-9223372036854775808");
        is('u', &u64::MAX.to_le_bytes(), "18446744073709551615");
        is('b', &[1], "true");
        is('f', &0.1f32.to_le_bytes(), "0.1");
        is('f', &0.1f64.to_le_bytes(), "0.1");
        is('f', &0x3c00u16.to_le_bytes(), "1.0");
        is('f', &0xc500u16.to_le_bytes(), "-5.0");
        is('f', &1u16.to_le_bytes(), "5.960464477539063e-8");
        for lacks in [f32::NAN, f32::INFINITY] {
            assert_eq!(text('f', &lacks.to_le_bytes()), None);
        }
        assert_eq!(text('f', &0x7e00u16.to_le_bytes()), None);
        assert_eq!(
            (text('i', &[0; 9]), text('f', &[0; 3]), text('c', &[0; 8])),
            (None, None, None)
        );
    }
}
