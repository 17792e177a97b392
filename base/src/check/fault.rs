//! The types that all checks share: the level of a check, and a fault.

use tarflume_formats::json::JsonFault;
use tarflume_formats::message;
use tarflume_formats::message::Message;

use crate::options::choice::Choice;
use crate::options::json_rules;
use crate::problem::ProblemKind;

/// The level of the content checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckLevel {
    /// Names and sizes only.
    None,
    /// JPEG markers, dimensions and end of image; every other image decoded, unless it is too large for
    /// that; JSON objects.
    Structure,
    /// As `structure`, and every Huffman code of JPEGs read. Images that cannot be decoded here are faults.
    Decode,
}

impl Choice for CheckLevel {
    const ALL: &'static [CheckLevel] =
        &[CheckLevel::None, CheckLevel::Structure, CheckLevel::Decode];

    fn word(self) -> &'static str {
        match self {
            CheckLevel::None => "none",
            CheckLevel::Structure => "structure",
            CheckLevel::Decode => "decode",
        }
    }
}

/// A fault of a part's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: ProblemKind,
    /// Byte of the content.
    pub byte: u64,
    /// The message, one line.
    pub reason: Message,
}

impl Fault {
    /// Returns the fault of a JSON part.
    pub(crate) fn of_json(fault: &JsonFault) -> Fault {
        let reason = message!("bad JSON: {why}"; why = fault.advised(json_rules::remedy()));
        Fault { kind: ProblemKind::BadJson, byte: fault.byte as u64, reason }
    }
}

/// Limit on the pixels of a decoded picture: with four bytes each, 1 GiB.
pub(super) const MAX_PIXELS: u64 = 1 << 28;
