//! `--files`: the files come from a list, which `find`, a store's inventory or a policy engine wrote.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::harness::Place;

fn tree() -> Place {
    let place = Place::new();
    place.folder("photos", 60);
    place.folder("photos/b", 9);
    place.folder("photos/b-c", 5);
    place.file("photos/.hidden/x.jpg", "x");
    place.pack("build photos -o whole --shard-samples 10").succeeds();
    place
}

/// The paths of all files below `photos`, in an order that is not that of their names.
fn names(place: &Place) -> Vec<String> {
    fn walk(folder: &Path, under: &str, names: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{under}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &name, names);
            } else {
                names.push(name);
            }
        }
    }
    let mut names = Vec::new();
    walk(&place.at("photos"), "photos", &mut names);
    names.sort_by_key(|name| name.bytes().rev().collect::<Vec<_>>());
    names
}

fn size(place: &Place, name: &str) -> u64 {
    fs::metadata(place.at(name)).unwrap().len()
}

/// As `find photos -type f -printf '%s\t%T@\t%p\n'`.
fn found(place: &Place) -> String {
    let mut text = String::new();
    for name in names(place) {
        let found = fs::metadata(place.at(&name)).unwrap();
        let size = found.len();
        let seconds = found.mtime();
        let rest = found.mtime_nsec();
        writeln!(text, "{size}\t{seconds}.{rest:09}0\t{name}").unwrap();
    }
    text
}

#[test]
fn the_plan_of_a_list_with_times_is_that_of_the_folder() {
    let place = tree();
    place.file("list.txt", found(&place));
    place.pack("plan photos -o walked --shard-samples 10").succeeds();
    place.pack("plan photos -o listed --shard-samples 10 --files list.txt").succeeds();
    let plan = |out: &str| fs::read(place.at(format!("{out}/.pack/plan"))).unwrap();
    assert_eq!(plan("listed"), plan("walked"));
    let (first, second): (Vec<_>, Vec<_>) =
        found(&place).lines().map(String::from).enumerate().partition(|(n, _)| n % 2 == 0);
    for (name, half) in [("one.list", first), ("two.list", second)] {
        let lines: Vec<String> = half.into_iter().map(|(_, line)| line).collect();
        place.file(name, lines.join("\n"));
    }
    place.pack("plan photos -o halves --shard-samples 10 --files one.list two.list").succeeds();
    assert_eq!(plan("halves"), plan("walked"));
}

#[test]
fn lists_without_times_give_the_same_shards() {
    let place = tree();
    let of = |line: &dyn Fn(&str, u64) -> String| {
        names(&place).iter().map(|name| line(name, size(&place, name)) + "\n").collect::<String>()
    };
    let root = place.at("photos").to_str().unwrap().to_string();
    place.file("sizes.txt", of(&|name, size| format!("{size}\t./{name}")));
    place.file("paths.txt", of(&|name, _| name.into()));
    place.file("absolute.txt", of(&|name, _| name.replacen("photos", &root, 1)));
    place.file(
        "policy.list",
        of(&|name, size| {
            format!("93 65537 0   {size} KB -- {}", name.replacen("photos", &root, 1))
        }),
    );
    place.file(
        "keys.jsonl",
        of(&|name, size| format!(r#"{{"key": "{}", "size": {size}}}"#, &name[7..])),
    );
    place.file("table.csv", format!("path,size\n{}", of(&|name, size| format!("{name},{size}"))));
    for list in ["sizes.txt", "paths.txt", "absolute.txt", "policy.list", "keys.jsonl", "table.csv"]
    {
        place.pack(&format!("build photos -o out --shard-samples 10 --files {list}")).succeeds();
        place.same("out", "whole");
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn an_inventory_names_the_keys_of_a_mounted_bucket() {
    let place = tree();
    place.folder("photos/with space", 2);
    let names_rule = "--names space=replace";
    place.pack(&format!("build photos -o spaced --shard-samples 10 {names_rule}")).succeeds();
    let mut rows = String::new();
    for name in names(&place) {
        let key = name[7..].replace(' ', "%20");
        writeln!(rows, r#""bucket","{key}","true","false","{}""#, size(&place, &name)).unwrap();
    }
    rows.push_str("\"bucket\",\"gone.jpg\",\"true\",\"true\",\"\"\n\"bucket\",\"b/\",\"true\",\"false\",\"0\"\n");
    rows.push_str("\"bucket\",\"old.jpg\",\"false\",\"false\",\"9\"\n");
    place.file("inventory/data/part.csv", rows);
    let schema = "Bucket, Key, IsLatest, IsDeleteMarker, Size";
    let manifest = format!(
        r#"{{"fileFormat": "CSV", "fileSchema": "{schema}", "files": [{{"key": "x/data/part.csv"}}]}}"#
    );
    place.file("inventory/2026-11-01T00-00Z/manifest.json", manifest);
    let list = "--files inventory/2026-11-01T00-00Z/manifest.json";
    place.pack(&format!("build photos -o out --shard-samples 10 {names_rule} {list}")).succeeds();
    place.same("out", "spaced");
}

#[test]
fn a_file_with_a_listed_size_is_not_examined_before_it_is_packed() {
    let place = Place::new();
    place.file("photos/there.txt", "not listed");
    place.file("list.txt", "100\ta.jpg\n20\ta.json\n100\tb.jpg\n20\tb.json\n");
    place.pack("plan photos -o out --files list.txt").succeeds().says("planned 2 samples");
    place.pack("run out").exits(75).says("all samples of this shard are gone");
}

#[test]
fn lists_can_be_scanned_in_parts() {
    let place = tree();
    let stem = |line: &String| {
        let path = line.rsplit('\t').next().unwrap();
        path[..path.rfind('.').unwrap()].to_string()
    };
    let mut lines: Vec<String> = found(&place).lines().map(String::from).collect();
    lines.sort_by_key(stem);
    // A sorted list can be cut between any two samples.
    let middle = (lines.len() / 2..).find(|&n| stem(&lines[n - 1]) != stem(&lines[n])).unwrap();
    let (one, two) = lines.split_at(middle);
    place.file("0.txt", one.join("\n"));
    place.file("1.txt", two.join("\n"));
    place.file("all.txt", lines.join("\n"));
    let part =
        |list: &str, part: u64| format!("scan photos -o scans --subtree {part}/2 --files {list}");
    (0..2).for_each(|n| drop(place.pack(&part(&format!("{n}.txt"), n)).succeeds()));
    place.pack("plan photos -o whole-list --files all.txt").succeeds();
    place.pack("plan photos -o out --from-scans scans").succeeds();
    let plan = |out: &str| fs::read(place.at(format!("{out}/.pack/plan"))).unwrap();
    assert_eq!(plan("out"), plan("whole-list"));
    place.pack(&part("all.txt", 1)).succeeds();
    place
        .pack("plan photos -o twice --from-scans scans")
        .exits(2)
        .says("have the same samples, such as");
}

#[test]
fn wrong_lists_are_refused_with_their_line() {
    let place = tree();
    let refused = |text: &str, says: &str| {
        place.file("list.txt", text);
        place.pack("plan photos -o out --files list.txt").exits(2).says(says);
    };
    refused(
        "12\tphotos/a.jpg\nbig\tphotos/b.jpg\n",
        "list.txt: line 2: the first field is no size",
    );
    refused("photos/a.jpg\nphotos/../b.jpg\n", "list.txt: line 2: ");
    refused("/elsewhere/a.jpg\n", "no line of");
    place.pack("plan photos -o out --files nowhere.txt").exits(2).says("nowhere.txt");
    place.file("table.csv", "a,b\n1,2\n");
    place.pack("plan photos -o out --files table.csv").exits(2).says("no column has the paths");
    place.file("x.json", "{}");
    place
        .pack("plan photos -o out --files x.json")
        .exits(2)
        .says("no manifest.json of an S3 inventory");
    place.pack("plan tar:x.tar -o out --files x.json").exits(2).says("--files");
}
