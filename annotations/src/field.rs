//! `Field`: where the values of a sample's objects are.

use std::ops::Range;

use tarflume_formats::json::{JsonRules, Pointer, Scan, Token, find};

use crate::fault::{Fault, Wrong};

/// Names of the part that an error lists.
const SHOWN: usize = 12;

/// Where the values of a sample's objects are: the list at a JSON pointer (`/boxes`), or one member of each object of a list
/// (`/annotations/*/bbox`).
///
/// ```
/// use tarflume_annotations::field::Field;
///
/// assert!(Field::parse("/annotations/*/bbox").is_ok());
/// assert!(Field::parse("boxes").is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Field {
    text: String,
    list: Pointer,
    member: Option<Pointer>,
}

impl Field {
    /// Parses a pointer, of which one step may be `*`.
    ///
    /// # Errors
    /// Returns a sentence that shows the form.
    pub fn parse(text: &str) -> Result<Field, String> {
        let (list, member) = match text.split_once("/*") {
            Some((_, rest)) if rest.contains("/*") => {
                return Err(format!("{text:?} has two steps `*`, and objects are in one list"));
            }
            Some((list, rest)) if rest.is_empty() || rest.starts_with('/') => (list, Some(rest)),
            _ => (text, None),
        };
        let member = member.filter(|member| !member.is_empty()).map(Pointer::parse).transpose()?;
        Ok(Field { text: text.to_string(), list: Pointer::parse(list)?, member })
    }

    /// The pointer as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Calls `each` at the value of each object, with its number; it takes the value. Returns how many objects there are. A
    /// list that is `null` has none.
    ///
    /// # Errors
    /// The text is not JSON, the pointer leads to no list, or an error of `each`; the fault has the pointer, the number of
    /// the object and the byte.
    pub(crate) fn each(
        &self,
        bytes: &[u8],
        rules: JsonRules,
        mut each: impl FnMut(&mut Scan<'_>, u64) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let found = find(bytes, &self.list, rules).map_err(|fault| self.named(fault.into(), 0))?;
        let Some(at) = found else {
            let names = names(bytes, rules);
            return Err(self.named(Wrong::Missing { names }.into(), 0));
        };
        let walked = self.walk(&bytes[at.clone()], rules, &mut each);
        walked.map_err(|fault| self.named(fault, at.start))
    }

    /// As [`Field::each`], over the bytes of the list; bytes of faults are counted from its begin.
    fn walk(
        &self,
        list: &[u8],
        rules: JsonRules,
        each: &mut impl FnMut(&mut Scan<'_>, u64) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let mut scan = Scan::new(list, rules)?;
        match scan.token()? {
            Token::Array => {}
            Token::Null => return Ok(0),
            other => return Err(wrong_kind("a list with a value for each object", other).into()),
        }
        let mut count = 0;
        scan.array(|scan, number| {
            count = number + 1;
            scan.token()?;
            let byte = scan.at();
            let taken = match &self.member {
                None => each(scan, number),
                Some(member) => self.of_member(list, scan, member, |scan| each(scan, number)),
            };
            taken.map_err(|fault| Fault {
                object: Some(number),
                byte: fault.byte.or(Some(byte)),
                ..fault
            })
        })?;
        Ok(count)
    }

    /// Calls `each` at the member of the next element.
    fn of_member(
        &self,
        list: &[u8],
        scan: &mut Scan<'_>,
        member: &Pointer,
        each: impl FnOnce(&mut Scan<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let start = scan.at();
        scan.skip()?;
        let element = &list[start..scan.at()];
        let rules = scan.rules();
        let found: Option<Range<usize>> = find(element, member, rules)?;
        let Some(at) = found else {
            return Err(Wrong::Missing { names: names(element, rules) }.into());
        };
        let mut inner = Scan::new(&element[at.clone()], rules)?;
        inner.token()?;
        each(&mut inner).map_err(|fault| Fault {
            byte: fault.byte.map(|byte| start + at.start + byte),
            ..fault
        })
    }

    /// A fault with this pointer; its byte is counted from `start`.
    pub(crate) fn named(&self, fault: Fault, start: usize) -> Fault {
        let byte = fault.byte.map(|byte| start + byte);
        Fault { pointer: self.text.clone(), byte, ..fault }
    }
}

/// The error of a value of another kind.
pub(crate) fn wrong_kind(expected: &'static str, found: Token) -> Wrong {
    let found = match found {
        Token::Null => "null",
        Token::True | Token::False => "true or false",
        Token::Number => "a number",
        Token::String => "a text",
        Token::Array => "a list",
        Token::Object => "an object",
    };
    Wrong::Kind { expected, found }
}

/// The first names of an object.
fn names(bytes: &[u8], rules: JsonRules) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(scan) = Scan::new(bytes, rules) else { return names };
    let mut scan = scan.with_repeats();
    if !matches!(scan.token(), Ok(Token::Object)) {
        return names;
    }
    // A fault was reported before.
    _ = scan.object(|scan, name| {
        if names.len() < SHOWN {
            names.push(scan.piece(name).to_string());
        }
        scan.skip()
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(pointer: &str, text: &str) -> Result<Vec<String>, Fault> {
        let mut found = Vec::new();
        Field::parse(pointer).unwrap().each(text.as_bytes(), JsonRules::Strict, |scan, _| {
            found.push(scan.take_number()?.text().to_string());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn lists_and_members_of_lists_are_walked() {
        assert_eq!(numbers("/a/b", r#"{"a": {"b": [1, 2.5]}}"#).unwrap(), ["1", "2.5"]);
        let objects = r#"{"x": [{"y": {"z": 7}}, {"y": {"z": 8, "q": []}}]}"#;
        assert_eq!(numbers("/x/*/y/z", objects).unwrap(), ["7", "8"]);
        assert_eq!(numbers("/x/*", r#"{"x": [3]}"#).unwrap(), ["3"]);
        assert_eq!(numbers("/*/y", r#"[{"y": 3}]"#).unwrap(), ["3"]);
        assert!(numbers("/a", r#"{"a": null}"#).unwrap().is_empty());
        assert!(numbers("/a", r#"{"a": []}"#).unwrap().is_empty());
    }

    #[test]
    fn faults_name_the_pointer_the_object_and_the_byte() {
        let shown = |pointer: &str, text: &str| numbers(pointer, text).unwrap_err().to_string();
        assert_eq!(
            shown("/b", r#"{"a": 1, "c": 2}"#),
            r#"JSON pointer "/b": there is no value; the part has "a", "c""#
        );
        assert_eq!(
            shown("/b", r#"{"b": 1}"#),
            r#"JSON pointer "/b": expected a list with a value for each object, found a number"#
        );
        let second = shown("/b", r#"{"b": [1, "x"]}"#);
        assert!(second.starts_with(r#"JSON pointer "/b", object 1: "#), "{second}");
        assert!(second.ends_with("at byte 10 of the part"), "{second}");
        let member = shown("/b/*/c", r#"{"b": [{"c": 1}, {"d": 1}]}"#);
        assert!(member.contains(r#"object 1: there is no value; the part has "d""#), "{member}");
        assert!(Field::parse("/a/*/b/*/c").is_err());
    }
}
