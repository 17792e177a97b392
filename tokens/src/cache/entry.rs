//! The bytes of a file in the cache: the token ids of one unit of text.
//!
//! ```text
//! 0   magic "TFTOKENS"
//! 8   u32 version, 1
//! 12  u32 bytes of an id, 2 or 4
//! 16  u64 documents
//! 24  u64 ids
//! 32  u32 number of ids of each document
//! ..  ids
//! ..  blake3 of all bytes before, 32 bytes
//! ```
//!
//! All numbers are little-endian. Pure: no I/O; every length is checked before it is used.

use crate::encoding::ids::Ids;

const MAGIC: &[u8; 8] = b"TFTOKENS";
const VERSION: u32 = 1;
/// Bytes before the lengths.
const HEAD: usize = 32;
/// Bytes of the digest.
const DIGEST: usize = 32;

/// Returns the bytes for `ids`; `None` if a document has more than `u32::MAX` of them.
pub fn to_bytes(ids: &Ids) -> Option<Vec<u8>> {
    let width: u32 = if ids.most() > u32::from(u16::MAX) { 4 } else { 2 };
    let size = HEAD + ids.documents() * 4 + ids.tokens() as usize * width as usize + DIGEST;
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&width.to_le_bytes());
    bytes.extend_from_slice(&(ids.documents() as u64).to_le_bytes());
    bytes.extend_from_slice(&ids.tokens().to_le_bytes());
    for document in ids.iter() {
        bytes.extend_from_slice(&u32::try_from(document.len()).ok()?.to_le_bytes());
    }
    for &id in ids.iter().flatten() {
        bytes.extend_from_slice(&id.to_le_bytes()[..width as usize]);
    }
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    Some(bytes)
}

/// Returns the ids in `bytes`; `None` if they are damaged or of another version.
pub fn parse(bytes: &[u8]) -> Option<Ids> {
    let (body, digest) = bytes.split_last_chunk::<DIGEST>()?;
    let (head, rest) = body.split_first_chunk::<HEAD>()?;
    if !head.starts_with(MAGIC) || number(&head[8..12]) != u64::from(VERSION) {
        return None;
    }
    let width = number(&head[12..16]) as usize;
    let documents = number(&head[16..24]);
    let tokens = number(&head[24..32]);
    let lengths = usize::try_from(documents).ok()?.checked_mul(4)?;
    let data = usize::try_from(tokens).ok()?.checked_mul(width)?;
    let fits = lengths.checked_add(data) == Some(rest.len()) && matches!(width, 2 | 4);
    if !fits || blake3::hash(body) != *digest {
        return None;
    }
    let (lengths, mut data) = rest.split_at(lengths);
    let mut ids = Ids::default();
    for length in lengths.chunks_exact(4) {
        let own = (number(length) as usize).checked_mul(width)?;
        let (own, behind) = data.split_at_checked(own)?;
        ids.push(own.chunks_exact(width).map(|id| number(id) as u32));
        data = behind;
    }
    data.is_empty().then_some(ids)
}

/// Returns a little-endian number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(documents: &[&[u32]]) -> Ids {
        let mut ids = Ids::default();
        documents.iter().for_each(|document| ids.push(document.iter().copied()));
        ids
    }

    #[test]
    fn ids_of_both_widths_are_read_back() {
        let all: [&[&[u32]]; 4] = [&[], &[&[]], &[&[1, 65_535], &[], &[7]], &[&[65_536, 1], &[2]]];
        for documents in all {
            let ids = ids(documents);
            assert_eq!(parse(&to_bytes(&ids).unwrap()), Some(ids));
        }
        assert_eq!(to_bytes(&ids(&[&[1, 2, 3]])).unwrap().len(), HEAD + 4 + 6 + DIGEST);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = to_bytes(&ids(&[&[1, 2], &[3]])).unwrap();
        for at in 0..bytes.len() {
            assert_eq!(parse(&bytes[..at]), None);
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_eq!(parse(&other), None, "byte {at}");
        }
    }

    #[test]
    fn claims_that_do_not_fit_are_refused_also_with_a_valid_digest() {
        fn signed(mut body: Vec<u8>, at: usize, value: u64) -> Vec<u8> {
            body.truncate(body.len() - DIGEST);
            body[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let digest = *blake3::hash(&body).as_bytes();
            [body, digest.to_vec()].concat()
        }

        let bytes = to_bytes(&ids(&[&[1, 2], &[3]])).unwrap();
        for value in [0, 1, 4, u64::MAX, u64::MAX / 4 + 1] {
            assert_eq!(parse(&signed(bytes.clone(), 16, value)), None, "{value} documents");
            assert_eq!(parse(&signed(bytes.clone(), 24, value)), None, "{value} ids");
        }
        let lengths = u64::from_le_bytes([2, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(parse(&signed(bytes, 32, lengths)), None);
    }
}
