//! `TableOptions`: how a table is read, from the words of an option.

use tarflume_formats::json::JsonRules;

use crate::table::header::Header;

/// The names of the options.
pub const NAMES: [&str; 4] = ["sep", "missing", "blanks", "header"];

/// How a table is read. Words are of tables without types: CSV and TSV.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The character between fields; by the extension if absent.
    pub separator: Option<u8>,
    /// Words that are read as missing values.
    pub missing: Vec<String>,
    /// Whether white space around words is left out.
    pub trims: bool,
    /// What the first row is.
    pub header: Header,
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
            ("sep", "tab") => self.separator = Some(b'\t'),
            ("sep", one) if one.len() == 1 && one.is_ascii() => {
                self.separator = Some(one.as_bytes()[0]);
            }
            ("sep", other) => return Err(format!("'{other}' is not one character")),
            ("missing", words) => self.missing = words.split('|').map(String::from).collect(),
            ("header", text) => self.header = Header::parse(text),
            ("blanks", "trim") => self.trims = true,
            ("blanks", "keep") => self.trims = false,
            ("blanks", other) => return Err(format!("blanks={other}: give trim or keep")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes what the first row is from another table, unless it is given.
    pub fn follow_header(&mut self, first: &TableOptions) {
        if self.header == Header::Usual {
            self.header.clone_from(&first.header);
        }
    }

    /// Returns the options as text, each after a comma.
    pub fn planned(&self) -> String {
        let mut text = String::new();
        if let Some(separator) = self.separator {
            text += &format!(",sep={}", char::from(separator));
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
        text
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
        for (name, value) in
            [("sep", ";"), ("missing", "NaN|NA"), ("blanks", "trim"), ("header", "a|b")]
        {
            assert_eq!(options.set(name, value), Ok(true));
        }
        assert_eq!(options.planned(), ",sep=;,missing=NaN|NA,blanks=trim,header=a|b");
        assert_eq!(options.set("key", "a"), Ok(false));
        assert!(options.set("sep", "ab").is_err() && options.set("blanks", "x").is_err());
        let words = [" 1", "NaN", " NA ", " ", "", "x"].map(|field| options.word(field));
        assert_eq!(words, [Some("1"), None, None, None, None, Some("x")]);
        let usual = TableOptions::default();
        assert_eq!((usual.word(" 1"), usual.word("NaN")), (Some(" 1"), Some("NaN")));
    }
}
