//! A tar read from disk, by headers alone and completely.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::PathBuf;

use tarflume_formats::tar::{END, Member, write_header};
use tarflume_formats::{Error, ErrorKind, Reading, TarReader, crc32c};
use tempfile::TempDir;

const BOTH: [Reading; 2] = [Reading::Headers, Reading::Everything];

/// Members of many sizes: none, one byte, more than every window.
fn members() -> Vec<(String, Vec<u8>)> {
    fn data(n: usize) -> Vec<u8> {
        (0..n).map(|i| (i * 7 + n) as u8).collect()
    }

    let sizes = [0, 1, 511, 512, 513, 9_000, 40, 300_000, 1, 600_001, 7, 262_144, 100];
    let long = "long/".repeat(50);
    let name = |i: usize| if i % 5 == 3 { format!("{long}{i}.jpg") } else { format!("a/{i}.jpg") };
    sizes.iter().enumerate().map(|(i, &n)| (name(i), data(n))).collect()
}

fn ours() -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, data) in members() {
        write_header(&mut tar, name.as_bytes(), data.len() as u64).unwrap();
        tar.extend(data);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend(END);
    tar
}

/// Returns a tar written by the tar crate in one of its formats.
fn foreign(mut header: tar::Header) -> Vec<u8> {
    let pax = header.as_ustar().is_some();
    let mut tar = tar::Builder::new(Vec::new());
    for (name, data) in members() {
        header.set_size(data.len() as u64);
        header.set_mode(0o600);
        if pax && name.len() > 100 {
            let records = [("path", name.as_bytes()), ("mtime", b"1.5")];
            tar.append_pax_extensions(records).unwrap();
            header.set_path("short.jpg").unwrap();
            header.set_cksum();
            tar.append(&header, &data[..]).unwrap();
        } else {
            tar.append_data(&mut header, &name, &data[..]).unwrap();
        }
    }
    tar.into_inner().unwrap()
}

fn put(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.tar");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn walk(reader: &mut TarReader) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    while let Some(member) = reader.next_member()? {
        members.push(member);
    }
    Ok(members)
}

#[test]
fn both_ways_give_the_members_that_were_written() {
    for tar in [ours(), foreign(tar::Header::new_gnu()), foreign(tar::Header::new_ustar())] {
        let (_dir, path) = put(&tar);
        for reading in BOTH {
            let mut reader = TarReader::open(&path, reading).unwrap();
            let mut want = members().into_iter();
            while let Some(member) = reader.next_member().unwrap() {
                let (name, data) = want.next().unwrap();
                assert_eq!(String::from_utf8(member.name.clone()).unwrap(), name);
                assert_eq!(member.size, data.len() as u64);
                assert_eq!(&tar[member.data as usize..][..data.len()], data);
            }
            assert!(want.next().is_none());
            let end = reader.end().unwrap();
            assert!(reader.only_zeros_from(end).unwrap());
            let facts = reader.finish().unwrap();
            assert_eq!(facts.length, tar.len() as u64);
            let digest = (reading == Reading::Everything).then(|| blake3::hash(&tar));
            assert_eq!(facts.digest, digest);
        }
    }
}

#[test]
fn data_comes_in_any_order_and_is_hashed_once() {
    let tar = ours();
    let (_dir, path) = put(&tar);
    for reading in BOTH {
        for order in 0..6 {
            let mut reader = TarReader::open(&path, reading).unwrap();
            let mut before: Option<Member> = None;
            while let Some(member) = reader.next_member().unwrap() {
                let want = &tar[member.data as usize..][..member.size as usize];
                if order == 5
                    && let Some(before) = &before
                {
                    let want = &tar[before.data as usize..][..before.size as usize];
                    assert_eq!(reader.data(before).unwrap(), want);
                }
                for step in [order % 2, order / 2] {
                    match step {
                        0 => assert_eq!(reader.data(&member).unwrap(), want),
                        1 => assert_eq!(reader.checksum(&member).unwrap(), crc32c(want)),
                        _ => {}
                    }
                }
                before = Some(member);
            }
            let facts = reader.finish().unwrap();
            assert!(reading == Reading::Headers || facts.digest == Some(blake3::hash(&tar)));
        }
    }
}

#[test]
fn a_tar_cut_at_any_block_is_noticed_and_named() {
    let tar = ours();
    let (_dir, path) = put(&tar);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut reader = TarReader::open(&path, Reading::Headers).unwrap();
    let whole = walk(&mut reader).unwrap();
    let between: Vec<u64> = whole.iter().map(|m| m.first).chain([whole[12].end()]).collect();
    for length in (0..tar.len()).step_by(512).rev().map(|n| n as u64) {
        file.set_len(length).unwrap();
        for reading in BOTH {
            let error = walk(&mut TarReader::open(&path, reading).unwrap()).unwrap_err();
            assert_eq!(error.place().path.as_deref(), Some(&*path));
            let missing_end = between.contains(&length) || length + 512 == tar.len() as u64;
            let kind = if missing_end { ErrorKind::MissingEnd } else { ErrorKind::Truncated };
            assert_eq!(error.kind(), kind, "{reading:?}, cut to {length}: {error}");
            if kind == ErrorKind::Truncated {
                let member = whole.iter().rfind(|m| m.first < length).unwrap();
                assert_eq!(error.place().byte, Some(member.first));
            }
        }
    }
}

#[test]
fn a_file_that_shrinks_meanwhile_is_an_error() {
    for reading in BOTH {
        let (_dir, path) = put(&ours());
        let mut reader = TarReader::open(&path, reading).unwrap();
        reader.next_member().unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(20_000).unwrap();
        assert_eq!(walk(&mut reader).unwrap_err().kind(), ErrorKind::Truncated);
    }
}

#[test]
fn bytes_after_the_end_marker_are_part_of_the_digest() {
    let mut tar = ours();
    let end = tar.len() as u64 - 1024;
    tar.extend(vec![0; 600_000]);
    for last in [0, 1] {
        *tar.last_mut().unwrap() = last;
        let (_dir, path) = put(&tar);
        for reading in BOTH {
            let mut reader = TarReader::open(&path, reading).unwrap();
            let behind = walk(&mut reader).map_err(|error| (error.kind(), error.place().byte));
            let place = tar.len() as u64 - 1;
            match last {
                0 => assert!(behind.is_ok()),
                _ => assert_eq!(behind.unwrap_err(), (ErrorKind::AfterEnd, Some(place))),
            }
            assert_eq!(reader.next_member().unwrap(), None, "the tar ends at its marker");
            assert_eq!(reader.end(), Some(end));
            assert_eq!(reader.only_zeros_from(end).unwrap(), last == 0);
            let digest = reader.finish().unwrap().digest;
            assert!(digest.is_none_or(|d| d == blake3::hash(&tar)));
        }
    }
}

#[test]
fn joined_tars_are_refused_and_with_the_option_read_on() {
    let single = ours();
    let joined = [&single[..], &[0; 5120], &single].concat();
    let second = single.len() as u64 + 5120;
    let (_single_dir, single_path) = put(&single);
    let (_dir, path) = put(&joined);
    for reading in BOTH {
        let whole = walk(&mut TarReader::open(&single_path, reading).unwrap()).unwrap();
        let open = || TarReader::open(&path, reading).unwrap();
        let error = walk(&mut open()).unwrap_err();
        assert_eq!((error.kind(), error.place().byte), (ErrorKind::AfterEnd, Some(second)));
        let twice: Vec<Member> = whole
            .iter()
            .cloned()
            .chain(whole.iter().map(|m| Member {
                first: m.first + second,
                data: m.data + second,
                ..m.clone()
            }))
            .collect();
        let mut reader = open().ignore_zeros(true);
        assert_eq!(walk(&mut reader).unwrap(), twice);
        assert_eq!(reader.joined(), Some(second));
        assert_eq!(reader.end(), Some(joined.len() as u64 - 1024));
        assert!(reader.finish().unwrap().digest.is_none_or(|d| d == blake3::hash(&joined)));
        // A sidecar that lists the last member proves that the tar goes on, and one of the first tar does not.
        assert_eq!(walk(&mut open().read_on_until(twice[twice.len() - 1].end())).unwrap(), twice);
        assert!(walk(&mut open().read_on_until(whole[whole.len() - 1].end())).is_err());
    }
}

#[test]
fn a_lone_block_of_zeros_is_passed_over_with_the_option_alone() {
    let tar = ours();
    let cut = tar.len() - 512;
    let (_dir, path) = put(&[&tar[..cut], &tar[..]].concat());
    for reading in BOTH {
        let open = || TarReader::open(&path, reading).unwrap();
        assert_eq!(walk(&mut open()).unwrap_err().kind(), ErrorKind::BadHeader);
        assert_eq!(walk(&mut open().ignore_zeros(true)).unwrap().len(), 2 * 13);
    }
}

#[test]
fn files_that_are_no_tars_are_refused() {
    for (bytes, kind) in [
        (&b""[..], ErrorKind::MissingEnd),
        (b"short", ErrorKind::Truncated),
        (&[0x1f, 0x8b, 8, 0], ErrorKind::WrongFormat),
        (&[7; 2048], ErrorKind::BadHeader),
    ] {
        let (_dir, path) = put(bytes);
        for reading in BOTH {
            let error = walk(&mut TarReader::open(&path, reading).unwrap()).unwrap_err();
            let short = bytes.len() < 512; // less than a block: cut, whatever it was
            assert!(
                error.kind() == kind || short && error.kind() == ErrorKind::Truncated,
                "{error}"
            );
        }
    }
}
