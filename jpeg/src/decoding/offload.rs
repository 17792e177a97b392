//! `Offload`: the part of a JPEG that a region needs, as numbers for kernels on a device.
//!
//! Arithmetic on header, scale, region and entry points; reads no code. The kernels are in another crate; both sides
//! agree on the words of a record. All that decides how samples are arranged is decided here, by the code of the decoder.

use std::ops::Range;

use crate::entropy::Tables;
use crate::error::Result;
use crate::header::{Component, Header};
use crate::picture::extent::{Region, Scale};
use crate::picture::job::Job;
use crate::picture::layout::{Layout, ScaledComponent, Upsampling};
use crate::picture::lines::Color;
use crate::positions::points::EntryPoints;
use crate::positions::position::{end_of, is_inside};

/// Components of a picture that has entry points, at most.
const PARTS: usize = 3;
/// Huffman tables of each class that a kernel holds.
const TABLES: usize = 2;
/// A sum of sizes begins at a multiple of this many samples.
const ALIGNED: u64 = 16;
/// Words of 32 bits that describe a picture.
const WORDS: usize = 430;
/// Words of 32 bits that describe a piece between two entry points.
const PIECE_WORDS: usize = 8;
/// Of a record: the first byte of what [`Offload::set_place`] changes, and the byte behind it.
const PLACE: Range<usize> = 8..32;

/// What a kernel decodes of a JPEG: a record of its description, its pieces between entry points, and their bytes.
///
/// ```
/// use tarflume_jpeg::{Header, Job, Offload, Region, Scanner};
/// # let jpeg = tarflume_fixtures::PHOTOS[0].jpeg;
/// let header = Header::parse(jpeg)?;
/// let mut points = Vec::new();
/// Scanner::new().scan(jpeg, &header, &mut points)?; // once, when it is packed
///
/// let region = Some(Region { left: 40, top: 30, width: 64, height: 48 });
/// let job = Job { region, entry_points: Some(&points), ..Job::new(jpeg, &header, &mut []) };
/// let work = Offload::of_job(&job)?;
/// # let work = work.or_else(|| panic!("a device can decode it"));
/// assert!(work.is_some_and(|work| work.range().len() < jpeg.len()));
/// # Ok::<(), tarflume_jpeg::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Offload {
    words: Vec<u32>,
    pieces: Vec<[u32; PIECE_WORDS]>,
    range: Range<usize>,
    blocks: u64,
    samples: u64,
    pixels: u64,
}

/// Where a device has room for a picture: the number of the first item in each of its arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OffloadPlace {
    /// Its first block of 64 coefficients.
    pub blocks: u64,
    /// Its first sample, a multiple of 16.
    pub samples: u64,
    /// Its first byte of output.
    pub pixels: u64,
}

impl Offload {
    /// A record begins at a multiple of this many bytes.
    pub const ALIGNED: usize = ALIGNED as usize;

    /// Returns what a kernel needs for a job, whose output and stride are not used; `None` if a kernel cannot do it: as
    /// [`Offload::of`], or the entry points are not of these bytes.
    ///
    /// # Errors
    /// As [`Offload::of`].
    pub fn of_job(job: &Job<'_>) -> Result<Option<Offload>> {
        let Some(points) = job.entry_points.and_then(|blob| EntryPoints::read(blob).ok()) else {
            return Ok(None);
        };
        let held = match job.excerpt {
            None => points.fit(job.bytes).then_some(0..job.bytes.len()),
            Some(excerpt) => excerpt.checked(&points, job.bytes).map(|held| held.rows),
        };
        let Some(held) = held else { return Ok(None) };
        let Job { bytes, header, scale, color, .. } = *job;
        let work = Offload::of(bytes, header, &points, job.area(), scale, color)?;
        // What an excerpt does not hold is unspecified.
        Ok(work.filter(|work| held.start <= work.range.start && work.range.end <= held.end))
    }

    /// Returns what a kernel needs to decode `region` at `scale`; `None` if a kernel cannot: there are no entry points
    /// for this kind, these ones lead to places where none can be, or it has more Huffman tables than a kernel holds.
    ///
    /// The entry points are not compared with the bytes. If they are not of these bytes, the kernel finds a fault, or
    /// what the CPU finds with them.
    ///
    /// # Errors
    /// Returns an error if the region is not within the picture, or tables are damaged.
    pub fn of(
        bytes: &[u8],
        header: &Header,
        points: &EntryPoints<'_>,
        region: Region,
        scale: Scale,
        color: Color,
    ) -> Result<Option<Offload>> {
        header.check_bytes(bytes)?;
        let layout = Layout::of(header, scale, Some(region))?;
        let (columns, rows) = layout.mcus;
        if header.without_entry_points().is_some()
            || !points.are_of(columns, rows, layout.count, header.data)
        {
            return Ok(None);
        }
        Tables::default().build(header, bytes)?;
        let Some((pieces, range)) = pieces(bytes, header, points, &layout) else { return Ok(None) };
        let Some(tables) = HuffmanTables::of(header, bytes) else { return Ok(None) };
        let mcus = u64::from(layout.columns.end - layout.columns.start)
            * u64::from(layout.rows.end - layout.rows.start);
        let mut words = Words(Vec::with_capacity(WORDS));
        // The bytes are behind the pieces, which are behind the words.
        words.put(halves(4 * (WORDS + PIECE_WORDS * pieces.len()) as u64));
        words.0.resize(PLACE.end / 4, 0);
        words.put([range.len() as u32, 4 * WORDS as u32, pieces.len() as u32, columns, rows]);
        for needed in [&layout.columns, &layout.rows] {
            words.put([needed.start, needed.end - needed.start]);
        }
        words.put([layout.blocks as u32, header.restart, layout.count as u32]);
        words.put([color.bytes() as u32, header.ycc.into()]);
        words.put([region.left, region.top, region.width, region.height]);
        let mut samples = 0;
        let absent = Component::default();
        for n in 0..PARTS {
            // A gray picture has one component; the others have no blocks.
            let component = header.components.iter().nth(n).copied().unwrap_or(absent);
            let part = &layout.parts[n];
            words.part(part, &component, &tables, samples, n);
            samples += mcus * u64::from(part.h * part.v * part.block * part.block);
        }
        words.divisors(header, bytes)?;
        words.codes(&tables);
        debug_assert_eq!(words.0.len(), WORDS);
        Ok(u32::try_from(samples).is_ok().then_some(Offload {
            words: words.0,
            pieces,
            range,
            blocks: mcus * layout.blocks as u64,
            samples: samples.next_multiple_of(ALIGNED),
            pixels: u64::from(region.width) * u64::from(region.height) * color.bytes() as u64,
        }))
    }

    /// Returns the bytes of the JPEG that a kernel reads.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns the number of blocks of 64 coefficients that a kernel writes.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the number of samples that a kernel writes, rounded up to a multiple of 16.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the bytes of the region.
    pub fn pixels(&self) -> u64 {
        self.pixels
    }

    /// Returns the length of the record in bytes.
    pub fn length(&self) -> usize {
        4 * (self.words.len() + self.pieces.as_flattened().len()) + self.range.len()
    }

    /// Writes the record of `jpeg` to the start of `to`. `jpeg` is the one that [`Offload::of`] got. Returns the record's
    /// length. Returns `None` and writes nothing if `to` is too short. [`Offload::set_place`] sets the record's place, which
    /// is 0 here.
    pub fn write(&self, jpeg: &[u8], to: &mut [u8]) -> Option<usize> {
        let bytes = jpeg.get(self.range.clone())?;
        let to = to.get_mut(..self.length())?;
        let (words, codes) = to.split_at_mut(to.len() - bytes.len());
        // The longest pieces come first, so that the threads of a warp end at about the same time.
        let all = self.words.iter().chain(self.pieces.as_flattened());
        for (to, word) in words.as_chunks_mut::<4>().0.iter_mut().zip(all) {
            *to = word.to_ne_bytes();
        }
        codes.copy_from_slice(bytes);
        Some(to.len())
    }

    /// Sets the place of a record: where the device writes its picture. Leaves bytes that are too short for a record as
    /// they are.
    pub fn set_place(record: &mut [u8], place: OffloadPlace) {
        let Some(to) = record.get_mut(PLACE) else { return };
        let numbers = [place.blocks, place.samples, place.pixels];
        for (to, number) in to.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
            *to = number.to_ne_bytes();
        }
    }
}

/// A number of 64 bits as a device reads it: low half first.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The pieces between the entry points of a region, and the bytes that hold them. `None` if a place is where none can be:
/// the blob is untrusted.
fn pieces(
    bytes: &[u8],
    header: &Header,
    points: &EntryPoints<'_>,
    layout: &Layout,
) -> Option<(Vec<[u32; PIECE_WORDS]>, Range<usize>)> {
    let step = points.step();
    let columns = layout.mcus.0;
    let first = layout.columns.start / step * step;
    let mut found = Vec::new();
    for row in layout.rows.clone() {
        for column in (first..layout.columns.end).step_by(step as usize) {
            let mcus = step.min(columns - column);
            let from = points.place(row, column);
            let to = points.place(row, column + mcus);
            let end = end_of(bytes, &to);
            let split = [from, to].iter().any(|place| is_inside(bytes, header.data, place.byte));
            if from.byte < header.data || from.byte > end || split {
                return None;
            }
            let number = u64::from(row) * u64::from(columns) + u64::from(column);
            found.push((from, to, end, u32::try_from(number).ok()?, mcus));
        }
    }
    let start = found.iter().map(|(from, ..)| from.byte).min()?;
    let end = found.iter().map(|(_, _, end, ..)| *end).max()?;
    u32::try_from(end - start).ok()?;
    found.sort_by_key(|(from, _, end, ..)| std::cmp::Reverse(end - from.byte));
    let pieces = found.into_iter().map(|(from, to, end, number, mcus)| {
        let left = (8 - to.bit) % 8;
        let [a, b, c] = from.predictors;
        let [d, e, f] = to.predictors;
        let words = [(from.byte - start) as u32, (end - start) as u32, number, mcus];
        let [x, y, z, w] = words;
        Some([x, y, z, w, from.bit | left << 3, pair(a, b)?, pair(c, d)?, pair(e, f)?])
    });
    Some((pieces.collect::<Option<Vec<_>>>()?, start..end))
}

/// Two numbers of 16 bits as a word. `None` if one has more: no block has such a DC.
fn pair(low: i32, high: i32) -> Option<u32> {
    let low = i16::try_from(low).ok()?.cast_unsigned();
    let high = i16::try_from(high).ok()?.cast_unsigned();
    Some(u32::from(low) | u32::from(high) << 16)
}

/// The Huffman tables that a picture uses, each once.
struct HuffmanTables<'a> {
    dc: Vec<(usize, &'a [u8; 16], &'a [u8])>,
    ac: Vec<(usize, &'a [u8; 16], &'a [u8])>,
}

impl<'a> HuffmanTables<'a> {
    /// `None` if there are more than a kernel holds.
    fn of(header: &'a Header, bytes: &'a [u8]) -> Option<HuffmanTables<'a>> {
        let mut tables = HuffmanTables { dc: Vec::new(), ac: Vec::new() };
        for component in header.components.iter() {
            let dc = header.tables.dc[component.dc].as_ref()?.read(bytes)?;
            if !tables.dc.iter().any(|(number, ..)| *number == component.dc) {
                tables.dc.push((component.dc, dc.0, dc.1));
            }
            let ac = header.tables.ac[component.ac].as_ref()?.read(bytes)?;
            if !tables.ac.iter().any(|(number, ..)| *number == component.ac) {
                tables.ac.push((component.ac, ac.0, ac.1));
            }
        }
        (tables.dc.len() <= TABLES && tables.ac.len() <= TABLES).then_some(tables)
    }

    /// Where a component's tables are among these.
    fn numbers(&self, component: &Component) -> [u32; 2] {
        let dc = self.dc.iter().position(|(number, ..)| *number == component.dc);
        let ac = self.ac.iter().position(|(number, ..)| *number == component.ac);
        [dc, ac].map(|number| number.unwrap_or(0) as u32)
    }
}

/// Words as a kernel reads them.
struct Words(Vec<u32>);

impl Words {
    fn put<const N: usize>(&mut self, words: [u32; N]) {
        self.0.extend(words);
    }

    fn part(
        &mut self,
        part: &ScaledComponent,
        component: &Component,
        tables: &HuffmanTables<'_>,
        samples: u64,
        number: usize,
    ) {
        let (across, down) = part.upsampling.factors();
        let fancy = !matches!(part.upsampling, Upsampling::None | Upsampling::Repeat(..));
        self.put([part.h, part.v, part.block, part.width, part.height, across, down]);
        let [dc, ac] = tables.numbers(component);
        self.put([fancy.into(), samples as u32, number as u32, dc, ac]);
    }

    /// The divisors of each component, in natural order.
    fn divisors(&mut self, header: &Header, bytes: &[u8]) -> Result<()> {
        let divisors = header.divisors(bytes)?;
        for divisors in divisors.iter().take(PARTS) {
            let divisors = divisors.unwrap_or([1; 64]);
            self.0.extend(
                divisors
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .map(|&[low, high]| u32::from(low) | u32::from(high) << 16),
            );
        }
        Ok(())
    }

    fn codes(&mut self, tables: &HuffmanTables<'_>) {
        for class in [&tables.dc, &tables.ac] {
            for number in 0..TABLES {
                let mut codes = [0; 16 + 256];
                if let Some((_, counts, symbols)) = class.get(number) {
                    codes[..16].copy_from_slice(*counts);
                    codes[16..][..symbols.len()].copy_from_slice(symbols);
                }
                self.0
                    .extend(codes.as_chunks::<4>().0.iter().map(|&four| u32::from_le_bytes(four)));
            }
        }
    }
}
