//! `Scans`: the scans of a damaged picture and the segments between them.
//!
//! Accepts what libjpeg-turbo accepts, with or without a warning, and refuses what it refuses.

use super::bits::Bits;
use super::codes::{Codes, Spec};
use super::smoothing::{KNOWN, Smoothing};
use super::source::Source;
use crate::error::{Error, Result};
use crate::header::markers::{DAC, DHT, DQT, DRI, EOI, SOI, SOS, is_frame};
use crate::header::{Band, Header, MCU_BLOCKS, Scan, conditioning};
use crate::planes::Divisors;

/// A scan.
#[derive(Debug)]
pub(super) struct ScanOf {
    /// The numbers of its components, in its order.
    pub(super) parts: Vec<usize>,
    pub(super) band: Band,
    /// The tables of each component, if its codes need them.
    pub(super) dc: Vec<Option<Codes>>,
    pub(super) ac: Vec<Option<Codes>>,
    /// MCUs between restart markers; 0 if there are none.
    pub(super) restart: u32,
}

/// Limit on how often all scans together may visit each block, and a number of visits that is
/// always allowed.
const VISITS: u64 = 64;
const FEW: u64 = 1 << 24;
/// Limit on the number of scans.
const MOST_SCANS: u64 = 500;

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
    count: u64,
    visits: u64,
}

impl<'a> Scans<'a> {
    /// Starts before the first scan.
    pub(super) fn new(bytes: &'a [u8], header: &'a Header) -> Scans<'a> {
        let spec = |spec: &Option<crate::header::HuffmanSpec>| {
            let (counts, symbols, _) = spec.as_ref()?.read(bytes)?;
            Some(Spec::new(counts, symbols))
        };
        let tables = &header.tables;
        Scans {
            header,
            bits: Bits::new(Source::new(bytes, header.scan())),
            quant: tables.quant.map(|table| table.and_then(|table| table.read(bytes))),
            dc: tables.dc.each_ref().map(spec),
            ac: tables.ac.each_ref().map(spec),
            restart: header.restart,
            divisors: [None; 4],
            coded: [[-1; 64]; 4],
            before: [[-1; KNOWN]; 4],
            count: 0,
            visits: header.all_blocks().saturating_mul(VISITS) + FEW,
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
                0xdc | 0xe0..=0xef | 0xfe => self.bits.source.skip_segment(),
                0x01 | 0xd0..=0xd7 => {} // markers without content
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
            let (wide, number) = (kind >> 4 > 0, usize::from(kind & 15));
            let length = if wide { 128 } else { 64 };
            let Some((divisors, after)) = after.split_at_checked(length).filter(|_| number < 4)
            else {
                return Err(self.damaged("a quantization table is cut or has no number"));
            };
            let table = self.quant[number].get_or_insert([0; 64]);
            for (k, &place) in crate::header::NATURAL.iter().enumerate() {
                table[usize::from(place)] = match wide {
                    true => u16::from_be_bytes([divisors[2 * k], divisors[2 * k + 1]]),
                    false => divisors[k].into(),
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
            let cut = || self.damaged("a Huffman table is cut or has no number");
            let (counts, after) = after.split_first_chunk::<16>().ok_or_else(cut)?;
            let codes = counts.iter().map(|&n| usize::from(n)).sum();
            let split = after.split_at_checked(codes).filter(|_| codes <= 256);
            let (symbols, after) = split.ok_or_else(cut)?;
            let number = usize::from(kind & 15);
            if kind >> 4 > 1 || number > 3 {
                return Err(cut());
            }
            let tables = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            tables[number] = Some(Spec::new(counts, symbols));
            rest = after;
        }
        Ok(())
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
        let parts = self.parts(&scan)?;
        self.bits.source.restart = 0;
        let mut found = ScanOf {
            band: scan.band,
            dc: Vec::new(),
            ac: Vec::new(),
            restart: self.restart,
            parts,
        };
        for &part in &found.parts {
            self.latch(part)?;
        }
        if self.header.is_progressive() {
            let known = crate::header::check_band(&found.band, found.parts.len());
            known.map_err(|text| self.damaged(text))?;
            found.parts.iter().for_each(|&part| self.note(part, &found.band));
        }
        let progressive = self.header.is_progressive();
        let Band { first, before, .. } = found.band;
        let needs_dc = !progressive || (first == 0 && before == 0);
        let needs_ac = !progressive || first > 0;
        for &(_, dc, ac) in &scan.parts[..scan.count] {
            found.dc.push(self.table(needs_dc, true, dc, at)?);
            found.ac.push(self.table(needs_ac, false, ac, at)?);
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

    /// Returns the numbers of the components of a scan, in its order, and counts its visits.
    fn parts(&mut self, scan: &Scan) -> Result<Vec<usize>> {
        let components = &self.header.components;
        let mut parts = Vec::new();
        for (n, part) in scan.parts[..scan.count].iter().enumerate() {
            // Components before the n-th are not looked at (`get_sos`).
            let ids = components.iter().enumerate().skip(n);
            let found = ids.filter(|(_, c)| c.id == part.0).map(|(c, _)| c).next();
            match found.filter(|c| !parts.contains(c)) {
                Some(component) => parts.push(component),
                None => return Err(self.damaged("the scan names components that are not there")),
            }
        }
        let blocks = |c: &usize| components.iter().nth(*c).map_or(0, |c| (c.h * c.v) as usize);
        let each: usize = parts.iter().map(blocks).sum();
        if parts.len() > 1 && each > MCU_BLOCKS {
            return Err(self.damaged("a scan has more than ten blocks to an MCU"));
        }
        let mcu = components.blocks() as u64;
        let visited = self.header.all_blocks().saturating_mul(each as u64) / mcu.max(1);
        self.visits = self.visits.checked_sub(visited).ok_or_else(|| {
            self.damaged(format!("the scans visit each block more than {VISITS} times"))
        })?;
        Ok(parts)
    }

    /// Fixes a component's quantization table when its first scan begins.
    fn latch(&mut self, part: usize) -> Result<()> {
        let number = self.header.components.iter().nth(part).map_or(0, |c| c.quant);
        if self.divisors[part].is_none() {
            let table = self.quant.get(number).copied().flatten();
            let text = format!("quantization table {number} was never given");
            self.divisors[part] = Some(table.ok_or_else(|| self.damaged(text))?);
        }
        Ok(())
    }

    /// Records which bits a progressive scan codes.
    fn note(&mut self, part: usize, band: &Band) {
        let coded = &mut self.coded[part];
        let before = match self.count {
            1 => [0; KNOWN],
            _ => *coded.first_chunk().unwrap_or(&[-1; KNOWN]),
        };
        self.before[part] = before;
        for bit in &mut coded[usize::from(band.first)..=usize::from(band.last)] {
            *bit = band.low as i8;
        }
    }

    /// Returns how each component is smoothed, if it is: not if all bits are there, or if the DC of
    /// a component lacks.
    pub(super) fn smoothings(&self, good: u32) -> Option<Vec<Smoothing>> {
        if !self.header.is_progressive() {
            return None;
        }
        let (rows, factors) = self.header.declared_rows();
        let mut smoothings = Vec::new();
        for (part, &v) in factors.iter().enumerate().take(self.header.components.count()) {
            let before = if self.count > 1 { self.before[part] } else { [-1; KNOWN] };
            let after = *self.coded[part].first_chunk()?;
            let divisors = self.divisors[part]?;
            smoothings.push(Smoothing { before, after, good, rows, v, divisors });
        }
        let possible = smoothings.iter().all(Smoothing::is_possible);
        (possible && smoothings.iter().any(Smoothing::is_useful)).then_some(smoothings)
    }
}
