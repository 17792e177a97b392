//! `Header`: whether the first row of a table without types names the columns, and the signs that it does not.
//!
//! A sign is a field that no writer of tables calls a column: an address, a file or an id like those in the rows
//! below it, a class that occurs below it, a number. Pure.

use std::collections::HashSet;

use tarflume_formats::name;

/// Rows that are compared with the first one.
pub(super) const COMPARED: usize = 64;
/// How often a word of the first row occurs below it, to be a class.
const OFTEN: usize = 2;
/// Bytes of a field that a message quotes.
const QUOTED: usize = 60;

/// Names of columns that have the samples' names, the first one first.
pub const KEY_NAMES: [&str; 14] = [
    "__key__",
    "key",
    "file_name",
    "filename",
    "file",
    "path",
    "image_path",
    "image",
    "image_id",
    "image_name",
    "stem",
    "name",
    "id",
    "id_code",
];

/// What the first row is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Header {
    /// The names of the columns, unless it looks like data.
    #[default]
    Usual,
    /// The names of the columns, whatever it looks like.
    First,
    /// Data; columns are named by their positions.
    None,
    /// Data; these are the names of the columns.
    Names(Vec<String>),
}

impl Header {
    /// Parses `first`, `none`, `NAME|NAME` or `NAME+NAME`, which a shell needs no quotes for.
    pub(super) fn parse(text: &str) -> Header {
        match text {
            "first" => Header::First,
            "none" => Header::None,
            names => {
                let between = if names.contains('|') { '|' } else { '+' };
                Header::Names(names.split(between).map(String::from).collect())
            }
        }
    }

    /// Whether the last name ends with `*`: its column has the rest of a line.
    pub(super) fn has_rest(&self) -> bool {
        matches!(self, Header::Names(names) if names.last().is_some_and(|last| last.ends_with('*')))
    }

    /// Returns the text for the plan's options.
    pub(super) fn planned(&self) -> Option<String> {
        match self {
            Header::Usual => None,
            Header::First => Some("first".into()),
            Header::None => Some("none".into()),
            Header::Names(names) => Some(names.join("|")),
        }
    }
}

/// Returns the words that say what the first row is.
pub(super) const CHOICES: &str = "header=none takes it as data (columns column_1, column_2, ...), header=NAME+NAME, too, with these names \
     for the columns, header=first takes it as their names";

/// Whether a column has the names of samples, by its name.
pub(super) fn names_samples(column: &str) -> bool {
    KEY_NAMES.iter().any(|key| key.eq_ignore_ascii_case(column))
}

/// Returns the beginning of a field in quotes.
fn quoted(field: &str) -> String {
    let end = (0..=QUOTED).rev().find(|&at| field.is_char_boundary(at)).unwrap_or(0);
    let rest = if field.len() > QUOTED { "..." } else { "" };
    format!("'{}{rest}'", name::shown(field.get(..end).unwrap_or(field).as_bytes()))
}

/// Returns why the first row looks like data, given rows below it; `None` if it looks like names.
pub(super) fn looks_like_data(first: &[&str], below: &[Vec<String>]) -> Option<String> {
    for (column, field) in first.iter().map(|field| field.trim()).enumerate() {
        let fields = || below.iter().filter_map(|row| row.get(column)).map(|field| field.trim());
        let sign = if is_address(field) {
            "is an address"
        } else if is_file(field) && fields().next().is_none_or(|next| is_same_kind(field, next)) {
            "names a file"
        } else if is_like_those(field, fields()) {
            "has the form of the fields below it"
        } else if !field.is_empty() && fields().filter(|below| *below == field).count() >= OFTEN {
            "occurs below it, too"
        } else {
            continue;
        };
        return Some(format!("{} {sign}", quoted(field)));
    }
    let number = first.iter().map(|field| field.trim()).find(|field| is_number(field))?;
    let are_names = are_equal_steps(first.iter().map(|field| field.trim()));
    (!are_names).then(|| format!("{} is a number", quoted(number)))
}

fn is_address(field: &str) -> bool {
    let scheme = field.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Returns the extension of a file's name.
fn extension(field: &str) -> Option<&str> {
    let (stem, ext) = field.rsplit_once('.')?;
    let is_ext = (2..=4).contains(&ext.len()) && ext.bytes().all(|b| b.is_ascii_alphanumeric());
    let has_letter = ext.bytes().any(|b| b.is_ascii_alphabetic());
    (is_ext && has_letter && !stem.is_empty() && !field.contains(' ')).then_some(ext)
}

/// Returns true for the name of a file, which has a digit or a folder; `seg.png` is the name of a part.
fn is_file(field: &str) -> bool {
    extension(field).is_some_and(|ext| {
        let stem = &field[..field.len() - ext.len() - 1];
        stem.bytes().any(|b| b.is_ascii_digit() || b == b'/')
    })
}

fn is_same_kind(field: &str, next: &str) -> bool {
    let exts = extension(field).zip(extension(next));
    exts.is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// Returns true if the field and the first two below it differ in nothing but the digits of their numbers: `LJ001-0001`.
fn is_like_those<'f>(field: &str, mut below: impl Iterator<Item = &'f str>) -> bool {
    let has_letter = field.chars().any(char::is_alphabetic);
    let digits = field.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || (!has_letter && digits < 4) || (!has_letter && is_number(field)) {
        return false;
    }
    let skeleton = without_numbers(field);
    let mut same = |need: bool| match below.next() {
        Some(other) => other != field && without_numbers(other) == skeleton,
        None => !need,
    };
    same(true) && same(false)
}

/// Replaces each number by one character.
fn without_numbers(field: &str) -> String {
    let mut out = String::new();
    for c in field.chars() {
        if c.is_ascii_digit() && out.ends_with('#') {
        } else if c.is_ascii_digit() {
            out.push('#')
        } else {
            out.push(c)
        }
    }
    out
}

fn is_number(field: &str) -> bool {
    field.bytes().any(|b| b.is_ascii_digit())
        && field.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && field.parse::<f64>().is_ok()
}

/// Returns true if the numbers among the fields are names of columns: one alone that is 0, or several in equal
/// steps, as data frames count columns, and as tables have years.
fn are_equal_steps<'f>(fields: impl Iterator<Item = &'f str>) -> bool {
    let numbers: Vec<f64> =
        fields.filter(|field| is_number(field)).filter_map(|field| field.parse().ok()).collect();
    let distinct: HashSet<u64> = numbers.iter().map(|number| number.to_bits()).collect();
    match numbers[..] {
        [] => true,
        [number] => number == 0.0,
        [first, second, ..] => {
            let step = second - first;
            step > 0.0
                && distinct.len() == numbers.len()
                && numbers
                    .windows(2)
                    .all(|pair| ((pair[1] - pair[0]) - step).abs() <= step.abs() * 1e-6)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(text: &str, separator: char) -> Option<String> {
        let mut rows = text.lines().map(|line| line.split(separator).collect::<Vec<_>>());
        let first = rows.next().unwrap();
        let below: Vec<Vec<String>> =
            rows.map(|row| row.into_iter().map(String::from).collect()).collect();
        looks_like_data(&first, &below)
    }

    #[test]
    fn rows_of_published_tables_without_header_are_data() {
        for (text, separator, wanted) in [
            (
                "a cat\thttp://x.org/a.jpg\na dog\thttp://x.org/b.jpg",
                '\t',
                "'http://x.org/a.jpg' is an address",
            ),
            ("LJ001-0001|Printing, in\nLJ001-0002|in being", '|', "'LJ001-0001' has the form"),
            ("000001.jpg,cat\n000002.jpg,dog", ',', "'000001.jpg' names a file"),
            ("img/a.png,1\nimg/b.png,0", ',', "'img/a.png' names a file"),
            ("a,cat\nb,dog\nc,cat\nd,cat", ',', "'cat' occurs below it"),
            ("5,0.25,12\n4,0.5,1", ',', "'5' is a number"),
            ("7,x\n2,y", ',', "'7' is a number"),
            ("0012,x\n0013,y\n0014,z", ',', "'0012' is a number"),
            ("word_1.png,Genaxis\nword_2.png,the", ',', "'word_1.png' names a file"),
            ("000001.jpg", ',', "'000001.jpg' names a file"),
        ] {
            let found = sign(text, separator).unwrap_or_else(|| panic!("{text} has names"));
            assert!(found.contains(wanted), "{text}: {found}");
        }
    }

    #[test]
    fn names_of_columns_are_no_data() {
        for text in [
            "file_name,label\na.jpg,cat\nb.jpg,cat",
            "key,seg.png,jpg\na,a.seg.png,a.jpg\nb,b.seg.png,b.jpg",
            ",0,1,2\na,5,6,7",
            "name,0\na,5",
            "country,1990,1991,1992\nGermany,5.1,5.2,5.3",
            "label,1x1,1x2,1x3\n5,0,0,12",
            "id,x1,x2\n1,0.5,0.25\n2,1,1",
            "word,count\nthe,12\nword,3",
            "q1,q2\n4,5\n3,3",
            "image_id,Cardiomegaly\n1,0\n2,1",
            "text",
        ] {
            assert_eq!(sign(text, ','), None, "{text}");
        }
    }
}
