//! Adds the class to a JSON text, and leaves every other byte of the text as it is. Pure.

use std::ops::Range;

use tarflume_formats::json::{JsonFault, JsonRules, Scan, check_object, unescaped};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// The fields that are added.
pub(super) const FIELDS: [&str; 2] = ["class", "class_name"];

/// The class of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class<'a> {
    pub(super) id: i64,
    pub(super) name: &'a str,
}

/// Returns the JSON of a labeled sample: the fields of `json`, if there is one, and the class. The field `replaced` states
/// the class, so the new ones take its place.
///
/// # Errors
/// Returns the reason if `json` is not a JSON object, or has a class already.
pub(super) fn merged(
    json: Option<&[u8]>,
    rules: JsonRules,
    class: Class<'_>,
    replaced: Option<&str>,
) -> Result<Vec<u8>, Message> {
    let name = serde_json::Value::from(class.name); // with escapes
    let fields = format!("\"class\":{},\"class_name\":{name}", class.id);
    let Some(json) = json else { return Ok(format!("{{{fields}}}").into_bytes()) };
    let members = members(json, rules).map_err(
        |fault| message!("its JSON has a fault: {why}"; why = tarflume_base::json_rules::sentence(&fault)),
    )?;
    let kept = members.iter().filter(|member| Some(member.name.as_str()) != replaced);
    if let Some(field) =
        kept.clone().map(|member| &member.name).find(|name| FIELDS.contains(&name.as_str()))
    {
        return Err(
            message!("its JSON has a field '{field}' already, which {label} would replace; remove the field, or pack \
                 without {label}"; label = Name::Label),
        );
    }
    if replaced.is_some() {
        let kept = kept.map(|member| [&json[member.text.clone()], b","].concat());
        return Ok(
            [b"{", kept.collect::<Vec<_>>().concat().as_slice(), fields.as_bytes(), b"}"].concat()
        );
    }
    let close = json.iter().rposition(|&b| b == b'}').expect("an object ends with a brace");
    let comma = if members.is_empty() { "" } else { "," };
    let start = json[..close].trim_ascii_end();
    Ok([start, comma.as_bytes(), fields.as_bytes(), b"}"].concat())
}

/// A member of an object: its name, and the bytes of name and value.
struct Member {
    name: String,
    text: Range<usize>,
}

/// Returns the members of an object.
fn members(json: &[u8], rules: JsonRules) -> Result<Vec<Member>, JsonFault> {
    check_object(json, rules)?;
    let mut members = Vec::new();
    Scan::new(json, rules)?.object(|scan, name| {
        let start = name.start;
        let name = unescaped(scan.piece(name)).into_owned();
        scan.skip()?;
        let end = start + json[start..scan.at()].trim_ascii_end().len();
        members.push(Member { name, text: start..end });
        Ok::<(), JsonFault>(())
    })?;
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: Class<'_> = Class { id: 7, name: "a \"b\"" };

    fn text(json: &str) -> Result<String, Message> {
        merged(Some(json.as_bytes()), JsonRules::Strict, CLASS, None)
            .map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn fields_are_kept_byte_for_byte_and_the_class_is_added() {
        let class = r#""class":7,"class_name":"a \"b\"""#;
        assert_eq!(
            merged(None, JsonRules::Strict, CLASS, None).unwrap(),
            format!("{{{class}}}").into_bytes()
        );
        assert_eq!(text("{}").unwrap(), format!("{{{class}}}"));
        assert_eq!(text(" { } \n").unwrap(), format!(" {{{class}}}"));
        let kept = r#"{"x": 1.50, "n": {"class": 2}, "big": 123456789012345678901"#;
        assert_eq!(text(&format!("{kept} }}\n")).unwrap(), format!("{kept},{class}}}"));
    }

    fn replaced(json: &str) -> Result<String, Message> {
        merged(Some(json.as_bytes()), JsonRules::Strict, CLASS, Some("class"))
            .map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn the_field_that_states_the_class_gives_its_place_to_the_number() {
        let class = r#""class":7,"class_name":"a \"b\"""#;
        assert_eq!(replaced(r#"{"class": "x"}"#).unwrap(), format!("{{{class}}}"));
        let kept = r#"{"a" : 1.0 , "class" : "x" , "b": [2] }"#;
        assert_eq!(replaced(kept).unwrap(), format!(r#"{{"a" : 1.0,"b": [2],{class}}}"#));
        assert!(replaced(r#"{"class_name": "x"}"#).unwrap_err().text().contains("'class_name'"));
    }

    #[test]
    fn a_json_with_a_class_or_a_fault_is_refused() {
        assert!(text(r#"{"class": 1}"#).unwrap_err().text().contains("a field 'class' already"));
        assert!(
            text(r#"{"class\u005fname": 1}"#).unwrap_err().text().contains("'class_name' already")
        );
        assert!(text("[1]").unwrap_err().text().contains("an object"));
        assert!(text(r#"{"a": 1,}"#).unwrap_err().text().contains("byte 8"));
    }
}
