//! Tars that were changed after `pack index` made their sidecars.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::harness::Place;

const INDEX: &str = "index --columns class:u32 t";

/// Puts a tar with two samples of these classes, each of one digit, into folder `t`.
fn write_tar(place: &Place, classes: [u32; 2]) {
    let _ = fs::remove_dir_all(place.at("made"));
    let _ = fs::remove_dir_all(place.at("src"));
    for (n, class) in classes.into_iter().enumerate() {
        place.file(format!("src/s{n}.json"), format!("{{\"class\":{class}}}"));
        place.file(format!("src/s{n}.txt"), "a text");
    }
    place.pack("build src -o made --require json").succeeds();
    let bytes = fs::read(place.at("made/shard-000000.tar")).unwrap();
    place.file("t/a.tar", bytes);
}

/// Writes the file again until its time of change is later than that of the sidecar.
fn write_later(place: &Place, classes: [u32; 2]) {
    let changed = |name: &str| {
        let found = fs::metadata(place.at(name)).unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    write_tar(place, classes);
    while changed("t/a.tar") <= changed("t/a.index") {
        write_tar(place, classes);
    }
}

#[test]
fn labels_of_an_earlier_tar_are_kept_by_no_command() {
    let place = Place::new();
    write_tar(&place, [1, 2]);
    place.pack(INDEX).succeeds();
    write_later(&place, [3, 4]);
    for command in ["index t", INDEX] {
        let run = place.pack(command).exits(65);
        let run =
            run.says("t/a.tar: byte 512: key s0: the tar was changed after its sidecar was made");
        run.says("`pack index --force --columns class=json:/class:u32 t`");
    }
    let run = place.pack("verify --level quick t").exits(1).says("stale-index");
    run.says("`pack index --force --columns class=json:/class:u32 t`");
    place.pack("verify t").exits(1);
    place.pack("index --force --columns class=json:/class:u32 t").succeeds();
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify --level {level} t")).succeeds();
    }
}

#[test]
fn a_tar_that_was_only_touched_is_proved_and_its_sidecar_renewed() {
    let place = Place::new();
    write_tar(&place, [1, 2]);
    place.pack(INDEX).succeeds();
    write_later(&place, [1, 2]);
    let sidecar = fs::read(place.at("t/a.index")).unwrap();
    place.pack("verify --level quick t").succeeds();
    place.pack(INDEX).succeeds().says("kept");
    assert_eq!(fs::read(place.at("t/a.index")).unwrap(), sidecar);
    assert!(!is_newer(&place.at("t/a.tar"), &place.at("t/a.index")));
}

fn is_newer(tar: &Path, sidecar: &Path) -> bool {
    let found = |path| fs::metadata(path).unwrap();
    let changed = |path| (found(path).ctime(), found(path).ctime_nsec());
    changed(tar) > changed(sidecar)
        || found(tar).modified().unwrap() > found(sidecar).modified().unwrap()
}

#[test]
fn other_names_in_a_tar_of_the_same_length_stop_every_command_that_lists() {
    let place = Place::new();
    write_tar(&place, [1, 2]);
    place.pack("index t").succeeds();
    let mut bytes = fs::read(place.at("t/a.tar")).unwrap();
    bytes[1] = b'9'; // s0 becomes s9, and the sum of its header 9 more
    let sum = bytes[..512].iter().enumerate();
    let sum: u32 = sum.map(|(n, &b)| if (148..156).contains(&n) { 32 } else { u32::from(b) }).sum();
    bytes[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    loop {
        place.file("t/a.tar", &bytes);
        if is_newer(&place.at("t/a.tar"), &place.at("t/a.index")) {
            break;
        }
    }
    for command in ["ls t", "ls t/a.tar", "unpack t -o u", "reshard t -o r", "stats t", "info t"] {
        place.pack(command).exits(65).says("the tar has 's9.json' of 11 bytes");
    }
}

#[test]
fn a_column_that_no_sample_has_is_an_error() {
    let place = Place::new();
    write_tar(&place, [1, 2]);
    let run = place.pack("index --columns klass:u32 t").exits(65);
    run.says("no sample has a value of column 'klass', which is the field /klass of a part 'json'");
    place.pack("index --columns class:u32,klass:u32 t").exits(65).says("'klass'");
    // Tars that are named one by one are looked at together.
    let bytes = fs::read(place.at("t/a.tar")).unwrap();
    let at = bytes.windows(5).position(|word| word == b"class").unwrap();
    let other = [&bytes[..at], b"klass", &bytes[at + 5..]].concat();
    place.file("t/b.tar", other);
    place.pack("index --force --columns klass:u32 t/a.tar").exits(65).says("'klass'");
    place.pack("index --force --columns klass:u32 t/{a,b}.tar").succeeds();
}

#[test]
fn braces_name_tars() {
    let place = Place::new();
    write_tar(&place, [1, 2]);
    let bytes = fs::read(place.at("t/a.tar")).unwrap();
    place.file("t/b.tar", &bytes).file("t/c.tar", &bytes);
    place
        .pack("index t/{a,b}.tar")
        .succeeds()
        .says("t/a.tar: 2 samples")
        .says("t/b.tar: 2 samples");
    assert_eq!(place.names("t"), ["a.index", "a.tar", "b.index", "b.tar", "c.tar"]);
    let one = place.pack("ls t/a.tar").succeeds().stdout;
    assert_eq!(place.pack("ls t/{a..c}.tar").succeeds().stdout, one.repeat(3));
    place.pack("cat t/{a,b}.tar s1.json").succeeds().prints("{\"class\":2}", "");
    place.pack("verify --level quick t/{a,b}.tar").succeeds().says("2 shards");
    place.pack("ls t/{a,b.tar").exits(2);
}
