//! Headers and walk together, and against a foreign reader and writer of tars.

use std::io::Read;

use proptest::prelude::*;

use crate::errors::error::{ErrorKind, Result};
use crate::tar::{BLOCK, END, Event, Member, MemberKind, Walk, header_len, padded, write_header};

/// A name and its data's length.
type Case = (Vec<u8>, usize);

fn write(cases: &[Case]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, len) in cases {
        let before = tar.len();
        write_header(&mut tar, name, *len as u64).expect("a good name");
        assert_eq!((tar.len() - before) as u64, header_len(name, *len as u64));
        tar.resize(tar.len() + len, b'd');
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.extend_from_slice(&END);
    tar
}

/// Walks with exactly the requested bytes, as a caller that reads a file does.
fn walk(tar: &[u8]) -> Result<Vec<Member>> {
    let mut walk = Walk::new();
    let mut members = Vec::new();
    for _ in 0..tar.len() / 256 + 4 {
        let (offset, len) = walk.want();
        if offset.checked_add(len as u64).is_none_or(|end| end > tar.len() as u64) {
            return Err(walk.eof(tar.len() as u64));
        }
        match walk.step(&tar[offset as usize..][..len])? {
            Some(Event::Member(member)) => members.push(member),
            Some(Event::End { .. }) => return Ok(members),
            None => {}
        }
    }
    panic!("the walk takes more steps than the tar has blocks");
}

fn walked(tar: &[u8]) -> Vec<Case> {
    let members = walk(tar).expect("a good tar").into_iter();
    members.map(|m| (m.name, m.size as usize)).collect()
}

/// Names of every class that is written differently.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        "[a-z0-9_]{1,20}",
        "[a-z]{80,120}",
        "[ -~\n]{1,8}",
        "\\PC{1,30}",
        Just("x".repeat(200)),
        Just("naïve".into())
    ];
    let text = prop::collection::vec(part, 1..6).prop_map(|parts| parts.join("/").into_bytes());
    let bytes = prop::collection::vec(1u8.., 1..400);
    prop_oneof![4 => text, 1 => bytes].prop_filter("a file's", |name| !name.ends_with(b"/"))
}

fn cases() -> impl Strategy<Value = Vec<Case>> {
    prop::collection::vec((name(), 0usize..1500), 0..8)
}

fn read_by_the_tar_crate(tar: &[u8]) -> Vec<Case> {
    let mut archive = ::tar::Archive::new(tar);
    let entries = archive.entries().expect("an archive");
    let mut found = Vec::new();
    for entry in entries {
        let mut entry = entry.expect("an entry");
        assert_eq!(entry.header().entry_type(), ::tar::EntryType::Regular);
        assert_eq!(entry.header().mode().expect("a mode"), 0o644);
        assert_eq!(entry.header().mtime().expect("a time"), 0);
        let mut data = Vec::new();
        entry.read_to_end(&mut data).expect("data");
        assert!(data.iter().all(|&b| b == b'd'));
        found.push((entry.path_bytes().into_owned(), data.len()));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn written_tars_are_walked_back(cases in cases()) {
        let tar = write(&cases);
        prop_assert_eq!(walked(&tar), &cases[..]);
        let mut end = 0;
        for member in walk(&tar).expect("a good tar") {
            prop_assert_eq!(member.first, end);
            prop_assert_eq!(member.data, end + header_len(&member.name, member.size));
            prop_assert_eq!(member.kind, MemberKind::File);
            end = member.end();
        }
        prop_assert_eq!(end + 2 * BLOCK, tar.len() as u64);
    }

    #[test]
    fn the_tar_crate_reads_what_is_written(mut cases in cases()) {
        // It ends pax records at any newline, so it can't read a name with one.
        cases.retain(|(name, _)| !name.contains(&b'\n'));
        prop_assert_eq!(read_by_the_tar_crate(&write(&cases)), cases);
    }

    #[test]
    fn tars_of_the_tar_crate_are_walked(
        cases in prop::collection::vec(("[a-z]{1,9}(/[a-zö]{1,90}){0,4}", 0usize..1500), 0..6),
        gnu: bool,
    ) {
        let mut builder = ::tar::Builder::new(Vec::new());
        for (name, len) in &cases {
            let mut header = if gnu { ::tar::Header::new_gnu() } else { ::tar::Header::new_ustar() };
            header.set_size(*len as u64);
            // ustar in the tar crate cannot hold a longer name.
            if !gnu && header.set_path(name).is_err() {
                let records = [("path", name.as_bytes())];
                builder.append_pax_extensions(records).expect("written");
                header.set_path("short").expect("a short name");
                header.set_cksum();
                builder.append(&header, &vec![b'd'; *len][..]).expect("written");
            } else {
                builder.append_data(&mut header, name, &vec![b'd'; *len][..]).expect("written");
            }
        }
        let tar = builder.into_inner().expect("written");
        let want: Vec<Case> = cases.into_iter().map(|(n, len)| (n.into_bytes(), len)).collect();
        prop_assert_eq!(walked(&tar), want);
    }

    #[test]
    fn every_cut_is_found(cases in cases(), cut: prop::sample::Index) {
        let tar = write(&cases);
        let cut = cut.index(tar.len());
        let error = walk(&tar[..cut]).expect_err("a cut tar");
        prop_assert!(matches!(error.kind(), ErrorKind::Truncated | ErrorKind::MissingEnd));
        prop_assert!(error.place().byte.is_some_and(|byte| byte <= cut as u64));
    }

    #[test]
    fn a_changed_tar_never_panics_and_always_ends(
        cases in cases(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        fix: bool,
    ) {
        let mut tar = write(&cases);
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
            if fix {
                fix_checksum(&mut tar[at / 512 * 512..][..512]);
            }
        }
        ends(&tar)?;
    }

    #[test]
    fn random_blocks_never_panic_and_always_end(
        mut tar in prop::collection::vec(prop_oneof![Just(0), Just(b'7'), any::<u8>()], 0..6000),
        flags in prop::collection::vec(prop::sample::select(b"0xgLK5S".to_vec()), 12),
    ) {
        for (block, flag) in tar.chunks_exact_mut(512).zip(flags) {
            block[156] = flag;
            block[124..136].copy_from_slice(b"00000000777\0");
            fix_checksum(block);
        }
        ends(&tar)?;
    }
}

fn fix_checksum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn ends(tar: &[u8]) -> std::result::Result<(), TestCaseError> {
    match walk(tar) {
        Ok(members) => {
            let within = members.iter().all(|m| m.end() <= tar.len() as u64);
            prop_assert!(within);
        }
        Err(error) => {
            prop_assert!(error.place().byte.is_some(), "{error}");
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
    Ok(())
}

#[test]
fn padding_is_what_the_writer_uses() {
    let tar = write(&[(b"a".to_vec(), 513)]);
    assert_eq!(Some(tar.len() as u64), padded(513).map(|data| BLOCK + data + 2 * BLOCK));
}
