//! `GroupRule`: which folders are samples, and how their files are called in them. Pure.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

/// How the parts of a folder are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartNames {
    /// By their numbers in natural order: `0.jpg`, `1.jpg`. Names of a folder differ by numbers only.
    Numbers,
    /// By their numbers, whatever their names are.
    AnyNumbers,
    /// By the names of the files: `b02.tif`.
    Files,
}

/// One folder is one sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRule {
    /// The folders of a path whose files are one sample, counted from the source; `None` for all.
    pub(super) depth: Option<usize>,
    pub(super) names: PartNames,
    /// The number of names of files that each folder has.
    pub(super) count: Option<usize>,
}

impl GroupRule {
    /// Parses `folder`, `folder=N`, `folder:names`, `folder:numbers`, each also with `,count=8`.
    ///
    /// # Errors
    /// Returns an error that shows the forms.
    pub fn parse(text: &str) -> Result<GroupRule, Failure> {
        let mut words = text.split(',').map(str::trim);
        let first = words.next().unwrap_or_default();
        let (folder, names) = first.split_once(':').unwrap_or((first, ""));
        let names = match names {
            "" if !first.contains(':') => PartNames::Numbers,
            "numbers" => PartNames::AnyNumbers,
            "names" => PartNames::Files,
            other => return Err(refused(text, format!("'{other}' is neither names nor numbers"))),
        };
        let depth = match folder.split_once('=') {
            None if folder == "folder" => None,
            Some(("folder", depth)) => match number(depth) {
                Some(depth) => Some(depth),
                None => return Err(refused(text, "folders are counted from 1: folder=1".into())),
            },
            _ => return Err(refused(text, format!("'{folder}' is not known"))),
        };
        let mut rule = GroupRule { depth, names, count: None };
        for word in words {
            match word.split_once('=').map(|(name, count)| (name, number(count))) {
                Some(("count", Some(count))) => rule.count = Some(count),
                _ => return Err(refused(text, format!("'{word}' is no count=8"))),
            }
        }
        Ok(rule)
    }

    /// Returns the length of the path of the folder that a file belongs to; `None` if it is in no such folder.
    pub(super) fn folder(&self, path: &[u8]) -> Option<usize> {
        let mut slashes = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
        match self.depth {
            None => slashes.next_back(),
            Some(depth) => slashes.nth(depth - 1),
        }
    }
}

impl std::fmt::Display for GroupRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("folder")?;
        if let Some(depth) = self.depth {
            write!(f, "={depth}")?;
        }
        f.write_str(match self.names {
            PartNames::Numbers => "",
            PartNames::AnyNumbers => ":numbers",
            PartNames::Files => ":names",
        })?;
        self.count.map_or(Ok(()), |count| write!(f, ",count={count}"))
    }
}

/// Parses a number from 1.
fn number(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number| *number > 0)
}

fn refused(text: &str, why: String) -> Failure {
    Failure::usage(message!(
        "{group}: {why}; give {folder}, folder=N, {names} or {numbers}, each also with ,count=8";
        group = Name::Group.is(text.to_string()),
        folder = Name::Group.is("folder"),
        names = Name::Group.is("folder:names"),
        numbers = Name::Group.is("folder:numbers")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_shown() {
        for text in ["folder", "folder=2", "folder:names", "folder=1:numbers,count=8"] {
            assert_eq!(GroupRule::parse(text).unwrap().to_string(), text);
        }
        for (text, why) in [
            ("folders", "not known"),
            ("folder=0", "from 1"),
            ("folder:", "neither names"),
            ("folder:keep", "neither names"),
            ("folder,count=0", "no count=8"),
            ("folder,8", "no count=8"),
            ("", "not known"),
        ] {
            assert!(GroupRule::parse(text).unwrap_err().text().contains(why), "{text}");
        }
    }

    #[test]
    fn a_folder_is_the_last_or_at_a_depth() {
        for (text, path, folder) in [
            ("folder", "a/b/c.jpg", Some("a/b")),
            ("folder", "c.jpg", None),
            ("folder=1", "a/b/c.jpg", Some("a")),
            ("folder=2", "a/b/c.jpg", Some("a/b")),
            ("folder=3", "a/b/c.jpg", None),
        ] {
            let length = GroupRule::parse(text).unwrap().folder(path.as_bytes());
            assert_eq!(length.map(|length| &path[..length]), folder, "{text} {path}");
        }
    }
}
