//! The table: a tar for each spelling of each number field, and for each odd pax record.

use std::collections::BTreeMap;

use tarflume_fixtures::{Header, TarBytes};

/// The data of the odd member: a header and a block of data.
const SIZE: u64 = 1024;

fn inner() -> Vec<u8> {
    TarBytes::new().member(b"hidden.txt", b"hh").open()
}

/// Returns `a.txt`, then the odd member with its data, then `z.txt`.
fn around(odd: &[u8]) -> Vec<u8> {
    let mut tar = TarBytes::new();
    tar.member(b"a.txt", b"aaa").raw(odd).raw(&inner()).member(b"z.txt", b"zzzz").ended()
}

fn odd(change: impl FnOnce(Header) -> Header) -> Vec<u8> {
    around(change(Header::file(b"b.txt", SIZE)).seal().bytes())
}

/// Returns a field of `n` bytes with this text at its start, followed by zeros.
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
    // Base 256: each first byte that some reader interprets.
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

/// Every tar of the table by a name that describes its oddity.
pub(super) fn table() -> BTreeMap<String, Vec<u8>> {
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

/// Returns a pax header of these records before a member whose own header has the size `own`.
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
