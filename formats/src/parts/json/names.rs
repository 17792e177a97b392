//! `Names`: the names of one object, to find one that is repeated.

use std::borrow::Cow;
use std::collections::HashSet;

use super::escapes::unescaped;

/// Names that are compared with each other; more are hashed.
const FEW: usize = 16;

/// The names of an object so far. Up to [`FEW`] names need no allocation.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    few: [Name<'a>; FEW],
    count: usize,
    many: HashSet<Cow<'a, str>>,
}

/// A name, quotes included.
#[derive(Debug, Clone, Copy, Default)]
struct Name<'a> {
    quoted: &'a str,
    has_escape: bool,
}

impl<'a> Names<'a> {
    /// Adds a name, quotes included; returns false if the object has it already.
    pub(super) fn add(&mut self, quoted: &'a str) -> bool {
        if self.count < FEW {
            let name = Name { quoted, has_escape: quoted.contains('\\') };
            let is_known = self.few[..self.count].iter().any(|known| known.is(name));
            self.few[self.count] = name;
            self.count += 1;
            return !is_known;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().map(|name| unescaped(name.quoted)));
        }
        self.many.insert(unescaped(quoted))
    }
}

impl Name<'_> {
    fn is(self, other: Name<'_>) -> bool {
        if self.has_escape || other.has_escape {
            unescaped(self.quoted) == unescaped(other.quoted)
        } else {
            self.quoted == other.quoted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_name_is_found_among_few_and_among_many() {
        for count in [2, FEW - 1, FEW, FEW + 1, 5 * FEW] {
            let all: Vec<String> = (0..count).map(|n| format!("\"n{n}\"")).collect();
            for repeated in [0, 1, count - 1] {
                let mut names = Names::default();
                assert!(all.iter().all(|name| names.add(name)), "{count}");
                let escaped = all[repeated].replace('n', "\\u006e");
                assert!(!names.add(&escaped), "{count}: {escaped}");
            }
        }
    }
}
