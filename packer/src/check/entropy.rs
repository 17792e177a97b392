//! The entropy-coded data of a JPEG, code by code: is every block there, and nothing else?
//!
//! Decoders paint over what is missing, and most damage to Huffman codes gives other codes that are
//! valid. What gives damage away is that blocks and data do not end together. Baseline and extended
//! sequential Huffman JPEGs are walked (ITU-T T.81, annexes C and F); no pixel is made. Progressive
//! and arithmetic ones are left to the decoder.

use super::fault::Fault;
use super::jpeg::{Walk, fault};

/// Whole bytes that may be left before a marker: some cameras fill up to a word.
const SPARE: usize = 8;

/// Walks every scan of a JPEG whose structure is whole.
///
/// # Errors
/// A code that is none, data that end before the last block, data left behind it.
pub(super) fn check(bytes: &[u8]) -> Result<(), Fault> {
    let mut walk = Walk::start(bytes)?;
    let mut jpeg = Jpeg::default();
    loop {
        let (marker, at) = walk.marker()?;
        if marker == 0xd9 {
            return Ok(());
        }
        let segment = walk.segment(at)?;
        let known = match marker {
            0xc0 | 0xc1 => jpeg.frame(segment),
            // Progressive, lossless, hierarchical, arithmetic.
            0xc2..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => return Ok(()),
            0xc4 => jpeg.tables(segment),
            0xdd => jpeg.restart_interval(segment),
            0xda => {
                let start = walk.at();
                walk.skip_scan()?;
                let data = Data { bytes: &bytes[start..walk.at()], start };
                match jpeg.scan(segment) {
                    Some(scan) => scan.walk(data)?,
                    None => {
                        return Err(fault(
                            at,
                            "a scan names components or tables that are not there",
                        ));
                    }
                }
                Some(())
            }
            _ => Some(()),
        };
        if known.is_none() {
            return Err(fault(at, &format!("the segment of marker ff{marker:02x} makes no sense")));
        }
    }
}

#[derive(Clone, Copy)]
struct Component {
    id: u8,
    across: usize,
    down: usize,
}

/// What segments before a scan have said.
#[derive(Default)]
struct Jpeg {
    width: usize,
    height: usize,
    components: Vec<Component>,
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
    interval: usize,
}

impl Jpeg {
    fn frame(&mut self, segment: &[u8]) -> Option<()> {
        let number = |at: usize| {
            Some(usize::from(u16::from_be_bytes([*segment.get(at)?, *segment.get(at + 1)?])))
        };
        (self.height, self.width) = (number(1)?, number(3)?);
        let listed = segment.get(6..)?.chunks_exact(3).take(usize::from(*segment.get(5)?));
        self.components = listed
            .map(|c| Component {
                id: c[0],
                across: usize::from(c[1] >> 4),
                down: usize::from(c[1] & 15),
            })
            .collect();
        let right = |c: &Component| (1..=4).contains(&c.across) && (1..=4).contains(&c.down);
        (self.components.iter().all(right) && self.height > 0).then_some(())
    }

    fn tables(&mut self, mut segment: &[u8]) -> Option<()> {
        while let [head, rest @ ..] = segment {
            let counts = rest.first_chunk::<16>()?;
            let symbols: usize = counts.iter().map(|&n| usize::from(n)).sum();
            let table = Table::new(counts, rest.get(16..16 + symbols)?)?;
            let tables = if head >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            *tables.get_mut(usize::from(head & 15))? = Some(table);
            segment = &rest[16 + symbols..];
        }
        Some(())
    }

    fn restart_interval(&mut self, segment: &[u8]) -> Option<()> {
        self.interval = usize::from(u16::from_be_bytes(*segment.first_chunk::<2>()?));
        Some(())
    }

    fn scan(&self, segment: &[u8]) -> Option<Scan<'_>> {
        let count = usize::from(*segment.first()?);
        let mut blocks = Vec::new();
        let mut only = None;
        for named in segment.get(1..1 + 2 * count)?.chunks_exact(2) {
            let component = *self.components.iter().find(|c| c.id == named[0])?;
            let dc = self.dc.get(usize::from(named[1] >> 4))?.as_ref()?;
            let ac = self.ac.get(usize::from(named[1] & 15))?.as_ref()?;
            // A scan of one component has single blocks, whatever its sampling.
            let repeat = if count == 1 { 1 } else { component.across * component.down };
            blocks.extend(std::iter::repeat_n((dc, ac), repeat));
            only = Some(component);
        }
        let most = |of: fn(&Component) -> usize| self.components.iter().map(of).max();
        let (across, down) = (most(|c| c.across)?, most(|c| c.down)?);
        let (columns, rows) = match only.filter(|_| count == 1) {
            Some(one) => (
                (self.width * one.across).div_ceil(across).div_ceil(8),
                (self.height * one.down).div_ceil(down).div_ceil(8),
            ),
            None => (self.width.div_ceil(8 * across), self.height.div_ceil(8 * down)),
        };
        Some(Scan { blocks, columns, rows, interval: self.interval })
    }
}

/// One scan: the tables of each block of an MCU, and how many MCUs there are.
struct Scan<'a> {
    blocks: Vec<(&'a Table, &'a Table)>,
    columns: usize,
    rows: usize,
    interval: usize,
}

/// A scan's data, and where they stand in the file.
#[derive(Clone, Copy)]
struct Data<'a> {
    bytes: &'a [u8],
    start: usize,
}

impl Scan<'_> {
    fn walk(&self, data: Data<'_>) -> Result<(), Fault> {
        let mut bits = Bits { bytes: data.bytes, at: 0, held: 0, count: 0, made_up: 0 };
        let mcus = self.columns * self.rows;
        for mcu in 0..mcus {
            if self.interval > 0 && mcu > 0 && mcu % self.interval == 0 {
                let number = (mcu / self.interval - 1) % 8;
                bits.restart(number as u8).map_err(|what| self.fault(&bits, data, mcu, what))?;
            }
            for (dc, ac) in &self.blocks {
                block(&mut bits, dc, ac).map_err(|what| self.fault(&bits, data, mcu, what))?;
            }
        }
        if bits.bytes_left() > SPARE {
            let what = "data are left after the last block";
            return Err(self.fault(&bits, data, mcus, what));
        }
        Ok(())
    }

    fn fault(&self, bits: &Bits<'_>, data: Data<'_>, mcu: usize, what: &str) -> Fault {
        let row = mcu / self.columns.max(1);
        fault(
            data.start + bits.at,
            &format!("{what}, in row {row} of {} rows of blocks", self.rows),
        )
    }
}

/// Passes one block of 64 coefficients.
fn block(bits: &mut Bits<'_>, dc: &Table, ac: &Table) -> Result<(), &'static str> {
    let size = dc.code(bits)?;
    if size > 15 {
        return Err("a DC coefficient has an impossible size");
    }
    bits.skip(u32::from(size));
    let mut k = 1;
    while k < 64 {
        let code = ac.code(bits)?;
        let (run, size) = (code >> 4, code & 15);
        match (run, size) {
            (15, 0) => k += 16,
            (_, 0) => break,
            _ => {
                k += usize::from(run) + 1;
                bits.skip(u32::from(size));
            }
        }
        if k > 64 {
            return Err("a block has more than 64 coefficients");
        }
    }
    if bits.count < bits.made_up { Err("the data end before the last block") } else { Ok(()) }
}

/// A Huffman table: for each possible 16 bits, length and symbol of the code that they begin with.
struct Table(Vec<(u8, u8)>);

impl Table {
    fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Table> {
        let mut table = vec![(0, 0); 1 << 16];
        let (mut code, mut next) = (0usize, symbols.iter());
        for (length, &count) in (1u8..).zip(counts) {
            for _ in 0..count {
                let width = 1 << (16 - length);
                table.get_mut(code..code + width)?.fill((length, *next.next()?));
                code += width;
            }
        }
        Some(Table(table))
    }

    fn code(&self, bits: &mut Bits<'_>) -> Result<u8, &'static str> {
        let (length, symbol) = self.0[bits.peek16()];
        if length == 0 {
            return Err("these bits are no code of the Huffman table");
        }
        bits.skip(u32::from(length));
        Ok(symbol)
    }
}

/// Bits of a scan, stuffed zeros taken out; zeros are made up behind a marker and behind the end.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next `count` bits stand highest.
    held: u64,
    count: u32,
    made_up: u32,
}

impl Bits<'_> {
    fn peek16(&mut self) -> usize {
        while self.count <= 48 {
            let byte = match self.bytes[self.at..] {
                [0xff, 0, ..] => {
                    self.at += 2;
                    0xff
                }
                [0xff, ..] | [] => {
                    self.made_up += 8;
                    0
                }
                [byte, ..] => {
                    self.at += 1;
                    byte
                }
            };
            self.held |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
        (self.held >> 48) as usize
    }

    /// Passes up to 16 bits, which [`Bits::peek16`] may have to fetch first.
    fn skip(&mut self, bits: u32) {
        if self.count < bits {
            self.peek16();
        }
        self.held <<= bits;
        self.count -= bits;
    }

    /// Whole bytes between here and the next marker.
    fn bytes_left(&self) -> usize {
        let here = &self.bytes[self.at..];
        let more = here.windows(2).take_while(|w| w[0] != 0xff || w[1] == 0).count();
        (self.count.saturating_sub(self.made_up) / 8) as usize + more
    }

    /// Passes the restart marker with this number.
    fn restart(&mut self, number: u8) -> Result<(), &'static str> {
        if self.bytes_left() > SPARE {
            return Err("data are left before a restart marker");
        }
        while !matches!(self.bytes[self.at..], [0xff, 0xd0..=0xd7, ..] | []) {
            self.at += 1;
        }
        if self.bytes.get(self.at + 1) != Some(&(0xd0 + number)) {
            return Err("a restart marker is missing or out of turn");
        }
        self.at += 2;
        (self.held, self.count, self.made_up) = (0, 0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};

    use super::*;

    #[test]
    fn whole_photographs_of_every_kind_and_size_pass() {
        for kind in PhotoKind::ALL {
            for (width, height) in [(1, 1), (8, 8), (17, 9), (97, 61), (320, 240)] {
                let bytes = Photo::new(width, height, kind).encode(7).unwrap();
                assert_eq!(check(&bytes), Ok(()), "{kind:?} {width}x{height}");
            }
        }
        for photo in &PHOTOS {
            assert_eq!(check(photo.jpeg), Ok(()), "{}", photo.key);
        }
    }

    #[test]
    fn scan_data_that_are_missing_or_too_many_are_told() {
        for kind in [PhotoKind::Yuv444, PhotoKind::Yuv420, PhotoKind::Yuv422, PhotoKind::Grey] {
            let whole = Photo::new(320, 240, kind).encode(7).unwrap();
            let end = whole.len() - 2;
            for cut in [end / 2, end - end / 10] {
                let mut bytes = whole.clone();
                bytes.drain(cut..end);
                let found = check(&bytes).unwrap_err();
                assert!(found.reason.contains("end before the last block"), "{kind:?}: {found:?}");
            }
            let mut bytes = whole.clone();
            bytes.splice(end..end, [0x55; 100]);
            assert!(check(&bytes).unwrap_err().reason.contains("left after"), "{kind:?}");
        }
    }

    #[test]
    fn most_damage_is_told() {
        let whole = Photo::new(320, 240, PhotoKind::Yuv420).encode(7).unwrap();
        let places = (whole.len() / 4..whole.len() - 16).step_by(whole.len() / 64);
        let (mut told, mut all) = (0, 0);
        for place in places {
            let mut bytes = whole.clone();
            bytes[place..place + 8].fill(0xfe);
            told += u32::from(check(&bytes).is_err());
            all += 1;
        }
        // Huffman codes fall into step again: some damage leaves the count right.
        assert!(told * 2 > all, "{told} of {all}");
    }
}
