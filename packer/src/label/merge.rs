//! Adds the class to a JSON text, and leaves every other byte of the text as it is. Pure.

use tarflume_formats::json::{JsonFault, JsonRules, Scan, check_object, unescaped};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// The fields that are added.
const FIELDS: [&str; 2] = ["class", "class_name"];

/// Returns the JSON of a labeled sample: the fields of `json`, if there is one, and the class.
///
/// # Errors
/// Returns the reason if `json` is not a JSON object, or has a class already.
pub(super) fn merged(
    json: Option<&[u8]>,
    rules: JsonRules,
    id: i64,
    class: &str,
) -> Result<Vec<u8>, Message> {
    let class = serde_json::Value::from(class); // with escapes
    let fields = format!("\"class\":{id},\"class_name\":{class}");
    let Some(json) = json else { return Ok(format!("{{{fields}}}").into_bytes()) };
    let names = names(json, rules).map_err(
        |fault| message!("its JSON has a fault: {why}"; why = crate::json_rules::sentence(&fault)),
    )?;
    if let Some(field) = FIELDS.iter().find(|field| names.iter().any(|name| name == *field)) {
        return Err(
            message!("its JSON has a field '{field}' already, which {label} would replace; remove the field, or pack \
                 without {label}"; label = Name::Label),
        );
    }
    let close = json.iter().rposition(|&b| b == b'}').expect("an object ends with a brace");
    let comma = if names.is_empty() { "" } else { "," };
    let start = json[..close].trim_ascii_end();
    Ok([start, comma.as_bytes(), fields.as_bytes(), b"}"].concat())
}

/// Returns the names of an object's members.
fn names(json: &[u8], rules: JsonRules) -> Result<Vec<String>, JsonFault> {
    check_object(json, rules)?;
    let mut names = Vec::new();
    Scan::new(json, rules)?.object(|scan, name| {
        names.push(unescaped(scan.piece(name)).into_owned());
        scan.skip()
    })?;
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Result<String, Message> {
        merged(Some(json.as_bytes()), JsonRules::Strict, 7, "a \"b\"")
            .map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn fields_are_kept_byte_for_byte_and_the_class_is_added() {
        let class = r#""class":7,"class_name":"a \"b\"""#;
        assert_eq!(
            merged(None, JsonRules::Strict, 7, "a \"b\"").unwrap(),
            format!("{{{class}}}").into_bytes()
        );
        assert_eq!(text("{}").unwrap(), format!("{{{class}}}"));
        assert_eq!(text(" { } \n").unwrap(), format!(" {{{class}}}"));
        let kept = r#"{"x": 1.50, "n": {"class": 2}, "big": 123456789012345678901"#;
        assert_eq!(text(&format!("{kept} }}\n")).unwrap(), format!("{kept},{class}}}"));
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
