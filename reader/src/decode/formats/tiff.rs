//! TIFF: whether its tags and JPEGs are no longer than the file and no larger than the picture.
//!
//! The decoder makes room for as many values as a tag claims, for a row as wide as a tile claims, and for a
//! JPEG as large as that says of itself. What it would read in another way than this file does is refused: a tag
//! that stands twice, of which it takes the last, and one of a type that it passes over.

use super::bytes::{array, part};
use super::tiff_jpeg::Jpegs;

/// Most tags of a picture, and most values of a tag of a few.
const TAGS: u64 = 4096;
/// Most strips or tiles.
const CHUNKS: u64 = 1 << 17;
/// Most bytes of tables that JPEGs share.
const TABLES: u64 = 1 << 16;
/// Sides are counted up to this: the decoder knows none that is longer.
const SIDE: u64 = 1 << 32;
/// The decoder's buffers, whatever the picture.
const BUFFERS: u64 = 1 << 20;
/// Bytes that a value of a tag takes when it is read.
const VALUE: u64 = 64;

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const STRIP_OFFSETS: u16 = 273;
const SAMPLES: u16 = 277;
const ROWS_A_STRIP: u16 = 278;
const STRIP_BYTES: u16 = 279;
const TILE_WIDTH: u16 = 322;
const TILE_HEIGHT: u16 = 323;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTES: u16 = 325;
const JPEG_TABLES: u16 = 347;
/// Tags that the decoder reads, beside those with a bound of their own.
const READ: [u16; 14] = [
    WIDTH,
    HEIGHT,
    BITS,
    COMPRESSION,
    262,
    274,
    SAMPLES,
    ROWS_A_STRIP,
    284,
    317,
    TILE_WIDTH,
    TILE_HEIGHT,
    338,
    339,
];
/// The compression whose strips are JPEGs.
const JPEG: u64 = 7;

/// Bytes that the decoder takes beside the pixels; a refusal if tags or JPEGs ask for more than a file like
/// this can need.
///
/// # Errors
/// What asks for it.
pub(super) fn beside(bytes: &[u8]) -> Result<u64, String> {
    // What is not understood here is told by the decoder, before it makes room for anything.
    let Some(file) = File::open(bytes) else { return Ok(BUFFERS) };
    if file.tags.1 > TAGS {
        return Err(format!("the TIFF claims {} tags", file.tags.1));
    }
    let (mut beside, mut seen) = (BUFFERS, Vec::new());
    for entry in file.entries() {
        file.allow(&entry)?;
        beside = beside.saturating_add(entry.count.min(CHUNKS) * VALUE);
        seen.extend(most(entry.tag).map(|_| entry.tag));
    }
    seen.sort_unstable();
    if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("tag {} of the TIFF stands twice", twice[0]));
    }
    let chunk = file.chunk();
    let row = chunk.0.saturating_mul(file.pixel_bits()).div_ceil(8);
    beside = beside.saturating_add(row.saturating_mul(2));
    if file.first(COMPRESSION) == Some(JPEG) {
        beside = beside.saturating_add(file.jpegs(chunk)?);
    }
    Ok(beside)
}

/// The first picture of a file.
struct File<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    /// Offsets of 64 bits.
    big: bool,
    /// Where its tags begin, and how many there are.
    tags: (usize, u64),
}

/// A tag: how many values of a type, and where they lie.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    /// Where the values lie, or their place.
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

    /// A number of `length` bytes.
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

    /// Bytes of an offset, and of a count.
    fn word(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        let (first, count) = self.tags;
        let each = 4 + 2 * self.word();
        (0..count.min(TAGS) as usize).map_while(move |n| {
            let at = first.checked_add(n * each)?;
            Some(Entry {
                tag: self.number(at, 2)? as u16,
                kind: self.number(at + 2, 2)? as u16,
                count: self.number(at + 4, self.word())?,
                field: at + 4 + self.word(),
            })
        })
    }

    /// Refuses a tag with more values than the file has or a picture needs, and a type that the decoder passes
    /// over or nothing that is read here has.
    fn allow(&self, entry: &Entry) -> Result<(), String> {
        let Entry { tag, kind, count, .. } = *entry;
        let known = matches!(kind, 1..=13 | 16..=18);
        let Some(most) = most(tag) else {
            // The decoder passes over too few bytes of a BigTIFF, and takes others for the next tag.
            return match known || !self.big {
                true => Ok(()),
                false => Err(format!("tag {tag} of the TIFF is of type {kind}, which none is")),
            };
        };
        let fits = match tag {
            JPEG_TABLES => matches!(kind, 1 | 7),
            _ => matches!(kind, 1 | 3 | 4 | 16),
        };
        if !fits {
            return Err(format!("tag {tag} of the TIFF is of type {kind}, which it can't be"));
        }
        let there = count.saturating_mul(width_of(kind) as u64) <= self.bytes.len() as u64;
        if count > most || !there {
            return Err(format!("tag {tag} of the TIFF claims {count} values"));
        }
        Ok(())
    }

    fn entry(&self, tag: u16) -> Option<Entry> {
        self.entries().find(|entry| entry.tag == tag)
    }

    /// Where the values of an entry begin.
    fn value_at(&self, entry: &Entry) -> Option<usize> {
        let bytes = entry.count.checked_mul(width_of(entry.kind) as u64)?;
        if bytes <= self.word() as u64 {
            return Some(entry.field);
        }
        usize::try_from(self.number(entry.field, self.word())?).ok()
    }

    /// The `n`th value of an entry.
    fn value(&self, entry: &Entry, n: u64) -> Option<u64> {
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

    /// Width and height of a strip or tile.
    fn chunk(&self) -> (u64, u64) {
        let height = self.first(HEIGHT).unwrap_or(0);
        match (self.first(TILE_WIDTH), self.first(TILE_HEIGHT)) {
            (Some(across), Some(down)) => (across.min(SIDE), down.min(SIDE)),
            _ => (
                self.first(WIDTH).unwrap_or(0).min(SIDE),
                self.first(ROWS_A_STRIP).unwrap_or(height).min(height).min(SIDE),
            ),
        }
    }

    /// Bytes that the largest JPEG takes to be decoded.
    ///
    /// # Errors
    /// One is larger than its strip or tile, or damaged; all are longer than a file like this can need.
    fn jpegs(&self, chunk: (u64, u64)) -> Result<u64, String> {
        let tags = [(STRIP_OFFSETS, STRIP_BYTES), (TILE_OFFSETS, TILE_BYTES)];
        let found = tags.map(|(at, length)| self.entry(at).zip(self.entry(length)));
        let Some((places, lengths)) = found.into_iter().flatten().next() else { return Ok(0) };
        let tables = self.entry(JPEG_TABLES).map(|tables| {
            let place = self.value_at(&tables).unwrap_or(usize::MAX);
            part(self.bytes, place, tables.count as usize).unwrap_or_default()
        });
        let mut jpegs = Jpegs::new(self.bytes, tables, chunk)?;
        for n in 0..places.count {
            let place = self.value(&places, n).and_then(|at| usize::try_from(at).ok());
            let length = self.value(&lengths, n).unwrap_or(0);
            jpegs.take(place.unwrap_or(usize::MAX), length)?;
        }
        Ok(jpegs.memory())
    }
}

/// The most values of a tag that the decoder reads.
fn most(tag: u16) -> Option<u64> {
    match tag {
        STRIP_OFFSETS | STRIP_BYTES | TILE_OFFSETS | TILE_BYTES => Some(CHUNKS),
        JPEG_TABLES => Some(TABLES),
        tag => READ.contains(&tag).then_some(TAGS),
    }
}

/// Bytes of a value.
fn width_of(kind: u16) -> usize {
    match kind {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => 4,
    }
}
