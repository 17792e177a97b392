//! `Packing`: codecs between the bytes of a chunk and those of its file: gzip, zlib, zstd, Blosc, LZ4, CRC32C, and the
//! filters shuffle and delta of version 2. Pure.
//!
//! No codec gives more bytes than the caller permits.

use std::io::{self, Read};

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use tarflume_formats::{crc32c, frames};

use super::blosc;
use super::faults::{ChunkFault, zeros};
use super::numbers::delta;
use super::numbers::element::Element;
use super::numbers::shuffle::unshuffle;

/// A codec from bytes to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zlib,
    Zstd,
    Blosc,
    Lz4,
    Crc32c,
    /// The bytes of elements of so many bytes, by their place in the element.
    Shuffle(usize),
    /// The first number, then the differences.
    Delta(Element, bool),
}

/// Bytes of a checksum.
const CHECKSUM: usize = 4;

impl Packing {
    /// Returns the bytes of a content of `bytes` bytes after this codec; `None` if the content decides.
    fn packed(self, bytes: usize) -> Option<usize> {
        match self {
            Packing::Crc32c => bytes.checked_add(CHECKSUM),
            Packing::Shuffle(_) | Packing::Delta(..) => Some(bytes),
            Packing::Gzip | Packing::Zlib | Packing::Zstd | Packing::Blosc | Packing::Lz4 => None,
        }
    }

    fn unpacked(self, bytes: Vec<u8>, wanted: Wanted) -> Result<Vec<u8>, ChunkFault> {
        match self {
            Packing::Gzip => inflated(MultiGzDecoder::new(&bytes[..]), "gzip", wanted),
            Packing::Zlib => inflated(ZlibDecoder::new(&bytes[..]), "zlib", wanted),
            Packing::Zstd => unzstd(&bytes, wanted),
            Packing::Blosc => blosc::decompress(&bytes, wanted.most),
            Packing::Lz4 => unlz4(&bytes, wanted.most),
            Packing::Crc32c => checked(bytes),
            Packing::Shuffle(size) => {
                let mut space = zeros(bytes.len())?;
                unshuffle(&bytes, size, &mut space);
                Ok(space)
            }
            Packing::Delta(element, is_big) => Ok(delta::summed(bytes, element, is_big)),
        }
    }
}

/// How many bytes a codec may give.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// The number, if it is known.
    exact: Option<usize>,
    most: usize,
}

/// Returns the most bytes that a chunk of `content` bytes takes after any of the codecs, and between two of them.
pub(super) fn most_packed(content: usize) -> usize {
    content.saturating_add(content / 8).saturating_add(64 << 10)
}

/// Undoes the codecs, the last one first. `exact` is the number of bytes of the content, if it is known, and `most` the
/// limit on it.
///
/// # Errors
/// Returns an error for damaged bytes, and for a content of another length.
pub(super) fn unpack(
    packings: &[Packing],
    stored: Vec<u8>,
    exact: Option<usize>,
    most: usize,
) -> Result<Vec<u8>, ChunkFault> {
    // Bytes before each codec.
    let mut lengths = vec![exact];
    for packing in packings {
        let before = lengths.last().copied().flatten();
        lengths.push(before.and_then(|bytes| packing.packed(bytes)));
    }
    let mut bytes = stored;
    for (number, packing) in packings.iter().enumerate().rev() {
        let exact = lengths[number];
        let most = exact.unwrap_or(if number == 0 { most } else { most_packed(most) });
        // Bytes in the content of another codec are at no byte of the file.
        let is_stored = number + 1 == packings.len();
        let unpacked = packing.unpacked(bytes, Wanted { exact, most });
        bytes = unpacked.map_err(|fault| if is_stored { fault } else { fault.without_byte() })?;
        check_length(bytes.len(), exact)?;
    }
    check_length(bytes.len(), exact)?;
    Ok(bytes)
}

fn check_length(found: usize, exact: Option<usize>) -> Result<(), ChunkFault> {
    match exact {
        Some(exact) if exact != found => {
            let why =
                format!("it has {found} bytes after decoding, and the metadata declares {exact}");
            Err(ChunkFault::damaged(why))
        }
        _ => Ok(()),
    }
}

fn inflated(decoder: impl Read, name: &str, wanted: Wanted) -> Result<Vec<u8>, ChunkFault> {
    let mut content = Vec::new();
    if let Some(bytes) = wanted.exact {
        content.try_reserve_exact(bytes + 1).map_err(|_| ChunkFault::NoMemory { bytes })?;
    }
    let read = decoder.take(wanted.most as u64 + 1).read_to_end(&mut content);
    read.map_err(|e| match e.kind() {
        io::ErrorKind::OutOfMemory => ChunkFault::NoMemory { bytes: wanted.most },
        _ => ChunkFault::damaged(format!("its {name} data is damaged: {e}")),
    })?;
    if content.len() > wanted.most {
        return Err(too_long(name, wanted.most));
    }
    Ok(content)
}

fn too_long(name: &str, most: usize) -> ChunkFault {
    ChunkFault::damaged(format!("its {name} data has more than {most} bytes of content"))
}

fn unzstd(stored: &[u8], wanted: Wanted) -> Result<Vec<u8>, ChunkFault> {
    let mut content = zeros(wanted.exact.unwrap_or(wanted.most))?;
    let length = frames::decompress_some(stored, &mut content);
    let length = length.map_err(|e| ChunkFault::damaged(e.text()))?;
    content.truncate(length);
    Ok(content)
}

/// Decompresses what numcodecs calls LZ4: the number of bytes, and a block.
fn unlz4(stored: &[u8], most: usize) -> Result<Vec<u8>, ChunkFault> {
    let Some((length, block)) = stored.split_first_chunk::<4>() else {
        return Err(ChunkFault::at(stored.len(), "its LZ4 data ends in the header"));
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > most {
        return Err(too_long("LZ4", most));
    }
    let mut content = zeros(length)?;
    let found = lz4_flex::block::decompress_into(block, &mut content);
    let found = found.map_err(|e| ChunkFault::at(4, format!("its LZ4 data is damaged: {e}")))?;
    content.truncate(found);
    Ok(content)
}

/// Takes the checksum from the end.
fn checked(mut bytes: Vec<u8>) -> Result<Vec<u8>, ChunkFault> {
    let Some((content, sum)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(ChunkFault::at(bytes.len(), "it ends before its CRC32C"));
    };
    let declared = u32::from_le_bytes(*sum);
    let found = crc32c(content);
    let end = content.len();
    if declared != found {
        let why = format!(
            "its bytes have the CRC32C {found:08x}, and {declared:08x} is stored after them"
        );
        return Err(ChunkFault::at(end, why));
    }
    bytes.truncate(end);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend(crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn damage(found: Result<Vec<u8>, ChunkFault>) -> (Option<u64>, String) {
        match found {
            Err(ChunkFault::Damaged { byte, why }) => (byte, why),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn codecs_are_undone_from_the_last_one_on() {
        let stored = sealed(gzip(&sealed(b"twelve bytes".to_vec())));
        let codecs = [Packing::Crc32c, Packing::Gzip, Packing::Crc32c];
        assert_eq!(unpack(&codecs, stored.clone(), Some(12), 12).unwrap(), b"twelve bytes");
        assert_eq!(unpack(&codecs, stored.clone(), None, 12).unwrap(), b"twelve bytes");
        assert!(damage(unpack(&codecs, stored.clone(), Some(13), 13)).1.contains("declares 17"));
        let mut flipped = stored.clone();
        flipped[15] ^= 1;
        let (byte, why) = damage(unpack(&codecs, flipped, Some(12), 12));
        assert_eq!(byte, Some(stored.len() as u64 - 4));
        assert!(why.contains("CRC32C"), "{why}");
    }

    #[test]
    fn damage_in_decompressed_bytes_has_no_place() {
        let mut inner = sealed(b"twelve bytes".to_vec());
        inner[3] ^= 1;
        let codecs = [Packing::Crc32c, Packing::Gzip];
        assert_eq!(damage(unpack(&codecs, gzip(&inner), Some(12), 12)).0, None);
    }

    #[test]
    fn a_bomb_gives_no_more_bytes_than_are_permitted() {
        let bomb = gzip(&vec![0; 10 << 20]);
        let (_, why) = damage(unpack(&[Packing::Gzip], bomb.clone(), Some(1000), 1000));
        assert_eq!(why, "its gzip data has more than 1000 bytes of content");
        assert!(unpack(&[Packing::Gzip, Packing::Gzip], gzip(&bomb), None, 1000).is_err());
        let lz4 = [&u32::MAX.to_le_bytes()[..], &[0; 8]].concat();
        assert!(damage(unpack(&[Packing::Lz4], lz4, None, 1000)).1.contains("more than 1000"));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_errors(
            stored in prop::collection::vec(any::<u8>(), 0..300),
            cut in any::<prop::sample::Index>(),
            bit in any::<prop::sample::Index>(),
        ) {
            let codecs = [
                Packing::Gzip, Packing::Zlib, Packing::Zstd, Packing::Lz4, Packing::Crc32c,
                Packing::Shuffle(3),
            ];
            for codec in codecs {
                for exact in [None, Some(100)] {
                    if let Ok(found) = unpack(&[codec], stored.clone(), exact, 100) {
                        prop_assert!(found.len() <= 100 || exact.is_none());
                    }
                }
            }
            let mut whole = sealed(gzip(&stored));
            whole.truncate(cut.index(whole.len()));
            prop_assert!(unpack(&[Packing::Gzip, Packing::Crc32c], whole, Some(stored.len()), 300).is_err());
            let mut whole = sealed(gzip(&stored));
            let at = bit.index(whole.len() * 8);
            whole[at / 8] ^= 1 << (at % 8);
            prop_assert!(unpack(&[Packing::Gzip, Packing::Crc32c], whole, Some(stored.len()), 300).is_err());
        }
    }
}
