//! `SplitFiles`: patterns of the files of sources, each with the split of their samples: `test=test_batch*,train=*`.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown::ShowPath;
use tarflume_scan::names::file_glob::FileGlob;

use super::lists::items;
use super::shares::{MOST, check_name};

/// Begins the value of `--split-by`.
pub(super) const FILE: &str = "file:";
/// Patterns for messages.
pub(crate) const EXAMPLE: &str = "file:test=*test*,train=*";
/// The pattern of the files that no other pattern matches.
const REST: &str = "*";

/// The files of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilePattern {
    split: String,
    glob: FileGlob,
}

/// The patterns of all splits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitFiles {
    patterns: Vec<FilePattern>,
    /// The split of files that no pattern matches.
    rest: Option<String>,
    /// Whether files of other splits are in the data set already, so that a pattern may match no file.
    pub(crate) appends: bool,
}

impl SplitFiles {
    /// Parses `test=test_batch*,train=*`.
    ///
    /// # Errors
    /// Returns an error that shows the form.
    pub(super) fn parse(text: &str) -> Result<SplitFiles, Failure> {
        let mut files = SplitFiles { patterns: Vec::new(), rest: None, appends: false };
        for item in items(text) {
            let Some((split, pattern)) = item.split_once('=') else {
                return Err(refused(format!("'{item}' has no name of a split").into()));
            };
            check_name(split).map_err(|why| refused(why.into()))?;
            if pattern == REST {
                if files.rest.replace(split.into()).is_some() {
                    return Err(refused("one split alone has what no pattern matches".into()));
                }
                continue;
            }
            let glob = FileGlob::parse(pattern).map_err(|why| refused(why.into()))?;
            files.patterns.push(FilePattern { split: split.into(), glob });
        }
        if files.patterns.is_empty() {
            return Err(refused("it has no pattern besides *, and one set needs no option".into()));
        }
        if files.patterns.len() > MOST {
            return Err(refused(format!("more than {MOST} patterns").into()));
        }
        Ok(files)
    }

    /// Returns the split of each file of the sources; `None` for a file that no pattern matches.
    ///
    /// # Errors
    /// Returns an error for a file of two splits, and for a pattern that no file matches.
    pub(super) fn of_sources(&self, files: &[PathBuf]) -> Result<Vec<Option<String>>, Failure> {
        let unmatched =
            self.patterns.iter().find(|one| !files.iter().any(|path| one.glob.is_match(path)));
        if let (Some(pattern), Some(first), false) = (unmatched, files.first(), self.appends) {
            let FilePattern { split, glob } = pattern;
            let text = message!("no file of the sources matches {split}={}; the first one is {first}", glob.text(); first = first);
            return Err(refused(text).with_file(first));
        }
        files.iter().map(|path| self.of(path)).collect()
    }

    /// Returns the split of a file.
    fn of(&self, path: &Path) -> Result<Option<String>, Failure> {
        let mut matching = self.patterns.iter().filter(|one| one.glob.is_match(path));
        let Some(first) = matching.next() else { return Ok(self.rest.clone()) };
        match matching.find(|other| other.split != first.split) {
            None => Ok(Some(first.split.clone())),
            Some(other) => {
                let text = format!(
                    "{}={} and {}={} both match {}",
                    first.split,
                    first.glob.text(),
                    other.split,
                    other.glob.text(),
                    path.shown()
                );
                Err(refused(text.into()).with_file(path))
            }
        }
    }
}

fn refused(why: Message) -> Failure {
    Failure::usage(
        message!("{split_by}: {why}; give {form}"; why = why, split_by = Name::SplitBy, form = Name::SplitBy.is(EXAMPLE)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, files: &[&str]) -> Result<Vec<Option<String>>, String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let found = SplitFiles::parse(text).and_then(|patterns| patterns.of_sources(&files));
        found.map_err(|failure| failure.text())
    }

    #[test]
    fn patterns_divide_files_in_any_order() {
        let files = ["/c/data_batch_1.bin", "/c/data_batch_2.bin", "/c/test_batch.bin"];
        let wanted = ["train", "train", "test"].map(|split| Some(split.to_string()));
        for text in [
            "test=test_*,train=*",
            "train=*,test=test_*",
            "train=data_batch_1*,train=data_batch_2*,test=test*",
            "train={data_batch_1,data_batch_2}.bin,test=c/test_*",
        ] {
            assert_eq!(of(text, &files).unwrap(), wanted, "{text}");
        }
        let without = of("test=test_*,val=data_batch_2*", &files).unwrap();
        assert_eq!(without[0], None);
    }

    #[test]
    fn patterns_that_decide_nothing_are_refused() {
        let files = ["/c/data_batch_1.bin", "/c/test_batch.bin"];
        for (text, why) in [
            ("test=tset*,train=*", "no file of the sources matches test=tset*; the first one is"),
            ("test=*batch*,train=data*", "test=*batch* and train=data* both match"),
            ("train=*", "no pattern besides *"),
            ("test", "no name of a split"),
            ("a b=x", "can't be the name of a split"),
            ("a=x,b=*,c=*", "one split alone"),
            ("a=[", "--split-by"),
        ] {
            let refused = of(text, &files).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
