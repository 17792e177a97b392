//! Numbers in tar headers: from an accepted tar, GNU tar, bsdtar and Python's tarfile (whole and as
//! a stream, as webdataset reads) take the same members with the same sizes.
//!
//! Hundreds of spellings of every number field, one per tar: a member with the odd field is between
//! two plain ones, and its data looks like a header, so a reader that skips other bytes sees other
//! members. Refused tars need no agreement; the output of common writers must be accepted.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::harness::{Place, python, tool};
use serde_json::Value;
use table::table;

/// Name and size of each member, in order.
type Members = Vec<(String, u64)>;

/// Parses a listing of `tar -tv`: the name is the word at `name`, the size the one at `size`.
fn listed(text: &str, size: usize, name: usize) -> Members {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A device has two numbers in place of its size.
        let number = words.get(size).and_then(|n| n.split(',').next()).and_then(|n| n.parse().ok());
        let name = words.get(name).copied().unwrap_or_default();
        (
            name.trim_end_matches("--Volume").trim_end_matches('/').to_string(),
            number.unwrap_or(u64::MAX),
        )
    };
    text.lines().map(line).collect()
}

fn by_tool(place: &Place, program: &str, tar: &str) -> Members {
    let words = ["--numeric-owner", "-tvf", tar];
    let mut command = Command::new(program);
    command.args(words).current_dir(place.at("")).env("LC_ALL", "C").env("TZ", "UTC");
    let run = command.output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    if program == "tar" { listed(&text, 2, 5) } else { listed(&text, 4, 8) }
}

const TARFILE: &str = "
import json, signal, sys, tarfile
for path in open(sys.argv[1]).read().split('\\n'):
    found = []
    for mode in ('r:', 'r|'):
        signal.alarm(20)
        try:
            with tarfile.open(path, mode) as tar:
                found.append([[m.name, m.size] for m in tar])
        except Exception as error:
            found.append([[repr(error), 0]])
    print(json.dumps(found))
";

/// Returns members that have data: for others readers may list anything.
fn files(members: &Members) -> Members {
    members.iter().filter(|(name, _)| name != "b.txt").cloned().collect()
}

/// Returns the parts that `pack` finds: key and extension joined, and lengths.
fn ours(samples: &[Value]) -> BTreeMap<String, Members> {
    let mut found: BTreeMap<String, Members> = BTreeMap::new();
    for sample in samples {
        let members = found.entry(sample["shard"].as_str().unwrap().into()).or_default();
        for part in sample["parts"].as_array().unwrap() {
            let name =
                format!("{}.{}", sample["key"].as_str().unwrap(), part["ext"].as_str().unwrap());
            members.push((name, part["length"].as_u64().unwrap()));
        }
    }
    found
}

#[test]
fn all_readers_agree_on_every_accepted_tar() {
    let place = Place::new();
    let table: Vec<_> = table().into_iter().collect();
    assert!(table.len() > 1500, "{}", table.len());
    for (number, (_, tar)) in table.iter().enumerate() {
        place.file(format!("all/{number:05}.tar"), tar);
    }
    place.pack("index --headers -q all");
    fs::create_dir(place.at("good")).unwrap();
    let mut accepted = Vec::new();
    for number in 0..table.len() {
        let tar = format!("{number:05}.tar");
        let index = format!("{number:05}.index");
        if place.at("all").join(&index).exists() {
            for name in [&tar, &index] {
                fs::rename(place.at("all").join(name), place.at("good").join(name)).unwrap();
            }
            accepted.push(number);
        }
    }
    assert!(accepted.len() > 150, "only {} of {} are accepted", accepted.len(), table.len());
    place.pack("index --headers -q good").succeeds();
    let ours = ours(&place.pack("ls --format json good").succeeds().events());
    let paths: Vec<_> = accepted.iter().map(|n| format!("good/{n:05}.tar")).collect();
    place.file("paths", paths.join("\n"));
    let python = python(&place, TARFILE, &["paths"]).succeeds().events();
    assert_eq!(python.len(), accepted.len());
    let mut wrong = Vec::new();
    for ((number, path), python) in accepted.iter().zip(&paths).zip(&python) {
        let (what, tar) = &table[*number];
        let ours = &ours[&format!("{number:05}.tar")];
        let whole: Members = serde_json::from_value(python[0].clone()).unwrap();
        let streamed: Members = serde_json::from_value(python[1].clone()).unwrap();
        let is_file = whole.len() == ours.len();
        for (reader, theirs) in [
            ("tarfile", whole),
            ("tarfile as a stream", streamed),
            ("GNU tar", by_tool(&place, "tar", path)),
            ("bsdtar", by_tool(&place, "bsdtar", path)),
        ] {
            // A link or a directory is not a part of ours; the members around it must be equal.
            let same = if is_file { theirs == *ours } else { files(&theirs) == files(ours) };
            if !same {
                wrong.push(format!(
                    "{what} ({} bytes): ours {ours:?}, {reader} {theirs:?}",
                    tar.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    common(&table, &accepted);
}

/// Spellings of common writers, all of which are accepted.
fn common(table: &[(String, Vec<u8>)], accepted: &[usize]) {
    let mut spellings = vec![
        ("size", &b"00000002000\0"[..]),
        ("size", b"00000002000 "),
        ("size", b"000000002000"),
        ("size", b"       2000 "),
        ("size", b"       2000\0"),
        ("size", b"2000\0\0\0\0\0\0\0\0"),
        ("size", b"\x80\0\0\0\0\0\0\0\0\0\x04\0"),
        ("mtime", b"00000000017\0"),
        ("mtime", b"00000000017 "),
        ("mtime", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf1"),
        ("pax size over 0", b"1024"),
        ("pax size over 512", b"1024"),
        ("pax mtime over", b"1.5"),
        ("pax mtime over", b"-1.5"),
        ("pax atime over", b"1.5"),
        ("pax uid over", b"1"),
        ("magic ustar  \\x00 prefix", b""),
        ("magic \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00 prefix", b""),
        ("magic ustar\\x0000 prefix", b"pre"),
        ("type 1 bare", b"00000000000\0"),
        ("type 2 bare", b"00000000000\0"),
        ("type 5 bare", b"00000000000\0"),
        ("type 5 bare", b"\0\0\0\0\0\0\0\0\0\0\0\0"),
    ];
    for what in ["mode", "uid", "gid", "devmajor", "devminor"] {
        for field in
            [&b"0000017\0"[..], b"     17 ", b"    17 \0", b"17\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0"]
        {
            spellings.push((what, field));
        }
        spellings.push((what, b"\x80\0\0\0\0\0\0\x0f"));
    }
    for (what, field) in spellings {
        let name = format!("{what} {}", field.escape_ascii());
        let number = table.iter().position(|(have, _)| *have == name);
        let number = number.unwrap_or_else(|| panic!("'{name}' is not in the table"));
        assert!(accepted.contains(&number), "{name} is refused");
    }
}

const WRITE: &str = "
import io, tarfile
for name, format in (('ustar', tarfile.USTAR_FORMAT), ('gnu', tarfile.GNU_FORMAT), ('pax', tarfile.PAX_FORMAT)):
    for mtime in (0, 1700000000) if name == 'ustar' else (0, 1700000000, 1700000000.5, -5, 1 << 40):
        with tarfile.open(f'python-{name}-{mtime}.tar', 'w', format=format) as tar:
            for key in ('a.txt', 'b/' + 'long' * 40 + '.txt' if name != 'ustar' else 'b/c.txt'):
                info = tarfile.TarInfo(key)
                info.size, info.mtime = 5, mtime
                info.uid = 3 if name == 'ustar' else 1 << 22
                tar.addfile(info, io.BytesIO(b'hello'))
";

/// Real archives of every format that the three programs write.
#[test]
fn tars_of_gnu_tar_bsdtar_and_python_are_accepted() {
    let place = Place::new();
    place.file("in/a.txt", "hello").file("in/b.json", "{}").file("in/sub/c.txt", "deep");
    let long = format!("in/sub/{}.txt", "long".repeat(40));
    place.file(&long, "long");
    for format in ["v7", "ustar", "oldgnu", "gnu", "posix"] {
        let paths =
            if matches!(format, "v7" | "ustar") { "in/a.txt in/b.json in/sub/c.txt" } else { "in" };
        let words = format!("--format={format} -cf gnu-{format}.tar {paths}");
        tool(&place, "tar", &words.split(' ').collect::<Vec<_>>()).succeeds();
    }
    for format in ["ustar", "pax", "rpax", "v7", "gnutar"] {
        let paths =
            if matches!(format, "v7" | "ustar") { "in/a.txt in/b.json in/sub/c.txt" } else { "in" };
        let words = format!("--format={format} -cf bsd-{format}.tar {paths}");
        tool(&place, "bsdtar", &words.split(' ').collect::<Vec<_>>()).succeeds();
    }
    python(&place, WRITE, &[]).succeeds();
    let tars: Vec<_> = place.names("").into_iter().filter(|name| name.ends_with(".tar")).collect();
    assert_eq!(tars.len(), 5 + 5 + 2 + 5 + 5);
    for tar in tars {
        place.pack(&format!("index -q {tar}")).succeeds();
        place.pack(&format!("verify --require '' {tar}")).succeeds();
    }
}
