//! Rows that speak of a store in a device's memory: what an epoch of a resident data set writes instead of
//! pictures and numbers. No part of a sample is read.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::column::{DType, Row, RowShape};
use crate::decode::{Decode, Sample, Scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::picture::geometry::{ImageSize, Transform};
use crate::picture::random::Random;
use crate::picture::row_header::{Described, Format, RowHeader};

/// No row.
const ABSENT: u32 = u32::MAX;

/// Which row of the stores a sample has; the same in all of them.
#[derive(Default)]
pub(crate) struct Rows(OnceLock<Vec<u32>>);

impl Rows {
    /// Says of each ordinal below `samples` which row it has; once.
    pub(crate) fn fill(&self, samples: u64, rows: impl IntoIterator<Item = (u64, u32)>) {
        let mut all = vec![ABSENT; usize::try_from(samples).unwrap_or(0)];
        for (ordinal, row) in rows {
            all[ordinal as usize] = row;
        }
        let _ = self.0.set(all);
    }

    /// The row of a sample.
    ///
    /// # Errors
    /// It has none: it was bad when the stores were filled.
    pub(crate) fn of(&self, ordinal: u64) -> Result<u64> {
        let row = self.0.get().and_then(|all| all.get(ordinal as usize).copied());
        row.filter(|&row| row != ABSENT).map(u64::from).ok_or_else(|| {
            let text =
                "it is not in the device's memory: it could not be read when that was filled";
            Error::new(ErrorKind::Decode, text)
        })
    }
}

/// The row's number in its store: u64.
pub(crate) struct Numbered(pub(crate) Arc<Rows>);

impl Decode for Numbered {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U64, Vec::new())
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        row.put(&self.0.of(sample.ordinal)?.to_ne_bytes())
    }
}

/// A [`RowHeader`]: which part of a stored picture becomes the row's, as a transform decides it.
pub(crate) struct StoredPicture {
    pub(crate) rows: Arc<Rows>,
    /// Width and height of the picture in each row of the store.
    pub(crate) sizes: Arc<OnceLock<Vec<[u32; 2]>>>,
    pub(crate) transform: Arc<dyn Transform>,
    /// Which of a sample's streams of random numbers.
    pub(crate) stream: u64,
    pub(crate) format: Format,
    pub(crate) channels: usize,
    /// Bytes of a row of the store that a picture may have.
    pub(crate) room: usize,
}

impl Decode for StoredPicture {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![RowHeader::BYTES])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let number = self.rows.of(sample.ordinal)?;
        let found = self.sizes.get().and_then(|sizes| sizes.get(number as usize).copied());
        let [width, height] = found.unwrap_or_default();
        let size = ImageSize::new(width, height);
        let mut random = Random::stream(sample.seed, self.stream);
        let placement = self.transform.place(size, &mut random)?;
        placement.check(size)?;
        let (area, flip) = (placement.area.into(), placement.flip);
        let picture = Described { format: self.format, size, area, flip };
        let head = RowHeader::store(picture, self.channels, number, self.room)?;
        row.put(bytemuck::bytes_of(&head))
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({:?} samples)", self.0.get().map(Vec::len))
    }
}
