//! `Tar`: a part of each sample of a tar as a document.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Reading as Whole, TarReader};

use super::documents::{DocumentFault, Documents, LONGEST, Next, Reading};
use super::plain;
use super::rows::Rows;

/// Limit on the extensions in an error.
const NAMED: usize = 8;

/// The documents of a tar.
pub(super) struct Tar {
    path: PathBuf,
    reader: TarReader,
    part: String,
    rows: Rows,
    field: String,
    found: bool,
    others: BTreeSet<String>,
}

impl Tar {
    pub(super) fn open(path: &Path, reading: &Reading) -> Result<Tar, Failure> {
        if reading.rows.are_conversations() && !is_json(&reading.part) {
            return Err(Failure::usage(message!(
                "conversations are read from JSON; give the part that has it, such as {text_part}";
                text_part = Name::TextPart.is("json")
            ))
            .in_file(path));
        }
        Ok(Tar {
            path: path.to_path_buf(),
            reader: TarReader::open(path, Whole::Headers)?.ignore_zeros(reading.ignore_zeros),
            part: reading.part.clone(),
            rows: reading.rows.clone(),
            field: reading.field.clone(),
            found: false,
            others: BTreeSet::new(),
        })
    }

    /// Returns the fault of a member.
    fn bad(&self, member: &Member, reason: impl Into<Message>) -> Next {
        let name = name::shown(&member.name);
        let told = message!("{path}: byte {}: {name}: {reason}", member.first; path = &self.path, reason = reason);
        let path = Some(self.path.clone());
        Next::Bad(DocumentFault {
            place: Place { path, byte: Some(member.first), key: Some(name) },
            reason: told,
        })
    }

    fn add(&mut self, member: &Member, text: &mut String) -> Result<Next, Failure> {
        if member.size > LONGEST as u64 {
            return Ok(self.bad(member, format!("the part has more than {LONGEST} bytes")));
        }
        let bytes = self.reader.data(member)?;
        let added = if is_json(&self.part) {
            self.rows.document(bytes, "part", &self.field, text).map_err(|fault| fault.reason)
        } else {
            plain::utf8(bytes).map(|own| text.push_str(own)).map_err(Message::words)
        };
        Ok(match added {
            Ok(()) => Next::Text,
            Err(reason) => self.bad(member, reason),
        })
    }
}

/// Returns true for a part of JSON.
fn is_json(part: &str) -> bool {
    part == "json" || part.ends_with(".json")
}

impl Documents for Tar {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        while let Some(member) = self.reader.next_member()? {
            let Some((_, ext)) = name::split(&member.name) else { continue };
            if member.kind != MemberKind::File {
                continue;
            }
            let ext = name::lower(ext);
            if *ext == *self.part.as_bytes() {
                self.found = true;
                return self.add(&member, text);
            }
            if !self.found && self.others.len() < NAMED {
                self.others.insert(name::shown(&ext));
            }
        }
        if self.found {
            return Ok(Next::End);
        }
        let others: Vec<&str> = self.others.iter().map(String::as_str).collect();
        Err(Failure::bad_data(message!(
            "no sample has a part '{}'; the parts are {}; give the text's part with {text_part}",
            self.part,
            others.join(", ");
            text_part = Name::TextPart
        ))
        .in_file(&self.path))
    }
}
