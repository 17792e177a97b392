//! Parameters and variables have names: no tuple is a parameter, no `let` takes two expressions apart, no `match` asks
//! for a `bool`, and closures that have a name become fewer.
//!
//! Knows only as much of the syntax as this takes.

use super::sources;

/// Folders without these forms. One that is clean joins the list.
const CLEAN: [&str; 7] =
    ["cache", "fixtures", "formats", "fuzz/fuzz_targets", "jpeg", "order", "store"];

/// The most closures that are bound by `let`, by folder. A function without a capture is easier to find, to test and to
/// describe. Lower a number once there are fewer.
const MOST_CLOSURES: [(&str, usize); 12] = [
    ("cache", 13),
    ("command", 104),
    ("fixtures", 8),
    ("formats", 77),
    ("fuzz/fuzz_targets", 6),
    ("jpeg", 103),
    ("order", 24),
    ("packer", 610),
    ("python/src", 36),
    ("reader", 484),
    ("store", 36),
    ("tokens", 65),
];

/// Returns the length of the comment or literal at the start of `text`; `None` if there is another token.
fn not_code(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return text.find("*/").map(|at| at + 2);
    }
    let prefix = text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len());
    let raw = text[prefix..].trim_start_matches('#');
    let marks = text.len() - prefix - raw.len();
    if ["r", "br", "cr"].contains(&&text[..prefix]) && raw.starts_with('"') {
        let end = format!("\"{}", "#".repeat(marks));
        let start = prefix + marks + 1;
        return text[start..].find(&end).map(|at| start + at + end.len());
    }
    let is_prefixed = ["", "b", "c"].contains(&&text[..prefix]);
    if is_prefixed && text[prefix..].starts_with('"') {
        return quoted(&text[prefix..], '"').map(|length| prefix + length);
    }
    let mut chars = text.chars();
    if chars.next() != Some('\'') {
        return None;
    }
    // A lifetime has no second quote behind one character.
    let is_char = chars.next() == Some('\\') || chars.next() == Some('\'');
    is_char.then(|| quoted(text, '\'')).flatten()
}

/// Returns the length of a literal that begins and ends with `quote`.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = true; // the first quote
    for (at, c) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' {
            is_escaped = true;
        } else if c == quote {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// Returns `text` with spaces instead of comments and literals; newlines stay.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let is_inside_word = code.ends_with(is_of_word) && is_of_word(c);
        let skipped = if is_inside_word { None } else { not_code(&text[at..]) };
        match skipped {
            Some(length) => {
                let blank = text[at..at + length].chars();
                code.extend(blank.map(|c| if c == '\n' { '\n' } else { ' ' }));
                at += length;
            }
            None => {
                code.push(c);
                at += c.len_utf8();
            }
        }
    }
    code
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns where `word` stands alone in `code`.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !code[..at].ends_with(is_of_word) && !code[at + word.len()..].starts_with(is_of_word)
    })
}

/// Divides the text between the bracket at the start of `code` and its partner at commas, and returns the rest behind
/// it, too. `<` and `>` are brackets only in types: in expressions they also compare.
fn list<'a>(code: &'a str, brackets: &[&str; 2]) -> Option<(Vec<&'a str>, &'a str)> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut from = 1;
    let mut before = ' ';
    for (at, c) in code.char_indices() {
        let is_arrow = c == '>' && (before == '-' || before == '=');
        before = c;
        if brackets[0].contains(c) {
            depth += 1;
        } else if brackets[1].contains(c) && !is_arrow {
            depth -= 1;
        }
        if depth == 0 || (depth == 1 && c == ',') {
            parts.push(&code[from..at]);
            from = at + 1;
        }
        if depth == 0 {
            parts.retain(|part| !part.trim().is_empty());
            return Some((parts, &code[at + 1..]));
        }
    }
    None
}

const OF_TYPES: [&str; 2] = ["([{<", ")]}>"];
const OF_EXPRESSIONS: [&str; 2] = ["([{", ")]}"];

/// Returns the parameters behind the word `fn`, `Fn`, `FnMut` or `FnOnce`, of a function or of a type.
fn parameters(code: &str) -> Option<Vec<&str>> {
    let code = code.trim_start().trim_start_matches(is_of_word).trim_start();
    let code = if code.starts_with('<') { list(code, &OF_TYPES)?.1.trim_start() } else { code };
    if code.starts_with('(') {
        list(code, &OF_TYPES).map(|(parameters, _)| parameters)
    } else {
        None
    }
}

/// True for a tuple of two or more types, and for a reference to one.
fn is_tuple(kind: &str) -> bool {
    let mut kind = kind.trim_start();
    while let Some(behind) = kind.strip_prefix('&') {
        let behind = behind.trim_start();
        let is_named = behind.starts_with('\'');
        let behind = if is_named { behind[1..].trim_start_matches(is_of_word) } else { behind };
        let behind = behind.trim_start();
        kind = behind.strip_prefix("mut ").unwrap_or(behind).trim_start();
    }
    kind.starts_with('(') && list(kind, &OF_TYPES).is_some_and(|(types, _)| types.len() > 1)
}

/// True if a parameter is a tuple, by its pattern or by its type.
fn has_no_name(parameter: &str) -> bool {
    let parameter = parameter.trim_start();
    let colon = parameter
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|&at| !parameter[..at].ends_with(':') && !parameter[at + 1..].starts_with(':'));
    let kind = colon.map_or(parameter, |at| &parameter[at + 1..]);
    is_tuple(kind) || colon.is_some_and(|_| parameter.starts_with('('))
}

fn tuple_parameters(code: &str) -> Vec<usize> {
    let lists = ["fn", "Fn", "FnMut", "FnOnce"].into_iter();
    let places = lists.flat_map(|word| words(code, word).map(|at| (at, &code[at + word.len()..])));
    let found = places.filter(|(_, behind)| {
        parameters(behind).is_some_and(|all| all.into_iter().any(has_no_name))
    });
    found.map(|(at, _)| at).collect()
}

/// True for the text behind a `let` that takes a tuple apart which stands there.
fn is_pair(code: &str) -> bool {
    let code = code.trim_start();
    if !code.starts_with('(') {
        return false;
    }
    let Some((names, behind)) = list(code, &OF_EXPRESSIONS) else { return false };
    let Some((kind, value)) = behind.split_once('=') else { return false };
    if names.len() < 2 || !(kind.trim().is_empty() || kind.trim_start().starts_with(':')) {
        return false;
    }
    let value = value.trim_start();
    let value = if value.starts_with('(') { list(value, &OF_EXPRESSIONS) } else { None };
    value.is_some_and(|(parts, behind)| {
        let behind = behind.trim_start();
        parts.len() > 1 && (behind.starts_with(';') || behind.starts_with("else"))
    })
}

/// True for the text behind a `match` that asks for a `bool`, or for several.
fn asks_for_bools(code: &str) -> bool {
    let Some(start) = code.find('{') else { return false };
    let head = code[..start].trim();
    let Some((pattern, _)) = code[start + 1..].split_once("=>") else { return false };
    let pattern = pattern.trim();
    let words = pattern.trim_start_matches('(').trim_end_matches(')').split([',', '|']);
    let are_bools = words.clone().all(|word| ["true", "false", "_"].contains(&word.trim()));
    let has_one = pattern.contains("true") || pattern.contains("false");
    head == "true" || head == "()" || pattern.starts_with("_ if ") || (are_bools && has_one)
}

/// True for the text behind a `let` that gives a closure a name.
fn names_a_closure(code: &str) -> bool {
    let code = code.trim_start();
    let code = code.strip_prefix("mut ").unwrap_or(code).trim_start();
    let behind = code.trim_start_matches(is_of_word).trim_start();
    let Some((kind, value)) = behind.split_once('=') else { return false };
    let is_one_name = behind.len() < code.len() && (kind.is_empty() || kind.starts_with(':'));
    let value = value.trim_start();
    is_one_name && value.strip_prefix("move").unwrap_or(value).trim_start().starts_with('|')
}

fn behind<'a>(code: &'a str, word: &'a str, is: fn(&str) -> bool) -> Vec<usize> {
    words(code, word).filter(|at| is(&code[at + word.len()..])).collect()
}

/// Returns the lines of `text` that the rule refuses.
fn refused(text: &str) -> Vec<(usize, &'static str)> {
    let code = code_of(text);
    let kinds = [
        (tuple_parameters(&code), "a parameter is a tuple: give its parts names"),
        (behind(&code, "let", is_pair), "a `let` of two things: write two"),
        (behind(&code, "match", asks_for_bools), "a `match` on a `bool`: write `if`"),
    ];
    let lines =
        kinds.into_iter().flat_map(|(places, what)| places.into_iter().map(move |at| (at, what)));
    lines.map(|(at, what)| (code[..at].lines().count(), what)).collect()
}

#[test]
fn parameters_and_variables_have_names() {
    let mut found = Vec::new();
    for (file, text) in CLEAN.iter().flat_map(|folder| sources(folder)) {
        let lines = refused(&text);
        found.extend(lines.into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn closures_with_a_name_become_fewer() {
    let mut above = Vec::new();
    for (folder, most) in MOST_CLOSURES {
        let files = sources(folder).into_iter();
        let found: usize =
            files.map(|(_, text)| behind(&code_of(&text), "let", names_a_closure).len()).sum();
        if found > most {
            above.push(format!("{folder}: {found}, and {most} are permitted"));
        }
    }
    assert!(above.is_empty(), "write functions, not closures in `let`:\n{}", above.join("\n"));
}

#[test]
fn what_has_no_names_is_found() {
    for text in [
        "fn f((a, b): (u8, u8)) {}",
        "fn f<T: Fn() -> u8>(a: u8, size: &'a mut (u8, T)) {}",
        "fn f((a, b): Alias) {}",
        "fn f(of: impl Fn(&(u8, u8)) -> u8) {}",
        "fn f() {\n    let (a, b): (u8, u8) = (x < 1, y > 2);\n}",
        "let (Ok(a), Ok(b)) = (f(), g()) else { return };",
        "match a { true => 1, false => 2 }",
        "match (a, f(b)) { (true, _) => 1, _ => 2 }",
        "match true { _ if a => 1, _ => 2 }",
    ] {
        assert_eq!(refused(text).len(), 1, "{text}");
    }
    for text in [
        "fn f(a: Vec<(u8, u8)>, b: &[(u8, u8)]) -> (u8, u8) {}",
        "fn f<T>(a: Option<T>, [b, c]: [u8; 2], d: (), e: fn(u8) -> (u8, u8)) {}",
        "let (a, b) = f((1, 2));",
        "let (a, b) = (c, d).min(e);",
        "// fn f((a, b): (u8, u8))\nlet a = \"let (a, b) = (c, d);\";",
        "let a = r#\"match a { true => \"b\" }\"#;",
        "match a { Some(true) => 1, _ => 2 }",
        "let a: &'static str = if b == '\"' { \"c\" } else { \"match a { true => 1 }\" };",
    ] {
        assert!(refused(text).is_empty(), "{text}: {:?}", refused(text));
    }
    for text in ["let a = |b| c;", "let mut a: D = move || c;"] {
        assert_eq!(behind(text, "let", names_a_closure), [0], "{text}");
    }
    assert!(behind("let a = b | c; let d = e(|f| g);", "let", names_a_closure).is_empty());
}
