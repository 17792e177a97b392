//! Normalizers that the fast path has itself: NFC and NFKC, texts that are put before, and texts that are replaced.

use std::borrow::Cow;

use unicode_normalization_alignments::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfkc_quick,
};

/// A step of a normalizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Nfc,
    Nfkc,
    /// Puts a text before one that is not empty.
    Prepend(String),
    /// Replaces a text, which is not empty, wherever it is.
    Replace {
        from: String,
        to: String,
    },
}

/// Returns the text after all steps.
pub(super) fn normalized<'t>(steps: &[Step], text: &'t str) -> Cow<'t, str> {
    let mut normal = Cow::Borrowed(text);
    for step in steps {
        match step {
            Step::Nfc if normal.is_ascii() || is_certain(is_nfc_quick(normal.chars())) => {}
            Step::Nfkc if normal.is_ascii() || is_certain(is_nfkc_quick(normal.chars())) => {}
            Step::Nfc => normal = Cow::Owned(normal.nfc().map(|(c, _)| c).collect()),
            Step::Nfkc => normal = Cow::Owned(normal.nfkc().map(|(c, _)| c).collect()),
            Step::Prepend(before) if !normal.is_empty() => {
                normal = Cow::Owned([before.as_str(), &*normal].concat());
            }
            Step::Prepend(_) => {}
            Step::Replace { from, to } => normal = Cow::Owned(replaced(&normal, from, to)),
        }
    }
    normal
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut characters = from.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => text.replace(only, to),
        _ => text.replace(from, to),
    }
}

/// Returns true if a form certainly leaves the text.
fn is_certain(found: IsNormalized) -> bool {
    found == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_each_other() {
        let steps = [
            Step::Prepend(" ".into()),
            Step::Replace { from: " ".into(), to: "_".into() },
            Step::Nfc,
        ];
        assert_eq!(normalized(&steps, "a e\u{301}"), "_a_\u{e9}");
        assert_eq!(normalized(&steps, ""), "");
        assert_eq!(normalized(&[Step::Nfkc], "\u{fb01}\u{2460}"), "fi1");
        assert_eq!(normalized(&[Step::Nfc], "\u{212b}ngstr\u{f6}m"), "\u{c5}ngstr\u{f6}m");
    }
}
