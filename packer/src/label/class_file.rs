//! Files of classes: names on lines, with or without numbers; JSON, YAML and CSV of other programs; another data set.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_sources::annotations::class_names;
use tarflume_table::TableOptions;
use tarflume_table::options::FileWords;

use super::class_json::of_json;
use super::class_lines::{of_lines, of_rows};
use super::class_list::{ClassOrder, ListedClass};

/// Separates a file from the order of its classes.
const ORDER: &str = "order=";
/// The options of a file. Those of a table are for `.csv` and `.tsv`, and the encoding for lists, too.
const NAMES: [&str; 4] = ["order", "sep", "quote", "encoding"];

/// The value of `--classes`: a file with options, or an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClassesOption {
    pub(crate) file: Option<PathBuf>,
    pub(crate) order: Option<ClassOrder>,
    /// How a table is read.
    pub(crate) table: TableOptions,
}

impl ClassesOption {
    /// Parses `FILE`, `FILE:order=sorted,quote=none` or `order=number`.
    ///
    /// # Errors
    /// Returns an error for another order, and for a wrong option of a table.
    pub(crate) fn parse(given: &Path) -> Result<ClassesOption, Failure> {
        let mut option = ClassesOption::default();
        let Some(text) = given.to_str() else {
            option.file = Some(given.into());
            return Ok(option);
        };
        if let Some(word) = text.strip_prefix(ORDER) {
            option.order = Some(order(word)?);
            return Ok(option);
        }
        let words = FileWords::of(text, &NAMES);
        option.file = Some(words.file.into());
        for word in words.each(&NAMES) {
            match word.split_once('=') {
                Some(("order", word)) => option.order = Some(order(word)?),
                Some((name, value)) => {
                    option.table.set(name, value).map_err(|why| refused(why.into(), given))?;
                }
                None => {}
            }
        }
        Ok(option)
    }

    /// Reads the file; `None` without one.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or states no classes, if a name or number is repeated, and if there
    /// is no name.
    pub(crate) fn table(&self) -> Result<Option<ClassTable>, Failure> {
        let Some(path) = &self.file else { return Ok(None) };
        let classes = listed(path, &self.table)?;
        super::class_list::table(classes, self.order).map(Some).map_err(|text| refused(text, path))
    }
}

/// Returns the order with this word.
fn order(word: &str) -> Result<ClassOrder, Failure> {
    match word {
        "listed" => Ok(ClassOrder::Listed),
        "sorted" => Ok(ClassOrder::Sorted),
        "number" => Ok(ClassOrder::Number),
        _ => Err(Failure::usage(
            message!("{classes}: give order=listed, order=sorted or order=number"; classes = Name::Classes.is(format!("{ORDER}{word}"))),
        )),
    }
}

fn refused(text: Message, path: &Path) -> Failure {
    Failure::usage(message!("{classes}: {text}"; text = text, classes = Name::Classes.is(path)))
        .with_file(path)
}

/// Returns the classes of a file as it lists them.
fn listed(path: &Path, table: &TableOptions) -> Result<Vec<ListedClass>, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let is_table = matches!(ending.as_deref(), Some("csv" | "tsv"));
    if !is_table && (table.separator.is_some() || table.quoting.is_some()) {
        let text =
            "sep= and quote= are options of .csv and .tsv, and this is a list; leave them out";
        return Err(refused(text.into(), path));
    }
    match ending.as_deref() {
        Some("yaml" | "yml") => {
            let names = class_names(path)?;
            Ok(names
                .into_iter()
                .zip(0..)
                .map(|(name, id)| ListedClass::new(name).numbered(id))
                .collect())
        }
        Some("csv" | "tsv") => of_rows(&rows(path, table)?).map_err(|text| refused(text, path)),
        _ => {
            let text = text(path, table)?;
            let found = of_json(&text).map(|found| found.map_or_else(|| of_lines(&text), Ok));
            found.and_then(|found| found).map_err(|text| refused(text, path))
        }
    }
}

/// Returns the text of a list.
fn text(path: &Path, table: &TableOptions) -> Result<String, Failure> {
    let bytes = files::read_whole(path, "read the classes")?;
    if let Some(encoding) = table.encoding {
        return encoding.text(&bytes).map_err(|why| refused(why.into(), path));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        let why =
            "it is not UTF-8; FILE:encoding=latin1 or another one reads it, or save it as UTF-8";
        refused(why.into(), path)
    })
}

/// Returns the fields of a table.
fn rows(path: &Path, table: &TableOptions) -> Result<Vec<Vec<String>>, Failure> {
    let mut options = table.clone();
    options.set("header", "none").expect("this is a word of the option");
    let mut reader = tarflume_table::open(path, &options)?;
    let columns = reader.columns().len();
    let mut row = tarflume_table::TableRow::default();
    let mut rows = Vec::new();
    while reader.next(&mut row)? {
        rows.push((0..columns).map(|column| super::class_lines::field(&row, column)).collect());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, order: Option<ClassOrder>) -> Result<ClassTable, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let option = ClassesOption { file: Some(path), order, ..ClassesOption::default() };
        option.table().map(|table| table.expect("there is a file"))
    }

    fn parse(text: &str) -> ClassesOption {
        ClassesOption::parse(Path::new(text)).unwrap()
    }

    #[test]
    fn a_file_may_have_an_order_behind_a_colon() {
        assert_eq!(parse("a:b.txt").file, Some("a:b.txt".into()));
        let both = ClassesOption {
            file: Some("a.txt".into()),
            order: Some(ClassOrder::Sorted),
            ..ClassesOption::default()
        };
        assert_eq!(parse("a.txt:order=sorted"), both);
        let number = Some(ClassOrder::Number);
        let alone = ClassesOption { order: number, ..ClassesOption::default() };
        assert_eq!(parse("order=number"), alone);
        let refused = ClassesOption::parse(Path::new("a.txt:order=up")).unwrap_err().text();
        assert!(refused.contains("give order=listed"), "{refused}");
    }

    #[test]
    fn tables_and_yaml_have_names_numbers_and_words() {
        let yaml = read("data.yaml", "train: x\nnames:\n  0: person\n  1: dog\n", None).unwrap();
        assert_eq!((yaml.names, yaml.ids), (vec!["person".into(), "dog".into()], vec![]));
        let csv = read("c.csv", "id,name\n1,\"a, b\"\n2,c\n", None).unwrap();
        assert_eq!((csv.names, csv.ids), (vec!["a, b".into(), "c".into()], vec![1, 2]));
        let words =
            read("c.csv", "LabelName,DisplayName\n/m/1,Tortoise\n/m/2,Bird\n", None).unwrap();
        assert_eq!(words.names, ["/m/1", "/m/2"]);
        assert_eq!(words.details[1]["text"], "Bird");
    }

    /// The names of the classes in a file of these bytes, with these options.
    fn names_of(
        folder: &tempfile::TempDir,
        name: &str,
        bytes: &[u8],
        words: &str,
    ) -> Result<Vec<String>, Failure> {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let option = parse(&format!("{}:{words}", path.display()));
        option.table().map(|table| table.expect("there is a file").names)
    }

    #[test]
    fn quotes_and_encodings_of_lists_are_options() {
        let folder = tempfile::tempdir().unwrap();
        let quoted = b"name\tid\n\"5\" pipe\t0\n\"x\t1\n";
        assert_eq!(
            names_of(&folder, "c.tsv", quoted, "quote=none").unwrap(),
            ["\"5\" pipe", "\"x"]
        );
        let refused = names_of(&folder, "c.tsv", quoted, "sep=tab").unwrap_err().text();
        assert!(refused.contains("quote=none"), "{refused}");
        assert_eq!(
            names_of(&folder, "c.txt", b"caf\xe9\nbar\n", "encoding=latin1").unwrap(),
            ["caf\u{e9}", "bar"]
        );
        assert!(
            names_of(&folder, "c.txt", b"caf\xe9\n", "order=listed")
                .unwrap_err()
                .text()
                .contains("encoding=latin1")
        );
        assert!(
            names_of(&folder, "c.txt", b"a\n", "quote=none")
                .unwrap_err()
                .text()
                .contains("are options of .csv")
        );
        assert!(ClassesOption::parse(Path::new("a.csv:quote=x")).is_err());
    }

    #[test]
    fn an_order_numbers_the_classes_anew() {
        let text = "n02\nn03\nn01\n";
        assert_eq!(read("w.txt", text, None).unwrap().names, ["n02", "n03", "n01"]);
        let sorted = read("w.txt", text, Some(ClassOrder::Sorted)).unwrap();
        assert_eq!(
            (sorted.names, sorted.ids),
            (vec!["n01".into(), "n02".into(), "n03".into()], vec![])
        );
        let listed = read("w.txt", "7 b\n3 a\n", Some(ClassOrder::Listed)).unwrap();
        assert_eq!((listed.names, listed.ids), (vec!["b".into(), "a".into()], vec![]));
        let number = read("w.txt", "10\n9\n", Some(ClassOrder::Number)).unwrap();
        assert_eq!((number.names, number.ids), (vec!["9".into(), "10".into()], vec![9, 10]));
        let refused = read("w.txt", "a\nb\n", Some(ClassOrder::Number)).unwrap_err().text();
        assert!(refused.contains("'a' is no whole number"), "{refused}");
    }
}
