//! Ogg (RFC 3533), the frame of Vorbis, Opus and Theora: every page with its checksum.

use tarflume_formats::Result;

use super::Looked;
use super::cursor::{Cursor, fault};

/// Bytes of a page's header before its list of segments.
const HEAD: usize = 27;
/// The place of the checksum in it.
const SUM: usize = 22;

/// Checks all pages: their lengths, their checksums, and that they follow one another to the end of the file.
///
/// # Errors
/// Returns the fault of the first page that has one.
pub(super) fn check(bytes: &[u8]) -> Result<Looked> {
    let mut cursor = Cursor::new(bytes);
    if cursor.is_done() {
        return Err(fault(0, "it has no bytes"));
    }
    while !cursor.is_done() {
        let at = cursor.at();
        let head: [u8; HEAD] = cursor.array("a page")?;
        if !head.starts_with(b"OggS\0") {
            return Err(fault(at, "no page of Ogg begins here"));
        }
        let segments = cursor.take(u64::from(head[26]), "a page")?;
        let length = segments.iter().map(|&segment| u64::from(segment)).sum();
        let data = cursor.take(length, "a page")?;
        let stated = u32::from_le_bytes(*head[SUM..].first_chunk().expect("a page has 27 bytes"));
        let mut blank = head;
        blank[SUM..SUM + 4].fill(0);
        let found = [&blank[..], segments, data].into_iter().fold(0, checksum);
        if found != stated {
            let text = format!(
                "the checksum of a page is {found:08x}, and its header states {stated:08x}"
            );
            return Err(fault(at, text));
        }
    }
    Ok(Looked::Whole)
}

/// The checksums of all bytes.
const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            sum = (sum << 1) ^ if sum >> 31 == 1 { 0x04c1_1db7 } else { 0 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

fn checksum(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, &byte| (sum << 8) ^ TABLE[((sum >> 24) as u8 ^ byte) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(data: &[u8]) -> Vec<u8> {
        let mut out = b"OggS\0\x02".to_vec();
        out.resize(26, 7);
        out[SUM..26].fill(0);
        out.push(1);
        out.push(data.len() as u8);
        out.extend(data);
        let sum = checksum(0, &out);
        out[SUM..26].copy_from_slice(&sum.to_le_bytes());
        out
    }

    #[test]
    fn each_page_has_its_checksum() {
        let whole = [page(b"abc"), page(b"defgh")].concat();
        assert!(check(&whole).is_ok());
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert!(check(&changed).is_err(), "byte {at}");
        }
        assert!(check(&whole[..whole.len() - 1]).is_err() && check(b"").is_err());
    }
}
