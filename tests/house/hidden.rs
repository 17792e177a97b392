//! No failed serialization is hidden behind an empty text or value.

use super::sources;

/// Folders with code that users run.
pub(super) const FOLDERS: [&str; 25] = [
    "annotations/src",
    "base/src",
    "cache/src",
    "command/src",
    "dataset/src",
    "device/src",
    "export/src",
    "foreign/src",
    "formats/src",
    "image/src",
    "inspect/src",
    "jpeg/src",
    "order/src",
    "packer/src",
    "python/src",
    "reader/src",
    "scan/src",
    "shards/src",
    "sources/src",
    "store/src",
    "table/src",
    "tokens/src",
    "transforms/src",
    "types/src",
    "verify/src",
];

/// What hides an error behind another value.
const HIDING: [&str; 2] = [".unwrap_or_default()", ".unwrap_or("];

/// Returns the text after the parenthesis that closes the first one in `code`.
fn behind_call(code: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(code[at + 1..].trim_start()),
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Returns the calls of serialization in `text` whose error is hidden, each with what hides it.
fn hidden(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["serde_json::to_", "serde_json::from_"] {
        for (at, _) in text.match_indices(start) {
            let Some(behind) = behind_call(&text[at..]) else { continue };
            let is_ignored =
                start == "serde_json::to_" && text[..at].trim_end().ends_with("let _ =");
            if is_ignored || HIDING.iter().any(|word| behind.starts_with(word)) {
                found.push(text[at..].lines().next().unwrap_or_default().to_string());
            }
        }
    }
    found
}

#[test]
fn no_failed_serialization_becomes_an_empty_value() {
    let all = FOLDERS.iter().flat_map(|folder| sources(folder));
    let mut found = Vec::new();
    for (file, text) in all.filter(|(file, _)| !ALLOWED.contains(&file.as_str())) {
        found.extend(hidden(&text).into_iter().map(|call| format!("{file}: {call}")));
    }
    assert!(found.is_empty(), "propagate the error, or use `expect`:\n{}", found.join("\n"));
}

/// A note of a claim that another machine is writing has no content yet.
const ALLOWED: [&str; 1] = ["shards/src/workdir/claims.rs"];

#[test]
fn calls_that_hide_an_error_are_found() {
    let hiding = [
        "let a = serde_json::to_vec(&b).unwrap_or_default();",
        "let a = serde_json::to_string(&f(b, (c)))\n    .unwrap_or_default();",
        "let a: A = serde_json::from_slice(b).unwrap_or_default();",
        "serde_json::to_value(b).unwrap_or(Value::Null)",
        "let _ = serde_json::to_writer(&mut out, &b);",
    ];
    for text in hiding {
        assert_eq!(hidden(text).len(), 1, "{text}");
    }
    for text in [
        "serde_json::to_vec(&b)?;",
        "serde_json::to_vec(&b).expect(\"texts serialize\");",
        "serde_json::to_vec(&c.unwrap_or_default()).expect(\"texts serialize\")",
    ] {
        assert!(hidden(text).is_empty(), "{text}");
    }
}
