//! `Provenance`: what a user states about a build, as NAME=VALUE: who packed it, from which copy, by which commit.
//!
//! Nothing is added by itself: the same samples and options give the same bytes, on any machine and at any time.

use std::collections::BTreeMap;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// Names and values, by name.
pub(crate) type Provenance = BTreeMap<String, String>;

/// Limit on the bytes of a name.
const NAME_MAX: usize = 64;
/// Limit on the bytes of a value.
const VALUE_MAX: usize = 4096;

/// Parses words `NAME=VALUE`.
///
/// # Errors
/// Returns an error for a word without `=`, a name that is repeated or has other characters than a-z, 0-9, `_`, `-` and
/// `.`, and a value that is empty, too long or has control characters.
pub(super) fn parse(words: &[String]) -> Result<Provenance, Failure> {
    let mut all = Provenance::new();
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(refused(word, "it has no '='"));
        };
        if !is_name(name) {
            return Err(refused(
                word,
                "a name has up to 64 of the characters a-z, 0-9, '_', '-' and '.'",
            ));
        }
        if value.is_empty() || value.len() > VALUE_MAX || value.chars().any(char::is_control) {
            return Err(refused(word, "a value has 1 to 4,096 bytes, and no control characters"));
        }
        if all.insert(name.into(), value.into()).is_some() {
            return Err(refused(word, "this name is given twice"));
        }
    }
    Ok(all)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c)
}

fn refused(word: &str, why: impl Into<Message>) -> Failure {
    Failure::usage(message!(
        "{provenance}: {why}; give NAME=VALUE, such as {example}";
        provenance = Name::Provenance.is(word),
        why = why.into(),
        example = Name::Provenance.is("by=jane@example.org")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_equal_signs() {
        let words = ["by=Jane Doe <jane@example.org>".into(), "query=a=b".into()];
        let all = parse(&words).unwrap();
        assert_eq!(all["by"], "Jane Doe <jane@example.org>");
        assert_eq!(all["query"], "a=b");
    }

    #[test]
    fn wrong_words_are_refused() {
        for word in ["by", "=x", "By=x", "by=", "by=a\nb", "a b=c"] {
            let failure = parse(&[word.into()]).unwrap_err();
            assert!(failure.text().contains("NAME=VALUE"), "{word}: {}", failure.text());
        }
        let twice = parse(&["by=a".into(), "by=b".into()]).unwrap_err();
        assert!(twice.text().contains("twice"), "{}", twice.text());
    }
}
