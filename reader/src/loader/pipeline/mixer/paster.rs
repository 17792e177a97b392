//! `Paster`: pastes objects of other rows of a closed batch over its pictures, behind mosaics and before rows are mixed.
//!
//! Draws depend on the seed, the epoch, and where the batch is in it: not on threads or on where a job was resumed. Rows
//! that hold a substitute or are padding get no objects and give none.

mod kept;
mod objects;
mod wanted;

use tarflume_device::batch::Content;
use tarflume_transforms::CopyPaste;
use tarflume_transforms::copy_paste::{PastePlan, PastedPictures};
use tarflume_types::{DType, Result};

use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::mixer::batch_draws::{
    batch_key, mixed_column, number_of, of_pictures, takers,
};

use self::kept::{keep, words};
use self::objects::{PasteLists, PastedObjects};
use self::wanted::{OPTION, WantedColumns};

pub(crate) use self::kept::{paste_column, pasted_row};

/// The column of what was drawn, if that is kept. Each row has objects of `samples` samples at most.
///
/// # Errors
/// A setting is wrong, or a column is missing or cannot follow.
pub(crate) fn added_columns(
    copy_paste: &CopyPaste,
    columns: &Columns,
    samples: usize,
    keep: bool,
) -> Result<Columns> {
    copy_paste.validate()?;
    let decoders = columns.iter().map(|(name, decode)| (name.as_str(), &**decode));
    let wanted = WantedColumns::find(copy_paste, decoders)?;
    if !keep {
        return Ok(Vec::new());
    }
    let shape = vec![1 + words(wanted.most.saturating_mul(samples))];
    Ok(vec![mixed_column(paste_column(&copy_paste.image), DType::U64, shape)])
}

/// What a paster needs for a batch. It is reused for later batches.
#[derive(Debug, Default)]
pub(crate) struct PasteWorkspace {
    plan: PastePlan,
    lists: PasteLists,
    /// A copy of a picture.
    picture: Vec<u8>,
}

/// Pastes objects over the pictures of a loader.
pub(crate) struct Paster {
    copy_paste: CopyPaste,
    seed: u64,
    /// The number of the column of pictures in the slab.
    image: usize,
    pictures: PastedPictures,
    objects: PastedObjects,
    /// The number of the column of what was drawn, if that is kept.
    kept: Option<usize>,
}

impl Paster {
    /// The paster of batches of `columns`, to which [`added_columns`] were added. Makes room for the pasted objects, of
    /// rows that have objects of `samples` samples before.
    ///
    /// # Errors
    /// Objects cannot be pasted over the rows of a column, or a column cannot follow.
    pub(crate) fn new(
        copy_paste: CopyPaste,
        columns: &mut ColumnSet,
        samples: usize,
        keep: bool,
    ) -> Result<Paster> {
        let wanted = WantedColumns::find(&copy_paste, columns.decoders())?;
        let image = number_of(columns, &copy_paste.image);
        let pictures = of_pictures(OPTION, columns, image, PastedPictures::new)?;
        let objects = PastedObjects::new(&copy_paste, pictures.size(), wanted);
        // Of the row itself and of its partner, and of the row before: see `Slab::replace_rows`.
        columns.make_room_for(3 * samples as u64, objects.columns());
        let kept = keep.then(|| number_of(columns, &paste_column(&copy_paste.image)));
        Ok(Paster { copy_paste, seed: 0, image, pictures, objects, kept })
    }

    /// Sets the seed of the draws.
    pub(crate) fn seeded(self, seed: u64) -> Paster {
        Paster { seed, ..self }
    }

    /// Bytes of memory for a batch, without those of the objects, whose columns have room for them.
    pub(crate) fn batch_bytes(&self, columns: &ColumnSet) -> u64 {
        let row = (self.objects.cover_bytes() + PastePlan::ROW_BYTES) as u64;
        let rows = (columns.layout.rows() as u64).saturating_mul(row);
        rows.saturating_add(self.pictures.row_bytes() as u64)
    }

    /// Pastes objects over the rows of a sealed batch, whose first row is the sample at position `first` of the epoch. Returns
    /// the bytes of the pictures.
    pub(crate) fn paste(
        &self,
        content: &mut Content,
        workspace: &mut PasteWorkspace,
        first: u64,
    ) -> u64 {
        let key = batch_key(content, self.seed, b"paste   ", first);
        let PasteWorkspace { plan, lists, picture } = workspace;
        plan.draw(&self.copy_paste, key, takers(&content.facts));
        let Content { slab, .. } = content;
        self.objects.choose(slab, plan.rows(), lists);
        self.paste_pictures(slab.column_mut(self.image), lists, picture);
        if !lists.is_empty() {
            self.objects.paste(slab, lists);
        }
        if let Some(column) = self.kept {
            keep(slab, lists, column);
        }
        slab.column(self.image).len() as u64
    }

    /// Changes the pictures of a column. `copy` is memory for a picture.
    fn paste_pictures(&self, column: &mut [u8], lists: &PasteLists, copy: &mut Vec<u8>) {
        let rows = lists.rows();
        let [Some(first), Some(last)] = [rows.first(), rows.last()] else { return };
        let bytes = self.pictures.row_bytes();
        // All others are partners before they are changed: see `PastePlan::rows`.
        let is_cycle = last.partner == first.row;
        if is_cycle {
            copy.clear();
            copy.extend_from_slice(&column[first.row * bytes..][..bytes]);
        }
        for pasted in rows {
            let cover = lists.cover(pasted);
            if is_cycle && pasted.row == last.row {
                let to = &mut column[pasted.row * bytes..][..bytes];
                self.pictures.paste_row(copy, to, cover);
            } else {
                self.pictures.paste(column, pasted.row, pasted.partner, cover);
            }
        }
    }
}
