//! Tests of `header.rs`.

use super::*;
use proptest::prelude::*;

fn written(name: &[u8], size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_header(&mut out, name, size).expect("a good name");
    assert_eq!(out.len() as u64, header_len(name, size));
    out
}

fn block_at(bytes: &[u8], index: usize) -> [u8; 512] {
    bytes[index * 512..][..512].try_into().expect("a block")
}

/// Changes a block and recomputes its checksum.
fn altered(name: &[u8], alter: impl FnOnce(&mut [u8; 512])) -> [u8; 512] {
    let mut block = block_at(&written(name, 5), 0);
    alter(&mut block);
    block[CHECKSUM].fill(b' ');
    let sum = format!("{:06o}\0 ", sum(&block));
    block[CHECKSUM].copy_from_slice(sum.as_bytes());
    block
}

fn size_of(field: &[u8; 12]) -> Result<u64> {
    Header::parse(&altered(b"a", |block| block[SIZE].copy_from_slice(field))).map(|h| h.size)
}

fn refusal<T: fmt::Debug>(result: Result<T>, kind: ErrorKind) -> String {
    let error = result.expect_err("refused");
    assert_eq!(error.kind(), kind);
    error.text().to_owned()
}

#[test]
fn every_byte_of_a_plain_header_is_where_posix_says() {
    let mut want = b"a/b.jpg".to_vec();
    want.resize(100, 0);
    want.extend_from_slice(b"0000644\x000000000\x000000000\x0000000001001\x0000000000000\0");
    want.extend_from_slice(b"010340\0 0");
    want.resize(257, 0);
    want.extend_from_slice(b"ustar\x0000");
    want.resize(329, 0);
    want.extend_from_slice(b"0000000\x000000000\0");
    want.resize(512, 0);
    let made = written(b"a/b.jpg", 513);
    assert_eq!(made.escape_ascii().to_string(), want.escape_ascii().to_string());
}

#[test]
fn a_name_over_100_bytes_is_split_at_a_slash() {
    let name = [&b"d".repeat(60)[..], b"/", &b"e".repeat(60), b"/", &b"f".repeat(40)].concat();
    let block = block_at(&written(&name, 0), 0);
    // 60 + 1 + 60 + 1 + 40 bytes: the first slash leaves 101 for the name, one too many.
    assert_eq!(until_zero(&block[PREFIX]), &name[..121]);
    assert_eq!(until_zero(&block[NAME]), &name[122..]);
}

#[test]
fn the_longest_ustar_name_needs_no_pax_and_one_byte_more_does() {
    let longest = [&b"p".repeat(155)[..], b"/", &b"n".repeat(100)].concat();
    assert_eq!(header_len(&longest, 0), 512);
    assert_eq!(Header::parse(&block_at(&written(&longest, 0), 0)).unwrap().name, longest);
    assert_eq!(header_len(&[&longest[..], b"n"].concat(), 0), 1536);
    assert_eq!(header_len(&[b"p", &longest[..]].concat(), 0), 1536);
    assert_eq!(header_len(&b"n".repeat(100), 0), 512);
    assert_eq!(header_len(&b"n".repeat(101), 0), 1536);
}

#[test]
fn slashes_in_a_row_and_at_the_start_are_no_place_to_split() {
    let double = [&b"a".repeat(50)[..], b"//", &b"b".repeat(60)].concat();
    assert_eq!(header_len(&double, 0), 1536);
    assert_eq!(header_len(&[b"/", &b"b".repeat(100)[..]].concat(), 0), 1536);
}

#[test]
fn a_non_ascii_name_is_in_both_pax_and_ustar() {
    let name = "naïve/öl.jpg".as_bytes();
    let made = written(name, 7);
    let pax = Header::parse(&block_at(&made, 0)).unwrap();
    assert_eq!((pax.typeflag, &pax.name[..]), (b'x', &b"PaxHeaders/__l.jpg"[..]));
    let record = "23 path=naïve/öl.jpg\n".as_bytes();
    assert_eq!(&made[512..512 + pax.size as usize], record);
    assert!(made[512 + record.len()..1024].iter().all(|&b| b == 0));
    assert_eq!(Header::parse(&block_at(&made, 2)).unwrap().name, name);
}

#[test]
fn a_size_of_8_gib_is_in_pax_and_in_base_256() {
    assert_eq!(header_len(b"a", OCTAL_MAX), 512);
    assert_eq!(&written(b"a", OCTAL_MAX)[SIZE], b"77777777777\0");
    let made = written(b"a", OCTAL_MAX + 1);
    assert_eq!(&made[512..531], b"19 size=8589934592\n");
    assert_eq!(Header::parse(&block_at(&made, 2)).unwrap().size, 8 << 30);
}

#[test]
fn the_short_name_is_neither_half_a_letter_nor_a_directory() {
    let letters = "ö".repeat(60);
    assert_eq!(short_name(letters.as_bytes()).len(), 100);
    assert_eq!(short_name(format!("x{letters}").as_bytes()).len(), 99);
    let slash = [&b"a".repeat(99)[..], b"/", &b"b".repeat(200)].concat();
    assert_eq!(short_name(&slash), b"a".repeat(99));
    assert_eq!(short_name(&[b"/".repeat(200), b"a".to_vec()].concat()), b"_");
    assert_eq!(short_name(&[0x80; 200]), b"_");
}

#[test]
fn names_and_sizes_that_no_tar_holds_are_refused() {
    let mut out = Vec::new();
    for name in [&b""[..], b"a\0b", b"a/"] {
        refusal(write_header(&mut out, name, 0), ErrorKind::BadName);
    }
    refusal(write_header(&mut out, &b"a".repeat(NAME_MAX + 1), 0), ErrorKind::Limit);
    refusal(write_header(&mut out, b"a", SIZE_MAX + 1), ErrorKind::Limit);
    assert!(out.is_empty());
}

#[test]
fn sizes_are_read_in_every_spelling() {
    for (field, size) in [
        (b"00000001001\0", 513),
        (b"00000001001 ", 513),
        (b"       1001 ", 513),
        (b"1001\0\0\0\0\0\0\0\0", 513),
        (b"777777777777", (1 << 36) - 1),
        (b"\x80\0\0\0\0\0\0\x02\0\0\0\x01", (2 << 32) + 1),
        (b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", SIZE_MAX),
    ] {
        assert_eq!(size_of(field).unwrap(), size, "{}", field.escape_ascii());
    }
}

#[test]
fn an_invalid_size_is_an_error_that_quotes_it() {
    for (field, what) in [
        (b"\0\0\0\0\0\0\0\0\0\0\0\0", "not an octal"),
        (b"            ", "not an octal"),
        (b"00000000008\0", "not an octal"),
        (b"-0000000001\0", "not an octal"),
        (b"0x000000001\0", "not an octal"),
        (b"0000 000001\0", "not an octal"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "below zero"),
        (b"\0\0\0\0\0\0\x001001\0", "not an octal"),
        (b"\x000000001001\0", "not an octal"),
        (b"1001\x000000000", "not an octal"),
        (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", "any file"),
        (b"\x80\0\0\0\x80\0\0\0\0\0\0\0", "any file"),
        (b"\x81\0\0\0\0\0\0\0\0\0\0\0", "any file"),
    ] {
        let text = refusal(size_of(field), ErrorKind::BadHeader);
        assert!(text.contains(what), "{text}");
        assert!(text.contains(&field.escape_ascii().to_string()), "{text}");
    }
}

#[test]
fn a_type_without_data_has_size_0_in_its_field() {
    fn parsed(flag: u8, field: &[u8; 12]) -> Result<u64> {
        let block = altered(b"a", |block| {
            block[TYPEFLAG] = flag;
            block[SIZE].copy_from_slice(field);
        });
        Header::parse(&block).map(|header| header.size)
    }
    for flag in b'1'..=b'6' {
        for empty in [b"00000000000\0", &[0; 12], b"           \0"] {
            assert_eq!(parsed(flag, empty).unwrap(), 0);
        }
        refusal(parsed(flag, b"no number..\0"), ErrorKind::BadHeader);
    }
    // All readers pass over the size of a directory and, outside pax archives, of a hard link.
    for (flag, good) in [(b'1', true), (b'5', true), (b'2', false), (b'3', false), (b'6', false)] {
        assert_eq!(parsed(flag, b"00000001000\0").ok(), good.then_some(0), "{flag}");
    }
    assert!(parsed(b'V', b"00000001000\0").is_err());
}

#[test]
fn other_numbers_must_be_readable_and_the_prefix_posix() {
    for (at, what) in [(100, "mode"), (108, "uid"), (116, "gid"), (136, "mtime"), (329, "devmajor")]
    {
        let block = altered(b"a", |block| block[at..at + 8].copy_from_slice(b"12 x4567"));
        let text = refusal(Header::parse(&block), ErrorKind::BadHeader);
        assert!(text.starts_with(&format!("the {what} field holds")), "{text}");
    }
    let times = altered(b"a", |block| {
        block[257..265].copy_from_slice(b"ustar  \0");
        block[PREFIX][..11].copy_from_slice(b"14000000000");
    });
    assert!(refusal(Header::parse(&times), ErrorKind::BadHeader).contains("prefix"));
}

#[test]
fn the_checksum_may_be_the_historic_signed_one_and_nothing_else() {
    let mut block = block_at(&written(b"a", 5), 0);
    block[1] = 0xe4;
    let unsigned = sum(&block) - sum(&block[CHECKSUM]) + 256;
    for (stored, good) in [(unsigned, true), (unsigned - 256, true), (unsigned - 1, false)] {
        block[CHECKSUM].copy_from_slice(format!("{stored:06o}\0 ").as_bytes());
        assert_eq!(Header::parse(&block).is_ok(), good);
    }
    block[CHECKSUM].fill(0);
    let text = refusal(Header::parse(&block), ErrorKind::BadHeader);
    assert!(text.starts_with("this is not a tar header"), "{text}");
}

#[test]
fn only_the_posix_magic_has_a_prefix() {
    fn with_magic(magic: &[u8; 8], prefix: &[u8]) -> Option<Vec<u8>> {
        let block = altered(b"name", |block| {
            block[257..265].copy_from_slice(magic);
            block[PREFIX][..prefix.len()].copy_from_slice(prefix);
        });
        Header::parse(&block).map(|header| header.name).ok()
    }
    assert_eq!(with_magic(b"ustar\x0000", b"pre").unwrap(), b"pre/name");
    for magic in [b"ustar  \0", &[0; 8]] {
        assert_eq!(with_magic(magic, b"\0pre").unwrap(), b"name");
        assert_eq!(with_magic(magic, b"pre"), None);
    }
}

#[test]
fn every_type_has_its_kind() {
    fn kind(flag: u8, name: &[u8], size: u64) -> MemberKind {
        Header { name: name.into(), typeflag: flag, size }.kind()
    }
    assert_eq!(kind(0, b"a", 5), MemberKind::File);
    assert_eq!(kind(0, b"a/", 0), MemberKind::Directory);
    assert_eq!(kind(b'0', b"a/", 0), MemberKind::Directory);
    assert_eq!(kind(b'0', b"a/", 5), MemberKind::File);
    assert_eq!(kind(b'7', b"a", 5), MemberKind::File);
    assert_eq!(kind(b'1', b"a", 0), MemberKind::HardLink);
    assert_eq!(kind(b'2', b"a", 0), MemberKind::Symlink);
    assert_eq!(kind(b'3', b"a", 0), MemberKind::Device);
    assert_eq!(kind(b'6', b"a", 0), MemberKind::Device);
    assert_eq!(kind(b'5', b"a", 0), MemberKind::Directory);
    assert_eq!(kind(b'S', b"a", 0), MemberKind::Sparse);
    assert_eq!(kind(b'M', b"a", 0), MemberKind::Multivolume);
    assert_eq!(kind(b'V', b"a", 0), MemberKind::Volume);
    assert_eq!(kind(b'Z', b"a", 0), MemberKind::Other(b'Z'));
    assert_eq!(MemberKind::Other(0xff).to_string(), "a member of type \"\\xff\"");
}

#[test]
fn padding_is_checked() {
    assert_eq!([0, 1, 512, 513].map(padded), [Some(0), Some(512), Some(512), Some(1024)]);
    assert_eq!(padded(u64::MAX), None);
}

#[test]
fn zero_blocks_are_known() {
    assert!(is_zero_block(&[0; 512]));
    let mut block = [0; 512];
    block[511] = 1;
    assert!(!is_zero_block(&block));
}

proptest! {
    #[test]
    fn no_block_makes_it_panic(mut block in prop::collection::vec(any::<u8>(), 512), fix: bool) {
        if fix {
            block[CHECKSUM].fill(b' ');
            let sum = format!("{:06o}\0 ", sum(&block));
            block[CHECKSUM].copy_from_slice(sum.as_bytes());
        }
        let parsed = Header::parse(&block_at(&block, 0));
        prop_assert!(!fix || parsed.is_ok() || parsed.is_err_and(|e| e.text().contains("field")));
    }
}
