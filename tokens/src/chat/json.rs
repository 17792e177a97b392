//! JSON texts as values of a template. Objects keep the order of their names, as dicts of Python do.

use std::sync::Arc;

use minijinja::value::Value;
use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token};

/// Parses a JSON text as `json.loads` of Python does. Of a name that an object has twice, the last value counts.
pub(super) fn parse(text: &str) -> Result<Value, JsonFault> {
    let mut scan = Scan::new(text.as_bytes(), JsonRules::Strict)?.with_repeats();
    let value = take(&mut scan)?;
    scan.end()?;
    Ok(value)
}

fn take(scan: &mut Scan<'_>) -> Result<Value, JsonFault> {
    let token = scan.token()?;
    Ok(match token {
        Token::Null => {
            scan.word(token);
            Value::from(())
        }
        Token::True | Token::False => {
            scan.word(token);
            Value::from(token == Token::True)
        }
        Token::Number => number(scan)?,
        Token::String => Value::from(Arc::<str>::from(&*scan.take_string()?)),
        Token::Array => {
            let mut list = Vec::new();
            scan.array(|scan, _| {
                list.push(take(scan)?);
                Ok::<(), JsonFault>(())
            })?;
            Value::from(list)
        }
        Token::Object => {
            let mut members = Vec::new();
            scan.object(|scan, name| {
                let name = tarflume_formats::json::unescaped(scan.piece(name));
                let value = take(scan)?;
                members.push((Arc::<str>::from(&*name), value));
                Ok::<(), JsonFault>(())
            })?;
            Value::from_pairs(members)
        }
    })
}

/// A whole number keeps all digits up to 128 bits; others are floats.
fn number(scan: &mut Scan<'_>) -> Result<Value, JsonFault> {
    let at = scan.number()?;
    let text = scan.piece(at);
    if text.contains(['.', 'e', 'E']) {
        return text.parse::<f64>().map(Value::from).map_err(|_| scan.fault("expected a number"));
    }
    match text.parse::<i128>() {
        Ok(number) => Ok(i64::try_from(number).map_or_else(|_| Value::from(number), Value::from)),
        Err(_) => Err(scan.fault("a whole number of more than 128 bits")),
    }
}
