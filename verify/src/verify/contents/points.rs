//! Compares the entry points in a sidecar with their JPEGs, and reads the Huffman codes of JPEGs,
//! some dozens at a time.

use tarflume_base::check::{Fault, LARGE, ReadJpeg, Tray};
use tarflume_base::{Problem, ProblemKind, Problems};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::{Index, IrregularJpeg, IrregularJpegs, Result, name};
use tarflume_jpeg::{EntryPoints, Excerpt, Header, ScanJob, strips_fit};

/// A fault of a JPEG or of its entry points.
#[derive(Debug)]
pub(crate) struct PointFault {
    /// The kind.
    pub kind: ProblemKind,
    /// Byte of the tar.
    pub byte: u64,
    /// The sample's key.
    pub key: Vec<u8>,
    /// The fault and the remedy.
    pub reason: Message,
}

impl PointFault {
    /// Reports entry points that do not belong to the part whose data begin at `byte`.
    pub(crate) fn points(byte: u64, key: &[u8], what: &str) -> PointFault {
        let reason = message!("{what}; index the shard again with `{index}`"; index = Call::of(Task::Index).with(Name::EntryPoints.on()).with(Name::Force.on()));
        PointFault { kind: ProblemKind::BadEntryPoints, byte, key: key.to_vec(), reason }
    }

    /// Reports a fault of the JPEG whose data begin at `byte`.
    pub(crate) fn jpeg(byte: u64, key: &[u8], fault: Fault) -> PointFault {
        let byte = byte + fault.byte;
        PointFault { kind: fault.kind, byte, key: key.to_vec(), reason: fault.reason }
    }

    /// Converts the fault to a problem of this shard.
    pub(crate) fn in_shard(self, path: &str) -> Problem {
        Problem::new(self.kind, path, self.reason).at(self.byte).of(name::shown(&self.key))
    }
}

/// Returns why these cannot be the entry points of a part with this length and, if known, checksum.
pub(crate) fn misfit(points: &[u8], length: u64, checksum: Option<u32>) -> Option<String> {
    let made_from = match EntryPoints::read(points) {
        Ok(points) => points.made_from(),
        Err(_) => {
            return Some("the bytes that should be this part's entry points are not valid".into());
        }
    };
    if made_from.0 != length {
        let text = format!(
            "the entry points of this part are of a JPEG of {} bytes, and it has {length}",
            made_from.0
        );
        return Some(text);
    }
    let differs = checksum.is_some_and(|checksum| checksum != made_from.1);
    differs.then(|| "the entry points of this part are those of another JPEG".into())
}

/// Returns why these cannot be the checksums of the strips of a JPEG with these entry points, which fit it.
pub(crate) fn wrong_strips(
    jpeg: &[u8],
    points: Option<&[u8]>,
    strips: &[u8],
) -> Option<&'static str> {
    let Some(points) = points else { return Some(ALONE) };
    (!strips_fit(jpeg, points, strips))
        .then_some("the checksums of this part's strips are not those of its bytes")
}

/// Returns why these cannot be the checksums of the strips of any JPEG with these entry points.
fn impossible_strips(points: Option<&[u8]>, strips: &[u8]) -> Option<&'static str> {
    let Some(points) = points else { return Some(ALONE) };
    let points = EntryPoints::read(points).ok()?; // reported as entry points
    let first = Excerpt { strips, rows: (0, 1) }.bytes(&points);
    first
        .is_none()
        .then_some("the bytes that should be checksums of this part's strips are not valid")
}

const ALONE: &str = "this part has checksums of strips but no entry points";

/// Finds entry points that cannot be right, by the sidecar alone.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub(crate) fn quick(path: &str, index: &Index, problems: &mut Problems) -> Result<()> {
    if !index.has_entry_points() && !index.has_strips() {
        return Ok(());
    }
    for sample in index.iter() {
        let sample = sample?;
        for part in sample.parts() {
            let part = part?;
            let points = index.entry_points(part.number)?;
            let misfit = points.and_then(|points| misfit(points, part.length, part.checksum));
            let strips = index.strips(part.number)?;
            let wrong = strips.and_then(|strips| impossible_strips(points, strips));
            if let Some(why) = misfit.or(wrong.map(Into::into)) {
                problems.push(PointFault::points(part.offset, sample.key, &why).in_shard(path));
            }
        }
    }
    Ok(())
}

/// A JPEG of a shard.
#[derive(Debug)]
pub(crate) struct PlacedJpeg<'d, 'a> {
    pub(crate) data: &'d [u8],
    /// The header in `data`.
    pub(crate) header: Header,
    /// Byte of the tar at which the data begin.
    pub(crate) at: u64,
    /// The key of its sample.
    pub(crate) key: &'d [u8],
    /// Its entry points from the sidecar.
    pub(crate) points: Option<&'a [u8]>,
}

/// JPEGs whose codes will be read.
#[derive(Debug, Default)]
pub(crate) struct Jpegs<'a> {
    /// The shard, for reports.
    path: String,
    tray: Tray,
    waiting: Vec<Waiting<'a>>,
    /// JPEGs that break rules of their format without losing a pixel.
    pub(crate) irregular: IrregularJpegs,
}

#[derive(Debug)]
struct Waiting<'a> {
    at: u64,
    key: Vec<u8>,
    points: Option<&'a [u8]>,
}

impl<'a> Jpegs<'a> {
    /// Takes the JPEGs of the shard at `path`.
    pub(crate) fn of(path: String) -> Jpegs<'a> {
        Jpegs { path, ..Jpegs::default() }
    }

    /// Takes a JPEG. Returns the faults known by then, of this JPEG or earlier ones.
    pub(crate) fn take(&mut self, jpeg: PlacedJpeg<'_, 'a>) -> Vec<PointFault> {
        let PlacedJpeg { data, header, at, key, points } = jpeg;
        let jpeg = Waiting { at, key: key.to_vec(), points };
        // Older sidecars have fewer entry points in wide rows.
        let step = points.and_then(step_of);
        if data.len() as u64 > LARGE {
            let mut wrong = self.settle(); // findings are in the order of the tar
            let Jpegs { path, tray, irregular, .. } = self;
            let read = tray.read_job(ScanJob { bytes: data, header: &header, step });
            wrong.extend(compared(path, jpeg, read, irregular));
            return wrong;
        }
        self.tray.put(data, header, step);
        self.waiting.push(jpeg);
        if self.tray.is_full() { self.settle() } else { Vec::new() }
    }

    /// Reads the codes of all waiting JPEGs and returns their faults.
    pub(crate) fn settle(&mut self) -> Vec<PointFault> {
        let Jpegs { path, tray, waiting, irregular } = self;
        tray.read();
        let mut wrong = Vec::new();
        for (number, jpeg) in waiting.drain(..).enumerate() {
            wrong.extend(compared(path, jpeg, tray.found(number), irregular));
        }
        tray.clear();
        wrong
    }
}

/// Returns the MCUs between neighboring entry points of a row of MCUs; `None` if the entry points are damaged.
fn step_of(points: &[u8]) -> Option<u32> {
    EntryPoints::read(points).ok().map(|points| points.step())
}

/// Returns the fault of a JPEG of the shard at `path` whose codes were read, or of its entry points; counts it if it is
/// irregular.
fn compared(
    path: &str,
    jpeg: Waiting<'_>,
    read: std::result::Result<ReadJpeg<'_>, Fault>,
    irregular: &mut IrregularJpegs,
) -> Option<PointFault> {
    let Waiting { at, key, points } = jpeg;
    if let Ok(ReadJpeg { irregular: Some(fault), .. }) = &read {
        irregular.add(|| IrregularJpeg {
            path: path.to_string(),
            byte: at + fault.byte,
            key: name::shown(&key),
            reason: fault.reason.text(),
        });
    }
    match read.map(|read| read.entry_points) {
        Err(fault) => Some(PointFault::jpeg(at, &key, fault)),
        Ok(found) if points.is_some_and(|points| points != found) => {
            let text = match found {
                [] => "a JPEG of this kind has no entry points",
                _ if points.and_then(step_of) != step_of(found) => {
                    "the entry points of this part are fewer than 8 MCUs apart, which cannot be \
                     compared with the codes"
                }
                _ => "the entry points of this part were made from it, and lead to wrong places",
            };
            Some(PointFault::points(at, &key, text))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};
    use tarflume_formats::crc32c;
    use tarflume_jpeg::Scanner;

    use super::*;

    /// Returns the entry points of a JPEG with this many MCUs between two in a row.
    fn points_every(step: u32, jpeg: &[u8]) -> Vec<u8> {
        let header = Header::parse(jpeg).unwrap();
        let job = ScanJob { step: Some(step), ..ScanJob::new(jpeg, &header) };
        let mut points = Vec::new();
        Scanner::new().scan_job(job, &mut points).unwrap();
        points
    }

    /// Returns a JPEG at byte 512 of a tar.
    fn placed<'d, 'a>(data: &'d [u8], key: &'d [u8], points: &'a [u8]) -> PlacedJpeg<'d, 'a> {
        let header = Header::parse(data).unwrap();
        PlacedJpeg { data, header, at: 512, key, points: Some(points) }
    }

    /// Changes the bits `change` of byte `at`, with a matching checksum.
    fn falsified(mut points: Vec<u8>, at: usize, change: u8) -> Vec<u8> {
        points[at] ^= change;
        points[16..20].fill(0);
        let sum = crc32c(&points);
        points[16..20].copy_from_slice(&sum.to_le_bytes());
        points
    }

    #[test]
    fn entry_points_of_any_step_are_compared_with_the_codes() {
        let jpeg = Photo::new(1200, 80, PhotoKind::Yuv420).encode(3).unwrap();
        for step in [8, 15, 25, 32, 75] {
            let points = points_every(step, &jpeg);
            assert_eq!(EntryPoints::read(&points).unwrap().step(), step);
            let wrong = falsified(points.clone(), points.len() - 12, 1);
            assert!(EntryPoints::read(&wrong).unwrap().fit(&jpeg));
            let mut jpegs = Jpegs::default();
            let mut found = jpegs.take(placed(&jpeg, b"right", &points));
            found.extend(jpegs.take(placed(&jpeg, b"wrong", &wrong)));
            found.extend(jpegs.settle());
            assert_eq!(found.len(), 1, "step {step}: {found:?}");
            assert!(
                found[0].key == b"wrong" && found[0].reason.text().contains("lead to wrong places")
            );
        }
    }

    #[test]
    fn entry_points_that_are_too_near_for_a_comparison_are_not_called_wrong() {
        let jpeg = Photo::new(1200, 80, PhotoKind::Yuv420).encode(3).unwrap();
        let near = falsified(points_every(8, &jpeg), 6, 8 ^ 4); // the low byte of the step
        assert_eq!(EntryPoints::read(&near).unwrap().step(), 4);
        let mut jpegs = Jpegs::default();
        let mut found = jpegs.take(placed(&jpeg, b"near", &near));
        found.extend(jpegs.settle());
        assert_eq!(found.len(), 1);
        assert!(
            found[0].reason.text().contains("fewer than 8 MCUs apart"),
            "{:?}",
            found[0].reason
        );
    }
}
