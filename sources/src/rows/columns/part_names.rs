//! Names of columns -> extensions of parts, and the notes about names that change. Pure.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;

/// Returns the name of a column as an extension, or its first part, that every reader takes for the
/// same: extensions have no upper-case letters, since readers lower them, and no slash, since a key
/// ends after the last one.
pub(crate) fn part_name(column: &str) -> String {
    let chars = column.chars().map(|c| match c {
        '/' | '\0'..='\x1f' | '\x7f' => '_',
        c => c.to_ascii_lowercase(),
    });
    let text: String = chars.collect();
    match text.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => text,
    }
}

/// Returns true for a byte that an extension in the options may have.
pub(crate) fn is_of_extension(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)
}

/// Returns the note that a column is packed under another name.
pub(crate) fn renamed(what: &str, column: &str, ext: &str) -> Message {
    let column = name::shown(column.as_bytes());
    message!("{what} '{column}' is packed as {}", name::shown(ext.as_bytes()))
}

/// Two columns that become the same extension.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Twins<'a> {
    pub(crate) first: &'a str,
    pub(crate) second: &'a str,
    pub(crate) ext: &'a str,
}

/// Returns two columns that become the same extension, from pairs of both.
pub(crate) fn twins(pairs: &[(String, String)]) -> Option<Twins<'_>> {
    let mut sorted: Vec<&(String, String)> = pairs.iter().collect();
    sorted.sort_by_key(|(_, ext)| ext);
    let twice = sorted.windows(2).find(|pair| pair[0].1 == pair[1].1)?;
    Some(Twins { first: &twice[0].0, second: &twice[1].0, ext: &twice[0].1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_extensions_that_all_readers_take_for_the_same() {
        for (column, name) in [
            ("Img", "img"),
            ("é", "é"),
            ("a b", "a b"),
            ("g/X", "g_x"),
            (".x", "_x"),
            ("x.y", "x.y"),
        ] {
            assert_eq!(part_name(column), name);
        }
    }

    fn pair(column: &str, ext: &str) -> (String, String) {
        (column.to_string(), ext.to_string())
    }

    #[test]
    fn two_columns_that_become_one_part_are_found() {
        let pairs = [pair("Img", "img.raw"), pair("x", "x.raw"), pair("img", "img.raw")];
        let found = Twins { first: "Img", second: "img", ext: "img.raw" };
        assert_eq!(twins(&pairs), Some(found));
        assert_eq!(twins(&pairs[..2]), None);
    }
}
