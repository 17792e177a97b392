//! The words by which files and folders name splits: `train-00000.parquet`, `val/`. Pure.

use std::path::Path;

/// The words that Hugging Face datasets knows.
const WORDS: [&str; 11] = [
    "train",
    "training",
    "validation",
    "valid",
    "val",
    "dev",
    "test",
    "testing",
    "eval",
    "evaluation",
    "trainval",
];

/// How MNIST and its relatives begin the names of the files of their test set.
const TEST_OF_MNIST: &str = "t10k-";

/// Returns the word of a split in a name, between other characters than letters; `None` if there is none, or
/// another one.
pub fn word(name: &str) -> Option<&'static str> {
    let mut found = None;
    for piece in name.split(|c: char| !c.is_ascii_alphabetic()) {
        let known = WORDS.into_iter().find(|word| piece.eq_ignore_ascii_case(word));
        match (found, known) {
            (_, None) => {}
            (Some(other), Some(word)) if other != word => return None,
            (_, word) => found = word,
        }
    }
    found
}

/// Returns the split that the name of a file, or else that of its folder, states.
pub fn of_file(path: &Path) -> Option<&'static str> {
    word_of_name(path).or_else(|| word_of_name(path.parent()?))
}

fn word_of_name(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with(TEST_OF_MNIST) { Some("test") } else { word(name) }
}

/// Returns the splits of files, if the names of some state a split that the names of others do not; `None` for a file
/// whose name states none.
pub fn of_files<'p>(files: impl Iterator<Item = &'p Path>) -> Option<Vec<Option<&'static str>>> {
    let found: Vec<Option<&'static str>> = files.map(of_file).collect();
    let first = found.first()?;
    found.iter().any(|split| split != first).then_some(found)
}

/// Returns the splits with the number of their files, for a message: `test 1, train 2`.
pub fn counted(splits: &[Option<&'static str>]) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for split in splits.iter().flatten() {
        *counts.entry(*split).or_insert(0u64) += 1;
    }
    let text: Vec<String> =
        counts.iter().map(|(split, files)| format!("{split} {files}")).collect();
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_mnist_are_named_t10k() {
        assert_eq!(of_file(Path::new("train/t10k-images-idx3-ubyte.gz")), Some("test"));
        assert_eq!(of_file(Path::new("train/at10k.gz")), Some("train"));
    }

    #[test]
    fn a_word_between_other_characters_than_letters_is_a_split() {
        for (name, wanted) in [
            ("train-00000-of-00003.parquet", Some("train")),
            ("cc3m_VAL_07.tar", Some("val")),
            ("train2017", Some("train")),
            ("training.csv", Some("training")),
            ("trains.csv", None),
            ("contest.csv", None),
            ("train-test.csv", None),
            ("train-train.csv", Some("train")),
            ("", None),
        ] {
            assert_eq!(word(name), wanted, "{name}");
        }
    }

    #[test]
    fn files_of_two_splits_have_splits() {
        fn of(names: &[&str]) -> Option<Vec<Option<&'static str>>> {
            of_files(names.iter().map(Path::new))
        }
        assert_eq!(of(&["d/train-0.tar", "d/train-1.tar"]), None);
        assert_eq!(of(&["d/x-0.tar", "d/y-1.tar"]), None);
        let test = of(&["d/data_batch_1.bin", "d/test_batch.bin"]).unwrap();
        assert_eq!(test, [None, Some("test")]);
        let found = of(&["d/train-0.tar", "d/val-0.tar", "d/x.tar"]).unwrap();
        assert_eq!(found, [Some("train"), Some("val"), None]);
        assert_eq!(counted(&found), "train 1, val 1");
        assert_eq!(
            of(&["d/train/0.parquet", "d/test/0.parquet"]).unwrap(),
            [Some("train"), Some("test")]
        );
    }
}
