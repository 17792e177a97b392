//! The settings of each kind of column.

use std::collections::HashMap;

use tarflume_annotations::boxes::{AnyBoxFormat, BoxFormat};
use tarflume_annotations::field::Field;
use tarflume_annotations::read::Points;
use tarflume_types::{DType, Error, Result};

/// The most objects of a column of masks, by default: as many as annotations of COCO have.
pub(super) const MOST_MASKS: usize = 100;

/// Returns an error if a pointer has another form.
fn check(field: &FieldResult) -> Result<()> {
    match field {
        Ok(_) => Ok(()),
        Err(what) => Err(Error::usage(what.clone())),
    }
}

/// A field, or what is wrong with its pointer.
pub(super) type FieldResult = std::result::Result<Field, String>;

/// A column, and its name.
#[derive(Debug, Clone)]
pub(super) struct ObjectColumn {
    pub(super) name: String,
    pub(super) kind: FieldKind,
}

/// What a column has.
#[derive(Debug, Clone)]
pub(super) enum FieldKind {
    Boxes(Boxes),
    Values(ObjectValues),
    Masks(Masks),
    Points(Keypoints),
}

impl FieldKind {
    /// Where it is read from, or what is wrong with the pointer.
    pub(super) fn field(&self) -> &FieldResult {
        match self {
            FieldKind::Boxes(of) => &of.field,
            FieldKind::Values(of) => &of.field,
            FieldKind::Masks(of) => &of.field,
            FieldKind::Points(of) => &of.field,
        }
    }

    /// The type of an element.
    pub(super) fn dtype(&self) -> DType {
        match self {
            FieldKind::Boxes(_) | FieldKind::Points(_) => DType::F32,
            FieldKind::Values(of) => of.dtype,
            FieldKind::Masks(_) => DType::U8,
        }
    }
}

/// A column of boxes: four numbers for each object, or five or eight of boxes with an angle.
///
/// ```
/// use tarflume::{BoxFormat, Boxes, RotatedFormat};
///
/// // YOLO in, as DETR wants it out.
/// let boxes = Boxes::new("/boxes", BoxFormat::Cxcywh).relative(true).out(BoxFormat::Cxcywh).normalize(true);
/// // Oriented boxes of YOLO: four corners in, the middle, the sides and an angle out.
/// let oriented = Boxes::new("/segmentation", RotatedFormat::Xyxyxyxy).relative(true).out(RotatedFormat::Cxcywhr);
/// ```
///
/// Boxes have an angle if the format in which they are read has one, or that of the rows. They move by their four corners, and
/// what is sheared becomes a rectangle again, as in torchvision. Where a box is partly outside of the picture, the row has the
/// smallest box of the same angle around what is inside: its corners may be outside. What is visible of a box is the area of the
/// polygon that the picture shows, divided by its area.
#[derive(Debug, Clone)]
#[must_use]
pub struct Boxes {
    pub(super) field: FieldResult,
    pub(super) format: AnyBoxFormat,
    pub(super) relative: bool,
    pub(super) out: AnyBoxFormat,
    pub(super) normalize: bool,
}

impl Boxes {
    /// Checks the pointer.
    ///
    /// # Errors
    /// Returns a usage error that shows the form of a pointer.
    pub fn validate(&self) -> Result<()> {
        check(&self.field)
    }

    /// Reads the boxes at `pointer`: a list of numbers for each object (`/boxes`), or one member of each object of a list
    /// (`/annotations/*/bbox`). `format` is a [`BoxFormat`] or a [`RotatedFormat`](crate::RotatedFormat). Rows have edges: left,
    /// top, right, bottom; [`Boxes::out`] sets another format.
    ///
    /// Four corners may be eight numbers, four pairs, or a list of one polygon, in either direction. Those of no rectangle become
    /// the smallest one around them.
    pub fn new(pointer: &str, format: impl Into<AnyBoxFormat>) -> Boxes {
        Boxes {
            field: Field::parse(pointer),
            format: format.into(),
            relative: false,
            out: BoxFormat::Xyxy.into(),
            normalize: false,
        }
    }

    /// Whether the numbers that are read are fractions of the picture's sides: x and widths of its width, y and heights of its
    /// height. An angle is always in degrees, and turns the box in pixels.
    pub fn relative(mut self, relative: bool) -> Boxes {
        self.relative = relative;
        self
    }

    /// Sets the format of the rows. A [`BoxFormat`] of boxes with an angle is the box around what the picture shows of each.
    pub fn out(mut self, format: impl Into<AnyBoxFormat>) -> Boxes {
        self.out = format.into();
        self
    }

    /// Whether rows have fractions of the sides of the picture in the batch. An angle stays in degrees, as it is in pixels.
    pub fn normalize(mut self, normalize: bool) -> Boxes {
        self.normalize = normalize;
        self
    }
}

/// A column of one number for each object.
///
/// ```
/// use tarflume::{DType, ObjectValues};
///
/// let class = ObjectValues::new("/class_name", DType::I64).labels([("cat", 0), ("dog", 1)]);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ObjectValues {
    pub(super) field: FieldResult,
    pub(super) dtype: DType,
    pub(super) labels: Option<HashMap<String, i64>>,
}

impl ObjectValues {
    /// Reads the numbers at `pointer`, as [`Boxes::new`] reads boxes.
    pub fn new(pointer: &str, dtype: DType) -> ObjectValues {
        ObjectValues { field: Field::parse(pointer), dtype, labels: None }
    }

    /// Maps texts to these numbers. Any other text is an error.
    pub fn labels<S: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (S, i64)>,
    ) -> ObjectValues {
        self.labels =
            Some(labels.into_iter().map(|(text, number)| (text.into(), number)).collect());
        self
    }
}

/// A column of masks: one picture of 0 and 1 for each object, of one byte or one bit a pixel.
///
/// ```
/// use tarflume::Masks;
///
/// let masks = Masks::new("/segmentation").most(300); // LVIS has many objects in a picture
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Masks {
    pub(super) field: FieldResult,
    pub(super) relative: bool,
    pub(super) most: usize,
    pub(super) bits: bool,
}

impl Masks {
    /// Checks the pointer.
    ///
    /// # Errors
    /// Returns a usage error that shows the form of a pointer.
    pub fn validate(&self) -> Result<()> {
        check(&self.field)
    }

    /// Reads the segmentations at `pointer`: polygons and run lengths of COCO, also compressed ones. Masks have the pixels of
    /// pycocotools and move with the nearest pixel.
    pub fn new(pointer: &str) -> Masks {
        Masks { field: Field::parse(pointer), relative: false, most: MOST_MASKS, bits: false }
    }

    /// Whether coordinates of polygons are fractions of the picture's sides.
    pub fn relative(mut self, relative: bool) -> Masks {
        self.relative = relative;
        self
    }

    /// Sets the most objects of a sample: 100 by default. A batch has memory for so many masks of each sample, or for as many
    /// as its JSON part can have. A sample with more is bad.
    pub fn most(mut self, objects: usize) -> Masks {
        self.most = objects;
        self
    }

    /// Whether a pixel is a bit: rows are `[objects, height, (width + 7) / 8]`. Each line begins with a byte, whose highest bit
    /// is the first pixel, as `numpy.packbits` has them; the bits behind the last pixel are 0.
    pub fn bits(mut self, bits: bool) -> Masks {
        self.bits = bits;
        self
    }
}

/// A column of keypoints: x, y and visibility of each point of each object.
///
/// ```
/// use tarflume::Keypoints;
///
/// // Left and right of a person are exchanged where the picture is mirrored.
/// let points = Keypoints::new("/keypoints", 3).flip_pairs([[1, 2]]);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Keypoints {
    pub(super) field: FieldResult,
    pub(super) form: Points,
    pub(super) pairs: Vec<[usize; 2]>,
    pub(super) normalize: bool,
}

impl Keypoints {
    /// Checks the pointer.
    ///
    /// # Errors
    /// Returns a usage error that shows the form of a pointer.
    pub fn validate(&self) -> Result<()> {
        check(&self.field)
    }

    /// Reads the points at `pointer`: a list of three numbers for each of `count` points: x, y, visibility (0 not labelled, 1
    /// hidden, 2 visible). A point that is outside of the picture after it has moved has visibility 0.
    pub fn new(pointer: &str, count: usize) -> Keypoints {
        let form = Points { count, relative: false };
        Keypoints { field: Field::parse(pointer), form, pairs: Vec::new(), normalize: false }
    }

    /// Whether the coordinates that are read are fractions of the picture's sides.
    pub fn relative(mut self, relative: bool) -> Keypoints {
        self.form.relative = relative;
        self
    }

    /// Sets the pairs of points that are exchanged where the picture is mirrored: the left and the right hand.
    pub fn flip_pairs(mut self, pairs: impl IntoIterator<Item = [usize; 2]>) -> Keypoints {
        self.pairs = pairs.into_iter().collect();
        self
    }

    /// Whether rows have fractions of the sides of the picture in the batch.
    pub fn normalize(mut self, normalize: bool) -> Keypoints {
        self.normalize = normalize;
        self
    }
}
