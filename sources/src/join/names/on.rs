//! The names of samples that rows can have, and the guess which one a table has.

use std::collections::HashSet;

use tarflume_formats::plan::PlannedExt;
use tarflume_scan::samples::list::{FoundAt, FoundSample};

use crate::join::options::On;

impl On {
    /// Returns true if a name has an extension, so that a sample has one for each of its files.
    pub(in crate::join) fn is_of_files(self) -> bool {
        matches!(self, On::Basename | On::Path)
    }

    /// Calls `each` with the names of a sample. `space` is memory for a name.
    pub(in crate::join) fn each_name(
        self,
        sample: &FoundSample,
        exts: &[PlannedExt],
        space: &mut Vec<u8>,
        each: &mut impl FnMut(&[u8]),
    ) {
        let last = sample.source.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let stem = match self {
            On::Key => return each(&sample.key),
            On::Stem => return each(&sample.source[last..]),
            On::Basename => &sample.source[last..],
            On::Path => &sample.source[..],
        };
        for part in &sample.parts {
            let ext = exts[part.ext as usize].source.as_str();
            match part.at {
                FoundAt::File(_) => each(named(stem, ext, space)),
                // A member of an archive. The scan has the extension of the part: lower-case, `jpg` for `jpeg`.
                FoundAt::Range(..) | FoundAt::Cell(..) => {
                    let forms: &[&str] = if ext == "jpg" { &["jpg", "jpeg"] } else { &[ext] };
                    for form in forms {
                        each(named(stem, form, space));
                        each(named(stem, &form.to_ascii_uppercase(), space));
                    }
                }
                FoundAt::Path(..) | FoundAt::Text(_) => {}
            }
        }
    }
}

/// Returns the name of a file in `space`.
fn named<'s>(stem: &[u8], ext: &str, space: &'s mut Vec<u8>) -> &'s [u8] {
    space.clear();
    space.extend_from_slice(stem);
    space.push(b'.');
    space.extend_from_slice(ext.as_bytes());
    space
}

/// The forms of the names that rows have.
#[derive(Debug)]
pub(in crate::join) struct Habits {
    exts: HashSet<Vec<u8>>,
    rows: u64,
    folders: u64,
    extensions: u64,
}

impl Habits {
    /// Knows the extensions of the found files, and `others`.
    pub(in crate::join) fn new(
        exts: &[PlannedExt],
        others: impl Iterator<Item = Vec<u8>>,
    ) -> Habits {
        let exts = exts.iter().map(|ext| ext.source.as_bytes().to_vec()).chain(others).collect();
        Habits { exts, rows: 0, folders: 0, extensions: 0 }
    }

    /// The extensions of the samples' files.
    pub(in crate::join) fn exts(&self) -> &HashSet<Vec<u8>> {
        &self.exts
    }

    /// Counts the name of a row.
    pub(in crate::join) fn see(&mut self, name: &[u8]) {
        self.rows += 1;
        let last = name.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        self.folders += u64::from(last > 0);
        let mut dots = (last + 1..name.len()).filter(|&at| name[at] == b'.');
        self.extensions += u64::from(dots.any(|dot| self.exts.contains(&name[dot + 1..])));
    }

    /// Returns the name of samples that most rows have.
    pub(in crate::join) fn on(&self) -> On {
        if self.folders * 2 > self.rows {
            if self.extensions * 2 > self.rows { On::Path } else { On::Key }
        } else if self.extensions * 2 > self.rows {
            On::Basename
        } else {
            On::Stem
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_most_names_decides() {
        let exts = ["jpg", "seg.png"];
        let exts = exts.map(|e| PlannedExt { source: e.into(), shard: e.into(), has_paths: false });
        for (names, on) in [
            (&["a/1.jpg", "a/2.jpg", "3.jpg"][..], On::Path),
            (&["1.jpg", "2.seg.png", "x"], On::Basename),
            (&["a/1", "b/2.5"], On::Key),
            (&["1", "v1.5", ".jpg"], On::Stem),
        ] {
            let mut habits = Habits::new(&exts, std::iter::empty());
            names.iter().for_each(|name| habits.see(name.as_bytes()));
            assert_eq!(habits.on(), on, "{names:?}");
        }
    }
}
