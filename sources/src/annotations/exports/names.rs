//! `ClassNames`: the classes that a file numbers, and the other names that annotations have for them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_table::{Cell, TableOptions, TableRow, bad_row};

use super::form::POINTER;

/// Limit on the classes.
const MAX_CLASSES: usize = 1 << 20;
/// The first field of a table of classes that has a row of names of columns.
const HEADER: &str = "LabelName";
/// The detail of a class that has the word of annotations.
const LABEL: &str = "label";

/// Classes with their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassNames {
    table: ClassTable,
    /// The position of a class by the word that annotations have for it.
    words: HashMap<String, usize>,
}

impl ClassNames {
    /// Returns the classes of a table, which annotations call by their names, or by the words that [`ClassNames::read`] found.
    pub fn of(mut table: ClassTable) -> ClassNames {
        table.pointer = POINTER.into();
        let mut words: HashMap<String, usize> =
            table.names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        let labels = table.details.iter().enumerate().filter_map(|(at, details)| {
            details.get(LABEL)?.as_str().map(|word| (word.to_string(), at))
        });
        words.extend(labels);
        ClassNames { table, words }
    }

    /// Reads a table of two columns, the word of annotations and the name: `/m/011k07,Tortoise`. Rows number the classes
    /// from 0.
    ///
    /// # Errors
    /// Returns an error for a row without a word or a name, for a repeated word, and if the operating system refuses.
    pub fn read(path: &Path, options: &TableOptions) -> Result<ClassNames, Failure> {
        let mut options = options.clone();
        options.set("header", "none").expect("this is a word of the option");
        let mut reader = tarflume_table::open(path, &options)?;
        let mut row = TableRow::default();
        let mut table = ClassTable { pointer: POINTER.into(), ..ClassTable::default() };
        let mut words = HashMap::new();
        let mut names = HashSet::new();
        while reader.next(&mut row)? {
            let [Some(word), Some(name)] = [text(&row, 0), text(&row, 1)] else {
                let why = "a row has no word or no name of a class";
                return Err(bad_row(path, row.number, row.byte, why));
            };
            if row.number == 1 && word == HEADER {
                continue;
            }
            if words.insert(word.to_string(), table.names.len()).is_some() {
                return Err(bad_row(path, row.number, row.byte, "it names a class again"));
            }
            if table.names.len() == MAX_CLASSES {
                return Err(bad_row(path, row.number, row.byte, "there are too many classes"));
            }
            if !names.insert(name.to_string()) {
                return Err(bad_row(path, row.number, row.byte, "two classes have this name"));
            }
            table.details.push([(LABEL.to_string(), word.into())].into());
            table.names.push(name.to_string());
        }
        if table.names.is_empty() {
            return Err(Failure::bad_data("it has no names of classes").in_file(path));
        }
        Ok(ClassNames { table, words })
    }

    /// Returns the classes.
    pub fn table(&self) -> &ClassTable {
        &self.table
    }

    /// Returns the name of the class that annotations call by this word.
    pub(super) fn name(&self, word: &str) -> Option<&str> {
        self.words.get(word).map(|&at| self.table.names[at].as_str())
    }
}

/// Returns the text of a cell; `None` if it is empty.
pub(super) fn text(row: &TableRow, column: usize) -> Option<&str> {
    match row.cell(column) {
        Cell::Word(span) | Cell::Text(span) | Cell::Digits(span) => Some(row.text(span)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClassNames, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("class-descriptions.csv");
        std::fs::write(&path, text).unwrap();
        ClassNames::read(&path, &TableOptions::default())
    }

    #[test]
    fn rows_number_the_classes_with_and_without_names_of_columns() {
        for text in [
            "/m/1,Tortoise\n/m/2,\"Bird, small\"\n",
            "LabelName,DisplayName\n/m/1,Tortoise\n/m/2,\"Bird, small\"\n",
        ] {
            let names = read(text).unwrap();
            assert_eq!(names.table().names, ["Tortoise", "Bird, small"]);
            assert_eq!(names.table().details[1][LABEL], "/m/2");
            assert_eq!((names.name("/m/2"), names.name("/m/3")), (Some("Bird, small"), None));
        }
    }

    #[test]
    fn malformed_rows_are_refused_with_their_place() {
        for (text, reason) in [
            ("/m/1,A\n/m/1,B\n", "row 2, byte 7: it names a class again"),
            ("/m/1,A\n/m/2,A\n", "row 2, byte 7: two classes have this name"),
            ("/m/1,A\n/m/2,\n", "row 2, byte 7: a row has no word or no name"),
        ] {
            let error = read(text).unwrap_err().text();
            assert!(error.contains(reason), "{error}");
        }
    }
}
