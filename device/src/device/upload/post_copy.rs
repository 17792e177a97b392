//! `PostCopy`: the kernels that the device runs on a batch in its slot after the copy: columns, output positions and
//! launches.
//!
//! Pure: computes addresses and launch parameters only; a driver launches them.

use std::sync::Arc;

use tarflume_image::ImageSize;
use tarflume_image::convert::{Finish, Pictures, PixelElement};
use tarflume_image::row_header::RowHeader;
use tarflume_types::{DType, Error, Result, RowShape};

use crate::device::driver::CopySpan;
use crate::device::kernels::args::{self, Strided};
use crate::device::kernels::launch::Launch;
use crate::device::memory::row_store::RowStore;
use crate::device::upload::spans::{self, HeaderRows};
use crate::slab::SlabLayout;

/// Alignment of outputs in a slot in bytes, equal to that of device allocations.
const ALIGNED: usize = 256;

/// The computation of a column on the device.
#[derive(Debug, Clone)]
pub enum ColumnWork {
    /// Converts rows of u8 `[height, width, channels]`.
    Finished(Finish),
    /// Draws rows that begin with a [`RowHeader`], and the store that they may refer to, as pictures of this size.
    Drawn {
        /// The conversion of the drawn pixels.
        finish: Finish,
        /// The size of the output.
        size: ImageSize,
        /// Channels of the pixels: 1, 3 or 4.
        channels: usize,
        /// The rows that stay on the device, if there are any.
        store: Option<Arc<RowStore>>,
    },
    /// Applies a list of actions to the pixels of each row, and finishes and mixes the results. Rows are u8: a list, then
    /// pixels; or a [`RowHeader`] of a stored picture, which is drawn first, then a list.
    Changed {
        /// The conversion of the changed pixels.
        finish: Finish,
        /// The size of the pictures.
        size: ImageSize,
        /// Channels of the pixels: 1 or 3.
        channels: usize,
        /// Bytes of a list.
        list: usize,
        /// The rows that stay on the device, if pictures are drawn from them.
        drawn: Option<Arc<RowStore>>,
    },
    /// Replaces rows of one u64 by the store's rows of these numbers.
    Gathered {
        /// The rows that stay on the device.
        store: Arc<RowStore>,
        /// The element type of a row.
        dtype: DType,
        /// The shape of a row.
        shape: Vec<usize>,
    },
}

/// A column as computed on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputColumn {
    /// Offset in a slot in bytes.
    pub(crate) place: usize,
    pub(crate) dtype: DType,
    /// The shape of one row.
    pub(crate) shape: Vec<usize>,
}

/// The computation of one column, with its input and output.
#[derive(Debug, Clone)]
struct ColumnPiece {
    name: String,
    /// Offset of its rows in the batch, and bytes of one row.
    from: (usize, usize),
    make: ColumnWork,
    /// The shape of the output, if it is pictures.
    pictures: Option<Pictures>,
    made: OutputColumn,
    /// Offset in a slot in bytes of the memory for changed pictures, and of that for drawn ones, if the work needs them.
    scratch: usize,
    drawn: usize,
}

/// The computations on every batch.
#[derive(Debug, Clone)]
pub struct PostCopy {
    pieces: Vec<ColumnPiece>,
    /// The columns of rows with a header that are copied in part, in their order.
    headed: Vec<HeaderRows>,
    /// Bytes of a slot: the batch, followed by the outputs.
    bytes: usize,
}

impl PostCopy {
    /// The computations on these columns, given by their numbers in the slab.
    ///
    /// # Errors
    /// Returns an error if a column's rows do not have the required shape, or the slot is too large to address.
    pub fn new(
        layout: &SlabLayout,
        columns: impl IntoIterator<Item = (usize, String, ColumnWork)>,
    ) -> Result<PostCopy> {
        let mut work =
            PostCopy { pieces: Vec::new(), headed: Vec::new(), bytes: layout.fixed_bytes() };
        for (number, name, make) in columns {
            let place = work.bytes.next_multiple_of(ALIGNED);
            let piece = piece(layout, number, name.clone(), make, place);
            let (piece, bytes) = piece.map_err(|error| error.of_column(&name))?;
            let all = bytes.and_then(|bytes| place.checked_add(bytes));
            work.bytes = all.ok_or_else(too_large)?;
            work.headed.extend(piece.headed());
            work.pieces.push(piece);
        }
        work.headed.sort_by_key(|column| column.at);
        Ok(work)
    }

    /// Bytes of a slot.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The computed column of this name, if there is one.
    pub(crate) fn made(&self, name: &str) -> Option<&OutputColumn> {
        self.pieces.iter().find(|piece| piece.name == name).map(|piece| &piece.made)
    }

    /// The parts of a batch of `rows` rows that are copied, of its fixed columns.
    pub(crate) fn spans(&self, fixed: &[u8], rows: usize) -> Vec<CopySpan> {
        spans::used(fixed, rows, &self.headed)
    }

    /// The launches after the copy of `rows` rows into the slot at address `slot`.
    pub(crate) fn launches(
        &self,
        slot: u64,
        rows: usize,
    ) -> impl Iterator<Item = Result<Launch>> + '_ {
        let pieces = self.pieces.iter().filter(move |_| rows > 0);
        pieces.flat_map(move |piece| piece.launches(slot, rows))
    }
}

/// The computation of a column, and the bytes of its output.
fn piece(
    layout: &SlabLayout,
    number: usize,
    name: String,
    make: ColumnWork,
    place: usize,
) -> Result<(ColumnPiece, Option<usize>)> {
    let start = layout.place(number).ok_or_else(no_rows)?;
    let shape = &layout.shapes()[number];
    let from = (start, shape.bytes().ok_or_else(no_rows)?);
    let pictures = match (&make, shape) {
        (ColumnWork::Finished(_), RowShape::Fixed(DType::U8, row)) => {
            let &[height, width, channels] = &row[..] else { return Err(no_rows()) };
            Some(Pictures::new(layout.rows(), ImageSize::new(side(width), side(height)), channels)?)
        }
        (ColumnWork::Drawn { size, channels, .. }, _)
            if from.1 >= RowHeader::BYTES && from.1 % 16 == 0 =>
        {
            Some(Pictures::new(layout.rows(), *size, *channels)?)
        }
        (ColumnWork::Changed { size, channels, list, drawn, .. }, _) if from.1 % 16 == 0 => {
            let pictures = Pictures::new(layout.rows(), *size, *channels)?;
            let beside = drawn.as_ref().map_or(pictures.row_bytes(), |_| RowHeader::BYTES);
            if from.1.checked_sub(*list).is_none_or(|room| room < beside) {
                return Err(no_rows());
            }
            Some(pictures)
        }
        (ColumnWork::Gathered { .. }, RowShape::Fixed(DType::U64, row)) if row.is_empty() => None,
        _ => return Err(no_rows()),
    };
    let (dtype, shape, bytes) = match (&make, &pictures) {
        (
            ColumnWork::Finished(finish)
            | ColumnWork::Drawn { finish, .. }
            | ColumnWork::Changed { finish, .. },
            Some(pictures),
        ) => {
            let [_, shape @ ..] = finish.shape(pictures);
            (dtype(finish.element()), shape.to_vec(), Some(finish.output_bytes(pictures)))
        }
        (ColumnWork::Gathered { dtype, shape, .. }, _) => {
            let row = RowShape::Fixed(*dtype, shape.clone()).bytes();
            (*dtype, shape.clone(), row.and_then(|row| row.checked_mul(layout.rows())))
        }
        _ => return Err(no_rows()),
    };
    let made = OutputColumn { place, dtype, shape };
    let [mut scratch, mut drawn] = [place; 2];
    let mut bytes = bytes;
    if let (ColumnWork::Changed { drawn: store, .. }, Some(pictures)) = (&make, &pictures) {
        let changed = changed_bytes(pictures, layout.rows());
        let of_output = bytes.and_then(|bytes| bytes.checked_next_multiple_of(ALIGNED));
        let behind = of_output.zip(changed).and_then(|(one, other)| one.checked_add(other));
        // What is drawn comes behind what is changed.
        let of_drawn = if store.is_some() { changed } else { Some(0) };
        bytes = behind.zip(of_drawn).and_then(|(one, other)| one.checked_add(other));
        let end = bytes.and_then(|bytes| place.checked_add(bytes)).ok_or_else(too_large)?;
        drawn = end - of_drawn.unwrap_or(0);
        scratch = drawn - changed.unwrap_or(0);
    }
    Ok((ColumnPiece { name, from, make, pictures, made, scratch, drawn }, bytes))
}

fn too_large() -> Error {
    Error::usage("the batch is too large for a device")
}

/// Bytes of all changed pictures.
fn changed_bytes(pictures: &Pictures, rows: usize) -> Option<usize> {
    changed_stride(pictures).checked_mul(rows)?.checked_next_multiple_of(ALIGNED)
}

/// Bytes from one changed picture to the next.
fn changed_stride(pictures: &Pictures) -> usize {
    pictures.row_bytes().next_multiple_of(16)
}

fn side(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn no_rows() -> Error {
    Error::usage("a device cannot process rows of this shape")
}

impl ColumnPiece {
    fn pictures(&self, rows: usize) -> Result<Pictures> {
        match &self.pictures {
            Some(pictures) => pictures.with_rows(rows),
            None => Err(Error::usage("no pictures")),
        }
    }

    /// The launches for `rows` rows, in their order.
    fn launches(&self, slot: u64, rows: usize) -> impl Iterator<Item = Result<Launch>> + use<> {
        let [draw, change] = match &self.make {
            ColumnWork::Changed { list, drawn: None, .. } => {
                [None, Some(self.change(slot, rows, self.from.0 + list, self.from.1))]
            }
            ColumnWork::Changed { drawn: Some(store), .. } => {
                let stride = self.pictures(rows).map(|pictures| pictures.row_bytes());
                let change = stride.and_then(|each| self.change(slot, rows, self.drawn, each));
                [Some(self.draw(slot, rows, store)), Some(change)]
            }
            _ => [None, None],
        };
        draw.into_iter().chain(change).chain([self.launch(slot, rows)])
    }

    /// The launch that changes pictures, whose pixels begin at offset `place` of a slot.
    fn change(&self, slot: u64, rows: usize, place: usize, stride: usize) -> Result<Launch> {
        let pictures = self.pictures(rows)?;
        let from = Strided { at: slot + place as u64, stride: stride as u64 };
        args::change_launch(self.lists(slot), from, self.changed(slot, &pictures), &pictures)
    }

    /// The launch that draws stored pictures as bytes.
    fn draw(&self, slot: u64, rows: usize, store: &RowStore) -> Result<Launch> {
        let pictures = self.pictures(rows)?;
        let heads = slot + self.from.0 as u64;
        let stride = self.from.1 as u64;
        let out = slot + self.drawn as u64;
        args::draw_launch(&Finish::bytes(), heads, stride, Some(store.store()), &pictures, out)
    }

    /// Its rows, if they begin with a header behind which little may be.
    fn headed(&self) -> Option<HeaderRows> {
        let ColumnWork::Drawn { channels, .. } = &self.make else { return None };
        let pictures = self.pictures.as_ref()?;
        let (at, stride) = self.from;
        Some(HeaderRows { at, stride, capacity: pictures.rows(), channels: *channels })
    }

    /// The lists of the rows.
    fn lists(&self, slot: u64) -> Strided {
        let head = match &self.make {
            ColumnWork::Changed { drawn: Some(_), .. } => RowHeader::BYTES,
            _ => 0,
        };
        Strided { at: slot + (self.from.0 + head) as u64, stride: self.from.1 as u64 }
    }

    /// The changed pictures.
    fn changed(&self, slot: u64, pictures: &Pictures) -> Strided {
        let stride = changed_stride(pictures) as u64;
        Strided { at: slot + self.scratch as u64, stride }
    }

    /// The launch that writes the output.
    fn launch(&self, slot: u64, rows: usize) -> Result<Launch> {
        let from = slot + self.from.0 as u64;
        let out = slot + self.made.place as u64;
        match &self.make {
            ColumnWork::Finished(finish) => {
                Ok(args::finish_launch(finish, &self.pictures(rows)?, from, None, out))
            }
            ColumnWork::Changed { finish, .. } => {
                let pictures = self.pictures(rows)?;
                let changed = self.changed(slot, &pictures);
                args::deliver_launch(finish, self.lists(slot), changed, &pictures, out)
            }
            ColumnWork::Drawn { finish, store, .. } => {
                let store = store.as_ref().map(|kept| kept.store());
                args::draw_launch(
                    finish,
                    from,
                    self.from.1 as u64,
                    store,
                    &self.pictures(rows)?,
                    out,
                )
            }
            ColumnWork::Gathered { store, .. } => {
                let store = store.store();
                let row_bytes = store.stride as usize;
                Ok(args::gather_launch(store.at, store.rows, from, rows, row_bytes, out))
            }
        }
    }
}

fn dtype(element: PixelElement) -> DType {
    match element {
        PixelElement::U8 => DType::U8,
        PixelElement::F16 => DType::F16,
        PixelElement::Bf16 => DType::Bf16,
        PixelElement::F32 => DType::F32,
    }
}
