//! Names in tars that are no clean paths (`tar -cf a.tar .`, absolute names, doubled slashes) or have dots before the
//! extension: what each command takes, refuses and mends.

use std::fs;

use crate::harness::{Place, tool};

/// Writes the tars of one folder: dot.tar (`./a/x.jpg`), absolute.tar, doubled.tar (`a//x.jpg`), climbing.tar.
fn tars() -> Place {
    let place = Place::new();
    for key in ["a/x", "a/y"] {
        place.pair(&format!("pairs/{key}"));
    }
    for (name, transform) in
        [("absolute", "s,^a,/data/a,"), ("doubled", "s,^a/,a//,"), ("climbing", "s,^a/,../a/,")]
    {
        let tar = format!("{name}.tar");
        let options = ["--sort=name", "-P", "--transform", transform];
        let words = [&options[..], &["-cf", &tar, "-C", "pairs", "a"]].concat();
        tool(&place, "tar", &words).succeeds();
    }
    tool(&place, "tar", &["--sort=name", "-cf", "dot.tar", "-C", "pairs", "."]).succeeds();
    place
}

/// The keys of a data set.
fn keys(place: &Place, out: &str) -> Vec<String> {
    let listed = place.pack(&format!("ls {out}")).succeeds().stdout;
    listed.lines().filter_map(|line| line.split_whitespace().next().map(String::from)).collect()
}

#[test]
fn a_leading_dot_is_left_out_with_and_without_sidecar() {
    let place = tars();
    for with_sidecar in [false, true] {
        if with_sidecar {
            place.pack("index dot.tar").succeeds();
        }
        for words in ["reshard dot.tar", "build tar:dot.tar"] {
            place.pack(&format!("{words} -o out")).succeeds();
            assert_eq!(keys(&place, "out"), ["a/x", "a/y"], "{words}, sidecar {with_sidecar}");
            place.pack("verify out").succeeds();
            fs::remove_dir_all(place.at("out")).unwrap();
        }
        place.pack("export dot.tar --to folder -o folder").succeeds();
        assert_eq!(place.names("folder"), ["a/x.jpg", "a/y.jpg", "metadata.jsonl"]);
        let table = fs::read_to_string(place.at("folder/metadata.jsonl")).unwrap();
        assert!(table.contains("\"file_name\":\"a/x.jpg\""), "{table}");
        fs::remove_dir_all(place.at("folder")).unwrap();
        // A loader reports the key as the tar has it.
        place.file("bad.txt", "./a/x\n");
        place.pack("reshard dot.tar -o rest --exclude @bad.txt").succeeds();
        assert_eq!(keys(&place, "rest"), ["a/y"]);
        fs::remove_dir_all(place.at("rest")).unwrap();
    }
}

#[test]
fn other_names_are_cleaned_by_a_rule_that_the_error_names() {
    let place = tars();
    for (tar, want) in [("absolute", ["data/a/x", "data/a/y"]), ("doubled", ["a/x", "a/y"])] {
        for (command, rules) in [
            (format!("reshard {tar}.tar"), "--names allow,path=replace"),
            (format!("build tar:{tar}.tar"), "--names path=replace"),
        ] {
            let refused = place.pack(&format!("{command} -o out")).exits(1);
            refused.says("bad-name").says(&format!("{rules} cleans it"));
            fs::remove_dir_all(place.at("out")).unwrap();
            place.pack(&format!("{command} -o out {rules}")).succeeds();
            assert_eq!(keys(&place, "out"), want, "{command}");
            fs::remove_dir_all(place.at("out")).unwrap();
        }
        let export = format!("export {tar}.tar --to folder -o folder");
        place.pack(&export).exits(65).says("clean it with --names path=replace");
        place.pack(&format!("{export} --names path=replace")).succeeds();
        assert!(place.at(format!("folder/{}.jpg", want[0])).exists());
        fs::remove_dir_all(place.at("folder")).unwrap();
    }
    for words in [
        "reshard climbing.tar -o out --names allow,path=replace",
        "build tar:climbing.tar -o out --names path=replace",
    ] {
        place.pack(words).exits(1).says("climbs out of its folder").says("bad-name");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
    place.pack("export climbing.tar --to folder -o folder --names path=replace").exits(65);
    place.pack("build tar:dot.tar -o out --names path=allow").exits(2).says("path=replace");
}

#[test]
fn two_names_that_become_one_are_an_error() {
    let place = tars();
    let add = ["-rf", "dot.tar", "-C", "pairs", "a/x.jpg", "a/x.json"];
    tool(&place, "tar", &add).succeeds();
    place.pack("reshard dot.tar -o out").exits(1).says("repeated-key").says("a/x");
    place
        .pack("export dot.tar --to folder -o folder")
        .exits(65)
        .says("'a/x.jpg' was written before");
    place.pack("index dot.tar").succeeds();
    place.pack("build tar:dot.tar -o other").exits(1).says("repeated-key");
    place
        .pack("export dot.tar --to folder -o folder")
        .exits(65)
        .says("'a/x.jpg' was written before");
}

/// Writes dated.tar: 22.05.jpg, 22.05.json, 22.06.jpg, ...
fn dated() -> Place {
    let place = Place::new();
    for day in ["05", "06", "07"] {
        place.pair(&format!("dated/22.{day}"));
    }
    place.file("dated/23.seg.png", "no picture").file("dated/23.jpg", "no picture");
    tool(&place, "tar", &["--sort=name", "-cf", "dated.tar", "-C", "dated", "."]).succeeds();
    place
}

#[test]
fn numbers_after_the_first_dot_are_told_by_index_and_verify() {
    let place = dated();
    let text = "6 names have a number after the first dot";
    for words in ["index dated.tar", "index dated.tar", "index --headers --force dated.tar"] {
        let said = place.pack(words).succeeds().says(text);
        said.says("'./22.05.jpg'").says("reshard --key-by last-dot");
    }
    place.pack("index --force dated.tar").succeeds();
    for level in ["quick", "full"] {
        let words = format!("verify --level {level} dated.tar --require=");
        place.pack(&words).exits(0).says(text).says("note: ");
    }
    let json = place.pack("verify --format json --require= dated.tar").exits(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["notes"].as_array().unwrap().len(), 1);
    let whole = Place::new();
    whole.pair("pairs/a").pair("pairs/b");
    whole.pack("build pairs -o out").succeeds();
    assert!(!whole.pack("verify out").succeeds().stdout.contains("note: "));
}

#[test]
fn resharding_by_the_last_dot_makes_a_sample_of_each() {
    let place = dated();
    tool(&place, "gzip", &["-k", "dated.tar"]).succeeds();
    place.pack("reshard dated.tar -o joined --check none").succeeds();
    assert_eq!(keys(&place, "joined"), ["22", "23"], "as readers understand the names");
    let by_dot = "--key-by last-dot --check none";
    for (n, source) in ["dated.tar", "dated.tar.gz", "dated.tar"].into_iter().enumerate() {
        if n == 2 {
            place.pack("index dated.tar").succeeds(); // its keys end at the first dot
        }
        let out = format!("out{n}");
        place.pack(&format!("reshard {source} -o {out} {by_dot} --exclude 23*")).succeeds();
        assert_eq!(keys(&place, &out), ["22_05", "22_06", "22_07"], "{source}");
        place.pack(&format!("verify {out}")).succeeds();
    }
    let parts = "--parts jpg,json,seg.png";
    place.pack(&format!("reshard dated.tar -o parts {by_dot} {parts}")).succeeds();
    assert_eq!(keys(&place, "parts"), ["22_05", "22_06", "22_07", "23"]);
    let built = "build tar:dated.tar?key-by=last-dot -o built --check none --exclude 23*";
    place.pack(built).exits(1).says("several dots");
    place.pack(&format!("{built} --fresh --names dot=replace")).succeeds();
    assert_eq!(keys(&place, "built").len(), 3);
    place.pack("build tar:dated.tar?key-by=middle -o x").exits(2).says("first-dot or last-dot");
}
