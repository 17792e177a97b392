//! `Jsonl`: one JSON object per line; a field holds the text.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token, unescaped};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use super::documents::{Documents, Next};
use super::lines::{Advance, Lines};

/// The documents of a JSONL file. Blank lines are none.
pub(super) struct Jsonl {
    lines: Lines,
    field: String,
}

impl Jsonl {
    pub(super) fn open(path: &Path, field: &str) -> Result<Jsonl, Failure> {
        Ok(Jsonl { lines: Lines::open(path)?, field: field.into() })
    }
}

impl Documents for Jsonl {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        loop {
            match self.lines.advance()? {
                Advance::End => return Ok(Next::End),
                Advance::Long => return Ok(self.lines.too_long()),
                Advance::Line => {}
            }
            let line = self.lines.line();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Ok(match field(line, "line", &self.field, text) {
                Ok(()) => Next::Text,
                Err(_) if is_open(line) => Next::Bad(self.lines.fault(SEVERAL)),
                Err(FieldFault { mut reason, is_cut }) => {
                    if is_cut {
                        reason.push(CUT);
                    }
                    Next::Bad(self.lines.fault(reason))
                }
            });
        }
    }
}

/// Why a text has no field with a document.
pub(super) struct FieldFault {
    pub(super) reason: Message,
    /// True if the text ends too early: what is there may be the beginning of JSON.
    is_cut: bool,
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

/// Appends the text of a field of a JSON object; `null` is an empty text. Builds no tree. Errors count the
/// bytes of `whole`.
pub(super) fn field(
    json: &[u8],
    whole: &str,
    name: &str,
    text: &mut String,
) -> Result<(), FieldFault> {
    let mut others = Vec::new();
    let mut found = false;
    let length = json.trim_ascii_end().len();
    let mut scan = Scan::new(json, JsonRules::Strict)
        .map_err(|fault| refused(fault, whole, length))?
        .with_repeats();
    if scan.token().map_err(|fault| refused(fault, whole, length))? != Token::Object {
        return Err(refused(scan.fault("expected a JSON object"), whole, length));
    }
    let walked = scan.object(|scan, member| {
        let member = unescaped(scan.piece(member));
        if member != name {
            if others.len() < NAMED {
                others.push(format!("'{}'", member.chars().take(40).collect::<String>()));
            }
            return scan.skip();
        }
        if std::mem::replace(&mut found, true) {
            return Err(scan.fault(format!("the field '{name}' appears twice")));
        }
        match scan.token()? {
            Token::String => text.push_str(&scan.take_string()?),
            Token::Null => scan.skip()?,
            _ => return Err(scan.fault("expected the text as a string")),
        }
        Ok(())
    });
    walked.and_then(|()| scan.end()).map_err(|fault| refused(fault, whole, length))?;
    if found {
        return Ok(());
    }
    let reason = message!("there is no field '{name}'; the fields are {}; give the text's name with {text_field}", others.join(", "); text_field = Name::TextField);
    Err(FieldFault { reason, is_cut: false })
}

fn refused(fault: JsonFault, whole: &str, length: usize) -> FieldFault {
    FieldFault { reason: message!("{fault} of the {whole}"), is_cut: fault.byte >= length }
}

/// Limit on the names of other fields in an error.
const NAMED: usize = 8;
