//! The classes and splits that folders name. Pure.

use std::collections::BTreeSet;

use tarflume_base::split_names;

/// What the names of the folders of samples state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderLabels {
    /// The value of `--label`, if folders name classes: `folder`, `folder=2`.
    pub label: Option<String>,
    /// The value of `--split-by`, if folders name splits: `folder=1`.
    pub split_by: Option<String>,
}

/// The places of files: the names of the folders that lead to each, from the source folder on.
pub(super) type Places = BTreeSet<Vec<String>>;

impl FolderLabels {
    /// Returns what these places of images state. A class needs another class beside it, and a split another split.
    pub(super) fn of(places: &Places) -> FolderLabels {
        let Some(depth) = places.first().map(Vec::len) else { return FolderLabels::default() };
        if places.iter().any(Vec::is_empty) {
            return FolderLabels::default();
        }
        if places.iter().any(|place| place.len() != depth) {
            return FolderLabels { label: Some("folder".into()), split_by: None };
        }
        let names = |level: usize| -> BTreeSet<&String> {
            places.iter().filter_map(|place| place.get(level)).collect()
        };
        let names_splits = |level: &usize| {
            let names = names(*level);
            names.len() > 1 && names.iter().all(|name| split_names::word(name).is_some())
        };
        let split = (0..depth).find(names_splits);
        let last = depth - 1;
        let has_classes = split != Some(last) && names(last).len() > 1;
        let label = match split {
            Some(_) => format!("folder={depth}"),
            None => "folder".into(),
        };
        FolderLabels {
            label: has_classes.then_some(label),
            split_by: split.map(|level| format!("folder={}", level + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[&str]) -> (Option<String>, Option<String>) {
        let found = FolderLabels::of(&places.iter().map(|text| place(text)).collect());
        (found.label, found.split_by)
    }

    fn place(text: &str) -> Vec<String> {
        text.split('/').filter(|name| !name.is_empty()).map(String::from).collect()
    }

    #[test]
    fn folders_name_classes_only_beside_other_classes() {
        let label = (Some("folder".to_string()), None);
        assert_eq!(of(&["cat", "dog"]), label);
        assert_eq!(of(&["a/cat", "a/dog"]), label);
        assert_eq!(of(&["a/cat", "dog"]), label);
        for flat in [&[""][..], &["images"], &["", "cat", "dog"], &[]] {
            assert_eq!(of(flat), (None, None), "{flat:?}");
        }
    }

    #[test]
    fn folders_with_the_words_of_splits_are_splits() {
        fn split(text: &str) -> Option<String> {
            Some(text.to_string())
        }
        assert_eq!(of(&["train", "val"]), (None, split("folder=1")));
        assert_eq!(
            of(&["train/cat", "val/cat", "val/dog"]),
            (split("folder=2"), split("folder=1"))
        );
        assert_eq!(of(&["d/train/cat", "d/test/dog"]), (split("folder=3"), split("folder=2")));
        assert_eq!(of(&["train/cat", "train/dog"]), (split("folder"), None));
    }
}
