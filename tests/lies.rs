//! draft
use tarflume_fixtures::Lie;

use crate::harness::Place;

#[test]
fn draft() {
    for lie in Lie::ALL {
        let place = Place::new();
        place.file("lie.tar", lie.bytes());
        let run = place.pack("verify lie.tar --format json --require ''");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let list: Vec<_> = report["problems"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .iter()
            .map(|p| {
                format!(
                    "{}@{}[{}] {}",
                    p["kind"].as_str().unwrap(),
                    p["byte"],
                    p["key"],
                    p["reason"]
                )
            })
            .collect();
        let quick = place.pack("verify lie.tar --level quick --require ''");
        let index = place.pack("index lie.tar");
        let again = place.pack("verify lie.tar --require ''");
        eprintln!(
            "{:?}: verify {} {list:?}; quick {}; index {} {}{}; then {}",
            lie,
            run.exit,
            quick.exit,
            index.exit,
            index.stdout.trim(),
            index.stderr.trim(),
            again.exit
        );
    }
}
