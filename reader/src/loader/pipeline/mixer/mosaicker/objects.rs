//! `MovedObjects`: the objects of four samples in the row of their mosaic.

use tarflume_device::slab::Slab;
use tarflume_transforms::Mosaic;
use tarflume_transforms::mosaic::{MosaicRow, Tile, TiledRows};
use tarflume_types::DType;

use crate::decode::values::on_picture::PictureRows;

/// Bytes of a number in rows of boxes and points.
const SINGLE: usize = size_of::<f32>();
/// Numbers of a box, and of a point.
const BOX: usize = 4;
const POINT: usize = 3;

/// A source of a row: the objects of `source` that the row gets.
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
    /// For each source of each row, the objects that are kept.
    chosen: Vec<ObjectRow>,
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

/// The columns of objects on the pictures of mosaics.
pub(super) struct MovedObjects {
    /// Height and width of the pictures.
    size: [u32; 2],
    min_size: f64,
    min_visibility: f64,
    columns: Vec<ObjectColumn>,
}

/// A column, by its number in the slab.
struct ObjectColumn {
    column: usize,
    rows: PictureRows,
}

/// Rows of a column as they were before.
struct Before<'a> {
    bytes: &'a [u8],
    offsets: &'a [usize],
}

impl<'a> Before<'a> {
    fn of(slab: &'a Slab, column: usize) -> Before<'a> {
        let offsets = slab.offsets(column).expect("columns of objects are variable");
        Before { bytes: slab.column(column), offsets }
    }

    /// The object of a row. `each` is the number of its bytes.
    fn object(&self, row: usize, number: usize, each: usize) -> &'a [u8] {
        let from = self.offsets[row] - self.offsets[0] + number * each;
        &self.bytes[from..from + each]
    }

    /// The bytes of a row.
    fn length(&self, row: usize) -> usize {
        self.offsets[row + 1] - self.offsets[row]
    }
}

impl MovedObjects {
    pub(super) fn new(size: [u32; 2], mosaic: &Mosaic) -> MovedObjects {
        let Mosaic { min_size, min_visibility, .. } = *mosaic;
        MovedObjects { size, min_size, min_visibility, columns: Vec::new() }
    }

    /// Adds a column.
    pub(super) fn push(&mut self, column: usize, rows: PictureRows) {
        self.columns.push(ObjectColumn { column, rows });
    }

    /// The numbers of the columns in the slab.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.column)
    }

    /// Moves the objects of a sealed batch into the mosaics that show them.
    pub(super) fn make(&self, slab: &mut Slab, mosaics: &[MosaicRow], lists: &mut ObjectLists) {
        if self.columns.is_empty() {
            return;
        }
        let ObjectLists { chosen, bytes, lengths } = lists;
        self.choose(slab, mosaics, chosen);
        for column in &self.columns {
            bytes.clear();
            lengths.clear();
            lengths.resize(slab.rows(), 0);
            let before = Before::of(slab, column.column);
            for row in &*chosen {
                let start = bytes.len();
                self.append(column.rows, &before, row, bytes);
                lengths[row.row] += bytes.len() - start;
            }
            slab.replace_rows(column.column, lengths, bytes);
        }
    }

    /// The bytes of one object.
    fn each(&self, rows: PictureRows) -> usize {
        let [height, width] = self.size.map(|side| side as usize);
        match rows {
            PictureRows::Picture | PictureRows::Plane => 0,
            PictureRows::Boxes { .. } => BOX * SINGLE,
            PictureRows::Points { count, .. } => count * POINT * SINGLE,
            PictureRows::Values { bytes } => bytes,
            PictureRows::Masks => height * width,
        }
    }

    /// Lists the objects of all rows, in the order of the rows.
    fn choose(&self, slab: &Slab, mosaics: &[MosaicRow], chosen: &mut Vec<ObjectRow>) {
        let mut of_rows: Vec<Option<&MosaicRow>> = vec![None; slab.rows()];
        mosaics.iter().for_each(|mosaic| of_rows[mosaic.row] = Some(mosaic));
        let judge = self.judge();
        let before = Before::of(slab, judge.column);
        let mut used = 0;
        for (row, mosaic) in of_rows.iter().enumerate() {
            let Some(mosaic) = mosaic else {
                next(chosen, &mut used, ObjectRow { row, source: row, ..ObjectRow::default() });
                self.fill(judge, &before, &mut chosen[used - 1]);
                continue;
            };
            for (tile, source) in mosaic.tiles(self.size).into_iter().zip(mosaic.sources) {
                let tile = Some(tile);
                next(chosen, &mut used, ObjectRow { row, source, tile, objects: Vec::new() });
                self.fill(judge, &before, &mut chosen[used - 1]);
            }
        }
        chosen.truncate(used);
    }

    /// The column that says which objects a mosaic shows: boxes, else masks, else points.
    fn judge(&self) -> &ObjectColumn {
        fn rank(column: &ObjectColumn) -> u8 {
            match column.rows {
                PictureRows::Boxes { .. } => 0,
                PictureRows::Masks => 1,
                PictureRows::Points { .. } => 2,
                PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => 3,
            }
        }

        self.columns.iter().min_by_key(|column| rank(column)).expect("there is a column of objects")
    }

    /// Lists the objects of a source that its tile shows.
    fn fill(&self, judge: &ObjectColumn, before: &Before<'_>, row: &mut ObjectRow) {
        let each = self.each(judge.rows);
        let count = before.length(row.source).checked_div(each).unwrap_or(0);
        let ObjectRow { source, tile, objects, .. } = row;
        objects.clear();
        objects.extend((0..count).filter(|&number| {
            let Some(tile) = tile else { return true };
            self.shows(tile, judge.rows, before.object(*source, number, each))
        }));
    }

    /// Whether a tile shows enough of an object.
    fn shows(&self, tile: &Tile, rows: PictureRows, object: &[u8]) -> bool {
        match rows {
            PictureRows::Boxes { .. } => {
                let mut corners = self.corners(rows, object);
                let visible = tile.move_box(&mut corners);
                let [left, top, right, bottom] = corners;
                let sides = (right - left).min(bottom - top);
                sides > 0.0 && sides >= self.min_size && visible >= self.min_visibility
            }
            PictureRows::Masks => {
                let mut moved = vec![0; object.len()];
                self.tiled().lay_tile(tile, object, &mut moved);
                moved.iter().any(|&pixel| pixel != 0)
            }
            PictureRows::Points { normalize, .. } => {
                let points = numbers::<POINT>(object);
                points.into_iter().any(|[x, y, visibility]| {
                    let [wide, high] = self.sides(normalize);
                    visibility != 0.0 && tile.move_point(&mut [x * wide, y * high])
                })
            }
            PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => true,
        }
    }

    /// What normalized coordinates are multiplied by.
    fn sides(&self, normalize: bool) -> [f64; 2] {
        let [height, width] = self.size.map(f64::from);
        if normalize { [width, height] } else { [1.0, 1.0] }
    }

    /// The corners of a box in pixels.
    fn corners(&self, rows: PictureRows, object: &[u8]) -> [f64; 4] {
        let PictureRows::Boxes { out, normalize } = rows else { return [0.0; 4] };
        let [wide, high] = self.sides(normalize);
        let [a, b, c, d] = numbers::<BOX>(object).first().copied().unwrap_or([0.0; 4]);
        out.corners([a * wide, b * high, c * wide, d * high])
    }

    fn tiled(&self) -> TiledRows {
        let [height, width] = self.size.map(|side| side as usize);
        TiledRows::new(DType::U8, &[height, width]).expect("the pictures of a mosaic have pixels")
    }

    /// Appends the objects of a source to the bytes of its row.
    fn append(&self, rows: PictureRows, before: &Before<'_>, of: &ObjectRow, bytes: &mut Vec<u8>) {
        let each = self.each(rows);
        for &number in &of.objects {
            let object = before.object(of.source, number, each);
            let Some(tile) = &of.tile else {
                bytes.extend_from_slice(object);
                continue;
            };
            match rows {
                PictureRows::Boxes { out, normalize } => {
                    let mut corners = self.corners(rows, object);
                    tile.move_box(&mut corners);
                    let [wide, high] = self.sides(normalize);
                    let [a, b, c, d] = out.of_corners(corners);
                    put(bytes, [a / wide, b / high, c / wide, d / high]);
                }
                PictureRows::Points { normalize, .. } => {
                    for point in numbers::<POINT>(object) {
                        put(bytes, self.moved_point(tile, point, normalize));
                    }
                }
                PictureRows::Masks => {
                    let start = bytes.len();
                    bytes.resize(start + each, 0);
                    self.tiled().lay_tile(tile, object, &mut bytes[start..]);
                }
                PictureRows::Values { .. } | PictureRows::Picture | PictureRows::Plane => {
                    bytes.extend_from_slice(object)
                }
            }
        }
    }

    /// A point in the mosaic; one that it does not show is as one that is not labelled.
    fn moved_point(
        &self,
        tile: &Tile,
        [x, y, visibility]: [f64; POINT],
        normalize: bool,
    ) -> [f64; POINT] {
        let [wide, high] = self.sides(normalize);
        let mut place = [x * wide, y * high];
        if visibility == 0.0 || !tile.move_point(&mut place) {
            return [0.0; POINT];
        }
        [place[0] / wide, place[1] / high, visibility]
    }
}

/// Puts `row` at place `used` of a list, with the memory of the one that was there.
fn next(chosen: &mut Vec<ObjectRow>, used: &mut usize, row: ObjectRow) {
    match chosen.get_mut(*used) {
        Some(kept) => {
            let objects = std::mem::take(&mut kept.objects);
            *kept = ObjectRow { objects, ..row };
        }
        None => chosen.push(row),
    }
    *used += 1;
}

/// The numbers of an object, `N` at a time.
fn numbers<const N: usize>(bytes: &[u8]) -> Vec<[f64; N]> {
    let singles =
        bytes.as_chunks::<SINGLE>().0.iter().map(|single| f64::from(f32::from_ne_bytes(*single)));
    let singles: Vec<f64> = singles.collect();
    singles.as_chunks::<N>().0.to_vec()
}

fn put<const N: usize>(bytes: &mut Vec<u8>, numbers: [f64; N]) {
    numbers.iter().for_each(|number| bytes.extend((*number as f32).to_ne_bytes()));
}
