//! `PastedObjects`: the objects of a row that are left, and behind them those that are pasted over it.

use std::ops::Range;

use tarflume_device::slab::{Slab, VariableRows};
use tarflume_transforms::CopyPaste;
use tarflume_transforms::copy_paste::{PasteDraw, VisiblePart, add_to_cover};
use tarflume_transforms::mixing::Region;

use super::wanted::WantedColumns;
use crate::decode::values::on_picture::PictureRows;
use crate::loader::pipeline::mixer::object_form::{
    ObjectColumn, ObjectForm, POINT, SINGLE, numbers, put,
};

/// The visibility of a point that is labelled and not seen, and that of one that is seen.
const HIDDEN: f64 = 1.0;
const SEEN: f64 = 2.0;

/// A row over which an object or more are pasted.
#[derive(Debug, Clone)]
pub(super) struct Pasted {
    pub(super) row: usize,
    pub(super) partner: usize,
    /// Where the numbers of the objects are in [`PasteLists::objects`].
    objects: Range<usize>,
    /// Where its covered pixels are in [`PasteLists::covers`].
    cover: Range<usize>,
}

/// An object of the row itself that is left.
#[derive(Debug, Clone, Copy)]
struct OwnObject {
    number: usize,
    /// Where the rest of its mask is, if it has lost pixels.
    region: Option<Region>,
}

/// The objects of a row of the batch.
#[derive(Debug, Clone)]
struct RowObjects {
    /// Where its own are in [`PasteLists::own`].
    own: Range<usize>,
    /// The number of its row in [`PasteLists::rows`].
    pasted: Option<usize>,
}

/// What is needed to paste the objects of a batch. It is reused for later batches.
#[derive(Debug, Default)]
pub(super) struct PasteLists {
    /// In the order of the plan.
    rows: Vec<Pasted>,
    objects: Vec<usize>,
    /// A byte for each pixel of each of the rows: 1 where it is that of the partner.
    covers: Vec<u8>,
    own: Vec<OwnObject>,
    /// Of all rows of the batch.
    all: Vec<RowObjects>,
    lengths: Vec<usize>,
}

impl PasteLists {
    /// Whether nothing is pasted.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows over which objects are pasted, in the order of the plan.
    pub(super) fn rows(&self) -> &[Pasted] {
        &self.rows
    }

    /// The numbers of the objects that are pasted, among those of the partner.
    pub(super) fn objects(&self, pasted: &Pasted) -> &[usize] {
        &self.objects[pasted.objects.clone()]
    }

    /// The pixels that are those of the partner.
    pub(super) fn cover(&self, pasted: &Pasted) -> &[u8] {
        &self.covers[pasted.cover.clone()]
    }
}

/// Columns with the same objects on the pictures over which objects are pasted.
pub(super) struct PastedObjects {
    copy_paste: CopyPaste,
    form: ObjectForm,
    wanted: WantedColumns,
}

impl PastedObjects {
    /// The objects of pictures of this size: height and width.
    pub(super) fn new(
        copy_paste: &CopyPaste,
        size: [u32; 2],
        wanted: WantedColumns,
    ) -> PastedObjects {
        PastedObjects { copy_paste: copy_paste.clone(), form: ObjectForm { size }, wanted }
    }

    /// The numbers of the columns in the slab.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.wanted.all.iter().map(|column| column.column)
    }

    /// Bytes for the covered pixels of a row.
    pub(super) fn cover_bytes(&self) -> usize {
        self.form.pixels()
    }

    /// Lists what is pasted over the rows of a sealed batch, and which of their own objects are left.
    pub(super) fn choose(&self, slab: &Slab, drawn: &[PasteDraw], lists: &mut PasteLists) {
        let masks = self.wanted.masks.rows_of(slab);
        lists.rows.clear();
        lists.objects.clear();
        lists.covers.clear();
        for draw in drawn {
            self.choose_objects(masks, draw, lists);
        }
        lists.own.clear();
        lists.all.clear();
        lists.all.resize(slab.rows(), RowObjects { own: 0..0, pasted: None });
        for (number, pasted) in lists.rows.iter().enumerate() {
            lists.all[pasted.row].pasted = Some(number);
        }
        for row in 0..slab.rows() {
            let start = lists.own.len();
            self.choose_own(masks, row, lists);
            lists.all[row].own = start..lists.own.len();
        }
    }

    /// Lists the objects that are drawn for a row and have a pixel. A row without one is not listed.
    fn choose_objects(&self, masks: VariableRows<'_>, draw: &PasteDraw, lists: &mut PasteLists) {
        let PasteLists { rows, objects, covers, .. } = lists;
        let pixels = self.form.pixels();
        let of_partner = masks.row(draw.partner);
        let drawn = draw.objects(&self.copy_paste, of_partner.len() / pixels);
        let start = objects.len();
        objects.extend(drawn.filter(|&object| has_pixels(mask_of(of_partner, pixels, object))));
        if objects.len() == start {
            return;
        }
        let cover = covers.len()..covers.len() + pixels;
        covers.resize(cover.end, 0);
        for &object in &objects[start..] {
            add_to_cover(&mut covers[cover.clone()], mask_of(of_partner, pixels, object));
        }
        let PasteDraw { row, partner, .. } = *draw;
        rows.push(Pasted { row, partner, objects: start..objects.len(), cover });
    }

    /// Lists the objects of a row that are left.
    fn choose_own(&self, masks: VariableRows<'_>, row: usize, lists: &mut PasteLists) {
        let [_, width] = self.form.size;
        let PasteLists { rows, covers, own, all, .. } = lists;
        let masks = masks.row(row).chunks_exact(self.form.pixels()).enumerate();
        let Some(pasted) = all[row].pasted else {
            own.extend(masks.map(|(number, _)| OwnObject { number, region: None }));
            return;
        };
        let cover = &covers[rows[pasted].cover.clone()];
        for (number, mask) in masks {
            let part = VisiblePart::new(mask, cover, width as usize);
            if part.is_none_or(|part| part.is_kept(&self.copy_paste)) {
                own.push(OwnObject { number, region: part.map(|part| part.region) });
            }
        }
    }

    /// Writes the objects of all rows of a sealed batch.
    pub(super) fn paste(&self, slab: &mut Slab, lists: &mut PasteLists) {
        let mut lengths = std::mem::take(&mut lists.lengths);
        for column in &self.wanted.all {
            slab.replace_rows(column.column, &mut lengths, |before, memory, lengths| {
                let mut written = 0;
                for (row, length) in lengths.iter_mut().enumerate() {
                    let memory = &mut memory[written..];
                    *length = self.write_row(column, row, before, lists, memory);
                    written += *length;
                }
            });
        }
        lists.lengths = lengths;
    }

    /// Writes the objects of a row to the beginning of `memory`. Returns their bytes.
    fn write_row(
        &self,
        column: &ObjectColumn,
        row: usize,
        before: VariableRows<'_>,
        lists: &PasteLists,
        memory: &mut [u8],
    ) -> usize {
        let each = self.form.bytes(column.rows);
        let RowObjects { own, pasted } = &lists.all[row];
        let pasted = pasted.map(|number| &lists.rows[number]);
        let mut objects = memory.chunks_exact_mut(each);
        let mut count = 0;
        for object in &lists.own[own.clone()] {
            let to = objects.next().expect("a loader announces the room of its objects");
            to.copy_from_slice(&before.row(row)[object.number * each..][..each]);
            if let Some(pasted) = pasted {
                self.cover_object(column.rows, *object, lists.cover(pasted), to);
            }
            count += 1;
        }
        let Some(pasted) = pasted else { return count * each };
        for &number in lists.objects(pasted) {
            let to = objects.next().expect("a loader announces the room of pasted objects");
            to.copy_from_slice(&before.row(pasted.partner)[number * each..][..each]);
            count += 1;
        }
        count * each
    }

    /// Changes an object of the row itself as the covered pixels do.
    fn cover_object(&self, rows: PictureRows, object: OwnObject, cover: &[u8], to: &mut [u8]) {
        match rows {
            PictureRows::Boxes { out, normalize } => {
                if let Some(Region { top, left, bottom, right }) = object.region {
                    let corners = [left, top, right, bottom].map(f64::from);
                    self.form.put_corners(out, normalize, corners, to);
                }
            }
            PictureRows::Points { normalize, .. } => {
                for to in to.chunks_exact_mut(POINT * SINGLE) {
                    self.cover_point(normalize, cover, to);
                }
            }
            PictureRows::Masks { .. } if object.region.is_some() => {
                for (to, cover) in to.iter_mut().zip(cover) {
                    *to = if *cover == 0 { *to } else { 0 };
                }
            }
            PictureRows::Masks { .. }
            | PictureRows::MaskBits
            | PictureRows::Rotated { .. }
            | PictureRows::Values { .. }
            | PictureRows::Picture
            | PictureRows::Plane => {}
        }
    }

    /// Hides a point that is seen and on a covered pixel.
    fn cover_point(&self, normalize: bool, cover: &[u8], to: &mut [u8]) {
        let [wide, high] = self.form.sides(normalize);
        let [height, width] = self.form.size.map(f64::from);
        let point = numbers::<POINT>(to).next();
        let [x, y, visibility] = point.expect("a point has three numbers");
        let [right, down] = [(x * wide).floor(), (y * high).floor()];
        let is_inside = (0.0..width).contains(&right) && (0.0..height).contains(&down);
        if visibility == SEEN && is_inside && cover[(down * width + right) as usize] != 0 {
            put(to, [x, y, HIDDEN]);
        }
    }
}

/// The mask of an object in a row of masks of so many pixels.
fn mask_of(row: &[u8], pixels: usize, object: usize) -> &[u8] {
    &row[object * pixels..][..pixels]
}

/// Whether a pixel of a mask is not 0.
fn has_pixels(mask: &[u8]) -> bool {
    mask.iter().any(|&byte| byte != 0)
}
