//! `ColumnTransforms`: what recipes drew for the rows of a batch, from columns that a loader keeps for it.
//!
//! Draws depend on a seed and on the size of the picture, so three numbers a row are kept, and the recipe draws again.

use std::sync::Arc;

use tarflume_device::batch::Batch;
use tarflume_formats::message;
use tarflume_formats::message::Phrase;
use tarflume_image::ImageSize;
use tarflume_transforms::actions::Action;
use tarflume_transforms::copy_paste::PastedRow;
use tarflume_transforms::mixing::MixedRow;
use tarflume_transforms::mosaic::MosaicRow;
use tarflume_transforms::{Interpolation, Shape};
use tarflume_types::{Error, Result};

use crate::decode::{ColumnRecipe, Decode, DecodeHooks};
use crate::loader::pipeline::columns::Columns;
use crate::loader::pipeline::mixer::mosaicker::{mosaic_column, mosaic_row};
use crate::loader::pipeline::mixer::paster::{paste_column, pasted_row};
use crate::loader::pipeline::mixer::{mix_column, mixed_row};

/// What was drawn for the rows of a column of pictures; see
/// [`LoaderBuilder::keep_transforms`](crate::LoaderBuilder::keep_transforms).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnTransforms {
    /// The column.
    pub column: String,
    /// Its rows.
    pub rows: Vec<RowTransforms>,
}

/// What was drawn for one row.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RowTransforms {
    /// What changed the picture, in order, on the upright picture in its full size.
    /// [`apply`](crate::transforms::apply) replays them.
    pub actions: Vec<Action>,
    /// Of which rows of its batch the row is a mosaic, after that.
    pub mosaic: Option<MosaicRow>,
    /// Which objects of another row of its batch were pasted over it, after that.
    pub pasted: Option<PastedRow>,
    /// How the row was mixed with another one of its batch, after that.
    pub mixed: Option<MixedRow>,
}

/// The name of the column that has the seeds and sizes of column `name`.
fn draws_column(name: &str) -> String {
    format!("{name}_draws")
}

/// The recipe of a column whose draws are kept. A recipe for buckets has another size in each of them.
fn recipe(decode: &dyn Decode) -> Option<ColumnRecipe<'_>> {
    let hooks = decode.hooks().filter(|hooks| !hooks.lacks_bucket());
    hooks.and_then(DecodeHooks::recipe)
}

/// The columns to be kept for `columns`: one for each that has a recipe.
pub(crate) fn kept_columns(columns: &Columns) -> Columns {
    let kept = columns.iter().filter_map(|(name, decode)| {
        let ColumnRecipe { draws, .. } = recipe(decode)?;
        Some((draws_column(name), draws))
    });
    kept.collect()
}

/// What was drawn for a batch of a loader with `columns`.
///
/// # Errors
/// Returns an error if the loader did not keep it, or if the batch is of another loader.
pub(crate) fn drawn<'a>(
    batch: &Batch,
    columns: impl Iterator<Item = (&'a str, &'a dyn Decode)>,
) -> Result<Vec<ColumnTransforms>> {
    let mut drawn = Vec::new();
    for (name, decode) in columns {
        if let Some(of) = recipe(decode) {
            drawn.push(drawn_of(batch, name, &of)?);
        }
    }
    if drawn.is_empty() {
        return Err(Error::usage(
            "no column keeps what it drew: only columns with a recipe and one picture a row do, not views, crops and buckets",
        ));
    }
    Ok(drawn)
}

fn drawn_of(batch: &Batch, name: &str, of: &ColumnRecipe<'_>) -> Result<ColumnTransforms> {
    let kept = batch.column(&draws_column(name)).map_err(|_| {
        Error::usage(message!(
            "the loader did not keep what was drawn for column '{name}': make it with {keep}";
            keep = Phrase::KeepTransforms
        ))
    })?;
    let mosaics = batch.column(&mosaic_column(name)).ok();
    let pastes = batch.column(&paste_column(name)).ok();
    let mixes = batch.column(&mix_column(name)).ok();
    let rows = (0..batch.len()).map(|row| {
        let (numbers, boxes) = facts(kept.row_elements::<u64>(row)?);
        let [seed, height, width] = numbers;
        let size = ImageSize::new(width as u32, height as u32);
        let mut actions = Vec::new();
        let shape = Shape { size, channels: of.channels };
        let boxes = of.recipe.needs_boxes().then_some(&boxes[..]);
        of.recipe.draw_with(seed, 0, shape, boxes, &mut actions)?;
        if let Some(interpolation) = of.interpolation {
            let placed = of.recipe.placed(seed, 0, shape, &actions);
            set_interpolation(&mut actions[..placed], interpolation);
        }
        let mixed = mixes.map(|mixes| mixes.row_elements(row).map(|facts| mixed_row(row, facts)));
        let mosaic = mosaics.map(|kept| kept.row_elements(row).map(|facts| mosaic_row(row, facts)));
        let mosaic = mosaic.transpose()?.flatten();
        let pasted = pastes.map(|kept| kept.row_elements(row).map(|facts| pasted_row(row, facts)));
        let pasted = pasted.transpose()?.flatten();
        Ok(RowTransforms { actions, mosaic, pasted, mixed: mixed.transpose()?.flatten() })
    });
    Ok(ColumnTransforms { column: name.to_string(), rows: rows.collect::<Result<_>>()? })
}

/// The seed, the height and the width of a kept row, and the boxes behind them, if the recipe draws with boxes.
fn facts(row: &[u64]) -> ([u64; 3], Vec<[f64; 4]>) {
    let (first, boxes) = row.split_at(row.len().min(3));
    let numbers = first.try_into().unwrap_or([0; 3]);
    let (boxes, _) = boxes.as_chunks::<4>();
    (numbers, boxes.iter().map(|numbers| numbers.map(f64::from_bits)).collect())
}

/// Sets the interpolation of the resize among actions that are part of decoding.
fn set_interpolation(placed: &mut [Action], interpolation: Interpolation) {
    for action in placed {
        if let Action::Resize(resize) = action {
            resize.interpolation = interpolation;
        }
    }
}

/// What was drawn for a batch of a loader that was made with these columns: for programs that have a batch and no loader.
///
/// # Errors
/// Returns an error if the loader did not keep it.
pub fn drawn_for(
    batch: &Batch,
    columns: &[(String, Arc<dyn Decode>)],
) -> Result<Vec<ColumnTransforms>> {
    drawn(batch, columns.iter().map(|(name, decode)| (name.as_str(), &**decode)))
}
