//! Tests of `walk.rs`.

use super::*;
use crate::tar::{END, pax, write_header};

/// Returns a header of any type with a valid checksum.
fn block(typeflag: u8, name: &[u8], size: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::new();
    write_header(&mut blocks, name, 0).expect("a short name");
    let mut block = blocks.split_off(blocks.len() - 512);
    block[156] = typeflag;
    block[124..124 + size.len()].copy_from_slice(size);
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Returns a header of any type with its data and padding.
fn entry(typeflag: u8, name: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out = block(typeflag, name, format!("{:011o}", data.len()).as_bytes());
    out.extend_from_slice(data);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// Returns a pax header of these records.
fn extra(typeflag: u8, records: &[(&str, &str)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (key, value) in records {
        pax::push_record(&mut data, key.as_bytes(), value.as_bytes());
    }
    entry(typeflag, b"PaxHeaders/x", &data)
}

fn walk(tar: &[u8]) -> Result<Vec<Member>> {
    let mut walk = Walk::new();
    let mut members = Vec::new();
    loop {
        match walk.step_in(tar)? {
            Some(Event::Member(member)) => members.push(member),
            Some(Event::End { offset }) => {
                assert_eq!(walk.want(), (offset + 1024, 0));
                assert_eq!(walk.step_in(tar)?, Some(Event::End { offset }));
                return Ok(members);
            }
            None => {}
        }
    }
}

fn good(parts: &[&[u8]]) -> Vec<Member> {
    walk(&[&parts.concat()[..], &END].concat()).expect("a good tar")
}

#[track_caller]
fn bad(parts: &[&[u8]], kind: ErrorKind, byte: u64, key: Option<&str>, message: &str) {
    let error = walk(&parts.concat()).expect_err("a bad tar");
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.place().byte, Some(byte), "{error}");
    assert_eq!(error.place().key.as_deref(), key, "{error}");
    assert!(error.text().contains(message), "{error}");
}

fn member(name: &[u8], first: u64, data: u64, size: u64) -> Member {
    Member { name: name.to_vec(), kind: MemberKind::File, first, data, size }
}

#[test]
fn plain_members_follow_each_other() {
    let found = good(&[&entry(b'0', b"a.jpg", &[1; 513]), &entry(b'0', b"a.cls", b"7")]);
    assert_eq!(found, [member(b"a.jpg", 0, 512, 513), member(b"a.cls", 1536, 2048, 1)]);
    assert_eq!(found[1].end(), 2560);
    assert_eq!(good(&[]), []);
}

#[test]
fn bytes_after_the_end_marker_are_for_the_caller() {
    let tar = [&END[..], &entry(b'0', b"a", b""), &END].concat();
    assert_eq!(good(&[&tar]), []);
    let mut walk = Walk::new();
    while !matches!(walk.step_in(&tar), Ok(Some(Event::End { .. }))) {}
    walk.read_on(1024);
    let next = walk.step_in(&tar).expect("good");
    assert_eq!(next, Some(Event::Member(member(b"a", 1024, 1536, 0))));
}

#[test]
fn a_walk_begins_at_any_member() {
    let tar = [&entry(b'0', b"a", &[1; 600])[..], &entry(b'0', b"b", b"2"), &END].concat();
    let mut walk = Walk::at(1536);
    assert_eq!(walk.want(), (1536, 512));
    let second = walk.step_in(&tar).expect("good");
    assert_eq!(second, Some(Event::Member(member(b"b", 1536, 2048, 1))));
}

#[test]
fn gnu_long_names_and_links_count_from_their_first_header() {
    let long = b"n".repeat(600);
    let found = good(&[
        &entry(b'K', b"././@LongLink", &b"l".repeat(600)),
        &entry(b'L', b"././@LongLink", &[&long[..], b"\0"].concat()),
        &entry(b'0', b"nnn", b"data"),
        &entry(b'0', b"b", b""),
    ]);
    assert_eq!(found, [member(&long, 0, 3584, 4), member(b"b", 4096, 4608, 0)]);
}

#[test]
fn pax_gives_one_member_its_name_and_size() {
    let found = good(&[
        &extra(b'g', &[("comment", "who cares")]),
        &extra(b'x', &[("mtime", "1.5"), ("path", "a/ö")]),
        &extra(b'X', &[("size", "600")]),
        &block(b'0', b"short", b"00000000000"),
        &[0; 1024],
        &entry(b'0', b"b", b"1"),
    ]);
    assert_eq!(found, [member("a/ö".as_bytes(), 1024, 3584, 600), member(b"b", 4608, 5120, 1)]);
}

#[test]
fn a_link_or_directory_has_no_data_and_no_pax_size() {
    for flag in b'1'..=b'6' {
        let link = block(flag, b"link", b"00000000000");
        let b = entry(b'0', b"b", b"1");
        let found = good(&[&extra(b'x', &[("size", "0")]), &link, &b]);
        assert_eq!((found[0].size, found[1].first), (0, 1536));
        let sized = extra(b'x', &[("size", "600")]);
        bad(&[&sized, &link, &b], ErrorKind::BadHeader, 0, Some("link"), "readers of tars");
    }
    // bsdtar keeps even a size of 0 for the member after a volume label.
    let label = block(b'V', b"label", b"00000000000");
    for size in ["0", "600"] {
        let sized = extra(b'x', &[("size", size)]);
        let parts = [&sized[..], &label, &entry(b'0', b"b", b"1")];
        bad(&parts, ErrorKind::BadHeader, 0, Some("label"), "volume label");
    }
}

#[test]
fn the_size_of_a_hard_link_is_passed_over_but_not_in_a_pax_archive() {
    let link = block(b'1', b"link", b"00000001000");
    let b = entry(b'0', b"b", b"1");
    assert_eq!(good(&[&link, &b])[1].first, 512);
    let pax = extra(b'x', &[("mtime", "1.5")]);
    bad(&[&pax, &b, &link, &b], ErrorKind::BadHeader, 2048, Some("link"), "readers of tars");
}

#[test]
fn a_long_name_with_a_trailing_slash_is_a_v7_directory() {
    let found = good(&[&entry(b'L', b"long", b"dir/\0"), &entry(0, b"d", b"")]);
    assert_eq!((found[0].kind, &found[0].name[..]), (MemberKind::Directory, &b"dir/"[..]));
}

#[test]
fn unknown_types_are_members_with_data() {
    let found = good(&[&entry(b'Z', b"z", b"data"), &entry(b'V', b"label", b"")]);
    assert_eq!((found[0].kind, found[0].size), (MemberKind::Other(b'Z'), 4));
    assert_eq!(found[1].kind, MemberKind::Volume);
}

#[test]
fn sparse_files_and_parts_of_volumes_are_refused_by_name() {
    fn unsupported(parts: &[&[u8]], message: &str) {
        bad(parts, ErrorKind::Unsupported, 0, Some("name"), message);
    }
    unsupported(&[&entry(b'S', b"name", b"")], "a sparse file");
    unsupported(&[&entry(b'M', b"name", b"")], "another volume");
    unsupported(&[&entry(b'N', b"name", b"")], "type \"N\"");
    let sparse = extra(b'x', &[("GNU.sparse.major", "1")]);
    unsupported(&[&sparse, &entry(b'0', b"name", b"")], "a sparse file");
    let named = extra(b'x', &[("GNU.sparse.name", "name"), ("path", "GNUSparse.1/name")]);
    unsupported(&[&named, &entry(b'0', b"x", b"")], "a sparse file");
}

#[test]
fn a_global_header_that_names_or_sizes_members_is_refused() {
    for key in ["path", "size", "GNU.sparse.name"] {
        let parts = extra(b'g', &[(key, "1")]);
        bad(&[&parts], ErrorKind::Unsupported, 0, None, "global");
    }
}

#[test]
fn headers_that_contradict_each_other_are_refused() {
    let long = entry(b'L', b"long", b"one\0");
    let same = extra(b'x', &[("path", "one"), ("size", "1")]);
    assert_eq!(good(&[&long, &same, &entry(b'0', b"x", b"1")])[0].name, b"one");
    let name = extra(b'x', &[("path", "two")]);
    bad(&[&long, &name], ErrorKind::BadHeader, 1024, Some("one"), "different names");
    let size = extra(b'x', &[("size", "2")]);
    bad(&[&same, &size], ErrorKind::BadHeader, 1024, None, "different sizes");
}

#[test]
fn long_names_and_pax_headers_are_bounded() {
    for flag in *b"LKxXg" {
        let header = block(flag, b"long", b"00004000001");
        bad(&[&header], ErrorKind::Limit, 0, None, "1048577");
    }
    let longest = [&b"n".repeat(EXTRA_MAX as usize - 1)[..], b"\0"].concat();
    let found = good(&[&entry(b'L', b"long", &longest), &entry(b'0', b"n", b"")]);
    assert_eq!(found[0].name.len() as u64, EXTRA_MAX - 1);
}

#[test]
fn false_extra_headers_are_refused_at_their_byte() {
    let a = entry(b'0', b"a", b"");
    let pax = entry(b'x', b"pax", b"99 path=a\n");
    bad(&[&a, &pax], ErrorKind::BadHeader, 512, None, "does not fit");
    for empty in [&b""[..], b"\0\0"] {
        let long = entry(b'L', b"long", empty);
        bad(&[&a, &long], ErrorKind::BadHeader, 512, None, "empty");
    }
    let long = entry(b'L', b"long", b"name\0");
    bad(&[&a, &long, &END], ErrorKind::BadHeader, 512, None, "no member");
}

#[test]
fn a_broken_header_is_refused_at_its_byte() {
    let a = entry(b'0', b"a", b"");
    bad(&[&a, &[7; 512]], ErrorKind::BadHeader, 512, None, "not a tar header");
    let size = block(b'0', b"b", b"-----------");
    bad(&[&a, &size], ErrorKind::BadHeader, 512, Some("b"), "size field");
    let long = entry(b'L', b"long", b"name\0");
    bad(&[&long, &size], ErrorKind::BadHeader, 1024, Some("name"), "size field");
    let huge = block(b'0', b"b", b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff");
    bad(&[&a, &huge], ErrorKind::BadHeader, 512, Some("b"), "no file can hold");
    let zeros = block(b'0', b"b", b"\0\0\0\0\0\0\x001000");
    bad(&[&a, &zeros], ErrorKind::BadHeader, 512, Some("b"), "size field");
    let over = extra(b'x', &[("size", "18446744073709551615")]);
    let error = [&over[..], &entry(b'0', b"b", b"")];
    bad(&error, ErrorKind::BadHeader, 0, None, "not a number of bytes");
}

#[test]
fn packed_tars_are_named_by_their_compression() {
    for (magic, message) in [
        (&[0x1f, 0x8b][..], "gzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh9", "bzip2"),
    ] {
        let mut packed = magic.to_vec();
        bad(&[&packed], ErrorKind::WrongFormat, 0, None, message);
        packed.resize(512, 1);
        bad(&[&packed], ErrorKind::WrongFormat, 0, None, message);
        bad(&[&entry(b'0', b"a", b""), &packed], ErrorKind::BadHeader, 512, None, "not a tar");
    }
}

#[test]
fn a_lone_block_of_zeros_is_no_end_marker() {
    let a = entry(b'0', b"a", b"");
    bad(&[&a, &[0; 512], &a], ErrorKind::BadHeader, 512, None, "lone block");
    let tar = [&a[..], &[0; 512], &a, &END].concat();
    for (until, passed) in [(512, false), (513, true), (u64::MAX, true)] {
        let mut walk = Walk::new().ignoring_zeros(until);
        let steps = std::iter::from_fn(|| Some(walk.step_in(&tar)));
        let last = steps.take(5).find(|step| matches!(step, Ok(Some(Event::End { .. })) | Err(_)));
        assert_eq!(last.is_some_and(|step| step.is_ok()), passed, "{until}");
    }
    bad(&[&a, &[0; 512]], ErrorKind::MissingEnd, 512, None, "one of its two");
    bad(&[&a, &[0; 700]], ErrorKind::MissingEnd, 512, None, "one of its two");
}

#[test]
fn a_tar_cut_between_members_lacks_its_end() {
    bad(&[], ErrorKind::MissingEnd, 0, None, "empty");
    bad(&[&entry(b'0', b"a", b"1")], ErrorKind::MissingEnd, 1024, None, "block boundary");
}

#[test]
fn a_tar_cut_inside_a_member_names_it() {
    let a = entry(b'0', b"a", b"1");
    let b = [&entry(b'L', b"long", b"bb\0")[..], &entry(b'0', b"b", &[1; 600])].concat();
    let cut = |len: usize, key, message: &str| {
        bad(&[&a, &b[..len]], ErrorKind::Truncated, 1024, key, message);
    };
    cut(1, None, "inside a header: 511 of");
    cut(512, None, "long name or pax header: 512 bytes");
    cut(514, None, "long name or pax header: 510 bytes");
    cut(1024, Some("bb"), "and its member: at least 512");
    cut(1030, Some("bb"), "inside a header: 506 of");
    cut(1536, Some("bb"), "600 bytes of its data");
    cut(2135, Some("bb"), "member: 1 bytes of its data");
    cut(2136, Some("bb"), "zeros that pad this member: 424");
    cut(2559, Some("bb"), "zeros that pad this member: 1 ");
}

#[test]
fn a_walk_that_begins_past_the_end_is_an_error() {
    let error = Walk::at(4096).step_in(&END).expect_err("past the end");
    assert_eq!((error.kind(), error.place().byte), (ErrorKind::Truncated, Some(1024)));
    let mut walk = Walk::at(u64::MAX - 511);
    let error = walk.step(&block(b'0', b"a", b"")).expect_err("past all files");
    assert_eq!(error.kind(), ErrorKind::BadHeader);
}

#[test]
fn foreign_names_can_not_write_on_the_terminal() {
    let name = b"a\x1b[2J\xff\n";
    let key = "a\\u{1b}[2J\\xff\\n";
    bad(&[&entry(b'S', name, b"")], ErrorKind::Unsupported, 0, Some(key), "");
}
