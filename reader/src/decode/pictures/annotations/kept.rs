//! `Kept`: what a thread keeps between the columns of one sample, and between samples.

use tarflume_annotations::mask::plane::MaskPainter;
use tarflume_annotations::read::{Segmentations, Value};
use tarflume_image::ImageSize;
use tarflume_transforms::Frame;
use tarflume_transforms::actions::Action;
use tarflume_transforms::annotations::RotatedBox;

use crate::decode::Scratch;
use crate::decode::pictures::image::Geometry;
use crate::decode::pictures::picture_decoder::Owner;

/// The objects of a sample as one column reads them; the lists of other kinds are empty.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Corners: in pixels of the upright picture, then of the result.
    pub(super) boxes: Vec<[f64; 4]>,
    /// The numbers of boxes with an angle, in pixels of the picture that the annotations are of.
    pub(super) numbers: Vec<[f64; 8]>,
    /// The corners of boxes with an angle, as `boxes`, which has the boxes around them.
    pub(super) quads: Vec<RotatedBox>,
    pub(super) values: Vec<Value>,
    /// Points, in pixels of the upright picture, then of the result.
    pub(super) points: Vec<[f64; 3]>,
    /// In pixels of the picture that the annotations are of.
    pub(super) shapes: Segmentations,
}

/// The annotations of the sample that a thread has read last.
#[derive(Debug)]
pub(super) struct Kept {
    owner: Option<Owner>,
    /// Bits of the columns that were written.
    written: u128,
    pub(super) actions: Vec<Action>,
    pub(super) lists: Vec<Lists>,
    /// Of each object, the part of its box that is left.
    pub(super) visible: Vec<f64>,
    pub(super) places: Vec<[f64; 2]>,
    pub(super) chosen: Vec<usize>,
    pub(super) count: usize,
    pub(super) geometry: Option<Geometry>,
    /// Of the result.
    pub(super) size: ImageSize,
    pub(super) painter: MaskPainter,
    pub(super) plane: Vec<u8>,
    /// A mask in the result, before it is packed.
    pub(super) placed: Vec<u8>,
    pub(super) frame: Frame,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept {
            owner: None,
            written: 0,
            actions: Vec::new(),
            lists: Vec::new(),
            visible: Vec::new(),
            places: Vec::new(),
            chosen: Vec::new(),
            count: 0,
            geometry: None,
            size: ImageSize::new(0, 0),
            painter: MaskPainter::default(),
            plane: Vec::new(),
            placed: Vec::new(),
            frame: Frame::default(),
        }
    }
}

impl Kept {
    /// Marks column `at` as written. False if these are the annotations of another sample, or if the column was written already:
    /// the bytes of the sample may be others then.
    pub(super) fn claim(&mut self, owner: Owner, at: usize) -> bool {
        let bit = 1 << at;
        let has = self.owner == Some(owner) && self.written & bit == 0;
        if has {
            self.written |= bit;
        }
        has
    }

    /// Begins a sample.
    pub(super) fn begin(&mut self, columns: usize) {
        self.owner = None;
        self.actions.clear();
        self.lists.resize_with(columns, Lists::default);
        for list in &mut self.lists {
            list.boxes.clear();
            list.numbers.clear();
            list.quads.clear();
            list.values.clear();
            list.points.clear();
            list.shapes.clear();
        }
    }

    /// Notes whose annotations these are, and that column `at` is written.
    pub(super) fn belongs_to(&mut self, owner: Owner, at: usize) {
        self.owner = Some(owner);
        self.written = 1 << at;
    }

    /// Frees what is too large to be kept.
    pub(super) fn drop_large(&mut self) {
        let lists: usize = self.lists.iter().map(Lists::kept).sum();
        if lists + self.plane.capacity() + self.placed.capacity() + self.painter.kept()
            > Scratch::KEEP
        {
            *self = Kept::default();
        }
        self.frame.drop_large(Scratch::KEEP);
    }
}

impl Lists {
    fn kept(&self) -> usize {
        let Lists { boxes, numbers, quads, values, points, shapes } = self;
        size_of::<[f64; 4]>() * boxes.capacity()
            + size_of::<[f64; 8]>() * (numbers.capacity() + quads.capacity())
            + size_of::<Value>() * values.capacity()
            + size_of::<[f64; 3]>() * points.capacity()
            + shapes.kept()
    }
}
