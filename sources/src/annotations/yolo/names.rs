//! The names of classes: one a line, or `names:` of a data set's YAML file.
//!
//! Parses the forms of YAML that such files have: a list in brackets or on lines, or numbers with
//! names. Anything else is an error.

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::KeypointTable;

use crate::annotations::files::text;

/// Limit on the number of classes.
const MAX_CLASSES: usize = 1 << 20;

/// What a data set declares about its labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// The names of classes in the order of their numbers; empty if unknown.
    pub(super) classes: Vec<String>,
    /// The keypoints of an object: `kpt_shape`, `flip_idx` and `kpt_names`.
    pub(super) keypoints: Option<KeypointTable>,
}

impl Names {
    /// Reads a file of names.
    ///
    /// # Errors
    /// Returns an error for a file without names, and if the operating system refuses.
    pub(super) fn read(path: &Path) -> Result<Names, Failure> {
        let text = text(path)?;
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let names = if extension == "yaml" || extension == "yml" {
            Names::of_yaml(&text)
        } else {
            Names::of_lines(&text)
        };
        names.map_err(|why| Failure::bad_data(why).in_file(path))
    }

    fn of_lines(text: &str) -> Result<Names, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Names { classes: lines.map(str::to_string).collect(), keypoints: None }.checked()
    }

    fn checked(self) -> Result<Names, String> {
        match self.classes.len() {
            0 => Err("it has no names of classes".into()),
            count if count > MAX_CLASSES => Err(format!("more than {MAX_CLASSES} classes")),
            _ => Ok(self),
        }
    }

    pub(super) fn of_yaml(text: &str) -> Result<Names, String> {
        let mut names = Names::default();
        let mut flip = Vec::new();
        let mut points = Vec::new();
        let mut lines = text.lines().map(without_comment).peekable();
        while let Some(line) = lines.next() {
            let Some((field, rest)) = line.split_once(':') else { continue };
            let mut block = rest.trim().to_string();
            // A list may begin without indentation; everything else below is indented.
            while let Some(next) = lines.next_if(|next| is_below(next)) {
                block.push('\n');
                block.push_str(next.trim());
            }
            match field {
                "kpt_shape" => names.keypoints = Some(shape(&block)?),
                "flip_idx" => flip = numbers(&block, "flip_idx")?,
                "kpt_names" => points = point_names(&block),
                "names" => names.classes = classes(&block)?,
                _ => {}
            }
        }
        if let Some(table) = &mut names.keypoints {
            (table.flip, table.names) = (flip, points);
            if let Some(fault) = table.fault() {
                return Err(format!("kpt_shape, flip_idx, kpt_names: {fault}"));
            }
        }
        names.checked()
    }
}

fn is_below(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with([' ', '\t', '-', ']', '}'])
}

/// Returns a line without its comment. A `#` in a name has no blank before it.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    line.find(" #").map_or(line, |at| &line[..at]).trim_end()
}

fn shape(text: &str) -> Result<KeypointTable, String> {
    let found = numbers(text, "kpt_shape")?;
    match found.as_slice() {
        [points, values @ 2..=3] if (1..=10_000).contains(points) => {
            Ok(KeypointTable { points: *points, values: *values, ..KeypointTable::default() })
        }
        _ => Err(format!("kpt_shape is '{}', not [points, 2 or 3]", text.trim().escape_debug())),
    }
}

/// Returns the numbers of a list, in brackets or on lines.
fn numbers(block: &str, field: &str) -> Result<Vec<u32>, String> {
    let items: Vec<&str> = match inside(block.trim(), '[', ']') {
        Some(list) => list.split(',').collect(),
        None => block.lines().map(|line| line.trim().trim_start_matches('-')).collect(),
    };
    let items = items.into_iter().map(str::trim).filter(|item| !item.is_empty());
    let numbers = items.map(|item| item.parse().map_err(|_| item.escape_debug().to_string()));
    numbers
        .collect::<Result<_, String>>()
        .map_err(|item| format!("'{item}' in {field} is no whole number"))
}

/// Returns the names of keypoints, which `kpt_names` lists below the number of each class: those of the first class.
fn point_names(block: &str) -> Vec<String> {
    let below = block.lines().map(str::trim).skip_while(|line| line.is_empty()).skip(1);
    below.map_while(|line| line.strip_prefix('-')).map(unquoted).collect()
}

fn classes(block: &str) -> Result<Vec<String>, String> {
    let block = block.trim();
    let items: Vec<&str> = match inside(block, '[', ']').or_else(|| inside(block, '{', '}')) {
        Some(list) => split(list),
        None => block.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
    };
    let mut numbered = BTreeMap::new();
    for (at, item) in items.into_iter().enumerate() {
        let item = item.trim();
        if let Some(name) = item.strip_prefix('-') {
            numbered.insert(at, unquoted(name));
            continue;
        }
        let pair = item.split_once(':').and_then(|(n, name)| Some((n.trim().parse().ok()?, name)));
        match pair {
            Some((number, name)) if !block.starts_with('[') => {
                numbered.insert(number, unquoted(name));
            }
            _ if block.starts_with('[') => {
                numbered.insert(at, unquoted(item));
            }
            _ => return Err(format!("'{}' is no name of a class", item.escape_debug())),
        }
    }
    if numbered.keys().copied().ne(0..numbered.len()) {
        return Err("the numbers of classes are not 0, 1, 2 and so on".into());
    }
    Ok(numbered.into_values().collect())
}

/// Splits at commas outside of quotes.
fn split(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quote = None;
    for (at, c) in list.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None, ',') => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let inside = inside(text, '\'', '\'').or_else(|| inside(text, '"', '"'));
    inside.unwrap_or(text).to_string()
}

/// Returns the text between two characters; `None` if it does not begin and end with them.
fn inside(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close))
}
