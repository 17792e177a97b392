//! `Table` and `Item`: a policy as text with the line of each value, and the faults of reading it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tarflume_base::{Failure, size};
use tarflume_formats::message;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::date::Date;

/// What is wrong with a policy, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what is right.
    pub reason: String,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.reason)
    }
}

impl std::error::Error for PolicyFault {}

impl From<PolicyFault> for Failure {
    fn from(fault: PolicyFault) -> Failure {
        let PolicyFault { path, line, column, reason } = fault;
        Failure::usage(message!("{file}:{line}:{column}: {reason}"; file = path.as_path()))
            .with_file(path)
    }
}

/// A value with the line that states it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stated<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// The text of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) path: &'t Path,
    pub(super) text: &'t str,
}

impl Source<'_> {
    /// Returns the line of a byte of the text, from 1.
    fn line(self, at: usize) -> usize {
        self.text.get(..at).unwrap_or(self.text).matches('\n').count() + 1
    }

    /// Returns a fault at a byte of the text.
    pub(super) fn fault(self, at: usize, reason: impl Into<String>) -> PolicyFault {
        let before = self.text.get(..at).unwrap_or(self.text);
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
        let line = self.line(at);
        PolicyFault { path: self.path.into(), line, column, reason: reason.into() }
    }
}

/// Parses the text of a policy.
///
/// # Errors
/// Returns a fault with its place.
pub(super) fn parsed(source: Source<'_>) -> Result<Spanned<DeTable<'_>>, PolicyFault> {
    DeTable::parse(source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.fault(at, format!("it is no TOML: {}", error.message()))
    })
}

/// A table of a policy, whose keys are known.
#[derive(Debug, Clone)]
pub(super) struct Table<'t> {
    source: Source<'t>,
    /// The name with those of the tables around it: `sets.train.parts`; empty for the whole.
    name: String,
    pub(super) at: usize,
    entries: &'t DeTable<'t>,
}

impl<'t> Table<'t> {
    /// Returns the whole policy as a table.
    pub(super) fn whole(source: Source<'t>, parsed: &'t Spanned<DeTable<'t>>) -> Table<'t> {
        Table { source, name: String::new(), at: 0, entries: parsed.get_ref() }
    }

    /// Refuses keys that are not among `known`.
    ///
    /// # Errors
    /// Returns a fault that lists the known keys, and names the one that is meant.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), PolicyFault> {
        for item in self.items() {
            if !known.contains(&item.key) {
                let what = match self.name.as_str() {
                    "" => "a policy has no table or key".to_string(),
                    name => format!("[{name}] has no key"),
                };
                let reason = format!("{what} '{}'{}", item.key, choices(item.key, known));
                return Err(self.source.fault(item.key_at, reason));
            }
        }
        Ok(())
    }

    /// Returns the entries.
    pub(super) fn items(&self) -> impl Iterator<Item = Item<'t>> + '_ {
        self.entries.iter().map(|(key, value)| Item {
            source: self.source,
            name: joined(&self.name, key.get_ref()),
            key: key.get_ref(),
            key_at: key.span().start,
            value,
        })
    }

    /// Returns the entry with this key.
    pub(super) fn get(&self, key: &str) -> Option<Item<'t>> {
        self.items().find(|item| item.key == key)
    }

    /// Returns what `read` makes of the entry with this key, with its line.
    ///
    /// # Errors
    /// Returns the fault of `read`.
    pub(super) fn stated<T>(
        &self,
        key: &str,
        read: impl Fn(&Item<'t>) -> Result<T, PolicyFault>,
    ) -> Result<Option<Stated<T>>, PolicyFault> {
        let Some(item) = self.get(key) else { return Ok(None) };
        Ok(Some(Stated { value: read(&item)?, line: item.line() }))
    }

    /// Returns a fault of the table as a whole.
    pub(super) fn fault(&self, reason: impl Into<String>) -> PolicyFault {
        self.source.fault(self.at, reason)
    }

    /// Returns the line at which the table begins.
    pub(super) fn line(&self) -> usize {
        self.source.line(self.at)
    }
}

/// Returns the name of a key in a table as TOML writes it.
fn joined(table: &str, key: &str) -> String {
    let is_bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let key = if is_bare { key.to_string() } else { format!("\"{key}\"") };
    if table.is_empty() { key } else { format!("{table}.{key}") }
}

/// An entry of a table.
#[derive(Debug, Clone)]
pub(super) struct Item<'t> {
    source: Source<'t>,
    /// The key with the names of the tables around it.
    pub(super) name: String,
    pub(super) key: &'t str,
    key_at: usize,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Item<'t> {
    /// Returns the line of the key.
    pub(super) fn line(&self) -> usize {
        self.source.line(self.key_at)
    }

    /// Returns a fault of the value.
    pub(super) fn fault(&self, reason: impl fmt::Display) -> PolicyFault {
        self.source.fault(self.span().start, format!("{}: {reason}", self.name))
    }

    /// Returns a fault of the key.
    pub(super) fn key_fault(&self, reason: impl fmt::Display) -> PolicyFault {
        self.source.fault(self.key_at, format!("{}: {reason}", self.name))
    }

    fn span(&self) -> Range<usize> {
        self.value.span()
    }

    fn wanted(&self, what: &str) -> PolicyFault {
        self.fault(format!("{what} is needed, not {}", kind(self.value.get_ref())))
    }

    /// Returns the text of a string.
    pub(super) fn text(&self) -> Result<&'t str, PolicyFault> {
        self.value.get_ref().as_str().ok_or_else(|| self.wanted("a string"))
    }

    /// Returns true or false.
    pub(super) fn flag(&self) -> Result<bool, PolicyFault> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wanted("true or false"))
    }

    /// Returns a whole number of at least 0.
    pub(super) fn count(&self) -> Result<u64, PolicyFault> {
        match self.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| self.wanted("a whole number of at least 0")),
            _ => Err(self.wanted("a whole number")),
        }
    }

    /// Returns the text of a number of JSON.
    pub(super) fn number(&self) -> Result<String, PolicyFault> {
        match scalar(self.value.get_ref()) {
            Some(Scalar::Number(text)) => Ok(text),
            _ => Err(self.wanted("a number")),
        }
    }

    /// Returns the percents of `"99.5%"`.
    pub(super) fn percent(&self) -> Result<f64, PolicyFault> {
        let text = self.value.get_ref().as_str().and_then(|text| text.trim().strip_suffix('%'));
        let percent = text.and_then(|text| text.trim().parse::<f64>().ok());
        percent
            .filter(|percent| (0.0..=1000.0).contains(percent))
            .ok_or_else(|| self.wanted("a share such as \"99.5%\""))
    }

    /// Returns bytes: `"256MiB"`, or a number.
    pub(super) fn bytes(&self) -> Result<u64, PolicyFault> {
        match self.value.get_ref() {
            DeValue::String(text) => size::parse(text).map_err(|why| self.fault(why)),
            _ => self.count().map_err(|_| self.wanted("a size such as \"256MiB\"")),
        }
    }

    /// Returns a date: `2027-03-01`.
    pub(super) fn date(&self) -> Result<Date, PolicyFault> {
        let text = match self.value.get_ref() {
            DeValue::Datetime(date) => date.to_string(),
            DeValue::String(text) => text.to_string(),
            _ => String::new(),
        };
        Date::parse(&text).ok_or_else(|| self.wanted("a date such as 2027-03-01"))
    }

    /// Returns the values of a list, or a single one as a list.
    pub(super) fn list(&self) -> Vec<Item<'t>> {
        match self.value.get_ref() {
            DeValue::Array(values) => {
                values.iter().map(|value| Item { value, ..self.clone() }).collect()
            }
            _ => vec![self.clone()],
        }
    }

    /// Returns the strings of a list, or a single one.
    pub(super) fn texts(&self) -> Result<Vec<String>, PolicyFault> {
        self.list().iter().map(|item| item.text().map(String::from)).collect()
    }

    /// Returns a text, a number, or true or false.
    pub(super) fn scalar(&self) -> Result<Scalar, PolicyFault> {
        let found = scalar(self.value.get_ref());
        found.ok_or_else(|| self.wanted("a string, a number, or true or false"))
    }

    /// Returns the table.
    pub(super) fn table(&self) -> Result<Table<'t>, PolicyFault> {
        let entries = self.value.get_ref().as_table().ok_or_else(|| self.wanted("a table"))?;
        Ok(Table { source: self.source, name: self.name.clone(), at: self.key_at, entries })
    }

    /// Returns the tables of a list: `[[name]]`.
    pub(super) fn tables(&self) -> Result<Vec<Table<'t>>, PolicyFault> {
        let DeValue::Array(values) = self.value.get_ref() else {
            return Err(self.wanted(&format!("a list of tables, [[{}]],", self.name)));
        };
        let tables = values.iter().map(|value| {
            let item = Item { value, key_at: value.span().start, ..self.clone() };
            item.table()
        });
        tables.collect()
    }
}

/// A value without parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    /// A text.
    Text(String),
    /// A number, as JSON writes it.
    Number(String),
    /// True or false.
    Flag(bool),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => write!(f, "{text:?}"),
            Scalar::Number(text) => f.write_str(text),
            Scalar::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

fn scalar(value: &DeValue<'_>) -> Option<Scalar> {
    match value {
        DeValue::String(text) => Some(Scalar::Text(text.to_string())),
        DeValue::Boolean(flag) => Some(Scalar::Flag(*flag)),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(Scalar::Number(number.to_string()))
        }
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().ok()?;
            number.is_finite().then(|| Scalar::Number(number.to_string()))
        }
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Returns the kind of a value, for faults.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "this string",
        DeValue::Integer(_) => "this whole number",
        DeValue::Float(_) => "this number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Returns the known words as the end of a sentence about `word`, with the one that is meant.
pub(crate) fn choices(word: &str, known: &[&str]) -> String {
    let lower = word.to_lowercase();
    let meant = known
        .iter()
        .map(|known| (strsim::osa_distance(&lower, known), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .map(|(_, known)| format!("; did you mean '{known}'?"));
    match meant {
        Some(meant) => format!("{meant} There are {}", known.join(", ")),
        None => format!("; there are {}", known.join(", ")),
    }
}
