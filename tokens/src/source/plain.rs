//! `Whole` and `PerLine`: a text file as one document, or each of its lines.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::documents::{DocumentFault, Documents, LONGEST, Next};
use super::lines::{Advance, Lines};
use super::unpack;

/// A file as one document.
pub(super) struct Whole {
    path: PathBuf,
    reader: Option<Box<dyn BufRead + Send>>,
}

impl Whole {
    pub(super) fn open(path: &Path) -> Result<Whole, Failure> {
        Ok(Whole { path: path.to_path_buf(), reader: Some(unpack::open(path)?) })
    }
}

impl Documents for Whole {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        let Some(reader) = self.reader.take() else { return Ok(Next::End) };
        let mut bytes = Vec::new();
        let read = reader.take(LONGEST as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|e| unpack::refused(e, &self.path))?;
        if bytes.len() > LONGEST {
            let reason = message!("the file has more than {LONGEST} bytes, which is too long for one document; give \
                     {per_line}, or split the file"; per_line = Name::PerLine.on());
            return Ok(Next::Bad(DocumentFault::of_file(&self.path, reason)));
        }
        Ok(match utf8(&bytes) {
            Ok(own) => {
                text.push_str(own);
                Next::Text
            }
            Err(reason) => {
                let reason = format!("{reason}; convert the file to UTF-8");
                Next::Bad(DocumentFault::of_file(&self.path, reason))
            }
        })
    }
}

/// Returns the text without a byte order mark.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The lines of a file as documents. Blank lines are none.
pub(super) struct PerLine(Lines);

impl PerLine {
    pub(super) fn open(path: &Path) -> Result<PerLine, Failure> {
        Ok(PerLine(Lines::open(path)?))
    }
}

impl Documents for PerLine {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        loop {
            match self.0.advance()? {
                Advance::End => return Ok(Next::End),
                Advance::Long => return Ok(self.0.too_long()),
                Advance::Line => {}
            }
            match self.0.text() {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    text.push_str(line);
                    return Ok(Next::Text);
                }
                Err(fault) => return Ok(Next::Bad(fault)),
            }
        }
    }
}
