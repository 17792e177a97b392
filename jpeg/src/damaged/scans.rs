//! `Scans`: the scans of a damaged picture and the segments between them.
//!
//! Accepts what libjpeg-turbo accepts, with or without a warning, and refuses what it refuses.

use super::bits::Bits;
use super::codes::{Codes, Spec};
use super::smoothing::{KNOWN, Smoothing};
use super::source::MarkerReader;
use crate::error::{Error, Result};
use crate::header::markers::{
    COM, DAC, DHT, DNL, DQT, DRI, EOI, RST0, RST7, SOI, SOS, TEM, is_frame,
};
use crate::header::{
    Band, Header, HuffmanSpec, MOST_SCANS, NATURAL, Scan, Visits, Work, check_band, conditioning,
};
use crate::picture::planes::Divisors;

/// A scan.
#[derive(Debug)]
pub(super) struct ScanOf {
    /// The numbers of its components, in its order.
    pub(super) parts: Vec<usize>,
    pub(super) work: Work,
    pub(super) band: Band,
    /// The tables of each component, if its codes need them.
    pub(super) dc: Vec<Option<Codes>>,
    pub(super) ac: Vec<Option<Codes>>,
    /// MCUs between restart markers; 0 if there are none.
    pub(super) restart: u32,
}

/// A walk over the scans.
#[derive(Debug)]
pub(super) struct Scans<'a> {
    header: &'a Header,
    pub(super) bits: Bits<'a>,
    quant: [Option<[u16; 64]>; 4],
    dc: [Option<Spec>; 4],
    ac: [Option<Spec>; 4],
    restart: u32,
    /// The quantization table of each component when its first scan began.
    pub(super) divisors: Divisors,
    /// For each component and coefficient the lowest bit that was coded, -1 if none was: now, and
    /// before the last scan of the component.
    coded: [[i8; 64]; 4],
    before: [[i8; KNOWN]; 4],
    count: usize,
    visits: Visits,
}

impl<'a> Scans<'a> {
    /// Starts before the first scan.
    pub(super) fn new(bytes: &'a [u8], header: &'a Header) -> Scans<'a> {
        let tables = &header.tables;
        Scans {
            header,
            bits: Bits::new(MarkerReader::new(bytes, header.scan())),
            quant: tables.quant.map(|table| table.and_then(|table| table.read(bytes))),
            dc: tables.dc.each_ref().map(|spec| spec_of(spec, bytes)),
            ac: tables.ac.each_ref().map(|spec| spec_of(spec, bytes)),
            restart: header.restart,
            divisors: [None; 4],
            coded: [[-1; 64]; 4],
            before: [[-1; KNOWN]; 4],
            count: 0,
            visits: Visits::new(header.components, header.all_blocks()),
        }
    }

    fn damaged(&self, text: impl Into<String>) -> Error {
        Error::damaged(self.bits.source.at(), text)
    }

    /// Returns the next scan; `None` at the end of the image, or of the file.
    ///
    /// # Errors
    /// Returns an error for what libjpeg-turbo does not read.
    pub(super) fn next(&mut self) -> Result<Option<ScanOf>> {
        loop {
            if self.bits.source.marker == 0 {
                self.bits.source.next_marker();
            }
            match std::mem::take(&mut self.bits.source.marker) {
                EOI => return Ok(None),
                SOS => return self.begin().map(Some),
                SOI => return Err(self.damaged("a second image begins inside this one")),
                frame if is_frame(frame) => return Err(self.damaged("a second frame header")),
                DQT => self.quantization()?,
                DHT => self.huffman()?,
                DRI => match *self.content()? {
                    [high, low] => self.restart = u16::from_be_bytes([high, low]).into(),
                    _ => return Err(self.damaged("the restart interval has the wrong length")),
                },
                DAC => conditioning(&self.content()?, self.bits.source.at())?,
                DNL | 0xe0..=0xef | COM => self.bits.source.skip_segment(),
                TEM | RST0..=RST7 => {} // markers without content
                marker => {
                    return Err(self.damaged(format!("marker ff{marker:02x} is not allowed here")));
                }
            }
        }
    }

    /// Takes the content of a segment.
    fn content(&mut self) -> Result<Vec<u8>> {
        match self.bits.source.length() {
            Some(length) => Ok(self.bits.source.content(length)),
            None => Err(self.damaged("a segment's length is below 2")),
        }
    }

    fn quantization(&mut self) -> Result<()> {
        let content = self.content()?;
        let mut rest = content.as_slice();
        while let Some((&kind, after)) = rest.split_first() {
            let wide = kind >> 4 > 0;
            let number = usize::from(kind & 15);
            let length = if wide { 128 } else { 64 };
            let Some((divisors, after)) = after.split_at_checked(length).filter(|_| number < 4)
            else {
                return Err(self.damaged("a quantization table is cut or has no number"));
            };
            let table = self.quant[number].get_or_insert([0; 64]);
            for (k, &place) in NATURAL.iter().enumerate() {
                table[usize::from(place)] = if wide {
                    u16::from_be_bytes([divisors[2 * k], divisors[2 * k + 1]])
                } else {
                    divisors[k].into()
                };
            }
            rest = after;
        }
        Ok(())
    }

    fn huffman(&mut self) -> Result<()> {
        let content = self.content()?;
        let mut rest = content.as_slice();
        while let Some((&kind, after)) = rest.split_first() {
            let (counts, after) =
                after.split_first_chunk::<16>().ok_or_else(|| self.cut_table())?;
            let codes = counts.iter().map(|&n| usize::from(n)).sum();
            let split = after.split_at_checked(codes).filter(|_| codes <= 256);
            let (symbols, after) = split.ok_or_else(|| self.cut_table())?;
            let number = usize::from(kind & 15);
            if kind >> 4 > 1 || number > 3 {
                return Err(self.cut_table());
            }
            let tables = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            tables[number] = Some(Spec::new(counts, symbols));
            rest = after;
        }
        Ok(())
    }

    fn cut_table(&self) -> Error {
        self.damaged("a Huffman table is cut or has no number")
    }

    /// Begins a scan, whose marker was read.
    fn begin(&mut self) -> Result<ScanOf> {
        let content = self.content()?;
        let at = self.bits.source.at();
        let scan = Scan::read(&content, at)?;
        self.count += 1;
        if self.count > 1 && !self.header.has_several_scans() {
            return Err(self.damaged("a second scan of the same components"));
        }
        if self.count > MOST_SCANS {
            return Err(self.damaged(format!("more than {MOST_SCANS} scans")));
        }
        let parts = self.header.components.named(&scan, at)?[..scan.count].to_vec();
        self.visits.count(&parts, at)?;
        self.bits.source.restart = 0;
        let progressive = self.header.is_progressive();
        let work = Work::of(progressive, &scan.band);
        let mut found = ScanOf {
            work,
            band: scan.band,
            dc: Vec::new(),
            ac: Vec::new(),
            restart: self.restart,
            parts,
        };
        for &part in &found.parts {
            self.latch(part)?;
        }
        if progressive {
            let known = check_band(&found.band, found.parts.len());
            known.map_err(|text| self.damaged(text))?;
            found.parts.iter().for_each(|&part| self.note(part, &found.band));
        }
        for &(_, dc, ac) in &scan.parts[..scan.count] {
            found.dc.push(self.table(work.needs_dc(), true, dc, at)?);
            found.ac.push(self.table(work.needs_ac(), false, ac, at)?);
        }
        self.bits.begin();
        Ok(found)
    }

    /// Builds a table that a scan names.
    fn table(&self, needed: bool, is_dc: bool, number: u8, at: usize) -> Result<Option<Codes>> {
        if !needed {
            return Ok(None);
        }
        let specs = if is_dc { &self.dc } else { &self.ac };
        let Some(Some(spec)) = specs.get(usize::from(number)) else {
            let text = format!("Huffman table {number} was never given");
            return Err(Error::damaged(at, text));
        };
        Codes::new(spec, is_dc, at).map(Some)
    }

    /// Fixes a component's quantization table when its first scan begins.
    fn latch(&mut self, part: usize) -> Result<()> {
        if self.divisors[part].is_none() {
            let number = self.header.components.part(part).quant;
            let table = self.quant[number].ok_or_else(|| {
                self.damaged(format!("quantization table {number} was never given"))
            })?;
            self.divisors[part] = Some(table);
        }
        Ok(())
    }

    /// Records which bits a progressive scan codes.
    fn note(&mut self, part: usize, band: &Band) {
        let coded = &mut self.coded[part];
        // The first scan leaves zeros, as in libjpeg-turbo.
        let known = std::array::from_fn(|k| coded[k]);
        self.before[part] = if self.count == 1 { [0; KNOWN] } else { known };
        for bit in &mut coded[usize::from(band.first)..=usize::from(band.last)] {
            *bit = band.low as i8;
        }
    }

    /// Returns how each component is smoothed; `None` if all bits are there, or if a component has
    /// no DC.
    pub(super) fn smoothings(&self, good: u32) -> Option<Vec<Smoothing>> {
        if !self.header.is_progressive() {
            return None;
        }
        let (rows, factors) = self.header.declared_rows();
        let mut smoothings = Vec::new();
        for (part, &v) in factors.iter().enumerate().take(self.header.components.count()) {
            let before = if self.count > 1 { self.before[part] } else { [-1; KNOWN] };
            let after = std::array::from_fn(|k| self.coded[part][k]);
            let divisors = self.divisors[part]?;
            smoothings.push(Smoothing { before, after, good, rows, v, divisors });
        }
        let possible = smoothings.iter().all(Smoothing::is_possible);
        (possible && smoothings.iter().any(Smoothing::is_useful)).then_some(smoothings)
    }
}

fn spec_of(spec: &Option<HuffmanSpec>, bytes: &[u8]) -> Option<Spec> {
    let (counts, symbols, _) = spec.as_ref()?.read(bytes)?;
    Some(Spec::new(counts, symbols))
}
