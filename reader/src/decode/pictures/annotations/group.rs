//! `Group`: reads the annotations of a sample, moves them with its picture and chooses the objects that are kept.

use std::sync::Arc;

use tarflume_annotations::fault::{Fault, Wrong};
use tarflume_annotations::read::{self, Part};
use tarflume_annotations::turn;
use tarflume_formats::json::JsonRules;
use tarflume_image::{ImageSize, Placement};
use tarflume_transforms::actions::Action;
use tarflume_transforms::annotations::{
    RotatedBox, Sanitize, mirrors, move_points, move_seen_boxes, move_seen_rotated_boxes,
    place_rotated_boxes,
};
use tarflume_types::{Error, ErrorKind, Result};

use super::fields::{Boxes, FieldKind, Keypoints, ObjectColumn};
use super::kept::{Kept, Lists};
use crate::decode::pictures::image::{Geometry, Image};
use crate::decode::pictures::picture_decoder::Owner;
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{Decode, Sample};

/// The place of the JSON part among the parts of a column, and that of the picture.
pub(super) const JSON: usize = 0;
pub(super) const PICTURE: usize = 1;

/// What the columns of one [`Annotations`] have in common.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) image: Image,
    pub(super) part: String,
    pub(super) rules: JsonRules,
    /// Whether coordinates are those of the upright picture.
    pub(super) is_upright: bool,
    pub(super) keep: Sanitize,
    pub(super) columns: Vec<ObjectColumn>,
}

impl Group {
    /// The same for each bucket. All columns of the group get the same ones.
    pub(super) fn in_buckets(self: &Arc<Group>, of: &PictureBuckets) -> Arc<Vec<Arc<Group>>> {
        of.shared(Arc::as_ptr(self).addr(), |number, size| {
            Arc::new(Group {
                image: self.image.in_bucket(of, number, size),
                part: self.part.clone(),
                rules: self.rules,
                is_upright: self.is_upright,
                keep: self.keep,
                columns: self.columns.clone(),
            })
        })
    }

    /// The parts of each column: that of the annotations, and the picture.
    pub(super) fn parts(&self) -> Vec<String> {
        let mut parts = vec![self.part.clone()];
        parts.extend(self.image.parts().into_iter().take(1));
        parts
    }

    pub(super) fn owner(&self, sample: &Sample<'_>) -> Owner {
        let column = std::ptr::from_ref(self).addr();
        Owner { column, ordinal: sample.ordinal, seed: sample.seed }
    }

    /// Reads, moves and chooses the objects of a sample.
    ///
    /// # Errors
    /// The annotations or the header of the picture cannot be read, or annotations cannot follow the picture.
    pub(super) fn make(&self, sample: &Sample<'_>, kept: &mut Kept) -> Result<()> {
        kept.begin(self.columns.len());
        let mut geometry = self.image.stored_geometry(&of_picture(sample))?;
        let part = self.part_of(sample.part(JSON), &geometry);
        let count = self.read(part, &mut kept.lists).map_err(bad)?;
        kept.count = count as usize;
        if !self.is_upright {
            turn(&geometry, &mut kept.lists);
        }
        kept.lists.iter_mut().for_each(Lists::surround);
        let boxes = self.boxes_at().filter(|_| self.image.needs_boxes());
        let boxes = boxes.map(|at| &kept.lists[at].boxes[..]);
        self.image.draw_geometry(sample.seed, &mut geometry, boxes, &mut kept.actions)?;
        kept.size = self.follow(&geometry, kept)?;
        kept.geometry = Some(geometry);
        self.choose(kept);
        Ok(())
    }

    /// Reads all columns. Returns the number of objects, which is the same in all.
    fn read(&self, part: Part<'_>, lists: &mut [Lists]) -> Result<u64, Fault> {
        let mut first: Option<(&str, u64)> = None;
        for (column, to) in self.columns.iter().zip(lists) {
            // The builder has checked the pointers.
            let Ok(field) = column.kind.field() else { continue };
            let found = match &column.kind {
                FieldKind::Boxes(of) => of.read(field, part, to)?,
                FieldKind::Values(of) => {
                    read::values(field, part, of.labels.as_ref(), &mut to.values)?
                }
                FieldKind::Masks(of) => {
                    read::segmentations(field, part, of.relative, &mut to.shapes)?
                }
                FieldKind::Points(of) => read::points(field, part, of.form, &mut to.points)?,
            };
            let pointer = field.text();
            match first {
                None => first = Some((pointer, found)),
                Some((_, expected)) if found == expected => {}
                Some((other, expected)) => {
                    let wrong = Wrong::Count { found, other: other.to_string(), expected };
                    return Err(Fault { pointer: pointer.to_string(), ..wrong.into() });
                }
            }
            self.check_most(&column.kind, pointer, found)?;
        }
        Ok(first.map_or(0, |(_, count)| count))
    }

    fn check_most(&self, kind: &FieldKind, pointer: &str, found: u64) -> Result<(), Fault> {
        match kind {
            FieldKind::Masks(of) if found > of.most as u64 => {
                let wrong = Wrong::Most { most: of.most as u64 };
                Err(Fault { pointer: pointer.to_string(), ..wrong.into() })
            }
            _ => Ok(()),
        }
    }

    /// Moves boxes and points as the upright picture is moved. Returns the size of the result.
    fn follow(&self, geometry: &Geometry, kept: &mut Kept) -> Result<ImageSize> {
        let Kept { actions, lists, visible, places, count, .. } = kept;
        visible.clear();
        visible.resize(*count, 1.0);
        let moves = Moves { geometry, actions };
        let size = moves.geometry.result(moves.actions);
        for (column, list) in self.columns.iter().zip(lists) {
            match &column.kind {
                FieldKind::Boxes(of) if of.is_rotated() => {
                    list.see(moves.geometry.upright(), visible);
                    moves.move_rotated(&mut list.quads, visible)?;
                    list.finish_rotated(size);
                }
                FieldKind::Boxes(_) => {
                    moves.move_boxes(&mut list.boxes, visible)?;
                    clamp(&mut list.boxes, visible, size);
                }
                FieldKind::Points(of) => {
                    moves.move_points(&mut list.points, places)?;
                    finish_points(of, &mut list.points, moves.mirrors(), size);
                }
                FieldKind::Values(_) | FieldKind::Masks(_) => {}
            }
        }
        Ok(size)
    }

    /// The JSON part of a picture.
    fn part_of<'a>(&self, bytes: &'a [u8], geometry: &Geometry) -> Part<'a> {
        let on = if self.is_upright { geometry.upright() } else { geometry.stored };
        Part { bytes, rules: self.rules, on }
    }

    /// The number of the column of boxes.
    pub(super) fn boxes_at(&self) -> Option<usize> {
        self.columns.iter().position(|column| matches!(column.kind, FieldKind::Boxes(_)))
    }

    /// Appends the boxes of a picture, upright; of boxes with an angle those around them.
    ///
    /// # Errors
    /// The boxes cannot be read.
    pub(super) fn upright_boxes(
        &self,
        bytes: &[u8],
        geometry: &Geometry,
        to: &mut Vec<[f64; 4]>,
    ) -> Result<()> {
        let column = self.boxes_at().map(|at| &self.columns[at].kind);
        let Some(FieldKind::Boxes(boxes @ Boxes { field: Ok(field), .. })) = column else {
            return Ok(());
        };
        let mut list = Lists::default();
        boxes.read(field, self.part_of(bytes, geometry), &mut list).map_err(bad)?;
        if !self.is_upright {
            list.turn_boxes(geometry);
        }
        list.surround();
        to.append(&mut list.boxes);
        Ok(())
    }

    /// Lists the objects that are kept.
    fn choose(&self, kept: &mut Kept) {
        let Kept { lists, visible, chosen, size, count, .. } = kept;
        chosen.clear();
        match self.boxes_at() {
            Some(at) if !lists[at].quads.is_empty() => {
                let objects = lists[at].quads.iter().zip(visible.iter()).enumerate();
                let objects = objects
                    .filter(|(_, (quad, seen))| self.keep.keeps_rotated(quad, **seen, *size));
                chosen.extend(objects.map(|(object, _)| object));
            }
            Some(at) => {
                let objects = lists[at].boxes.iter().zip(visible.iter()).enumerate();
                let objects = objects
                    .filter(|(_, (corners, seen))| self.keep.keeps(**corners, **seen, *size));
                chosen.extend(objects.map(|(object, _)| object));
            }
            None => chosen.extend(0..*count),
        }
    }
}

/// What moves the annotations of an upright picture.
struct Moves<'a> {
    geometry: &'a Geometry,
    actions: &'a [Action],
}

impl Moves<'_> {
    /// Whether left and right are exchanged.
    fn mirrors(&self) -> bool {
        self.geometry.placement.map_or_else(|| mirrors(self.actions), |placement| placement.flip)
    }

    fn move_boxes(&self, boxes: &mut [[f64; 4]], visible: &mut [f64]) -> Result<()> {
        match self.geometry.placement {
            Some(placement) => {
                boxes.iter_mut().for_each(|corners| *corners = placed(*corners, &placement));
            }
            None => {
                move_seen_boxes(self.actions, self.geometry.upright(), boxes, visible)?;
            }
        }
        Ok(())
    }

    fn move_rotated(&self, boxes: &mut [RotatedBox], visible: &mut [f64]) -> Result<()> {
        match &self.geometry.placement {
            Some(placement) => {
                place_rotated_boxes(placement, self.geometry.upright(), boxes, visible);
            }
            None => {
                move_seen_rotated_boxes(self.actions, self.geometry.upright(), boxes, visible)?;
            }
        }
        Ok(())
    }

    /// Moves points; `places` is a buffer.
    fn move_points(&self, points: &mut [[f64; 3]], places: &mut Vec<[f64; 2]>) -> Result<()> {
        places.clear();
        places.extend(points.iter().map(|&[x, y, _]| [x, y]));
        match self.geometry.placement {
            Some(placement) => {
                places.iter_mut().for_each(|place| *place = placed_point(*place, &placement));
            }
            None => {
                move_points(self.actions, self.geometry.upright(), places)?;
            }
        }
        for (point, &[x, y]) in points.iter_mut().zip(places.iter()) {
            [point[0], point[1]] = [x, y];
        }
        Ok(())
    }
}

/// The sample as the column of the picture gets it.
pub(super) fn of_picture<'a>(sample: &Sample<'a>) -> Sample<'a> {
    Sample {
        parts: &sample.parts[PICTURE..=PICTURE],
        entry_points: sample.entry_points.get(PICTURE..=PICTURE).unwrap_or_default(),
        excerpts: sample.excerpts.get(PICTURE..=PICTURE).unwrap_or_default(),
        ..*sample
    }
}

pub(super) fn bad(fault: Fault) -> Error {
    let text = fault.to_string();
    let byte = fault.byte;
    let error = Error::new(ErrorKind::Decode, text);
    match byte {
        Some(byte) => error.with_byte(byte as u64),
        None => error,
    }
}

/// Turns boxes and points of the stored picture.
fn turn(geometry: &Geometry, lists: &mut [Lists]) {
    for list in lists {
        list.turn_boxes(geometry);
        for [x, y, _] in &mut list.points {
            [*x, *y] = turn::point([*x, *y], geometry.turn, geometry.stored);
        }
    }
}

/// Clamps boxes to a picture, and reduces their visible parts by what is cut off.
fn clamp(boxes: &mut [[f64; 4]], visible: &mut [f64], size: ImageSize) {
    let width = f64::from(size.width);
    let height = f64::from(size.height);
    for (corners, visible) in boxes.iter_mut().zip(visible) {
        let [left, top, right, bottom] = *corners;
        let is_inside = left >= 0.0 && top >= 0.0 && right <= width && bottom <= height;
        if is_inside {
            continue;
        }
        let before = (right - left) * (bottom - top);
        let clamped = [
            left.clamp(0.0, width),
            top.clamp(0.0, height),
            right.clamp(0.0, width),
            bottom.clamp(0.0, height),
        ];
        let after = (clamped[2] - clamped[0]) * (clamped[3] - clamped[1]);
        *visible *= if before > 0.0 { after / before } else { 0.0 };
        *corners = clamped;
    }
}

/// Exchanges the points of pairs in a mirrored picture, and forgets points outside.
fn finish_points(of: &Keypoints, points: &mut [[f64; 3]], mirrored: bool, size: ImageSize) {
    if mirrored {
        for object in points.chunks_exact_mut(of.form.count.max(1)) {
            of.pairs.iter().for_each(|&[left, right]| object.swap(left, right));
        }
    }
    let width = f64::from(size.width);
    let height = f64::from(size.height);
    for point in points {
        let [x, y, visibility] = *point;
        let is_inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
        // As COCO writes a point that is not labelled.
        if visibility == 0.0 || !is_inside {
            *point = [0.0; 3];
        }
    }
}

/// A box in the result of a placement.
fn placed([left, top, right, bottom]: [f64; 4], by: &Placement) -> [f64; 4] {
    let area = by.area;
    let wide = f64::from(by.size.width) / area.width;
    let high = f64::from(by.size.height) / area.height;
    let [left, right] = [(left - area.left) * wide, (right - area.left) * wide];
    let [top, bottom] = [(top - area.top) * high, (bottom - area.top) * high];
    let width = f64::from(by.size.width);
    if by.flip { [width - right, top, width - left, bottom] } else { [left, top, right, bottom] }
}

/// A point in the result of a placement; a mirror exchanges the centers of pixels.
fn placed_point([x, y]: [f64; 2], by: &Placement) -> [f64; 2] {
    let [x, y, ..] = placed([x, y, x, y], &Placement { flip: false, ..*by });
    if by.flip { [f64::from(by.size.width) - 1.0 - x, y] } else { [x, y] }
}
