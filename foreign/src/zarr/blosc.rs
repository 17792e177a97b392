//! Frames of Blosc 1: a header, blocks that are compressed by themselves, and the shuffles of their bytes and bits.
//! Pure.
//!
//! The format is that of c-blosc 1.x (README_CHUNK_FORMAT.rst). Memory: the content, whose size the caller bounds, and
//! one block.

use std::io::Read;

use flate2::bufread::ZlibDecoder;
use tarflume_formats::frames;

use super::faults::{ChunkFault, zeros};
use super::numbers::shuffle::{unshuffle, unshuffle_bits};

/// Bytes of the header.
const HEADER: usize = 16;
/// Streams of a block at most, one for each byte of an element.
const MAX_SPLITS: usize = 16;
/// The smallest stream that a block is split into.
const MIN_STREAM: usize = 128;

/// The compressors of blocks, by their numbers in the flags.
const BLOSCLZ: u8 = 0;
const LZ4: u8 = 1;
const SNAPPY: u8 = 2;
const ZLIB: u8 = 3;
const ZSTD: u8 = 4;

/// The header of a frame.
#[derive(Debug, Clone, Copy)]
struct Header {
    flags: u8,
    typesize: usize,
    /// Bytes of the content.
    length: usize,
    block: usize,
}

fn u32_of(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*number) as usize)
}

impl Header {
    fn parse(frame: &[u8]) -> Result<Header, ChunkFault> {
        if frame.len() < HEADER {
            return Err(ChunkFault::at(frame.len(), "its Blosc frame ends in the header"));
        }
        let [length, block, packed] =
            [4, 8, 12].map(|at| u32_of(frame, at).expect("the header has 16 bytes"));
        let header = Header { flags: frame[2], typesize: frame[3].into(), length, block };
        if frame[0] > 2 {
            let why =
                format!("it is a frame of Blosc with the format {}, not 2 (Blosc 2?)", frame[0]);
            return Err(ChunkFault::at(0, why));
        }
        if packed > frame.len() || packed < HEADER {
            let why =
                format!("its Blosc frame declares {packed} bytes, and {} are there", frame.len());
            return Err(ChunkFault::at(12, why));
        }
        let is_whole = header.block > 0 && header.typesize > 0;
        if header.length > 0 && !is_whole {
            return Err(ChunkFault::at(3, "its Blosc frame has blocks or elements without bytes"));
        }
        Ok(header)
    }

    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the streams of a block of `bytes`. A shorter last block is not split.
    fn streams(self, bytes: usize) -> usize {
        let is_split = !self.has(0x10)
            && bytes == self.block
            && self.typesize <= MAX_SPLITS
            && bytes / self.typesize >= MIN_STREAM;
        if is_split { self.typesize } else { 1 }
    }
}

/// Returns the content of a frame, at most `most` bytes.
///
/// # Errors
/// Returns an error if the frame is damaged or its content longer, and for Blosc 2 and Snappy.
pub(super) fn decompress(frame: &[u8], most: usize) -> Result<Vec<u8>, ChunkFault> {
    let header = Header::parse(frame)?;
    let Header { length, block, .. } = header;
    if length > most {
        let why = format!("its Blosc frame declares {length} bytes of content, more than {most}");
        return Err(ChunkFault::at(4, why));
    }
    if header.has(2) {
        let Some(bytes) = frame.get(HEADER..HEADER + length) else {
            return Err(ChunkFault::at(frame.len(), "its Blosc frame ends before its content"));
        };
        return Ok(bytes.to_vec());
    }
    let mut content = zeros(length)?;
    if length == 0 {
        return Ok(content);
    }
    let mut room = zeros(block.min(length))?;
    let mut spare = Vec::new();
    for (number, into) in content.chunks_mut(block).enumerate() {
        let entry = HEADER + 4 * number;
        let start = u32_of(frame, entry).filter(|&start| start < frame.len());
        let Some(start) = start else {
            let why = format!("block {number} of its Blosc frame begins after the end");
            return Err(ChunkFault::at(entry.min(frame.len()), why));
        };
        let bytes = into.len();
        let is_shuffled = header.has(1) && header.typesize > 1;
        let has_bits = header.has(4) && bytes >= header.typesize;
        if !is_shuffled && !has_bits {
            streams(frame, start, header, into)?;
            continue;
        }
        let room = &mut room[..bytes];
        streams(frame, start, header, room)?;
        if has_bits {
            unshuffle_bits(room, header.typesize, into, &mut spare);
        } else {
            unshuffle(room, header.typesize, into);
        }
    }
    Ok(content)
}

/// Decompresses the streams of the block that begins at `start`.
fn streams(frame: &[u8], start: usize, header: Header, into: &mut [u8]) -> Result<(), ChunkFault> {
    let bytes = into.len();
    let count = header.streams(bytes);
    let each = bytes / count;
    let mut at = start;
    // A block whose bytes are no multiple of the streams is not split by any writer.
    for (number, into) in into.chunks_mut(each.max(1)).enumerate() {
        if number == count {
            return Err(ChunkFault::at(start, "a block of its Blosc frame is split unevenly"));
        }
        let length = u32_of(frame, at);
        let stream = length.and_then(|length| frame.get(at + 4..)?.get(..length));
        let Some(stream) = stream else {
            return Err(ChunkFault::at(at, "a block of its Blosc frame ends after the end"));
        };
        at += 4 + stream.len();
        if stream.len() == into.len() {
            into.copy_from_slice(stream);
            continue;
        }
        let found = unpacked(header.flags >> 5, stream, into)
            .map_err(|why| ChunkFault::at(at - stream.len(), why))?;
        if found != into.len() {
            let why = format!("a block of its Blosc frame has {found} bytes, not {}", into.len());
            return Err(ChunkFault::at(at - stream.len(), why));
        }
    }
    Ok(())
}

/// Decompresses one stream; returns its bytes, or a clause about the damage.
fn unpacked(format: u8, stream: &[u8], into: &mut [u8]) -> Result<usize, String> {
    match format {
        BLOSCLZ => unblosclz(stream, into).ok_or_else(|| "its BloscLZ data is damaged".to_string()),
        LZ4 => lz4_flex::block::decompress_into(stream, into)
            .map_err(|e| format!("its LZ4 data is damaged: {e}")),
        ZLIB => {
            let mut decoder = ZlibDecoder::new(stream);
            let read = decoder.read_exact(into);
            read.map_err(|e| format!("its zlib data is damaged: {e}"))?;
            Ok(into.len())
        }
        ZSTD => {
            let read = frames::decompress(stream, into);
            read.map_err(|e| e.text().to_string())?;
            Ok(into.len())
        }
        SNAPPY => Err("its Blosc frame is compressed by Snappy, which is not read".into()),
        other => Err(format!("its Blosc frame names the compressor {other}, which is none")),
    }
}

/// Decompresses BloscLZ; `None` if it is damaged.
fn unblosclz(stream: &[u8], into: &mut [u8]) -> Option<usize> {
    let mut rest = stream.iter().map(|&byte| usize::from(byte));
    let mut control = rest.next()? & 31;
    let mut out = 0;
    loop {
        if control < 32 {
            let literals = control + 1;
            for _ in 0..literals {
                *into.get_mut(out)? = rest.next()? as u8;
                out += 1;
            }
        } else {
            let mut count = (control >> 5) + 2;
            let high = (control & 31) << 8;
            if count == 9 {
                loop {
                    let more = rest.next()?;
                    count += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = rest.next()?;
            let mut back = high + low + 1;
            if low == 255 && high == 31 << 8 {
                back = (rest.next()? << 8) + rest.next()? + 8191 + 1;
            }
            let start = out.checked_sub(back)?;
            if count > into.len() - out {
                return None;
            }
            for at in start..start + count {
                into[out] = into[at];
                out += 1;
            }
        }
        match rest.next() {
            Some(next) => control = next,
            None => return Some(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(flags: u8, typesize: u8, length: u32, block: u32, rest: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 1, flags, typesize];
        frame.extend(length.to_le_bytes());
        frame.extend(block.to_le_bytes());
        frame.extend((HEADER as u32 + rest.len() as u32).to_le_bytes());
        frame.extend(rest);
        frame
    }

    #[test]
    fn blosclz_copies_literals_and_repeats() {
        let mut space = [0; 11];
        assert_eq!(unblosclz(&[2, b'a', b'b', b'c'], &mut space), Some(3));
        assert_eq!(&space[..3], b"abc");
        // Two literals, then 3 bytes from 2 back; then the last one again.
        assert_eq!(unblosclz(&[1, b'a', b'b', 1 << 5, 1, 0, b'x'], &mut space), Some(6));
        assert_eq!(&space[..6], b"ababax");
        assert_eq!(unblosclz(&[0, b'x', 7 << 5, 1, 0], &mut space), Some(11));
        assert_eq!(&space, b"xxxxxxxxxxx");
        assert_eq!(unblosclz(&[0, b'x', 7 << 5, 2, 0], &mut space), None, "longer than the space");
        assert_eq!(unblosclz(&[0, b'x', 1 << 5, 1], &mut space), None, "from before the start");
        assert_eq!(unblosclz(&[3, b'x'], &mut space), None, "ends inside literals");
        assert_eq!(unblosclz(&[], &mut space), None);
    }

    #[test]
    fn a_frame_declares_no_more_than_is_permitted() {
        let bomb = frame(0x20, 4, u32::MAX, 1 << 20, &[0; 64]);
        let fault = decompress(&bomb, 1 << 20).unwrap_err();
        let ChunkFault::Damaged { byte: Some(4), why } = fault else { panic!("{fault:?}") };
        assert!(why.contains("declares 4294967295 bytes of content"), "{why}");
        let plain = frame(2, 1, 3, 3, b"abc");
        assert_eq!(decompress(&plain, 3).unwrap(), b"abc");
        assert!(decompress(&plain, 2).is_err());
        assert!(decompress(&plain[..18], 3).is_err(), "shorter than declared");
        assert!(decompress(&frame(2, 1, 4, 4, b"abc"), 4).is_err());
        assert!(decompress(&frame(0, 0, 4, 4, b"abc"), 4).is_err());
        assert!(decompress(&frame(0, 1, 4, 0, b"abc"), 4).is_err());
    }

    proptest! {
        #[test]
        fn damaged_frames_are_errors(
            flags in any::<u8>(),
            typesize in 0u8..20,
            length in 0u32..5000,
            block in 0u32..3000,
            rest in prop::collection::vec(any::<u8>(), 0..400),
            starts in prop::collection::vec(0u32..400, 0..5),
        ) {
            let mut body: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
            body.extend(rest);
            let frame = frame(flags, typesize, length, block, &body);
            if let Ok(content) = decompress(&frame, 4000) {
                prop_assert_eq!(content.len(), length as usize);
                prop_assert!(content.len() <= 4000);
            }
        }
    }
}
