//! Rows that refer to data in device memory. An epoch of a resident data set writes them instead of pictures and
//! numbers. Reads no part of a sample.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{ImageSize, Placement, Random, Transform};
use tarflume_transforms::Shape;
use tarflume_transforms::actions::Action;
use tarflume_transforms::device_list::{self, LIST_BYTES};
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::hybrid::pictures::StoredChanges;
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
    /// What a recipe does behind the crop, if `transform` is one that does more.
    pub(crate) changes: Option<StoredChanges>,
}

impl StoreCrops {
    /// Where the transform places the crop of a sample's picture, which has size `size`.
    pub(super) fn place(&self, sample: &Sample<'_>, size: ImageSize) -> Result<Placement> {
        let placement = match &self.changes {
            Some(StoredChanges { recipe, .. }) => {
                recipe.placement(sample.seed, self.stream, self.shape_of(size))?
            }
            None => self.transform.place(size, &mut Random::stream(sample.seed, self.stream))?,
        };
        placement.check(size)?;
        Ok(placement)
    }

    fn shape_of(&self, size: ImageSize) -> Shape {
        Shape { size, channels: self.channels }
    }

    /// Bytes of a row: a header, and a list if the device changes pixels.
    pub(super) fn row_bytes(&self) -> usize {
        RowHeader::BYTES + self.changes.as_ref().map_or(0, |_| LIST_BYTES)
    }

    /// Writes a row: the header, and what the device does with the picture of size `size` once it is placed as `placed`.
    pub(super) fn write(
        &self,
        sample: &Sample<'_>,
        head: &RowHeader,
        size: ImageSize,
        placed: ImageSize,
        mut row: Row<'_>,
    ) -> Result<()> {
        let Some(StoredChanges { recipe, values }) = &self.changes else {
            return row.put(bytemuck::bytes_of(head));
        };
        let (to, list) = row.bytes().split_at_mut(RowHeader::BYTES);
        to.copy_from_slice(bytemuck::bytes_of(head));
        recipe.with_rest(sample.seed, self.stream, self.shape_of(size), |actions| {
            let on_host =
                device_list::write(actions, self.shape_of(placed), *values, usize::MAX, list)?;
            if on_host == 0 { Ok(()) } else { Err(of_the_host(&actions[on_host - 1])) }
        })
    }

    /// The header of a picture in row `number` of the store.
    pub(super) fn header(&self, picture: RowPicture, number: u64) -> Result<RowHeader> {
        RowHeader::store(picture, self.channels, number, self.room)
    }
}

/// The error for an action that only the host can do, which has no pixels of a stored picture.
fn of_the_host(action: &Action) -> Error {
    Error::usage(format!(
        "pictures stored on a device are changed there alone, and it cannot do all that was drawn up to {action:?}: use a \
         recipe of fewer operations, or a loader without Resident (`Residency`)"
    ))
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
        RowShape::Fixed(DType::U8, vec![self.crops.row_bytes()])
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let number = self.crops.rows.of(sample.ordinal)?;
        let found = self.sizes.get().and_then(|sizes| sizes.get(number as usize).copied());
        let [width, height] = found.unwrap_or_default();
        let size = ImageSize::new(width, height);
        let placement = self.crops.place(sample, size)?;
        let area = placement.area.into();
        let picture = RowPicture { format: self.format, size, area, flip: placement.flip };
        let head = self.crops.header(picture, number)?;
        self.crops.write(sample, &head, size, placement.size, row)
    }
}

impl fmt::Debug for StoreRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({:?} samples)", self.0.get().map(Vec::len))
    }
}
