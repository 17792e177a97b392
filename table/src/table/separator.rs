//! `Separator`: what is between the fields of a table without types. Pure.

/// What separates the fields of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One byte, as RFC 4180 describes it: `,`, `;`, a tab.
    Byte(u8),
    /// Blanks and tabs, however many. Those at the begin and the end of a line separate nothing.
    Blanks,
    /// Nothing: a line is one field.
    Lines,
}

impl Separator {
    /// Parses `tab`, `space`, `line` or one character.
    pub(super) fn parse(text: &str) -> Option<Separator> {
        match text {
            "tab" | "\\t" => Some(Separator::Byte(b'\t')),
            "space" => Some(Separator::Blanks),
            "line" => Some(Separator::Lines),
            one if one.len() == 1 && one.is_ascii() => Some(Separator::Byte(one.as_bytes()[0])),
            _ => None,
        }
    }

    /// The text that [`Separator::parse`] reads.
    pub(super) fn word(self) -> String {
        match self {
            Separator::Byte(byte) => char::from(byte).to_string(),
            Separator::Blanks => "space".into(),
            Separator::Lines => "line".into(),
        }
    }
}
