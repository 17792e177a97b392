//! Rules for names that some reader would misread: refuse, replace or allow, rule by rule.
//!
//! Pure functions on bytes. The defaults accept only names that every reader of WebDataset shards
//! interprets the same way.

use std::borrow::Cow;
use std::fmt;

use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

/// What a rule does with a matching name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The file is a problem.
    Refuse,
    /// The name in the shard is changed so that all readers agree about it.
    Replace,
    /// The name is kept.
    Allow,
    /// The file is left out and counted, but is not a problem.
    Skip,
}

/// A class of names that readers disagree about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// More than one dot in the base name: `img.001.jpg` is key `img` to most readers.
    Dot,
    /// Blanks and control characters, which end a name in DALI's index.
    Space,
    /// Anything but ASCII.
    NonAscii,
    /// A base name or folder that begins with a dot.
    Hidden,
    /// A base name or folder that begins with `__`.
    Dunder,
    /// More than 100 bytes, which some readers truncate.
    Long,
    /// Keys that differ only in case, which collide on some file systems and readers.
    Case,
    /// Names in archives that are no clean relative path: `/a.jpg`, `a//b.jpg`, `a/./b.jpg`.
    Path,
}

impl Rule {
    /// All rules, in the order in which they are documented.
    pub const ALL: [Rule; 8] = [
        Rule::Dot,
        Rule::Space,
        Rule::NonAscii,
        Rule::Hidden,
        Rule::Dunder,
        Rule::Long,
        Rule::Case,
        Rule::Path,
    ];

    /// Returns its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Rule::Dot => "dot",
            Rule::Space => "space",
            Rule::NonAscii => "nonascii",
            Rule::Hidden => "hidden",
            Rule::Dunder => "dunder",
            Rule::Long => "long",
            Rule::Case => "case",
            Rule::Path => "path",
        }
    }
}

/// Returns true for the files that Windows Explorer puts into folders of pictures.
pub fn is_of_file_manager(base: &[u8]) -> bool {
    let known: [&[u8]; 3] = [b"thumbs.db", b"ehthumbs.db", b"desktop.ini"];
    known.iter().any(|name| base.eq_ignore_ascii_case(name))
}

/// The longest member name that every reader reads whole: the name field of ustar.
pub const MAX_NAME: usize = 100;

/// An action for each rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRules([Action; 8]);

impl Default for NameRules {
    fn default() -> Self {
        let mut rules = NameRules([Action::Refuse; 8]);
        rules.set(Rule::Hidden, Action::Skip);
        rules
    }
}

impl NameRules {
    /// Returns the action of `rule`.
    pub fn action(&self, rule: Rule) -> Action {
        self.0[rule as usize]
    }

    fn set(&mut self, rule: Rule, action: Action) {
        self.0[rule as usize] = action;
    }

    /// Replaces dots in keys where they were allowed.
    pub fn without_dots(&mut self) {
        if self.action(Rule::Dot) == Action::Allow {
            self.set(Rule::Dot, Action::Replace);
        }
    }

    /// Returns the words of `--names` for these rules, with names cleaned.
    pub(crate) fn with_clean_paths(mut self) -> String {
        self.set(Rule::Path, Action::Refuse);
        let known = ["", "allow"].into_iter().find(|words| NameRules::parse(words) == Ok(self));
        let words = known.map_or_else(|| self.to_string(), String::from);
        let comma = if words.is_empty() { "" } else { "," };
        format!("{words}{comma}path=replace")
    }

    /// Parses `replace` (all rules but hidden and path) or `dot=replace,space=allow` over the defaults.
    ///
    /// # Errors
    /// Returns an error that lists the valid words.
    pub fn parse(text: &str) -> Result<NameRules, String> {
        let mut rules = NameRules::default();
        for item in text.split(',').map(str::trim).filter(|s| !s.is_empty()) {
            match item.split_once('=') {
                None => {
                    let action = parse_action(item)?;
                    if action == Action::Skip {
                        return Err("'skip' is for hidden files alone: use hidden=skip".into());
                    }
                    let all = Rule::ALL.into_iter();
                    let common = all.filter(|rule| !matches!(rule, Rule::Hidden | Rule::Path));
                    common.for_each(|rule| rules.set(rule, action));
                }
                Some((rule, action)) => {
                    let Some(rule) = Rule::ALL.into_iter().find(|r| r.word() == rule) else {
                        let words: Vec<_> = Rule::ALL.iter().map(|r| r.word()).collect();
                        return Err(format!(
                            "unknown rule '{rule}'; rules are {}",
                            words.join(", ")
                        ));
                    };
                    let action = parse_action(action)?;
                    if action == Action::Skip && rule != Rule::Hidden {
                        return Err("'skip' is for hidden files alone: use hidden=skip".into());
                    }
                    if action == Action::Allow && rule == Rule::Path {
                        let text = "no reader takes such names: give path=replace or path=refuse";
                        return Err(text.into());
                    }
                    rules.set(rule, action);
                }
            }
        }
        Ok(rules)
    }
}

fn parse_action(word: &str) -> Result<Action, String> {
    match word {
        "refuse" => Ok(Action::Refuse),
        "replace" => Ok(Action::Replace),
        "allow" => Ok(Action::Allow),
        "skip" => Ok(Action::Skip),
        _ => Err(format!(
            "unknown action '{word}'; actions are refuse, replace, allow, and hidden=skip"
        )),
    }
}

impl fmt::Display for NameRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Plans of builds that clean no names have no word about it.
        let told = Rule::ALL
            .into_iter()
            .filter(|rule| *rule != Rule::Path || self.action(*rule) != Action::Refuse);
        for (i, rule) in told.enumerate() {
            let action = match self.action(rule) {
                Action::Refuse => "refuse",
                Action::Replace => "replace",
                Action::Allow => "allow",
                Action::Skip => "skip",
            };
            write!(f, "{}{}={action}", if i == 0 { "" } else { "," }, rule.word())?;
        }
        Ok(())
    }
}

/// The rules' verdict on one path component: a folder's name, or a base name without extension.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is kept.
    Keep,
    /// It is replaced by this.
    Becomes(Vec<u8>),
    /// It is left out without a problem.
    Skip,
    /// It is a problem of this rule.
    Refuse(Rule),
}

impl NameRules {
    /// Returns a key from an archive or a table as a clean relative path.
    ///
    /// # Errors
    /// Returns why it cannot be one, and the words that clean it.
    pub(crate) fn cleaned<'k>(&self, key: &'k [u8]) -> Result<Cow<'k, [u8]>, Message> {
        let clean = match self.action(Rule::Path) {
            Action::Replace => Cow::Owned(name::cleaned(key)),
            _ => Cow::Borrowed(name::without_dot(key)),
        };
        let Some(why) = name::unsafe_as_path(&clean) else { return Ok(clean) };
        let cleans = name::unsafe_as_path(&name::cleaned(key)).is_none();
        let words = self.with_clean_paths();
        let remedy = if cleans {
            message!("; {names} cleans it"; names = Name::Names.is(words.to_string()))
        } else {
            Message::default()
        };
        Err(message!("its key can't be a name: {why}{remedy}"; remedy = remedy))
    }

    /// Judges a path component. `dots` enables the rule for dots: folders may have them.
    pub fn judge(&self, component: &[u8], dots: bool) -> Verdict {
        let mut name = None;
        let caught = [
            (Rule::Hidden, component.starts_with(b".")),
            (Rule::Dot, dots && component.iter().skip(1).any(|&b| b == b'.')),
            (
                Rule::Space,
                component.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control()),
            ),
            (Rule::NonAscii, !component.is_ascii()),
            (Rule::Dunder, component.starts_with(b"__")),
        ];
        for (rule, _) in caught.into_iter().filter(|&(_, caught)| caught) {
            match self.action(rule) {
                Action::Refuse => return Verdict::Refuse(rule),
                Action::Skip => return Verdict::Skip,
                // No reader takes a file whose base name begins with a dot.
                Action::Allow if rule == Rule::Hidden && dots => return Verdict::Refuse(rule),
                Action::Allow => {}
                Action::Replace => {
                    let old = name.as_deref().unwrap_or(component);
                    name = Some(replaced(old, rule));
                }
            }
        }
        match name {
            // A replacement must not look like metadata.
            Some(name) if name.starts_with(b"__") && !component.starts_with(b"__") => {
                Verdict::Becomes(replaced(&name, Rule::Dunder))
            }
            Some(name) => Verdict::Becomes(name),
            None => Verdict::Keep,
        }
    }
}

impl NameRules {
    /// Judges an extension, where only the rules for blanks and foreign characters apply.
    pub fn judge_ext(&self, ext: &[u8]) -> Verdict {
        if ext.iter().any(is_blank) || !ext.is_ascii() {
            self.judge(ext, false)
        } else {
            Verdict::Keep
        }
    }
}

/// Returns true for white space and control characters.
fn is_blank(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control()
}

/// Returns the component with the characters of `rule` replaced.
fn replaced(name: &[u8], rule: Rule) -> Vec<u8> {
    match rule {
        Rule::Hidden => [b"_", name.trim_ascii_start().strip_prefix(b".").unwrap_or(name)].concat(),
        Rule::Dunder => {
            let rest = name.iter().skip_while(|&&b| b == b'_');
            [b'_'].into_iter().chain(rest.copied()).collect()
        }
        Rule::Dot => name.iter().map(|&b| if b == b'.' { b'_' } else { b }).collect(),
        Rule::Space => name.iter().map(|b| if is_blank(b) { b'_' } else { *b }).collect(),
        Rule::NonAscii => ascii(name),
        Rule::Long | Rule::Case | Rule::Path => name.to_vec(), // these rules apply to whole names
    }
}

/// Replaces `é` by `_u00e9` and a byte that is not UTF-8 by `_xff`: different names stay different.
fn ascii(name: &[u8]) -> Vec<u8> {
    let mut text = String::with_capacity(name.len() * 2);
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii() { text.push(c) } else { text.push_str(&format!("_u{:04x}", c as u32)) }
        }
        chunk.invalid().iter().for_each(|b| text.push_str(&format!("_x{b:02x}")));
    }
    text.into_bytes()
}

/// Returns a base name of at most `room` bytes: the start of `stem`, and a hash of the whole `key`.
pub(crate) fn shortened(key: &[u8], stem: &[u8], room: usize) -> Vec<u8> {
    let hash = blake3::hash(key).to_hex();
    let hash = &hash.as_bytes()[..16];
    let head = &stem[..stem.len().min(room.saturating_sub(hash.len() + 1))];
    if head.is_empty() { hash.to_vec() } else { [head, b"-", hash].concat() }
}

/// Returns a key that does not collide with one in another case.
pub fn distinguished(key: &[u8]) -> Vec<u8> {
    let hash = blake3::hash(key).to_hex();
    [key, b"-", &hash.as_bytes()[..8]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace_all() -> NameRules {
        NameRules::parse("replace,hidden=replace").unwrap()
    }

    #[test]
    fn a_hidden_file_is_never_allowed_but_its_folder_may_be_hidden() {
        let rules = NameRules::parse("hidden=allow").unwrap();
        assert_eq!(rules.judge(b".x", true), Verdict::Refuse(Rule::Hidden));
        assert_eq!(rules.judge(b".x", false), Verdict::Keep);
    }

    #[test]
    fn the_defaults_refuse_what_readers_misread_and_skip_hidden_files() {
        let rules = NameRules::default();
        assert_eq!(rules.judge(b"cat_01", true), Verdict::Keep);
        assert_eq!(rules.judge(b"v1.2", false), Verdict::Keep, "folders may have dots");
        assert_eq!(rules.judge(b"img.001", true), Verdict::Refuse(Rule::Dot));
        assert_eq!(rules.judge(b"my cat", true), Verdict::Refuse(Rule::Space));
        assert_eq!(rules.judge("é".as_bytes(), true), Verdict::Refuse(Rule::NonAscii));
        assert_eq!(rules.judge(b"__meta__", true), Verdict::Refuse(Rule::Dunder));
        assert_eq!(rules.judge(b".DS_Store", true), Verdict::Skip);
    }

    #[test]
    fn replaced_names_pass_the_default_rules() {
        let names: [&[u8]; 7] = [
            b"a.b.c",
            b"a b\tc",
            "日本".as_bytes(),
            b".hid",
            b"__x__",
            b"\xff\xfe",
            b"__ .\xc3\xa9",
        ];
        for name in names {
            let Verdict::Becomes(new) = replace_all().judge(name, true) else {
                panic!("{name:?} was not replaced");
            };
            assert_eq!(NameRules::default().judge(&new, true), Verdict::Keep, "{new:?}");
        }
    }

    #[test]
    fn rules_are_read_and_shown() {
        let rules = NameRules::parse("dot=replace, hidden=refuse").unwrap();
        assert_eq!(NameRules::parse(&rules.to_string()).unwrap(), rules);
        assert!(NameRules::parse("dots=replace").unwrap_err().contains("nonascii"));
        assert!(NameRules::parse("dot=ignore").unwrap_err().contains("refuse, replace"));
        assert!(NameRules::parse("skip").is_err());
        assert!(NameRules::parse("path=allow").unwrap_err().contains("path=replace"));
        let cleaned = NameRules::parse("allow,path=replace").unwrap();
        assert_eq!(NameRules::parse(&cleaned.to_string()).unwrap(), cleaned);
        assert!(!NameRules::parse("replace").unwrap().to_string().contains("path"));
    }

    #[test]
    fn the_words_that_clean_names_keep_the_other_rules() {
        for (words, want) in [("", "path=replace"), ("allow", "allow,path=replace")] {
            assert_eq!(NameRules::parse(words).unwrap().with_clean_paths(), want);
        }
        let other = NameRules::parse("dot=allow").unwrap().with_clean_paths();
        let parsed = NameRules::parse(&other).unwrap();
        assert_eq!(parsed.action(Rule::Dot), Action::Allow);
        assert_eq!(parsed.action(Rule::Path), Action::Replace);
    }

    #[test]
    fn shortened_stems_fit_and_differ() {
        let a = [b'a'; 200];
        let b = [b'a'; 201];
        let short_a = shortened(&a, &a, 60);
        let short_b = shortened(&b, &b, 60);
        assert!(short_a.len() == 60 && short_a.starts_with(b"aaa"));
        assert_ne!(short_a, short_b);
        assert_eq!(shortened(&a, &a, 3).len(), 16, "the hash always stands");
    }
}
