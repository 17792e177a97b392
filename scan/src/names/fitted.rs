//! Makes the names of members short enough for all readers. Pure.

use crate::names::rules::{Action, MAX_NAME, NameRules, Rule, shortened};

/// Whether the members of a sample have names of at most [`MAX_NAME`] bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They have, or longer ones are allowed.
    Fits,
    /// They have with this base name.
    Short(Vec<u8>),
    /// They have not, and long names are refused.
    Refused,
    /// The folder leaves no room for a base name.
    NoRoom,
}

/// Returns whether names fit: the prefix of keys of a folder, a base name, and the length of the longest extension.
pub(crate) fn fit(rules: &NameRules, folder: &[u8], stem: &[u8], longest: usize) -> Fit {
    if folder.len() + stem.len() + 1 + longest <= MAX_NAME {
        return Fit::Fits;
    }
    match rules.action(Rule::Long) {
        Action::Allow | Action::Skip => Fit::Fits,
        Action::Refuse => Fit::Refused,
        Action::Replace => {
            let key = [folder, stem].concat();
            match MAX_NAME.saturating_sub(folder.len() + 1 + longest) {
                room @ 17.. => Fit::Short(shortened(&key, stem, room)),
                _ => Fit::NoRoom,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_refused_or_made_short() {
        let stem = [b'x'; 98];
        let rules = NameRules::default();
        assert_eq!(fit(&rules, b"", &stem[..96], 3), Fit::Fits);
        assert_eq!(fit(&rules, b"", &stem, 3), Fit::Refused);
        let rules = NameRules::parse("long=replace").unwrap();
        let Fit::Short(short) = fit(&rules, b"d/", &stem, 3) else { panic!("it has room") };
        assert_eq!(short.len(), 94);
        assert_eq!(fit(&rules, &stem, &stem, 3), Fit::NoRoom);
        assert_eq!(fit(&NameRules::parse("long=allow").unwrap(), b"", &stem, 3), Fit::Fits);
    }
}
