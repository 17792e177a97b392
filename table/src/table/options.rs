//! `TableOptions`: how a table is read, from the words of an option.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;

use crate::table::encoding::TextEncoding;
use crate::table::header::Header;
use crate::table::separator::Separator;

/// The names of the options.
pub const NAMES: [&str; 8] =
    ["sep", "missing", "blanks", "header", "skip", "encoding", "at", "texts"];

/// How a table is read. Words are of tables without types: CSV and TSV.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// What is between fields; by the extension or the first lines if absent.
    pub separator: Option<Separator>,
    /// Words that are read as missing values.
    pub missing: Vec<String>,
    /// Whether white space around words is left out.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_and_planned() {
        let mut options = TableOptions::default();
        assert_eq!(options.planned(), "");
        for (name, value) in [
            ("sep", ";"),
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
            ",sep=;,missing=NaN|NA,blanks=trim,header=a|b,skip=2,encoding=windows-1252,at=/a/0,texts=id|zip"
        );
        assert_eq!(options.set("key", "a"), Ok(false));
        assert!(options.set("sep", "ab").is_err() && options.set("blanks", "x").is_err());
        assert!(options.set("skip", "-1").is_err() && options.set("encoding", "x").is_err());
        assert!(options.set("at", "images").is_err());
        let words = [" 1", "NaN", " NA ", " ", "", "x"].map(|field| options.word(field));
        assert_eq!(words, [Some("1"), None, None, None, None, Some("x")]);
        let usual = TableOptions::default();
        assert_eq!((usual.word(" 1"), usual.word("NaN")), (Some(" 1"), Some("NaN")));
    }
}
