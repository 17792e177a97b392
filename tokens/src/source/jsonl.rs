//! `Jsonl`: one JSON object per line; a field holds the text.

use std::path::Path;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, Token, unescaped};
use tarflume_packer::Failure;

use super::documents::Documents;
use super::lines::Lines;

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
    fn next(&mut self, text: &mut String) -> Result<bool, Failure> {
        while self.lines.advance()? {
            if self.lines.line().iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let added = field(self.lines.line(), &self.field, text);
            return added.map(|()| true).map_err(|reason| self.lines.fault(&reason));
        }
        Ok(false)
    }
}

/// Appends the text of a field of a JSON object; `null` is an empty text. Builds no tree.
pub(super) fn field(json: &[u8], name: &str, text: &mut String) -> Result<(), String> {
    let mut others = Vec::new();
    let mut found = false;
    let read = |fault: JsonFault| fault.to_string();
    let mut scan = Scan::new(json, JsonRules::Strict).map_err(read)?.with_repeats();
    if scan.token().map_err(read)? != Token::Object {
        return Err(scan.fault("expected a JSON object").to_string());
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
    walked.and_then(|()| scan.end()).map_err(read)?;
    if found {
        return Ok(());
    }
    Err(format!(
        "there is no field '{name}'; the fields are {}; give the text's name with --text-field",
        others.join(", ")
    ))
}

/// Limit on the names of other fields in an error.
const NAMED: usize = 8;
