//! Shell completions and man pages: made by the command from its own arguments.

use std::fs;

use crate::harness::{Place, tool};

const COMMANDS: [&str; 13] = [
    "build", "plan", "run", "status", "finalize", "verify", "index", "info", "ls", "cat", "unpack",
    "bench", "doctor",
];

#[test]
fn each_shell_has_its_completions() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.pack(&format!("completions {shell}")).succeeds().stdout;
        for word in COMMANDS.iter().copied().chain(["on-problem", "shard-samples"]) {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
    place.pack("completions tcsh").exits(2).says("possible values: bash");
}

#[test]
fn bash_completes_words_and_values() {
    let place = Place::new();
    place.file("pack.bash", place.pack("completions bash").succeeds().stdout);
    let completed = |words: &str| {
        let last = words.split(' ').count() - 1;
        let script = format!(
            "source pack.bash; COMP_WORDS=({words}); COMP_CWORD={last}; _pack pack \"${{COMP_WORDS[{last}]}}\" \
             \"${{COMP_WORDS[{last}-1]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        tool(&place, "bash", &["-c", &script]).succeeds().stdout.trim().to_string()
    };
    assert_eq!(completed("pack fin"), "finalize");
    assert_eq!(completed("pack build --on-pr"), "--on-problem");
    assert_eq!(completed("pack build --on-problem q"), "quarantine");
    assert_eq!(completed("pack verify --level d"), "decode");
}

#[test]
fn each_command_has_a_man_page() {
    let place = Place::new();
    place.pack("man -o man").succeeds();
    let mut pages: Vec<_> = COMMANDS.iter().map(|name| format!("pack-{name}.1")).collect();
    pages.extend(["pack.1".into(), "pack-completions.1".into()]);
    pages.sort();
    assert_eq!(place.names("man"), pages);
    let build = fs::read_to_string(place.at("man/pack-build.1")).unwrap();
    assert!(build.contains(".SH SYNOPSIS") && build.contains("on\\-problem"), "{build}");
    let help = place.pack("--help").succeeds().stdout;
    assert!(help.contains("  completions ") && !help.contains("  man "), "{help}");
}
