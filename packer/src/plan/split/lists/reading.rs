//! `Reading`: reads a list and finds the samples that its lines name.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::name;
use tarflume_sources::join::{On, reduce};
use tarflume_table::text::stream;

use super::form::Form;
use super::samples::Index;

/// Bytes of a list that are read at a time.
const BUFFER: usize = 256 << 10;
/// Bytes of a line that messages show, at most.
const SHOWN: usize = 200;
/// Marks a sample that no list names, and one that lists of two splits name.
pub(super) const UNLISTED: u8 = 255;
pub(super) const CLASHING: u8 = 254;

/// The names of a list.
#[derive(Debug, Clone, Default)]
pub(super) struct ListNames {
    /// Names that samples have.
    pub(super) named: u64,
    /// Names that no sample has.
    pub(super) absent: u64,
    /// The line of the first of these, and its text.
    pub(super) line: u64,
    pub(super) first: String,
}

/// What lists say about samples.
pub(super) struct Found {
    /// The split of each sample.
    pub(super) of: Vec<u8>,
    /// The splits of the samples that two lists name.
    pub(super) clashes: HashMap<usize, [u8; 2]>,
    /// Names of lists, and those that samples have.
    pub(super) names: u64,
    pub(super) named: u64,
    /// Of each list.
    pub(super) lists: Vec<ListNames>,
}

impl Found {
    /// Nothing yet.
    pub(super) fn new(samples: usize, lists: usize) -> Found {
        Found {
            of: vec![UNLISTED; samples],
            clashes: HashMap::new(),
            names: 0,
            named: 0,
            lists: vec![ListNames::default(); lists],
        }
    }

    fn put(&mut self, sample: usize, split: u8) {
        match self.of[sample] {
            UNLISTED => self.of[sample] = split,
            other if other == split || other == CLASHING => {}
            other => {
                self.of[sample] = CLASHING;
                self.clashes.insert(sample, [other, split]);
            }
        }
    }
}

/// One list, as it is read.
pub(super) struct Reading<'a> {
    pub(super) path: &'a Path,
    /// Its number among all lists.
    pub(super) number: usize,
    /// The number of its split.
    pub(super) split: u8,
    pub(super) form: Form,
    /// The extensions of the samples' files.
    pub(super) exts: &'a HashSet<Vec<u8>>,
    pub(super) index: &'a Index<'a>,
}

impl Reading<'_> {
    /// Finds the samples of all lines.
    pub(super) fn read(&self, found: &mut Found) -> Result<(), Failure> {
        let stream::OpenText { text, budget, origin } = stream::open(self.path)?;
        let mut text = BufReader::with_capacity(BUFFER, text);
        let mut line = Vec::new();
        let mut number = 0u64;
        loop {
            line.clear();
            budget.renew();
            number += 1;
            text.read_until(b'\n', &mut line).map_err(|e| origin.refused(e, number))?;
            if line.is_empty() {
                return Ok(());
            }
            let name = line.trim_ascii();
            if name.is_empty() {
                continue;
            }
            found.names += 1;
            let names = &mut found.lists[self.number];
            match self.sample_of(name).map_err(|samples| self.several(number, name, &samples))? {
                Some(sample) => {
                    names.named += 1;
                    found.named += 1;
                    found.put(sample, self.split);
                }
                None => {
                    if names.absent == 0 {
                        names.line = number;
                        names.first = name::shown(&name[..name.len().min(SHOWN)]);
                    }
                    names.absent += 1;
                }
            }
        }
    }

    /// Returns the sample that a line names: by the whole line, or by its first column.
    fn sample_of(&self, line: &[u8]) -> Result<Option<usize>, [String; 2]> {
        let mut last: &[u8] = b"";
        let quoted = unquoted(line);
        let columns = columns(line).chain(quoted.as_deref());
        for column in columns.filter(|column| !column.is_empty()) {
            if column == last {
                continue;
            }
            last = column;
            let mut name: Vec<u8> =
                column.iter().map(|&b| if b == b'\\' { b'/' } else { b }).collect();
            name = name::cleaned(&name);
            reduce(&mut name, On::Key, self.exts);
            let Some(name) = self.form.of_list(&name) else { continue };
            if let Some(sample) = self.index.find(name)? {
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }

    fn several(&self, line: u64, name: &[u8], samples: &[String; 2]) -> Failure {
        let [a, b] = samples;
        let text = message!(
            "line {line}: '{}' names several samples, such as '{a}' and '{b}'; give the paths of files",
            name::shown(&name[..name.len().min(SHOWN)])
        );
        Failure::usage(text).in_file(self.path)
    }
}

/// Returns a line, and what is in it before the first tab, blank, comma or semicolon.
fn columns(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends: [fn(&u8) -> bool; 4] =
        [|b| *b == b'\t', u8::is_ascii_whitespace, |b| *b == b',', |b| *b == b';'];
    let first = ends.into_iter().map(move |end| {
        let at = line.iter().position(end).unwrap_or(line.len());
        line[..at].trim_ascii()
    });
    [line].into_iter().chain(first)
}

/// Returns the first field of a line if it is in quotes, as tables write names with commas.
fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = line.strip_prefix(b"\"")?.iter().copied().peekable();
    let mut name = Vec::new();
    loop {
        match (bytes.next()?, bytes.peek()) {
            (b'"', Some(b'"')) => {
                bytes.next();
                name.push(b'"');
            }
            (b'"', None | Some(b',' | b';' | b'\t' | b' ')) => return Some(name),
            (b'"', Some(_)) => return None,
            (byte, _) => name.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_in_quotes() {
        assert_eq!(unquoted(b"\"a, b.jpg\",1").unwrap(), b"a, b.jpg");
        assert_eq!(unquoted(b"\"a \"\"b\"\"\"").unwrap(), b"a \"b\"");
        assert_eq!([unquoted(b"a"), unquoted(b"\"a"), unquoted(b"\"a\"b")], [None, None, None]);
    }

    #[test]
    fn a_line_is_a_name_or_begins_with_one() {
        let found: Vec<&[u8]> = columns(b"a b.png\t1,2").collect();
        assert_eq!(found, [&b"a b.png\t1,2"[..], b"a b.png", b"a", b"a b.png\t1", b"a b.png\t1,2"]);
    }

    #[test]
    fn a_sample_of_two_splits_clashes() {
        let mut found = Found::new(3, 1);
        for (sample, split) in [(0, 1), (0, 1), (1, 0), (1, 1), (1, 0)] {
            found.put(sample, split);
        }
        assert_eq!(found.of, [1, CLASHING, UNLISTED]);
        assert_eq!(found.clashes[&1], [0, 1]);
    }
}
