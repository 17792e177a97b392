//! Each fault of a folder has its kind and its place in `problems.jsonl`; and the effects of
//! `--on-problem fail`, `skip` and `quarantine`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use tarflume_fixtures::{Fault, Planted, flat_jpeg};

use crate::harness::Place;

/// The kind of each fault; none for hidden files, which are left out without a problem.
fn kind(fault: Fault) -> Option<&'static str> {
    use Fault::*;
    Some(match fault {
        TruncatedJpeg | CutJpegEnd | GarbageJpeg | FlippedJpegMarker => "bad-jpeg",
        BadJson | JsonArray | JsonNotUtf8 => "bad-json",
        EmptyJpeg | EmptyJson => "empty",
        OrphanImage | OrphanJson => "missing-part",
        DottedStem | SpaceName | NonAsciiName | NonUtf8Name | DunderFile | DunderFolder => {
            "bad-name"
        }
        SplitName | LongName | LongPath => "bad-name",
        CaseTwins => "case-collision",
        TwoPictures | TwiceSamePart => "repeated-part",
        NoExtension => "no-extension",
        Symlink | Fifo => "not-regular",
        HiddenFile => return None,
    })
}

/// A folder of 30 good pairs with one fault.
fn with(fault: Fault) -> (Place, Planted) {
    let place = Place::new();
    place.folder("photos", 30);
    let planted = fault.plant(&place.at("photos")).unwrap();
    (place, planted)
}

/// Returns the members of a good folder, without the sample that the fault spoiled.
fn good_members(fault: Fault, planted: &Planted) -> Vec<String> {
    let place = Place::new();
    place.folder("photos", 30);
    place.pack("build photos -o out").succeeds();
    let spoiled = planted.path.with_extension("");
    let lost = |name: &str| fault <= Fault::EmptyJson && spoiled.to_str() == name.split('.').next();
    place.members("out").into_iter().filter(|name| !lost(name)).collect()
}

/// Returns the problem of the fault itself.
fn problem_of<'a>(problems: &'a [Value], kind: &str) -> &'a Value {
    problems
        .iter()
        .find(|p| p["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind} in {problems:#?}"))
}

#[test]
fn each_fault_has_its_kind_and_place_and_nothing_is_published() {
    for fault in Fault::ALL {
        let (place, planted) = with(fault);
        let run = place.pack("build photos -o out");
        let Some(kind) = kind(fault) else {
            run.succeeds();
            assert!(place.problems("out").is_empty());
            continue;
        };
        run.exits(1).says(kind).says("problems.jsonl");
        let published: Vec<_> =
            place.names("out").into_iter().filter(|n| !n.starts_with(".pack/")).collect();
        assert_eq!(published, ["problems.jsonl"], "{fault:?}");
        let problems = place.problems("out");
        let problem = problem_of(&problems, kind);
        // The file that lost its partner to a link or pipe is a separate problem.
        let expected = 1 + usize::from(kind == "not-regular");
        assert_eq!(problems.len(), expected, "{fault:?}: {problems:#?}");
        let path = match fault {
            Fault::DunderFolder => "photos/__MACOSX".into(),
            Fault::TwoPictures => "photos/fault_two_pictures.jpg".into(), // the later one, by bytes
            Fault::TwiceSamePart => "photos/fault_twice.jpg".into(),
            Fault::NonUtf8Name => "photos/fault_caf\\xe9.jpg".into(),
            _ => format!("photos/{}", planted.path.display()),
        };
        assert!(problem["path"].as_str().unwrap().ends_with(&path), "{path}: {problem}");
        assert!(problem["reason"].as_str().unwrap().len() > 10, "{problem}");
        if matches!(kind, "bad-jpeg" | "bad-json") {
            assert!(problem["byte"].is_u64(), "{fault:?}: {problem}");
        }
        if fault <= Fault::EmptyJson {
            let key = planted.path.with_extension("");
            assert_eq!(problem["key"], key.to_str().unwrap(), "{fault:?}");
        }
    }
}

#[test]
fn damaged_content_is_reported_with_its_byte() {
    for (fault, byte) in [
        (Fault::GarbageJpeg, 0),
        (Fault::FlippedJpegMarker, 626),
        (Fault::BadJson, 11),
        (Fault::JsonArray, 0),
        (Fault::JsonNotUtf8, 13),
    ] {
        let (place, _) = with(fault);
        place.pack("build photos -o out").exits(1);
        assert_eq!(
            place.problems("out")[0]["byte"],
            byte,
            "{fault:?}: {}",
            place.problems("out")[0]
        );
    }
}

#[test]
fn skip_publishes_all_but_the_faulty_sample() {
    for fault in Fault::ALL {
        let (place, planted) = with(fault);
        place.pack("build photos -o out --on-problem skip").succeeds();
        let members = place.members("out");
        let plain: Vec<_> = members.iter().filter(|m| !m.contains("fault")).cloned().collect();
        assert_eq!(plain, good_members(fault, &planted), "{fault:?}");
        let others: Vec<_> = members.iter().filter(|m| m.contains("fault")).collect();
        let first_twin = usize::from(fault == Fault::CaseTwins) * 2;
        assert_eq!(others.len(), first_twin, "{fault:?}: {others:?}");
        let kinds = place.problems("out");
        assert_eq!(kind(fault).is_none(), kinds.is_empty(), "{fault:?}");
        assert!(!place.at("out/quarantine").try_exists().unwrap());
    }
}

#[test]
fn quarantine_copies_the_files_with_the_reason() {
    for fault in Fault::ALL {
        let (place, planted) = with(fault);
        place.pack("build photos -o out --on-problem quarantine").succeeds();
        let Some(kind) = kind(fault) else { continue };
        if matches!(fault, Fault::Symlink | Fault::Fifo | Fault::DunderFolder) {
            continue; // nothing that could be copied
        }
        let copy = place.at("out/quarantine").join(&planted.path);
        let original = fs::read(place.at("photos").join(&planted.path)).unwrap();
        assert!(
            fs::read(&copy).is_ok_and(|bytes| bytes == original),
            "{fault:?}: {}",
            copy.display()
        );
        let mut reason = copy.into_os_string();
        reason.push(".reason.json");
        let reason: Value = serde_json::from_slice(&fs::read(reason).unwrap()).unwrap();
        assert_eq!(reason["kind"], kind, "{fault:?}");
        let reported = place.problems("out");
        assert_eq!(&reason, problem_of(&reported, kind), "{fault:?}");
    }
}

#[test]
fn quarantine_copies_the_whole_sample() {
    let (place, planted) = with(Fault::BadJson);
    place.pack("build photos -o out --on-problem quarantine").succeeds();
    for ext in ["jpg", "json"] {
        let name = planted.path.with_extension(ext);
        let copy = fs::read(place.at("out/quarantine").join(&name)).unwrap();
        assert_eq!(copy, fs::read(place.at("photos").join(&name)).unwrap());
    }
}

#[test]
fn many_simultaneous_faults_are_all_reported() {
    let place = Place::new();
    place.folder("photos", 60);
    for fault in Fault::ALL {
        fault.plant(&place.at("photos")).unwrap();
    }
    place.pack("build photos -o out --on-problem skip --shards 5").succeeds();
    let problems = place.problems("out");
    for fault in Fault::ALL {
        if let Some(kind) = kind(fault) {
            problem_of(&problems, kind);
        }
    }
    assert_eq!(place.members("out").iter().filter(|m| !m.contains("fault")).count(), 2 * (60 - 9));
    for jobs in [1, 3] {
        let words = format!("build photos -o out{jobs} --on-problem skip --shards 5 --jobs {jobs}");
        place.pack(&words).succeeds();
        place.same("out", &format!("out{jobs}"));
    }
}

#[test]
fn a_folder_of_nothing_but_faults_is_refused() {
    let place = Place::new();
    place.file("photos/a.jpg", "").file("photos/b.json", "");
    place.pack("build photos -o out --on-problem skip").exits(2).says("no samples");
    place.folder("spoiled", 1);
    Fault::BadJson.plant(&place.at("spoiled")).unwrap();
    let run = place.pack("build spoiled -o out2 --on-problem skip");
    assert_ne!(run.exit, 101, "{run:#?}");
}

/// A source with a JPEG that has no JSON, which the quarantine gets.
fn orphaned(name: &str) -> Place {
    let place = Place::new();
    place.folder("photos", 4).file(format!("photos/{name}.jpg"), flat_jpeg(b"orphan"));
    place
}

#[test]
fn a_copy_in_the_quarantine_replaces_nothing_and_follows_no_link() {
    let place = orphaned("c0000/bad");
    place.file("precious", "bytes").file("out/quarantine/c0000/bad.jpg", "another run's");
    for round in 0..3 {
        place.pack("build photos -o out --on-problem quarantine").succeeds();
        let copy = |name: &str| fs::read(place.at("out/quarantine/").join(name)).unwrap();
        assert_eq!(copy("c0000/bad.jpg"), b"another run's");
        assert_eq!(fs::read(place.at("precious")).unwrap(), b"bytes");
        let names = place.names("out/quarantine");
        let hashed: Vec<_> = names.iter().filter(|name| name.ends_with(".jpg")).collect();
        let [_, first, ..] = hashed[..] else { panic!("{names:?}") };
        if round == 0 {
            // The second time, the copy's place is taken by a foreign link.
            assert!(copy(first) == flat_jpeg(b"orphan") && names.len() == 3, "{names:?}");
            fs::remove_file(place.at("out/quarantine").join(first)).unwrap();
            symlink(place.at("precious"), place.at("out/quarantine").join(first)).unwrap();
        } else {
            let copies = hashed.iter().filter(|name| copy(name) == flat_jpeg(b"orphan"));
            assert_eq!((copies.count(), names.len()), (1, 5), "the third time finds its copy");
        }
        for name in &hashed[1..] {
            assert!(copy(&format!("{name}.reason.json")).starts_with(b"{"));
        }
        fs::remove_file(place.at("out/dataset.json")).unwrap();
        for name in ["shard-000000.tar", "shard-000000.index"] {
            fs::remove_file(place.at("out").join(name)).unwrap();
        }
    }
}

#[test]
fn a_link_where_a_folder_of_the_quarantine_should_be_is_refused() {
    for link in ["out/quarantine", "out/quarantine/c0000"] {
        let place = orphaned("c0000/bad");
        fs::create_dir(place.at("elsewhere")).unwrap();
        fs::create_dir_all(place.at(link).parent().unwrap()).unwrap();
        symlink(place.at("elsewhere"), place.at(link)).unwrap();
        place.pack("build photos -o out --on-problem quarantine").exits(2).says("is not a folder");
        assert_eq!(place.names("elsewhere").len(), 0);
        fs::remove_file(place.at(link)).unwrap();
        place.pack("build photos -o out --on-problem quarantine").succeeds();
        assert!(place.at("out/quarantine/c0000/bad.jpg").try_exists().unwrap());
    }
}

#[test]
fn files_of_two_sources_with_one_name_are_both_set_aside() {
    let place = orphaned("bad");
    place.file("more/bad.jpg", flat_jpeg(b"another")).pair("more/good");
    place.pack("build photos more -o out --on-problem quarantine").succeeds();
    let names = place.names("out/quarantine");
    let names = names.iter().filter(|name| name.ends_with(".jpg"));
    let copies: Vec<_> =
        names.map(|n| fs::read(place.at("out/quarantine").join(n)).unwrap()).collect();
    assert_eq!(copies, [flat_jpeg(b"orphan"), flat_jpeg(b"another")]);
}

#[test]
fn a_file_with_a_long_name_is_set_aside_with_its_reason() {
    let name = "n".repeat(250);
    let place = orphaned(&name);
    place.pack("build photos -o out --on-problem quarantine").succeeds();
    let kept = place.names("out/quarantine");
    assert_eq!(kept.len(), 2);
    assert!(
        kept.contains(&format!("{name}.jpg")) && kept.iter().any(|n| n.ends_with(".reason.json"))
    );
}

#[test]
fn a_data_set_without_samples_is_not_published() {
    for policy in ["skip", "quarantine"] {
        let place = Place::new();
        place.folder("photos", 4);
        for name in place.names("photos").iter().filter(|name| name.ends_with(".json")) {
            place.file(format!("photos/{name}"), "{");
        }
        let words = format!("build photos -o out --on-problem {policy}");
        for _ in 0..2 {
            place.pack(&words).exits(65).says("all 4 samples have problems").says("--fresh");
            assert!(!place.at("out/dataset.json").try_exists().unwrap());
            assert_eq!(place.problems("out").len(), 4);
        }
        place.pack("finalize out").exits(65).says("nothing was published");
        place.folder("photos", 4);
        place.pack(&format!("{words} --fresh")).succeeds().says("published 4 samples");
    }
}

#[test]
fn problems_that_this_version_cannot_read_are_an_error() {
    let place = Place::new();
    place.folder("photos", 4).file("photos/c0000/s000000.json", "{");
    place.pack("plan photos -o out --shards 2").succeeds();
    place.pack("run out --on-problem skip").succeeds();
    let path = "out/.pack/shards/shard-000000.tar.record";
    let record = fs::read_to_string(place.at(path)).unwrap();
    assert!(record.contains("bad-json"), "{record}");
    place.file(path, record.replace("bad-json", "a-kind-of-tomorrow"));
    for policy in ["fail", "skip", "quarantine"] {
        let run = place.pack(&format!("run out --on-problem {policy}")).exits(65);
        run.says("shard-000000.tar.record").says("can't read").says("a-kind-of-tomorrow");
        place.pack(&format!("build photos -o out --shards 2 --on-problem {policy}")).exits(65);
        assert!(!place.at("out/dataset.json").try_exists().unwrap(), "{policy}");
    }
    // As the message advises.
    fs::remove_file(place.at(path)).unwrap();
    place.pack("build photos -o out --shards 2 --on-problem skip").succeeds();
    assert_eq!(place.problems("out")[0]["kind"], "bad-json");
}

#[test]
fn a_long_name_that_is_taken_is_quarantined_under_a_hash() {
    let name = format!("{}.jpg", "n".repeat(251));
    let place = orphaned(&name[..251]);
    place.file(format!("out/quarantine/{name}"), "another run's");
    place.pack("build photos -o out --on-problem quarantine").succeeds();
    let mut copies = place.names("out/quarantine");
    copies.retain(|name| name.ends_with(".jpg"));
    assert_eq!(copies.len(), 2, "{copies:?}");
    let hashed = copies.iter().find(|copy| **copy != name).unwrap();
    let copy = fs::read(place.at("out/quarantine").join(hashed)).unwrap();
    assert_eq!((copy, hashed.len()), (flat_jpeg(b"orphan"), 255));
}
