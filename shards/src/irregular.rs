//! The sentence about JPEGs that break rules of their format without losing a pixel.

use std::path::Path;

use tarflume_base::units;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::{IrregularJpegs, shown};

/// Returns a line about irregular JPEGs: their number, the first, and what is wrong with it; `None` if there is none.
pub fn irregular_note(jpegs: &IrregularJpegs) -> Option<Message> {
    let first = jpegs.first.as_ref()?;
    let found = units::counted(jpegs.count, "JPEG breaks", "JPEGs break");
    Some(message!(
        "{found} rules of their format without losing a pixel (stray bytes, a missing end or the like), and get no \
         entry points; the first is {path}: byte {}: key {}: {}",
        first.byte,
        shown::text(&first.key),
        shown::text(&first.reason);
        path = Path::new(&first.path)
    ))
}

#[cfg(test)]
mod tests {
    use tarflume_formats::IrregularJpeg;

    use super::*;

    #[test]
    fn the_sentence_has_number_place_key_and_reason() {
        assert_eq!(irregular_note(&IrregularJpegs::default()), None);
        let first = IrregularJpeg {
            path: "cats/7.jpg".into(),
            byte: 20,
            key: "cats/7".into(),
            reason: "stray bytes".into(),
        };
        let note = irregular_note(&IrregularJpegs { count: 1234, first: Some(first) }).unwrap();
        assert!(note.text().starts_with("1,234 JPEGs break rules of their format"), "{note:?}");
        assert!(note.text().ends_with("cats/7.jpg: byte 20: key cats/7: stray bytes"), "{note:?}");
    }
}
