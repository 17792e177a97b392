//! Classes on lines: names, with or without numbers and WordNet ids before them, as data sets are published with. Pure.

use std::collections::BTreeSet;

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_table::{Cell, TableRow};

use super::class_list::ListedClass;

/// What separates a number from a name.
const BETWEEN: [char; 4] = [' ', '\t', ',', ':'];

/// Returns the classes of lines.
///
/// All lines have the same form: `NAME`, `NUMBER NAME`, or `NAME NUMBER`, whose numbers are 0 or 1, 2, 3 and so on. A name
/// may be `n01440764 tench, Tinca tinca`, or of two texts with a tab between them: the first one is the name of the class
/// then. A slash before all names is none of them.
///
/// # Errors
/// Returns the reason for an empty line.
pub(super) fn of_lines(text: &str) -> Result<Vec<ListedClass>, Message> {
    // Lists as that of CIFAR-10 end with an empty line.
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim).collect();
    if let Some(line) = lines.iter().position(|line| line.is_empty()) {
        return Err(message!("line {} is empty; give a name on each line", line + 1));
    }
    let Some(Numbered { names, ids }) = numbers_first(&lines).or_else(|| numbers_last(&lines))
    else {
        return Ok(named(&lines));
    };
    Ok(named(&names).into_iter().zip(ids).map(|(class, id)| class.numbered(id)).collect())
}

/// Lines of a name and a number each.
struct Numbered<'t> {
    names: Vec<&'t str>,
    ids: Vec<i64>,
}

impl<'t> Numbered<'t> {
    /// Returns the lines unless a name or a number is there twice.
    fn of(pairs: Vec<(&'t str, i64)>) -> Option<Numbered<'t>> {
        let names: BTreeSet<&str> = pairs.iter().map(|pair| pair.0).collect();
        let ids: BTreeSet<i64> = pairs.iter().map(|pair| pair.1).collect();
        let differ = names.len() == pairs.len() && ids.len() == pairs.len();
        let (names, ids) = pairs.into_iter().unzip();
        differ.then_some(Numbered { names, ids })
    }
}

fn numbers_first<'t>(lines: &[&'t str]) -> Option<Numbered<'t>> {
    let pairs = lines.iter().map(|line| {
        let end = line.find(BETWEEN)?;
        let name = line[end..].trim_start_matches(BETWEEN);
        Some((name, line[..end].parse().ok()?)).filter(|_| !name.is_empty())
    });
    pairs.collect::<Option<_>>().and_then(Numbered::of)
}

/// Names may end with a number, so the numbers of all lines must be those of a list.
fn numbers_last<'t>(lines: &[&'t str]) -> Option<Numbered<'t>> {
    let pairs = lines.iter().map(|line| {
        let start = line.rfind(BETWEEN)?;
        let name = line[..start].trim_end_matches(BETWEEN);
        Some((name, line[start + 1..].parse().ok()?)).filter(|_| !name.is_empty())
    });
    let found = pairs.collect::<Option<_>>().and_then(Numbered::of)?;
    let sorted: BTreeSet<i64> = found.ids.iter().copied().collect();
    let count = sorted.len() as i64;
    let is_list = sorted.iter().copied().eq(0..count) || sorted.iter().copied().eq(1..=count);
    is_list.then_some(found)
}

/// Returns the classes of names, some of which have a text behind them.
fn named(names: &[&str]) -> Vec<ListedClass> {
    let from_root = names.iter().all(|name| name.starts_with('/'));
    let names = names.iter().map(|name| if from_root { &name[1..] } else { name });
    let have_ids = names.clone().all(|name| is_wordnet(name.split(BETWEEN).next()));
    let have_tabs = names.clone().all(|name| name.contains('\t'));
    let split = names.map(|name| {
        let end = if have_ids { name.find(BETWEEN) } else { name.find('\t').filter(|_| have_tabs) };
        let end = end.unwrap_or(name.len());
        ListedClass::new(name[..end].trim_end().into()).called(name[end..].trim_matches(BETWEEN))
    });
    split.collect()
}

/// Returns true for an id of WordNet as ImageNet writes it: `n01440764`.
fn is_wordnet(word: Option<&str>) -> bool {
    let digits = word.and_then(|word| word.strip_prefix('n'));
    digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the classes of a table's rows: a column of numbers, if there is one, then the name, then its text. A first row
/// with the names of the columns is none.
///
/// # Errors
/// Returns the reason for a row without a name.
pub(super) fn of_rows(rows: &[Vec<String>]) -> Result<Vec<ListedClass>, Message> {
    let Some(columns) = rows.first().map(Vec::len) else { return Ok(Vec::new()) };
    let below = &rows[1..];
    let has_header =
        of_numbers(rows).is_none() && (of_numbers(below).is_some() || is_header(&rows[0]));
    let first = usize::from(has_header);
    let number = of_numbers(&rows[first..]);
    let texts: Vec<usize> = (0..columns).filter(|column| Some(*column) != number).collect();
    let classes = rows[first..].iter().zip(first + 1..).map(|(row, line)| {
        let name = texts.first().or(number.as_ref()).map_or("", |&column| &row[column]);
        if name.is_empty() {
            return Err(message!("row {line} has no name of a class"));
        }
        let text = texts.get(1).map_or("", |&column| &row[column]);
        let class = ListedClass::new(name.into()).called(text);
        Ok(match number.filter(|_| !texts.is_empty()) {
            Some(column) => class.numbered(row[column].parse().expect("a column of numbers")),
            None => class,
        })
    });
    classes.collect()
}

/// Returns the first column of whole numbers.
fn of_numbers(rows: &[Vec<String>]) -> Option<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).find(|&column| rows.iter().all(|row| row[column].parse::<i64>().is_ok()))
}

/// Returns true for a row of names of columns.
fn is_header(row: &[String]) -> bool {
    const NAMES: [&str; 8] =
        ["labelname", "label", "class", "class_name", "classname", "name", "category", "synset"];
    row.first().is_some_and(|field| NAMES.contains(&field.to_ascii_lowercase().as_str()))
}

/// Returns the text of a cell.
pub(super) fn field(row: &TableRow, column: usize) -> String {
    match row.cell(column) {
        Cell::Word(span) | Cell::Text(span) | Cell::Digits(span) => row.text(span).into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(class: &ListedClass) -> Option<String> {
        Some(class.details.get("text")?.as_str()?.to_string())
    }

    /// Name, number and text of each class.
    fn read(text: &str) -> Vec<(String, Option<i64>, Option<String>)> {
        let classes = of_lines(text).unwrap().into_iter();
        classes.map(|class| (class.name.clone(), class.id, text_of(&class))).collect()
    }

    fn class(
        name: &str,
        id: Option<i64>,
        text: Option<&str>,
    ) -> (String, Option<i64>, Option<String>) {
        (name.into(), id, text.map(Into::into))
    }

    #[test]
    fn numbers_are_before_or_behind_names() {
        let wanted = [class("cat", Some(1), None), class("hot dog", Some(2), None)];
        for text in
            ["1 cat\n2 hot dog\n", "1: cat\r\n2: hot dog", "1\tcat\n2\thot dog", "1,cat\n2,hot dog"]
        {
            assert_eq!(read(text), wanted, "{text}");
        }
        // The form of Places365.
        let places = [class("a/airfield", Some(0), None), class("a/cabin", Some(1), None)];
        assert_eq!(read("/a/airfield 0\n/a/cabin 1\n"), places);
        // The form of CUB-200.
        assert_eq!(read("1 001.Albatross\n")[0], class("001.Albatross", Some(1), None));
    }

    #[test]
    fn names_with_blanks_and_numbers_stay_whole() {
        assert_eq!(read("hot dog\ncat\n")[0], class("hot dog", None, None));
        assert_eq!(read("area 51\nroute 66\n")[0], class("area 51", None, None));
        assert_eq!(read("7 up\n7 seas\n")[0], class("7 up", None, None));
        assert_eq!(read("3\n4\n")[0], class("3", None, None));
        assert!(of_lines("a\n\nb").unwrap_err().text().contains("line 2 is empty"));
        assert_eq!(read("a\nb\n\r\n"), read("a\nb"));
    }

    #[test]
    fn ids_of_wordnet_are_names_and_what_follows_is_text() {
        let tench = class("n01440764", None, Some("tench, Tinca tinca"));
        assert_eq!(read("n01440764 tench, Tinca tinca\nn02012849 crane\n")[0], tench);
        assert_eq!(read("n01440764\ttench, Tinca tinca\n")[0], tench);
        assert_eq!(read("n01440764\n")[0], class("n01440764", None, None));
        assert_eq!(read("3 n01440764 tench\n")[0], class("n01440764", Some(3), Some("tench")));
    }
}
