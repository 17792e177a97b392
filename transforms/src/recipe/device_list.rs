//! What a device does with the pixels of a row: a list of actions in the words of the kernels.
//!
//! The host draws all numbers. A device does the last actions of a sample, as many as it has kernels for and as fit into a
//! list, from the same bytes to the same bytes.

use tarflume_image::ImageSize;
use tarflume_types::{Error, Result};

use crate::actions::record::{CHANGES, Change, HEAD, Record, Records, WORDS};
use crate::actions::{Action, RowScale};
use crate::kernels::color::table::Table;
use crate::mixing::blend::BlendWeights;
use crate::mixing::{How, MixedRow};
use crate::operations::steps::Steps;
use crate::operations::{Operation, Shape};
use crate::recipe::Recipe;

/// Bytes of a list.
pub const LIST_BYTES: usize = 4 * WORDS;

/// Places in the head of a list. Those of a mix follow each other.
const PIXELS: usize = 0;
const VALUES: usize = 1;
const VALUES_AT: usize = 2;
const MIX: usize = 3;
const PARTNER: usize = 4;
const OWN: usize = 5;
const OTHER: usize = 6;
const REGION: usize = 7;

/// The names and numbers that the kernels have, too.
pub fn constants() -> Vec<(String, u32)> {
    let mut all = vec![
        ("LIST_WORDS".to_string(), WORDS as u32),
        ("LIST_HEAD".to_string(), HEAD as u32),
        ("HEAD_PIXELS".to_string(), PIXELS as u32),
        ("HEAD_VALUES".to_string(), VALUES as u32),
        ("HEAD_AT".to_string(), VALUES_AT as u32),
        ("HEAD_MIX".to_string(), MIX as u32),
        ("HEAD_PARTNER".to_string(), PARTNER as u32),
        ("HEAD_OWN".to_string(), OWN as u32),
        ("HEAD_OTHER".to_string(), OTHER as u32),
        ("HEAD_REGION".to_string(), REGION as u32),
        ("MIX_ALONE".to_string(), 0),
        ("MIX_BLEND".to_string(), 1),
        ("MIX_PASTE".to_string(), 2),
        ("SCALE_NORMALIZED".to_string(), RowScale::Normalized as u32),
        ("SCALE_ONE".to_string(), RowScale::One as u32),
        ("SCALE_BYTE".to_string(), RowScale::Byte as u32),
        ("MOST_RADIUS".to_string(), crate::actions::record::MOST_RADIUS as u32),
    ];
    all.extend(CHANGES.map(|(name, change)| (format!("CHANGE_{name}"), change as u32)));
    all
}

/// Writes the last actions of a sample as a list for a device, and returns the number of those before them, which the host
/// has to apply. `placed` is the picture before all actions. The actions in the list keep its size. With `values`, the
/// erased rectangles at the end are those of finished values of this scale, and not of pixels; the host has none of them.
/// At most `most` actions on pixels are written.
///
/// # Errors
/// Returns an error if the rectangles of finished values do not fit.
///
/// # Panics
/// Panics if the list has not [`LIST_BYTES`].
pub fn write(
    actions: &[Action],
    placed: Shape,
    values: Option<RowScale>,
    most: usize,
    list: &mut [u8],
) -> Result<usize> {
    let mut words = [0; WORDS];
    let mut records = Records::new(&mut words);
    let erased = put_values(actions, placed.size, values, &mut records)?;
    let [of_values, values_at] = records.take();
    let on_pixels = &actions[..actions.len() - erased];
    let kept = sized_alike(on_pixels, placed.size).max(on_pixels.len().saturating_sub(most));
    let on_host = put_pixels(on_pixels, kept, placed, &mut records);
    let [of_pixels, _] = records.take();
    let moved = records.settle() as u32;
    words[PIXELS] = of_pixels;
    words[VALUES] = of_values;
    words[VALUES_AT] = values_at - moved;
    words[PARTNER] = u32::MAX;
    list.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
    Ok(on_host)
}

/// Adds the rectangles of finished values. Returns their number.
fn put_values(
    actions: &[Action],
    size: ImageSize,
    values: Option<RowScale>,
    records: &mut Records<'_>,
) -> Result<usize> {
    let Some(scale) = values else { return Ok(0) };
    let mut record = Record::new();
    let erased = actions.iter().rev().map_while(|action| match action {
        Action::Erase(erase) => Some(erase),
        _ => None,
    });
    let mut count = 0;
    for erase in erased {
        erase.in_words_of(size, scale, &mut record);
        if !records.put(&record) {
            return Err(Error::usage(format!(
                "{count} erased rectangles are all that a device takes: use transforms_on=\"host\" (`TransformsOn::Host`)"
            )));
        }
        count += 1;
    }
    Ok(count)
}

/// The number of the first action from which on all keep the size of a picture of size `size`.
fn sized_alike(actions: &[Action], mut size: ImageSize) -> usize {
    let mut first = 0;
    for (at, action) in actions.iter().enumerate() {
        let next = action.size(size);
        if next != size {
            first = at + 1;
        }
        size = next;
    }
    first
}

/// Adds as many of the last actions as a device does, but none before `first`. Returns how many are before them.
fn put_pixels(actions: &[Action], first: usize, placed: Shape, records: &mut Records<'_>) -> usize {
    let size = actions.iter().fold(placed.size, |size, action| action.size(size));
    let mut record = Record::new();
    // Neighboring tables, of which none is in the list yet.
    let mut pending: Option<Table> = None;
    let mut begun = actions.len();
    for (at, action) in actions.iter().enumerate().skip(first).rev() {
        if let Some(table) = action.table() {
            pending = Some(pending.map_or(table, |next| table.map(|byte| next[usize::from(byte)])));
            continue;
        }
        if !put_table(pending.take(), records) {
            return begun;
        }
        begun = at + 1;
        record.clear();
        if !action.in_words(size, placed.channels, &mut record) || !records.put(&record) {
            return begun;
        }
        begun = at;
    }
    if put_table(pending, records) { first } else { begun }
}

fn put_table(table: Option<Table>, records: &mut Records<'_>) -> bool {
    let Some(table) = table else { return true };
    let mut record = Record::new();
    let words = table.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    record.set(Change::Table, words);
    records.put(&record)
}

/// Writes into the list of a row how it is mixed with another row of its batch.
///
/// # Panics
/// Panics if the list has not [`LIST_BYTES`].
pub fn write_mix(list: &mut [u8], mixed: &MixedRow) {
    let [own, other] = BlendWeights::new(mixed.how.lam()).parts();
    let [kind, top, left, bottom, right] = match mixed.how {
        How::Alone => [0; 5],
        How::Blend { .. } => [1, 0, 0, 0, 0],
        How::Paste { region, .. } => [2, region.top, region.left, region.bottom, region.right],
    };
    let weights = [own.to_bits(), other.to_bits()];
    let words = [kind, mixed.partner as u32, weights[0], weights[1], top, left, bottom, right];
    let head = &mut list[4 * MIX..][..4 * words.len()];
    head.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
}

/// The most rectangles of a `RandomErasing` for which a list always has room.
const MOST_RECTANGLES: u32 = 32;

/// The first operation, inside others too, that may draw what a device has no kernel for.
pub(crate) fn without_kernel(steps: &Steps) -> Option<&Operation> {
    steps.operations().iter().find_map(|operation| match operation {
        Operation::Compose(of) => without_kernel(&of.transforms),
        Operation::RandomApply(of) => without_kernel(&of.transforms),
        Operation::RandomChoice(of) => without_kernel(&of.transforms),
        Operation::RandomOrder(of) => without_kernel(&of.transforms),
        Operation::ElasticTransform(_) | Operation::JPEG(_) | Operation::AugMix(_) => {
            Some(operation)
        }
        Operation::TimmAugment(of) if of.mixes() => Some(operation),
        Operation::RandomErasing(of) if of.count[1] > MOST_RECTANGLES => Some(operation),
        _ => None,
    })
}

/// The most rectangles that all operations together may erase.
fn most_rectangles(steps: &Steps) -> u32 {
    let most = steps.operations().iter().map(|operation| match operation {
        Operation::Compose(of) => most_rectangles(&of.transforms),
        Operation::RandomApply(of) => most_rectangles(&of.transforms),
        Operation::RandomChoice(of) => most_rectangles(&of.transforms),
        Operation::RandomOrder(of) => most_rectangles(&of.transforms),
        Operation::RandomErasing(of) => of.count[1],
        _ => 0,
    });
    most.fold(0, u32::saturating_add)
}

/// The first operation behind the head, inside others too, that may change the size.
fn resizes(steps: &Steps, skip: usize) -> Option<&Operation> {
    steps.operations().iter().skip(skip).find_map(|operation| match operation {
        Operation::Compose(of) => resizes(&of.transforms, 0),
        Operation::RandomApply(of) => resizes(&of.transforms, 0),
        Operation::RandomChoice(of) => resizes(&of.transforms, 0),
        Operation::RandomOrder(of) => resizes(&of.transforms, 0),
        Operation::Pad(_)
        | Operation::RandomCrop(_)
        | Operation::CenterCrop(_)
        | Operation::RandomResizedCrop(_)
        | Operation::BucketCrop(_)
        | Operation::FiveCrop(_)
        | Operation::TenCrop(_)
        | Operation::Resize(_)
        | Operation::PatchResize(_)
        | Operation::ResizeKeepRatio(_)
        | Operation::RandomResize(_)
        | Operation::RandomShortestSize(_)
        | Operation::ScaleJitter(_)
        | Operation::FixedSizeCrop(_)
        | Operation::RandomIoUCrop(_)
        | Operation::RandomZoomOut(_) => Some(operation),
        _ => None,
    })
}

impl Recipe {
    /// The name of the first operation that may change the size of a picture that was placed.
    pub fn resizes_again(&self) -> Option<&'static str> {
        let heads = (1..=self.operations().len()).rev();
        let head = heads.map(|count| self.first(count)).find(Recipe::is_placement);
        let placing = head.map_or(0, |head| head.operations().len());
        resizes(self.steps(), placing).map(Operation::name)
    }

    /// The recipe of the first operations.
    fn first(&self, count: usize) -> Recipe {
        Recipe::new(self.operations()[..count].iter().cloned())
    }

    /// The name of the first operation for which a device has no kernel, if there is one. That is `RandomErasing`, too,
    /// where all of them together may erase more rectangles of a row than a list holds.
    pub fn without_kernel(&self) -> Option<&'static str> {
        let is_too_long = self.erases_rows() && most_rectangles(self.steps()) > MOST_RECTANGLES;
        let without = without_kernel(self.steps()).map(Operation::name);
        without.or_else(|| is_too_long.then_some("RandomErasing"))
    }
}

#[cfg(test)]
mod tests;
