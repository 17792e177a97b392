//! `Image`: from a picture's bytes to a row of pixels. The options are in `settings`, the device's part in `division`.
//!
//! Combines decoders, geometry, resizing and output. The transform runs first, on the header alone, so that no more
//! is decoded than it needs.

mod device_requests;
mod division;
mod draws;
mod exact;
mod headed_rows;
mod opening;
mod recipes;
mod settings;
mod single_row;
mod sizes;
pub(crate) mod views;
mod writing;

use std::any::Any;
use std::mem;
use std::sync::Arc;

use tarflume_image::resize::memory;
use tarflume_image::{
    Depth, Elements, Extent, ImageSize, Layout, Pixels, Placement, Random, StoredPicture,
    StoredRegion, Turn,
};
use tarflume_jpeg::Scale;
use tarflume_transforms::Frame;
use tarflume_transforms::actions::Action;
use tarflume_types::{Error, ErrorKind, Result, Row, RowShape};

use super::open_picture::{Codec, OpenPicture, PictureSource};
use super::picture_decoder::{Decoded, GROUP, Owner, PictureDecoder};
use crate::decode::costs::operations::ColumnTimes;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::jpeg::{View, view};
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{ColumnRecipe, Decode, DecodeHooks, ForDevice, ForResident, Sample, Scratch};

pub(in crate::decode) use self::draws::Geometry;
use self::draws::ImageDraws;
pub use self::opening::room_pixels;
use self::opening::{UNKNOWN, of_excerpt};
pub use self::settings::Image;
pub use self::single_row::SingleRow;
pub use self::sizes::ImageSizes;
use self::writing::PlacedBuffers;

impl Image {
    /// A column `[height, width]` of `u32` with the output size of each picture of this column, which readers of
    /// a variable column need. Reads headers only.
    pub fn sizes(&self) -> ImageSizes {
        ImageSizes(self.clone())
    }

    fn source<'a>(&self, sample: &Sample<'a>) -> Result<PictureSource<'a>> {
        let entry_points = sample.entry_points(0);
        let excerpt = sample.excerpt(0);
        let mut source = PictureSource::open(sample.part(0), entry_points, excerpt)?;
        if let (true, PictureSource::Jpeg(jpeg)) = (self.keep_damaged, &mut source) {
            jpeg.keep_damaged();
        }
        self.check_pixels(source.size())?;
        self.check_source(&source)?;
        Ok(source)
    }

    /// Runs the transform on a picture of size `stored` with the EXIF orientation `turn`. Returns the turn that is applied
    /// (none if the column ignores the orientation), the upright size, and the placement on the upright picture.
    fn placed(
        &self,
        seed: u64,
        stored: ImageSize,
        turn: Turn,
    ) -> Result<(Turn, ImageSize, Placement)> {
        let turn = if self.orientation { turn } else { Turn::default() };
        let upright = turn.size(stored);
        if let Some(bucket) = &self.bucket {
            bucket.check(upright)?;
        }
        let placement = match self.changes() {
            Some(recipe) => {
                let boxes = self.boxes.as_deref();
                recipe.placement_with(seed, self.stream, self.shape_of(upright), boxes)?
            }
            None => self.transform.place(upright, &mut Random::stream(seed, self.stream))?,
        };
        Ok((turn, upright, placement))
    }

    /// As `placed`: the turn that includes mirroring, the upright size, and the placement on the stored picture.
    fn placed_as_stored(
        &self,
        seed: u64,
        stored: ImageSize,
        turn: Turn,
    ) -> Result<(Turn, ImageSize, Placement)> {
        let (turn, upright, placement) = self.placed(seed, stored, turn)?;
        placement.check(upright)?;
        if self.changes().is_none() {
            self.check_size(placement.size)?;
        }
        Ok((turn.and_flip(placement.flip), upright, turn.stored(placement, upright)))
    }

    fn place<'a>(&self, sample: &Sample<'a>, source: PictureSource<'a>) -> Result<OpenPicture<'a>> {
        let (turn, upright, placement) =
            self.placed_as_stored(sample.seed, source.size(), source.turn())?;
        let each = self.decoded_depth(&source).bytes() as u64;
        let changing = self.memory_of_changes(sample.seed, upright, turn.size(placement.size))?;
        let mut opened = OpenPicture::new(source, placement, turn, self.gap())?;
        let finishing = memory(&opened.placement, self.resize_filter(), self.channels.count());
        opened.finishing = finishing.saturating_mul(each).saturating_add(changing);
        Ok(opened)
    }

    fn owner(&self, sample: &Sample<'_>) -> Owner {
        let column = std::ptr::from_ref(self).addr();
        Owner { column, ordinal: sample.ordinal, seed: sample.seed }
    }

    fn run(
        &self,
        sample: &Sample<'_>,
        row: Row<'_>,
        scratch: &mut Scratch,
        kept: &mut DrawBuffers,
    ) -> Result<()> {
        let DrawBuffers { decoder, finish } = kept;
        if let Some(ahead) = decoder.take(self.owner(sample)) {
            let (drawn, pixels) = ahead?;
            return self.write(drawn, pixels, sample.seed, row, finish);
        }
        let opened = self.open(sample)?;
        scratch.reserve(opened.memory.saturating_add(opened.finishing))?;
        let is_own = !matches!(opened.codec, Codec::Fallback(_));
        let mut drawn = decoder.decode(opened, self.wanted());
        if let Err(error) = &drawn
            && is_own
            && error.kind() == ErrorKind::Unsupported
        {
            // Some kinds are only found to be such behind the header.
            let opened = self.place(sample, self.replacement(sample, error.clone())?)?;
            scratch.reserve_instead(opened.memory.saturating_add(opened.finishing))?;
            drawn = decoder.decode(opened, self.wanted());
        }
        self.write(drawn?, decoder.pixels(), sample.seed, row, finish)
    }

    /// Writes decoded pixels into a row: resized here, or as decoded for a device that resizes.
    fn write(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        seed: u64,
        mut row: Row<'_>,
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        if !self.headed {
            return self.write_ready(drawn, pixels, seed, row, finish);
        }
        let channels = self.channels.count();
        if headed_rows::write_decoded(row.bytes(), &drawn, pixels, channels)? {
            return Ok(());
        }
        let Extent::Fixed(size) = self.transform.extent() else { return Ok(()) };
        let ready = headed_rows::write_ready(row.bytes(), size, channels)?;
        self.write_ready(drawn, pixels, seed, Row::fixed(ready), finish)
    }

    /// Resizes decoded pixels, changes them as the recipe says, and writes them into a row.
    fn write_ready(
        &self,
        drawn: Decoded,
        pixels: &Pixels,
        seed: u64,
        row: Row<'_>,
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        let form = self.form(seed);
        if pixels.depth != Depth::Byte {
            return self.write_wide(drawn, pixels, form.filter, row, finish);
        }
        if let Some(recipe) = self.changes() {
            let on = self.shape_of(drawn.upright);
            let boxes = self.boxes.as_deref();
            return recipe.with_owned_rest_and_boxes(
                seed,
                self.stream,
                on,
                boxes,
                |actions, owners| {
                    let what = Drawn { actions, owners, seed };
                    self.write_changed(drawn, pixels, form, what, row, finish)
                },
            );
        }
        self.write_placed(drawn, pixels, form, row, &mut finish.placed)
    }

    /// Decodes JPEGs of moderate size together.
    fn run_ahead(&self, samples: &[Sample<'_>], scratch: &mut Scratch, kept: &mut DrawBuffers) {
        let mut group = [const { None }; GROUP];
        let mut memory = 0;
        for (place, sample) in group.iter_mut().zip(samples) {
            // A sample that cannot be opened is reported by `decode`.
            let Ok(opened) = self.open_own(sample) else { continue };
            // A JPEG with entry points already provides several independent streams, and decoding it alone
            // keeps its pixels in the cache for resizing.
            let gains = matches!(&opened.codec, Codec::Jpeg(jpeg, _) if !jpeg.has_entry_points());
            // `finishing` memory is reserved once, for one picture, up to what a thread may keep.
            let gains = gains && opened.finishing <= Scratch::KEEP as u64;
            if gains && memory + opened.memory <= Scratch::KEEP as u64 {
                memory += opened.memory;
                *place = Some((self.owner(sample), opened));
            }
        }
        if scratch.reserve(memory).is_ok() {
            let column = std::ptr::from_ref(self).addr();
            kept.decoder.decode_ahead(column, &group, self.channels);
        }
        scratch.release();
    }

    /// Checks the result of a user's transform against its declared extent.
    fn check_size(&self, size: ImageSize) -> Result<()> {
        let kept = match self.transform.extent() {
            Extent::Fixed(fixed) => size == fixed,
            Extent::UpTo(most) => size.pixels() <= most,
        };
        if kept {
            return Ok(());
        }
        let text =
            format!("a transform returned {size} pixels, outside its extent: {:?}", self.transform);
        Err(Error::usage(text))
    }
}

impl Decode for Image {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        let dtype = self.elements.dtype();
        let Extent::Fixed(size) = self.transform.extent() else { return RowShape::Variable(dtype) };
        let channels = self.channels.count();
        if let (true, Some(side)) = (self.headed, self.decoded) {
            return RowShape::Fixed(dtype, vec![headed_rows::row_bytes(side, size, channels)]);
        }
        if self.listed.is_some() {
            return RowShape::Fixed(dtype, vec![headed_rows::listed_bytes(size, channels)]);
        }
        let height = size.height as usize;
        let width = size.width as usize;
        RowShape::Fixed(
            dtype,
            match self.layout {
                Layout::Hwc => vec![height, width, channels],
                Layout::Chw => vec![channels, height, width],
            },
        )
    }

    fn validate(&self) -> Result<()> {
        self.transform.validate()?;
        self.check_recipe()?;
        self.check_device_decoder()?;
        self.check_index()?;
        match self.elements {
            Elements::Single(by) | Elements::Half(by) | Elements::Brain(by) if !by.is_finite() => {
                Err(Error::usage(format!("{by:?}: a standard deviation must not be 0")))
            }
            _ => Ok(()),
        }
    }

    fn room(&self, _: &[u64]) -> u64 {
        let pixels = match self.transform.extent() {
            Extent::Fixed(size) => size.pixels(),
            Extent::UpTo(_) => self.transform.most(self.most_pixels),
        };
        let each = self.channels.count() * self.elements.dtype().size();
        pixels.saturating_mul(each as u64)
    }

    fn group(&self) -> usize {
        GROUP
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let mut kept = scratch.take::<DrawBuffers>();
        self.run_ahead(samples, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.decoder.blocks);
        scratch.put(kept);
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut kept = scratch.take::<DrawBuffers>();
        let result = self.run(sample, row, scratch, &mut kept);
        scratch.blocks += mem::take(&mut kept.decoder.blocks);
        scratch.calls += mem::take(&mut kept.decoder.calls);
        scratch.operations.add(&mut kept.finish.times);
        kept.drop_large();
        scratch.put(kept);
        of_excerpt(result, sample)
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for Image {
    fn as_image(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn wants_pixels(&self) -> bool {
        matches!(self.transform.extent(), Extent::UpTo(_))
    }

    fn room_of(&self, _: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        let pixels = match *pixels.first()? {
            Some(UNKNOWN) if self.fallback.is_some() => return None,
            Some(UNKNOWN) => 0,
            pixels => pixels?,
        };
        let each = self.channels.count() * self.elements.dtype().size();
        Some(self.transform.most(pixels).saturating_mul(each as u64))
    }

    fn takes_excerpts(&self) -> bool {
        true
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        let StoredPicture { size, orientation, seed, .. } = *picture;
        let turn = orientation.map(Turn::of_exif).unwrap_or_default();
        let (_, _, placement) = self.placed_as_stored(seed, size, turn).ok()?;
        let View { scale, region } = view(size, &placement, self.gap(), Scale::Eighth);
        Some(StoredRegion { region, scale })
    }

    fn in_buckets(&self, of: &PictureBuckets) -> Option<Arc<dyn Decode>> {
        let is_sized = self.lacks_bucket();
        is_sized.then(|| Arc::new(self.of_buckets(of)) as Arc<dyn Decode>)
    }

    fn lacks_bucket(&self) -> bool {
        self.recipe.as_ref().is_some_and(|recipe| recipe.lacks_bucket())
    }

    fn recipe(&self) -> Option<ColumnRecipe<'_>> {
        let recipe = self.recipe.as_deref()?;
        let draws = Arc::new(ImageDraws(self.clone()));
        let channels = self.channels.count();
        Some(ColumnRecipe { recipe, channels, interpolation: self.own_interpolation(), draws })
    }

    fn listed(&self) -> Option<ImageSize> {
        let Extent::Fixed(size) = self.transform.extent() else { return None };
        self.listed.as_ref().map(|_| size)
    }

    fn lacks_boxes(&self) -> bool {
        self.needs_boxes()
    }

    fn for_device(&self) -> Option<ForDevice> {
        division::for_device(self)
    }

    fn for_resident(&self, storage: PictureStorage) -> Result<Option<ForResident>> {
        division::for_resident(self, storage)
    }
}

/// The state that a thread keeps between pictures.
#[derive(Default)]
struct DrawBuffers {
    decoder: PictureDecoder,
    finish: FinishBuffers,
}

/// What a sample gets behind the placement, and for each action the number of its operation.
#[derive(Clone, Copy)]
struct Drawn<'a> {
    actions: &'a [Action],
    owners: &'a [usize],
    /// Of the sample.
    seed: u64,
}

/// Buffers for resizing, changing and writing.
#[derive(Default)]
struct FinishBuffers {
    placed: PlacedBuffers,
    /// Resized samples of 16 bits and of floats.
    words: Vec<u16>,
    floats: Vec<f32>,
    /// The picture that a recipe changes.
    frame: Frame,
    /// The times of its operations since the last reset.
    pub(in crate::decode::pictures) times: ColumnTimes,
}

impl DrawBuffers {
    fn drop_large(&mut self) {
        self.decoder.drop_large();
        self.finish.drop_large();
    }
}

impl FinishBuffers {
    fn drop_large(&mut self) {
        let FinishBuffers { placed, words, floats, frame, .. } = self;
        let PlacedBuffers { resized, line, resizer } = placed;
        for buffer in [resized, line] {
            drop_if_large(buffer);
        }
        drop_if_large(words);
        drop_if_large(floats);
        resizer.drop_large(Scratch::KEEP);
        frame.drop_large(Scratch::KEEP);
    }
}

fn drop_if_large<T>(buffer: &mut Vec<T>) {
    if size_of::<T>() * buffer.capacity() > Scratch::KEEP {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests;
