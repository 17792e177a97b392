//! Tars that were joined (`cat a.tar b.tar`): every command that reads tars stops with the place and the option that
//! reads on, and with the option reads as many members as GNU tar.

use std::fs;

use crate::harness::{Place, python, sum_again, tool};

/// Writes a.tar and b.tar, made by GNU tar with its padding, and all.tar of both; each has three samples.
fn joined() -> Place {
    let place = Place::new();
    for folder in ["a", "b"] {
        for n in 0..3 {
            place.pair(&format!("pairs/{folder}/{folder}{n}"));
        }
        let words = ["--sort=name", "-cf", &format!("{folder}.tar"), "-C", "pairs", folder];
        tool(&place, "tar", &words).succeeds();
    }
    join(&place, "all.tar", &["a.tar", "b.tar"]);
    place
}

fn join(place: &Place, name: &str, tars: &[&str]) {
    let all: Vec<u8> = tars.iter().flat_map(|tar| fs::read(place.at(tar)).unwrap()).collect();
    place.file(name, all);
}

/// Members that GNU tar reads on behind end markers, without folders.
fn members_of_gnu_tar(place: &Place, tar: &str) -> usize {
    let listed = tool(place, "tar", &["--ignore-zeros", "-tf", tar]).succeeds();
    listed.stdout.lines().filter(|name| !name.ends_with('/')).count()
}

fn samples(place: &Place, out: &str) -> u64 {
    place.manifest(out)["samples"].as_u64().unwrap()
}

/// The first byte of the second tar.
fn place_of_second(place: &Place) -> String {
    format!("byte {}: another tar begins here", fs::metadata(place.at("a.tar")).unwrap().len())
}

#[test]
fn every_command_stops_at_the_second_tar_and_names_the_option() {
    let place = joined();
    let second = place_of_second(&place);
    for words in [
        "reshard all.tar -o new",
        "build tar:all.tar -o new",
        "plan tar:all.tar -o new",
        "index all.tar",
        "index --headers all.tar",
        "unpack all.tar -o new",
        "export all.tar --to folder -o new",
        "export all.tar --to csv -o new.csv",
        "ls all.tar",
        "info all.tar",
        "stats all.tar",
        "cat all.tar a/a0.json",
        "diff all.tar a.tar",
    ] {
        place.pack(words).exits(65).says("all.tar").says(&second).says("--ignore-zeros");
        assert!(!place.at("all.index").exists(), "{words}");
        let _ = fs::remove_dir_all(place.at("new"));
    }
    place.pack("verify all.tar --require ''").exits(1).says("gap").says(&second[5..]);
}

#[test]
fn with_the_option_all_members_are_read_as_by_gnu_tar() {
    let place = joined();
    let files = members_of_gnu_tar(&place, "all.tar");
    assert_eq!(files, 12, "three pairs in each tar");
    place.pack("reshard --ignore-zeros all.tar -o resharded").succeeds();
    place.pack("build --ignore-zeros tar:all.tar -o built").succeeds();
    place.pack("build tar:all.tar?ignore-zeros=yes -o by-source").succeeds();
    place.pack("build pairs -o whole").succeeds();
    for out in ["resharded", "built", "by-source"] {
        assert_eq!(samples(&place, out), 6, "{out}");
        let of = |out: &str| fs::read(place.at(format!("{out}/shard-000000.tar"))).unwrap();
        assert!(of(out) == of("whole"), "{out}: the bytes of the folder");
    }
    place.pack("unpack --ignore-zeros all.tar -o unpacked").succeeds();
    place.same("pairs", "unpacked");
    place.pack("export --ignore-zeros all.tar --to folder -o exported").succeeds();
    assert_eq!(fs::read_dir(place.at("exported/b")).unwrap().count(), 3);
    let listed = place.pack("ls --ignore-zeros all.tar").succeeds();
    assert!(listed.stdout.contains("b/b2"), "{listed:#?}");
    place.pack("build --ignore-zeros pairs -o folders").exits(2).says("is for tars");
}

#[test]
fn a_sidecar_of_joined_tars_serves_every_command_without_the_option() {
    let place = joined();
    place.pack("index --ignore-zeros all.tar").succeeds().says("another tar begins here");
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify --level {level} all.tar")).exits(0);
    }
    place.pack("index all.tar").succeeds().says("kept");
    place.pack("index --entry-points all.tar").succeeds();
    place.pack("verify --level decode all.tar").exits(0);
    place.pack("reshard all.tar -o resharded").succeeds();
    assert_eq!(samples(&place, "resharded"), 6);
    place.pack("unpack all.tar -o unpacked").succeeds();
    place.same("pairs", "unpacked");
    place.pack("export all.tar --to folder -o exported").succeeds();
    assert_eq!(fs::read_dir(place.at("exported/b")).unwrap().count(), 3);
    assert!(place.pack("cat all.tar b/b2.json").succeeds().stdout.starts_with('{'));
    place.file("set/all.tar", fs::read(place.at("all.tar")).unwrap());
    place.pack("index --ignore-zeros set").succeeds();
    place.pack("index --export dali set").exits(65).says("pack reshard --ignore-zeros");
}

/// Writes a sidecar of a tar that lists the samples of a.tar alone, as earlier versions made it, with a warning.
fn write_sidecar_of_the_first(place: &Place, name: &str) {
    place.pack("index a.tar").succeeds();
    let mut index = fs::read(place.at("a.index")).unwrap();
    let length = fs::metadata(place.at(format!("{name}.tar"))).unwrap().len();
    index[24..32].copy_from_slice(&length.to_le_bytes());
    sum_again(&mut index);
    place.file(format!("{name}.index"), index);
}

#[test]
fn a_sidecar_of_the_first_tar_alone_is_refused() {
    let place = joined();
    write_sidecar_of_the_first(&place, "all");
    for words in ["reshard all.tar -o new", "ls all.tar", "unpack all.tar -o new"] {
        let run = place.pack(words).exits(65).says(&place_of_second(&place));
        run.says("renew it with `pack index --force --ignore-zeros ");
    }
    place.pack("verify all.tar").exits(1).says("gap");
    place.pack("index --force --ignore-zeros all.tar").succeeds();
    place.pack("verify all.tar").exits(0);
    // No command makes a sidecar of a tar before bytes of no tar: the advice is to cut the tar.
    let tar = fs::read(place.at("a.tar")).unwrap();
    place.file("garbage.tar", [&tar[..], b"some bytes of no tar"].concat());
    write_sidecar_of_the_first(&place, "garbage");
    let run = place.pack("ls garbage.tar").exits(65).says("bytes of no tar").says("`head -c ");
    assert!(!run.stderr.contains("pack index"), "{run:?}");
}

#[test]
fn joined_compressed_tars_are_told_and_read_alike() {
    let place = joined();
    let pack = r"
import bz2, gzip, lzma, pathlib, subprocess
for name in 'a', 'b':
    data = pathlib.Path(name + '.tar').read_bytes()
    for end, packed in ('gz', gzip.compress(data)), ('bz2', bz2.compress(data)), ('xz', lzma.compress(data)):
        pathlib.Path(f'{name}.tar.{end}').write_bytes(packed)
        zeros = bytes(512) if end != 'xz' else b''
        pathlib.Path(f'{name}.padded.tar.{end}').write_bytes(packed + zeros)
";
    python(&place, pack, &[]).succeeds();
    place.pack("build tar:a.tar -o single --compress zstd").succeeds();
    place.pack("build tar:b.tar -o other --compress zstd").succeeds();
    let shard = "shard-000000.tar.zst";
    join(&place, "all.tar.zst", &[&format!("single/{shard}"), &format!("other/{shard}")]);
    for end in ["gz", "bz2", "xz"] {
        join(
            &place,
            &format!("all.tar.{end}"),
            &[&format!("a.tar.{end}"), &format!("b.tar.{end}")],
        );
        let padded = ["a", "b"].map(|name| format!("{name}.padded.tar.{end}"));
        join(&place, &format!("padded.tar.{end}"), &[&padded[0], &padded[1]]);
    }
    for name in [
        "all.tar.gz",
        "all.tar.bz2",
        "all.tar.xz",
        "all.tar.zst",
        "padded.tar.gz",
        "padded.tar.bz2",
    ] {
        let run = place.pack(&format!("reshard {name} -o new")).exits(65);
        run.says("another tar begins here").says("--ignore-zeros").says("decompressed tar");
        let out = format!("out-{name}");
        place.pack(&format!("reshard --ignore-zeros {name} -o {out}")).succeeds();
        assert_eq!(samples(&place, &out), 6, "{name}");
        place.pack(&format!("verify {out}")).exits(0);
    }
}

#[test]
fn padding_of_any_length_stays_fine_and_garbage_is_told_apart() {
    let place = joined();
    let tar = fs::read(place.at("a.tar")).unwrap();
    for zeros in [1, 511, 512, 70_000, 600_000] {
        place.file("padded.tar", [&tar[..], &vec![0; zeros]].concat());
        place.pack("reshard padded.tar -o padded --fresh").succeeds();
        assert_eq!(samples(&place, "padded"), 3);
        fs::remove_dir_all(place.at("padded")).unwrap();
        place.pack("index padded.tar --force").succeeds();
        place.pack("verify padded.tar").exits(0);
        fs::remove_file(place.at("padded.index")).unwrap();
        // A second tar that begins between two blocks is one for no tar program.
        if zeros % 512 == 0 {
            join(&place, "behind.tar", &["padded.tar", "b.tar"]);
            place.pack("reshard --ignore-zeros behind.tar -o behind").succeeds();
            assert_eq!(samples(&place, "behind"), 6);
            fs::remove_dir_all(place.at("behind")).unwrap();
        }
    }
    let end = tar.iter().rposition(|&byte| byte != 0).unwrap() / 512 * 512 + 512;
    place.file("garbage.tar", [&tar[..], b"some bytes of no tar".as_slice()].concat());
    for option in ["", "--ignore-zeros "] {
        let run = place.pack(&format!("reshard {option}garbage.tar -o new")).exits(65);
        run.says(&format!("byte {}", tar.len()));
    }
    let whole = format!("`head -c {}`", end + 1024);
    place.pack("reshard garbage.tar -o new").exits(65).says("bytes of no tar").says(&whole);
}
