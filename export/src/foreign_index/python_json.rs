//! JSON strings as Python's `json.dump` writes names of files.

/// Quotes a name in ASCII: other characters as `\uXXXX` in UTF-16, bytes that are not UTF-8 as lone surrogates
/// (`surrogateescape`), which is how Python decodes them.
pub(super) fn string(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                ' '..='\u{7e}' => text.push(letter),
                _ => {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\udc{byte:02x}"));
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn names_are_quoted_as_python_quotes_them() {
        // python3 -c 'import json; print(json.dumps(NAME.decode("utf-8", "surrogateescape")))'
        assert_eq!(
            string("a\"\\\n\u{1}/é😀\u{7f}".as_bytes()),
            r#""a\"\\\n\u0001/\u00e9\ud83d\ude00\u007f""#
        );
        assert_eq!(string(b"\xff.jpg"), r#""\udcff.jpg""#);
    }
}
