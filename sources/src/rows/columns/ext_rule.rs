//! `ExtRule`: the extension of the parts that the values of a column become. Pure.

use tarflume_base::check::sniff;

/// The rule for the extension of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExtRule {
    /// This one.
    Fixed(String),
    /// That of the image's format, after a prefix; without a known format the second text.
    Content(String, String),
    /// Of the values of a list: this name, the number of the value, and that of the image's format, if it is known.
    Numbered(String),
    /// Of the values of a list: the number of the value and this name; that of the image's format if it is absent.
    Counted(Option<String>),
}

impl ExtRule {
    /// Returns the extension of a value. That of a value of a list has its number, too.
    pub(crate) fn of(&self, value: &[u8]) -> String {
        match self {
            ExtRule::Content(prefix, other) => match sniff::ext(value) {
                Some(ext) => format!("{prefix}{ext}"),
                None => other.clone(),
            },
            _ => self.usual().to_string(),
        }
    }

    /// Returns the extension of value `number` of a list.
    pub(crate) fn numbered(&self, number: usize, value: &[u8]) -> String {
        match (self, sniff::ext(value)) {
            (ExtRule::Counted(Some(name)), _) => format!("{number}.{name}"),
            (ExtRule::Counted(None), format) => format!("{number}.{}", format.unwrap_or("bin")),
            (_, Some(format)) => format!("{}.{number}.{format}", self.usual()),
            (_, None) => format!("{}.{number}", self.usual()),
        }
    }

    /// Returns the extension, the one of other bytes if that of an image is known only later.
    pub(crate) fn usual(&self) -> &str {
        match self {
            ExtRule::Fixed(ext) => ext,
            ExtRule::Content(_, other) => other,
            ExtRule::Numbered(name) => name,
            ExtRule::Counted(name) => name.as_deref().unwrap_or("bin"),
        }
    }

    /// Returns true if a value is a list, each of whose elements is a part.
    pub(crate) fn is_of_list(&self) -> bool {
        matches!(self, ExtRule::Numbered(_) | ExtRule::Counted(_))
    }

    /// Returns the rule for a message.
    pub(crate) fn to_text(&self) -> String {
        match self {
            ExtRule::Fixed(ext) => ext.clone(),
            ExtRule::Content(prefix, _) if !prefix.is_empty() => format!("{prefix}EXT"),
            ExtRule::Content(_, other) => format!("{other}, unless it is an image"),
            ExtRule::Numbered(name) => format!("{name}.N.EXT"),
            ExtRule::Counted(name) => format!("N.{}", name.as_deref().unwrap_or("EXT")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_extension_of_their_format_where_the_rule_has_none() {
        let jpeg: &[u8] = b"\xff\xd8\xff\xe0";
        let content = ExtRule::Content("a.".into(), "bin".into());
        assert_eq!([content.of(jpeg), content.of(b"x")], ["a.jpg", "bin"]);
        assert_eq!(ExtRule::Fixed("jpg".into()).of(b"x"), "jpg");
        let numbered = ExtRule::Numbered("frame".into());
        assert_eq!(
            [numbered.numbered(2, jpeg), numbered.numbered(0, b"x")],
            ["frame.2.jpg", "frame.0"]
        );
        assert_eq!(ExtRule::Counted(Some("jpg".into())).numbered(1, b"x"), "1.jpg");
        let counted = ExtRule::Counted(None);
        assert_eq!([counted.numbered(1, jpeg), counted.numbered(1, b"x")], ["1.jpg", "1.bin"]);
    }
}
