//! `Lengths`: documents that are too long or too short.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

/// What happens to a document with too many ids.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Longer {
    /// Its first ids stay.
    #[default]
    KeepFirst,
    /// Its last ids stay.
    KeepLast,
    /// It is left out.
    Drop,
    /// It ends the build.
    Refuse,
}

impl Longer {
    /// Returns a word for the digest of a data set.
    fn word(self) -> &'static str {
        match self {
            Longer::KeepFirst => "right",
            Longer::KeepLast => "left",
            Longer::Drop => "drop",
            Longer::Refuse => "error",
        }
    }
}

/// The most and the fewest ids of a document, with the token behind it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The most ids; no limit by default.
    pub most: Option<usize>,
    /// What happens to a document with more.
    pub longer: Longer,
    /// The fewest ids, after a document was cut. One with fewer is left out.
    pub fewest: usize,
}

/// What becomes of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fitted<'a> {
    Whole,
    /// These ids stay, and the number of the first.
    Cut(&'a [u32], u64),
    TooLong,
    TooShort,
}

impl Lengths {
    /// Checks the numbers.
    pub(super) fn check(&self, limit: u64) -> Result<(), Failure> {
        let most = self.most.map(|most| most as u64);
        if let Some(most) = most.filter(|most| !(1..=limit).contains(most)) {
            return Err(Failure::usage(message!(
                "{setting}: expected a number from 1 to {limit}";
                setting = Name::MaxLength.is(most)
            )));
        }
        let fewest = self.fewest as u64;
        if fewest > most.unwrap_or(limit) {
            return Err(Failure::usage(message!(
                "{setting}: more than the most ids of a document, {}", most.unwrap_or(limit);
                setting = Name::MinLength.is(fewest)
            )));
        }
        Ok(())
    }

    /// Returns what becomes of a document; `None` if its length ends the build.
    pub(super) fn fitted<'a>(&self, ids: &'a [u32]) -> Option<Fitted<'a>> {
        let most = self.most.unwrap_or(usize::MAX);
        if ids.len().min(most) < self.fewest {
            return Some(Fitted::TooShort);
        }
        if ids.len() <= most {
            return Some(Fitted::Whole);
        }
        match self.longer {
            Longer::KeepFirst => Some(Fitted::Cut(&ids[..most], 0)),
            Longer::KeepLast => {
                let first = ids.len() - most;
                Some(Fitted::Cut(&ids[first..], first as u64))
            }
            Longer::Drop => Some(Fitted::TooLong),
            Longer::Refuse => None,
        }
    }

    /// Returns the settings for the digest of a data set; empty if there are none.
    pub(super) fn word(&self) -> String {
        match self {
            Lengths { most: None, fewest: 0, .. } => String::new(),
            Lengths { most, longer, fewest } => format!("{most:?} {} {fewest}", longer.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(longer: Longer) -> Lengths {
        Lengths { most: Some(3), longer, fewest: 2 }
    }

    #[test]
    fn documents_are_cut_at_either_end_or_left_out() {
        let ids = [1, 2, 3, 4, 5];
        assert_eq!(of(Longer::KeepFirst).fitted(&ids), Some(Fitted::Cut(&[1, 2, 3], 0)));
        assert_eq!(of(Longer::KeepLast).fitted(&ids), Some(Fitted::Cut(&[3, 4, 5], 2)));
        assert_eq!(of(Longer::Drop).fitted(&ids), Some(Fitted::TooLong));
        assert_eq!(of(Longer::Refuse).fitted(&ids), None);
        for longer in [Longer::KeepFirst, Longer::KeepLast, Longer::Drop, Longer::Refuse] {
            assert_eq!(of(longer).fitted(&ids[..3]), Some(Fitted::Whole));
            assert_eq!(of(longer).fitted(&ids[..1]), Some(Fitted::TooShort));
        }
        assert_eq!(Lengths::default().fitted(&ids), Some(Fitted::Whole));
        assert!(Lengths { most: Some(1), fewest: 2, ..Lengths::default() }.check(9).is_err());
        assert!(Lengths { most: Some(0), ..Lengths::default() }.check(9).is_err());
    }
}
