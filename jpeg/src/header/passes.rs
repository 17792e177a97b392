//! `Passes`: the scans of a picture that has several, in order, with the tables of each.
//!
//! Checks that the scans may follow each other; reads no code.

use super::components::{Components, MCU_BLOCKS};
use super::frame::MOST;
use super::markers::{DAC, DHT, DQT, DRI, EOI, SOS, Walk, is_frame, is_segment};
use super::progress::{MOST_SCANS, Progress, check};
use super::scan::{self, Band, Scan};
use super::tables::{HuffmanSpec, Tables, missing_codes};
use super::whole::{STRAYS, scan_end, strays};
use crate::error::{Error, Result};

/// What a scan codes (T.81, G.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// All coefficients, as in baseline pictures.
    Whole,
    /// The DC coefficient without its lowest bits.
    DcFirst,
    /// One more bit of the DC coefficient.
    DcNext,
    /// A range of AC coefficients without their lowest bits.
    AcFirst,
    /// One more bit of these.
    AcNext,
}

impl Work {
    /// Returns what a scan of this band codes.
    pub(crate) fn of(progressive: bool, band: &Band) -> Work {
        match (progressive, band.first, band.before) {
            (false, ..) => Work::Whole,
            (true, 0, 0) => Work::DcFirst,
            (true, 0, _) => Work::DcNext,
            (true, _, 0) => Work::AcFirst,
            (true, ..) => Work::AcNext,
        }
    }

    /// Returns true if it takes codes of a DC table.
    pub(crate) fn needs_dc(self) -> bool {
        matches!(self, Work::Whole | Work::DcFirst)
    }

    /// Returns true if it takes codes of an AC table.
    pub(crate) fn needs_ac(self) -> bool {
        matches!(self, Work::Whole | Work::AcFirst | Work::AcNext)
    }
}

/// A scan.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) work: Work,
    pub(crate) band: Band,
    /// The numbers of its components, in its order, and their count.
    numbers: [usize; MOST],
    count: usize,
    /// The tables of each, if its codes need them.
    pub(crate) dc: [Option<HuffmanSpec>; MOST],
    pub(crate) ac: [Option<HuffmanSpec>; MOST],
    /// MCUs between restart markers; 0 if there are none.
    pub(crate) restart: u32,
    /// Its first entropy-coded byte.
    pub(crate) data: usize,
}

impl Pass {
    /// Returns the numbers of its components, in its order.
    pub(crate) fn parts(&self) -> &[usize] {
        &self.numbers[..self.count]
    }
}

/// Limit on how often all scans together may visit each block: a visit of an empty block takes time
/// but no bytes. Encoders make about ten scans, each of some of the components.
const VISITS: u64 = 64;
/// Number of visits that take a fraction of a second, allowed however small the picture is.
const FEW: u64 = 1 << 24;

/// Counts how often the scans of a picture visit its blocks.
#[derive(Debug)]
pub(crate) struct Visits {
    components: Components,
    /// Number of blocks of all components.
    blocks: u64,
    /// How many more visits the scans may make.
    left: u64,
}

impl Visits {
    pub(crate) fn new(components: Components, blocks: u64) -> Visits {
        Visits { components, blocks, left: blocks.saturating_mul(VISITS) + FEW }
    }

    /// Counts a scan of the components with these numbers; `at` is the byte that errors name.
    ///
    /// # Errors
    /// Returns an error if the scan has too many blocks to an MCU, or if the scans so far visit more
    /// blocks than those of any encoder.
    pub(crate) fn count(&mut self, numbers: &[usize], at: usize) -> Result<()> {
        let each: usize = numbers
            .iter()
            .map(|&number| {
                let component = self.components.part(number);
                (component.h * component.v) as usize
            })
            .sum();
        if numbers.len() > 1 && each > MCU_BLOCKS {
            return Err(Error::damaged(at, "a scan has more than ten blocks to an MCU"));
        }
        let mcu = self.components.blocks() as u64;
        let visited = self.blocks.saturating_mul(each as u64) / mcu.max(1);
        self.left = self.left.checked_sub(visited).ok_or_else(|| {
            let text = format!("the scans visit each block more than {VISITS} times");
            Error::damaged(at, text)
        })?;
        Ok(())
    }
}

/// A walk over the scans.
#[derive(Debug)]
pub(crate) struct Passes<'a> {
    bytes: &'a [u8],
    components: Components,
    progressive: bool,
    tables: Tables,
    restart: u32,
    /// The quantization table of each component when its first scan began.
    quant: [Option<[u16; 64]>; MOST],
    progress: Progress,
    scans: usize,
    visits: Visits,
    walk: Walk<'a>,
}

impl<'a> Passes<'a> {
    /// Starts before the first scan, whose marker is at `at`, with the preceding tables and restart
    /// interval.
    pub(super) fn new(
        bytes: &'a [u8],
        components: Components,
        progressive: bool,
        blocks: u64,
        tables: Tables,
        restart: u32,
        at: usize,
    ) -> Passes<'a> {
        Passes {
            bytes,
            components,
            progressive,
            tables,
            restart,
            quant: [None; MOST],
            progress: Progress::default(),
            scans: 0,
            visits: Visits::new(components, blocks),
            walk: Walk::from(bytes, at),
        }
    }

    /// Takes the end of the file for the end of the image, and any number of bytes that belong to
    /// nothing: the caller reads all codes.
    pub(crate) fn reads_all(&mut self) {
        self.walk.open = true;
    }

    /// Returns the first byte that breaks a rule without a loss.
    pub(crate) fn irregular(&self) -> Option<usize> {
        self.walk.irregular()
    }

    /// Returns the next scan; `None` after the last one.
    ///
    /// # Errors
    /// Returns an error if the scan is invalid, or the picture ends before all its coefficients.
    pub(crate) fn next(&mut self) -> Result<Option<Pass>> {
        loop {
            let (marker, at) = self.walk.marker()?;
            if self.walk.strays > STRAYS && !self.walk.open {
                return Err(strays(self.walk.strays, at));
            }
            if marker == EOI {
                return self.end(at).map(|()| None);
            }
            if !is_segment(marker) {
                return Err(Error::damaged(
                    at,
                    format!("marker ff{marker:02x} is not allowed here"),
                ));
            }
            let start = self.walk.at() + 2;
            if marker == SOS {
                let scan = Scan::read(self.walk.scan_header(at)?.content(), at)?;
                return self.begin(scan, at).map(Some);
            }
            let segment = self.walk.segment(at)?;
            match marker {
                DQT => self.tables.quantization(self.bytes, start, segment.len(), at)?,
                DHT => self.tables.huffman(self.bytes, start, segment.len(), at)?,
                DAC => scan::conditioning(segment, at)?,
                DRI => self.restart = scan::restart(segment, at)?,
                frame if is_frame(frame) => {
                    return Err(Error::damaged(at, "a second frame header"));
                }
                _ => {}
            }
        }
    }

    /// Sets where the codes of the last scan end.
    pub(crate) fn went_to(&mut self, end: usize) {
        self.walk.go_to(end);
    }

    /// Skips the codes of a scan.
    ///
    /// # Errors
    /// Returns an error at a marker that is invalid there, or if the file ends.
    pub(crate) fn skip(&mut self, pass: &Pass) -> Result<()> {
        self.walk.go_to(scan_end(self.bytes, pass.data)?);
        Ok(())
    }

    /// Returns the quantization table of each component; `None` for one without a scan.
    pub(crate) fn divisors(&self) -> &[Option<[u16; 64]>; MOST] {
        &self.quant
    }

    fn begin(&mut self, mut scan: Scan, at: usize) -> Result<Pass> {
        if self.scans == MOST_SCANS {
            return Err(Error::damaged(at, format!("more than {MOST_SCANS} scans")));
        }
        self.scans += 1;
        let numbers = self.components.numbers(&scan, at)?;
        if self.progressive {
            check(&scan.band, scan.count).map_err(|text| Error::damaged(at, text))?;
        } else {
            scan.band = Band::WHOLE;
        }
        let work = Work::of(self.progressive, &scan.band);
        let mut pass = Pass {
            work,
            band: scan.band,
            numbers,
            count: scan.count,
            dc: [None; MOST],
            ac: [None; MOST],
            restart: self.restart,
            data: self.walk.at(),
        };
        for (n, &(_, dc, ac)) in scan.parts.iter().enumerate().take(scan.count) {
            self.progress.take(numbers[n], &scan.band).map_err(|text| Error::damaged(at, text))?;
            self.latch(numbers[n], at)?;
            if work.needs_dc() {
                pass.dc[n] = codes(&self.tables.dc, dc, at)?;
            }
            if work.needs_ac() {
                pass.ac[n] = codes(&self.tables.ac, ac, at)?;
            }
        }
        self.visits.count(pass.parts(), at)?;
        Ok(pass)
    }

    /// Fixes a component's quantization table when its first scan begins: tables may be redefined
    /// between scans.
    fn latch(&mut self, component: usize, at: usize) -> Result<()> {
        let table = self.components.part(component).quant;
        if self.quant[component].is_none() {
            self.quant[component] = Some(self.tables.divisors(table, self.bytes, at)?);
        }
        Ok(())
    }

    /// Checks at the end of the image that all coefficients are complete.
    fn end(&self, at: usize) -> Result<()> {
        let Some((c, k)) = self.progress.missing(self.components.count()) else {
            return Ok(());
        };
        let text = format!(
            "the image ends before coefficient {k} of component {c} is whole: its last scans are missing"
        );
        Err(Error::damaged(at, text))
    }
}

fn codes(of: &[Option<HuffmanSpec>; 4], n: u8, at: usize) -> Result<Option<HuffmanSpec>> {
    let spec = of.get(usize::from(n)).copied().flatten();
    spec.map(Some).ok_or_else(|| missing_codes(n.into(), at))
}

#[cfg(test)]
mod tests {
    use crate::header::Header;

    /// Returns a gray progressive JPEG of 128 scans: for each coefficient, one for all bits but the
    /// last and one for that bit.
    fn many_scans(width: u16, height: u16) -> Vec<u8> {
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        jpeg.extend([1; 64]);
        let [width, height] = [width, height].map(u16::to_be_bytes);
        jpeg.extend([
            0xff, 0xc2, 0, 11, 8, height[0], height[1], width[0], width[1], 1, 1, 0x11, 0,
        ]);
        for kind in [0, 0x10] {
            jpeg.extend([0xff, 0xc4, 0, 20, kind, 1]);
            jpeg.extend([0; 16]);
        }
        for bits in [0x01, 0x10] {
            for k in 0..64 {
                jpeg.extend([0xff, 0xda, 0, 8, 1, 1, 0, k, k, bits, 0]);
            }
        }
        jpeg.extend([0xff, 0xd9]);
        jpeg
    }

    #[test]
    fn scans_may_visit_the_blocks_of_a_large_picture_a_bounded_number_of_times() {
        fn scans(width: u16, height: u16) -> Result<usize, (usize, crate::Error)> {
            let jpeg = many_scans(width, height);
            let header = Header::parse(&jpeg).unwrap();
            let mut passes = header.passes(&jpeg);
            let mut count = 0;
            while let Some(pass) = passes.next().map_err(|e| (count, e))? {
                passes.skip(&pass).map_err(|e| (count, e))?;
                count += 1;
            }
            Ok(count)
        }

        assert_eq!(scans(1000, 1000).map_err(|(_, error)| error).unwrap(), 128);
        // Four million blocks: 64 visits of each, and four more.
        let (count, error) = scans(0xffff, 0x1000).unwrap_err();
        assert_eq!(count, 68);
        assert!(error.to_string().contains("more than 64 times"), "{error}");
    }
}
