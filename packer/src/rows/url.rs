//! `SourceUrl`: `kind:FILE,FILE?name=value&name=value`, the name of a source that is not a folder.
//!
//! Pure, except that paths are made absolute. Does not open the files.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The kinds of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// NumPy arrays; a sample is one index of the first dimension.
    Npy,
}

impl SourceKind {
    const ALL: [SourceKind; 1] = [SourceKind::Npy];

    /// Returns its word before the colon.
    pub(crate) fn word(self) -> &'static str {
        match self {
            SourceKind::Npy => "npy",
        }
    }

    /// Returns the kind whose word and colon the text begins with, and the rest of the text.
    fn of(text: &str) -> Option<(SourceKind, &str)> {
        let (word, rest) = text.split_once(':')?;
        let kind = SourceKind::ALL.into_iter().find(|kind| kind.word() == word)?;
        Some((kind, rest))
    }

    /// Returns the words of all kinds for a message.
    pub(crate) fn words() -> String {
        SourceKind::ALL.map(|kind| format!("{}:", kind.word())).join(", ")
    }
}

/// A source that is not a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceUrl {
    /// Its kind.
    pub(crate) kind: SourceKind,
    /// The files, absolute.
    pub(crate) files: Vec<PathBuf>,
    /// The options after the question mark, in the order given.
    pub(crate) options: Vec<(String, String)>,
}

impl SourceUrl {
    /// Parses a source; `None` if it begins with no kind, so that it is the path of a folder.
    ///
    /// # Errors
    /// Returns an error for a source without files and for an option without a value.
    pub(crate) fn parse(source: &Path) -> Result<Option<SourceUrl>, Failure> {
        let Some((kind, rest)) = source.to_str().and_then(SourceKind::of) else { return Ok(None) };
        let word = kind.word();
        let (files, query) = rest.split_once('?').unwrap_or((rest, ""));
        let absolute = |file: &str| {
            std::path::absolute(file).map_err(|e| Failure::io(e, "find the file", file))
        };
        let files: Vec<PathBuf> =
            files.split(',').filter(|f| !f.is_empty()).map(absolute).collect::<Result<_, _>>()?;
        if files.is_empty() {
            return Err(Failure::usage(format!("{word}: names no file; give {word}:FILE")));
        }
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let Some((name, value)) = option.split_once('=') else {
                return Err(Failure::usage(format!(
                    "{}: '{option}' has no value; give {word}:FILE?name=value&name=value",
                    source.display()
                )));
            };
            options.push((name.into(), value.into()));
        }
        Ok(Some(SourceUrl { kind, files, options }))
    }

    /// Returns the value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Returns its text for the plan's options: kind, base names and options. Machines may keep the
    /// files in different folders.
    pub(crate) fn planned(&self) -> String {
        let name = |f: &PathBuf| f.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files: Vec<String> = self.files.iter().map(name).collect();
        let options: Vec<String> = self.options.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mark = if options.is_empty() { "" } else { "?" };
        format!("{}:{}{mark}{}", self.kind.word(), files.join(","), options.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_files_and_options() {
        let parsed = SourceUrl::parse(Path::new("npy:/d/x.npy,/d/y.npy?key=id&label=y")).unwrap();
        let url = parsed.unwrap();
        assert_eq!(url.files, [PathBuf::from("/d/x.npy"), PathBuf::from("/d/y.npy")]);
        assert_eq!((url.option("key"), url.option("image")), (Some("id"), None));
        assert_eq!(url.planned(), "npy:x.npy,y.npy?key=id&label=y");
    }

    #[test]
    fn a_path_is_no_source_and_a_source_needs_files_and_values() {
        assert_eq!(SourceUrl::parse(Path::new("photos/a:b")).unwrap(), None);
        assert_eq!(SourceUrl::parse(Path::new("/npy/x")).unwrap(), None);
        let refused = |text: &str| SourceUrl::parse(Path::new(text)).unwrap_err().text;
        assert!(refused("npy:").contains("npy:FILE"));
        assert!(refused("npy:x.npy?key").contains("'key' has no value"));
    }
}
