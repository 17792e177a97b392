//! Brace expansion in a shard list, as WebDataset's users write it: `{000..765}`, `{a,b{1..3}}`.
//!
//! Follows the Python package braceexpand 0.1.7, which WebDataset calls, with two differences: an
//! unmatched closing brace is always an error, and the number of names is limited. Pure: accesses no
//! files.

use tarflume_types::{Error, ErrorKind, Result};

/// Maximum number of names that a pattern may expand to.
pub(crate) const MAX_NAMES: usize = 1 << 22;
/// Maximum nesting of braces. Each level uses stack space.
const MAX_DEPTH: usize = 64;

/// Returns all names that `pattern` expands to, in its order.
///
/// - `{7..10}`, `{010..007}`, `{1..10..3}`: numbers, ascending or descending, with an optional step; if
///   one end has leading zeros, all numbers are padded to the length of the longer end;
/// - `{a..e}`, `{e..a..2}`: letters, upper case before lower case;
/// - `{left,right}`, also nested; `{}` and `{one}` stand for themselves;
/// - a backslash escapes the character that follows it.
///
/// # Errors
/// [`ErrorKind::Usage`]: a brace is unmatched. [`ErrorKind::Limit`]: more than `MAX_NAMES` names.
pub fn expand(pattern: &str) -> Result<Vec<String>> {
    let pattern: Vec<char> = pattern.chars().collect();
    if depth(&pattern) > MAX_DEPTH {
        let text = format!("the list of shards nests more than {MAX_DEPTH} braces");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let names = sequence(&pattern, &pattern)?;
    Ok(names.into_iter().map(|name| unescaped(&name)).collect())
}

/// Expands text and braces in sequence: every combination.
fn sequence(text: &[char], whole: &[char]) -> Result<Vec<String>> {
    let mut names = vec![String::new()];
    let mut at = 0;
    let mut start = 0;
    while at < text.len() {
        match text[at] {
            '\\' => at += 1,
            '{' => {
                let close = partner(text, at).ok_or_else(|| unbalanced(whole))?;
                let before: String = text[start..at].iter().collect();
                names = product(names, &[before], whole)?;
                names = product(names, &braces(&text[at + 1..close], whole)?, whole)?;
                (at, start) = (close, close + 1);
            }
            '}' => return Err(unbalanced(whole)),
            _ => {}
        }
        at += 1;
    }
    product(names, &[text[start..].iter().collect()], whole)
}

/// Expands the text between two braces.
fn braces(inside: &[char], whole: &[char]) -> Result<Vec<String>> {
    let text: String = inside.iter().collect();
    if let Some(range) = numbers(&text, whole)? {
        return Ok(range);
    }
    if let Some(range) = letters(&text) {
        return Ok(range);
    }
    let items = split_at_commas(inside);
    if items.len() == 1 {
        let names = sequence(inside, whole)?;
        return Ok(names.into_iter().map(|name| format!("{{{name}}}")).collect());
    }
    let mut names = Vec::new();
    for item in items {
        names.extend(sequence(item, whole)?);
        within_limit(names.len(), whole)?;
    }
    Ok(names)
}

/// Parses `from..to` or `from..to..step`. The sign of the step is ignored.
fn range(text: &str) -> Option<(&str, &str, u64)> {
    let mut ends = text.split("..");
    let from = ends.next()?;
    let to = ends.next()?;
    let step = match ends.next() {
        None => 1,
        Some(step) => {
            let digits = step.strip_prefix('-').unwrap_or(step);
            is_number(digits).then(|| digits.parse().unwrap_or(u64::MAX))?.max(1)
        }
    };
    ends.next().is_none().then_some((from, to, step))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn numbers(text: &str, whole: &[char]) -> Result<Option<Vec<String>>> {
    fn is_integer(end: &str) -> bool {
        is_number(end.strip_prefix('-').unwrap_or(end))
    }

    fn is_padded(end: &str) -> bool {
        end != "0" && end != "-0" && (end.starts_with('0') || end.starts_with("-0"))
    }

    let Some((from, to, step)) = range(text) else { return Ok(None) };
    if !is_integer(from) || !is_integer(to) {
        return Ok(None);
    }
    let Ok(first) = from.parse::<i64>() else { return Err(too_many(whole)) };
    let Ok(last) = to.parse::<i64>() else { return Err(too_many(whole)) };
    let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 0 };
    let count = (first.abs_diff(last) / step).saturating_add(1);
    within_limit(usize::try_from(count).unwrap_or(usize::MAX), whole)?;
    let step = if last >= first { i128::from(step) } else { -i128::from(step) };
    let numbers = (0..count).map(|n| i128::from(first) + i128::from(n) * step);
    Ok(Some(numbers.map(|number| format!("{number:0width$}")).collect()))
}

fn letters(text: &str) -> Option<Vec<String>> {
    fn place(end: &str) -> Option<usize> {
        (end.len() == 1).then(|| LETTERS.find(end)).flatten()
    }

    fn letter(at: usize) -> String {
        LETTERS[at..=at].to_string()
    }

    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (from, to, step) = range(text)?;
    let first = place(from)?;
    let last = place(to)?;
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Some(if first <= last {
        (first..=last).step_by(step).map(letter).collect()
    } else {
        (last..=first).rev().step_by(step).map(letter).collect()
    })
}

/// The brace that closes the one at `open`.
fn partner(text: &[char], open: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = open;
    while at < text.len() {
        match text[at] {
            '\\' => at += 1,
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The maximum number of braces that are open at one place.
fn depth(text: &[char]) -> usize {
    let open = text.iter().scan(0usize, |open, c| {
        match c {
            '{' => *open += 1,
            '}' => *open = open.saturating_sub(1),
            _ => {}
        }
        Some(*open)
    });
    open.max().unwrap_or(0)
}

fn split_at_commas(text: &[char]) -> Vec<&[char]> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '\\' => at += 1,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    items.push(&text[start..]);
    items
}

fn product(names: Vec<String>, tails: &[String], whole: &[char]) -> Result<Vec<String>> {
    within_limit(names.len().saturating_mul(tails.len()), whole)?;
    let mut all = Vec::with_capacity(names.len() * tails.len());
    for name in &names {
        all.extend(tails.iter().map(|tail| format!("{name}{tail}")));
    }
    Ok(all)
}

fn unescaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().is_empty()) {
            ('\\', false) => text.extend(chars.next()),
            _ => text.push(c),
        }
    }
    text
}

fn within_limit(count: usize, whole: &[char]) -> Result<()> {
    if count > MAX_NAMES { Err(too_many(whole)) } else { Ok(()) }
}

fn too_many(whole: &[char]) -> Error {
    let text = format!("the braces of '{}' expand to more than {MAX_NAMES} names", shown(whole));
    Error::new(ErrorKind::Limit, text)
}

fn unbalanced(whole: &[char]) -> Error {
    let text = format!(
        "a brace of '{}' is unmatched; write \\{{ or \\}} for a brace that is part of a name",
        shown(whole)
    );
    Error::usage(text)
}

fn shown(whole: &[char]) -> String {
    tarflume_formats::name::shown(whole.iter().collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests;
