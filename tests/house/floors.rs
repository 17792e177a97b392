//! Compares the floor plan of `floors.txt` with the imports of every file.
//!
//! Reads sources as text; contains no crate's name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::crates::ARROWS;
use super::{imports, module, root, sources};

/// A folder of the plan, and the floor of each file or folder in it.
struct Section {
    /// For example `reader/src`.
    source: String,
    /// The folder's module, for example `loader`; empty for the crate's own.
    inside: String,
    floors: BTreeMap<String, usize>,
}

impl Section {
    /// Returns the plan's name for a module, if it is in this folder.
    fn word<'a>(&self, module: &'a str) -> Option<&'a str> {
        let rest = match &*self.inside {
            "" => module,
            inside => module.strip_prefix(inside)?.strip_prefix("::")?,
        };
        rest.split("::").next()
    }
}

fn plan() -> Vec<Section> {
    let text = fs::read_to_string(root().join("tests/house/floors.txt")).unwrap();
    let mut sections: Vec<Section> = Vec::new();
    let mut floor = 0;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let (before, inside) = name.split_once("/src").unwrap();
            let inside = inside.trim_start_matches('/').replace('/', "::");
            let source = format!("{before}/src");
            sections.push(Section { source, inside, floors: BTreeMap::new() });
            floor = 0;
            continue;
        }
        let section = sections.last_mut().unwrap();
        for word in line.split_whitespace() {
            let before = section.floors.insert(word.to_string(), floor);
            assert!(before.is_none(), "{word} is on two floors of {}", section.source);
        }
        floor += 1;
    }
    assert!(sections.len() > 5, "the plan was not understood");
    sections
}

#[test]
fn folders_import_lower_floors_only() {
    let mut wrong = Vec::new();
    for section in plan() {
        let files = sources(&section.source);
        let files: Vec<_> =
            files.iter().filter(|(file, _)| !is_root(file) && !is_test(file)).collect();
        let modules: BTreeSet<_> = files.iter().map(|(file, _)| module(file)).collect();
        let there: BTreeSet<_> = modules.iter().filter_map(|m| section.word(m)).collect();
        let planned: BTreeSet<_> = section.floors.keys().map(String::as_str).collect();
        let place = format!("[{}/{}]", section.source, section.inside);
        assert_eq!(there, planned, "floors.txt {place} lists other words than there are");
        let mut arrows = 0;
        for (file, text) in &files {
            let here = module(file);
            let Some(from) = section.word(&here) else { continue };
            for import in imports(file, text, &modules) {
                let Some(to) = section.word(&import).filter(|to| *to != from) else { continue };
                arrows += 1;
                if section.floors[to] >= section.floors[from] {
                    wrong.push(format!("{place} {from} imports {to}, in {file}"));
                }
            }
        }
        assert!(arrows > 1, "{place}: imports were not understood");
    }
    assert!(wrong.is_empty(), "imports that do not go down:\n{}", wrong.join("\n"));
}

/// The most files and folders of a folder, each file and the folder of its name counted as one.
const MOST_IN_A_FOLDER: usize = 12;

#[test]
fn folders_have_at_most_a_dozen_modules() {
    let mut wrong = Vec::new();
    // Each file of the fuzz targets is one of a list.
    for (folder, _) in ARROWS.into_iter().filter(|(folder, _)| *folder != "fuzz/targets") {
        let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (file, _) in sources(&format!("{folder}/src")) {
            if is_root(&file) || is_test(&file) {
                continue;
            }
            let parts: Vec<_> = file.trim_end_matches(".rs").split('/').collect();
            for depth in 2..parts.len() {
                let inside = modules.entry(parts[..depth].join("/")).or_default();
                inside.insert(parts[depth].to_string());
            }
        }
        let many = modules.into_iter().filter(|(_, inside)| inside.len() > MOST_IN_A_FOLDER);
        wrong.extend(many.map(|(place, inside)| format!("{place}: {}", inside.len())));
    }
    assert!(wrong.is_empty(), "give what belongs together a folder:\n{}", wrong.join("\n"));
}

/// Returns the files that assemble a crate.
fn is_root(file: &str) -> bool {
    file.ends_with("/src/lib.rs") || file.ends_with("/src/main.rs") || file.contains("/src/bin/")
}

fn is_test(file: &str) -> bool {
    file.ends_with("/tests.rs") || file.contains("/tests/")
}
