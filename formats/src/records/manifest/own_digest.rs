//! `OwnDigest`: the field of a manifest that holds the digest of the text around it.
//!
//! White space outside of strings is left out of the digest, so that a change of indentation or line
//! ends, which Git may make, is none. The value of the field is taken as the empty string. Pure.

use crate::bytes::checksum::Digest;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::message;
use crate::message::{Call, Name, Task};

/// The name of the field, as JSON.
const FIELD: &[u8] = b"\"manifest_blake3\"";

/// The digest that a text has, and the one that it states.
pub(super) struct OwnDigest<'t> {
    pub(super) found: Digest,
    /// What the field has between its quotes; `None` for texts of earlier versions, without the field.
    pub(super) stated: Option<&'t [u8]>,
}

/// Appends the field and the end of the object to a text that lacks them.
pub(super) fn closed(mut text: String) -> String {
    const END: &str = "\"\n}\n";
    text.push_str(",\n  \"manifest_blake3\": \"");
    let digest = OwnDigest::of(format!("{text}{END}").as_bytes()).found;
    text.push_str(&digest.to_hex());
    text.push_str(END);
    text
}

impl<'t> OwnDigest<'t> {
    /// Returns the digests of a text that is JSON.
    pub(super) fn of(text: &'t [u8]) -> OwnDigest<'t> {
        let mut content = Vec::with_capacity(text.len());
        let mut stated = None;
        let mut depth = 0u64;
        let mut at = 0;
        // The field was the last string, and its value follows.
        let mut is_field = false;
        while let Some(&byte) = text.get(at) {
            let end = if byte == b'"' { end_of_string(text, at) } else { at + 1 };
            let token = &text[at..end];
            at = end;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => continue,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'"' if is_field && content.ends_with(b":") => {
                    is_field = false;
                    stated = token.get(1..token.len() - 1);
                    content.extend_from_slice(b"\"\"");
                    continue;
                }
                b'"' => {
                    let is_name = content.ends_with(b"{") || content.ends_with(b",");
                    is_field = depth == 1 && is_name && token == FIELD && stated.is_none();
                }
                _ => {}
            }
            content.extend_from_slice(token);
        }
        OwnDigest { found: blake3::hash(&content), stated }
    }

    /// Compares the digests.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] with the remedies if they differ.
    pub(super) fn check(&self) -> Result<()> {
        let found = self.found.to_hex();
        match self.stated {
            Some(stated) if stated != found.as_bytes() => {
                let text = message!(
                    "the manifest was changed after it was written: manifest_blake3 is not the digest of its text; \
                     restore the file, or, if it was edited on purpose, write the digest again with `{index}`";
                    index = Call::of(Task::Index).with(Name::AcceptEdits.on()).on_stand("DIR")
                );
                Err(Error::new(ErrorKind::Damaged, text))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the place behind a string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::manifest::Manifest;
    use crate::records::manifest::tests::manifest;

    fn written() -> String {
        let mut manifest = manifest();
        manifest.options =
            Some(serde_json::json!({"note": " a \\\"b\n", "manifest_blake3": "inner"}));
        String::from_utf8(manifest.to_json()).unwrap()
    }

    #[test]
    fn white_space_outside_of_strings_does_not_count() {
        let text = written();
        assert!(Manifest::is_protected(text.as_bytes()));
        let dos = text.replace('\n', "\r\n");
        let wide = text.replace(": ", " :\t").replace("{\"name", "{ \"name");
        for other in [dos, wide] {
            assert_ne!(other, text);
            assert!(Manifest::is_protected(other.as_bytes()), "{other}");
            Manifest::from_json(other.as_bytes()).unwrap();
        }
        // In a string it does.
        let within = text.replace("\" a ", "\" a  ");
        assert_eq!(Manifest::from_json(within.as_bytes()).unwrap_err().kind(), ErrorKind::Damaged);
    }

    #[test]
    fn an_edited_text_is_refused_and_names_the_command_that_accepts_it() {
        let text = written();
        for (from, to) in [
            ("inner", "other"),
            ("pack 0", "pack 1"),
            ("\"jpg\": 4", "\"jpg\": 5"),
            ("\n  \"shards\"", "\n  \"unknown\": 3,\n  \"shards\""),
            ("\"manifest_blake3\": \"", "\"manifest_blake3\": \"0"),
            ("\"format\"", "\"manifest_blake3\": \"\", \"format\""),
        ] {
            let edited = text.replacen(from, to, 1);
            assert_ne!(edited, text);
            let error = Manifest::from_json(edited.as_bytes()).unwrap_err();
            assert!(error.text().contains("pack index --accept-edits"), "{from}: {error}");
            assert!(!Manifest::is_protected(edited.as_bytes()));
            let accepted = Manifest::from_edited_json(edited.as_bytes()).unwrap();
            assert_eq!(Manifest::from_json(&accepted.to_json()).unwrap(), accepted);
        }
    }

    #[test]
    fn a_text_of_an_earlier_version_states_no_digest() {
        let text = written();
        let end = text.rfind(",\n  \"manifest_blake3").unwrap();
        let older = format!("{}\n}}\n", &text[..end]);
        assert_eq!(Manifest::from_json(older.as_bytes()).unwrap().to_json(), text.as_bytes());
        assert!(!Manifest::is_protected(older.as_bytes()));
    }

    /// All bits, not only some: a manifest is small.
    #[test]
    fn each_flipped_bit_is_found_or_changes_no_value() {
        let text = written().into_bytes();
        let whole = Manifest::from_json(&text).unwrap();
        let mut passed = 0;
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = Manifest::from_json(&flipped) {
                assert_eq!(read, whole, "bit {bit}");
                passed += 1;
            }
        }
        // Those in the name of the field make it an unknown one.
        assert!(passed <= 8 * FIELD.len(), "{passed}");
    }
}
