//! The crates below the command name settings and commands as data: no text of theirs has an option or a command of `pack`.

use super::sources;

/// Folders whose messages have several faces.
const FOLDERS: [&str; 22] = [
    "annotations/src",
    "base/src",
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

/// The tables of names and phrases, and the calls: the places where the words of each face are.
const TABLES: &str = "formats/src/message";

/// Texts with options of other programs, or with a page of the command.
const FOREIGN: [&str; 19] = [
    "`--symlinks`",
    "`aws ",
    "aws configure",
    "`cargo install",
    "`convmv",
    "`eval ",
    "`git ",
    "`hf upload",
    "`pack help`",
    "`pack plan --help`",
    "`tar --format=posix`",
    "`zip ",
    "`zstd ",
    "\"diff --name-only",
    "\"ls-files --others",
    "\"rev-parse --",
    "--gpu-architecture",
    "compress it again without --long",
    "--help` has them",
];

/// Returns the lines of code whose texts have an option or a command. Comments and unit tests are left out.
fn worded(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let lines = lines.filter(|line| FOREIGN.iter().all(|words| !line.contains(words)));
    lines.filter(|line| has_option(line) || has_command(line)).collect()
}

/// Returns true for `--name` at the beginning of a word.
fn has_option(line: &str) -> bool {
    line.match_indices("--").any(|(at, _)| {
        let begins = at == 0 || line[..at].ends_with([' ', '(', '`', '"', '\'']);
        begins && line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    })
}

/// Returns true for a command of `pack` between backquotes.
fn has_command(line: &str) -> bool {
    line.match_indices("`pack ")
        .any(|(at, found)| line[at + found.len()..].starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn texts_below_the_command_have_no_words_of_a_face() {
    let mut found = Vec::new();
    for (file, text) in FOLDERS.iter().flat_map(|folder| sources(folder)) {
        let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
        if !is_test && !file.starts_with(TABLES) {
            found.extend(worded(&text).into_iter().map(|line| format!("{file}: {}", line.trim())));
        }
    }
    assert!(
        found.is_empty(),
        "write `message!(\"... {{force}}\"; force = Name::Force.on())` (docs/decisions/082-messages-as-data.md):\n{}",
        found.join("\n")
    );
}

#[test]
fn options_and_commands_in_texts_are_found() {
    for line in [
        r#"let text = "give --force";"#,
        r#"let text = "--force replaces it";"#,
        r#"let text = "run `pack index DIR`";"#,
        r#"format!("it exists (--fresh begins again)")"#,
    ] {
        assert_eq!(worded(line), [line], "{line}");
    }
    for line in [
        "/// `--force`: replaces it.",
        r#"let text = "decompress it with `zstd -d --long=31`";"#,
        r#"let range = "a--b";"#,
        r#"message!("give {force}"; force = Name::Force.on())"#,
    ] {
        assert!(worded(line).is_empty(), "{line}");
    }
}
