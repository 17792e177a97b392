//! `Rewriter`: writes a JPEG again with the same coefficients, so that its pixels stay the same:
//! with optimal Huffman tables, in one baseline scan, or without its metadata.
//!
//! Computes no pixel.

mod bits;
mod codes;
mod segments;

pub use self::segments::{Metadata, color_profile, exif_of};

use self::bits::BitWriter;
use self::codes::{Codes, Frequencies};
use self::segments::{Piece, is_metadata, pieces, put, put_kept, put_orientation};
use crate::error::{Error, ErrorKind, Result};
use crate::header::markers::{DHT, DQT, EOI, SOI, SOS};
use crate::header::{Header, MCU_BLOCKS, NATURAL};
use crate::picture::planes::Divisors;
use crate::several_scans::coefficients::Grid;
use crate::several_scans::scans::{Needed, Scans};

/// Limit on the bytes of a buffer that is kept.
const KEPT: usize = 8 << 20;
/// Limits on the bits of a value in a baseline scan (T.81, F.1.2.1 and F.1.2.2).
const MOST_DC: u32 = 11;
const MOST_AC: u32 = 10;

/// Writes JPEGs again without a change of their pixels. It reuses its memory from picture to
/// picture, so each thread should keep one.
///
/// Bytes after the end of the image, and the segment with their places (MPF), are left out.
///
/// ```
/// use tarflume_jpeg::{Header, Metadata, Rewriter};
/// # let jpeg = tarflume_fixtures::PHOTOS[0].jpeg;
/// let header = Header::parse(jpeg)?;
/// let smaller = Rewriter::new().baseline(jpeg, &header, Metadata::Strip)?;
/// assert!(smaller.len() < jpeg.len());
/// # Ok::<(), tarflume_jpeg::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Rewriter {
    scans: Scans,
}

impl Rewriter {
    /// Creates a rewriter.
    pub fn new() -> Rewriter {
        Rewriter::default()
    }

    /// Returns a JPEG with the same coefficients in one baseline scan without restart markers, with
    /// Huffman tables that are optimal for them. Takes [`Rewriter::memory`] bytes.
    ///
    /// # Errors
    /// - [`ErrorKind::Damaged`]: the JPEG is damaged; byte and row of MCUs are named;
    /// - [`ErrorKind::Unsupported`]: this kind is not decoded, or no baseline scan can hold its
    ///   coefficients;
    /// - [`ErrorKind::Limit`]: memory is exhausted.
    pub fn baseline(
        &mut self,
        bytes: &[u8],
        header: &Header,
        metadata: Metadata,
    ) -> Result<Vec<u8>> {
        header.check_bytes(bytes)?;
        header.check_supported()?;
        if header.components.count() > 1 && header.components.blocks() > MCU_BLOCKS {
            return Err(unsupported("it has more than ten blocks to an MCU"));
        }
        let mut out = Vec::with_capacity(bytes.len());
        out.extend([0xff, SOI]);
        put_metadata(&mut out, bytes, header, metadata)?;
        let rows = 0..header.mcus().1;
        let columns = 0..header.mcus().0;
        let grid = Grid::kept(header, &rows, &columns);
        let read = self.scans.read(bytes, header, grid, [Needed::All; 4]);
        let written = read.and_then(|divisors| self.write(header, &divisors, &mut out));
        self.scans.coefficients.wipe();
        self.scans.drop_large(KEPT); // buffers for one huge picture are not kept
        written.map(|()| out)
    }

    /// Returns the bytes of memory that [`Rewriter::baseline`] takes for a picture, in addition to
    /// three times the bytes of the JPEG.
    pub fn memory(header: &Header) -> u64 {
        let rows = 0..header.mcus().1;
        let columns = 0..header.mcus().0;
        Grid::kept(header, &rows, &columns).bytes()
    }

    fn write(&self, header: &Header, divisors: &Divisors, out: &mut Vec<u8>) -> Result<()> {
        let mut counted = Counted::default();
        self.each_symbol(header, |table, symbol, _, _| counted.0[table][usize::from(symbol)] += 1)?;
        let tables: Vec<Codes> = counted.0.iter().map(Codes::of).collect();
        put_frame(out, header, divisors)?;
        let mut all = Vec::new();
        for (table, codes) in (0u8..).zip(&tables).filter(|(_, codes)| !codes.symbols.is_empty()) {
            all.push((table / 2) | ((table % 2) << 4)); // its number, and whether it is for AC
            all.extend_from_slice(&codes.counts);
            all.extend_from_slice(&codes.symbols);
        }
        put(out, DHT, &all);
        put_scan(out, header);
        let mut writer = BitWriter::new(out);
        self.each_symbol(header, |table, symbol, bits, count| {
            let (code, size) = tables[table].code(symbol);
            writer.put(code << count | bits, size + count); // 16 and 11 at most
        })?;
        writer.finish();
        out.extend([0xff, EOI]);
        Ok(())
    }

    /// Calls `each` with the symbols of all blocks: number of the table, symbol, the bits after it
    /// and their count. Table 0 is for DC and 1 for AC; 2 and 3 are those of chroma.
    fn each_symbol(
        &self,
        header: &Header,
        mut each: impl FnMut(usize, u8, u32, u32),
    ) -> Result<()> {
        let coefficients = &self.scans.coefficients;
        let parts: Vec<_> =
            (0..header.components.count()).map(|c| coefficients.grid().part(c)).collect();
        let mut predictors = [0; 4];
        for row in 0..header.mcus().1 {
            let (blocks, masks) = coefficients.whole_row(row);
            let mut blocks = blocks.iter().zip(masks);
            for column in 0..header.mcus().0 {
                for (c, part) in parts.iter().enumerate() {
                    let table = 2 * table_of(header, c);
                    for (n, (block, &mask)) in (0..part.h * part.v).zip(blocks.by_ref()) {
                        let x = column * part.h + n % part.h;
                        let y = row * part.v + n / part.h;
                        if x >= part.across || y >= part.down {
                            // Beyond the edge: no pixel depends on it. The shortest codes.
                            each(table, 0, 0, 0);
                            each(table + 1, 0, 0, 0);
                            continue;
                        }
                        let dc = i32::from(block[0]);
                        let (bits, count) = value(dc - predictors[c], MOST_DC)?;
                        each(table, count as u8, bits, count);
                        predictors[c] = dc;
                        ac(block, mask, &mut |symbol, bits, count| {
                            each(table + 1, symbol, bits, count);
                        })?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The frequencies of the symbols of four tables.
struct Counted([Frequencies; 4]);

impl Default for Counted {
    fn default() -> Counted {
        Counted([[0; 256]; 4])
    }
}

/// Returns a JPEG without its metadata; its entropy-coded data stay as they are, whatever their
/// kind. Bytes after the end of the image are left out.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] if the JPEG is truncated or has an invalid marker.
pub fn strip_metadata(bytes: &[u8], header: &Header) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    out.extend([0xff, SOI]);
    put_metadata(&mut out, bytes, header, Metadata::Strip)?;
    pieces(bytes, |piece| match piece {
        Piece::Segment(marker, _) if is_metadata(marker) => {}
        Piece::Segment(marker, content) => put(&mut out, marker, content),
        Piece::Scan(data) => out.extend_from_slice(data),
    })?;
    out.extend([0xff, EOI]);
    Ok(out)
}

fn put_metadata(
    out: &mut Vec<u8>,
    bytes: &[u8],
    header: &Header,
    metadata: Metadata,
) -> Result<()> {
    pieces(bytes, |piece| {
        if let Piece::Segment(marker, content) = piece
            && is_metadata(marker)
        {
            put_kept(out, marker, content, metadata);
        }
    })?;
    if metadata == Metadata::Strip {
        put_orientation(out, header);
    }
    Ok(())
}

fn unsupported(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{why}: it cannot become a baseline JPEG"))
}

/// Returns the number of a component's pair of tables.
fn table_of(header: &Header, component: usize) -> usize {
    usize::from(header.ycc && matches!(component, 1 | 2))
}

/// Returns the bits of a value and their count (T.81, F.1.2.1).
#[inline]
fn value(value: i32, most: u32) -> Result<(u32, u32)> {
    let count = 32 - value.unsigned_abs().leading_zeros();
    if count > most {
        return Err(unsupported("a coefficient is too large"));
    }
    let bits = if value < 0 { value - 1 } else { value };
    Ok((bits as u32 & ((1 << count) - 1), count))
}

/// Calls `each` with the symbols of a block's AC coefficients; `mask` has a bit for each that is not
/// 0, by zigzag number.
#[inline]
fn ac(block: &[i16; 64], mask: u64, each: &mut impl FnMut(u8, u32, u32)) -> Result<()> {
    let mut mask = mask & !1;
    let mut previous = 0;
    while mask != 0 {
        let k = mask.trailing_zeros();
        mask &= mask - 1;
        let coefficient = block[usize::from(NATURAL[k as usize])];
        let (bits, count) = value(coefficient.into(), MOST_AC)?;
        if count == 0 {
            continue; // a damaged scan has shifted all its bits out
        }
        let mut zeros = k - previous - 1;
        while zeros > 15 {
            each(0xf0, 0, 0);
            zeros -= 16;
        }
        each((zeros << 4 | count) as u8, bits, count);
        previous = k;
    }
    if previous < 63 {
        each(0, 0, 0);
    }
    Ok(())
}

/// Writes the quantization tables and the frame header.
fn put_frame(out: &mut Vec<u8>, header: &Header, divisors: &Divisors) -> Result<()> {
    let mut tables: Vec<[u16; 64]> = Vec::new();
    let mut numbers = Vec::new();
    for (c, _) in header.components.iter().enumerate() {
        let divisors = divisors[c].ok_or_else(|| unsupported("a component has no scan"))?;
        let known = tables.iter().position(|table| *table == divisors);
        numbers.push(known.unwrap_or_else(|| {
            tables.push(divisors);
            tables.len() - 1
        }));
    }
    let mut is_wide = false;
    let mut content = Vec::new();
    for (number, table) in (0u8..).zip(&tables) {
        let divisors = NATURAL.iter().map(|&place| table[usize::from(place)]);
        let wide = table.iter().any(|&divisor| divisor > 255);
        is_wide |= wide;
        content.push(number | u8::from(wide) << 4);
        if wide {
            content.extend(divisors.flat_map(u16::to_be_bytes))
        } else {
            content.extend(divisors.map(|divisor| divisor as u8))
        }
    }
    put(out, DQT, &content);
    let [width, height] = [header.width, header.height].map(|side| (side as u16).to_be_bytes());
    let count = header.components.count() as u8;
    let mut frame = vec![8, height[0], height[1], width[0], width[1], count];
    for (component, &number) in header.components.iter().zip(&numbers) {
        frame.extend([component.id, (component.h << 4 | component.v) as u8, number as u8]);
    }
    // Baseline has divisors of one byte only; of extended sequential coding nothing else is used.
    put(out, if is_wide { 0xc1 } else { 0xc0 }, &frame);
    Ok(())
}

fn put_scan(out: &mut Vec<u8>, header: &Header) {
    let mut scan = vec![header.components.count() as u8];
    for (c, component) in header.components.iter().enumerate() {
        let table = table_of(header, c) as u8;
        scan.extend([component.id, table << 4 | table]);
    }
    scan.extend([0, 63, 0]);
    put(out, SOS, &scan);
}
