//! What errors about values of JSON advise: the fields that a text has, and calls in the language of the caller. Pure.

use std::collections::HashMap;

use tarflume_formats::json::{JsonFault, JsonRules, Pointer, Scan, Token, find};
use tarflume_formats::name;

/// Fields and labels that a message lists.
const LISTED: usize = 10;
/// Maximum characters of a text that a message quotes.
const MOST_SHOWN: usize = 100;

/// The language of the calls that errors advise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `.label_numbers([("cat", 0)])`.
    Rust,
    /// `labels={"cat": 0}`.
    Python,
}

impl Language {
    /// The advice for a text where a number is expected.
    pub(in crate::decode) fn for_text(self, pointer: &str, text: &str) -> String {
        let text = shown(text);
        let call = match self {
            Language::Rust => {
                format!("Json::new(\"json\", {pointer:?}).label_numbers([({text}, 0)])")
            }
            Language::Python => format!("tarflume.Json({pointer:?}, labels={{{text}: 0}})"),
        };
        format!("number all its texts: {call}")
    }

    /// The advice for samples without a value.
    pub(in crate::decode) fn for_nothing(self) -> &'static str {
        match self {
            Language::Rust => "if a sample may lack it, give its column a default: .default(0)",
            Language::Python => "if a sample may lack it, give its column a default: default=0",
        }
    }
}

/// What is wrong if there is no value at a pointer; `has` are the pointers that lead to one.
pub(in crate::decode) fn no_value(has: &[String], language: Option<Language>) -> String {
    let some: Vec<String> = has.iter().take(LISTED).map(|field| format!("{field:?}")).collect();
    let more = if has.len() > LISTED { ", ..." } else { "" };
    let has = match has {
        [] => String::new(),
        _ => format!("; the sample has {}{more}", some.join(", ")),
    };
    let advice = language.map(|language| format!("; {}", language.for_nothing()));
    format!("there is no value{has}{}", advice.unwrap_or_default())
}

/// What is wrong with a text that is none of the labels.
pub(in crate::decode) fn no_such_label(text: &str, labels: &HashMap<String, i64>) -> String {
    let mut known: Vec<(&i64, &String)> =
        labels.iter().map(|(label, number)| (number, label)).collect();
    known.sort();
    let some: Vec<String> = known.iter().take(LISTED).map(|(_, label)| shown(label)).collect();
    let more = if known.len() > LISTED { ", ..." } else { "" };
    format!("{} is not one of the labels, which are {}{more}", shown(text), some.join(", "))
}

/// The quoted beginning of a text, for a message. A text may be as long as its part.
pub(in crate::decode) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The pointers to the fields of the innermost object that exists on the way of `pointer`, in the order of the text: some
/// more than [`LISTED`] at most.
pub(crate) fn fields(bytes: &[u8], pointer: &str, rules: JsonRules) -> Vec<String> {
    let mut outer = pointer;
    while let Some((shorter, _)) = outer.rsplit_once('/') {
        outer = shorter;
        let found = Pointer::parse(outer).ok().and_then(|path| find(bytes, &path, rules).ok());
        let Some(at) = found.flatten() else { continue };
        if let Ok(fields) = names(&bytes[at], rules) {
            return fields.iter().map(|field| format!("{outer}/{}", escaped(field))).collect();
        }
    }
    Vec::new()
}

/// The names of the first fields of an object.
fn names(bytes: &[u8], rules: JsonRules) -> Result<Vec<String>, JsonFault> {
    let mut scan = Scan::new(bytes, rules)?.with_repeats();
    let mut names: Vec<String> = Vec::new();
    if scan.token()? != Token::Object {
        return Err(scan.fault("no object"));
    }
    scan.object(|scan, at| {
        if names.len() <= LISTED {
            let quoted = scan.piece(at);
            let name = serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_string());
            names.push(name::shown(name.as_bytes()));
        }
        scan.skip()
    })?;
    Ok(names)
}

/// A name as a step of a pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_beside_a_pointer_are_listed() {
        fn of(pointer: &str) -> Vec<String> {
            let text = br#"{"class": 1, "meta": {"a/b": 2, "c": {}}, "list": [3], "a\u0062": 4}"#;
            fields(text, pointer, JsonRules::Strict)
        }

        assert_eq!(of("/clas"), ["/class", "/meta", "/list", "/ab"]);
        assert_eq!(of("/class/deeper"), of("/clas"));
        assert_eq!(of("/meta/b"), ["/meta/a~1b", "/meta/c"]);
        assert_eq!(of("/no/such/path"), of("/clas"));
        assert!(of("").is_empty());
        assert!(fields(b"{", "/a", JsonRules::Strict).is_empty());
        assert!(fields(b"[1]", "/a", JsonRules::Strict).is_empty());
        let many: Vec<String> = (0..50).map(|n| format!("\"f{n}\": {n}")).collect();
        let many = format!("{{{}}}", many.join(","));
        let found = fields(many.as_bytes(), "/x", JsonRules::Strict);
        assert_eq!(found.len(), LISTED + 1);
        let text = no_value(&found, Some(Language::Python));
        assert!(text.contains("\"/f9\", ...; if a sample may lack it"), "{text}");
        assert_eq!(no_value(&[], None), "there is no value");
    }

    #[test]
    fn labels_are_listed_in_the_order_of_their_numbers() {
        let labels: HashMap<String, i64> =
            [("dog", 1), ("cat", 0)].map(|(label, number)| (label.into(), number)).into();
        let text = no_such_label("emu", &labels);
        assert_eq!(text, r#""emu" is not one of the labels, which are "cat", "dog""#);
    }
}
