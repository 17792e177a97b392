//! The exact output of `build`: results on stdout, the rest on stderr.

use std::process::Command;

use tarflume_fixtures::Fault;

use crate::harness::Place;

#[test]
fn a_good_build() {
    let place = Place::new();
    place.folder("photos", 10);
    place
        .pack("build photos -o out --shards 2")
        .prints("out: published 10 samples, 2 shards, 27.6 kB\n", "10 samples in 2 shards\n");
    place
        .pack("build photos -o out --shards 2")
        .prints("out: published already: 10 samples, 2 shards, 27.6 kB\n", "");
}

/// Other tools are called `pack`, too.
#[test]
fn the_command_has_a_second_name() {
    let place = Place::new();
    let said = |program: &str, words: &[&str]| {
        let run = Command::new(program).args(words).current_dir(place.at("")).output().unwrap();
        assert!(run.status.success(), "{program} {words:?}: {run:?}");
        String::from_utf8(run.stdout).unwrap()
    };
    let [pack, tarflume] = [env!("CARGO_BIN_EXE_pack"), env!("CARGO_BIN_EXE_tarflume")];
    assert_eq!(said(tarflume, &["--version"]), said(pack, &["--version"]));
    let help = said(tarflume, &["build", "--help"]);
    assert!(help.contains("Usage: tarflume build"), "{help}");
    assert_eq!(help.replace("Usage: tarflume ", "Usage: pack "), said(pack, &["build", "--help"]));
}

#[test]
fn a_build_that_is_refused_for_file_names() {
    let place = Place::new();
    place.folder("photos", 4);
    for fault in [Fault::OrphanImage, Fault::SpaceName, Fault::NoExtension] {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out").exits(1).prints(
        "",
        "\
bad-name: PLACE/photos/fault with space.jpg: key fault with space: its name has blanks or control \
characters, which some readers split; rename it, or give --names space=replace or space=allow
no-extension: PLACE/photos/fault_noext: key fault_noext: it has no extension, so no reader can tell \
what it is; --exclude it
missing-part: PLACE/photos/fault_orphan_image.jpg: key fault_orphan_image: the sample has jpg but no \
'json'; add it, --exclude the file, or give --require
3 problems: missing-part 1, no-extension 1, bad-name 1; all in out/problems.jsonl
nothing was packed; fix the files, or leave them out with --on-problem skip|quarantine
",
    );
    assert_eq!(place.names("out"), ["problems.jsonl"]);
}

#[test]
fn a_build_that_is_refused_for_file_contents() {
    let place = Place::new();
    place.folder("photos", 4);
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o out --shard-samples 2").exits(1).prints(
        "",
        "\
4 samples in 2 shards
bad-json: PLACE/photos/c0000/s000000.json: byte 11: key c0000/s000000: bad JSON: trailing comma
1 problem: bad-json 1; all in out/problems.jsonl
nothing was published; 1 finished shard is kept. To leave the bad samples out, run the same command \
with --on-problem skip|quarantine; after fixing the files, with --fresh
",
    );
}

#[test]
fn a_build_that_leaves_problems_out() {
    let place = Place::new();
    place.folder("photos", 4);
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    Fault::OrphanImage.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o out --on-problem skip").succeeds().prints(
        "out: published 3 samples, 1 shard, 8.7 kB\n",
        "\
4 samples in 1 shard
missing-part: PLACE/photos/fault_orphan_image.jpg: key fault_orphan_image: the sample has jpg but no \
'json'; add it, --exclude the file, or give --require
bad-json: PLACE/photos/c0000/s000000.json: byte 11: key c0000/s000000: bad JSON: trailing comma
2 problems: missing-part 1, bad-json 1; all in out/problems.jsonl
",
    );
}

#[test]
fn a_dry_run_shows_the_plan_and_writes_nothing() {
    let place = Place::new();
    place.folder("photos", 10);
    place.pack("build photos -o out --shards 3 --dry-run").succeeds().prints(
        "\
shard-000000.tar  3 samples  8.7 kB
shard-000001.tar  4 samples  11.3 kB
shard-000002.tar  3 samples  8.7 kB
would pack 10 samples into 3 shards, 28.7 kB
",
        "",
    );
    Fault::OrphanJson.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o out --dry-run").exits(1).says("missing-part 1");
    assert!(!place.at("out").exists());
}

#[test]
fn renamed_samples_are_counted() {
    let place = Place::new();
    place.folder("photos", 2);
    Fault::SpaceName.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o out --names replace").prints(
        "1 sample has another key than the file's name (see --names)\n\
         out: published 3 samples, 1 shard, 8.2 kB\n",
        "3 samples in 1 shard\n",
    );
}

#[test]
fn quiet_prints_only_problems() {
    let place = Place::new();
    place.folder("photos", 4);
    place.pack("build photos -o out --quiet").succeeds().prints("", "");
    Fault::BadJson.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o out2 --quiet").exits(1).says("bad-json");
}

#[test]
fn progress_json_is_one_object_a_line() {
    let place = Place::new();
    place.folder("photos", 4);
    let run = place.pack("build photos -o out --format json").succeeds();
    let events = run.events();
    assert_eq!(events.last().unwrap()["event"], "published");
    assert_eq!(events.last().unwrap()["samples"], 4);
    for line in run.stderr.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(event["event"], "progress");
    }
    let run = place.pack("build photos -o out --format json").succeeds();
    assert_eq!(run.events()[0]["event"], "skipped");
    let run = place.pack("build photos -o dry --format json --dry-run").succeeds();
    assert_eq!(run.events()[0]["shards"][0]["samples"], 4);
}

#[test]
fn progress_json_contains_problems_as_objects() {
    let place = Place::new();
    place.folder("photos", 3).file("photos/orphan.json", "{}");
    for (options, exit) in [("", 1), (" --on-problem skip", 0)] {
        let run = place.pack(&format!("build photos -o out --format json{options}")).exits(exit);
        let lines = run.stderr.lines();
        let events: Vec<serde_json::Value> =
            lines.map(|l| serde_json::from_str(l).unwrap()).collect();
        let problem = events.iter().find(|e| e["event"] == "problem").unwrap();
        assert_eq!(problem["kind"], "missing-part");
        assert_eq!(problem["key"], "orphan");
    }
}

#[test]
fn help_teaches_with_examples() {
    let place = Place::new();
    place.pack("--help").succeeds().says("pack build photos/ -o shards/").says("75   try again");
    place.pack("build --help").succeeds().says("Examples:").says("--on-problem skip");
    place.pack("").exits(2).says("Usage");
    place.pack("bild").exits(2).says("build");
}
