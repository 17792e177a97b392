//! What a build publishes is whole: after each command of a test that packs, `pack verify` agrees. At its highest level if
//! packing has decoded pictures, too.

use super::Place;
use super::child::Run;

/// The commands that publish a data set in the folder after `-o`.
const PACKING: [&str; 3] = ["build", "append", "reshard"];

/// Verifies the data set that a command has published.
#[track_caller]
pub(super) fn expect_whole(place: &Place, words: &str, run: &Run) {
    let words: Vec<&str> = words.split_whitespace().collect();
    let packs = words.first().is_some_and(|first| PACKING.contains(first));
    // What was published earlier may have been damaged by the test.
    let is_new =
        run.exit == 0 && !run.stdout.contains("already") && !run.stderr.contains("already");
    let has = |option: [&str; 2]| words.windows(2).any(|pair| pair == option);
    // Names that a user allows are those that some reader would misread.
    let allows = words.iter().any(|word| word.contains("allow"));
    let is_checked = !has(["--check", "none"]) && !allows;
    let out = words.windows(2).find(|pair| ["-o", "--out"].contains(&pair[0])).map(|pair| pair[1]);
    let Some(out) = out.filter(|_| packs && is_new && is_checked) else { return };
    if place.at(out).join("dataset.json").try_exists().unwrap() {
        let level = if has(["--check", "decode"]) { "decode" } else { "full" };
        let require = words.windows(2).find(|pair| pair[0] == "--require");
        let require = require.map_or(String::new(), |pair| pair.join(" "));
        let verified = place.start(&format!("verify --level {level} {require} {out}")).ended();
        let lines: Vec<&str> = verified.stdout.lines().collect();
        // Without --require, a part that few samples lack is expected of all of them. Builds do not expect it.
        let only_lacks = require.is_empty()
            && lines.split_last().is_some_and(|(_, lines)| {
                !lines.is_empty() && lines.iter().all(|line| line.starts_with("missing-part: "))
            });
        let is_whole = verified.exit == 0 || only_lacks;
        assert!(is_whole, "after `pack {}`: {verified:#?}", words.join(" "));
    }
}
