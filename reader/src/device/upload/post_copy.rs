//! `PostCopy`: what the device makes of a batch in its slot before anybody sees it. Which columns, where what
//! becomes of them stands, and by which kernels.
//!
//! Arithmetic alone: addresses are numbers here, and a driver launches what is listed.

use std::sync::Arc;

use crate::column::{DType, RowShape};
use crate::device::kernels::args;
use crate::device::kernels::launch::Launch;
use crate::device::memory::row_store::RowStore;
use crate::error::{Error, Result};
use crate::picture::convert::{Element, Finish, Pictures};
use crate::picture::geometry::ImageSize;
use crate::picture::row_header::RowHeader;
use crate::slab::Layout;

/// What stands in a slot begins at multiples of so many bytes, as what a device gives out does.
const ALIGNED: usize = 256;

/// What the device makes of a column.
#[derive(Debug, Clone)]
pub(crate) enum Make {
    /// Of rows of u8 `[height, width, channels]`.
    Finished(Finish),
    /// Of rows that begin with a [`RowHeader`], and of the store that it may speak of: pictures of this size.
    Drawn { finish: Finish, size: ImageSize, channels: usize, store: Option<Arc<RowStore>> },
    /// Of rows of one u64: the store's row of this number.
    Gathered { store: Arc<RowStore>, dtype: DType, shape: Vec<usize> },
}

/// A column as it is on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Where it begins in a slot, in bytes.
    pub(crate) place: usize,
    pub(crate) dtype: DType,
    /// Of one row.
    pub(crate) shape: Vec<usize>,
}

/// What becomes of one column.
#[derive(Debug, Clone)]
struct Piece {
    name: String,
    /// Where its rows begin in the batch, and the bytes of one.
    from: (usize, usize),
    make: Make,
    /// What comes out, if that is pictures.
    pictures: Option<Pictures>,
    made: Made,
}

/// What the device makes of every batch.
#[derive(Debug, Clone)]
pub(crate) struct PostCopy {
    pieces: Vec<Piece>,
    /// Of a slot: the batch, and behind it what is made of it.
    bytes: usize,
}

impl PostCopy {
    /// Makes this of these columns, by their numbers in the slab.
    ///
    /// # Errors
    /// A column's rows are other than what is made of them needs, or the slot is too large to address.
    pub(crate) fn new(
        layout: &Layout,
        columns: impl IntoIterator<Item = (usize, String, Make)>,
    ) -> Result<PostCopy> {
        let mut work = PostCopy { pieces: Vec::new(), bytes: layout.fixed_bytes() };
        for (number, name, make) in columns {
            let place = work.bytes.next_multiple_of(ALIGNED);
            let piece = piece(layout, number, name.clone(), make, place);
            let (piece, bytes) = piece.map_err(|error| error.of_column(&name))?;
            let all = bytes.and_then(|bytes| place.checked_add(bytes));
            work.bytes = all.ok_or_else(|| Error::usage("a batch too large for a device"))?;
            work.pieces.push(piece);
        }
        Ok(work)
    }

    /// Bytes of a slot.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The column of this name, if something was made of it.
    pub(crate) fn made(&self, name: &str) -> Option<&Made> {
        self.pieces.iter().find(|piece| piece.name == name).map(|piece| &piece.made)
    }

    /// What is launched behind the copy of `rows` rows into the slot at `slot`.
    pub(crate) fn launches(
        &self,
        slot: u64,
        rows: usize,
    ) -> impl Iterator<Item = Result<Launch>> + '_ {
        let pieces = self.pieces.iter().filter(move |_| rows > 0);
        pieces.map(move |piece| piece.launch(slot, rows))
    }
}

/// A column's piece, and the bytes of what comes out.
fn piece(
    layout: &Layout,
    number: usize,
    name: String,
    make: Make,
    place: usize,
) -> Result<(Piece, Option<usize>)> {
    let no_rows = || Error::usage("nothing can be made of rows like these on a device");
    let (start, shape) = (layout.place(number).ok_or_else(no_rows)?, &layout.shapes()[number]);
    let from = (start, shape.bytes().ok_or_else(no_rows)?);
    let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let pictures = match (&make, shape) {
        (Make::Finished(_), RowShape::Fixed(DType::U8, row)) => {
            let &[height, width, channels] = &row[..] else { return Err(no_rows()) };
            Some(Pictures::new(layout.rows(), ImageSize::new(side(width), side(height)), channels)?)
        }
        (Make::Drawn { size, channels, .. }, _)
            if from.1 >= RowHeader::BYTES && from.1 % 16 == 0 =>
        {
            Some(Pictures::new(layout.rows(), *size, *channels)?)
        }
        (Make::Gathered { .. }, RowShape::Fixed(DType::U64, row)) if row.is_empty() => None,
        _ => return Err(no_rows()),
    };
    let (dtype, shape, bytes) = match (&make, &pictures) {
        (Make::Finished(finish) | Make::Drawn { finish, .. }, Some(pictures)) => {
            let [_, shape @ ..] = finish.shape(pictures);
            (dtype(finish.element()), shape.to_vec(), Some(finish.output_bytes(pictures)))
        }
        (Make::Gathered { dtype, shape, .. }, _) => {
            let row = RowShape::Fixed(*dtype, shape.clone()).bytes();
            (*dtype, shape.clone(), row.and_then(|row| row.checked_mul(layout.rows())))
        }
        _ => return Err(no_rows()),
    };
    let made = Made { place, dtype, shape };
    Ok((Piece { name, from, make, pictures, made }, bytes))
}

impl Piece {
    fn launch(&self, slot: u64, rows: usize) -> Result<Launch> {
        let (from, out) = (slot + self.from.0 as u64, slot + self.made.place as u64);
        let pictures = || match &self.pictures {
            Some(pictures) => pictures.with_rows(rows),
            None => Err(Error::usage("no pictures")),
        };
        match &self.make {
            Make::Finished(finish) => {
                Ok(args::finish_launch(finish, &pictures()?, from, None, out))
            }
            Make::Drawn { finish, store, .. } => {
                let store = store.as_ref().map(|kept| kept.store());
                let heads = (from, self.from.1 as u64);
                args::draw_launch(finish, heads, store, &pictures()?, out)
            }
            Make::Gathered { store, .. } => {
                let store = store.store();
                let slab = (store.at, store.rows);
                Ok(args::gather_launch(slab, from, rows, store.stride as usize, out))
            }
        }
    }
}

fn dtype(element: Element) -> DType {
    match element {
        Element::U8 => DType::U8,
        Element::F16 => DType::F16,
        Element::Bf16 => DType::Bf16,
        Element::F32 => DType::F32,
    }
}
