//! Objects of JSON as rows: each name is a column, in the order in which names occur first.

use std::collections::HashMap;

use tarflume_formats::json::{JsonFault, JsonRules, Number, Scan, Token, Value, unescaped};

use crate::table::{Cell, MAX_COLUMNS, TableRow};

/// The names of fields, in the order in which they occur first.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Names of fields whose numbers and truth values are texts.
    texts: Vec<String>,
    /// Whether each field is one of them.
    are_texts: Vec<bool>,
}

impl Fields {
    /// Knows the fields whose values are texts.
    pub(crate) fn new(texts: &[String]) -> Fields {
        Fields { texts: texts.to_vec(), ..Fields::default() }
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of a field, which may be a new one.
    ///
    /// # Errors
    /// Returns an error for more fields than a table may have.
    pub(crate) fn number(&mut self, name: &str) -> Result<usize, String> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() == MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} different fields"));
        }
        self.names.push(name.into());
        self.are_texts.push(self.texts.iter().any(|text| text == name));
        self.numbers.insert(name.into(), self.names.len() - 1);
        Ok(self.names.len() - 1)
    }
}

/// Reads an object into a row.
///
/// # Errors
/// Returns the first fault with its byte in `object`.
pub(crate) fn read_object(
    object: &[u8],
    rules: JsonRules,
    row: &mut TableRow,
    fields: &mut Fields,
) -> Result<(), JsonFault> {
    let mut scan = Scan::new(object, rules)?;
    if scan.token()? != Token::Object {
        return Err(scan.fault("expected an object"));
    }
    scan.object(|scan, name| {
        let name = unescaped(scan.piece(name));
        let column = fields.number(&name).map_err(|why| scan.fault(why))?;
        if row.cell(column) != Cell::Absent {
            return Err(scan.fault(format!("the field '{name}' occurs twice")));
        }
        let cell = cell(scan, row, fields.are_texts[column])?;
        row.set(column, cell);
        Ok(())
    })?;
    scan.end()
}

/// Reads the value of a field; texts go to the row. With `is_text`, numbers and truth values are texts.
fn cell(scan: &mut Scan<'_>, row: &mut TableRow, is_text: bool) -> Result<Cell, JsonFault> {
    let token = scan.token()?;
    Ok(match token {
        Token::Number => match scan.take_number()? {
            value if is_text => Cell::Text(row.add_text(value.text())),
            value => number(value, row),
        },
        Token::String => Cell::Text(row.add_text(&scan.take_string()?)),
        Token::Array => Cell::List(row.add_text(&Value::take(scan)?.to_string())),
        Token::Object => Cell::Object(row.add_text(&Value::take(scan)?.to_string())),
        Token::Null | Token::True | Token::False => {
            scan.word(token);
            match token {
                Token::Null => Cell::Null,
                Token::True if is_text => Cell::Text(row.add_text("true")),
                Token::False if is_text => Cell::Text(row.add_text("false")),
                _ => Cell::Bool(token == Token::True),
            }
        }
    })
}

/// Returns a number as the type that has it; one that would be rounded keeps its digits.
pub(crate) fn number(number: Number<'_>, row: &mut TableRow) -> Cell {
    let text = number.text();
    if number.is_integer() && text != "-0" {
        if let Ok(whole) = text.parse() {
            return Cell::Int(whole);
        }
        return text.parse().map_or_else(|_| Cell::Digits(row.add_text(text)), Cell::Large);
    }
    match number.real().filter(|real| real.is_finite()) {
        Some(real) => Cell::Float(real),
        // It has more digits than a float, or is a word of Python.
        None => Cell::Digits(row.add_text(text)),
    }
}
