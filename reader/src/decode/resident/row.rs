//! Rows that refer to data in device memory. An epoch of a resident data set writes them instead of pictures and
//! numbers. Reads no part of a sample.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{ImageSize, Placement, Random, Transform};
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::{Decode, Sample, Scratch};

/// The sample has no row.
const ABSENT: u32 = u32::MAX;

/// Maps samples to rows of the device's stores; the same for all stores.
#[derive(Default)]
pub(crate) struct StoreRows(OnceLock<Vec<u32>>);

impl StoreRows {
    /// Sets the row of each ordinal below `samples`. Call it once.
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
    /// Returns an error if it has none, because it was bad when the stores were filled.
    pub(crate) fn of(&self, ordinal: u64) -> Result<u64> {
        let row = self.0.get().and_then(|all| all.get(ordinal as usize).copied());
        row.filter(|&row| row != ABSENT).map(u64::from).ok_or_else(|| {
            let text =
                "it is not in the device memory, because it could not be read during the preload";
            Error::new(ErrorKind::Decode, text)
        })
    }
}

/// Writes the row number in the store, as u64.
pub(crate) struct RowNumber(pub(crate) Arc<StoreRows>);

impl Decode for RowNumber {
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

/// The boxes that a transform selects from the stored pictures of a column.
pub(crate) struct StoreCrops {
    pub(crate) rows: Arc<StoreRows>,
    pub(crate) transform: Arc<dyn Transform>,
    /// The stream of the sample's random numbers that `transform` uses.
    pub(crate) stream: u64,
    pub(crate) channels: usize,
    /// Maximum bytes of a picture in a row of the store.
    pub(crate) room: usize,
}

impl StoreCrops {
    /// Where the transform places the crop of a sample's picture, which has size `size`.
    pub(super) fn place(&self, sample: &Sample<'_>, size: ImageSize) -> Result<Placement> {
        let mut random = Random::stream(sample.seed, self.stream);
        let placement = self.transform.place(size, &mut random)?;
        placement.check(size)?;
        Ok(placement)
    }

    /// The header of a picture in row `number` of the store.
    pub(super) fn header(&self, picture: RowPicture, number: u64) -> Result<RowHeader> {
        RowHeader::store(picture, self.channels, number, self.room)
    }
}

/// A [`RowHeader`]: which part of a stored picture becomes the row's, as a transform decides it.
pub(crate) struct StoredPicture {
    pub(crate) crops: StoreCrops,
    /// Width and height of the picture in each row of the store.
    pub(crate) sizes: Arc<OnceLock<Vec<[u32; 2]>>>,
    pub(crate) format: Format,
}

impl Decode for StoredPicture {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![RowHeader::BYTES])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let number = self.crops.rows.of(sample.ordinal)?;
        let found = self.sizes.get().and_then(|sizes| sizes.get(number as usize).copied());
        let [width, height] = found.unwrap_or_default();
        let size = ImageSize::new(width, height);
        let placement = self.crops.place(sample, size)?;
        let area = placement.area.into();
        let picture = RowPicture { format: self.format, size, area, flip: placement.flip };
        row.put(bytemuck::bytes_of(&self.crops.header(picture, number)?))
    }
}

impl fmt::Debug for StoreRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({:?} samples)", self.0.get().map(Vec::len))
    }
}
