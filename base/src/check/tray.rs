//! `Tray`: collects JPEGs and reads the Huffman codes of several at once in one thread.
//!
//! Reading every code proves that a JPEG is complete, which parsing its markers cannot, and yields
//! its entry points if its kind has them.

use std::ops::Range;

use tarflume_jpeg::{Header, ScanJob, Scanner, strips};

use super::fault::Fault;
use super::jpeg::{fault, irregular};

/// JPEGs with more bytes are read alone: they gain nothing from company.
pub const LARGE: u64 = 8 << 20;
/// Bytes at which a tray is full if it has enough JPEGs. Measured: more would leave the cache
/// before they are read.
const FULL: usize = 1 << 20;
/// Number of JPEGs that are read at once.
const ENOUGH: usize = 4;
/// Bytes at which a tray is full in any case.
const MOST: usize = 32 << 20;

/// The bytes of parts, and the JPEGs among them whose codes will be read.
#[derive(Debug, Default)]
pub struct Tray {
    scanner: Scanner,
    bytes: Vec<u8>,
    filled: usize,
    jpegs: Vec<Loaded>,
    blobs: Vec<u8>,
    found: Vec<Result<JpegFindings, Fault>>,
    /// Entry points of the last JPEG that was read alone, and what is irregular in it.
    alone: Vec<u8>,
    irregular: Option<Fault>,
}

/// What was found in a JPEG of the tray: the place of its entry points, and what is irregular in it.
#[derive(Debug, Clone, Default)]
struct JpegFindings {
    points: Range<usize>,
    irregular: Option<Fault>,
}

/// A JPEG all codes of which were read.
#[derive(Debug, Clone, Copy)]
pub struct ReadJpeg<'a> {
    /// Empty if its kind has none, or if it is irregular.
    pub entry_points: &'a [u8],
    /// What breaks a rule of the format without losing a pixel.
    pub irregular: Option<&'a Fault>,
}

/// A JPEG on a tray.
#[derive(Debug)]
struct Loaded {
    room: Range<usize>,
    header: Header,
    /// MCUs between its entry points, if they will be compared with others.
    step: Option<u32>,
}

impl Loaded {
    fn job<'a>(&'a self, bytes: &'a [u8]) -> ScanJob<'a> {
        ScanJob { bytes: &bytes[self.room.clone()], header: &self.header, step: self.step }
    }
}

impl Tray {
    /// Reserves `length` bytes; their content is unspecified.
    pub fn room(&mut self, length: usize) -> Range<usize> {
        let room = self.filled..self.filled + length;
        if self.bytes.len() < room.end {
            self.bytes.resize(room.end, 0);
        }
        self.filled = room.end;
        room
    }

    /// Returns reserved bytes.
    pub fn bytes(&self, room: Range<usize>) -> &[u8] {
        &self.bytes[room]
    }

    /// Returns reserved bytes to be filled.
    pub fn fill(&mut self, room: Range<usize>) -> &mut [u8] {
        &mut self.bytes[room]
    }

    /// Adds the JPEG in `room` to those whose codes will be read; returns its number.
    pub fn add(&mut self, room: Range<usize>, header: Header) -> usize {
        self.jpegs.push(Loaded { room, header, step: None });
        self.jpegs.len() - 1
    }

    /// Adds a copy of a JPEG. `step` is that of the entry points with which its own will be
    /// compared, if any.
    pub fn put(&mut self, bytes: &[u8], header: Header, step: Option<u32>) {
        let room = self.room(bytes.len());
        self.fill(room.clone()).copy_from_slice(bytes);
        self.jpegs.push(Loaded { room, header, step });
    }

    /// Returns the bytes of JPEG `number`; none if there are fewer.
    pub fn jpeg(&self, number: usize) -> &[u8] {
        self.jpegs.get(number).map_or(&[], |jpeg| &self.bytes[jpeg.room.clone()])
    }

    /// Returns true if the tray should be read.
    pub fn is_full(&self) -> bool {
        self.filled >= MOST || (self.filled >= FULL && self.jpegs.len() >= ENOUGH)
    }

    /// Returns the number of JPEGs.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.jpegs.len()
    }

    /// Reads all codes of all JPEGs.
    pub fn read(&mut self) {
        let Tray { scanner, bytes, jpegs, blobs, found, .. } = self;
        blobs.clear();
        found.clear();
        found.resize(jpegs.len(), Ok(JpegFindings::default()));
        let group: Vec<ScanJob<'_>> = jpegs.iter().map(|jpeg| jpeg.job(bytes)).collect();
        scanner.scan_group(&group, |number, result| {
            found[number] = match result {
                Ok(scanned) => {
                    let start = blobs.len();
                    blobs.extend_from_slice(scanned.entry_points);
                    let irregular = scanned.irregular.as_ref().map(irregular);
                    Ok(JpegFindings { points: start..blobs.len(), irregular })
                }
                Err(error) => Err(fault(&error)),
            };
        });
    }

    /// Returns what was found in JPEG `number`, after [`Tray::read`].
    ///
    /// # Errors
    /// Returns its fault: an invalid code, or data that end before the last block or continue after
    /// it.
    pub fn found(&self, number: usize) -> Result<ReadJpeg<'_>, Fault> {
        match self.found.get(number) {
            Some(Ok(JpegFindings { points, irregular })) => Ok(ReadJpeg {
                entry_points: &self.blobs[points.clone()],
                irregular: irregular.as_ref(),
            }),
            Some(Err(fault)) => Err(fault.clone()),
            None => Ok(ReadJpeg { entry_points: &[], irregular: None }),
        }
    }

    /// Reads the codes of one JPEG that is not on the tray.
    ///
    /// # Errors
    /// Returns the errors of [`Tray::found`].
    pub fn read_one(&mut self, bytes: &[u8], header: &Header) -> Result<ReadJpeg<'_>, Fault> {
        self.read_job(ScanJob::new(bytes, header))
    }

    /// Reads the codes of one JPEG as [`Tray::read_one`] does, with its own step.
    ///
    /// # Errors
    /// Returns the errors of [`Tray::found`].
    pub fn read_job(&mut self, jpeg: ScanJob<'_>) -> Result<ReadJpeg<'_>, Fault> {
        self.alone.clear();
        let read = self.scanner.scan_job(jpeg, &mut self.alone).map_err(|e| fault(&e))?;
        self.irregular = read.as_ref().map(irregular);
        Ok(ReadJpeg { entry_points: &self.alone, irregular: self.irregular.as_ref() })
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.filled = 0;
        self.jpegs.clear();
        self.found.clear();
        if self.bytes.len() > MOST / 2 {
            self.bytes = Vec::new();
        }
    }
}

/// Returns the checksums of the strips of a JPEG with these entry points; none if it has no entry points or is small.
pub fn strips_of(jpeg: &[u8], points: &[u8]) -> Vec<u8> {
    let mut sums = Vec::new();
    if !points.is_empty() {
        // Entry points of another JPEG, from a sidecar that states something false, have no strips.
        _ = strips(jpeg, points, &mut sums);
    }
    sums
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};
    use tarflume_jpeg::EntryPoints;

    use super::*;

    /// Returns the faults of JPEGs that are read together, `None` for intact ones.
    fn read(jpegs: &[Vec<u8>]) -> Vec<Option<Fault>> {
        let mut tray = Tray::default();
        for bytes in jpegs {
            tray.put(bytes, Header::parse(bytes).unwrap(), None);
        }
        tray.read();
        let found = (0..tray.len()).map(|n| {
            let points = tray.found(n).map(|read| read.entry_points.to_vec());
            let header = Header::parse(&jpegs[n]).unwrap();
            let mut alone = Tray::default();
            let alone = alone.read_one(&jpegs[n], &header).map(|read| read.entry_points.to_vec());
            assert_eq!(points, alone, "together as alone");
            if let Ok(points) = &points {
                let fit = EntryPoints::read(points).is_ok_and(|points| points.fit(&jpegs[n]));
                assert_eq!(fit, header.without_entry_points().is_none());
            }
            points.err()
        });
        found.collect()
    }

    #[test]
    fn whole_photographs_of_every_kind_and_size_pass() {
        let mut jpegs: Vec<_> = PHOTOS.iter().map(|photo| photo.jpeg.to_vec()).collect();
        for kind in PhotoKind::ALL {
            for (width, height) in [(1, 1), (8, 8), (17, 9), (97, 61), (320, 240)] {
                jpegs.push(Photo::new(width, height, kind).encode(7).unwrap());
            }
        }
        assert!(jpegs.len() > 14 * 5);
        assert_eq!(read(&jpegs), vec![None; jpegs.len()]);
    }

    #[test]
    fn missing_or_surplus_scan_data_are_errors() {
        use PhotoKind::*;
        for kind in [Yuv444, Yuv420, Yuv422, Gray, Cmyk] {
            let whole = Photo::new(320, 240, kind).encode(7).unwrap();
            let end = whole.len() - 2;
            for cut in [end / 2, end - end / 10] {
                let mut bytes = whole.clone();
                bytes.drain(cut..end);
                let found = read(&[bytes]).remove(0).unwrap();
                let reason = "ffd9 is where more entropy-coded data should be";
                assert!(found.reason.text().contains(reason), "{kind:?}: {found:?}");
                assert!(found.byte.abs_diff(cut as u64) < 16, "{kind:?}: {found:?}");
            }
            let mut bytes = whole.clone();
            bytes.splice(end..end, [0x55, 0x2a].repeat(50));
            let found = read(&[bytes]).remove(0).unwrap();
            assert!(found.reason.text().contains("left after"), "{kind:?}: {found:?}");
        }
    }

    #[test]
    fn short_or_missing_progressive_scans_are_errors() {
        let whole = Photo::new(320, 240, PhotoKind::Progressive).encode(7).unwrap();
        let scans: Vec<usize> = whole
            .windows(2)
            .enumerate()
            .filter(|(_, w)| *w == [0xff, 0xda])
            .map(|(at, _)| at)
            .collect();
        assert!(scans.len() > 5);
        for &scan in &scans[1..] {
            let missing = [&whole[..scan], b"\xff\xd9"].concat();
            let found = read(&[missing]).remove(0).unwrap();
            assert!(found.reason.text().contains("its last scans are missing"), "{found:?}");
            assert_eq!(found.byte, scan as u64);
            let mut short = whole.clone();
            short.drain(scan - 60..scan - 20);
            assert!(read(&[short]).remove(0).is_some(), "scan before {scan}");
        }
    }

    #[test]
    fn most_damage_is_found() {
        let kinds = [(PhotoKind::Yuv420, 31), (PhotoKind::Cmyk, 23), (PhotoKind::Progressive, 31)];
        for (kind, least) in kinds {
            let whole = Photo::new(320, 240, kind).encode(7).unwrap();
            let places = (whole.len() / 4..whole.len() - 16).step_by(whole.len() / 64);
            let damaged: Vec<_> = places
                .map(|place| {
                    let mut bytes = whole.clone();
                    bytes[place..place + 8].fill(0xfe);
                    bytes
                })
                .collect();
            let detected = read(&damaged).iter().filter(|fault| fault.is_some()).count();
            // Huffman decoding resynchronizes: some damage leaves the number of blocks right.
            assert!(detected >= least, "{kind:?}: {detected} of {}", damaged.len());
        }
    }
}
