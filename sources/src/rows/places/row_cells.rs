//! `RowCells`: rows of one length in a file, plain or compressed with gzip, that are not packed as they are: numbers
//! in the other order of bytes, rows of a compressed file, pictures.
//!
//! A compressed file is decompressed whole, once in each thread, within the limit of `bytes`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tarflume_base::Failure;
use tarflume_formats::files;

use crate::rows::columns::pictures::RowPicture;
use crate::rows::places::bytes::{Store, check_whole, whole_limit};
use crate::rows::places::inflate::{Codec, Forward};
use crate::rows::places::reader::{CellFault, CellReader};

/// The kind of these sources in plans.
pub(crate) const KIND: &str = "rows";
/// Bytes that are decompressed at a time.
const PIECE: usize = 1 << 20;

/// Where the rows of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowPlaces {
    /// The byte of the first row.
    pub(crate) first: u64,
    /// Bytes from one row to the next.
    pub(crate) stride: u64,
    /// Bytes of one row.
    pub(crate) size: u64,
}

impl RowPlaces {
    /// Returns the byte of a row; `None` if no file has it.
    pub(crate) fn at(self, row: u64) -> Option<u64> {
        row.checked_mul(self.stride)?.checked_add(self.first)
    }
}

/// The rows of an array in the options of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedRows {
    pub(crate) places: RowPlaces,
    /// Bytes of a big-endian number; 0 for bytes as they are.
    pub(crate) swapped: u32,
    /// The picture of a row; without one its bytes are packed.
    pub(crate) picture: Option<RowPicture>,
}

/// A file of rows in the options of a plan.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedFile {
    /// Whether the file is compressed.
    pub(crate) gzip: bool,
    pub(crate) arrays: Vec<PlannedRows>,
}

/// Opens a file; one of gzip is decompressed whole.
///
/// # Errors
/// Returns an error if the operating system refuses, or the compressed file is damaged or too large.
pub(crate) fn open(path: &Path, gzip: bool) -> Result<Store, Failure> {
    if !gzip {
        return Store::open(path);
    }
    let packed = files::metadata(path, "examine")?.len();
    let most = whole_limit(packed);
    let mut stream = Forward::open(path, Codec::Gzip)?;
    let mut bytes = Vec::new();
    while bytes.len() as u64 <= most {
        let start = bytes.len();
        bytes
            .try_reserve(PIECE)
            .map_err(|_| Failure::io(std::io::ErrorKind::OutOfMemory.into(), "decompress", path))?;
        bytes.resize(start + PIECE, 0);
        let read = stream.read_at(start as u64, &mut bytes[start..])?;
        bytes.truncate(start + read);
        if read < PIECE {
            bytes.shrink_to_fit();
            return Ok(Store::Memory(bytes));
        }
    }
    check_whole(bytes.len() as u64, packed, path, "")?;
    Ok(Store::Memory(bytes))
}

/// Reverses the bytes of each number of so many bytes.
pub(crate) fn swap(bytes: &mut [u8], size: u32) {
    if size > 1 {
        bytes.chunks_exact_mut(size as usize).for_each(<[u8]>::reverse);
    }
}

/// Reads the rows of one file while a shard is packed.
#[derive(Debug)]
pub(crate) struct RowCells {
    store: Store,
    arrays: Vec<PlannedRows>,
    row: Vec<u8>,
}

impl RowCells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// As [`open`], and for options that are none of these sources.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<RowCells, CellFault> {
        let planned = PlannedFile::deserialize(options);
        let planned = planned
            .map_err(|_| Failure::bad_data("the plan has no arrays for it").in_file(path))?;
        let store = open(path, planned.gzip)?;
        Ok(RowCells { store, arrays: planned.arrays, row: Vec::new() })
    }
}

impl CellReader for RowCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(planned) = self.arrays.get(usize::from(column)) else {
            return Err(CellFault::data(format!("the plan has no array {column}")));
        };
        let places = planned.places;
        let at = places.at(row).ok_or_else(|| CellFault::data("the plan has no such row"))?;
        let size = usize::try_from(places.size).unwrap_or(usize::MAX);
        self.row.clear();
        self.row.extend_from_slice(self.store.get(at, size)?);
        swap(&mut self.row, planned.swapped);
        if let Some(picture) = planned.picture {
            return picture.encode_into(&self.row, space);
        }
        if self.row.len() != space.len() {
            let text = format!("{} bytes, and {} were planned", self.row.len(), space.len());
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(&self.row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn rows_are_read_swapped_and_encoded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.gz");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let rows: Vec<u8> = (0..40).collect();
        gzip.write_all(&rows).unwrap();
        std::fs::write(&path, gzip.finish().unwrap()).unwrap();
        let places = RowPlaces { first: 4, stride: 6, size: 4 };
        let picture = RowPicture::of(&[2, 1], "uint16", None).unwrap();
        let arrays = vec![
            PlannedRows { places, swapped: 2, picture: None },
            PlannedRows { places, swapped: 2, picture: Some(picture) },
        ];
        let options = serde_json::to_value(PlannedFile { gzip: true, arrays }).unwrap();
        let mut cells = RowCells::open(&path, &options).unwrap();
        let mut space = [0; 4];
        cells.read(2, 0, &mut space).unwrap();
        assert_eq!(space, [17, 16, 19, 18]);
        let png = picture.encode(&space).unwrap();
        let mut space = vec![0; png.len()];
        cells.read(2, 1, &mut space).unwrap();
        assert_eq!(space, png);
        assert!(cells.read(2, 1, &mut space[1..]).is_err());
        assert!(cells.read(6, 0, &mut [0; 4]).is_err());
        assert!(cells.read(u64::MAX, 0, &mut [0; 4]).is_err());
        assert!(cells.read(0, 2, &mut [0; 4]).is_err());
        assert!(RowCells::open(&path, &serde_json::Value::Null).is_err());
    }
}
