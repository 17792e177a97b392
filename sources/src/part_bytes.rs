//! Reads a part of a scanned sample before it is packed, whatever its location: for labels, splits
//! and the search for equal images.

use std::path::PathBuf;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message::Message;
use tarflume_scan::Scan;
use tarflume_scan::samples::list::{FoundAt, FoundPart, FoundSample};
use tarflume_scan::source::part_path;

use crate::rows::{self, CellFault};

/// Limit on a JSON that is read while planning. The plan holds the JSON of labeled samples, and a
/// sample may take 7 MiB there.
const JSON_MAX: u64 = 4 << 20;

/// Returns the bytes of a part of a sample.
///
/// # Errors
/// Returns [`CellFault::Data`] if no machine can read it.
pub(crate) fn part_bytes(
    scan: &Scan,
    roots: &[PathBuf],
    sample: &FoundSample,
    part: &FoundPart,
) -> Result<Vec<u8>, CellFault> {
    let mut reader = rows::reader(&scan.sources, roots, true);
    match part.at {
        FoundAt::File(_) | FoundAt::Path(..) => {
            let root = &roots[sample.root as usize];
            let ext = scan.exts[part.ext as usize].source.as_bytes();
            let path = match part.at {
                FoundAt::Path(at, length, _) => {
                    let mut path = Vec::new();
                    let read = scan.texts.reader().read(at, u64::from(length), &mut path);
                    read.map_err(|error| CellFault::Failure(error.into()))?;
                    part_path(root, &path, b"")
                }
                _ => part_path(root, &sample.source, ext),
            };
            files::read_whole(&path, "read").map_err(|error| {
                if error.blame().is_machine() {
                    CellFault::Failure(error.into())
                } else {
                    CellFault::data(Failure::from(error).message())
                }
            })
        }
        FoundAt::Text(at) => {
            let mut bytes = Vec::new();
            let read = scan.texts.reader().read(at, part.size, &mut bytes);
            read.map_err(|error| CellFault::Failure(error.into()))?;
            Ok(bytes)
        }
        FoundAt::Range(source, at) => {
            let mut bytes = vec![0; part.size as usize];
            reader.range(source, at, &mut bytes)?;
            Ok(bytes)
        }
        FoundAt::Cell(source, row, column) => {
            let mut bytes = vec![0; part.size as usize];
            reader.cell(source, row, column, &mut bytes)?;
            Ok(bytes)
        }
    }
}

/// Returns the JSON of a sample: its bytes, or `None` if it has none, or why it cannot be read.
///
/// # Errors
/// Returns an error if the machine fails.
pub fn json_of(
    scan: &Scan,
    roots: &[PathBuf],
    sample: &FoundSample,
) -> Result<Result<Option<Vec<u8>>, Message>, Failure> {
    let Some(part) = scan.part(sample, "json") else { return Ok(Ok(None)) };
    if part.size > JSON_MAX {
        let text =
            format!("it has {} bytes; at most 4 MiB are read for labels and splits", part.size);
        return Ok(Err(text.into()));
    }
    match part_bytes(scan, roots, sample, &part) {
        Ok(bytes) => Ok(Ok(Some(bytes))),
        Err(CellFault::Data(reason) | CellFault::Placed(reason)) => Ok(Err(reason)),
        Err(CellFault::Failure(failure)) => Err(failure),
    }
}
