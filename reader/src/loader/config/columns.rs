//! The columns of a loader: setters of all loaders, with an index or without. What a column holds is decided by its decoder.

use tarflume_image::Transform;
use tarflume_transforms::{CopyPaste, Mix, Mosaic};

use crate::decode::Decode;
use crate::decode::bytes::raw::Raw;
use crate::decode::json::Json;
use crate::decode::pictures::annotations::Annotations;
use crate::decode::pictures::image::Image;
use crate::decode::pictures::image::views::Views;
use crate::decode::texts::text::Text;
use crate::loader::config::builder::LoaderBuilder;

impl<Of> LoaderBuilder<Of> {
    /// Column `image`: the image in the part `ext`, cut and resized by `transform`; rows of u8, `[height, width, 3]`. For
    /// other elements or layouts: `.column("image", Image::new(ext, transform)..)`.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).image("jpg", RandomResizedCrop::new(64)).batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("image")?.shape(), [4, 64, 64, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn image(self, ext: &str, transform: impl Transform) -> Self {
        self.column("image", Image::new(ext, transform))
    }

    /// A column for each group of `views`: several pictures of each sample, which is decoded once.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let pair = Views::new().group("pair", 2, Image::new("jpg", RandomResizedCrop::new(64)));
    /// let loader = Loader::builder(shards).views(&pair).batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("pair")?.shape(), [4, 2, 64, 64, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn views(mut self, views: &Views) -> Self {
        for column in views.columns() {
            let name = column.name().to_string();
            self.common.add_column(&name, column);
        }
        self
    }

    /// A column for each of `annotations`: what lies on a picture moves as the picture does.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::with_json(
    /// #     tarflume_fixtures::PHOTOS[0].jpeg, r#"{"boxes": [[4, 5, 60, 50]]}"#);
    /// # let shards = made.path();
    /// let image = Image::new("jpg", Resize::exact(64));
    /// let boxes = Annotations::of(&image).boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh));
    /// let loader = Loader::builder(shards).column("image", image).annotations(&boxes).batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("boxes")?.row_elements::<f32>(3)?.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn annotations(mut self, annotations: &Annotations) -> Self {
        for column in annotations.columns() {
            let name = column.name().to_string();
            self.common.add_column(&name, column);
        }
        self
    }

    /// Column `label`: the number at `pointer` (RFC 6901) in the JSON part `ext`; rows of i64. For other types:
    /// `.column("label", Json::new(ext, pointer)..)`.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).label("json", "/class").batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("label")?.elements::<i64>()?, [0, 1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn label(self, ext: &str, pointer: &str) -> Self {
        self.column("label", Json::new(ext, pointer))
    }

    /// Column `ext`: the part's bytes.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).bytes("json").build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert!(batch.column("json")?.row(0).starts_with(b"{\"class\""));
    /// # Ok(())
    /// # }
    /// ```
    pub fn bytes(self, ext: &str) -> Self {
        self.column(ext, Raw::new(ext))
    }

    /// Column `ext`: the part as UTF-8 text.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let loader = Loader::builder(shards).text("txt").build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("txt")?.row(0), b"photo 0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn text(self, ext: &str) -> Self {
        self.column(ext, Text::new(ext))
    }

    /// Mixes the rows of each batch with each other by MixUp and CutMix, and adds the columns for the loss. The batch is
    /// mixed before it goes to a device, so the host finishes the pictures of that column. Rows that hold a substitute or are
    /// padding stay as they are.
    ///
    /// Draws depend on the seed, the epoch and the position of the batch: threads and resumes change no pixel, another
    /// batch size or world size does.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// use tarflume::transforms::Mix;
    ///
    /// let loader = Loader::builder(shards)
    ///     .shuffle(Shuffle::Full { seed: 42 })
    ///     .image("jpg", RandomResizedCrop::new(64))
    ///     .label("json", "/class")
    ///     .mix(Mix::new("image", "label").mixup(0.2).cutmix(1.0).num_classes(16))
    ///     .batch(4)
    ///     .build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// let targets = batch.column("target")?.elements::<f32>()?; // [4, 16]
    /// assert!((targets.iter().sum::<f32>() - 4.0).abs() < 1e-5);
    /// # Ok(())
    /// # }
    /// ```
    pub fn mix(mut self, mix: Mix) -> Self {
        self.common.mix = Some(mix);
        self
    }

    /// Makes one picture of four rows of a batch, and moves the boxes, masks and points of the four with it. Mosaics are made
    /// before the batch goes to a device, so the host finishes the pictures of that column, and before [`Self::mix`]. Rows that
    /// hold a substitute or are padding stay as they are.
    ///
    /// Draws depend on the seed, the epoch and the position of the batch, as those of [`Self::mix`].
    ///
    /// ```
    /// use tarflume::transforms::Mosaic;
    /// use tarflume::{Annotations, BoxFormat, Boxes, Image, Loader, Resize};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::with_json(
    /// #     tarflume_fixtures::PHOTOS[0].jpeg, r#"{"boxes": [[4, 5, 60, 50]]}"#);
    /// # let shards = made.path();
    /// let image = Image::new("jpg", Resize::exact(64));
    /// let boxes = Annotations::of(&image).boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh));
    /// let loader = Loader::builder(shards)
    ///     .column("image", image)
    ///     .annotations(&boxes)
    ///     .mosaic(Mosaic { p: 0.5, ..Mosaic::default() })
    ///     .batch(4)
    ///     .build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// let boxes = batch.column("boxes")?; // of up to four samples in each row
    /// # assert_eq!(boxes.row(0).len() % 16, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn mosaic(mut self, mosaic: Mosaic) -> Self {
        self.common.objects.mosaic = Some(mosaic);
        self
    }

    /// Pastes objects of another row of a batch over a picture, by their masks, and changes the boxes, masks and points of the
    /// row's own objects as far as they are covered. That is done before the batch goes to a device, so the host finishes the
    /// pictures of that column, behind [`Self::mosaic`] and before [`Self::mix`]. Rows that hold a substitute or are padding
    /// stay as they are.
    ///
    /// Draws depend on the seed, the epoch and the position of the batch, as those of [`Self::mix`].
    ///
    /// ```
    /// use tarflume::transforms::CopyPaste;
    /// use tarflume::{Annotations, BoxFormat, Boxes, Image, Loader, Masks, Resize};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let json = r#"{"boxes": [[4, 5, 60, 50]], "shapes": [[[4, 5, 64, 5, 64, 55]]]}"#;
    /// # let made = tarflume::internal::ExampleShards::with_json(tarflume_fixtures::PHOTOS[0].jpeg, json);
    /// # let shards = made.path();
    /// let image = Image::new("jpg", Resize::exact(64));
    /// let objects = Annotations::of(&image)
    ///     .boxes("boxes", Boxes::new("/boxes", BoxFormat::Xywh))
    ///     .masks("masks", Masks::new("/shapes"));
    /// let loader = Loader::builder(shards)
    ///     .column("image", image)
    ///     .annotations(&objects)
    ///     .copy_paste(CopyPaste { p: 0.5, ..CopyPaste::default() })
    ///     .batch(4)
    ///     .build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// let masks = batch.column("masks")?; // of up to two samples in each row
    /// # assert_eq!(masks.row(0).len() % (64 * 64), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn copy_paste(mut self, copy_paste: CopyPaste) -> Self {
        self.common.objects.copy_paste = Some(copy_paste);
        self
    }

    /// Keeps what recipes draw, and how rows are mixed: [`Loader::transforms`](crate::Loader::transforms) returns it. Each
    /// column with a recipe and one picture a row gets one beside it, `image_draws`, of three numbers a row; a mixed one gets
    /// `image_mix`, one of mosaics `image_mosaic`, and one with pasted objects `image_copy_paste`. Columns of other transforms, of
    /// [`Views`](crate::Views) and of crops keep nothing.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// use tarflume::transforms::Recipe;
    /// use tarflume::transforms::operations::crop::RandomResizedCrop;
    ///
    /// let recipe = Recipe::new([RandomResizedCrop::new([64, 64]).into()]);
    /// let loader = Loader::builder(shards).image("jpg", recipe).keep_transforms().batch(4).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// let drawn = loader.transforms(&batch)?;
    /// println!("{:?}", drawn[0].rows[0].actions); // a crop and a resize, with all their numbers
    /// # assert_eq!(drawn[0].rows[0].actions.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keep_transforms(mut self) -> Self {
        self.common.keep_transforms = true;
        self
    }

    /// A column `name` whose rows `decode` writes; see [`Decode`] for decoders of your own.
    ///
    /// ```
    /// # use tarflume::*;
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let caption = Json::new("json", "/caption").text();
    /// let picture = Image::new("jpg", RandomResizedCrop::new(64)).layout(Layout::Chw).to_f16(Normalize::imagenet());
    /// let loader = Loader::builder(shards).column("caption", caption).column("picture", picture).build()?;
    /// let batch = loader.epoch(0).next().unwrap()?;
    /// assert_eq!(batch.column("picture")?.shape(), [1, 3, 64, 64]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn column(mut self, name: &str, decode: impl Decode) -> Self {
        self.common.add_column(name, decode);
        self
    }
}
