//! `RowRules`: how rows are matched and what becomes of those that match nothing, from the words of an option. Pure.

use tarflume_base::Choice;

/// The names of the options.
pub(super) const NAMES: [&str; 7] =
    ["rows", "many", "fields", "missing-row", "orphan-row", "remove", "add"];

/// What becomes of a sample without row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MissingRow {
    /// It is a problem.
    #[default]
    Refuse,
    /// It gets an object without fields.
    Keep,
    /// It is left out.
    Skip,
}

impl Choice for MissingRow {
    const ALL: &'static [MissingRow] = &[MissingRow::Refuse, MissingRow::Keep, MissingRow::Skip];

    fn word(self) -> &'static str {
        match self {
            MissingRow::Refuse => "refuse",
            MissingRow::Keep => "keep",
            MissingRow::Skip => "skip",
        }
    }
}

/// Rules of a join.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowRules {
    /// Row n is that of sample n, in the natural order of the samples' paths.
    pub ordered: bool,
    /// Rows name samples by the value at this pointer in the samples' JSON.
    pub field: Option<String>,
    /// All rows of a sample become one object of lists.
    pub collects: bool,
    /// The fields that samples get; all if there are none here.
    pub fields: Vec<String>,
    /// What becomes of a sample without row.
    pub missing: MissingRow,
    /// Whether rows without sample are left out. They are problems otherwise.
    pub ignores_orphans: bool,
    /// A text that is removed from the begin of the names of rows.
    pub remove: String,
    /// A text that is put before the names of rows.
    pub add: String,
}

impl RowRules {
    /// Sets the option `name`; returns false if there is none.
    ///
    /// # Errors
    /// Returns the reason if the value is none of this option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match (name, value) {
            ("rows", "order") => self.ordered = true,
            ("rows", "name") => self.ordered = false,
            ("rows", other) => return Err(format!("rows={other}: give order or name")),
            ("many", "list") => self.collects = true,
            ("many", "refuse") => self.collects = false,
            ("many", other) => return Err(format!("many={other}: give list or refuse")),
            ("fields", names) => self.fields = names.split('|').map(String::from).collect(),
            ("missing-row", word) => match MissingRow::from_word(word) {
                Some(missing) => self.missing = missing,
                None => return Err(format!("missing-row={word}: give refuse, keep or skip")),
            },
            ("orphan-row", "ignore") => self.ignores_orphans = true,
            ("orphan-row", "refuse") => self.ignores_orphans = false,
            ("orphan-row", other) => {
                return Err(format!("orphan-row={other}: give refuse or ignore"));
            }
            ("remove", text) => self.remove = text.into(),
            ("add", text) => self.add = text.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the column that has the names of rows, if they are values of a field: it is called as the field.
    pub fn key(&self) -> Option<String> {
        let name = self.field.as_ref()?.rsplit('/').next()?;
        Some(name.replace("~1", "/").replace("~0", "~"))
    }

    /// Takes what is not given from the first build.
    pub(super) fn follow(&mut self, first: &RowRules) {
        self.field = self.field.take().or_else(|| first.field.clone());
        self.ordered |= first.ordered;
        self.collects |= first.collects;
        self.ignores_orphans |= first.ignores_orphans;
        if self.fields.is_empty() {
            self.fields.clone_from(&first.fields);
        }
        if self.missing == MissingRow::Refuse {
            self.missing = first.missing;
        }
        if self.remove.is_empty() {
            self.remove.clone_from(&first.remove);
        }
        if self.add.is_empty() {
            self.add.clone_from(&first.add);
        }
    }

    /// Returns the options as text, each after a comma.
    pub(super) fn planned(&self) -> String {
        let mut text = String::new();
        if self.ordered {
            text += ",rows=order";
        }
        if self.collects {
            text += ",many=list";
        }
        if !self.fields.is_empty() {
            text += &format!(",fields={}", self.fields.join("|"));
        }
        if self.missing != MissingRow::Refuse {
            text += &format!(",missing-row={}", self.missing.word());
        }
        if self.ignores_orphans {
            text += ",orphan-row=ignore";
        }
        for (name, given) in [("remove", &self.remove), ("add", &self.add)] {
            if !given.is_empty() {
                text += &format!(",{name}={given}");
            }
        }
        text
    }

    /// Changes the name of a row by [`RowRules::remove`] and [`RowRules::add`]. It does not begin with a slash then.
    pub(super) fn rename(&self, name: &mut Vec<u8>) {
        let root = name.iter().take_while(|byte| **byte == b'/').count();
        name.drain(..root);
        let remove = self.remove.trim_start_matches('/').as_bytes();
        if begins_with(name, remove) {
            name.drain(..remove.len());
        }
        if !self.add.is_empty() && !name.is_empty() {
            name.splice(..0, self.add.bytes());
        }
    }
}

/// Whether a path begins with `prefix`; a backslash is a slash.
fn begins_with(path: &[u8], prefix: &[u8]) -> bool {
    path.len() >= prefix.len() && path.iter().zip(prefix).all(|(a, b)| slash(*a) == slash(*b))
}

/// A byte of a path, with slashes for backslashes.
fn slash(byte: u8) -> u8 {
    if byte == b'\\' { b'/' } else { byte }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_planned_and_followed() {
        let mut rules = RowRules::default();
        assert_eq!(rules.planned(), "");
        for (name, value) in [
            ("rows", "order"),
            ("many", "list"),
            ("fields", "a|b"),
            ("missing-row", "keep"),
            ("orphan-row", "ignore"),
            ("remove", "train/"),
            ("add", "x/"),
        ] {
            assert_eq!(rules.set(name, value), Ok(true));
        }
        let text = ",rows=order,many=list,fields=a|b,missing-row=keep,orphan-row=ignore,remove=train/,add=x/";
        assert_eq!(rules.planned(), text);
        let mut later = RowRules::default();
        later.follow(&rules);
        assert_eq!(later, rules);
        assert_eq!(rules.set("key", "a"), Ok(false));
        for name in ["rows", "many", "missing-row", "orphan-row"] {
            assert!(rules.set(name, "x").is_err(), "{name}");
        }
    }

    #[test]
    fn names_lose_and_get_a_beginning() {
        let mut rules = RowRules { remove: "train/".into(), ..RowRules::default() };
        let mut name = b"train/cat/1.jpg".to_vec();
        rules.rename(&mut name);
        assert_eq!(name, b"cat/1.jpg");
        let mut name = b"/train\\cat\\1.jpg".to_vec();
        rules.rename(&mut name);
        assert_eq!(name, b"cat\\1.jpg");
        let mut name = b"cat/1.jpg".to_vec();
        rules.add = "images/".into();
        rules.rename(&mut name);
        assert_eq!(name, b"images/cat/1.jpg");
    }
}
