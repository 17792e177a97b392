//! The walk over a tar's members, of bytes in memory and of a file, with every data range used.

use std::path::Path;

use tarflume_formats::tar::{Event, Member, MemberKind, Walk};
use tarflume_formats::{Reading, TarReader, crc32c, name};

use super::file::file_of;

/// Walks over the input, a tar, in memory and in a file.
pub fn walk(input: &[u8]) {
    let tar = with_sums(input);
    let members = members_of(&tar);
    let file = file_of(&tar, "");
    for reading in [Reading::Headers, Reading::Everything] {
        let read = read(file.path(), reading, &tar);
        assert_eq!(read, members, "{reading:?} disagrees with the walk in memory");
    }
}

/// The input as it is, or with valid checksums in every block that contains `ustar`: the first byte
/// decides. Random bytes would hardly ever have one.
fn with_sums(input: &[u8]) -> Vec<u8> {
    let Some((&mode, rest)) = input.split_first() else { return Vec::new() };
    let mut tar = rest.to_vec();
    if mode & 1 == 0 {
        return tar;
    }
    for block in tar.chunks_exact_mut(512).filter(|b| &b[257..262] == b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    tar
}

/// The members, or nothing if the tar is refused anywhere.
fn members_of(tar: &[u8]) -> Option<Vec<(Member, u32)>> {
    let mut walk = Walk::new();
    let mut members = Vec::new();
    for _ in 0..tar.len() / 256 + 4 {
        match walk.step_in(tar) {
            Ok(Some(Event::Member(member))) => {
                if member.end() > tar.len() as u64 {
                    return None;
                }
                let data = &tar[member.data as usize..(member.data + member.size) as usize];
                let _ = name::split(&member.name);
                assert!(member.kind != MemberKind::Sparse);
                members.push((member, crc32c(data)));
            }
            Ok(Some(Event::End { offset })) => {
                assert!(offset + 1024 <= tar.len() as u64);
                // The reader refuses a tar behind which more than zeros follows.
                let rest = &tar[offset as usize..];
                return rest.iter().all(|&byte| byte == 0).then_some(members);
            }
            Ok(None) => {}
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return None;
            }
        }
    }
    panic!("the walk does not end");
}

fn read(path: &Path, reading: Reading, tar: &[u8]) -> Option<Vec<(Member, u32)>> {
    let mut reader = TarReader::open(path, reading).expect("a file that is there");
    let mut members = Vec::new();
    while let Some(member) = reader.next_member().ok()? {
        let sum = reader.checksum(&member).expect("data inside the file");
        let data = reader.data(&member).expect("data inside the file");
        assert_eq!(crc32c(data), sum);
        members.push((member, sum));
    }
    let end = reader.end().expect("an end marker was found");
    let zeros = reader.only_zeros_from(end).expect("the rest can be read");
    assert!(zeros && tar[end as usize..].iter().all(|&b| b == 0));
    reader.finish().expect("the rest can be read");
    Some(members)
}
