//! TIFF: checks that the tags and JPEGs of a picture are no longer than the file and no larger than the picture.
//!
//! The decoder allocates as many values as a tag declares, a row as wide as a tile declares, and a JPEG of any declared
//! size. Everything that it would read differently from this module is rejected: a repeated tag, of which the
//! decoder uses the last, and a tag of a type that it skips.

#[cfg(feature = "tiff")]
pub mod bands;
#[cfg(feature = "tiff")]
pub(super) mod colorless;
#[cfg(feature = "tiff")]
pub(super) mod jpegs;
#[cfg(feature = "tiff")]
pub(super) mod padding;
#[cfg(feature = "tiff")]
pub(super) mod samples;

use self::jpegs::{ChunkSize, TiffJpegs};
use super::input::bytes::{array, part};

/// Maximum tags of a picture, and maximum values of a tag that has few.
const TAGS: u64 = 4096;
/// Maximum strips or tiles.
const CHUNKS: u64 = 1 << 17;
/// Maximum bytes of the tables that JPEGs share.
const TABLES: u64 = 1 << 16;
/// Limit of a side in pixels, which exceeds what the decoder accepts.
const SIDE: u64 = 1 << 32;
/// Bytes of the decoder's buffers for any picture.
const BUFFERS: u64 = 1 << 20;
/// Bytes that a value of a tag needs while it is read.
const VALUE: u64 = 64;

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const STRIP_OFFSETS: u16 = 273;
const SAMPLES: u16 = 277;
const ROWS_A_STRIP: u16 = 278;
const STRIP_BYTES: u16 = 279;
const PLANES: u16 = 284;
const TILE_WIDTH: u16 = 322;
const TILE_HEIGHT: u16 = 323;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTES: u16 = 325;
const JPEG_TABLES: u16 = 347;
const XMP: u16 = 700;
/// Tags that the decoder reads, in addition to those with a separate limit.
const READ: [u16; 14] = [
    WIDTH,
    HEIGHT,
    BITS,
    COMPRESSION,
    PHOTOMETRIC,
    274,
    SAMPLES,
    ROWS_A_STRIP,
    PLANES,
    317,
    TILE_WIDTH,
    TILE_HEIGHT,
    338,
    339,
];
/// Compressions: none, LZW, and that whose strips or tiles are JPEGs.
const NONE: u64 = 1;
const LZW: u64 = 5;
const JPEG: u64 = 7;

/// Bytes that the decoder allocates in addition to the pixels.
///
/// # Errors
/// Returns a message if a tag or a JPEG declares more than a file of this length can need.
pub(super) fn beside(bytes: &[u8]) -> Result<u64, String> {
    // A file that is not understood here is rejected by the decoder before it allocates anything.
    let Some(file) = File::open(bytes) else { return Ok(BUFFERS) };
    if file.tags.1 > TAGS {
        return Err(format!("the TIFF declares {} tags", file.tags.1));
    }
    let mut beside = BUFFERS;
    let mut seen = Vec::new();
    for entry in file.entries() {
        file.allow(&entry)?;
        beside = beside.saturating_add(entry.count.min(CHUNKS) * VALUE);
        seen.extend(most(entry.tag).map(|_| entry.tag));
    }
    seen.sort_unstable();
    if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("tag {} of the TIFF is repeated", twice[0]));
    }
    let chunk = file.chunk();
    let row = chunk.width.saturating_mul(file.pixel_bits()).div_ceil(8);
    beside = beside.saturating_add(row.saturating_mul(2));
    file.check_places()?;
    if file.first(COMPRESSION) == Some(JPEG) {
        beside = beside.saturating_add(file.jpegs(chunk)?);
    }
    Ok(beside)
}

/// The XMP packet of the first picture.
pub(super) fn xmp(bytes: &[u8]) -> Option<&[u8]> {
    let file = File::open(bytes)?;
    let entry = file.entry(XMP)?;
    let length = entry.count.checked_mul(width_of(entry.kind) as u64)?;
    part(bytes, file.value_at(&entry)?, usize::try_from(length).ok()?)
}

/// How the first picture stores gray.
pub(super) struct StoredGray {
    /// Whether 0 is white. The decoder inverts such pictures.
    pub(super) white_is_zero: bool,
    /// Bits of a pixel.
    pub(super) bits: u64,
}

/// How the first picture stores gray, if it is gray.
pub(super) fn stored_gray(bytes: &[u8]) -> Option<StoredGray> {
    let file = File::open(bytes)?;
    let photometric = file.first(PHOTOMETRIC)?;
    (photometric <= 1).then_some(())?;
    Some(StoredGray { white_is_zero: photometric == 0, bits: file.pixel_bits() })
}

/// The first picture of a file.
struct File<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    /// True for BigTIFF: offsets have 64 bits.
    big: bool,
    /// Offset of the first tag, and the number of tags.
    tags: (usize, u64),
}

/// A tag: the type and number of its values, and their location.
struct TagEntry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Offset of the values, or of the pointer to them.
    field: usize,
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Option<File<'a>> {
        let big_endian = part(bytes, 0, 2)? == b"MM";
        let mut file = File { bytes, big_endian, big: false, tags: (0, 0) };
        file.big = file.number(2, 2)? == 43;
        let (at, length) = if file.big { (file.number(8, 8)?, 8) } else { (file.number(4, 4)?, 2) };
        let at = usize::try_from(at).ok()?;
        file.tags = (at.checked_add(length)?, file.number(at, length)?);
        Some(file)
    }

    /// A number of `length` bytes at `at`.
    fn number(&self, at: usize, length: usize) -> Option<u64> {
        Some(match (length, self.big_endian) {
            (1, _) => (*self.bytes.get(at)?).into(),
            (2, true) => u16::from_be_bytes(array(self.bytes, at)?).into(),
            (2, false) => u16::from_le_bytes(array(self.bytes, at)?).into(),
            (4, true) => u32::from_be_bytes(array(self.bytes, at)?).into(),
            (4, false) => u32::from_le_bytes(array(self.bytes, at)?).into(),
            (8, true) => u64::from_be_bytes(array(self.bytes, at)?),
            (8, false) => u64::from_le_bytes(array(self.bytes, at)?),
            _ => return None,
        })
    }

    /// Bytes of an offset and of a count.
    fn word(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn entries(&self) -> impl Iterator<Item = TagEntry> {
        let (first, count) = self.tags;
        let each = 4 + 2 * self.word();
        (0..count.min(TAGS) as usize).map_while(move |n| {
            let at = first.checked_add(n * each)?;
            Some(TagEntry {
                tag: self.number(at, 2)? as u16,
                kind: self.number(at + 2, 2)? as u16,
                count: self.number(at + 4, self.word())?,
                field: at + 4 + self.word(),
            })
        })
    }

    /// Rejects a tag with more values than the file has or a picture needs, and a type that the decoder skips or that
    /// the tag cannot have.
    fn allow(&self, entry: &TagEntry) -> Result<(), String> {
        let TagEntry { tag, kind, count, .. } = *entry;
        let known = matches!(kind, 1..=13 | 16..=18);
        let Some(most) = most(tag) else {
            // For an unknown type in a BigTIFF, the decoder skips too few bytes and misreads the next tag.
            return if known || !self.big {
                Ok(())
            } else {
                Err(format!("tag {tag} of the TIFF has the unknown type {kind}"))
            };
        };
        let fits = match tag {
            JPEG_TABLES => matches!(kind, 1 | 7),
            _ => matches!(kind, 1 | 3 | 4 | 16),
        };
        if !fits {
            return Err(format!("tag {tag} of the TIFF has type {kind}, which is invalid for it"));
        }
        let fits_file = count.saturating_mul(width_of(kind) as u64) <= self.bytes.len() as u64;
        if count > most || !fits_file {
            return Err(format!("tag {tag} of the TIFF declares {count} values"));
        }
        Ok(())
    }

    fn entry(&self, tag: u16) -> Option<TagEntry> {
        self.entries().find(|entry| entry.tag == tag)
    }

    /// Offset of the values of an entry. Values that fit the field are in it.
    fn value_at(&self, entry: &TagEntry) -> Option<usize> {
        let bytes = entry.count.checked_mul(width_of(entry.kind) as u64)?;
        if bytes <= self.word() as u64 {
            return Some(entry.field);
        }
        usize::try_from(self.number(entry.field, self.word())?).ok()
    }

    /// The `n`th value of an entry.
    fn value(&self, entry: &TagEntry, n: u64) -> Option<u64> {
        let each = width_of(entry.kind);
        let offset = each.checked_mul(usize::try_from(n).ok()?)?;
        let at = self.value_at(entry)?.checked_add(offset)?;
        (n < entry.count).then(|| self.number(at, each))?
    }

    fn first(&self, tag: u16) -> Option<u64> {
        self.value(&self.entry(tag)?, 0)
    }

    fn pixel_bits(&self) -> u64 {
        let samples = self.first(SAMPLES).unwrap_or(1);
        samples.saturating_mul(self.first(BITS).unwrap_or(1))
    }

    /// The size of a strip or tile, at most `SIDE` a side.
    fn chunk(&self) -> ChunkSize {
        let height = self.first(HEIGHT).unwrap_or(0);
        match (self.first(TILE_WIDTH), self.first(TILE_HEIGHT)) {
            (Some(width), Some(height)) => {
                ChunkSize { width: width.min(SIDE), height: height.min(SIDE) }
            }
            _ => ChunkSize {
                width: self.first(WIDTH).unwrap_or(0).min(SIDE),
                height: self.first(ROWS_A_STRIP).unwrap_or(height).min(height).min(SIDE),
            },
        }
    }

    /// Bytes that decoding the largest JPEG needs.
    ///
    /// # Errors
    /// Returns a message if a JPEG is larger than its strip or tile or is damaged, or if all JPEGs together are
    /// longer than a file of this length can need.
    fn jpegs(&self, chunk: ChunkSize) -> Result<u64, String> {
        let Some((places, lengths)) = self.places() else { return Ok(0) };
        let tables = self.entry(JPEG_TABLES).map(|tables| {
            let place = self.value_at(&tables).unwrap_or(usize::MAX);
            part(self.bytes, place, tables.count as usize).unwrap_or_default()
        });
        let mut jpegs = TiffJpegs::new(self.bytes, tables, chunk)?;
        for n in 0..places.count {
            let place = self.value(&places, n).and_then(|at| usize::try_from(at).ok());
            let length = self.value(&lengths, n).unwrap_or(0);
            jpegs.take(place.unwrap_or(usize::MAX), length)?;
        }
        Ok(jpegs.memory())
    }
}

/// The maximum number of values of a tag; `None` if the decoder does not read the tag.
fn most(tag: u16) -> Option<u64> {
    match tag {
        STRIP_OFFSETS | STRIP_BYTES | TILE_OFFSETS | TILE_BYTES => Some(CHUNKS),
        JPEG_TABLES => Some(TABLES),
        tag => READ.contains(&tag).then_some(TAGS),
    }
}

/// Bytes of a value of type `kind`.
fn width_of(kind: u16) -> usize {
    match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 4,
    }
}
