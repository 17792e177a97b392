//! `JsonLines`: a JSON object on each line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::json_rules::remedy;
use tarflume_formats::json::{JsonFault, JsonRules, Number, Scan, Token, Value, unescaped};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::table::text::stream::{self, Budget, Origin, Text};
use crate::table::{Cell, MAX_COLUMNS, MAX_ROW, TableOptions, TableReader, TableRow, bad_row};

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// A table of JSON objects.
pub(crate) struct JsonLines {
    reader: BufReader<Text>,
    budget: Budget,
    origin: Origin,
    line: Vec<u8>,
    /// Bytes before the next line.
    at: u64,
    rows: u64,
    fields: Fields,
    rules: JsonRules,
}

/// The names of fields, in the order in which they occur first.
#[derive(Debug, Default)]
struct Fields {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Fields {
    fn number(&mut self, name: &str) -> Result<usize, String> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() == MAX_COLUMNS {
            return Err(format!("more than {MAX_COLUMNS} different fields"));
        }
        self.names.push(name.into());
        self.numbers.insert(name.into(), self.names.len() - 1);
        Ok(self.names.len() - 1)
    }
}

impl JsonLines {
    /// Opens a table.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn open(path: &Path, options: &TableOptions) -> Result<JsonLines, Failure> {
        let stream::OpenText { text, budget, origin } = stream::open_with(path, options)?;
        let reader = BufReader::with_capacity(BUFFER, text);
        Ok(JsonLines {
            reader,
            budget,
            origin,
            line: Vec::new(),
            at: 0,
            rows: 0,
            fields: Fields::default(),
            rules: options.rules,
        })
    }

    /// Reads the next line that is not blank and returns its first byte; `None` at the end.
    fn line(&mut self) -> Result<Option<u64>, Failure> {
        loop {
            self.line.clear();
            self.budget.renew();
            let read = self.reader.read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| self.origin.refused(e, self.rows + 1))?;
            let start = self.at;
            self.at += read as u64;
            if read == 0 {
                return Ok(None);
            }
            if self.line.len() > MAX_ROW {
                let reason = format!("the line is longer than {} MiB", MAX_ROW >> 20);
                return Err(self.bad(start, &reason));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(start));
            }
        }
    }

    fn bad(&self, start: u64, reason: impl Into<Message>) -> Failure {
        bad_row(&self.origin.path, self.rows + 1, self.origin.byte(start), reason)
    }
}

impl TableReader for JsonLines {
    fn columns(&self) -> &[String] {
        &self.fields.names
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        let Some(start) = self.line()? else { return Ok(false) };
        row.begin(self.rows + 1, self.origin.byte(start), self.fields.names.len());
        let read = read_line(&self.line, self.rules, row, &mut self.fields);
        if let Err(fault) = read {
            let why =
                fault.advised(message!("write null, or the text, or {remedy}"; remedy = remedy()));
            return Err(self.bad(
                start + fault.byte as u64,
                message!("the line is no JSON object: {why}"; why = why),
            ));
        }
        self.rows += 1;
        Ok(true)
    }
}

/// Reads an object into a row.
fn read_line(
    line: &[u8],
    rules: JsonRules,
    row: &mut TableRow,
    fields: &mut Fields,
) -> Result<(), JsonFault> {
    let mut scan = Scan::new(line, rules)?;
    if scan.token()? != Token::Object {
        return Err(scan.fault("expected an object"));
    }
    scan.object(|scan, name| {
        let name = unescaped(scan.piece(name));
        let column = fields.number(&name).map_err(|why| scan.fault(why))?;
        if row.cell(column) != Cell::Absent {
            return Err(scan.fault(format!("the field '{name}' occurs twice")));
        }
        let cell = cell(scan, row)?;
        row.set(column, cell);
        Ok(())
    })?;
    scan.end()
}

/// Reads the value of a field; texts go to the row.
fn cell(scan: &mut Scan<'_>, row: &mut TableRow) -> Result<Cell, JsonFault> {
    let token = scan.token()?;
    Ok(match token {
        Token::Number => number(scan.take_number()?, row),
        Token::String => Cell::Text(row.add_text(&scan.take_string()?)),
        Token::Array => Cell::List(row.add_text(&Value::take(scan)?.to_string())),
        Token::Object => Cell::Object(row.add_text(&Value::take(scan)?.to_string())),
        Token::Null | Token::True | Token::False => {
            scan.word(token);
            match token {
                Token::Null => Cell::Null,
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
