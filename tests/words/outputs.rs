//! Files that the user names for a command to write: data sets and files of other kinds are not overwritten.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::Place;

/// A place with the data set `set`, a tar with a sidecar in `loose`, and a link to the set.
fn sets() -> Place {
    let place = Place::new();
    place.folder("photos", 6).pack("build photos -o set --shards 2").succeeds();
    fs::create_dir(place.at("loose")).unwrap();
    for name in ["shard-000000.tar", "shard-000000.index"] {
        fs::copy(place.at("set").join(name), place.at("loose").join(name)).unwrap();
    }
    fs::create_dir(place.at("reports")).unwrap();
    symlink("set", place.at("link")).unwrap();
    place
}

#[test]
fn no_command_writes_a_file_into_a_data_set() {
    let place = sets();
    let before = [place.tree("set"), place.tree("loose")];
    for path in [
        "set/dataset.json",
        "set/shard-000000.tar",
        "set/new.json",
        "link/dataset.json",
        "reports/../set/new.json",
        "set/.pack/new.json",
        "loose/shard-000000.index",
        "reports/dataset.json",
        "reports/shard-000000.tar",
    ] {
        for words in [
            format!("verify --quiet set --write-expect {path}"),
            format!("verify --quiet set --report junit={path}"),
            format!("verify --quiet set --report text={path}"),
        ] {
            place.pack(&words).exits(2).says("data set");
        }
    }
    for path in ["set/new", "link/new"] {
        for words in [
            format!("view set --force -o {path}"),
            format!("dedupe set --exclude-list {path}"),
            format!("export set --to csv -o {path}"),
            format!("export set --to folder -o {path}"),
            format!("export set --to megatron -o {path}"),
            format!("unpack set -o {path}"),
            format!("man -o {}", path.trim_end_matches("/new")),
            format!("slurm photos -o new --nodes 2 --scripts {}", path.trim_end_matches("/new")),
        ] {
            place.pack(&words).exits(2).says("data set");
        }
    }
    assert_eq!([place.tree("set"), place.tree("loose")], before);
    assert_eq!(place.names("reports"), [""; 0]);
}

/// Returns a text without its digits after `time=`.
fn timeless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split("time=\"");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
    })
}

#[test]
fn a_file_of_the_same_kind_is_replaced_and_one_of_another_kind_stays() {
    let place = sets();
    let outputs = [
        ("expect.json", "verify --quiet set --write-expect expect.json"),
        ("a.txt", "verify --quiet set --report text=a.txt"),
        ("a.json", "verify --quiet set --report json=a.json"),
        ("a.xml", "verify --quiet set --report junit=a.xml"),
        ("a.sarif", "verify --quiet set --report sarif=a.sarif"),
        ("a.github", "verify --quiet set --report github=a.github"),
        ("a.gitlab", "verify --quiet set --report gitlab=a.gitlab"),
        ("a.md", "verify --quiet set --report markdown=a.md"),
        ("page.html", "view set --force -o page.html"),
        ("list.jsonl", "dedupe set photos.tar --exclude-list list.jsonl"),
        ("scripts/run.sh", "slurm photos -o new --nodes 2 --scripts scripts"),
    ];
    // A set with a duplicate, so that the list has a line.
    fs::copy(place.at("set/shard-000000.tar"), place.at("photos.tar")).unwrap();
    place.pack("index photos.tar").succeeds();
    fs::rename(place.at("photos.tar"), place.at("reports/photos.tar")).unwrap();
    fs::rename(place.at("photos.index"), place.at("reports/photos.index")).unwrap();
    for (file, words) in outputs {
        let words = words.replace("photos.tar", "reports/photos.tar");
        let exit = i32::from(file == "list.jsonl");
        place.pack(&words).exits(exit);
        let first = fs::read(place.at(file)).unwrap();
        assert!(!first.is_empty(), "{file}");
        place.pack(&words).exits(exit);
        let second = fs::read(place.at(file)).unwrap();
        assert_eq!(timeless(&second), timeless(&first), "{file}");
        fs::write(place.at(file), "").unwrap();
        place.pack(&words).exits(exit);
        // Every other kind of file, a note and bytes of none.
        let others = outputs.iter().filter(|(other, _)| *other != file).map(|(other, _)| other);
        let mut others: Vec<Vec<u8>> =
            others.filter_map(|other| fs::read(place.at(other)).ok()).collect();
        others.extend([b"# Notes\n\nmy shards\n".to_vec(), vec![0, 1, 2]]);
        for other in &others {
            fs::write(place.at(file), other).unwrap();
            place.pack(&words).exits(2).says(file).says("the file there is not");
            assert_eq!(&fs::read(place.at(file)).unwrap(), other, "{file}");
        }
        fs::write(place.at(file), first).unwrap();
    }
    place.pack("verify set --report junit=reports").exits(2).says("folder");
    place.pack("verify set --report junit=/dev/null").exits(2).says("device");
    place.pack("verify set --report junit=a.xml --report text=a.xml").exits(2).says("two outputs");
}

#[test]
fn a_report_to_a_dash_is_on_standard_output_alone() {
    let place = sets();
    for (form, begin, once) in [
        ("junit", "<?xml", "2 shards"),
        ("sarif", "{", "2 shards"),
        ("json", "{", "\"whole\""),
        ("github", "::notice", "2 shards"),
        ("markdown", "✅", "2 shards"),
        ("text", "2 shards", "2 shards"),
    ] {
        let run = place.pack(&format!("verify set --report {form}=-")).succeeds();
        assert!(run.stdout.starts_with(begin), "{form}: {}", run.stdout);
        assert_eq!(run.stdout.matches(once).count(), 1, "{form}: {}", run.stdout);
        assert!(run.stderr.contains("whole"), "{form}: {}", run.stderr);
    }
    let run = place.pack("verify set --quiet --report json=-").succeeds();
    assert!(
        serde_json::from_str::<serde_json::Value>(&run.stdout).is_ok() && run.stderr.is_empty()
    );
    place.pack("verify set --report json=- --report junit=-").exits(2).says("one report");
    place.pack("verify set --format json --report junit=-").exits(2).says("one report");
    place.pack("verify set --write-expect -").exits(2).says("./-");
    assert!(!place.at("-").try_exists().unwrap());
}
