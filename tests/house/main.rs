//! The rules of the source tree that no compiler checks: the direction of imports, the files with
//! unsafe code, a head comment in each file, names of parameters, tests that depend on speed, load or luck.
//!
//! Reads sources as text, nothing else. docs/decisions has the reasons.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod crates;
mod floors;
mod hidden;
mod luck;
mod parameters;
mod profiles;
mod searched;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crates::ARROWS;

/// The files in which unsafe code is permitted.
const UNSAFE_ROOMS: [&str; 47] = [
    "adapters/candle/src/device.rs",
    "adapters/tch/src/device.rs",
    "device/src/device/call_scope.rs",
    "device/src/device/cuda.rs",
    "device/src/device/cuda/context.rs",
    "device/src/device/cuda/decode.rs",
    "device/src/device/cuda/events.rs",
    "device/src/device/cuda/jpegs.rs",
    "device/src/device/cuda/kernels.rs",
    "device/src/device/cuda/nvrtc.rs",
    "device/src/device/cuda/pinned.rs",
    "device/src/device/cuda/streams.rs",
    "device/src/device/driver.rs",
    "device/src/device/nvjpeg.rs",
    "device/src/device/nvjpeg/context.rs",
    "device/src/device/nvjpeg/decoder_states.rs",
    "device/src/device/nvjpeg/handle.rs",
    "device/src/device/nvjpeg/pool.rs",
    "device/src/device/nvjpeg/symbols.rs",
    "device/src/device/nvjpeg/trial.rs",
    "device/src/device/presence.rs",
    "device/src/range/nvtx.rs",
    "device/src/slab.rs",
    "device/src/slab/block.rs",
    "device/src/slab/replaced_rows.rs",
    "formats/src/disk/map.rs",
    "formats/src/disk/map/guard.rs",
    "formats/src/disk/map/ranges.rs",
    "formats/src/disk/map/words.rs",
    "formats/src/disk/resident.rs",
    "jpeg/src/entropy/fast.rs",
    "jpeg/src/simd/sets/avx2.rs",
    "jpeg/src/simd/sets/avx512.rs",
    "jpeg/src/simd/sets/neon.rs",
    "jpeg/src/simd/sets/set.rs",
    "jpeg/src/simd/sets/sse41.rs",
    "python/src/buffers/arrow.rs",
    "python/src/buffers/arrow_view.rs",
    "python/src/batches/column.rs",
    "python/src/batches/device.rs",
    "python/src/buffers/dlpack.rs",
    "tests/interrupted/faults/ptrace.rs",
    "tests/hostile_memory.rs",
    "transforms/src/kernels/color/bytes.rs",
    "transforms/src/kernels/sets.rs",
    "transforms/src/kernels/color/shuffles.rs",
    "transforms/src/kernels/geometry/warp/blend/avx2.rs",
];

/// File names that describe no content.
const EMPTY_NAMES: [&str; 5] = ["util", "utils", "common", "prelude", "misc"];

/// Limit on the lines of a source file; most have fewer than 350, with tests in separate files.
const MAX_LINES: usize = 450;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All Rust files below `folder`, by path from the root.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut todo = vec![root().join(folder)];
    while let Some(path) = todo.pop() {
        for entry in fs::read_dir(&path).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found.sort();
    found
}

/// `reader/src/fetch/plan.rs` is module `fetch::plan`.
fn module(file: &str) -> String {
    let path = file.split_once("/src/").unwrap().1.trim_end_matches(".rs");
    path.replace('/', "::")
}

/// Returns the modules that a file imports: the longest module that each path names.
fn imports(file: &str, text: &str, modules: &BTreeSet<String>) -> BTreeSet<String> {
    let here = module(file);
    let code = without_tests(text);
    let mut found = BTreeSet::new();
    let mut paths = inline_paths(&code);
    for (start, _) in code.match_indices("use ") {
        paths.extend(expand(code[start + 4..].split(';').next().unwrap()));
    }
    for path in paths {
        let absolute = absolute(&path, &here);
        let longest = prefixes(&absolute).find(|prefix| modules.contains(prefix));
        found.extend(longest.filter(|module| *module != here));
    }
    found
}

/// Returns a text without the items that only tests have.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "#[cfg(test)]" {
            let indent = &line[..line.len() - line.trim_start().len()];
            skip_item(indent, &mut lines);
        } else {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// Skips the lines of an item that begins in this column.
fn skip_item<'a>(indent: &str, lines: &mut impl Iterator<Item = &'a str>) {
    let mut lines = lines.skip_while(|line| line.trim_start().starts_with("#["));
    let Some(first) = lines.next() else { return };
    if first.ends_with([';', '}', ',']) {
        return;
    }
    // The last line of a block or of a list is in the column of its first.
    let end = format!("{indent}}}");
    lines.find(|line| line.starts_with(&end));
}

/// Returns paths that are written out at their use: `crate::a::b(..)`, `super::c::D`.
fn inline_paths(code: &str) -> Vec<String> {
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("use ") && !line.contains("pub(in ")
    });
    let of = |c: char| c.is_alphanumeric() || "_:".contains(c);
    let words = lines.flat_map(|line| line.split(move |c| !of(c)));
    let ours = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    ours.map(|word| word.trim_end_matches(':').to_string()).collect()
}

/// Returns `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(statement: &str) -> Vec<String> {
    let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(open) = statement.find('{') else {
        return vec![statement.split(" as ").next().unwrap().trim().to_string()];
    };
    let before = &statement[..open];
    let inner = statement[open + 1..].trim_end().trim_end_matches('}');
    // The brace just removed may have been an inner one: restore what is missing.
    let missing = inner.matches('{').count().saturating_sub(inner.matches('}').count());
    let inner = format!("{inner}{}", "}".repeat(missing));
    let mut depth = 0;
    let mut item = String::new();
    let mut items = Vec::new();
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(std::mem::take(&mut item));
                continue;
            }
            _ => {}
        }
        item.push(c);
    }
    items.push(item);
    let items = items.iter().map(|i| i.trim()).filter(|i| !i.is_empty());
    items.flat_map(expand).map(|item| format!("{before}{item}")).collect()
}

/// Returns the path from the crate's root; other crates' paths become empty.
fn absolute(path: &str, here: &str) -> String {
    let parent = here.rsplit_once("::").map_or("", |(parent, _)| parent);
    let joined = |base: &str, rest: &str| {
        if base.is_empty() { rest.into() } else { format!("{base}::{rest}") }
    };
    if let Some(rest) = path.strip_prefix("crate::") {
        rest.to_string()
    } else if let Some(rest) = path.strip_prefix("self::") {
        joined(here, rest)
    } else if let Some(rest) = path.strip_prefix("super::") {
        if rest.starts_with("super::") { absolute(rest, parent) } else { joined(parent, rest) }
    } else {
        // A child module named without `self::`, or another crate.
        joined(here, path)
    }
}

fn prefixes(path: &str) -> impl Iterator<Item = String> + '_ {
    let cuts = path.match_indices("::").map(|(i, _)| i).chain([path.len()]).collect::<Vec<_>>();
    cuts.into_iter().rev().map(|cut| path[..cut].to_string())
}

/// Walks up from `module`; returns the path back to it, if there is one.
fn circle(module: &str, graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut todo = vec![vec![module.to_string()]];
    let mut seen = BTreeSet::new();
    while let Some(path) = todo.pop() {
        for next in graph.get(path.last().unwrap()).into_iter().flatten() {
            let longer = [path.clone(), vec![next.clone()]].concat();
            if next == module {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                todo.push(longer);
            }
        }
    }
    None
}

#[test]
fn files_import_lower_floors_only() {
    let mut circles = Vec::new();
    for (folder, _) in ARROWS {
        let files = sources(&format!("{folder}/src"));
        let files: Vec<_> = files.iter().filter(|(f, _)| !f.ends_with("/lib.rs")).collect();
        let modules: BTreeSet<_> = files.iter().map(|(f, _)| module(f)).collect();
        let graph: BTreeMap<_, _> =
            files.iter().map(|(f, text)| (module(f), imports(f, text, &modules))).collect();
        assert!(
            graph.len() < 7 || graph.values().map(BTreeSet::len).sum::<usize>() > 3,
            "imports were not understood"
        );
        circles.extend(
            graph
                .keys()
                .filter_map(|m| circle(m, &graph))
                .map(|c| format!("{folder}: {}", c.join(" -> "))),
        );
    }
    assert!(circles.is_empty(), "files import each other in circles:\n{}", circles.join("\n"));
}

/// The texts of the files that may declare a file as their module: the file of its folder, and the roots beside it.
fn declaring<'a>(file: &str, texts: &'a BTreeMap<String, String>) -> Vec<&'a String> {
    let folder = file.rsplit_once('/').expect("a file is in a folder").0;
    let roots = [".rs", "/lib.rs", "/main.rs", "/mod.rs"].map(|end| format!("{folder}{end}"));
    roots.iter().filter(|&root| root != file).filter_map(|root| texts.get(root)).collect()
}

#[test]
fn every_file_is_a_module_of_another() {
    for folder in ARROWS.map(|(folder, _)| format!("{folder}/src")) {
        let texts: BTreeMap<String, String> = sources(&folder).into_iter().collect();
        for file in texts.keys() {
            let name = file.rsplit_once('/').expect("a file is in a folder").1;
            let name = name.trim_end_matches(".rs");
            let is_root = matches!(name, "lib" | "main" | "mod") || file.contains("/src/bin/");
            let line = format!("mod {name}");
            let is_declared = declaring(file, &texts)
                .into_iter()
                .any(|text| text.split(&line).skip(1).any(|rest| rest.starts_with([';', ' '])));
            assert!(is_root || is_declared, "no file declares {file}: nothing compiles it");
        }
    }
}

#[test]
fn unsafe_code_is_in_the_listed_files_only() {
    let crates = ARROWS.map(|(folder, _)| format!("{folder}/src"));
    for folder in crates.iter().map(String::as_str).chain(["tests"]) {
        // This file contains the words that it searches for.
        for (file, text) in sources(folder).into_iter().filter(|(f, _)| f != "tests/house/main.rs")
        {
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            let found = code.into_iter().any(|l| {
                l.contains("unsafe {")
                    || l.contains("unsafe fn")
                    || l.contains("allow(unsafe_code)")
            });
            assert!(!found || UNSAFE_ROOMS.contains(&file.as_str()), "unsafe code in {file}");
        }
    }
}

#[test]
fn every_file_begins_with_a_comment_on_its_purpose() {
    for folder in [
        "annotations",
        "cache",
        "dataset",
        "device",
        "foreign",
        "formats",
        "image",
        "jpeg",
        "reader",
        "store",
        "base",
        "table",
        "scan",
        "shards",
        "sources",
        "export",
        "verify",
        "inspect",
        "packer",
        "tokens",
        "transforms",
        "types",
        "command",
        "python/src",
        "fixtures",
        "demo",
        "tests",
        "adapters/burn",
        "adapters/candle",
        "adapters/samples",
        "adapters/tch/src",
        "adapters/tch/tests",
        "bench/jpeg/src",
        "bench/transforms/crates/src",
        "fuzz/fuzz_targets",
        "fuzz/targets",
    ] {
        for (file, text) in sources(folder) {
            assert!(text.starts_with("//!"), "{file} does not begin with //!");
            let stem = Path::new(&file).file_stem().unwrap().to_str().unwrap();
            assert!(!EMPTY_NAMES.contains(&stem), "{file}: its name says nothing");
            let lines = text.lines().count();
            assert!(
                lines <= MAX_LINES,
                "{file} has {lines} lines: split it where a second noun appears"
            );
        }
    }
}

#[test]
fn lib_files_define_nothing() {
    // The demo is a program alone.
    for (folder, _) in ARROWS.into_iter().filter(|(folder, _)| *folder != "demo") {
        let text = fs::read_to_string(root().join(folder).join("src/lib.rs")).unwrap();
        for line in text.lines() {
            let first = line.split_whitespace().next().unwrap_or_default();
            let second = line.split_whitespace().nth(1).unwrap_or_default();
            let defines =
                |word| ["fn", "struct", "enum", "trait", "impl", "const", "static"].contains(&word);
            let definition = defines(first) || (first == "pub" && defines(second));
            assert!(!definition, "{folder}/src/lib.rs defines something: {line}");
        }
    }
}

#[test]
fn items_of_tests_are_left_out() {
    let text = "a\n#[cfg(test)]\nmod b;\nc\n    #[cfg(test)]\n    #[d]\n    fn e() {\n        f;\n    }\ng";
    assert_eq!(without_tests(text), "a\nc\ng\n");
    assert_eq!(without_tests("#[cfg(test)]\nuse a::{\n    b,\n};\nc"), "c\n");
}

#[test]
fn paths_are_understood() {
    let many = expand("crate::{a, b::{c, d as e},\n  f}");
    assert_eq!(many, ["crate::a", "crate::b::c", "crate::b::d", "crate::f"]);
    assert_eq!(absolute("super::x::Y", "scan::list"), "scan::x::Y");
    assert_eq!(absolute("super::super::x::Y", "scan::list::z"), "scan::x::Y");
    let inline = inline_paths("use crate::a;\n// crate::b\nlet x: super::c::D = crate::e::f(1);");
    assert_eq!(inline, ["super::c::D", "crate::e::f"]);
    assert_eq!(prefixes("a::b::C").collect::<Vec<_>>(), ["a::b::C", "a::b", "a"]);
}
