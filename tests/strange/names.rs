//! Names that some reader would misread: each rule refuses, replaces or allows, as configured.

use tarflume_fixtures::Fault;

use crate::harness::{Place, members_of};

/// Packs a folder with a good pair `good` and one with the given name under `--names`.
fn keys(stem: &str, rules: &str) -> Result<Vec<String>, String> {
    let place = Place::new();
    place.pair("photos/good").pair(&format!("photos/{stem}"));
    let run = place.pack(&format!("build photos -o out --require '' --names {rules}"));
    match run.exit {
        0 => {
            let members = place.members("out");
            let keys = members.iter().filter_map(|m| m.strip_suffix(".jpg"));
            Ok(keys.filter(|k| *k != "good").map(str::to_string).collect())
        }
        1 => Err(place.problems("out")[0]["kind"].as_str().unwrap().to_string()),
        _ => panic!("{run:#?}"),
    }
}

#[test]
fn each_rule_refuses_replaces_or_allows() {
    for (stem, rule, replaced, allowed) in [
        ("img.001", "dot", "img_001", "img.001"),
        ("a b", "space", "a_b", "a b"),
        ("a\tb/c", "space", "a_b/c", "a\tb/c"),
        ("__x", "dunder", "_x", "__x"),
        ("__MACOSX/x", "dunder", "_MACOSX/x", "__MACOSX/x"),
        (".x", "hidden", "_x", ".x"),
        ("café", "nonascii", "caf_u00e9", "café"),
    ] {
        assert_eq!(keys(stem, &format!("{rule}=refuse")), Err("bad-name".into()), "{stem}");
        assert_eq!(keys(stem, &format!("{rule}=replace")), Ok(vec![replaced.into()]), "{stem}");
        if rule == "hidden" {
            // No reader takes such a file.
            assert_eq!(keys(stem, "hidden=allow"), Err("bad-name".into()));
        } else if rule != "nonascii" {
            assert_eq!(keys(stem, &format!("{rule}=allow")), Ok(vec![allowed.into()]), "{stem}");
        }
        let others = "replace,hidden=replace";
        assert_eq!(
            keys(stem, &format!("{others},{rule}=refuse")),
            Err("bad-name".into()),
            "{stem}"
        );
        assert_eq!(keys(stem, others), Ok(vec![replaced.into()]), "{stem}");
    }
    assert_eq!(keys(".x", "hidden=skip"), Ok(vec![]));
}

#[test]
fn the_defaults_refuse_all_but_hidden_names_with_a_remedy() {
    for (fault, rule) in [
        (Fault::DottedStem, "dot"),
        (Fault::SpaceName, "space"),
        (Fault::NonAsciiName, "nonascii"),
        (Fault::NonUtf8Name, "nonascii"),
        (Fault::DunderFile, "dunder"),
        (Fault::DunderFolder, "dunder"),
        (Fault::SplitName, "long"),
        (Fault::LongName, "long"),
        (Fault::LongPath, "long"),
        (Fault::CaseTwins, "case"),
    ] {
        let place = Place::new();
        place.folder("photos", 3);
        fault.plant(&place.at("photos")).unwrap();
        let run = place.pack("build photos -o out").exits(1);
        run.says(&format!("--names {rule}=replace or {rule}=allow"));
    }
}

#[test]
fn every_reader_accepts_the_replaced_names() {
    for fault in [Fault::SpaceName, Fault::NonAsciiName, Fault::NonUtf8Name, Fault::LongName] {
        let place = Place::new();
        place.folder("photos", 3);
        fault.plant(&place.at("photos")).unwrap();
        place
            .pack("build photos -o out --names replace")
            .succeeds()
            .says("1 sample has another key");
        let members = place.members("out"); // plain ustar: the naive reader took it
        assert_eq!(members.len(), 8, "{fault:?}");
        for member in members {
            let good = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
            assert!(member.len() <= 100 && member.bytes().all(good), "{fault:?}: {member}");
        }
    }
}

#[test]
fn a_folder_too_long_to_be_shortened_stays_refused() {
    let place = Place::new();
    place.folder("photos", 3);
    Fault::LongPath.plant(&place.at("photos")).unwrap();
    let run = place.pack("build photos -o out --names replace").exits(1);
    run.says("its folder alone has 279 of the 100 bytes").says("--names long=allow");
}

#[test]
fn keys_that_differ_only_in_case_are_told_apart() {
    let place = Place::new();
    place.pair("photos/A").pair("photos/a");
    place.pack("build photos -o out").exits(1).says("case-collision");
    assert_eq!(place.problems("out")[0]["key"], "a");
    place.pack("build photos -o allowed --names case=allow").succeeds();
    assert_eq!(place.members("allowed"), ["A.jpg", "A.json", "a.jpg", "a.json"]);
    place.pack("build photos -o replaced --names case=replace").succeeds();
    let members = place.members("replaced");
    let lower: std::collections::BTreeSet<_> = members.iter().map(|m| m.to_lowercase()).collect();
    assert_eq!((members.len(), lower.len()), (4, 4), "{members:?}");
    assert!(members.contains(&"A.jpg".to_string()), "{members:?}");
}

#[test]
fn a_replaced_name_never_collides_with_another_sample() {
    let place = Place::new();
    place.pair("photos/a b").pair("photos/a_b").pair("photos/c");
    place.pack("build photos -o out --names replace").exits(1).says("repeated-key");
    place.pack("build photos -o out2 --names replace --on-problem skip").succeeds();
    assert_eq!(place.members("out2").len(), 4);
}

#[test]
fn dots_that_are_allowed_cut_the_key_at_the_first() {
    let place = Place::new();
    place.pair("photos/img.001").pair("photos/img.002");
    let run = place.pack("build photos -o out --names dot=allow --require ''").succeeds();
    run.says("1 sample");
    let names = ["img.001.jpg", "img.001.json", "img.002.jpg", "img.002.json"];
    assert_eq!(place.members("out"), names);
}

#[test]
fn a_pax_block_is_written_only_for_a_name_that_needs_one() {
    let place = Place::new();
    place.folder("photos", 3);
    Fault::SplitName.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o split --names long=allow").succeeds();
    assert!(place.members("split").iter().any(|m| m.len() > 140), "the prefix field holds it");
    Fault::LongName.plant(&place.at("photos")).unwrap();
    place.pack("build photos -o pax --names long=allow").succeeds();
    let tar = std::fs::read(place.at("pax/shard-000000.tar")).unwrap();
    let flags = || (0..tar.len()).step_by(512).filter(|&at| &tar[at + 257..at + 262] == b"ustar");
    let pax = flags().filter(|&at| tar[at + 156] == b'x').count();
    assert_eq!((pax, flags().count()), (2, 2 + 10), "one for each part of the long name");
    assert!(std::panic::catch_unwind(|| members_of(&tar)).is_err(), "no longer plain ustar");
}
