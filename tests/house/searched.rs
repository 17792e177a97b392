//! No text of an error or a message is searched or replaced: what a step decides by is a field.
//!
//! Finds code that searches in the text of an error, or in a variable whose name says that it is one. What is searched for is
//! a literal, a reference, a list or a name that begins with a capital letter. A text that another crate gives for its private
//! errors is the exception; each is listed with its reason.

use std::fs;

use super::hidden::FOLDERS;
use super::{root, sources, without_tests};

/// Files that search in such a text, how often, and why.
const EXCEPTIONS: [(&str, usize, &str); 4] = [
    ("command/src/viewer/routes.rs", 1, "breaks a text into the lines of a picture"),
    (
        "store/src/errors/cause.rs",
        2,
        "the errors of `object_store` for a status and a host are private",
    ),
    (
        "store/src/errors/error.rs",
        2,
        "the code of an answer is in its body, and outer errors repeat inner ones",
    ),
    ("table/src/table/parquet/file.rs", 1, "`parquet` has no kind for a wrong checksum of a page"),
];

/// Methods that search in a text.
const METHODS: [&str; 15] = [
    "contains",
    "ends_with",
    "find",
    "matches",
    "match_indices",
    "replace",
    "replacen",
    "rfind",
    "rsplit_once",
    "split",
    "split_once",
    "splitn",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Names of errors, and of their texts.
const NAMES: [&str; 11] = [
    "cause", "err", "error", "failure", "message", "problem", "reason", "said", "told", "warning",
    "why",
];

/// Names of errors alone, whose texts may have any name.
const ERRORS: [&str; 7] = ["cause", "e", "err", "error", "failure", "inner", "why"];

/// Calls that make a text of an error.
const TEXTS: [&str; 3] = [".to_string()", ".text()", ".message()"];

/// Returns the lines of code that search in the text of an error or of a message.
fn searches(text: &str) -> Vec<String> {
    let code = joined(&without_tests(text));
    let texts: Vec<&str> = code.iter().filter_map(|line| text_of_error(line)).collect();
    code.iter().filter(|line| is_search(line, &texts)).cloned().collect()
}

/// Returns true for a line that searches in a text of an error; `texts` are the names of others.
fn is_search(line: &str, texts: &[&str]) -> bool {
    places(line).any(|before| {
        let name = last_name(before);
        is_text(before) || NAMES.contains(&name) || texts.contains(&name)
    })
}

/// Returns the lines without comments. A chain of calls is one line.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        match lines.last_mut().filter(|_| line.starts_with('.')) {
            Some(before) => before.push_str(line),
            None => lines.push(line.into()),
        }
    }
    lines
}

/// Returns what is before each call of a method that searches for a text, a character or a constant.
fn places(line: &str) -> impl Iterator<Item = &str> {
    METHODS.iter().flat_map(move |method| {
        line.match_indices(method).filter_map(move |(at, _)| {
            let before = line[..at].strip_suffix('.')?;
            let given = line[at + method.len()..].strip_prefix('(')?;
            let is_sought = given.starts_with(['"', '\'', '&', '['])
                || given.starts_with(|c: char| c.is_ascii_uppercase());
            is_sought.then_some(before)
        })
    })
}

/// Returns true for an error that becomes a text: `error.to_string()`, `failure.in_face(face)`.
fn is_text(before: &str) -> bool {
    let of_error = TEXTS.iter().find_map(|call| before.strip_suffix(call));
    let face = [".in_face(", ".text_in("].iter().any(|call| {
        before.rsplit_once(call).is_some_and(|(_, given)| given.find(')') == Some(given.len() - 1))
    });
    face || of_error
        .is_some_and(|of| ERRORS.contains(&last_name(of)) || NAMES.contains(&last_name(of)))
}

/// Returns the variable that a line binds to the text of an error.
fn text_of_error(line: &str) -> Option<&str> {
    let line = line.strip_prefix("let ")?;
    let (name, value) = line.strip_prefix("mut ").unwrap_or(line).split_once(" = ")?;
    is_text(value.strip_suffix(';')?).then_some(name)
}

fn last_name(before: &str) -> &str {
    let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    &before[start..]
}

#[test]
fn no_text_of_an_error_is_searched_or_replaced() {
    let mut found = Vec::new();
    let mut unused: Vec<&str> = Vec::new();
    let files: Vec<_> = FOLDERS.iter().flat_map(|folder| sources(folder)).collect();
    for (file, text) in &files {
        if file.contains("/tests/") || file.ends_with("/tests.rs") {
            continue;
        }
        let lines = searches(text);
        let allowed =
            EXCEPTIONS.iter().find(|(name, _, _)| name == file).map_or(0, |known| known.1);
        if lines.len() > allowed {
            found.extend(lines.iter().map(|line| format!("{file}: {line}")));
        } else if lines.len() < allowed {
            unused.push(file);
        }
    }
    assert!(
        found.is_empty(),
        "give the error a kind or a field (docs/decisions/082-messages-as-data.md):\n{}",
        found.join("\n")
    );
    assert!(unused.is_empty(), "fewer exceptions are needed: {unused:?}");
    for (file, _, _) in EXCEPTIONS {
        assert!(files.iter().any(|(name, _)| name == file), "there is no file {file}");
    }
}

/// Methods of Python that search in a text.
const PYTHON_METHODS: [&str; 9] = [
    "endswith",
    "find",
    "index",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "split",
    "startswith",
];

/// Returns the lines of Python that search in the text of an error: `str(error).startswith(...)`, `"a" in str(error)`.
fn python_searches(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.filter(|line| is_python_search(line)).collect()
}

fn is_python_search(line: &str) -> bool {
    let mut contained = line.split(" in str(").skip(1);
    let is_contained =
        contained.any(|rest| rest.split_once(')').is_some_and(|(name, _)| is_name_of_error(name)));
    let is_called = PYTHON_METHODS.iter().any(|method| {
        line.match_indices(&format!(".{method}(")).any(|(at, _)| {
            let of_text = line[..at].strip_suffix(')').map(last_name);
            of_text.is_some_and(is_name_of_error) || NAMES.contains(&last_name(&line[..at]))
        })
    });
    is_contained || is_called
}

fn is_name_of_error(name: &str) -> bool {
    ERRORS.contains(&name) || NAMES.contains(&name)
}

#[test]
fn no_text_of_an_error_is_searched_in_python() {
    let mut todo = vec![root().join("python/tarflume")];
    let mut files = 0;
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ext| ext == "py") {
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            let lines = python_searches(&text);
            found.extend(lines.iter().map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }
    assert!(files > 20, "the package was not found");
    assert!(found.is_empty(), "give the exception a field:\n{}", found.join("\n"));
    assert_eq!(python_searches("if \"a\" in str(error):").len(), 1);
    assert_eq!(python_searches("if str(why).startswith(\"a\"):").len(), 1);
    assert_eq!(python_searches("text = message.replace(\"--\", \"\")").len(), 1);
    assert!(python_searches("name = str(path).replace(\"a\", \"b\")\nif x in names:").is_empty());
}

#[test]
fn searches_are_found() {
    for line in [
        r#"if error.to_string().contains("too much memory") {"#,
        r#"let text = message.replace("--force", "force=True");"#,
        r#"reason.text().starts_with("the tar")"#,
        r#"failure.in_face(Face::Command).split_once(": ")"#,
        "problem.reason.ends_with(&end)",
        r#"told.replacen(DIR, "s3://set", 1)"#,
    ] {
        assert_eq!(searches(line), [line], "{line}");
    }
    let bound = "let text = why.to_string();\nlet is_far = text\n    .contains(\"metadata\");";
    assert_eq!(searches(bound), [r#"let is_far = text.contains("metadata");"#]);
    for line in [
        r#"// error.to_string().contains("too much memory")"#,
        r#"name.split_once(": ")"#,
        "errors.iter().find(|error| error.is_missing())",
        r#"objects.replace(PROBLEMS, lines)"#,
        "#[cfg(test)]\nmod tests {\n    fn a() { error.to_string().contains(\"b\"); }\n}",
    ] {
        assert!(searches(line).is_empty(), "{line}");
    }
}
