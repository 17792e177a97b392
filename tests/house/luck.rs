//! The rule that no assertion of a test depends on speed, load or luck, as far as a line of text shows it.
//!
//! Understands no syntax: it looks for the usual ways to write such a line, in Rust and in Python.

use std::fs;
use std::path::Path;

use crate::root;

/// A way to write a line that depends on speed, load or luck.
struct Sign {
    what: &'static str,
    is_in: fn(&str) -> bool,
}

const RUST: [Sign; 4] = [
    Sign { what: "an upper limit of measured time", is_in: limits_elapsed_time },
    Sign { what: "a wait that is too short on a busy machine", is_in: waits_shortly },
    Sign { what: "a seed that differs from run to run", is_in: has_a_seed_of_the_run },
    Sign { what: "a verdict from real clocks", is_in: judges_real_clocks },
];

const PYTHON: [Sign; 3] = [
    Sign { what: "an upper limit of measured time", is_in: limits_a_clock },
    Sign { what: "a wait that is too short on a busy machine", is_in: waits_few_seconds },
    Sign { what: "random numbers without a fixed seed", is_in: is_unseeded },
];

/// Lines that are right: the file, a part of the line, the reason.
const ALLOWED: [(&str, &str, &str); 5] = [
    ("reader/src/loader/metrics/bottleneck/tests.rs", ".bottleneck()", "of given measurements"),
    ("reader/tests/loader/faults/causes.rs", "cause.verdict", "ignored by default: `make idle`"),
    (
        "reader/tests/loader/faults/causes.rs",
        "innocent.contains",
        "ignored by default: `make idle`",
    ),
    (
        "reader/tests/loader/faults/causes.rs",
        "Bottleneck::Unknown);",
        "five batches are too few anywhere",
    ),
    ("python/tests/servers.py", "urlopen(url, timeout=10)", "asked again until patience ends"),
];

/// Shorter waits are refused, in seconds.
const LEAST: f64 = 300.0;

fn limits_elapsed_time(line: &str) -> bool {
    let below = |rest: &str| rest.trim_start().starts_with('<') && !rest.contains("PATIENCE");
    line.contains("assert") && line.split("elapsed()").skip(1).any(below)
}

fn waits_shortly(line: &str) -> bool {
    let waits = ["recv_timeout(", "wait_timeout(", "wait_timeout_while("];
    waits.iter().any(|wait| line.contains(wait)) && line.contains("Duration::from_")
}

fn has_a_seed_of_the_run(line: &str) -> bool {
    let seeded = line.contains("SplitMix64::new(") || line.contains("SplitMix64::nth(");
    seeded && (line.contains("process::id()") || line.contains("nanos"))
}

fn judges_real_clocks(line: &str) -> bool {
    line.contains("assert") && line.contains("stats") && line.contains(".bottleneck()")
}

fn limits_a_clock(line: &str) -> bool {
    let clocks = ["monotonic()", "perf_counter()", "time.time()"];
    line.contains("assert") && line.contains('<') && clocks.iter().any(|clock| line.contains(clock))
}

fn waits_few_seconds(line: &str) -> bool {
    let number = |rest: &str| {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..digits].parse::<f64>().is_ok_and(|seconds| seconds < LEAST)
    };
    let named =
        |(at, word): (usize, &str)| !line[..at].ends_with('_') && number(&line[at + word.len()..]);
    let methods = [".wait(", ".join(", ".communicate("];
    line.match_indices("timeout=").any(named)
        || methods.iter().any(|method| line.split(method).skip(1).any(number))
}

fn is_unseeded(line: &str) -> bool {
    let words = ["os.urandom(", "random.Random()", "default_rng()", "random.randrange(1 <<"];
    words.iter().any(|word| line.contains(word))
}

/// All files with this extension in a folder and below it, but for what tools have made there.
fn files(folder: &Path, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_made = name.starts_with('.') || name == "target" || name == "node_modules";
        if entry.file_type().unwrap().is_dir() {
            if !is_made {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|ext| ext == extension) {
            found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_string());
        }
    }
    found
}

fn is_of_tests(file: &str) -> bool {
    file.split('/').any(|word| word == "tests" || word == "tests.rs")
}

/// The lines of a file that are tests, with their numbers.
fn lines_of_tests<'a>(file: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let code = lines.filter(|(_, line)| !line.starts_with("//") && !line.starts_with('#'));
    let whole = is_of_tests(file);
    // An attribute is no code above, so the module behind it is found in the text.
    let module = text.lines().position(|line| line.trim().starts_with("#[cfg(test)]"));
    code.filter(|(number, _)| whole || module.is_some_and(|at| *number > at)).collect()
}

fn broken(extension: &str, signs: &[Sign]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut seen = 0;
    for file in files(&root(), extension) {
        // Examples and programs that measure have no assertions about it, and this file has the words.
        let measures = file.contains("/examples/") || file.starts_with("bench/");
        if measures || file == "tests/house/luck.rs" || (extension == "py" && !is_of_tests(&file)) {
            continue;
        }
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let lines = lines_of_tests(&file, &text);
        seen += lines.len();
        for (number, line) in lines {
            let allowed = ALLOWED.iter().any(|(f, part, _)| *f == file && line.contains(part));
            let found = signs.iter().find(|sign| !allowed && (sign.is_in)(line));
            broken.extend(found.map(|sign| format!("{file}:{number}: {}: {line}", sign.what)));
        }
    }
    assert!(seen > 1000, "only {seen} lines of tests in files *.{extension}");
    broken
}

#[test]
fn every_allowed_line_exists() {
    for (file, part, _) in ALLOWED {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(part), "{file} has no line with {part}: leave it out of the list");
    }
}

#[test]
fn no_assertion_depends_on_speed_load_or_luck() {
    let broken = [broken("rs", &RUST), broken("py", &PYTHON)].concat();
    let advice =
        "wait for an event, compute with given times, or wait for PATIENCE; see CONTRIBUTING.md";
    assert!(broken.is_empty(), "{advice}:\n{}", broken.join("\n"));
}

#[test]
fn what_depends_on_luck_is_recognized() {
    let found = |signs: &[Sign], line: &str| signs.iter().any(|sign| (sign.is_in)(line));
    for line in [
        "assert!(begun.elapsed() < Duration::from_secs(1), \"late\");",
        "heard.recv_timeout(Duration::from_secs(20)).unwrap();",
        "let mut random = SplitMix64::new(u64::from(std::process::id()));",
        "assert_eq!(loader.stats().bottleneck(), Bottleneck::Storage);",
    ] {
        assert!(found(&RUST, line), "{line}");
    }
    for line in [
        "assert start.elapsed() >= Duration::from_secs(1)",
        "assert!(begun.elapsed() < PATIENCE, \"never\");",
        "heard.recv_timeout(PATIENCE).unwrap();",
        "let mut random = SplitMix64::new(7);",
    ] {
        assert!(!found(&RUST, line), "{line}");
    }
    for line in [
        "assert time.monotonic() - began < 1",
        "subprocess.run(command, timeout=60, check=False)",
        "child.join(30)",
        "damaged[:100] = os.urandom(100)",
    ] {
        assert!(found(&PYTHON, line), "{line}");
    }
    for line in ["child.join()", "run(command, timeout=PATIENCE_S)", "\", \".join(words)"] {
        assert!(!found(&PYTHON, line), "{line}");
    }
}
