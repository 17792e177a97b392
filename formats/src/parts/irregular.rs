//! `IrregularJpegs`: the number of JPEGs that break a rule of their format without losing a pixel, and the first of
//! them.

use serde::{Deserialize, Serialize};

/// A JPEG that breaks a rule of its format although all its pixels are there: stray bytes or restart markers between
/// segments, a missing end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrregularJpeg {
    /// The file that holds it: a source file, a shard.
    pub path: String,
    /// The byte of that file at which the rule is broken.
    pub byte: u64,
    /// The sample.
    pub key: String,
    /// What was found, one line.
    pub reason: String,
}

/// How many JPEGs are irregular. They are no problem: every reader decodes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IrregularJpegs {
    /// Their number.
    pub count: u64,
    /// The first of them, in the order of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<IrregularJpeg>,
}

impl IrregularJpegs {
    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Counts one; `described` is called for the first alone.
    pub fn add(&mut self, described: impl FnOnce() -> IrregularJpeg) {
        self.count += 1;
        self.first.get_or_insert_with(described);
    }

    /// Counts those of later samples.
    pub fn join(&mut self, later: IrregularJpegs) {
        self.count += later.count;
        self.first = self.first.take().or(later.first);
    }

    /// Forgets the last ones, so that `count` remain: those of a sample that is left out.
    pub fn cut(&mut self, count: u64) {
        self.count = self.count.min(count);
        if self.count == 0 {
            self.first = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(key: &str) -> IrregularJpeg {
        let reason = "stray bytes".into();
        IrregularJpeg { path: "a.tar".into(), byte: 7, key: key.into(), reason }
    }

    #[test]
    fn the_first_is_that_of_the_first_sample_which_stays() {
        let mut all = IrregularJpegs::default();
        all.add(|| jpeg("left out"));
        all.cut(0);
        assert!(all.is_empty() && all.first.is_none());
        all.add(|| jpeg("one"));
        all.add(|| jpeg("two"));
        all.cut(1);
        let mut later = IrregularJpegs::default();
        later.add(|| jpeg("three"));
        all.join(later);
        assert_eq!(all, IrregularJpegs { count: 2, first: Some(jpeg("one")) });
        let mut none = IrregularJpegs::default();
        none.join(all.clone());
        assert_eq!(none, all);
    }
}
