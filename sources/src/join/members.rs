//! Members of JSON objects as texts: objects that are restricted, put together, or collected into lists. Pure.

use std::borrow::Cow;
use std::ops::Range;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, unescaped};

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member<'a> {
    /// Its name without escapes.
    name: Cow<'a, str>,
    /// `"name":value` as in the text.
    text: &'a [u8],
    /// The value as in the text.
    value: &'a [u8],
}

/// Returns the members of an object.
fn members(json: &[u8], rules: JsonRules) -> Result<Vec<Member<'_>>, JsonFault> {
    let mut places = Vec::new();
    Scan::new(json, rules)?.object(|scan, name| {
        let start = scan.at();
        scan.skip()?;
        places.push(Placed { name, value: start..scan.at() });
        Ok::<(), JsonFault>(())
    })?;
    Ok(places.into_iter().map(|placed| placed.of(json)).collect())
}

/// Where a member is in a text.
struct Placed {
    /// With its quotes.
    name: Range<usize>,
    value: Range<usize>,
}

impl Placed {
    fn of(self, json: &[u8]) -> Member<'_> {
        let Placed { name, value } = self;
        let text = &json[name.start..value.end];
        let piece = std::str::from_utf8(&json[name]).expect("a scanned name is UTF-8");
        Member { name: unescaped(piece), text, value: json[value].trim_ascii() }
    }
}

/// Writes an object of members.
fn written<'a>(texts: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (n, text) in texts.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text.trim_ascii());
    }
    out.push(b'}');
}

/// Returns an object with the members of these names only.
///
/// # Errors
/// Returns the fault of a text that is no object.
pub(super) fn only(json: &[u8], names: &[String], rules: JsonRules) -> Result<Vec<u8>, JsonFault> {
    let members = members(json, rules)?;
    let mut out = Vec::with_capacity(json.len());
    let kept = members.iter().filter(|member| names.iter().any(|name| *name == member.name));
    written(kept.map(|member| member.text), &mut out);
    Ok(out)
}

/// Why two objects cannot be put together.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unmerged {
    /// One is no object.
    Fault(JsonFault),
    /// Both have this field, with different values.
    Differs(String),
}

impl From<JsonFault> for Unmerged {
    fn from(fault: JsonFault) -> Unmerged {
        Unmerged::Fault(fault)
    }
}

/// Returns an object with the members of both. A member that both have stays as in `first` if the values are equal.
///
/// # Errors
/// Returns an error for a text that is no object, and for a member that both have with different values.
pub(super) fn merged(first: &[u8], second: &[u8], rules: JsonRules) -> Result<Vec<u8>, Unmerged> {
    let all = members(first, rules)?;
    let mut texts: Vec<&[u8]> = all.iter().map(|member| member.text).collect();
    for member in members(second, rules)? {
        match all.iter().find(|known| known.name == member.name) {
            Some(known) if known.value == member.value => {}
            Some(_) => return Err(Unmerged::Differs(member.name.into_owned())),
            None => texts.push(member.text),
        }
    }
    let mut out = Vec::with_capacity(first.len() + second.len());
    written(texts.into_iter(), &mut out);
    Ok(out)
}

/// Returns an object with a list for each member, which has the values of all objects in their order. `null` stands for
/// a member that an object lacks. The member `key` is that of the first object.
///
/// # Errors
/// Returns the fault of a text that is no object.
pub(super) fn collected(
    objects: &[&[u8]],
    key: Option<&str>,
    rules: JsonRules,
) -> Result<Vec<u8>, JsonFault> {
    let objects = objects.iter().map(|object| members(object, rules));
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    let mut lists: Vec<List<'_>> = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        for member in object {
            let known = lists.iter_mut().find(|list| list.first.name == member.name);
            match known {
                Some(list) => list.values.push(member.value),
                None => {
                    let mut values: Vec<&[u8]> = vec![b"null"; n];
                    values.push(member.value);
                    lists.push(List { first: member, values });
                }
            }
        }
        for list in &mut lists {
            list.values.resize(n + 1, b"null");
        }
    }
    let texts: Vec<Vec<u8>> = lists.iter().map(|list| list.text(key)).collect();
    let mut out = Vec::new();
    written(texts.iter().map(Vec::as_slice), &mut out);
    Ok(out)
}

/// The values of all objects under one name.
struct List<'a> {
    first: &'a Member<'a>,
    values: Vec<&'a [u8]>,
}

impl List<'_> {
    /// `"name":[values]`, or the first member if it is the `key`.
    fn text(&self, key: Option<&str>) -> Vec<u8> {
        let Member { name, text, value } = self.first;
        if key.is_some_and(|key| key == name) {
            return text.to_vec();
        }
        let name = &text[..text.len() - value.len()];
        [name, b"[", &self.values.join(&b","[..]), b"]"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: JsonRules = JsonRules::Strict;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn members_keep_their_bytes() {
        let json = br#"{"a":1.50,"b\u0063":[1, 2],"d":{"a":3}}"#;
        let names = ["bc", "d"].map(String::from);
        assert_eq!(text(only(json, &names, RULES).unwrap()), r#"{"b\u0063":[1, 2],"d":{"a":3}}"#);
        assert_eq!(text(only(json, &[], RULES).unwrap()), "{}");
        assert!(only(b"[1]", &names, RULES).is_err());
    }

    #[test]
    fn objects_are_put_together_unless_they_differ() {
        let first = br#"{"id":7,"box":[1,2]}"#;
        let both = merged(first, br#"{"id":7,"caption":"x"}"#, RULES).unwrap();
        assert_eq!(text(both), r#"{"id":7,"box":[1,2],"caption":"x"}"#);
        assert_eq!(text(merged(b"{}", first, RULES).unwrap()), text(first.to_vec()));
        let differs = merged(first, br#"{"id":8}"#, RULES);
        assert_eq!(differs, Err(Unmerged::Differs("id".into())));
    }

    #[test]
    fn rows_become_lists_in_their_order() {
        let rows: [&[u8]; 3] = [
            br#"{"caption":"a","file":"1.jpg","n":1}"#,
            br#"{"caption":"b","file":"1.jpg"}"#,
            br#"{"caption":"c","file":"1.jpg","n":3,"z":[0]}"#,
        ];
        let wanted =
            r#"{"caption":["a","b","c"],"file":"1.jpg","n":[1,null,3],"z":[null,null,[0]]}"#;
        assert_eq!(text(collected(&rows, Some("file"), RULES).unwrap()), wanted);
        assert_eq!(
            text(collected(&rows[..1], None, RULES).unwrap()),
            r#"{"caption":["a"],"file":["1.jpg"],"n":[1]}"#
        );
    }
}
