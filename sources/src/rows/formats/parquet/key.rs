//! The key of a row. Reads values that were decoded.

use tarflume_formats::json::{Object, Value};

use super::values::value_at;

/// Returns the key in a row; a file name loses its extension.
pub(super) fn key_of(row: &Object, path: &[String], is_file: bool) -> Option<String> {
    let key = match value_at(row, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    if !is_file {
        return Some(key);
    }
    let key = key.trim_start_matches('/');
    let folder = key.rfind('/').map_or(0, |at| at + 1);
    let dot = key[folder..].rfind('.').filter(|&at| at > 0).map(|at| folder + at);
    Some(key[..dot.unwrap_or(key.len())].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_a_number_or_a_file_name_without_extension() {
        let row = serde_json::json!({"id": 7, "image": {"path": "a.b/c.x.jpg"}, "no": null});
        let Value::Object(row) = Value::from(row) else { panic!("it is an object") };
        for (path, is_file, key) in [
            (&["id"][..], false, Some("7")),
            (&["image", "path"], true, Some("a.b/c.x")),
            (&["no"], false, None),
            (&["other"], false, None),
        ] {
            let path: Vec<String> = path.iter().map(|p| p.to_string()).collect();
            assert_eq!(key_of(&row, &path, is_file).as_deref(), key, "{path:?}");
        }
    }
}
