//! `Partitions`: columns that the names of folders state, as Hive, Spark and pyarrow write them: `label=0/a.parquet`.
//!
//! The folders directly above a file whose names are `NAME=VALUE` are its partition. Reads names alone.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use tarflume_base::Failure;
use tarflume_formats::Column;
use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_table::parquet::ParquetFile;

use crate::rows::columns::assign::pointer;
use crate::rows::url::SourceUrl;

/// The value that stands for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The partitions of the files of a source.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    names: Vec<String>,
    /// The values of each file, in the order of the names; `None` for null.
    values: Vec<Vec<Option<String>>>,
    /// Whether all values of a name are whole numbers.
    whole: Vec<bool>,
}

impl Partitions {
    /// Finds the partitions of files.
    ///
    /// # Errors
    /// Returns an error for files in folders of different names.
    pub(super) fn of(files: &[PathBuf]) -> Result<Partitions, Failure> {
        let mut found = Partitions::default();
        for (n, path) in files.iter().enumerate() {
            let pairs = pairs(path);
            let names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
            if n == 0 {
                found.names = names;
            } else if found.names != names {
                return Err(Failure::usage(message!(
                    "{path} and {} are in folders of different partitions, '{}' and '{}'; pack \
                     them as different data sets",
                    path.shown(),
                    found.names.join(", "),
                    names.join(", ");
                    path = &files[0]
                ))
                .with_file(&files[0]));
            }
            found.values.push(pairs.into_iter().map(|(_, value)| value).collect());
        }
        found.whole = (0..found.names.len())
            .map(|n| found.values.iter().all(|row| row[n].as_deref().is_none_or(is_whole)))
            .collect();
        Ok(found)
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names and values of a file.
    pub(super) fn values(&self, file: usize) -> Vec<(String, Value)> {
        let values = self.values[file].iter().zip(&self.whole).map(|(text, whole)| match text {
            None => Value::Null,
            Some(text) if *whole => text.parse::<i64>().map_or(Value::Null, Value::from),
            Some(text) => Value::from(text.as_str()),
        });
        self.names.iter().cloned().zip(values).collect()
    }
}

/// Returns true if a partition is a field of the JSON: the options take it, and the file has no such column.
pub(super) fn is_packed(source: &SourceUrl, file: &ParquetFile, name: &str) -> bool {
    let json = source.option("json").unwrap_or("*");
    let is_wanted = json.split(',').any(|word| word == "*") || lists("json", source, name);
    let fields = file.schema().root_schema().get_fields();
    is_wanted && !lists("drop", source, name) && !fields.iter().any(|field| field.name() == name)
}

fn lists(option: &str, source: &SourceUrl, name: &str) -> bool {
    source.option(option).is_some_and(|words| words.split(',').any(|word| word == name))
}

/// Describes the partitions of all files, of which `first` are those of the first one.
pub(super) fn described<'t>(
    first: &[(String, Value)],
    all: impl Iterator<Item = &'t [(String, Value)]> + Clone,
) -> Vec<Column> {
    let columns = first.iter().enumerate().map(|(n, (name, _))| {
        let mut values = all.clone().map(|values| &values[n].1);
        let is_text = values.clone().any(|value| value.as_str().is_some());
        Column {
            name: pointer(name),
            kind: if is_text { "string" } else { "int64" }.into(),
            shape: None,
            nullable: values.any(Value::is_null),
            items: None,
        }
    });
    columns.collect()
}

/// Returns the names and values in the folders directly above a file.
fn pairs(path: &Path) -> Vec<(String, Option<String>)> {
    let folders = path.ancestors().skip(1).filter_map(Path::file_name);
    let mut pairs: Vec<(String, Option<String>)> = folders.map_while(pair).collect();
    pairs.reverse();
    pairs
}

/// Returns name and value in the name of a folder; `None` if it states none.
fn pair(folder: &std::ffi::OsStr) -> Option<(String, Option<String>)> {
    let text = std::str::from_utf8(folder.as_bytes()).ok()?;
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
    Some((unescaped(name), (value != NULL).then(|| unescaped(value))))
}

/// Returns true for a whole number as it is written; `007` is text.
fn is_whole(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

/// Decodes `%3A` and the like; a text that is not UTF-8 then stays as it is.
fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.into(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str]) -> Result<Partitions, Failure> {
        Partitions::of(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn folders_above_a_file_are_columns_of_numbers_or_text() {
        let found =
            of(&["/d/label=0/site=a%3Ab/x.parquet", "/d/label=12/site=c/y.parquet"]).unwrap();
        assert_eq!(found.names(), ["label", "site"]);
        for (file, number, text) in [(0, 0i64, "a:b"), (1, 12, "c")] {
            let values = found.values(file).into_iter().map(|(_, value)| value);
            let expected = [Value::from(number), Value::from(text)];
            assert_eq!(values.collect::<Vec<_>>(), expected);
        }
        let zeros = of(&["/d/id=007/x.parquet", "/d/id=8/y.parquet"]).unwrap();
        assert_eq!(zeros.values(1)[0].1, Value::from("8"), "one word of a column is text");
        let signs = of(&["/d/a=50%25/b=+%+1%zz/c=%ff/x.parquet"]).unwrap();
        let texts: Vec<Value> = signs.values(0).into_iter().map(|(_, value)| value).collect();
        assert_eq!(texts, ["50%", "+%+1%zz", "%ff"].map(Value::from));
        let null = of(&["/d/id=__HIVE_DEFAULT_PARTITION__/x.parquet"]).unwrap();
        assert_eq!(null.values(0)[0].1, Value::Null);
    }

    #[test]
    fn only_folders_directly_above_count_and_all_files_have_the_same_names() {
        assert!(of(&["/a=1/data/x.parquet"]).unwrap().names().is_empty());
        let refused = of(&["/d/a=1/x.parquet", "/d/b=1/y.parquet"]).unwrap_err().text();
        assert!(refused.contains("different partitions, 'a' and 'b'"), "{refused}");
    }
}
