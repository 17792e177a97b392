//! `MovedObjects`: the objects of four samples in the row of their mosaic.

use tarflume_device::slab::{Slab, VariableRows};
use tarflume_transforms::Mosaic;
use tarflume_transforms::mosaic::{MosaicRow, Tile, TiledBits, TiledRows};

use super::rotated::RotatedRows;
use crate::decode::values::on_picture::PictureRows;
use crate::loader::pipeline::mixer::object_form::{
    ObjectColumn, ObjectForm, POINT, SINGLE, numbers, put,
};

/// The objects that a row gets from one of its sources.
#[derive(Debug, Default)]
struct ObjectRow {
    /// The row that gets them.
    row: usize,
    source: usize,
    /// The part of the mosaic; `None` if the row is no mosaic and stays as it is.
    tile: Option<Tile>,
    /// Their numbers in the source.
    objects: Vec<usize>,
}

/// What is needed to move the objects of a batch. It is reused for later batches.
#[derive(Debug, Default)]
pub(super) struct ObjectLists {
    /// The sources of all rows, in the order of the rows.
    chosen: Vec<ObjectRow>,
    lengths: Vec<usize>,
}

/// Columns with the same objects on the pictures of mosaics.
pub(super) struct MovedObjects {
    group: usize,
    form: ObjectForm,
    /// The mask of an object, and one of bits.
    mask: TiledRows,
    bits: TiledBits,
    min_size: f64,
    min_visibility: f64,
    columns: Vec<ObjectColumn>,
}

impl MovedObjects {
    /// No column of this group yet. `mask` are masks of the pictures' size.
    pub(super) fn new(group: usize, mask: TiledRows, mosaic: &Mosaic) -> MovedObjects {
        let Mosaic { min_size, min_visibility, .. } = *mosaic;
        let form = ObjectForm { size: mask.size() };
        let bits = TiledBits::new(form.size);
        MovedObjects { group, form, mask, bits, min_size, min_visibility, columns: Vec::new() }
    }

    /// The number of the group: see [`OnPicture`](crate::decode::values::on_picture::OnPicture).
    pub(super) fn group(&self) -> usize {
        self.group
    }

    /// Adds a column.
    pub(super) fn push(&mut self, column: ObjectColumn) {
        self.columns.push(column);
    }

    /// The numbers of the columns in the slab.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.column)
    }

    /// Moves the objects of a sealed batch into the mosaics that show them.
    pub(super) fn make(&self, slab: &mut Slab, mosaics: &[MosaicRow], lists: &mut ObjectLists) {
        let Some(judge) = self.judge() else { return };
        let ObjectLists { chosen, lengths } = lists;
        self.choose(judge, judge.rows_of(slab), mosaics, slab.rows(), chosen);
        for column in &self.columns {
            slab.replace_rows(column.column, lengths, |before, memory, lengths| {
                let mut written = 0;
                for row in &*chosen {
                    let start = written;
                    self.write(column.rows, before.row(row.source), row, memory, &mut written);
                    lengths[row.row] += written - start;
                }
            });
        }
    }

    /// Lists the objects of all rows, in the order of the rows.
    fn choose(
        &self,
        judge: &ObjectColumn,
        before: VariableRows<'_>,
        mosaics: &[MosaicRow],
        rows: usize,
        chosen: &mut Vec<ObjectRow>,
    ) {
        let mut of_rows: Vec<Option<&MosaicRow>> = vec![None; rows];
        mosaics.iter().for_each(|mosaic| of_rows[mosaic.row] = Some(mosaic));
        let mut used = 0;
        for (row, mosaic) in of_rows.iter().enumerate() {
            let Some(mosaic) = mosaic else {
                let of =
                    next(chosen, &mut used, ObjectRow { row, source: row, ..ObjectRow::default() });
                self.fill(judge, before, of);
                continue;
            };
            for (tile, source) in mosaic.tiles(self.form.size).into_iter().zip(mosaic.sources) {
                let tile = Some(tile);
                let of =
                    next(chosen, &mut used, ObjectRow { row, source, tile, objects: Vec::new() });
                self.fill(judge, before, of);
            }
        }
        chosen.truncate(used);
    }

    /// The column that says which objects a mosaic shows: boxes, else masks, else points.
    fn judge(&self) -> Option<&ObjectColumn> {
        fn rank(column: &ObjectColumn) -> u8 {
            match column.rows {
                PictureRows::Boxes { .. } | PictureRows::Rotated { .. } => 0,
                PictureRows::Masks { .. } | PictureRows::MaskBits => 1,
                PictureRows::Points { .. } => 2,
                PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => 3,
            }
        }

        self.columns.iter().min_by_key(|column| rank(column))
    }

    /// Lists the objects of a source that its tile shows.
    fn fill(&self, judge: &ObjectColumn, before: VariableRows<'_>, of: &mut ObjectRow) {
        let objects =
            before.row(of.source).chunks_exact(self.form.bytes(judge.rows).max(1)).enumerate();
        of.objects.clear();
        match &of.tile {
            None => of.objects.extend(objects.map(|(number, _)| number)),
            Some(tile) => {
                let shown = objects.filter(|(_, object)| self.shows(tile, judge.rows, object));
                of.objects.extend(shown.map(|(number, _)| number));
            }
        }
    }

    /// Whether a tile shows enough of an object.
    fn shows(&self, tile: &Tile, rows: PictureRows, object: &[u8]) -> bool {
        match rows {
            PictureRows::Boxes { out, normalize } => {
                let mut corners = self.form.corners(out, normalize, object);
                let visible = tile.move_box(&mut corners);
                let [left, top, right, bottom] = corners;
                let shorter = (right - left).min(bottom - top);
                shorter > 0.0 && shorter >= self.min_size && visible >= self.min_visibility
            }
            PictureRows::Rotated { out, normalize } => {
                let rows = RotatedRows::new(out, self.form.size, self.form.sides(normalize));
                let moved = rows.moved(tile, object);
                let shorter = moved.shorter_side();
                shorter > 0.0 && shorter >= self.min_size && moved.is_shown(self.min_visibility)
            }
            PictureRows::Masks { .. } => self.mask.shows_any(tile, object),
            PictureRows::MaskBits => self.bits.shows_any(tile, object),
            PictureRows::Points { normalize, .. } => {
                let [wide, high] = self.form.sides(normalize);
                numbers::<POINT>(object).any(|[x, y, visibility]| {
                    visibility != 0.0 && tile.move_point(&mut [x * wide, y * high])
                })
            }
            PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => true,
        }
    }

    /// Writes the objects of a source behind the `written` bytes of the column.
    fn write(
        &self,
        rows: PictureRows,
        source: &[u8],
        of: &ObjectRow,
        memory: &mut [u8],
        written: &mut usize,
    ) {
        let each = self.form.bytes(rows);
        for &number in &of.objects {
            let object = &source[number * each..(number + 1) * each];
            let to = &mut memory[*written..*written + each];
            match &of.tile {
                None => to.copy_from_slice(object),
                Some(tile) => self.move_object(rows, tile, object, to),
            }
            *written += each;
        }
    }

    /// Writes an object as a tile shows it.
    fn move_object(&self, rows: PictureRows, tile: &Tile, object: &[u8], to: &mut [u8]) {
        match rows {
            PictureRows::Boxes { out, normalize } => {
                let mut corners = self.form.corners(out, normalize, object);
                tile.move_box(&mut corners);
                self.form.put_corners(out, normalize, corners, to);
            }
            PictureRows::Points { normalize, .. } => {
                for (point, to) in numbers(object).zip(to.chunks_exact_mut(POINT * SINGLE)) {
                    put(to, self.moved_point(tile, point, normalize));
                }
            }
            PictureRows::Rotated { out, normalize } => {
                let rows = RotatedRows::new(out, self.form.size, self.form.sides(normalize));
                rows.write(&rows.moved(tile, object), to);
            }
            PictureRows::Masks { .. } => {
                to.fill(0);
                self.mask.lay_tile(tile, object, to);
            }
            PictureRows::MaskBits => {
                to.fill(0);
                self.bits.lay_tile(tile, object, to);
            }
            PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => {
                to.copy_from_slice(object);
            }
        }
    }

    /// A point in the mosaic. A point that it does not show becomes one that is not labelled.
    fn moved_point(&self, tile: &Tile, point: [f64; POINT], normalize: bool) -> [f64; POINT] {
        let [x, y, visibility] = point;
        let [wide, high] = self.form.sides(normalize);
        let mut place = [x * wide, y * high];
        if visibility == 0.0 || !tile.move_point(&mut place) {
            return [0.0; POINT];
        }
        [place[0] / wide, place[1] / high, visibility]
    }
}

/// Puts `row` at place `used` of a list, with the memory of the one that was there.
fn next<'a>(chosen: &'a mut Vec<ObjectRow>, used: &mut usize, row: ObjectRow) -> &'a mut ObjectRow {
    let at = *used;
    *used += 1;
    match chosen.get_mut(at) {
        Some(kept) => {
            let objects = std::mem::take(&mut kept.objects);
            *kept = ObjectRow { objects, ..row };
        }
        None => chosen.push(row),
    }
    &mut chosen[at]
}
