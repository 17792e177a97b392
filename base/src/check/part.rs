//! Checks parts other than pictures that are decoded here and JSON: arrays, pickles, texts, sound, videos.

use tarflume_foreign::parts::{Looked, PartKind};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;

use super::CheckedPart;
use super::fault::Fault;
use crate::problem::ProblemKind;

pub(super) fn check(kind: PartKind, bytes: &[u8], rules: JsonRules) -> Result<CheckedPart, Fault> {
    match kind.check(bytes, rules) {
        Ok(Looked::Whole) => Ok(CheckedPart::of(None)),
        Ok(Looked::Unread(what)) => Ok(CheckedPart { unread: Some(what), ..CheckedPart::of(None) }),
        Err(error) => {
            let reason = message!("bad {}: {why}", kind.name(); why = error.message().clone());
            let byte = error.place().byte.unwrap_or(0).min(bytes.len() as u64);
            Err(Fault { kind: ProblemKind::BadPart, byte, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckLevel, Content};

    #[test]
    fn parts_of_other_kinds_are_checked_at_level_decode_alone() {
        let cases: [(&[u8], &[u8]); 3] =
            [(b"cls", b"cat"), (b"meta.txt", b"\xff"), (b"SAFETENSORS", b"short")];
        for (ext, bytes) in cases {
            let content = Content::of(ext);
            assert!(!content.is_read_at(CheckLevel::Structure));
            assert!(content.is_read_at(CheckLevel::Decode));
            for level in [CheckLevel::None, CheckLevel::Structure] {
                assert!(content.check(bytes, level, JsonRules::Strict).is_ok());
            }
            let fault = content.check(bytes, CheckLevel::Decode, JsonRules::Strict).unwrap_err();
            assert_eq!(fault.kind, ProblemKind::BadPart);
            assert!(fault.reason.text().starts_with("bad "), "{fault:?}");
        }
        let old = Content::of(b"pth").check(b"\x80\x02N.", CheckLevel::Decode, JsonRules::Strict);
        assert!(old.is_ok_and(|found| found.unread.is_some()));
    }
}
