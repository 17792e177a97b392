//! The options of a join as text: `FILE:key=COLUMN,on=stem,as=json`.
//!
//! Pure, except that paths are made absolute.

use std::path::{Path, PathBuf};
use tarflume_formats::message;
use tarflume_formats::message::Name;

use tarflume_base::{Choice, Failure};
use tarflume_table::TableOptions;
use tarflume_table::options::FileWords;

use super::rules::{self, RowRules};
use crate::rows::columns::part_names::is_of_extension;
use crate::rows::files_named;

/// The name of a sample that a row is matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum On {
    /// The sample's key: `cat/001`.
    Key,
    /// The last component of the path without extension: `001`.
    Stem,
    /// The last component of the path of one of its files: `001.jpg`.
    Basename,
    /// The path of one of its files under the source folder: `cat/001.jpg`.
    Path,
}

impl Choice for On {
    const ALL: &'static [On] = &[On::Key, On::Stem, On::Basename, On::Path];

    fn word(self) -> &'static str {
        match self {
            On::Key => "key",
            On::Stem => "stem",
            On::Basename => "basename",
            On::Path => "path",
        }
    }
}

/// A file and how its rows are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinOptions {
    /// The file or folder, absolute; of a table, a pattern of files, too.
    pub file: PathBuf,
    /// The tables that it stands for.
    pub tables: Vec<PathBuf>,
    /// The column with the name of the sample; found by its name if absent.
    pub key: Option<String>,
    /// The matched name; found from the rows if absent.
    pub on: Option<On>,
    /// The extension of the new part; `json` if absent.
    ext: Option<String>,
    /// How the table is read.
    pub table: TableOptions,
    /// How its rows are matched.
    pub rules: RowRules,
}

const FORM: &str = "give FILE:key=COLUMN|@file,on=key|stem|basename|path|/FIELD,as=json,rows=order,many=list,fields=NAME|NAME,\
    missing-row=keep|skip,orphan-row=ignore,remove=PREFIX,add=PREFIX,sep=tab|space|line,quote=none|backslash,header=first|none|NAME+NAME,skip=N,\
    encoding=latin1,missing=NaN|NA,blanks=trim,texts=NAME|NAME,at=/LIST";

impl JoinOptions {
    /// Parses `FILE` or `FILE:name=value,..`; `flag` is named in messages.
    ///
    /// # Errors
    /// Returns an error for an unknown option or value.
    pub fn parse(text: &str, flag: Name) -> Result<JoinOptions, Failure> {
        let names =
            [&["key", "on", "as"][..], &tarflume_table::options::NAMES, &rules::NAMES].concat();
        let words = FileWords::of(text, &names);
        if words.file.is_empty() {
            return refused("it names no file".into(), text, flag);
        }
        let file = std::path::absolute(words.file);
        let file = file.map_err(|e| Failure::io(e, "find", words.file))?;
        let mut key = None;
        let mut on = None;
        let mut ext = None;
        let mut table = TableOptions::default();
        let mut rules = RowRules::default();
        for option in words.each(&names) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match (name, value) {
                (_, "") => return refused(format!("'{option}' has no value"), text, flag),
                ("key", column) => key = Some(column.to_string()),
                ("on", pointer) if pointer.len() > 1 && pointer.starts_with('/') => {
                    rules.field = Some(pointer.into());
                }
                ("on", word) => match On::from_word(word) {
                    Some(name) => on = Some(name),
                    None => return refused(format!("'{word}' is no name of a sample"), text, flag),
                },
                ("as", new) => {
                    if !is_extension(new) {
                        return refused(format!("'{new}' is no extension"), text, flag);
                    }
                    ext = Some(new.trim_start_matches('.').to_string());
                }
                _ => {
                    match table.set(name, value).and_then(|set| Ok(set || rules.set(name, value)?))
                    {
                        Ok(true) => {}
                        Ok(false) => {
                            return refused(format!("there is no option '{name}'"), text, flag);
                        }
                        Err(why) => return refused(why, text, flag),
                    }
                }
            }
        }
        if rules.ordered && (key.is_some() || on.is_some() || rules.field.is_some()) {
            let why =
                "rows=order takes rows in the order of the samples, which needs no key= and no on=";
            return refused(why.into(), text, flag);
        }
        Ok(JoinOptions { tables: vec![file.clone()], file, key, on, ext, table, rules })
    }

    /// Returns true if the tables are those of a pattern.
    pub fn is_pattern(&self) -> bool {
        self.tables != [self.file.as_path()]
    }

    /// Finds the tables of a pattern: `set/**/*.trans.txt`, sorted by bytes.
    ///
    /// # Errors
    /// Returns an error for a pattern that no file matches, and if the operating system refuses.
    pub fn find_tables(&mut self) -> Result<(), Failure> {
        if self.file.to_str().is_some_and(|name| name.contains(['*', '[', '{'])) {
            self.tables = files_named(&self.file.to_string_lossy(), &[])?;
        }
        Ok(())
    }

    fn on_word(&self) -> Option<String> {
        self.rules.field.clone().or_else(|| self.on.map(|on| on.word().to_string()))
    }

    /// Returns the extension of the new part.
    pub fn ext(&self) -> &str {
        self.ext.as_deref().unwrap_or("json")
    }

    /// Adds the options of a data set's first build that are not given. The character between fields
    /// may differ: it describes the file, not the samples.
    ///
    /// # Errors
    /// Returns an error for another column, name or extension than those of the first build.
    pub fn follow(&mut self, first: &JoinOptions, flag: Name) -> Result<(), Failure> {
        let words = [
            ("key", self.key.clone(), first.key.clone()),
            ("on", self.on_word(), first.on_word()),
            ("as", self.ext.clone(), Some(first.ext().to_string())),
        ];
        for (name, given, first) in words {
            if let (Some(given), Some(first)) = (given, first)
                && given != first
            {
                return Err(Failure::usage(message!(
                    "{name}={given} in {flag}: the first build of the data set had {name}={first}; leave \
                     {name}= out"; flag = flag)));
            }
        }
        self.key = self.key.take().or_else(|| first.key.clone());
        self.on = self.on.or(first.on);
        self.ext.clone_from(&first.ext);
        self.table.follow(&first.table);
        self.rules.follow(&first.rules);
        Ok(())
    }

    /// Returns the text for the plan's options: base name and options. Machines may keep the file in
    /// different folders.
    pub fn planned(&self) -> String {
        let name = Path::file_name(&self.file).unwrap_or_default().to_string_lossy();
        let mut text = format!("{name}:as={}", self.ext());
        if let Some(key) = &self.key {
            text += &format!(",key={key}");
        }
        if let Some(on) = self.on_word() {
            text += &format!(",on={on}");
        }
        text + &self.rules.planned() + &self.table.planned()
    }
}

fn refused(why: String, text: &str, flag: Name) -> Result<JoinOptions, Failure> {
    Err(Failure::usage(message!("{given}: {why}; {FORM}"; given = flag.is(text), why = why)))
}

fn is_extension(text: &str) -> bool {
    let text = text.trim_start_matches('.');
    !text.is_empty() && text.len() <= 32 && text.bytes().all(is_of_extension)
}

#[cfg(test)]
mod tests {
    use tarflume_table::Separator;

    use super::*;

    fn parsed(text: &str) -> JoinOptions {
        JoinOptions::parse(text, Name::Join).unwrap()
    }

    #[test]
    fn a_file_has_options_after_a_colon() {
        let options = parsed("/d/a:b.csv:key=file, name,on=stem,as=meta.json");
        assert_eq!(options.file, Path::new("/d/a:b.csv"));
        assert_eq!(options.key.as_deref(), Some("file, name"));
        assert_eq!((options.on, options.ext()), (Some(On::Stem), "meta.json"));
        assert_eq!(options.planned(), "a:b.csv:as=meta.json,key=file, name,on=stem");
        let plain = parsed("/d/labels.csv");
        assert_eq!((plain.key.as_deref(), plain.on, plain.ext()), (None, None, "json"));
        assert_eq!(parsed("/d/x.txt:sep=tab").table.separator, Some(Separator::Byte(b'\t')));
    }

    #[test]
    fn an_append_has_the_options_of_the_first_build() {
        let first = parsed("/d/first.csv:key=a,b,on=stem,as=meta.json,sep=;");
        let first = parsed(&first.planned());
        let mut later = parsed("/e/later.csv");
        later.follow(&first, Name::Join).unwrap();
        assert_eq!(later.planned(), "later.csv:as=meta.json,key=a,b,on=stem,sep=;");
        for (text, reason) in [
            ("l.csv:on=key", "on=key in --join: the first build of the data set had on=stem"),
            ("l.csv:key=a", "key=a in --join: the first build of the data set had key=a,b"),
            ("l.csv:as=json", "as=json"),
        ] {
            let error = parsed(text).follow(&first, Name::Join).unwrap_err().text();
            assert!(error.contains(reason), "{error}");
        }
        let mut later = parsed("l.tsv:sep=tab,key=name");
        later.follow(&parsed("first.csv"), Name::Join).unwrap();
        assert_eq!((later.key.as_deref(), later.ext()), (Some("name"), "json"));
        assert_eq!(later.table.separator, Some(Separator::Byte(b'\t')));
    }

    fn refused(text: &str) -> String {
        JoinOptions::parse(text, Name::Join).unwrap_err().text()
    }

    #[test]
    fn a_field_of_earlier_tables_names_the_samples() {
        let options = parsed("/d/labels.txt:on=/image/id");
        assert_eq!((options.on, options.rules.key().as_deref()), (None, Some("id")));
        assert_eq!(options.planned(), "labels.txt:as=json,on=/image/id");
        assert_eq!(parsed(&options.planned()).rules.field.as_deref(), Some("/image/id"));
        assert!(refused("a.txt:on=/id,rows=order").contains("needs no key= and no on="));
    }

    #[test]
    fn unknown_options_are_refused_with_the_form() {
        assert!(refused("a.csv:on=name").contains("'name' is no name of a sample; give FILE:key="));
        assert!(refused("a.csv:as=a/b").contains("'a/b' is no extension"));
        assert!(refused("a.csv:key=").contains("'key=' has no value"));
        assert!(refused(":key=a").contains("it names no file"));
    }
}
