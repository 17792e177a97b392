//! Numbers in tar headers: whatever is accepted, GNU tar, bsdtar and Python's tarfile (whole and as a
//! stream, as webdataset reads) take the same members with the same sizes out of it.
//!
//! Hundreds of spellings of every number field, one a tar: a member with the odd field stands between
//! two plain ones, and its data looks like a header, so a reader that skips other bytes sees other
//! members. What is refused needs no agreement; what writers in use write must be accepted.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tarflume_fixtures::{Header, TarBytes};

use crate::harness::{Place, python, tool};

/// Name and size of each member, in order.
type Members = Vec<(String, u64)>;

/// The data of the odd member: a header and a block of data.
const SIZE: u64 = 1024;

fn inner() -> Vec<u8> {
    TarBytes::new().member(b"hidden.txt", b"hh").open()
}

/// `a.txt`, then what is odd with its data, then `z.txt`.
fn around(odd: &[u8]) -> Vec<u8> {
    let mut tar = TarBytes::new();
    tar.member(b"a.txt", b"aaa").raw(odd).raw(&inner()).member(b"z.txt", b"zzzz").ended()
}

fn odd(change: impl FnOnce(Header) -> Header) -> Vec<u8> {
    around(change(Header::file(b"b.txt", SIZE)).seal().bytes())
}

/// A field of `n` bytes with this text at its start, zeros behind.
fn field(n: usize, text: &[u8]) -> Vec<u8> {
    let mut field = text.to_vec();
    field.resize(n, 0);
    field
}

/// Spellings of a number in a field of `n` bytes.
fn spellings(n: usize, number: u64) -> Vec<Vec<u8>> {
    let digits = format!("{number:o}").into_bytes();
    let width = |text: &[u8], n: usize, fill: u8| {
        let mut out = vec![fill; n.saturating_sub(text.len())];
        out.extend_from_slice(text);
        out
    };
    let mut all = Vec::new();
    // Before the digits, between them and the end, and what ends them.
    for before in [
        &b""[..],
        b" ",
        b"   ",
        b"\0",
        b"\0\0",
        b" \0",
        b"\0 ",
        b"\t",
        b"+",
        b"-",
        b"0o",
        b"0x",
        b"\xa0",
        b"\x1c",
    ] {
        for behind in [
            &b""[..],
            b" ",
            b"\0",
            b" \0",
            b"\0 ",
            b"\t",
            b"\n",
            b"x",
            b"8",
            b" x",
            b"\0x",
            b" 1",
            b"\x001",
            b".",
            b"_",
        ] {
            all.push(field(n, &[before, &digits, behind].concat()));
        }
    }
    // Filling the field from its start to its end.
    for fill in [b'0', b' ', 0] {
        for end in [&b""[..], b" ", b"\0", b" \0", b"\0 ", b"  "] {
            all.push([width(&digits, n - end.len(), fill), end.to_vec()].concat());
        }
    }
    // No number.
    for fill in [b' ', 0, b'0', b'7', b'8', b'A', 0xff, 0x80] {
        all.push(vec![fill; n]);
        all.push([vec![fill; n - 1], vec![0]].concat());
        all.push([vec![0], vec![fill; n - 1]].concat());
    }
    all.extend([field(n, b"1_0"), field(n, b"1 0"), field(n, b"AAAA"), field(n, b"+AAAA")]);
    // Base 256: each first byte that has meant something to somebody.
    for first in [0x80, 0x81, 0xbf, 0xc0, 0xfe, 0xff] {
        for high in [0, 1, 0x7f, 0x80, 0xff] {
            let mut number256 = vec![0; n];
            number256[n - 8..].copy_from_slice(&number.to_be_bytes());
            number256[1] |= high;
            number256[0] = first;
            all.push(number256);
        }
        let mut negative = vec![0xff; n];
        negative[n - 8..].copy_from_slice(&number.wrapping_neg().to_be_bytes());
        negative[0] = first;
        all.push(negative);
    }
    all.retain(|field| field.len() == n);
    all.sort();
    all.dedup();
    all
}

/// Every tar of the table by a name that says what is odd in it.
fn table() -> BTreeMap<String, Vec<u8>> {
    let mut table = BTreeMap::new();
    let mut put = |what: &str, text: &[u8], tar: Vec<u8>| {
        table.insert(format!("{what} {}", text.escape_ascii()), tar);
    };
    for spelling in spellings(12, SIZE) {
        put("size", &spelling, odd(|h| h.put(124, &spelling)));
    }
    for (what, at, n) in [
        ("mode", 100, 8),
        ("uid", 108, 8),
        ("gid", 116, 8),
        ("mtime", 136, 12),
        ("devmajor", 329, 8),
        ("devminor", 337, 8),
    ] {
        for spelling in spellings(n, 0o17) {
            put(what, &spelling, odd(|h| h.put(at, &spelling)));
        }
    }
    let sealed = Header::file(b"b.txt", SIZE);
    let sum: u64 = {
        let blank = sealed.clone().put(148, b"        ");
        blank.bytes().iter().map(|&b| u64::from(b)).sum()
    };
    for spelling in spellings(8, sum) {
        put("checksum", &spelling, around(sealed.clone().put(148, &spelling).bytes()));
    }
    for flag in *b"\x001234567DNVZ" {
        for size in [
            &b"00000000000\0"[..],
            b"00000002000\0",
            &[0; 12],
            b"           \0",
            b"xx\0\0\0\0\0\0\0\0\0\0",
        ] {
            let header = Header::file(b"b.txt", 0).kind(flag).link(b"a.txt").put(124, size).seal();
            put(&format!("type {} with data", flag.escape_ascii()), size, around(header.bytes()));
            let mut bare = TarBytes::new();
            bare.member(b"a.txt", b"aaa").header(&header).member(b"z.txt", b"zzzz");
            put(&format!("type {} bare", flag.escape_ascii()), size, bare.ended());
        }
    }
    for magic in
        [&b"ustar\x0000"[..], b"ustar  \0", &[0; 8], b"ustar\0  ", b"ustar 00", b"ustar00\0"]
    {
        for prefix in [&b""[..], b"pre", b"00000000017\x0000000000017\0"] {
            put(
                &format!("magic {} prefix", magic.escape_ascii()),
                prefix,
                odd(|h| h.put(257, magic).put(345, prefix)),
            );
        }
    }
    pax(&mut put);
    table
}

fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} ").as_bytes(), key, b"=", value, b"\n"].concat()
}

/// A pax header of these records before a member whose own header says `own`.
fn with_pax(records: &[u8], own: u64, flag: u8) -> Vec<u8> {
    let mut odd = TarBytes::new();
    odd.special(b"PaxHeaders/b.txt", b'x', records);
    odd.header(&Header::file(b"b.txt", own).kind(flag).link(b"a.txt").seal());
    around(&odd.open())
}

fn pax(put: &mut impl FnMut(&str, &[u8], Vec<u8>)) {
    for value in [
        &b"1024"[..],
        b"01024",
        b"000000000000000000001024",
        b" 1024",
        b"1024 ",
        b"+1024",
        b"-1024",
        b"-0",
        b"1_024",
        b"1024.0",
        b"1024.5",
        b"0x400",
        b"02000",
        b"",
        b"0",
        b"1024\0",
        b"1024x",
        b"\xd9\xa1",
        b"\t1024",
        b"1024\n",
        b"1e3",
        b"99999999999999999999",
        b"9223372036854775808",
    ] {
        for own in [0, 512, SIZE] {
            put(
                &format!("pax size over {own}"),
                value,
                with_pax(&record(b"size", value), own, b'0'),
            );
        }
    }
    for flag in *b"12356V" {
        for value in [&b"0"[..], b"1024"] {
            put(
                &format!("pax size of type {}", flag as char),
                value,
                with_pax(&record(b"size", value), 0, flag),
            );
        }
        put(
            &format!("pax before type {}", flag as char),
            b"",
            with_pax(&record(b"comment", b"x"), SIZE, flag),
        );
    }
    let size = |value: &[u8]| record(b"size", value);
    for (what, records) in [
        ("twice", [size(b"5"), size(b"1024")].concat()),
        ("taken back", [size(b"1024"), size(b"")].concat()),
        ("in two spellings", [size(b"01024"), size(b"1024")].concat()),
        ("empty path", [record(b"path", b""), size(b"1024")].concat()),
        (
            "path taken back",
            [record(b"path", b"q.txt"), record(b"path", b""), size(b"1024")].concat(),
        ),
    ] {
        put("pax", what.as_bytes(), with_pax(&records, 512, b'0'));
    }
    for records in [
        &b"13 size=1024\n"[..],
        b"14 size=1024\n",
        b"014 size=1024\n",
        b"0015 size=1024\n",
        b"13 size=1024\n\n",
        b"13 size=1024\n\0\0\0",
        b" 14 size=1024\n",
        b"13 size=1024\0",
        b"+14 size=1024\n",
        b"14  size=1024\n",
        b"13 size=1024x",
        b"15 size=1024\n\n\n",
        b"13 SIZE=1024\n",
        b"14 size =1024\n",
        b"12 size=1024\n",
        b"0 size=1024\n",
        b"13 size=1024",
    ] {
        for own in [512, SIZE] {
            put(&format!("pax record over {own}"), records, with_pax(records, own, b'0'));
        }
    }
    for key in [
        &b"mtime"[..],
        b"atime",
        b"ctime",
        b"uid",
        b"gid",
        b"SCHILY.dev",
        b"SCHILY.realsize",
        b"GNU.foo",
    ] {
        for value in [&b"1.5"[..], b"-1.5", b"x", b"", b"99999999999999999999", b"nan", b"1"] {
            let what = format!("pax {} over", String::from_utf8_lossy(key));
            put(&what, value, with_pax(&record(key, value), SIZE, b'0'));
        }
    }
}

/// Members by a listing of `tar -tv`: the name is the word at `name`, the size the one at `size`.
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

/// Members that are data: of others readers list what they please.
fn files(members: &Members) -> Members {
    members.iter().filter(|(name, _)| name != "b.txt").cloned().collect()
}

/// What `pack` takes for parts: key and extension joined, and lengths.
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
fn whatever_is_accepted_all_readers_read_alike() {
    let place = Place::new();
    let table: Vec<_> = table().into_iter().collect();
    assert!(table.len() > 1500, "{}", table.len());
    for (number, (_, tar)) in table.iter().enumerate() {
        place.file(&format!("all/{number:05}.tar"), tar);
    }
    place.pack("index --headers -q all");
    fs::create_dir(place.at("good")).unwrap();
    let mut accepted = Vec::new();
    for number in 0..table.len() {
        let (tar, index) = (format!("{number:05}.tar"), format!("{number:05}.index"));
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
            // A link or a directory is no part of ours; what stands around it must be the same.
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

/// Spellings that writers in use write, all of which are accepted.
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

/// Real archives of every format that the three write.
#[test]
fn what_gnu_tar_bsdtar_and_python_write_is_accepted() {
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
