//! `Form`: what of the names of lists and samples is compared. Pure.

use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// Folders that are left out at the begin of names, at most.
const FOLDERS: usize = 4;

/// What of names is compared: the folders that are left out at their begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// This many of the lists' names.
    OfLists(usize),
    /// This many of the samples' names.
    OfSamples(usize),
    /// All of both.
    Files,
}

impl Form {
    pub(super) const WHOLE: Form = Form::OfLists(0);

    /// Returns all forms, the strictest first.
    pub(super) fn all() -> impl Iterator<Item = Form> {
        let lists = (0..=FOLDERS).map(Form::OfLists);
        let samples = (1..=FOLDERS).map(Form::OfSamples);
        lists.chain(samples).chain([Form::Files])
    }

    /// Returns what is compared of a list's name; `None` if nothing is left.
    pub(super) fn of_list(self, name: &[u8]) -> Option<&[u8]> {
        match self {
            Form::OfLists(folders) => without(name, folders),
            Form::OfSamples(_) => Some(name),
            Form::Files => Some(file_of(name)),
        }
    }

    /// Returns what is compared of a sample's name; `None` if nothing is left.
    pub(super) fn of_sample(self, name: &[u8]) -> Option<&[u8]> {
        match self {
            Form::OfLists(_) => Some(name),
            Form::OfSamples(folders) => without(name, folders),
            Form::Files => Some(file_of(name)),
        }
    }

    pub(super) fn note(self) -> Option<Message> {
        let how = match self {
            Form::WHOLE => return None,
            Form::OfLists(1) => "without the first folder of the lists' names".to_string(),
            Form::OfLists(folders) => {
                format!("without the first {folders} folders of the lists' names")
            }
            Form::OfSamples(1) => "without the first folder of the samples".to_string(),
            Form::OfSamples(folders) => {
                format!("without the first {folders} folders of the samples")
            }
            Form::Files => "without folders".to_string(),
        };
        Some(message!("{split_list}: names are compared {how}"; split_list = Name::SplitList))
    }
}

/// Returns a path without its first folders; `None` if it has fewer.
fn without(path: &[u8], folders: usize) -> Option<&[u8]> {
    let mut rest = path;
    for _ in 0..folders {
        let slash = rest.iter().position(|&b| b == b'/')?;
        rest = &rest[slash + 1..];
    }
    Some(rest)
}

fn file_of(path: &[u8]) -> &[u8] {
    &path[path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_at_the_begin_of_one_side() {
        let name = b"a/b/c";
        for (form, of_list, of_sample) in [
            (Form::WHOLE, Some("a/b/c"), Some("a/b/c")),
            (Form::OfLists(1), Some("b/c"), Some("a/b/c")),
            (Form::OfLists(3), None, Some("a/b/c")),
            (Form::OfSamples(2), Some("a/b/c"), Some("c")),
            (Form::Files, Some("c"), Some("c")),
        ] {
            assert_eq!(form.of_list(name), of_list.map(str::as_bytes), "{form:?}");
            assert_eq!(form.of_sample(name), of_sample.map(str::as_bytes), "{form:?}");
        }
        assert_eq!(Form::all().next(), Some(Form::WHOLE));
        assert_eq!(Form::WHOLE.note(), None);
        assert!(Form::Files.note().unwrap().text().contains("without folders"));
    }
}
