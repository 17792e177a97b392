//! What a command publishes is whole: after each command of a test that packs, every level of `pack verify` agrees, and
//! after `pack index` nothing is wrong with sidecars and manifest.

use serde_json::Value;

use super::Place;
use super::child::Run;

/// The commands that publish a data set in the folder after `-o`.
const PACKING: [&str; 3] = ["build", "append", "reshard"];
/// What `pack index` answers for. Other problems are those of the tars, which it lists as they are.
const OF_SIDECARS: [&str; 10] = [
    "checksum",
    "digest",
    "missing-index",
    "stale-index",
    "damaged-index",
    "bad-entry-points",
    "missing-shard",
    "stale-manifest",
    "damaged-manifest",
    "class-name",
];
/// What is found in names that a user has allowed: keys that differ only in case, control characters, bytes that are
/// not UTF-8.
const OF_NAMES: [&str; 2] = ["bad-name", "case-collision"];
/// Options of `pack index` that a verification needs, too.
const ALSO_OF_VERIFY: [&str; 2] = ["--ignore-zeros", "--json-rules"];
/// Options of `pack index` with a value.
const WITH_VALUE: [&str; 4] = ["--columns", "--json-rules", "--jobs", "--export"];

/// Verifies what a command has published.
#[track_caller]
pub(super) fn expect_whole(place: &Place, words: &str, run: &Run) {
    let words: Vec<&str> = words.split_whitespace().collect();
    // What was published earlier may have been damaged by the test.
    let is_old = |text: &str| text.contains("already") || text.contains("kept");
    let Some((&command, words)) = words.split_first().filter(|_| run.exit == 0) else { return };
    if is_old(&run.stdout) || is_old(&run.stderr) {
        return;
    }
    match command {
        "index" => expect_right_sidecars(place, words),
        "finalize" => expect_data_set(place, words, words.iter().find(|w| !w.starts_with('-'))),
        _ if PACKING.contains(&command) => {
            let out = words.windows(2).find(|pair| ["-o", "--out"].contains(&pair[0]));
            expect_data_set(place, words, out.map(|pair| &pair[1]));
        }
        _ => {}
    }
}

#[track_caller]
fn expect_data_set(place: &Place, words: &[&str], out: Option<&&str>) {
    let Some(out) = out else { return };
    if !place.at(out).join("dataset.json").try_exists().unwrap() {
        return;
    }
    // What `--names` allows although some reader misreads it.
    let allows = words.iter().any(|word| word.contains("allow"));
    let mut expected: Vec<&str> = if allows { OF_NAMES.to_vec() } else { Vec::new() };
    let manifest = place.manifest(out);
    if manifest["options"]["check"] == "structure" {
        expected.push("bad-part"); // only `--check decode` looks into such parts
    }
    for level in levels(&manifest, words) {
        let verified = place.start(&format!("verify --level {level} {out}")).ended();
        let others = kinds(&verified).filter(|kind| !expected.contains(kind)).count();
        let is_whole = verified.exit == 0 || (!expected.is_empty() && verified.exit == 1);
        assert!(is_whole && others == 0, "after `pack {}`: {verified:#?}", words.join(" "));
    }
}

/// Returns the kind of each problem in the text of a verification.
fn kinds(verified: &Run) -> impl Iterator<Item = &str> {
    let lines = verified.stdout.lines().filter_map(|line| line.split_once(": "));
    let is_kind = |kind: &&str| kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    lines
        .map(|(kind, _)| kind)
        .filter(|kind| !["warning", "note", "checked"].contains(kind))
        .filter(is_kind)
}

/// Returns the levels at which packing promises that no problem is found. `decode` has all checks of `full`. Codes of
/// JPEGs are read for entry points, and for `--check decode`.
fn levels(manifest: &Value, words: &[&str]) -> [&'static str; 2] {
    let reads_codes = !words.contains(&"--no-entry-points");
    match manifest["options"]["check"].as_str() {
        Some("decode") => ["quick", "decode"],
        Some("structure") if reads_codes => ["quick", "decode"],
        _ => ["quick", "full"],
    }
}

#[track_caller]
fn expect_right_sidecars(place: &Place, words: &[&str]) {
    let mut options = Vec::new();
    let mut tars = Vec::new();
    let mut rest = words.iter();
    while let Some(&word) = rest.next() {
        let value = rest.clone().next().filter(|_| WITH_VALUE.contains(&word));
        if value.is_some() {
            rest.next();
        }
        if ALSO_OF_VERIFY.contains(&word) {
            options.push(word);
            options.extend(value);
        } else if !word.starts_with('-') && !word.contains("://") {
            tars.push(word);
        }
    }
    if tars.is_empty() {
        return;
    }
    // A sidecar that was made from headers has no checksums: nothing of it depends on the contents.
    if words.contains(&"--headers") {
        options.extend(["--level", "quick"]);
    }
    let verify = format!("verify {} {}", options.join(" "), tars.join(" "));
    let verified = place.start(&verify).ended();
    let wrong: Vec<&str> = kinds(&verified).filter(|kind| OF_SIDECARS.contains(kind)).collect();
    assert!(wrong.is_empty(), "after `pack index {}`: {verified:#?}", words.join(" "));
}
