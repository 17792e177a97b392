//! Blocks `{% generation %}`: transformers' extension that tells what the assistant writes.
//!
//! minijinja has no extensions. A block becomes a filter over its body, which puts marks around it; the white space
//! around the tags stays the same. `with` keeps the variables that the body sets to itself, as Jinja2 does.

use minijinja::value::Value;
use minijinja::{Error, State};

/// The filter in place of a block.
pub(super) const FILTER: &str = "__generation";
/// The variable with the marks.
pub(super) const VARIABLE: &str = "__generation_marks";
/// Characters of Unicode that no text has a use for.
const MARKS: std::ops::RangeInclusive<char> = '\u{fdd0}'..='\u{fdef}';

/// A rendered conversation.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::chat) struct Rendered {
    pub(in crate::chat) text: String,
    /// The bytes of each block `{% generation %}`.
    pub(in crate::chat) generated: Vec<(usize, usize)>,
}

/// Two characters that a text does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    begin: char,
    end: char,
}

impl Marks {
    /// Returns marks that a text does not have; `None` if it has too many of them.
    pub(super) fn not_in(text: &str) -> Option<Marks> {
        let mut free = MARKS.filter(|&mark| !text.contains(mark));
        Some(Marks { begin: free.next()?, end: free.next()? })
    }

    /// Returns the marks as a variable of the template.
    pub(super) fn value(self) -> Value {
        Value::from(String::from_iter([self.begin, self.end]))
    }

    /// Removes the marks from a text; `None` if they are not in pairs.
    pub(super) fn take(self, marked: &str) -> Option<Rendered> {
        let mut found = Rendered::default();
        let mut open = None;
        let mut rest = marked;
        while let Some(at) = rest.find([self.begin, self.end]) {
            found.text.push_str(&rest[..at]);
            let mark = rest[at..].chars().next()?;
            rest = &rest[at + mark.len_utf8()..];
            let place = found.text.len();
            match open.take() {
                None if mark == self.begin => open = Some(place),
                Some(begin) if mark == self.end => found.generated.push((begin, place)),
                _ => return None,
            }
        }
        found.text.push_str(rest);
        open.is_none().then_some(found)
    }
}

/// The filter: puts marks around the body of a block, if there are marks.
pub(super) fn filter(state: &State<'_, '_>, body: &str) -> Result<Value, Error> {
    let marks = state.lookup(VARIABLE).filter(|marks| !marks.is_undefined());
    let marked = marks.as_ref().and_then(Value::as_str).map(|marks| {
        let end = marks.chars().next().map_or(0, char::len_utf8);
        format!("{}{body}{}", &marks[..end], &marks[end..])
    });
    Ok(Value::from(marked.unwrap_or_else(|| body.into())))
}

/// Returns the text of a template with a filter in place of each block.
pub(super) fn as_filters(source: &str) -> String {
    let mut made = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        match Tag::at(rest) {
            Some(tag) => {
                let Tag { left, right, length, is_end } = tag;
                let [first, second] =
                    if is_end { ["endwith", "endfilter"] } else { ["filter __generation", "with"] };
                made.push_str(&format!("{{%{left} {first} %}}{{% {second} {right}%}}"));
                rest = &rest[length..];
            }
            None => {
                made.push_str("{%");
                rest = &rest[2..];
            }
        }
    }
    made.push_str(rest);
    made
}

/// A tag `generation` or `endgeneration`.
struct Tag<'a> {
    /// `-`, `+` or nothing.
    left: &'a str,
    right: &'a str,
    length: usize,
    is_end: bool,
}

impl<'a> Tag<'a> {
    /// Returns the tag with which a text begins.
    fn at(text: &'a str) -> Option<Tag<'a>> {
        let inner = text.strip_prefix("{%")?;
        let (left, inner) = sign(inner);
        let inner = inner.trim_start();
        let is_end = inner.starts_with("endgeneration");
        let inner = inner.strip_prefix(if is_end { "endgeneration" } else { "generation" })?;
        let inner = inner.trim_start();
        let (right, inner) = sign(inner);
        let behind = inner.strip_prefix("%}")?;
        Some(Tag { left, right, length: text.len() - behind.len(), is_end })
    }
}

/// Splits the sign of white space from the front of a text.
fn sign(text: &str) -> (&str, &str) {
    text.split_at(usize::from(text.starts_with(['-', '+'])))
}
