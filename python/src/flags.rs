//! Flags of the command line in the texts of `tarflume-packer`, as keywords of Python: `--label folder` is
//! `label="folder"`. Pure text.

/// Flags without a value.
const SWITCHES: [&str; 9] = [
    "entry-points",
    "ext-by-content",
    "follow-links",
    "force",
    "fresh",
    "ignore-zeros",
    "per-line",
    "special-tokens",
    "split-special-tokens",
];

/// Flags whose values are words, which other words of a sentence are not.
const WORDS: [(&str, &[&str]); 14] = [
    ("check", &["none", "structure", "decode"]),
    ("join", &["none", "auto"]),
    ("json", &["text", "fields"]),
    ("json-rules", &["strict", "python"]),
    ("key-by", &["first-dot", "last-dot"]),
    ("label", &["folder", "path"]),
    ("level", &["quick", "full", "decode"]),
    ("names", &["allow", "refuse", "replace"]),
    ("numbers", &["text", "nearest"]),
    ("on-problem", &["fail", "skip", "quarantine"]),
    ("require", &["image", "json", "txt"]),
    ("split-by", &["folder", "none", "source"]),
    ("to", &["folder", "csv", "mds", "litdata", "tfrecord", "parquet", "hf"]),
    ("compress", &["zstd"]),
];

/// Flags whose values are extensions.
const EXTENSIONS: [&str; 2] = ["keep-empty", "require"];

/// Words of a sentence that no extension is.
const NO_EXTENSIONS: [&str; 8] = ["and", "for", "if", "is", "it", "or", "the", "to"];

/// Replaces flags of the command line by keywords. Commands between backquotes do not change.
pub(crate) fn keywords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let before = &rest[..at];
        let behind = &rest[at + 2..];
        out.push_str(before);
        let in_command = out.matches('`').count() % 2 == 1;
        let begins = out.is_empty() || out.ends_with([' ', '(', '\n']);
        if in_command || !begins {
            out.push_str("--");
            rest = behind;
            continue;
        }
        let end = behind.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        let (name, more) = behind.split_at(end.unwrap_or(behind.len()));
        out.push_str(&name.replace('-', "_"));
        rest = more;
        if SWITCHES.contains(&name) {
            out.push_str("=True");
        } else if name == "pair" && more.starts_with(' ') {
            rest = pairs(&more[1..], &mut out);
        } else if let Some(value) = more.strip_prefix(' ').and_then(|more| value(name, more)) {
            out.push('=');
            out.push_str(&quoted(value));
            rest = &more[1 + value.len()..];
            rest = others(rest, &mut out);
        }
    }
    out.push_str(rest);
    out
}

/// The value of a flag at the beginning of `behind`; `None` if a word of the sentence follows.
fn value<'t>(name: &str, behind: &'t str) -> Option<&'t str> {
    let whole = behind.split([' ', '\n']).next().unwrap_or(behind);
    let word = whole.trim_end_matches([',', ';', ':', '.', ')']);
    let known = WORDS.iter().find(|(flag, _)| *flag == name).map(|(_, words)| *words);
    let is_value = !word.is_empty()
        && (!is_word(word)
            || whole.ends_with(':')
            || known.is_some_and(|words| words.contains(&word))
            || (EXTENSIONS.contains(&name) && !NO_EXTENSIONS.contains(&word)));
    is_value.then_some(word)
}

fn is_word(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_lowercase())
}

/// The folders and parts of `--pair` as a dict; returns the rest of the text.
fn pairs<'t>(mut text: &'t str, out: &mut String) -> &'t str {
    let mut pairs: Vec<String> = Vec::new();
    loop {
        let word = text.split([' ', '\n', ',', ';', ':']).next().unwrap_or(text);
        let Some((folder, part)) = word.split_once('=') else { break };
        pairs.push(format!("\"{folder}\": \"{part}\""));
        text = text[word.len()..].strip_prefix(' ').unwrap_or(&text[word.len()..]);
    }
    if pairs.is_empty() {
        out.push(' ');
    } else {
        out.push_str(&format!("={{{}}}", pairs.join(", ")));
        if text.starts_with(|c: char| c.is_alphanumeric()) {
            out.push(' ');
        }
    }
    text
}

/// Further values of a flag, ` or case=allow`; returns the rest of the text.
fn others<'t>(text: &'t str, out: &mut String) -> &'t str {
    let Some(more) = text.strip_prefix(" or ") else { return text };
    let Some(word) = value("", more).filter(|word| word.contains('=')) else { return text };
    out.push_str(&format!(" or {}", quoted(word)));
    &more[word.len()..]
}

/// A value as Python writes it; `skip|quarantine` are two.
fn quoted(value: &str) -> String {
    if value.bytes().all(|b| b.is_ascii_digit()) {
        return value.into();
    }
    let words: Vec<String> = value
        .split('|')
        .map(|word| format!("\"{}\"", word.trim_matches(['"', '\'']).replace('\\', "\\\\")))
        .collect();
    words.join(" or ")
}
