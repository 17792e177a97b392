//! `SplitLists`: files that list the samples of each split, as data sets are published: `train.txt`, `val.txt`.
//!
//! A name of a list is compared with keys and with paths of files; if none is the same, without the first folders of one
//! side, and at last without all folders. Memory while planning: 24 bytes for each sample.

mod form;
mod reading;
mod samples;

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind, units};
use tarflume_formats::files::{self, Patient};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::Scan;
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundSample, Spot};

use self::form::Form;
use self::reading::{CLASHING, Found, Reading, UNLISTED};
use self::samples::Samples;
use super::shares::{MOST, check_name};
use super::splits::Splits;
use crate::plan::duplicates::Decided;

/// The word for the samples that no list names.
const REST: &str = "*";
/// Bytes of a list that are digested at a time.
const BUFFER: usize = 256 << 10;

/// The samples of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SplitList {
    split: u8,
    path: PathBuf,
}

/// The lists of all splits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitLists {
    names: Vec<String>,
    lists: Vec<SplitList>,
    /// The split of samples that no list names.
    rest: Option<u8>,
    /// Whether names of samples that a data set has are expected, too.
    pub(crate) appends: bool,
}

impl SplitLists {
    /// Parses `train=train.txt,val=val.txt,test=*`.
    ///
    /// # Errors
    /// Returns an error that shows the form, and for a list that does not exist.
    pub(super) fn parse(text: &str) -> Result<SplitLists, Failure> {
        let mut lists =
            SplitLists { names: Vec::new(), lists: Vec::new(), rest: None, appends: false };
        for item in items(text) {
            let Some((name, path)) = item.split_once('=') else {
                return Err(refused(format!("'{item}' has no name of a split").into()));
            };
            check_name(name).map_err(|why| refused(why.into()))?;
            if path.is_empty() {
                return Err(refused(format!("'{item}' names no list").into()));
            }
            let split = lists.number(name);
            if path == REST {
                if lists.rest.is_some() {
                    return Err(refused("one split alone has what no list names".into()));
                }
                lists.rest = Some(split);
                continue;
            }
            let path = PathBuf::from(path);
            if !files::exists(&path)? {
                let text = message!("there is no list {path}"; path = &path);
                return Err(refused(text).with_file(&path));
            }
            lists.lists.push(SplitList { split, path });
        }
        if lists.lists.is_empty() {
            return Err(refused("it names no list".into()));
        }
        if lists.names.len() > MOST {
            return Err(refused(format!("more than {MOST} splits").into()));
        }
        Ok(lists)
    }

    fn number(&mut self, name: &str) -> u8 {
        let known = self.names.iter().position(|other| other == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        number.min(usize::from(u8::MAX)) as u8 // more than MOST are refused
    }

    /// Returns the text for the plan's options: names of splits and digests of lists, so that a list may move but not
    /// change.
    ///
    /// # Errors
    /// Returns an error if a list cannot be read.
    pub(crate) fn planned(&self) -> Result<String, Failure> {
        let mut words = Vec::with_capacity(self.lists.len() + 1);
        for list in &self.lists {
            let digest = digest(&list.path)?;
            words.push(format!("{}={digest}", self.names[usize::from(list.split)]));
        }
        words.extend(self.rest.map(|rest| format!("{}={REST}", self.names[usize::from(rest)])));
        Ok(words.join(","))
    }

    /// Divides the samples that are not dropped. Drops those that no list, or several, name, as problems.
    ///
    /// # Errors
    /// Returns an error if no name is that of a sample, for a name of several samples, and for a list that cannot be read.
    pub(super) fn divide(
        &self,
        scan: &Scan,
        roots: &[PathBuf],
        decided: &mut Decided,
    ) -> Result<Splits, Failure> {
        let Decided { dropped, renamed, problems, .. } = decided;
        let samples = Samples::of(scan, dropped, renamed);
        let exts: HashSet<Vec<u8>> =
            scan.exts.iter().map(|ext| ext.source.to_ascii_lowercase().into_bytes()).collect();
        let mut found = Found::new(samples.spots.len(), self.lists.len());
        let mut form = Form::WHOLE;
        for next in Form::all() {
            form = next;
            found = self.read(&samples, form, &exts)?;
            // The lists of an append name samples of the data set, too: without folders, such a name would be another sample.
            if self.appends || found.named > 0 || found.names == 0 {
                break;
            }
        }
        if found.named == 0 && !self.appends && !samples.spots.is_empty() {
            return Err(self.unmatched(&samples, &found));
        }
        if self.rest.is_some() && !samples.spots.is_empty() {
            self.check_rest(&samples, &found, &exts)?;
        }
        let is_silent = self.appends || samples.spots.is_empty();
        let notes = if is_silent { Vec::new() } else { self.notes(form, &found) };
        let mut settled = Settled { of: Vec::new(), problems, left_out: Vec::new() };
        self.settle(&samples, &found, roots, &mut settled);
        let Settled { of, left_out, .. } = settled;
        dropped.extend(left_out);
        Ok(Splits { names: self.names.clone(), of, notes })
    }

    /// Reads all lists.
    fn read(
        &self,
        samples: &Samples<'_>,
        form: Form,
        exts: &HashSet<Vec<u8>>,
    ) -> Result<Found, Failure> {
        let index = samples.index(form);
        let mut found = Found::new(samples.spots.len(), self.lists.len());
        for (number, SplitList { path, split }) in self.lists.iter().enumerate() {
            Reading { path, number, split: *split, form, exts, index: &index }.read(&mut found)?;
        }
        Ok(found)
    }

    /// Refuses lists whose samples would go to the split of all others: a list of a build of which no name is that of a
    /// sample, and lists of an append whose names have other folders than the new samples.
    fn check_rest(
        &self,
        samples: &Samples<'_>,
        found: &Found,
        exts: &HashSet<Vec<u8>>,
    ) -> Result<(), Failure> {
        if !self.appends {
            let lost = found.lists.iter().position(|list| list.named == 0 && list.absent > 0);
            return lost.map_or(Ok(()), |list| Err(self.unmatched_in(list, samples, found)));
        }
        if found.named > 0 {
            return Ok(());
        }
        let others = Form::all().filter(|form| matches!(form, Form::OfLists(1..)));
        for form in others {
            let other = self.read(samples, form, exts)?;
            if let Some(list) = other.lists.iter().position(|list| list.named > 0) {
                return Err(self.unmatched_in(list, samples, found));
            }
        }
        Ok(())
    }

    /// Collects the splits of the samples that have one; makes the others problems.
    fn settle(
        &self,
        samples: &Samples<'_>,
        found: &Found,
        roots: &[PathBuf],
        into: &mut Settled<'_>,
    ) {
        let mut sample = FoundSample::default();
        for (number, &spot) in samples.spots.iter().enumerate() {
            let reason = match (found.of[number], self.rest) {
                (UNLISTED, Some(rest)) => {
                    into.of.push(rest);
                    continue;
                }
                (UNLISTED, None) => {
                    message!("no list has its name; {split_list} puts what no list names into a split"; split_list = Name::SplitList.is("train=*"))
                }
                (CLASHING, _) => {
                    let [a, b] =
                        found.clashes[&number].map(|split| &self.names[usize::from(split)]);
                    message!("the lists of '{a}' and of '{b}' name it; remove it from one")
                }
                (split, _) => {
                    into.of.push(split);
                    continue;
                }
            };
            samples.scan.samples.read(spot, &mut sample);
            let problem = samples.scan.problem(ProblemKind::NoSplit, &sample, roots, reason);
            into.problems.push(problem);
            into.left_out.push(spot);
        }
    }

    /// Returns the error for lists of which no name is that of a sample.
    fn unmatched(&self, samples: &Samples<'_>, found: &Found) -> Failure {
        match found.lists.iter().position(|list| list.absent > 0) {
            Some(first) => self.unmatched_in(first, samples, found),
            None => refused("the lists have no names".into()),
        }
    }

    /// Returns the error for a list of which no name is that of a sample.
    fn unmatched_in(&self, list: usize, samples: &Samples<'_>, found: &Found) -> Failure {
        let mut sample = FoundSample::default();
        samples.scan.samples.read(samples.spots[0], &mut sample);
        let path = &self.lists[list].path;
        let text = message!(
            "no name of the list is that of a sample: {path} begins with '{}', and the first sample is '{}'",
            found.lists[list].first,
            name::shown(&sample.key);
            path = path
        );
        refused(text).with_file(path)
    }

    /// Returns lines about names that no sample has, and about the form in which names were compared.
    fn notes(&self, form: Form, found: &Found) -> Vec<Message> {
        let mut notes: Vec<Message> = Vec::new();
        notes.extend(form.note());
        for (list, names_of) in self.lists.iter().zip(&found.lists).filter(|(_, of)| of.absent > 0)
        {
            let names = units::counted(names_of.absent, "name has", "names have");
            notes.push(message!(
                "{split_list}: in {}, {names} no sample, the first in line {}: '{}'",
                list.path.shown(),
                units::count(names_of.line),
                names_of.first;
                split_list = Name::SplitList
            ));
        }
        notes
    }
}

/// What is decided about samples.
struct Settled<'a> {
    /// The split of each sample that has one.
    of: Vec<u8>,
    problems: &'a mut Vec<ScanProblem>,
    /// The others.
    left_out: Vec<Spot>,
}

/// Returns the items between commas that a name of a split and `=` follow: a path may have commas.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for piece in text.split(',') {
        let is_item =
            piece.trim_start().split_once('=').is_some_and(|(name, _)| check_name(name).is_ok());
        match items.last_mut() {
            Some(last) if !is_item => {
                last.push(',');
                last.push_str(piece);
            }
            _ => items.push(piece.trim_start().into()),
        }
    }
    items
}

fn refused(why: Message) -> Failure {
    Failure::usage(
        message!("{split_list}: {why}; give {form}"; why = why, split_list = Name::SplitList, form = Name::SplitList.is("train=train.txt,val=val.txt")),
    )
}

/// Returns the digest of a file.
fn digest(path: &Path) -> Result<String, Failure> {
    let file = std::fs::File::open(path).map_err(|e| Failure::io(e, "open", path))?;
    let mut hash = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = Patient(&file).read(&mut buffer).map_err(|e| Failure::io(e, "read", path))?;
        if read == 0 {
            return Ok(hash.finalize().to_hex()[..32].to_string());
        }
        hash.update(&buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        SplitLists::parse(text).unwrap_err().text()
    }

    #[test]
    fn splits_have_lists_and_one_has_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a,b.txt");
        std::fs::write(&path, "x\n").unwrap();
        let path = path.to_str().unwrap();
        let lists = SplitLists::parse(&format!("train={path},val=*,train={path}")).unwrap();
        assert_eq!(lists.names, ["train", "val"]);
        assert_eq!((lists.lists.len(), lists.rest), (2, Some(1)));
        let planned = lists.planned().unwrap();
        assert!(planned.starts_with("train=") && planned.ends_with(",val=*"), "{planned}");
        assert!(!planned.contains(path));
        for (text, why) in [
            (path.to_string(), "no name of a split"),
            ("train=".into(), "names no list"),
            ("train=*".into(), "names no list"),
            (format!("a b={path}"), "can't be the name"),
            (format!("a={path},b=*,c=*"), "one split alone"),
            ("train=none.txt".into(), "there is no list none.txt"),
        ] {
            assert!(refused(&text).contains(why), "{text}: {}", refused(&text));
        }
    }
}
