//! `Jsonl`: one JSON object per line, or a list of objects; a row holds the text or the conversation.

use std::path::Path;

use tarflume_base::Failure;

use super::documents::{Documents, Next, Reading};
use super::elements::Elements;
use super::lines::{Advance, Lines};
use super::rows::{FieldFault, Rows};

/// The documents of a file of JSON. Blank lines are none.
pub(super) struct Jsonl {
    records: Records,
    rows: Rows,
    field: String,
}

/// The objects of a file.
enum Records {
    Lines(Lines),
    Elements(Elements),
}

impl Jsonl {
    pub(super) fn open(path: &Path, reading: &Reading) -> Result<Jsonl, Failure> {
        let records = match Elements::open(path)? {
            Some(elements) => Records::Elements(elements),
            None => Records::Lines(Lines::open(path)?),
        };
        Ok(Jsonl { records, rows: reading.rows.clone(), field: reading.field.clone() })
    }
}

impl Documents for Jsonl {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        match &mut self.records {
            Records::Lines(lines) => next_line(lines, &self.rows, &self.field, text),
            Records::Elements(elements) => {
                let Some(element) = elements.advance()? else { return Ok(Next::End) };
                let read = self.rows.document(element, "element", &self.field, text);
                Ok(match read {
                    Ok(()) => Next::Text,
                    Err(FieldFault { reason, .. }) => Next::Bad(elements.fault(reason)),
                })
            }
        }
    }
}

/// Reads the next document of a file of lines.
fn next_line(
    lines: &mut Lines,
    rows: &Rows,
    field: &str,
    text: &mut String,
) -> Result<Next, Failure> {
    loop {
        match lines.advance()? {
            Advance::End => return Ok(Next::End),
            Advance::Long => return Ok(lines.too_long()),
            Advance::Line => {}
        }
        let line = lines.line();
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        return Ok(match rows.document(line, "line", field, text) {
            Ok(()) => Next::Text,
            Err(_) if is_open(line) => Next::Bad(lines.fault(SEVERAL)),
            Err(FieldFault { mut reason, is_cut }) => {
                if is_cut {
                    reason.push(CUT);
                }
                Next::Bad(lines.fault(reason))
            }
        });
    }
}

/// What is wrong with a file that begins with [`is_open`].
const SEVERAL: &str = "a JSON value of several lines begins here, and each line must be one object; \
                       `jq -c .` writes objects so, `jq -c '.[]'` the objects of a list";

/// The advice for a line that ends inside of its object.
const CUT: &str = "; it goes on in the next line, or was cut: write each object in one line, and a line \
                   break in a text as \\n";

/// Returns true for the first line of a value that a program has written in several lines.
fn is_open(line: &[u8]) -> bool {
    matches!(line.trim_ascii(), b"{" | b"[" | b"[{")
}
