//! `Mosaicker`: makes mosaics of the rows of a closed batch, before they are mixed, and moves what lies on their pictures.
//!
//! Draws depend on the seed, the epoch, and where the batch is in it: not on threads or on where a job was resumed. Rows
//! that hold a substitute or are padding become no mosaics and are in none.

mod objects;
mod rotated;

use tarflume_device::batch::Content;
use tarflume_device::slab::Slab;
use tarflume_transforms::Mosaic;
use tarflume_transforms::mosaic::{MosaicPlan, MosaicRow, TILES, TiledRows};
use tarflume_types::{DType, Error, Result};

use crate::decode::DecodeHooks;
use crate::decode::values::on_picture::PictureRows;
use crate::loader::pipeline::columns::{ColumnSet, Columns};
use crate::loader::pipeline::mixer::batch_draws::{
    batch_key, mixed_column, number_of, of_pictures, picture_of, takers,
};
use crate::loader::pipeline::mixer::object_form::ObjectColumn;

use self::objects::{MovedObjects, ObjectLists};

/// The name of the option in errors.
const OPTION: &str = "Mosaic";

/// Of each row: its sources and where they meet; `u32::MAX` of a row that is no mosaic.
type KeptMosaic = [u32; TILES + 2];

/// The name of the column that has [`KeptMosaic`] of the rows of column `image`.
pub(crate) fn mosaic_column(image: &str) -> String {
    format!("{image}_mosaic")
}

/// How row `row` became a mosaic; `None` if it did not.
pub(crate) fn mosaic_row(row: usize, kept: &[u32]) -> Option<MosaicRow> {
    let [first, second, third, fourth, x, y] = *kept.as_array::<{ TILES + 2 }>()?;
    let sources = [first, second, third, fourth].map(|source| source as usize);
    (first != u32::MAX).then_some(MosaicRow { row, sources, center: [x, y] })
}

/// The column of what was drawn, if that is kept.
///
/// # Errors
/// A setting is wrong, or there is no such column of pictures.
pub(crate) fn added_columns(mosaic: &Mosaic, columns: &Columns, keep: bool) -> Result<Columns> {
    mosaic.validate()?;
    let decoders = columns.iter().map(|(name, decode)| (name.as_str(), &**decode));
    picture_of(OPTION, &mosaic.image, decoders)?;
    let column = mosaic_column(&mosaic.image);
    Ok(if keep { vec![mixed_column(column, DType::U32, vec![TILES + 2])] } else { Vec::new() })
}

/// A column of pictures or of planes, by its number in the slab.
struct Pictures {
    column: usize,
    rows: TiledRows,
}

/// What a mosaicker needs for a batch. It is reused for later batches.
#[derive(Debug, Default)]
pub(crate) struct MosaicWorkspace {
    plan: MosaicPlan,
    /// A copy of a column.
    copy: Vec<u8>,
    objects: ObjectLists,
}

/// Makes mosaics of the batches of a loader.
pub(crate) struct Mosaicker {
    mosaic: Mosaic,
    seed: u64,
    /// The pictures first.
    pictures: Vec<Pictures>,
    /// One for each group of columns with the same objects.
    objects: Vec<MovedObjects>,
    /// The number of the column of what was drawn, if that is kept.
    kept: Option<usize>,
}

impl Mosaicker {
    /// The mosaicker of batches of `columns`, to which [`added_columns`] were added. Makes room for the objects of
    /// mosaics.
    ///
    /// # Errors
    /// The rows of a column cannot become mosaics.
    pub(crate) fn new(mosaic: Mosaic, columns: &mut ColumnSet, keep: bool) -> Result<Mosaicker> {
        let picture = picture_of(OPTION, &mosaic.image, columns.decoders())?;
        let image = number_of(columns, &mosaic.image);
        let mut pictures = vec![pictures(columns, image)?];
        let size = pictures[0].rows.size();
        let mask = TiledRows::new(DType::U8, &size.map(|side| side as usize))?;
        let mut objects: Vec<MovedObjects> = Vec::new();
        for (number, (name, decode)) in columns.decoders().enumerate() {
            let Some(on) = decode.hooks().and_then(DecodeHooks::on_picture) else { continue };
            if on.picture != picture {
                return Err(Error::usage(format!(
                    "it lies on another picture than column '{}', of which Mosaic makes mosaics: take it out of the \
                     loader, or make a loader for each picture",
                    mosaic.image
                ))
                .of_column(name));
            }
            // The keys are first in the slab.
            let column = number + 1;
            match on.rows {
                PictureRows::Picture => {}
                PictureRows::Plane => pictures.push(self::pictures(columns, column)?),
                rows => match objects.iter_mut().find(|of| of.group() == on.group) {
                    Some(of) => of.push(ObjectColumn { column, rows }),
                    None => {
                        let mut of = MovedObjects::new(on.group, mask, &mosaic);
                        of.push(ObjectColumn { column, rows });
                        objects.push(of);
                    }
                },
            }
        }
        // Of the mosaics, and of the rows before: see `Slab::replace_rows`.
        columns.make_room_for(TILES as u64 + 1, objects.iter().flat_map(MovedObjects::columns));
        let kept = keep.then(|| number_of(columns, &mosaic_column(&mosaic.image)));
        Ok(Mosaicker { mosaic, seed: 0, pictures, objects, kept })
    }

    /// Sets the seed of the draws.
    pub(crate) fn seeded(self, seed: u64) -> Mosaicker {
        Mosaicker { seed, ..self }
    }

    /// Bytes of memory for a batch, without those of the objects, whose columns have room for them.
    pub(crate) fn batch_bytes(&self, columns: &ColumnSet) -> u64 {
        let rows = columns.layout.rows() as u64;
        let largest = self.pictures.iter().map(|of| columns.layout.shapes()[of.column].bytes());
        let largest = largest.map(|bytes| bytes.unwrap_or(0) as u64).max().unwrap_or(0);
        let list = MosaicPlan::ROW_BYTES as u64;
        rows.saturating_mul(largest.saturating_add(list))
    }

    /// Makes mosaics of the rows of a sealed batch, whose first row is the sample at position `first` of the epoch. Returns
    /// the bytes of the pictures.
    ///
    /// # Errors
    /// Memory is short.
    pub(crate) fn make(
        &self,
        content: &mut Content,
        workspace: &mut MosaicWorkspace,
        first: u64,
    ) -> Result<u64> {
        let key = batch_key(content, self.seed, b"mosaic  ", first);
        let size = self.pictures[0].rows.size();
        workspace.plan.draw(&self.mosaic, key, size, takers(&content.facts));
        let Content { slab, .. } = content;
        let rows = workspace.plan.rows();
        if !rows.is_empty() {
            for Pictures { column, rows: tiled } in &self.pictures {
                tiled.lay(rows, slab.column_mut(*column), &mut workspace.copy);
            }
            for objects in &self.objects {
                objects.make(slab, rows, &mut workspace.objects);
            }
        }
        if let Some(column) = self.kept {
            keep(slab, workspace.plan.rows(), column);
        }
        Ok(slab.column(self.pictures[0].column).len() as u64)
    }
}

/// The pictures of a column.
fn pictures(columns: &ColumnSet, column: usize) -> Result<Pictures> {
    Ok(Pictures { column, rows: of_pictures(OPTION, columns, column, TiledRows::new)? })
}

/// Writes what was drawn for each row.
fn keep(slab: &mut Slab, rows: &[MosaicRow], column: usize) {
    const NONE: KeptMosaic = [u32::MAX; TILES + 2];
    for row in 0..slab.rows() {
        slab.row_mut(column, row).copy_from_slice(bytemuck::bytes_of(&NONE));
    }
    for mosaic in rows {
        let [first, second, third, fourth] = mosaic.sources.map(|source| source as u32);
        let [x, y] = mosaic.center;
        let kept: KeptMosaic = [first, second, third, fourth, x, y];
        slab.row_mut(column, mosaic.row).copy_from_slice(bytemuck::bytes_of(&kept));
    }
}
