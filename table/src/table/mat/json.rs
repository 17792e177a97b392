//! Values of MAT files as JSON.

use tarflume_foreign::mat::{Number, Numbers, Structs, Value as MatValue};
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message::Message;

use crate::json_float::double;

/// Returns a value as JSON: one number as itself, none as `null`, several as a list.
///
/// # Errors
/// Returns why JSON lacks it.
pub(super) fn of_value(value: &MatValue, rules: JsonRules) -> Result<Value, Message> {
    match value {
        MatValue::Numbers(numbers) => of_numbers(numbers, rules),
        MatValue::Texts(lines) => Ok(match &lines[..] {
            [only] if only.is_empty() => Value::Null,
            [only] => only.as_str().into(),
            _ => Value::Array(lines.iter().map(|line| line.as_str().into()).collect()),
        }),
        MatValue::Cells(values) => list(values.iter().map(|value| of_value(value, rules))),
        MatValue::Structs(Structs { fields, rows }) => {
            let objects = rows.iter().map(|row| {
                let mut object = Object::new();
                for (name, value) in fields.iter().zip(row) {
                    if object.insert(name.clone(), of_value(value, rules)?).is_some() {
                        return Err(format!("its field '{name}' is there twice").into());
                    }
                }
                Ok(Value::Object(object))
            });
            let mut objects = objects.collect::<Result<Vec<Value>, Message>>()?;
            Ok(if objects.len() == 1 { objects.remove(0) } else { Value::Array(objects) })
        }
        MatValue::Unread(what) => {
            Err(format!("it is {what}, which is not read; save it as numbers or text").into())
        }
    }
}

/// Returns the value of one row of an array as JSON.
///
/// # Errors
/// As [`of_value`].
pub(super) fn of_row(value: &MatValue, row: usize, rules: JsonRules) -> Result<Value, Message> {
    match value {
        MatValue::Numbers(numbers) => {
            let of_row = numbers.row(row);
            of_numbers(&of_row, rules)
        }
        MatValue::Texts(lines) => {
            let line = lines.get(row).ok_or("the text has no such line")?;
            Ok(line.as_str().into())
        }
        MatValue::Cells(values) => of_value(values.get(row).ok_or("there is no such cell")?, rules),
        MatValue::Structs(_) | MatValue::Unread(_) => of_value(value, rules),
    }
}

fn of_numbers(numbers: &Numbers, rules: JsonRules) -> Result<Value, Message> {
    match numbers.count() {
        0 => Ok(Value::Null),
        _ if numbers.dims.len() > 2 => {
            Err("it has more than two dimensions; pack the array with the source mat:".into())
        }
        1 => numbers.at(0).map_or(Ok(Value::Null), |number| of_number(number, rules)),
        _ => {
            let rows = numbers.rows();
            let across = rows.row.iter().product::<u64>().max(1) as usize;
            let flat = Numbers { kind: numbers.kind, dims: Vec::new(), bytes: rows.bytes };
            if rows.row.is_empty() {
                return list(numbers_of(&flat, 0, flat.count(), rules));
            }
            let lines = (0..rows.count as usize)
                .map(|line| list(numbers_of(&flat, line * across, across, rules)));
            list(lines)
        }
    }
}

/// Returns numbers from a position on.
fn numbers_of(
    numbers: &Numbers,
    first: usize,
    count: usize,
    rules: JsonRules,
) -> impl Iterator<Item = Result<Value, Message>> {
    let found = (first..first + count).filter_map(move |at| numbers.at(at));
    found.map(move |number| of_number(number, rules))
}

fn list(values: impl Iterator<Item = Result<Value, Message>>) -> Result<Value, Message> {
    Ok(Value::Array(values.collect::<Result<Vec<Value>, Message>>()?))
}

/// Returns a number as JSON. MATLAB has whole numbers as floats, too.
fn of_number(number: Number, rules: JsonRules) -> Result<Value, Message> {
    match number {
        Number::Bool(truth) => Ok(truth.into()),
        Number::Whole(whole) => Ok(Value::Number(whole.to_string().into())),
        Number::Float(float) if number.is_whole() => Ok((float as i64).into()),
        Number::Float(float) => double(float, rules).map_err(|lacking| lacking.message()),
    }
}
