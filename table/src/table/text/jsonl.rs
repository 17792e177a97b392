//! `JsonLines`: a JSON object on each line.

use std::io::{BufRead, BufReader};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::json_rules::remedy;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::table::text::objects::{Fields, read_object};
use crate::table::text::stream::{self, Budget, Origin, Text};
use crate::table::{MAX_ROW, TableOptions, TableReader, TableRow, bad_row};

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
            fields: Fields::new(&options.texts),
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
        self.fields.names()
    }

    fn next(&mut self, row: &mut TableRow) -> Result<bool, Failure> {
        let Some(start) = self.line()? else { return Ok(false) };
        row.begin(self.rows + 1, self.origin.byte(start), self.fields.names().len());
        let read = read_object(&self.line, self.rules, row, &mut self.fields);
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
