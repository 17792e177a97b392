//! Which crates a crate of the project may use, and where the packer uses the loader.

use std::fs;

use super::{root, sources};

/// The crates of the project that a crate may use; `dev` crates only in its tests.
pub(super) const ARROWS: [(&str, &[&str]); 32] = [
    ("annotations", &["tarflume-formats", "tarflume-image"]),
    (
        "base",
        &[
            "tarflume-foreign",
            "tarflume-formats",
            "tarflume-image",
            "tarflume-jpeg",
            "tarflume-store",
            "tarflume-types",
        ],
    ),
    ("cache", &["tarflume-formats"]),
    (
        "dataset",
        &[
            "tarflume-cache",
            "tarflume-formats",
            "tarflume-order",
            "tarflume-store",
            "tarflume-types",
        ],
    ),
    (
        "device",
        &[
            "tarflume-formats",
            "tarflume-image",
            "tarflume-jpeg",
            "tarflume-order",
            "tarflume-types",
        ],
    ),
    ("foreign", &["tarflume-formats"]),
    ("formats", &[]),
    ("image", &["tarflume-formats", "tarflume-jpeg", "tarflume-order", "tarflume-types"]),
    ("jpeg", &[]),
    ("order", &[]),
    (
        "reader",
        &[
            "tarflume-annotations",
            "tarflume-dataset",
            "tarflume-device",
            "tarflume-formats",
            "tarflume-image",
            "tarflume-jpeg",
            "tarflume-order",
            "tarflume-transforms",
            "tarflume-types",
        ],
    ),
    ("store", &[]),
    ("transforms", &["tarflume-image", "tarflume-order", "tarflume-types"]),
    ("types", &["tarflume-formats", "tarflume-order"]),
    ("table", &["tarflume-base", "tarflume-dataset", "tarflume-foreign", "tarflume-formats"]),
    ("scan", &["tarflume-base", "tarflume-formats", "tarflume-table"]),
    ("shards", &["tarflume-base", "tarflume-dataset", "tarflume-formats", "tarflume-store"]),
    (
        "sources",
        &[
            "tarflume-base",
            "tarflume-dataset",
            "tarflume-foreign",
            "tarflume-formats",
            "tarflume-scan",
            "tarflume-shards",
            "tarflume-store",
            "tarflume-table",
        ],
    ),
    ("export", &["tarflume-base", "tarflume-foreign", "tarflume-formats", "tarflume-shards"]),
    (
        "verify",
        &[
            "tarflume-base",
            "tarflume-export",
            "tarflume-foreign",
            "tarflume-formats",
            "tarflume-jpeg",
            "tarflume-shards",
        ],
    ),
    (
        "inspect",
        &[
            "tarflume",
            "tarflume-base",
            "tarflume-formats",
            "tarflume-image",
            "tarflume-jpeg",
            "tarflume-shards",
            "tarflume-types",
            "tarflume-verify",
        ],
    ),
    (
        "packer",
        &[
            "tarflume-base",
            "tarflume-formats",
            "tarflume-image",
            "tarflume-jpeg",
            "tarflume-scan",
            "tarflume-shards",
            "tarflume-sources",
            "tarflume-store",
            "tarflume-table",
            "tarflume-types",
        ],
    ),
    (
        "tokens",
        &[
            "tarflume-base",
            "tarflume-formats",
            "tarflume-packer",
            "tarflume-shards",
            "tarflume-table",
        ],
    ),
    (
        "command",
        &[
            "tarflume",
            "tarflume-base",
            "tarflume-cache",
            "tarflume-export",
            "tarflume-formats",
            "tarflume-inspect",
            "tarflume-order",
            "tarflume-packer",
            "tarflume-shards",
            "tarflume-sources",
            "tarflume-tokens",
            "tarflume-verify",
        ],
    ),
    (
        "python",
        &[
            "tarflume",
            "tarflume-base",
            "tarflume-cli",
            "tarflume-export",
            "tarflume-formats",
            "tarflume-inspect",
            "tarflume-packer",
            "tarflume-scan",
            "tarflume-shards",
            "tarflume-sources",
            "tarflume-tokens",
            "tarflume-verify",
        ],
    ),
    ("fixtures", &[]),
    ("demo", &["tarflume"]),
    (
        "fuzz/targets",
        &[
            "tarflume",
            "tarflume-foreign",
            "tarflume-formats",
            "tarflume-jpeg",
            "tarflume-packer",
            "tarflume-sources",
            "tarflume-tokens",
        ],
    ),
    ("adapters/burn", &["tarflume"]),
    ("adapters/candle", &["tarflume"]),
    ("adapters/samples", &["tarflume", "tarflume-formats"]),
    ("adapters/tch", &["tarflume"]),
];

/// The packer and the crates that were taken out of it.
const PACKERS: [&str; 9] =
    ["base", "table", "scan", "shards", "sources", "export", "verify", "inspect", "packer"];

/// Where the packer may use the loader: for thumbnails, draws of recipes and hashes of images. The rest uses the crates below
/// both.
const READER_IN_PACKER: [&str; 3] =
    ["inspect/src/dedupe", "inspect/src/view/draws.rs", "inspect/src/view/picture.rs"];

#[test]
fn arrows_between_crates_point_down() {
    for (folder, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let mut section = "";
        for line in manifest.lines() {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            }
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            // Those of its feature `with-tests` decide features, and no code uses them.
            if folder == "python" && line.contains("optional = true") {
                continue;
            }
            if section == "dependencies" && used.starts_with("tarflume") {
                assert!(allowed.contains(&used), "{folder} must not depend on {used}");
            }
            if folder == "fixtures" {
                assert!(!used.starts_with("tarflume-f"), "fixtures depends on nothing of ours");
            }
        }
    }
}

#[test]
fn the_packer_uses_the_loader_in_three_places() {
    for folder in PACKERS {
        for (file, text) in sources(&format!("{folder}/src")) {
            let allowed = READER_IN_PACKER.iter().any(|place| file.starts_with(place));
            assert!(allowed || !text.contains("tarflume::"), "{file} uses the reader");
        }
    }
}
