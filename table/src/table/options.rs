//! `TableOptions`: how a table is read, from the words of an option.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;

use crate::table::encoding::TextEncoding;
use crate::table::header::Header;
use crate::table::quoting::Quoting;
use crate::table::separator::Separator;

/// The names of the options.
pub const NAMES: [&str; 9] =
    ["sep", "quote", "missing", "blanks", "header", "skip", "encoding", "at", "texts"];

/// How a table is read. Words are of tables without types: CSV and TSV.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// What is between fields; by the extension or the first lines if absent.
    pub separator: Option<Separator>,
    /// What quotes mean; by RFC 4180 if absent.
    pub quoting: Option<Quoting>,
    /// Words that are read as missing values.
    pub missing: Vec<String>,
    /// Whether white space around words, and before a quote that begins a field, is left out.
    pub trims: bool,
    /// What the first row is.
    pub header: Header,
    /// Lines before the first row that are no rows.
    pub skip: u64,
    /// The encoding of the text; UTF-8 if absent.
    pub encoding: Option<TextEncoding>,
    /// The place of the rows in a JSON document, as a JSON pointer; `/` is the document itself.
    pub at: Option<String>,
    /// Columns whose values are texts, whatever they look like.
    pub texts: Vec<String>,
    /// Whether the file is a JSON document, whatever its extension is.
    pub is_document: bool,
    /// Which texts are JSON, and so whether `NaN` is a number. Of the build, not of the table.
    pub rules: JsonRules,
}

impl TableOptions {
    /// Sets the option `name`; returns false if there is none.
    ///
    /// # Errors
    /// Returns the reason if the value is none of this option.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match (name, value) {
            ("sep", text) => match Separator::parse(text) {
                Some(separator) => self.separator = Some(separator),
                None => {
                    return Err(format!("sep={text}: give tab, space, line or one character"));
                }
            },
            ("quote", text) => match Quoting::parse(text) {
                Some(quoting) => self.quoting = Some(quoting),
                None => return Err(format!("quote={text}: give none, double or backslash")),
            },
            ("skip", text) => match text.parse() {
                Ok(lines) => self.skip = lines,
                Err(_) => return Err(format!("skip={text}: give a number of lines")),
            },
            ("encoding", name) => match TextEncoding::parse(name) {
                Some(encoding) => self.encoding = Some(encoding),
                None => {
                    return Err(format!(
                        "encoding={name}: give a name as latin1, utf-16, shift_jis or gbk"
                    ));
                }
            },
            ("at", pointer) => match pointer.strip_prefix('/') {
                Some(_) => self.at = Some(pointer.into()),
                None => return Err(format!("at={pointer}: give a pointer as /images")),
            },
            ("texts", names) => self.texts = names.split('|').map(String::from).collect(),
            ("missing", words) => self.missing = words.split('|').map(String::from).collect(),
            ("header", text) => self.header = Header::parse(text),
            ("blanks", "trim") => self.trims = true,
            ("blanks", "keep") => self.trims = false,
            ("blanks", other) => return Err(format!("blanks={other}: give trim or keep")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes what is not given from another table.
    pub fn follow(&mut self, first: &TableOptions) {
        self.separator = self.separator.or(first.separator);
        self.quoting = self.quoting.or(first.quoting);
        if self.missing.is_empty() {
            self.missing.clone_from(&first.missing);
        }
        self.trims |= first.trims;
        if self.header == Header::Usual {
            self.header.clone_from(&first.header);
        }
        if self.skip == 0 {
            self.skip = first.skip;
        }
        self.encoding = self.encoding.or(first.encoding);
        if self.at.is_none() {
            self.at.clone_from(&first.at);
        }
        if self.texts.is_empty() {
            self.texts.clone_from(&first.texts);
        }
    }

    /// Returns the options as text, each after a comma.
    pub fn planned(&self) -> String {
        let mut text = String::new();
        if let Some(separator) = self.separator {
            text += &format!(",sep={}", separator.word());
        }
        if let Some(quoting) = self.quoting {
            text += &format!(",quote={}", quoting.word());
        }
        if !self.missing.is_empty() {
            text += &format!(",missing={}", self.missing.join("|"));
        }
        if self.trims {
            text += ",blanks=trim";
        }
        if let Some(header) = self.header.planned() {
            text += &format!(",header={header}");
        }
        if self.skip > 0 {
            text += &format!(",skip={}", self.skip);
        }
        if let Some(encoding) = self.encoding {
            text += &format!(",encoding={}", encoding.name());
        }
        if let Some(at) = &self.at {
            text += &format!(",at={at}");
        }
        if !self.texts.is_empty() {
            text += &format!(",texts={}", self.texts.join("|"));
        }
        text
    }

    /// Refuses options that tables of this format have no use for.
    ///
    /// # Errors
    /// Returns an error that names the first of these options that is given.
    pub(super) fn refuse(&self, names: &[&str], path: &Path, format: &str) -> Result<(), Failure> {
        let given = [
            ("sep", self.separator.is_some()),
            ("quote", self.quoting.is_some()),
            ("header", self.header != Header::Usual),
            ("skip", self.skip > 0),
            ("encoding", self.encoding.is_some()),
            ("at", self.at.is_some()),
            ("texts", !self.texts.is_empty()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && names.contains(name)) {
            Some((name, _)) => {
                let of = if *name == "at" { "JSON documents (.json)" } else { "text tables" };
                let why =
                    format!("{name}= is an option of {of}, and this is {format}; leave it out");
                Err(Failure::usage(why).in_file(path))
            }
            None => Ok(()),
        }
    }

    /// Returns the word that a field is; `None` if it is missing.
    pub(super) fn word<'t>(&self, field: &'t str) -> Option<&'t str> {
        let word = if self.trims { field.trim() } else { field };
        let is_missing = word.is_empty() || self.missing.iter().any(|missing| missing == word);
        (!is_missing).then_some(word)
    }
}

/// A file with options behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileWords<'t> {
    /// The name of the file.
    pub file: &'t str,
    /// The options: `name=value,..`.
    pub options: &'t str,
}

impl<'t> FileWords<'t> {
    /// Divides `FILE:name=value,..` at the first colon that one of these names follows.
    pub fn of(text: &'t str, names: &[&str]) -> FileWords<'t> {
        let mut colons = text.match_indices(':').map(|(at, _)| at);
        match colons.find(|at| begins_with_option(&text[at + 1..], names)) {
            Some(at) => FileWords { file: &text[..at], options: &text[at + 1..] },
            None => FileWords { file: text, options: "" },
        }
    }

    /// Returns the options, which are divided at commas that one of these names follows: a column's name may have commas.
    pub fn each(&self, names: &[&str]) -> Vec<&'t str> {
        let mut words = Vec::new();
        let mut rest = self.options;
        while !rest.is_empty() {
            let mut commas = rest.match_indices(',').map(|(at, _)| at);
            match commas.find(|&at| begins_with_option(&rest[at + 1..], names)) {
                Some(at) => {
                    words.push(&rest[..at]);
                    rest = &rest[at + 1..];
                }
                None => {
                    words.push(rest);
                    break;
                }
            }
        }
        words
    }
}

fn begins_with_option(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_options_behind_a_colon() {
        let names = ["sep", "key"];
        let words = FileWords::of("C:/a:b.csv:key=a, b,sep=,,key=c", &names);
        assert_eq!(words.file, "C:/a:b.csv");
        assert_eq!(words.each(&names), ["key=a, b", "sep=,", "key=c"]);
        assert_eq!(FileWords::of("a:b=c.csv", &names).file, "a:b=c.csv");
    }

    #[test]
    fn options_are_set_and_planned() {
        let mut options = TableOptions::default();
        assert_eq!(options.planned(), "");
        for (name, value) in [
            ("sep", ";"),
            ("quote", "none"),
            ("missing", "NaN|NA"),
            ("blanks", "trim"),
            ("header", "a+b"),
            ("skip", "2"),
            ("encoding", "latin1"),
            ("at", "/a/0"),
            ("texts", "id|zip"),
        ] {
            assert_eq!(options.set(name, value), Ok(true));
        }
        assert_eq!(
            options.planned(),
            ",sep=;,quote=none,missing=NaN|NA,blanks=trim,header=a|b,skip=2,encoding=windows-1252,at=/a/0,texts=id|zip"
        );
        assert_eq!(options.set("key", "a"), Ok(false));
        assert!(options.set("sep", "ab").is_err() && options.set("blanks", "x").is_err());
        assert!(options.set("skip", "-1").is_err() && options.set("encoding", "x").is_err());
        assert!(options.set("at", "images").is_err() && options.set("quote", "x").is_err());
        let words = [" 1", "NaN", " NA ", " ", "", "x"].map(|field| options.word(field));
        assert_eq!(words, [Some("1"), None, None, None, None, Some("x")]);
        let usual = TableOptions::default();
        assert_eq!((usual.word(" 1"), usual.word("NaN")), (Some(" 1"), Some("NaN")));
    }
}
