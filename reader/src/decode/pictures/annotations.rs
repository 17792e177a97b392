//! `Annotations`: columns of what lies on a picture. They move as its column moves the picture.
//!
//! Names columns; `group` reads, moves and chooses objects, `rows` writes them.

pub(crate) mod boxed_image;
pub(crate) mod column;
mod fields;
mod group;
mod kept;
pub(crate) mod mask_picture;
mod masks;
pub(crate) mod on_picture;
mod rotated;
mod rows;
mod rules;

use std::sync::Arc;

use tarflume_formats::json::JsonRules;
use tarflume_transforms::annotations::Sanitize;
use tarflume_types::DType;

use crate::decode::Decode;
use crate::decode::pictures::image::Image;

use self::boxed_image::BoxedImage;
use self::column::AnnotationColumn;
pub use self::fields::{Boxes, Keypoints, Masks, ObjectValues};
use self::fields::{FieldKind, ObjectColumn};
use self::group::Group;

/// Columns of what lies on a picture: boxes, segmentations, keypoints, and labels and other values of the same objects.
///
/// They are read from one JSON part of the sample and move as the pixels of the picture's column: by its EXIF orientation, then
/// by what its recipe draws for the sample. Boxes are clamped to the picture, and objects that are too small then, or outside,
/// are left out of all columns ([`Annotations::sanitize`]). A column is variable: one row has the values of all objects of a
/// sample, in the order of the file.
///
/// | column | row |
/// |---|---|
/// | [`Annotations::boxes`] | `f32`, four numbers for each object; with an angle five, or eight |
/// | [`Annotations::values`] | one number for each object |
/// | [`Annotations::masks`] | `u8`, a picture of shape `[objects, height, width]` of 0 and 1; with [`Masks::bits`] one bit a pixel |
/// | [`Annotations::keypoints`] | `f32`, three numbers for each point of each object |
///
/// The picture is not decoded for them: the header has its size, and the draws are made again.
///
/// ```
/// use tarflume::transforms::Recipe;
/// use tarflume::transforms::operations::{crop::RandomResizedCrop, turn::RandomHorizontalFlip};
/// use tarflume::{Annotations, BoxFormat, Boxes, DType, Image, Loader};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::with_json(
/// #     tarflume_fixtures::PHOTOS[0].jpeg, r#"{"boxes": [[4, 5, 60, 50]], "class": [7]}"#);
/// # let shards = made.path();
/// let crop = RandomResizedCrop::new([64, 64]);
/// let image = Image::new("jpg", Recipe::new([crop.into(), RandomHorizontalFlip { p: 0.5 }.into()]));
/// let annotations = Annotations::of(&image)
///     .boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh))
///     .values("labels", "/class", DType::I64);
/// let loader = Loader::builder(shards).column("image", image).annotations(&annotations).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let boxes = batch.column("boxes")?; // left, top, right, bottom of each object
/// let labels = batch.column("labels")?;
/// assert_eq!(boxes.row_elements::<f32>(0)?.len(), 4 * labels.row_elements::<i64>(0)?.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Annotations {
    image: Image,
    part: String,
    rules: JsonRules,
    is_upright: bool,
    keep: Sanitize,
    columns: Vec<ObjectColumn>,
}

impl Annotations {
    /// No column yet. `image` is the column of the picture, with all its settings.
    pub fn of(image: &Image) -> Annotations {
        Annotations {
            image: image.clone(),
            part: "json".to_string(),
            rules: JsonRules::Strict,
            is_upright: false,
            keep: Sanitize::default(),
            columns: Vec::new(),
        }
    }

    /// As [`Annotations::of`], with a decoder of any type; `None` if it is no [`Image`] with one picture in a row.
    #[doc(hidden)]
    pub fn of_column(decode: &dyn Decode) -> Option<Annotations> {
        let image = decode.hooks()?.as_image()?.downcast_ref::<Image>()?;
        (!image.makes_several()).then(|| Annotations::of(image))
    }

    /// Sets the part that has the annotations; `json` by default.
    pub fn part(mut self, ext: &str) -> Annotations {
        self.part = ext.to_string();
        self
    }

    /// Sets which texts are JSON.
    pub fn rules(mut self, rules: JsonRules) -> Annotations {
        self.rules = rules;
        self
    }

    /// Whether coordinates are those of the upright picture. By default they are those of the picture as it is stored, and are
    /// turned with it: programs that ignore the EXIF orientation, as most that wrote data sets, have such coordinates.
    pub fn upright(mut self, upright: bool) -> Annotations {
        self.is_upright = upright;
        self
    }

    /// Sets which objects are kept, by their boxes after the picture has moved. By default those whose width, height and area
    /// are at least 1. Without a column of boxes, all objects are kept.
    pub fn sanitize(mut self, keep: Sanitize) -> Annotations {
        self.keep = keep;
        self
    }

    /// Adds a column of boxes. It decides which objects are kept, so there is one at most.
    pub fn boxes(self, name: &str, boxes: Boxes) -> Annotations {
        self.add(name, FieldKind::Boxes(boxes))
    }

    /// Adds a column of one number for each object: the list at `pointer`.
    pub fn values(self, name: &str, pointer: &str, dtype: DType) -> Annotations {
        self.add(name, FieldKind::Values(ObjectValues::new(pointer, dtype)))
    }

    /// As [`Annotations::values`], with more settings.
    pub fn values_of(self, name: &str, values: ObjectValues) -> Annotations {
        self.add(name, FieldKind::Values(values))
    }

    /// Adds a column of masks.
    pub fn masks(self, name: &str, masks: Masks) -> Annotations {
        self.add(name, FieldKind::Masks(masks))
    }

    /// Adds a column of keypoints.
    pub fn keypoints(self, name: &str, keypoints: Keypoints) -> Annotations {
        self.add(name, FieldKind::Points(keypoints))
    }

    fn group(&self) -> Group {
        Group {
            image: self.image.clone(),
            part: self.part.clone(),
            rules: self.rules,
            is_upright: self.is_upright,
            keep: self.keep,
            columns: self.columns.clone(),
        }
    }

    fn add(mut self, name: &str, kind: FieldKind) -> Annotations {
        self.columns.push(ObjectColumn { name: name.to_string(), kind });
        self
    }

    /// The column of the picture, if its recipe draws with the boxes: as
    /// [`RandomIoUCrop`](crate::transforms::operations::detection::RandomIoUCrop) does. Give it to the loader in place of the
    /// [`Image`].
    ///
    /// ```
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::detection::RandomIoUCrop;
    /// use tarflume::{Annotations, BoxFormat, Boxes, Image, Loader};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::with_json(
    /// #     tarflume_fixtures::PHOTOS[0].jpeg, r#"{"boxes": [[4, 5, 60, 50]]}"#);
    /// # let shards = made.path();
    /// let image = Image::new("jpg", Recipe::new([RandomIoUCrop::default().into()]));
    /// let annotations = Annotations::of(&image).boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh));
    /// let loader = Loader::builder(shards)
    ///     .column("image", annotations.picture())
    ///     .annotations(&annotations)
    ///     .build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert!(batch.column("image")?.picture(0).is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn picture(&self) -> BoxedImage {
        BoxedImage::new(Arc::new(self.group()))
    }

    /// Whether [`Annotations::picture`] is needed.
    #[doc(hidden)]
    pub fn draws_with_boxes(&self) -> bool {
        self.image.needs_boxes()
    }

    /// The columns, in the order in which they were added. The first one of a sample reads it for all.
    pub fn columns(&self) -> Vec<AnnotationColumn> {
        let group = Arc::new(self.group());
        (0..self.columns.len()).map(|at| AnnotationColumn::new(group.clone(), at)).collect()
    }
}

#[cfg(test)]
mod tests;
