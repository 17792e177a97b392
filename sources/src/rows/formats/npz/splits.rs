//! Arrays of an npz that are named by splits: `train_images` and `val_images`, `x_train` and `x_test`. Pure.

use tarflume_base::split_names;

/// An array that is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// The number of its member.
    pub(super) member: usize,
    /// Its name, without that of a split.
    pub(super) name: String,
}

/// Arrays that are packed together, row by row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) split: Option<String>,
    pub(super) arrays: Vec<Taken>,
}

/// Returns the arrays as one set, or as one for each split if all names have a split's (`train_images`, `x_test`) and
/// each split has the same arrays.
pub(super) fn sets(taken: Vec<Taken>) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for array in &taken {
        let Some((split, name)) = of_split(&array.name) else {
            return vec![Set { split: None, arrays: taken }];
        };
        let array = Taken { name: name.into(), ..*array };
        match sets.iter_mut().find(|set| set.split.as_deref() == Some(split)) {
            Some(set) => set.arrays.push(array),
            None => sets.push(Set { split: Some(split.into()), arrays: vec![array] }),
        }
    }
    let first = sets.first().map(names_of);
    if sets.len() < 2 || sets.iter().any(|set| Some(names_of(set)) != first) {
        return vec![Set { split: None, arrays: taken }];
    }
    sets
}

/// Returns the names of the arrays of a set, sorted.
fn names_of(set: &Set) -> Vec<&str> {
    let mut names: Vec<&str> = set.arrays.iter().map(|array| array.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Returns the split that a name states at its begin or end, and the rest.
fn of_split(name: &str) -> Option<(&str, &str)> {
    let first = name.split_once('_');
    let last = name.rsplit_once('_').map(|(rest, split)| (split, rest));
    let found = [first, last].into_iter().flatten().find(|(split, _)| {
        split.bytes().all(|b| b.is_ascii_alphabetic()) && split_names::word(split).is_some()
    });
    found.filter(|(_, rest)| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Vec<(Option<String>, Vec<String>)> {
        let taken = names.iter().enumerate();
        let taken = taken.map(|(member, name)| Taken { member, name: (*name).into() }).collect();
        let sets = sets(taken).into_iter();
        sets.map(|set| (set.split, set.arrays.into_iter().map(|a| a.name).collect())).collect()
    }

    fn set(split: &str, arrays: &[&str]) -> (Option<String>, Vec<String>) {
        (Some(split.to_string()), arrays.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn arrays_of_splits_are_sets_of_equal_arrays() {
        let names = ["train_images", "val_images", "train_labels", "val_labels"];
        let wanted = [set("train", &["images", "labels"]), set("val", &["images", "labels"])];
        assert_eq!(found(&names), wanted);
        let names = ["x_train", "y_train", "x_test", "y_test"];
        assert_eq!(found(&names), [set("train", &["x", "y"]), set("test", &["x", "y"])]);
        for names in [
            &["train_images", "train_labels"][..],
            &["train_images", "val_labels"],
            &["train_images", "val_images", "names"],
            &["images", "labels"],
            &["train", "val"],
            &["val_1x"],
        ] {
            let wanted: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(found(names), [(None, wanted)], "{names:?}");
        }
    }
}
