//! `Scanner`: reads every Huffman code of a JPEG, records the positions at which decoding can
//! start, and thereby proves that the entropy-coded data are whole.
//!
//! Computes no pixel. `points` encodes the positions as a blob.

pub(super) mod reread;
pub(super) mod skim_walk;

use crate::damaged::Damaged;
use crate::entropy::{MOST_LANES, Skim, Skimmers, skimmers};
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::picture::strand::Picture;
use crate::positions::points::{encode, step};
use crate::positions::position::Position;
use crate::scanner::reread::Reread;
use crate::scanner::skim_walk::SkimWalk;
use crate::several_scans::coefficients::Grid;
use crate::several_scans::scans::{Needed, Scans};

/// A JPEG whose codes are read.
#[derive(Debug, Clone, Copy)]
pub struct ScanJob<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its header, of these bytes.
    pub header: &'a Header,
    /// MCUs between two entry points of a row, at least 8 or all MCUs of the row; `None` for the
    /// usual number, 16 or fewer. The same number as that of other entry points makes both
    /// comparable ([`crate::EntryPoints::step`]).
    pub step: Option<u32>,
}

impl<'a> ScanJob<'a> {
    /// Creates a job for entry points with the usual number of MCUs between them.
    pub fn new(bytes: &'a [u8], header: &'a Header) -> ScanJob<'a> {
        ScanJob { bytes, header, step: None }
    }

    fn picture(&self) -> Picture<'a> {
        let bytes = self.bytes;
        let header = self.header;
        Picture {
            bytes,
            header,
            mcus: header.mcus(),
            points: None,
            data: (header.data, bytes.len()),
        }
    }

    fn step(&self) -> u32 {
        step(self.header.mcus().0, self.step)
    }
}

/// What a scanner found in a JPEG.
#[derive(Debug)]
pub struct Scanned<'a> {
    /// Its entry points; empty if its kind has none, or if it is irregular.
    pub entry_points: &'a [u8],
    /// What breaks a rule of the format although all pixels are there, if anything does: stray bytes
    /// or restart markers between segments, a missing end, filling bytes after the last block.
    pub irregular: Option<Error>,
}

/// Limit on the bytes of a buffer that is kept.
const KEPT: usize = 8 << 20;

/// Makes entry points. It reuses its memory from picture to picture, so each thread should keep
/// one.
#[derive(Debug)]
pub struct Scanner {
    lanes: [Skim; MOST_LANES],
    walks: [SkimWalk; MOST_LANES],
    skimmers: Skimmers,
    scans: Scans,
    /// Allocated for the first damaged picture.
    reread: Option<Box<Reread>>,
    damaged: Option<Box<Damaged>>,
    blob: Vec<u8>,
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner {
            lanes: Default::default(),
            walks: Default::default(),
            skimmers: skimmers(),
            scans: Scans::default(),
            reread: None,
            damaged: None,
            blob: Vec::new(),
        }
    }
}

impl Scanner {
    /// Creates a scanner with the best steps for this processor.
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// Appends the entry points of a JPEG to `out`. Returns what is irregular, as
    /// [`Scanned::irregular`] describes.
    ///
    /// # Errors
    /// Returns the errors that [`Scanner::scan_group`] describes.
    pub fn scan(
        &mut self,
        bytes: &[u8],
        header: &Header,
        out: &mut Vec<u8>,
    ) -> Result<Option<Error>> {
        self.scan_job(ScanJob::new(bytes, header), out)
    }

    /// Does the same with the step of the job.
    ///
    /// # Errors
    /// Returns the errors that [`Scanner::scan_group`] describes.
    pub fn scan_job(&mut self, job: ScanJob<'_>, out: &mut Vec<u8>) -> Result<Option<Error>> {
        let mut result = Ok(None);
        self.scan_group(&[job], |_, found| {
            result = found.map(|found| {
                out.extend_from_slice(found.entry_points);
                found.irregular
            });
        });
        result
    }

    /// Scans several JPEGs at once, in this thread. Calls `done` for each with its number and what was
    /// found, in any order.
    ///
    /// `done` gets these errors:
    /// - [`ErrorKind::Damaged`]: the data are not whole; byte and row of MCUs are named;
    /// - [`ErrorKind::Unsupported`]: pictures of this kind are not decoded
    ///   ([`Header::unsupported`]);
    /// - [`ErrorKind::Limit`]: memory is exhausted.
    ///
    /// For pictures without entry points ([`Header::without_entry_points`]) the slice is empty: their
    /// codes are read to find damage. That takes 8 bytes for each block of 8 x 8 coefficients of a
    /// picture of several scans, and next to nothing for others.
    pub fn scan_group(
        &mut self,
        jobs: &[ScanJob<'_>],
        mut done: impl FnMut(usize, Result<Scanned<'_>>),
    ) {
        let mut live = 0;
        let mut next = 0;
        loop {
            while live < MOST_LANES && next < jobs.len() {
                if jobs[next].header.has_several_scans() {
                    let read = self.read(&jobs[next]);
                    done(next, read.map(|irregular| Scanned { entry_points: &[], irregular }));
                    next += 1;
                    continue;
                }
                match self.begin(live, next, &jobs[next]) {
                    Ok(()) => live += 1,
                    Err(error) => {
                        let read = self.read_damaged(&jobs[next], error);
                        done(next, read.map(|irregular| Scanned { entry_points: &[], irregular }));
                    }
                }
                next += 1;
            }
            if live == 0 {
                return;
            }
            let lane = self.skimmers.run(&mut self.lanes[..live]);
            let walk = &mut self.walks[lane];
            let number = walk.number;
            let picture = jobs[number].picture();
            let result = match walk.go_on(&picture, &mut self.lanes[lane]) {
                Some(false) => continue,
                Some(true) => {
                    let irregular = picture.header.irregular().or(walk.irregular);
                    write(&picture, walk.step, &walk.places, &mut self.blob);
                    Ok(irregular.map(is_irregular))
                }
                None => self.read_again(&jobs[number]),
            };
            done(
                number,
                result.map(|irregular| {
                    // The end of such a file is not checked again when its rows are entered.
                    let entry_points = if irregular.is_none() { &self.blob[..] } else { &[] };
                    Scanned { entry_points, irregular }
                }),
            );
            // Working lanes stay the first `live`: the last one moves to the free place.
            live -= 1;
            self.lanes.swap(lane, live);
            self.walks.swap(lane, live);
        }
    }

    /// Reads all codes of a picture of several scans.
    fn read(&mut self, job: &ScanJob<'_>) -> Result<Option<Error>> {
        let header = job.header;
        header.check_supported()?;
        let read = self.scans.read(job.bytes, header, Grid::read(header), [Needed::All; 4]);
        // Buffers for one huge picture are not kept.
        self.scans.drop_large(KEPT);
        read.map(|_| self.scans.irregular.map(is_irregular))
    }

    fn begin(&mut self, lane: usize, number: usize, job: &ScanJob<'_>) -> Result<()> {
        let picture = &job.picture();
        let header = picture.header;
        header.check_bytes(picture.bytes)?;
        header.check_supported()?;
        if u32::try_from(picture.bytes.len()).is_err() {
            return Err(Error::new(ErrorKind::Limit, "no entry points beyond 4 GiB"));
        }
        let (columns, rows) = picture.mcus;
        let each = u64::from(columns) * header.components.blocks() as u64;
        header.check_rows(picture.bytes, rows, each)?;
        self.walks[lane].number = number;
        self.walks[lane].start(picture, job.step(), &mut self.lanes[lane])
    }

    /// Reads a picture again that a lane rejected, to find out why.
    fn read_again(&mut self, job: &ScanJob<'_>) -> Result<Option<Error>> {
        let reread = self.reread.get_or_insert_default();
        let picture = job.picture();
        let step = job.step();
        let read = reread.read(&picture, step);
        if read.is_ok() {
            write(&picture, step, &reread.places, &mut self.blob);
        }
        let irregular = job.header.irregular().or(reread.irregular);
        reread.drop_large(KEPT);
        match read {
            Ok(()) => Ok(irregular.map(is_irregular)),
            Err(error) => self.read_damaged(job, error),
        }
    }

    /// Reads a picture that has failed as a damaged one, of which all pixels may be there: then its
    /// fault is only irregular.
    fn read_damaged(&mut self, job: &ScanJob<'_>, error: Error) -> Result<Option<Error>> {
        if error.kind() != ErrorKind::Damaged {
            return Err(error);
        }
        let damaged = self.damaged.get_or_insert_default();
        let whole = damaged.is_whole(job.bytes, job.header);
        damaged.drop_large(KEPT);
        if whole { Ok(Some(error)) } else { Err(error) }
    }
}

/// Returns the error for a byte that breaks a rule without a loss.
fn is_irregular(byte: usize) -> Error {
    Error::damaged(byte, "a rule of the format is broken here, but all pixels are there")
}

/// Encodes the entry points; none for a kind that has none.
fn write(picture: &Picture<'_>, step: u32, places: &[Position], blob: &mut Vec<u8>) {
    blob.clear();
    if picture.header.without_entry_points().is_some() {
        return;
    }
    let (columns, rows) = picture.mcus;
    let count = picture.header.components.count();
    encode(picture.bytes, count, rows, columns.div_ceil(step), step, places, blob);
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind, SplitMix64};

    use super::*;

    /// Returns the entry points that a lane that decodes finds.
    fn read(reread: &mut Reread, bytes: &[u8], header: &Header) -> Result<Vec<u8>> {
        let job = ScanJob::new(bytes, header);
        let picture = job.picture();
        let step = job.step();
        let mut blob = Vec::new();
        reread.read(&picture, step)?;
        write(&picture, step, &reread.places, &mut blob);
        Ok(blob)
    }

    /// Some changes are no damage: then both find the same entry points.
    #[test]
    fn the_scanner_accepts_the_same_damage_with_the_same_entry_points() {
        use PhotoKind::{Cmyk, Gray, Yuv420, Yuv422, Yuv444};
        let mut scanner = Scanner::new();
        let mut reread = Reread::default();
        let mut rng = SplitMix64::new(12);
        let mut counts = [0; 2];
        for (kind, seed) in [Yuv444, Yuv420, Yuv422, Gray, Cmyk].into_iter().zip(1..) {
            let good = Photo::new(400, 60, kind).encode(seed).unwrap();
            for _ in 0..400 {
                let mut bytes = good.clone();
                for _ in 0..rng.below(3) {
                    let at = rng.below(bytes.len() as u32) as usize;
                    bytes[at] ^= 1 << rng.below(8);
                }
                let Ok(header) = Header::parse(&bytes) else { continue };
                if header.has_several_scans() || header.check_supported().is_err() {
                    continue;
                }
                let mut blob = Vec::new();
                let scanned = scanner.scan(&bytes, &header, &mut blob);
                if matches!(scanned, Ok(Some(_))) {
                    assert_eq!(blob, b"", "an irregular file has no entry points");
                    continue;
                }
                let scanned = scanned.map(|_| blob);
                let expected = read(&mut reread, &bytes, &header);
                counts[usize::from(expected.is_ok())] += 1;
                assert_eq!(scanned.is_ok(), expected.is_ok(), "{scanned:?} {expected:?}");
                if let (Ok(scanned), Ok(expected)) = (scanned, expected) {
                    assert_eq!(scanned, expected);
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 200), "{counts:?}");
    }
}
