//! The profiles of Cargo.toml: what is released has its full speed, whatever `release` saves.

use std::collections::BTreeMap;
use std::fs;

use super::root;

type Table = BTreeMap<String, String>;

/// Returns the tables of the manifest of the workspace by their names. Values are as they are written.
fn tables() -> BTreeMap<String, Table> {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            name = header.trim_end_matches(']').into();
        } else if let Some((key, value)) = line.split_once(" = ") {
            tables.entry(name.clone()).or_default().insert(key.into(), value.into());
        }
    }
    tables
}

#[test]
fn a_released_program_is_fully_optimized_also_where_a_release_build_saves_time() {
    let tables = tables();
    let dist = &tables["profile.dist"];
    assert_eq!(dist["inherits"], "\"release\"");
    assert_eq!(dist["opt-level"], "3");
    for (name, quick) in &tables {
        let Some(package) = name.strip_prefix("profile.release.package.") else { continue };
        let full = tables.get(&format!("profile.dist.package.{package}"));
        for (key, value) in quick {
            let found = full.and_then(|full| full.get(key)).unwrap_or(value);
            assert_eq!(
                found, &dist[key],
                "`dist` inherits {key} of {package} from `release`: add it to [profile.dist.package.{package}]"
            );
        }
    }
}

#[test]
fn each_package_with_a_level_of_its_own_is_a_dependency() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for name in tables().keys().filter(|name| name.starts_with("profile.")) {
        let Some((_, package)) = name.split_once(".package.") else { continue };
        if package == "\"*\"" {
            continue;
        }
        let entry = format!("name = \"{package}\"\n");
        assert!(lock.contains(&entry), "[{name}]: no crate of Cargo.lock has this name");
    }
}
