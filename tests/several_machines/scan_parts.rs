//! `pack scan` on several machines: the plan made of their scans is the plan of one machine.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::Place;

/// A place with a tree: deep folders, a flat one, names in several levels, hidden and excluded ones.
fn tree() -> Place {
    let place = Place::new();
    for folder in 0..9 {
        place.folder(&format!("photos/cats/{folder}"), 3 + folder);
    }
    place.folder("photos/flat", 40);
    place.folder("photos", 12);
    for folder in 0..70 {
        place.file(format!("photos/many/{folder:02}/a.jpg"), "jpg");
        place.file(format!("photos/many/{folder:02}/a.json"), "{}");
        place.file(format!("photos/many/{folder:02}-b.jpg"), "jpg");
        place.file(format!("photos/many/{folder:02}-b.json"), "{}");
    }
    place.file("photos/.hidden/x.jpg", "x");
    place.file("photos/cats/Thumbs.db", "x");
    place
}

/// The plan's hash: the same for the same contents.
fn plan(place: &Place, out: &str, words: &str) -> String {
    let text = format!("plan photos -o {out} --exclude **/Thumbs.db --shard-samples 7 {words}");
    place.pack(&text).succeeds();
    let status = place.pack(&format!("status {out} --format json"));
    status.events().remove(0)["plan"].as_str().unwrap().to_string()
}

fn scan(place: &Place, part: u64, count: u64) {
    let words =
        format!("scan photos -o scans-{count} --exclude **/Thumbs.db --subtree {part}/{count}");
    place.pack(&words).succeeds();
}

#[test]
fn the_plan_of_any_number_of_parts_is_that_of_one_machine() {
    let place = tree();
    let whole = plan(&place, "whole", "");
    for count in [1, 2, 5, 40] {
        (0..count).rev().for_each(|part| scan(&place, part, count));
        let out = format!("out-{count}");
        let from = format!("--from-scans scans-{count}");
        assert_eq!(plan(&place, &out, &from), whole, "{count} parts");
        assert_eq!(
            fs::read(place.at("whole/.pack/plan")).unwrap(),
            fs::read(place.at(format!("{out}/.pack/plan"))).unwrap(),
            "{count} parts"
        );
    }
    let shuffled = plan(&place, "shuffled", "--shuffle 3 --split train=0.8,val=0.2");
    let from = "--shuffle 3 --split train=0.8,val=0.2 --from-scans scans-5/part-*.scan";
    assert_eq!(plan(&place, "shuffled-5", from), shuffled);
    let label = "--exclude **/*.json --exclude /s*.jpg --label folder=1";
    let labeled = plan(&place, "labeled", label);
    (0..2).for_each(|part| {
        let words = format!("scan photos -o labels --exclude **/Thumbs.db {label}");
        place.pack(&format!("{words} --subtree {part}/2")).succeeds();
    });
    assert_eq!(plan(&place, "labeled-2", &format!("{label} --from-scans labels")), labeled);
    place.pack("run out-5 --ignore-times").exits(65); // the JPEGs of the tree are none
}

#[test]
fn the_launcher_gives_the_part() {
    let place = tree();
    for rank in ["0", "1"] {
        let env = [("SLURM_PROCID", rank), ("SLURM_NTASKS", "2"), ("SLURM_STEP_ID", "0")];
        place.pack_in(&env, "scan photos -o scans --exclude **/Thumbs.db").succeeds();
    }
    place.pack("plan photos -o out --exclude **/Thumbs.db --from-scans scans").succeeds();
    place.pack("scan photos -o scans").exits(2).says("--subtree 0/16");
    place.pack("scan photos -o scans --subtree 2/2").exits(2).says("0/16");
    place.pack("scan tar:a.tar -o scans --subtree 0/2").exits(2).says("only folders");
}

#[test]
fn problems_of_parts_are_those_of_one_machine() {
    let place = tree();
    place.file("photos/many/33/orphan.jpg", "jpg");
    place.file("photos/flat/has space.jpg", "jpg");
    symlink("nowhere", place.at("photos/cats/3/link.jpg")).unwrap();
    (0..3).for_each(|part| scan(&place, part, 3));
    let exclude = "--exclude **/Thumbs.db";
    place.pack(&format!("plan photos -o whole {exclude}")).exits(1);
    place.pack(&format!("plan photos -o out {exclude} --from-scans scans-3")).exits(1);
    let problems = |out: &str| {
        let text = fs::read_to_string(place.at(format!("{out}/problems.jsonl"))).unwrap();
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    assert_eq!(problems("out"), problems("whole"));
    assert_eq!(problems("out").len(), 3);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let place = tree();
    (0..3).for_each(|part| scan(&place, part, 3));
    (0..2).for_each(|part| scan(&place, part, 2));
    let plan = "plan photos -o out --exclude **/Thumbs.db --from-scans";
    place
        .pack(&format!("{plan} scans-3/part-00000* scans-3/part-00002*"))
        .exits(2)
        .says("part 1 of 3 is missing");
    place.pack(&format!("{plan} scans-3 scans-3/part-00002*")).exits(2).says("are both part 2");
    place.pack(&format!("{plan} scans-2 scans-3")).exits(2).says("parts of different scans");
    place.pack(&format!("{plan} nowhere.scan")).exits(2).says("nowhere.scan");
    place
        .pack("plan photos -o out --from-scans scans-3")
        .exits(2)
        .says("other options (--exclude)");
    place.folder("more", 3);
    place
        .pack("plan more -o out --exclude **/Thumbs.db --from-scans scans-3")
        .exits(2)
        .says("the same folders");
    place.file("photos/new-folder/a.jpg", "jpg");
    scan(&place, 1, 3);
    place.pack(&format!("{plan} scans-3")).exits(2).says("the folders changed");
    assert!(!place.at("out").exists());
}

#[test]
fn a_damaged_scan_is_bad_data_wherever_it_is_damaged() {
    let place = tree();
    scan(&place, 0, 1);
    let path = place.at("scans-1/part-00000-of-00001.scan");
    let bytes = fs::read(&path).unwrap();
    let plan = "plan photos -o out --exclude **/Thumbs.db --from-scans scans-1";
    for at in (0..bytes.len()).step_by(bytes.len() / 23) {
        let mut spoiled = bytes.clone();
        spoiled[at] ^= 0x10;
        fs::write(&path, &spoiled).unwrap();
        place.pack(plan).exits(65).says("part-00000-of-00001.scan");
    }
    for length in [0, 8, 31, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        place.pack(plan).exits(65).says("part-00000-of-00001.scan");
    }
    fs::write(&path, &bytes).unwrap();
    place.pack(plan).succeeds();
}
