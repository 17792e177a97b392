//! `safetensors`: the header, and tensors that fill the file without gap or overlap.

use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::{Error, Result, name};

use super::Looked;
use super::cursor::{Cursor, fault};

/// The longest header, as the library of the format limits it.
const HEADER: u64 = 100_000_000;
/// Bytes before the header: its length.
const BEFORE: usize = 8;

/// A tensor of the header.
struct Tensor<'v> {
    name: &'v str,
    begin: u64,
    end: u64,
}

/// Checks header, types, shapes and places of all tensors.
///
/// # Errors
/// Returns the first fault.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    let length = u64::from_le_bytes(cursor.array("the length of the header")?);
    if length > HEADER {
        return Err(fault(0, format!("a header of {length} bytes: more than {HEADER}")));
    }
    let text = cursor.take(length, "the header")?;
    let header = parse(text, JsonRules::Strict)
        .map_err(|why| fault(BEFORE + why.byte, format!("the header: {why}")))?;
    let Value::Object(members) = &header else {
        return Err(fault(BEFORE, "the header is no object of JSON"));
    };
    let listed = members.iter().filter(|(name, _)| *name != "__metadata__");
    let mut tensors =
        listed.map(|(name, facts)| Tensor::of(name, facts)).collect::<Result<Vec<Tensor<'_>>>>()?;
    tensors.sort_by_key(|tensor| (tensor.begin, tensor.end));
    let mut at = 0;
    for Tensor { name, begin, end } in tensors {
        if begin != at {
            let text = format!(
                "the tensor '{}' begins at byte {begin} of the data, and byte {at} is the next",
                shown(name)
            );
            return Err(fault(BEFORE, text));
        }
        at = end;
    }
    let left = cursor.left() as u64;
    if at == left {
        return Ok(Looked::Whole);
    }
    Err(fault(bytes.len(), format!("the tensors have {at} bytes, {left} are there")))
}

fn shown(text: &str) -> String {
    name::shown(text.as_bytes())
}

impl<'v> Tensor<'v> {
    fn of(name: &'v str, facts: &Value) -> Result<Tensor<'v>> {
        let dtype = facts.pointer("/dtype").and_then(Value::as_str).ok_or_else(|| lacking(name))?;
        let shape = facts.pointer("/shape").and_then(numbers).ok_or_else(|| lacking(name))?;
        let places =
            facts.pointer("/data_offsets").and_then(numbers).ok_or_else(|| lacking(name))?;
        let [begin, end] = places.as_slice() else { return Err(lacking(name)) };
        let bytes = end.checked_sub(*begin).ok_or_else(|| lacking(name))?;
        let Some(size) = bytes_of(dtype) else {
            // A type that is younger than this list: its places are compared, its size is not.
            return Ok(Tensor { name, begin: *begin, end: *end });
        };
        let needed = shape.iter().try_fold(size, |product, dim| product.checked_mul(*dim));
        if needed != Some(bytes) {
            let needed = needed.map_or("more than a file has".into(), |needed| needed.to_string());
            let text = format!(
                "type and shape of the tensor '{}' need {needed} bytes, {bytes} are stated",
                shown(name)
            );
            return Err(fault(BEFORE, text));
        }
        Ok(Tensor { name, begin: *begin, end: *end })
    }
}

fn lacking(name: &str) -> Error {
    fault(
        BEFORE,
        format!("the tensor '{}' has no valid dtype, shape and data_offsets", shown(name)),
    )
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(number).collect()
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn bytes_of(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" => 1,
        "U16" | "I16" | "F16" | "BF16" => 2,
        "U32" | "I32" | "F32" => 4,
        "U64" | "I64" | "F64" | "C64" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header.as_bytes(), &vec![1; data]].concat()
    }

    #[test]
    fn tensors_fill_the_data() {
        let header = r#"{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
            "y":{"dtype":"I8","shape":[],"data_offsets":[24,25]}}  "#;
        let whole = file(header, 25);
        assert_eq!(check(&whole).unwrap(), Looked::Whole);
        assert!(check(&file("{}", 0)).is_ok());
        for length in 0..whole.len() {
            assert!(check(&whole[..length]).is_err(), "cut to {length}");
        }
        for (from, to) in
            [("[2,3]", "[2,4]"), ("[24,25]", "[23,24]"), ("[0,24]", "[24,0]"), ("F32", "F64")]
        {
            assert!(check(&file(&header.replace(from, to), 25)).is_err(), "{from} -> {to}");
        }
        assert!(check(&file(header, 26)).is_err() && check(&[0xff; 40]).is_err());
    }
}
