//! `LabelBy`: where the class of a sample is stated: its folders, its name, its source, or its JSON.

use std::fmt;

use regex::bytes::Regex;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name, Setting};

use super::folder::FolderRule;
use super::merge::FIELDS;

/// Where the class of a sample is stated.
#[derive(Debug, Clone)]
pub(crate) enum LabelBy {
    /// In the path: one of its folders, or several.
    Folder(FolderRule),
    /// In its JSON, at this pointer.
    Field(String),
    /// In the name of its file.
    Name(NamePattern),
    /// In the name of the source folder, tar or zip that has it.
    Source,
}

/// A regular expression that finds the class in a name.
#[derive(Debug, Clone)]
pub(crate) struct NamePattern {
    text: String,
    regex: Regex,
}

impl NamePattern {
    fn parse(text: &str) -> Result<NamePattern, String> {
        let regex =
            Regex::new(text).map_err(|e| format!("'{text}' is no regular expression: {e}"))?;
        if regex.captures_len() > 2 {
            return Err(format!(
                "'{text}' has {} groups; the class is that of one: write the others as (?:...)",
                regex.captures_len() - 1
            ));
        }
        Ok(NamePattern { text: text.into(), regex })
    }

    /// Returns what the group matches, or the whole expression if it has none; `None` if the name does not match.
    pub(super) fn class<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        let found = self.regex.captures(name)?;
        let group = found.get(self.regex.captures_len() - 1)?;
        Some(group.as_bytes()).filter(|class| !class.is_empty())
    }
}

impl LabelBy {
    /// Parses `folder`, `folder=N`, `path`, `path=N`, `source`, `/FIELD` or `name:REGEX`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub(super) fn parse(text: &str) -> Result<LabelBy, String> {
        if let Some(pattern) = text.strip_prefix("name:") {
            return NamePattern::parse(pattern).map(LabelBy::Name);
        }
        match text {
            "source" => Ok(LabelBy::Source),
            field if field.len() > 1 && field.starts_with('/') => Ok(LabelBy::Field(field.into())),
            _ if FolderRule::is_meant(text) => FolderRule::parse(text).map(LabelBy::Folder),
            _ => Err(format!(
                "'{text}' is not known; give folder, folder=N, path, path=N, source, /FIELD of the JSON, or name:REGEX"
            )),
        }
    }

    /// Returns the rule of folders, if it is one.
    pub(crate) fn folder(&self) -> Option<FolderRule> {
        match self {
            LabelBy::Folder(folder) => Some(*folder),
            LabelBy::Field(_) | LabelBy::Name(_) | LabelBy::Source => None,
        }
    }

    /// Returns true if the class is in the JSON that samples have.
    pub(crate) fn reads_json(&self) -> bool {
        matches!(self, LabelBy::Field(_))
    }

    /// Returns the field of the JSON that has the class, if the label takes its place.
    pub(super) fn replaced(&self) -> Option<&str> {
        match self {
            LabelBy::Field(pointer) => Some(&pointer[1..]).filter(|name| FIELDS.contains(name)),
            LabelBy::Folder(_) | LabelBy::Name(_) | LabelBy::Source => None,
        }
    }

    /// Returns what has the class, for a message about its samples: `folder`, `value of /species`.
    pub(super) fn stated(&self) -> Message {
        match self {
            LabelBy::Folder(_) => Message::words("the folder"),
            LabelBy::Field(pointer) => message!("the value of {pointer}"),
            LabelBy::Name(_) => Message::words("the class in the names"),
            LabelBy::Source => Message::words("the source"),
        }
    }

    /// Returns the option with this rule, for a message.
    pub(super) fn option(&self) -> Setting {
        Name::Label.is(self.to_string())
    }
}

impl fmt::Display for LabelBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabelBy::Folder(folder) => folder.fmt(f),
            LabelBy::Field(pointer) => f.write_str(pointer),
            LabelBy::Name(pattern) => write!(f, "name:{}", pattern.text),
            LabelBy::Source => f.write_str("source"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(pattern: &str, name: &str) -> Option<String> {
        let pattern = NamePattern::parse(pattern).unwrap();
        pattern.class(name.as_bytes()).map(|found| String::from_utf8_lossy(found).into_owned())
    }

    #[test]
    fn the_class_is_what_the_group_of_the_pattern_matches() {
        assert_eq!(
            class("^(.+)_[0-9]+$", "yorkshire_terrier_12").as_deref(),
            Some("yorkshire_terrier")
        );
        assert_eq!(class("^(-?[0-9]+)_c", "-1_c1s1_401").as_deref(), Some("-1"));
        assert_eq!(class("^[a-z]+", "cat.12").as_deref(), Some("cat"));
        assert_eq!(class("^(x?)", "cat"), None);
        assert_eq!(class("^dog", "cat"), None);
    }

    #[test]
    fn each_rule_is_written_as_it_is_read() {
        for text in ["folder", "folder=2", "path", "path=3", "source", "/a/b", "name:^(.)"] {
            assert_eq!(LabelBy::parse(text).unwrap().to_string(), text);
        }
        for (bad, why) in [
            ("folders", "give folder"),
            ("/", "give folder"),
            ("", "give folder"),
            ("folder=0", "from 1"),
            ("name:(", "no regular expression"),
            ("name:(a)(b)", "2 groups"),
        ] {
            assert!(LabelBy::parse(bad).unwrap_err().contains(why), "{bad}");
        }
    }
}
