//! `FolderRule`: the folders of a sample's path that are the name of its class or split. Pure.

use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// A component of the path under the source folder, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderRule {
    /// The folder that holds the files.
    Last,
    /// The folder at this place, counted from the source folder: 1, 2, ...
    Place(usize),
    /// All folders from this place on, with the slashes between them.
    From(usize),
}

impl FolderRule {
    /// Returns true if a text names folders: `folder`, `folder=N`, `path` or `path=N`.
    pub(super) fn is_meant(text: &str) -> bool {
        matches!(text.split_once('=').map_or(text, |(word, _)| word), "folder" | "path")
    }

    /// Parses `folder`, `folder=N`, `path` or `path=N`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub(crate) fn parse(text: &str) -> Result<FolderRule, String> {
        match text.split_once('=') {
            None if text == "folder" => Ok(FolderRule::Last),
            None if text == "path" => Ok(FolderRule::From(1)),
            Some((word @ ("folder" | "path"), place)) => match (word, place.parse::<usize>()) {
                ("folder", Ok(place @ 1..)) => Ok(FolderRule::Place(place)),
                (_, Ok(place @ 1..)) => Ok(FolderRule::From(place)),
                _ => Err(format!("'{text}': folders are counted from 1: {word}=1")),
            },
            _ => Err(format!("'{text}' is not known; give folder, folder=N, path or path=N")),
        }
    }

    /// Returns the folder's name in a path under the source folder, or the path of the folders; `None` if the
    /// path has no such folder.
    pub(crate) fn of(self, path: &[u8]) -> Option<&[u8]> {
        let last = path.iter().rposition(|&b| b == b'/')?;
        let path = &path[..last];
        let mut folders = path.split(|&b| b == b'/');
        match self {
            FolderRule::Last => folders.next_back(),
            FolderRule::Place(place) => folders.nth(place - 1),
            FolderRule::From(1) => Some(path),
            FolderRule::From(place) => {
                let slash = path.iter().enumerate().filter(|(_, b)| **b == b'/').nth(place - 2);
                slash.map(|(at, _)| &path[at + 1..])
            }
        }
    }

    /// Returns why the path has no such folder, and what to do.
    pub(crate) fn missing(self, path: &[u8]) -> Message {
        let folders = path.iter().filter(|&&b| b == b'/').count();
        match (self, folders) {
            (_, 0) => {
                message!("it is directly in the source folder, so no folder names its class; move it to a folder with the \
                     name of its class, or {exclude} it"; exclude = Name::Exclude)
            }
            (FolderRule::Place(place) | FolderRule::From(place), n) => {
                message!("it is in {n} of the {place} folders that {label} needs; move it to the folder of its class, or \
                     {exclude} it"; label = Name::Label.is(self.to_string()), exclude = Name::Exclude)
            }
            (FolderRule::Last, _) => "no folder names its class".into(), // there is one
        }
    }
}

impl std::fmt::Display for FolderRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FolderRule::Last => f.write_str("folder"),
            FolderRule::Place(place) => write!(f, "folder={place}"),
            FolderRule::From(1) => f.write_str("path"),
            FolderRule::From(place) => write!(f, "path={place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(rule: &str, path: &str) -> Option<String> {
        let found = FolderRule::parse(rule).unwrap().of(path.as_bytes()).map(<[u8]>::to_vec);
        found.map(|name| String::from_utf8(name).unwrap())
    }

    #[test]
    fn a_folder_is_the_last_or_at_a_place_from_the_root() {
        assert_eq!(name("folder", "cat/001").as_deref(), Some("cat"));
        assert_eq!(name("folder", "train/cat/001").as_deref(), Some("cat"));
        assert_eq!(name("folder=1", "train/cat/001").as_deref(), Some("train"));
        assert_eq!(name("folder=2", "train/cat/001").as_deref(), Some("cat"));
        assert_eq!(name("folder=3", "train/cat/001"), None);
        assert_eq!(name("folder", "001"), None);
        assert_eq!(name("path", "b/bank/indoor/1").as_deref(), Some("b/bank/indoor"));
        assert_eq!(name("path=2", "train/b/bank/1").as_deref(), Some("b/bank"));
        assert_eq!(name("path=3", "train/cat/1"), None);
        assert_eq!(name("path", "1"), None);
        for word in ["folder", "folder=2", "path", "path=3"] {
            assert_eq!(FolderRule::parse(word).unwrap().to_string(), word);
        }
    }

    #[test]
    fn other_words_are_refused_with_the_form() {
        for bad in ["folders", "folder=0", "folder=x", "folder=", "path=0", "paths", "", "class"] {
            assert!(FolderRule::parse(bad).unwrap_err().contains("folder"), "{bad}");
        }
    }
}
