//! `Work`: what the device makes of a batch in its slot before anybody sees it. Which columns, where what
//! becomes of them stands, and by which kernels.
//!
//! Arithmetic alone: addresses are numbers here, and a driver launches what is listed.

use super::finish::{Element, Finish, Pictures};
use super::kernel;
use super::launch::Launch;
use crate::column::{DType, RowShape};
use crate::decode::geometry::Size;
use crate::error::{Error, Result};
use crate::slab::Layout;

/// What stands in a slot begins at multiples of so many bytes, as what a device gives out does.
const ALIGNED: usize = 256;

/// A column as it is on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
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
    /// Where its rows begin in the batch.
    from: usize,
    pictures: Pictures,
    finish: Finish,
    finished: Finished,
}

/// What the device makes of every batch.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pieces: Vec<Piece>,
    /// Of a slot: the batch, and behind it what is made of it.
    bytes: usize,
}

impl Work {
    /// Nothing but the copy of a batch.
    pub(crate) fn none(layout: &Layout) -> Work {
        Work { pieces: Vec::new(), bytes: layout.fixed_bytes() }
    }

    /// Finishes these columns, by their numbers in the slab.
    ///
    /// # Errors
    /// A column holds no pictures, or the slot is too large to address.
    pub(crate) fn new(
        layout: &Layout,
        columns: impl IntoIterator<Item = (usize, String, Finish)>,
    ) -> Result<Work> {
        let mut work = Work::none(layout);
        for (number, name, finish) in columns {
            let piece = work.piece(layout, number, name, finish)?;
            work.bytes = piece.finished.place + finish.output_bytes(&piece.pictures);
            work.pieces.push(piece);
        }
        Ok(work)
    }

    fn piece(&self, layout: &Layout, number: usize, name: String, finish: Finish) -> Result<Piece> {
        let (Some(from), RowShape::Fixed(DType::U8, shape)) =
            (layout.place(number), &layout.shapes()[number])
        else {
            return Err(Error::usage(format!("column '{name}' holds no pictures of one size")));
        };
        let &[height, width, channels] = &shape[..] else {
            return Err(Error::usage(format!("column '{name}' holds no pictures: {shape:?}")));
        };
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let size = Size::new(side(width), side(height));
        let pictures =
            Pictures::new(layout.rows(), size, channels).map_err(|e| e.of_column(&name))?;
        let [_, shape @ ..] = finish.shape(&pictures);
        let finished = Finished {
            place: self.bytes.next_multiple_of(ALIGNED),
            dtype: dtype(finish.element()),
            shape: shape.to_vec(),
        };
        Ok(Piece { name, from, pictures, finish, finished })
    }

    /// Bytes of a slot.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The column of this name, if something was made of it.
    pub(crate) fn finished(&self, name: &str) -> Option<&Finished> {
        self.pieces.iter().find(|piece| piece.name == name).map(|piece| &piece.finished)
    }

    /// What is launched behind the copy of `rows` rows into the slot at `slot`.
    pub(crate) fn launches(&self, slot: u64, rows: usize) -> impl Iterator<Item = Launch> + '_ {
        let pieces = self.pieces.iter().filter(move |_| rows > 0);
        pieces.filter_map(move |piece| {
            let pictures = piece.pictures.with_rows(rows).ok()?;
            let (from, to) = (slot + piece.from as u64, slot + piece.finished.place as u64);
            Some(kernel::finish_launch(&piece.finish, &pictures, from, None, to))
        })
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
