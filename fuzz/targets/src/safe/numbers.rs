//! Number fields of a header and pax records: if the walk accepts a size, three other readers parse the
//! same one. Their parsers are reimplemented here from the sources of GNU tar 1.34 (`from_header`),
//! libarchive 3.6 (`tar_atol`) and Python 3.11 (`nti`), size fields only.
//!
//! The first byte chooses the field (or a pax header); the rest is its content.

use tarflume_formats::tar::{END, Event, Walk, write_header};

/// Where number fields stand: size, mode, uid, gid, mtime, checksum, devmajor, devminor.
const FIELDS: [(usize, usize); 8] =
    [(124, 12), (100, 8), (108, 8), (116, 8), (136, 12), (148, 8), (329, 8), (337, 8)];

/// Walks over a tar whose header has the input in a number field, or as a pax record.
pub fn numbers(input: &[u8]) {
    let Some((&which, rest)) = input.split_first() else { return };
    let mut block = Vec::new();
    write_header(&mut block, b"b.txt", 512).expect("a good name");
    let mut tar = Vec::new();
    let field = FIELDS.get(usize::from(which % 10));
    match field {
        Some(&(at, n)) => {
            let n = n.min(rest.len());
            block[at..at + n].copy_from_slice(&rest[..n]);
            if at != 148 {
                sum(&mut block);
            }
        }
        None => {
            let mut header = Vec::new();
            write_header(&mut header, b"PaxHeaders/b.txt", rest.len() as u64).expect("a good name");
            header[156] = b'x';
            sum(&mut header);
            tar.extend(header);
            tar.extend(rest);
            tar.resize(tar.len().next_multiple_of(512), 0);
        }
    }
    tar.extend(&block);
    tar.extend([b'd'; 512]);
    tar.extend(END);
    let Some(size) = member(&tar) else { return };
    if field.is_none_or(|&(at, _)| at == 124) {
        assert!(size <= i64::MAX as u64);
    }
    if field == Some(&FIELDS[0]) {
        let field = &block[124..136];
        let others = [gnu(field), libarchive(field), python(field)];
        assert_eq!(others, [Some(i128::from(size)); 3], "{}", field.escape_ascii());
    } else if let Some(&(at, n)) = field.filter(|(at, _)| *at != 148) {
        let field = &block[at..at + n];
        assert!(python(field).is_some(), "Python ends at {}", field.escape_ascii());
    }
}

fn sum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// The size of the first member, if it is accepted.
fn member(tar: &[u8]) -> Option<u64> {
    let mut walk = Walk::new();
    for _ in 0..8 {
        match walk.step_in(tar) {
            Ok(Some(Event::Member(member))) => return Some(member.size),
            Ok(Some(Event::End { .. })) | Err(_) => return None,
            Ok(None) => {}
        }
    }
    panic!("the walk does not come to a member");
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn octal(digits: &[u8]) -> i128 {
    digits.iter().fold(0, |n, b| n << 3 | i128::from(b - b'0'))
}

fn gnu(field: &[u8]) -> Option<i128> {
    let rest = if field[0] == 0 { &field[1..] } else { field };
    let rest = &rest[rest.iter().position(|&b| !is_space(b))?..];
    let digits = rest.iter().take_while(|b| matches!(b, b'0'..=b'7')).count();
    let (value, rest) = match rest[0] {
        b'0'..=b'7' => (octal(&rest[..digits]), &rest[digits..]),
        // Old base-64 numbers, which no other reader supports.
        b'-' | b'+' => return None,
        first @ (0x80 | 0xff) => {
            let sign = if first == 0xff { -1 } else { 0 };
            (rest[1..].iter().fold(sign, |n: i128, &b| n << 8 | i128::from(b)), &rest[..0])
        }
        _ => (0, rest),
    };
    let ended = rest.first().is_none_or(|&b| b == 0 || is_space(b));
    (ended && (0..=i128::from(i64::MAX)).contains(&value)).then_some(value)
}

fn libarchive(field: &[u8]) -> Option<i128> {
    if field[0] & 0x80 != 0 {
        let first = if field[0] & 0x40 != 0 { return None } else { field[0] & 0x7f };
        let value = field[1..].iter().fold(i128::from(first), |n, &b| n << 8 | i128::from(b));
        return (value < i128::from(i64::MAX)).then_some(value);
    }
    let start = field.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(field.len());
    let rest = &field[start..];
    if rest.first() == Some(&b'-') {
        return None;
    }
    let digits = rest.iter().take_while(|b| matches!(b, b'0'..=b'7')).count();
    Some(octal(&rest[..digits]))
}

fn python(field: &[u8]) -> Option<i128> {
    if matches!(field[0], 0x80 | 0xff) {
        let sign = if field[0] == 0xff { -1 } else { 0 };
        return Some(field[1..].iter().fold(sign, |n: i128, &b| n << 8 | i128::from(b)));
    }
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    let text = std::str::from_utf8(&field[..end]).ok().filter(|text| text.is_ascii())?;
    let text = text
        .trim_matches(|c: char| c.is_ascii_whitespace() || matches!(c, '\x0b' | '\x1c'..='\x1f'));
    if text.is_empty() { Some(0) } else { i128::from_str_radix(text, 8).ok() }
}
