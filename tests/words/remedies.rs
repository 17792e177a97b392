//! Errors say what to do, and it works: the command of an error is run as it is printed.

use std::fs;
use std::path::Path;

use crate::harness::{Place, Run, tool};

/// Runs a line in a shell that finds `pack`.
pub(crate) fn shell(place: &Place, line: &str) -> Run {
    let bin = Path::new(env!("CARGO_BIN_EXE_pack")).parent().unwrap().display();
    tool(place, "bash", &["-c", &format!("PATH=\"{bin}:$PATH\"; {line}")])
}

/// Returns the command between the last backticks, without its rest of text.
pub(crate) fn remedy(run: &Run) -> String {
    let text = format!("{}{}", run.stdout, run.stderr);
    let commands: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let found = commands.iter().rev().find(|command| command.starts_with("pack "));
    // The place is the working folder.
    found
        .unwrap_or_else(|| panic!("no command in {text}"))
        .replace("PLACE/", "")
        .replace("PLACE", "")
}

#[test]
fn a_sidecar_of_another_tar_is_made_again_by_the_command_of_every_error() {
    let place = Place::new();
    place.photos("photos", 4).photos("more", 6);
    for (words, problem) in [
        ("info 'my set'", false),
        ("ls 'my set'", false),
        ("cat 'my set' 0/p.jpg", false),
        ("stats 'my set'", false),
        ("unpack 'my set' -o out", false),
        ("export 'my set' --to csv -o t.csv", false),
        ("reshard 'my set' -o others", false),
        ("bench 'my set' --samples 1", false),
        ("info 'my set/shard-000000.tar'", false),
        ("verify 'my set'", true),
        ("verify --level quick 'my set'", true),
        ("index 'my set'", false),
    ] {
        let _ = fs::remove_dir_all(place.at("my set"));
        let _ = fs::remove_dir_all(place.at("other"));
        let columns = "--columns class:u32,name=json:/label:str";
        shell(&place, &format!("pack build photos -o 'my set' {columns}")).succeeds();
        place.pack(&format!("build more -o other {columns}")).succeeds();
        let tar = "shard-000000.tar";
        fs::rename(place.at("other").join(tar), place.at("my set").join(tar)).unwrap();
        let run = shell(&place, &format!("pack {words}")).exits(if problem { 1 } else { 65 });
        let remedy = remedy(&run);
        let all = "pack index --force --entry-points --columns \
                   class=json:/class:u32,name=json:/label:str 'my set'";
        assert_eq!(remedy, all, "{words}: {}{}", run.stdout, run.stderr);
        assert!(!run.stderr.contains("has no sidecar"), "{words}: {}", run.stderr);
        shell(&place, &remedy).succeeds();
        shell(&place, "pack verify 'my set'").succeeds().says("6 samples");
    }
}

/// A zstd frame with a window of 2^28 bytes, as `zstd --long=28` writes it, of blocks that are stored.
fn wide_frame(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (28 - 10) << 3];
    let last = data.len().div_ceil(100_000).max(1) - 1;
    for (n, block) in data.chunks(100_000).enumerate() {
        let header = (block.len() as u32) << 3 | u32::from(n == last);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

#[test]
fn zstd_with_a_large_window_is_not_called_damaged() {
    let place = Place::new();
    place.pair("photos/a").file("list.csv", "key,class\na,1\n");
    place.pack("build photos -o set").succeeds();
    let tar = fs::read(place.at("set/shard-000000.tar")).unwrap();
    place.file("t.csv.zst", wide_frame(b"key,class\na,1\n"));
    place.file("t.jsonl.zst", wide_frame(b"{\"text\":\"a\"}\n"));
    place.file("t.tar.zst", wide_frame(&tar));
    for words in [
        "build csv:t.csv.zst -o out",
        "build photos -o out --join t.csv.zst",
        "build jsonl:t.jsonl.zst -o out",
        "reshard t.tar.zst -o out",
        "build tar:t.tar.zst -o out",
    ] {
        let run = place.pack(words).exits(2);
        let run = run.says("a window of more than 128 MiB").says("`zstd -d --long=31`");
        assert!(!run.stderr.contains("damaged"), "{words}: {}", run.stderr);
    }
}

#[test]
fn parts_of_a_sample_that_are_no_neighbors_are_joined_by_the_command_of_the_error() {
    let place = Place::new();
    place.pair("in/a").pair("in/b");
    tool(&place, "tar", &["cf", "t.tar", "-C", "in", "a.jpg", "b.jpg", "b.json", "a.json"])
        .succeeds();
    let run = place.pack("build tar:t.tar -o out").exits(1).says("are not neighbors");
    let joined = remedy(&run).replace("DIR", "joined");
    shell(&place, &joined).succeeds().says("2 samples");
    let run = place.pack("index t.tar").succeeds().says("the tar is not sorted");
    shell(&place, &remedy(&run).replace("DIR", "again")).succeeds().says("2 samples");
    // Two samples of one key are another mistake.
    place.file("other/a.jpg", fs::read(place.at("in/b.jpg")).unwrap());
    let words = ["cf", "u.tar", "-C", "in", "a.jpg", "b.jpg", "b.json", "-C", "../other", "a.jpg"];
    tool(&place, "tar", &words).succeeds();
    place.pack("build tar:u.tar -o other-out").exits(1).says("rename one member");
}

#[test]
fn a_condition_names_what_no_sample_has() {
    let place = Place::new();
    place.pair("photos/a").pair("photos/b");
    place.file("photos/a.json", "{\"class\":1,\"box\":{\"x\":1,\"y/z\":2}}");
    place.file("photos/b.json", "{\"class\":2,\"other\":3}");
    place.pack("build photos -o set").succeeds();
    place.pack("build photos -o packed --compress zstd").succeeds();
    for (condition, told) in [
        (
            "json:/clas==1",
            "no sample has json:/clas, which --where reads; the first, a, has json:/box, json:/class",
        ),
        (
            "json:/box/yz==1",
            "no sample has json:/box/yz, which --where reads; the first, a, has json:/box/x, json:/box/y~1z",
        ),
        ("json:/class/x==1", "the first, a, has json:/box, json:/class"),
        (
            "jsn:/class==1",
            "no sample has jsn:/class, which --where reads; the first, a, has the parts jpg, json",
        ),
        (
            "size:png>1",
            "no sample has the part png, which --where reads; the first, a, has the parts jpg, json",
        ),
        ("json:/clas", "no sample has json:/clas"),
    ] {
        for set in ["set", "packed"] {
            let run = place.pack(&format!("reshard {set} -o out --where {condition}")).exits(2);
            run.says("2 samples are not selected (--where, --keys); ").says(told);
        }
    }
    // A field of some samples, and questions whether there is one, are no mistakes.
    let run = place.pack("reshard set -o some --where json:/other==3").succeeds();
    assert!(!run.stderr.contains("no sample has"), "{}", run.stderr);
    let mut command = place.command("reshard set -o all --where");
    let asked = command.arg("not json:/missing").output().unwrap();
    let told = String::from_utf8(asked.stderr).unwrap();
    assert!(asked.status.success() && !told.contains("no sample has"), "{told}");
    let mut command = place.command("reshard set -o compared --where");
    let compared = command.arg("not json:/missing == 1").output().unwrap();
    let told = String::from_utf8(compared.stderr).unwrap();
    assert!(compared.status.success() && told.contains("no sample has json:/missing"), "{told}");
}

#[test]
fn an_unknown_key_is_answered_with_similar_ones() {
    let place = Place::new();
    for key in ["africa/zebra", "africa/lion", "asia/tiger", "asia/leopard", "zoo/zebra-2"] {
        place.pair(&format!("photos/{key}"));
    }
    place.pack("build photos -o set").succeeds();
    let cat = |part: &str| place.pack(&format!("cat set {part}")).exits(2).stderr;
    let told = cat("zebra.jpg");
    assert!(told.contains("did you mean one of: africa/zebra.jpg, zoo/zebra-2.jpg"), "{told}");
    assert!(cat("asia/tigr.json").contains("asia/tiger.json"));
    assert!(cat("Asia/Leopard.jpg").contains("asia/leopard.jpg"));
    assert!(cat("qqqq.jpg").contains("no sample with key qqqq; `pack ls` lists all keys"));
    place.pack("ls set --split val").exits(2).says("the data set has no splits");
}

#[test]
fn a_misspelt_name_is_answered_with_those_that_there_are() {
    let place = Place::new();
    place.pair("photos/a").pair("photos/b");
    place.pack("build photos -o set").succeeds();
    for (words, exit, told) in [
        ("build photo -o o", 2, "photo: there is no such folder"),
        (
            "build photos -o o --split train=0.5,val=0.5 --stratify clas",
            1,
            "has no /clas, but /class",
        ),
        ("build photos -o o --split-by /clas", 1, "its JSON has no /clas, but /class"),
        ("build photos -o o --require jpeg,json", 2, "give --require jpg"),
        (
            "build photos -o columns --columns klass:u32",
            0,
            "no sample has a value of column 'klass'",
        ),
        (
            "reshard set -o dropped --drop jpeg",
            0,
            "no sample has a part 'jpeg' (--drop); there are: jpg, json",
        ),
        (
            "reshard set -o o --parts png",
            1,
            "no sample has a part 'png' (--parts); there are: jpg, json",
        ),
        ("reshard set -o renamed --rename jpeg=png", 0, "no sample has a part 'jpeg' (--rename)"),
        ("reshard set -o o --keys none.txt", 2, "cannot read the list of keys"),
        (
            "export set --to csv -o o.csv --parts jpeg",
            2,
            "no sample has a part 'jpeg'; there are: jpg, json",
        ),
        (
            "stats set --class json:/clas",
            0,
            "no sample that was read has a value at --class json:/clas",
        ),
    ] {
        place.pack(words).exits(exit).says(told);
        let _ = fs::remove_dir_all(place.at("o"));
    }
    // What there is gives no notice.
    for words in
        ["build photos -o c --columns class:u32", "reshard set -o d --drop json --rename jpg=jpeg"]
    {
        let told = place.pack(words).succeeds().stderr;
        assert!(!told.contains("column 'class'") && !told.contains("part 'jpg'"), "{told}");
    }
}
