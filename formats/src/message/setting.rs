//! `Setting`: a setting that a message names or advises, as an option, a keyword or a setter.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::face::Face;
use super::names::Name;
use super::path_text;
use super::paths;
use super::quote::{in_quotes, python_text, shell_text};

/// The word of [`Value::Stand`] for a number; others stand for a text.
const NUMBER: &str = "N";

/// The value of a setting in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Value {
    /// The message names the setting alone.
    Unsaid,
    /// A switch that is on.
    On,
    /// A number.
    Number(u64),
    /// A text: a word, a pattern.
    Text(String),
    /// A path.
    #[serde(with = "path_text")]
    Path(PathBuf),
    /// A text that is quoted in a shell even if it need not be.
    Quoted(String),
    /// One of several words: `--on-problem skip|quarantine`.
    AnyOf(Vec<String>),
    /// One of several texts, in a sentence: `--names dot=replace or dot=allow`.
    Either(Vec<String>),
    /// Names with a text for each: `--pair images=jpg masks=png`.
    Pairs(Vec<Pair>),
    /// A word that stands for a value that the user knows, such as `N`.
    Stand(Cow<'static, str>),
}

/// A name and its text in [`Value::Pairs`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The name.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<&Path> for Value {
    fn from(path: &Path) -> Value {
        Value::Path(path.to_path_buf())
    }
}

impl From<&PathBuf> for Value {
    fn from(path: &PathBuf) -> Value {
        Value::Path(path.clone())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

/// A setting with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The name.
    pub name: Name,
    /// The value.
    pub value: Value,
}

impl From<Name> for Setting {
    fn from(name: Name) -> Setting {
        Setting { name, value: Value::Unsaid }
    }
}

impl Setting {
    pub(super) fn map_paths(&mut self, mapped: &impl Fn(&Path) -> Option<PathBuf>) {
        if let Value::Path(path) = &mut self.value {
            paths::map(path, mapped);
        }
    }
}

impl Name {
    /// Returns the setting with a value.
    pub fn is(self, value: impl Into<Value>) -> Setting {
        Setting { name: self, value: value.into() }
    }

    /// Returns a switch that is on.
    pub fn on(self) -> Setting {
        self.is(Value::On)
    }

    /// Returns the setting with a text in quotes.
    pub fn quoted(self, text: impl Into<String>) -> Setting {
        self.is(Value::Quoted(text.into()))
    }

    /// Returns the setting with any of several texts.
    pub fn any_of(self, texts: &[&str]) -> Setting {
        self.is(Value::AnyOf(texts.iter().map(|text| (*text).to_string()).collect()))
    }

    /// As [`Name::any_of`], in a sentence.
    pub fn either(self, texts: &[&str]) -> Setting {
        self.is(Value::Either(texts.iter().map(|text| (*text).to_string()).collect()))
    }

    /// Returns the setting with a word that stands for a value: `--bad-budget N`.
    pub fn stand(self, word: &'static str) -> Setting {
        self.is(Value::Stand(word.into()))
    }

    /// Returns the setting with names and their texts, each `NAME=TEXT`; what has no `=` is a name without a text.
    pub fn pairs<'t>(self, pairs: impl IntoIterator<Item = &'t str>) -> Setting {
        self.is(Value::Pairs(pairs.into_iter().map(Pair::of).collect()))
    }
}

impl Setting {
    /// Returns the setting of an option of a store: `--storage region=eu-central-1`.
    pub fn of_store(name: &str, value: &str) -> Setting {
        Name::Storage.is(Value::Pairs(vec![Pair { name: name.into(), text: value.into() }]))
    }
}

impl Pair {
    fn of(text: &str) -> Pair {
        match text.split_once('=') {
            Some((name, text)) => Pair { name: name.into(), text: text.into() },
            None => Pair { name: text.into(), text: String::new() },
        }
    }

    /// Returns the pair as an entry of a dictionary in Python.
    fn in_dict(&self) -> String {
        format!("{}: {}", python_text(&self.name), python_text(&self.text))
    }
}

impl Setting {
    /// Returns the setting as one face writes it.
    pub fn in_face(&self, face: Face) -> String {
        match face {
            Face::Command => self.as_option(),
            Face::Python if self.name.has_keyword() => self.as_keyword(),
            Face::Python => self.as_option(),
            Face::Rust => self.as_setter(),
        }
    }

    fn as_option(&self) -> String {
        let option = self.name.option();
        match &self.value {
            Value::Unsaid | Value::On => option.into(),
            Value::Number(number) => format!("{option} {number}"),
            Value::Text(text) => format!("{option} {}", shell_text(text)),
            Value::Path(path) => format!("{option} {}", paths::in_shell(path)),
            Value::Quoted(text) => format!("{option} {}", in_quotes(text)),
            Value::AnyOf(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| shell_text(text)).collect();
                format!("{option} {}", texts.join("|"))
            }
            Value::Either(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| shell_text(text)).collect();
                format!("{option} {}", texts.join(" or "))
            }
            Value::Pairs(pairs) => {
                let pairs = pairs.iter().map(|pair| format!("{}={}", pair.name, pair.text));
                let pairs: Vec<String> = pairs.map(|pair| shell_text(&pair)).collect();
                format!("{option} {}", pairs.join(" "))
            }
            Value::Stand(word) => format!("{option} {word}"),
        }
    }

    fn as_keyword(&self) -> String {
        let keyword = self.name.keyword();
        let opposite = self.name == Name::NoEntryPoints;
        match &self.value {
            // In the sentences about loaders, which have no other sign of a name.
            Value::Unsaid if self.name.spelling().setter.is_some() => format!("{keyword}="),
            Value::Unsaid => keyword.into(),
            Value::On if opposite => format!("{keyword}=False"),
            Value::On => format!("{keyword}=True"),
            Value::Number(number) => format!("{keyword}={number}"),
            Value::Text(text) | Value::Quoted(text) => format!("{keyword}={}", python_text(text)),
            Value::AnyOf(texts) | Value::Either(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| python_text(text)).collect();
                format!("{keyword}={}", texts.join(" or "))
            }
            Value::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(Pair::in_dict).collect();
                format!("{keyword}={{{}}}", pairs.join(", "))
            }
            Value::Path(path) => format!("{keyword}={}", paths::in_python(path)),
            Value::Stand(word) if word == NUMBER => format!("{keyword}={NUMBER}"),
            Value::Stand(word) => format!("{keyword}={}", python_text(word)),
        }
    }

    /// A setter stands for all values; a setting without one is in the packer, whose words are those of the command.
    fn as_setter(&self) -> String {
        if let (Name::Storage, Value::Pairs(pairs)) = (self.name, &self.value) {
            let calls = pairs.iter().map(|pair| {
                format!(".option({}, {})", python_text(&pair.name), python_text(&pair.text))
            });
            return calls.collect();
        }
        self.name.spelling().setter.map_or_else(|| self.as_option(), str::to_string)
    }
}
