//! `MaskPicture`: a column of pictures of numbers, classes or instances, that move with another picture.

use std::mem;
use std::sync::Arc;

use tarflume_annotations::turn;
use tarflume_image::formats::index;
use tarflume_image::{
    Channels, Cut, Depth, ImageSize, Pixels, Placement, StoredPicture, StoredRegion, Turn, Wanted,
    make_room,
};
use tarflume_transforms::actions::Action;
use tarflume_transforms::annotations::mask_actions;
use tarflume_transforms::{Frame, Shape, apply, memory};
use tarflume_types::{DType, Error, ErrorKind, PictureShape, Result, Row, RowShape};

use super::group::{PICTURE, of_picture};
use super::masks::place;
use super::on_picture::draws_of;
use super::rules::check_blend;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::pictures::image::{Geometry, Image};
use crate::decode::pictures::in_buckets::{BucketDecoder, InBuckets};
use crate::decode::pictures::open_picture::{OpenPicture, PictureSource};
use crate::decode::pictures::picture_decoder::PictureDecoder;
use crate::decode::values::on_picture::{OnPicture, PictureRows};
use crate::decode::values::picture_buckets::PictureBuckets;
use crate::decode::{Decode, DecodeHooks, ForResident, ObjectRows, Sample, Scratch};

/// The place of the mask among the parts.
const MASK: usize = 0;

/// What the numbers of a mask are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskKind {
    /// Classes; 255 where the picture was not, which losses ignore.
    Semantic,
    /// Instances; 0 where the picture was not.
    Instance,
    /// 1 where the stored number is not 0, and 0 elsewhere and where the picture was not.
    Binary,
}

/// A column of pictures of numbers: the indices of a palette or gray levels, as they are stored. They move with another
/// picture, with the nearest pixel. Rows have the shape `[height, width]`, or are pictures `[1, height, width]` if the picture's
/// recipe has no fixed size.
///
/// ```
/// use tarflume::{DType, Decode, Image, MaskKind, MaskPicture, Resize, RowShape};
///
/// let image = Image::new("jpg", Resize::exact(64));
/// let classes = MaskPicture::of(&image, "mask.png", MaskKind::Semantic).dtype(DType::I64);
/// assert_eq!(classes.shape(), RowShape::Fixed(DType::I64, vec![64, 64]));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct MaskPicture {
    image: Arc<Image>,
    ext: String,
    kind: MaskKind,
    dtype: DType,
    is_upright: bool,
}

/// What a thread keeps.
#[derive(Debug, Default)]
struct MaskBuffers {
    decoder: PictureDecoder,
    actions: Vec<Action>,
    /// One byte of each number.
    plane: Vec<u8>,
    frame: Frame,
    moved: Vec<u8>,
}

/// Where the numbers of a mask go.
struct Moves<'a> {
    geometry: Geometry,
    actions: &'a [Action],
    is_upright: bool,
}

impl MaskPicture {
    /// A column of the part `ext`, which moves as the column `image` moves the picture: with its recipe, its draws and its EXIF
    /// orientation. Rows are `u8`.
    pub fn of(image: &Image, ext: &str, kind: MaskKind) -> MaskPicture {
        MaskPicture {
            image: Arc::new(image.clone()),
            ext: ext.to_string(),
            kind,
            dtype: DType::U8,
            is_upright: false,
        }
    }

    /// As [`MaskPicture::of`], with a decoder of any type; `None` if it is no [`Image`] with one picture in a row.
    #[doc(hidden)]
    pub fn of_column(decode: &dyn Decode, ext: &str, kind: MaskKind) -> Option<MaskPicture> {
        let image = decode.hooks()?.as_image()?.downcast_ref::<Image>()?;
        (!image.makes_several()).then(|| MaskPicture::of(image, ext, kind))
    }

    /// Sets the type of the numbers: `u8`, `u16`, `i32` or `i64`.
    pub fn dtype(mut self, dtype: DType) -> MaskPicture {
        self.dtype = dtype;
        self
    }

    /// Whether the mask has the size of the upright picture. By default it has that of the stored one and is turned with it.
    pub fn upright(mut self, upright: bool) -> MaskPicture {
        self.is_upright = upright;
        self
    }

    fn fill(&self) -> u8 {
        if self.kind == MaskKind::Semantic { u8::MAX } else { 0 }
    }

    /// Opens the mask, and checks its size.
    fn open<'a>(&self, sample: &Sample<'a>, geometry: &Geometry) -> Result<PictureSource<'a>> {
        let source = PictureSource::open(sample.part(MASK), None, None)?;
        if let PictureSource::Jpeg(_) = source {
            return Err(index::colors("a JPEG"));
        }
        let picture = if self.is_upright { geometry.upright() } else { geometry.stored };
        if source.size() == picture {
            return Ok(source);
        }
        let turned = if self.is_upright { "upright, " } else { "" };
        let text = format!(
            "the mask {:?} is {}, and the picture {:?} is {turned}{picture}: a mask has the size of its picture",
            sample.ext(MASK),
            source.size(),
            sample.ext(PICTURE)
        );
        Err(Error::new(ErrorKind::Decode, text))
    }

    fn run(
        &self,
        sample: &Sample<'_>,
        row: Row<'_>,
        scratch: &mut Scratch,
        buffers: &mut MaskBuffers,
    ) -> Result<()> {
        let MaskBuffers { decoder, actions: drawn, plane, frame, moved } = buffers;
        drawn.clear();
        let mut geometry = self.image.stored_geometry(&of_picture(sample))?;
        self.image.draw_geometry(sample.seed, &mut geometry, None, drawn)?;
        let source = self.open(sample, &geometry)?;
        let size = source.size();
        let actions = &mask_actions(drawn, self.fill())?[..];
        let whole = Placement::of(Cut::whole(size), size);
        let opened = OpenPicture::new(source, whole, Turn::default(), None)?;
        let on = Shape { size: geometry.upright(), channels: 1 };
        let moving = memory(actions, on).saturating_add(4 * size.pixels());
        scratch.reserve(opened.memory.saturating_add(moving))?;
        decoder.decode(opened, Wanted { channels: Channels::Index, exact: true })?;
        let moves = Moves { geometry, actions, is_upright: self.is_upright };
        let result = moves.geometry.result(moves.actions);
        let low = moves.plane(|to| self.low(decoder.pixels(), to), size, plane, frame)?;
        if decoder.pixels().depth == Depth::Byte || self.kind == MaskKind::Binary {
            return self.write(low, None, result, row);
        }
        make_room(moved, low.len())?;
        moved.copy_from_slice(low);
        // The upper bytes are 0 where the picture was not.
        let moves = Moves { actions: &mask_actions(drawn, 0)?, ..moves };
        let high = moves.plane(|to| high(decoder.pixels(), to), size, plane, frame)?;
        self.write(moved, Some(high), result, row)
    }

    /// Writes the lower byte of each number, or whether it is not 0.
    fn low(&self, pixels: &Pixels, to: &mut [u8]) {
        let is_binary = self.kind == MaskKind::Binary;
        match pixels.depth {
            Depth::Byte => {
                for (to, &number) in to.iter_mut().zip(&pixels.bytes) {
                    *to = if is_binary { u8::from(number != 0) } else { number };
                }
            }
            _ => {
                for (to, &number) in to.iter_mut().zip(&pixels.words) {
                    *to = if is_binary { u8::from(number != 0) } else { number as u8 };
                }
            }
        }
    }

    /// Writes the row from one byte or two of each number.
    fn write(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
        size: ImageSize,
        mut row: Row<'_>,
    ) -> Result<()> {
        let each = self.dtype.size();
        let bytes = low.len() * each;
        let room = row.bytes().len();
        let Some(to) = row.bytes().get_mut(..bytes) else {
            let text = format!("a mask of {size} does not fit a row of {room} bytes");
            return Err(Error::new(ErrorKind::Decode, text));
        };
        match (high, each) {
            (None, 1) => to.copy_from_slice(low),
            (Some(high), 1) => {
                if let Some(at) = high.iter().position(|&byte| byte != 0) {
                    let number = u16::from_le_bytes([low[at], high[at]]);
                    let text = format!(
                        "the mask has the number {number}, which uint8 cannot hold: use dtype=\"uint16\" or \"int64\" \
                         (`MaskPicture::dtype`)"
                    );
                    return Err(Error::new(ErrorKind::Decode, text));
                }
                to.copy_from_slice(low);
            }
            (high, each) => {
                // Little-endian, as the machine: the upper bytes of a wider type are 0.
                to.fill(0);
                for (at, number) in to.chunks_exact_mut(each).enumerate() {
                    number[0] = low[at];
                    number[1] = high.map_or(0, |high| high[at]);
                }
            }
        }
        row.set_used(bytes);
        let ImageSize { width, height } = size;
        row.set_picture(PictureShape { height, width, channels: 1, channels_first: true });
        Ok(())
    }
}

/// Writes the upper byte of each number.
fn high(pixels: &Pixels, to: &mut [u8]) {
    to.iter_mut().zip(&pixels.words).for_each(|(to, &number)| *to = (number >> 8) as u8);
}

impl Moves<'_> {
    /// Moves a plane of bytes, which `write` writes as stored.
    fn plane<'a>(
        &self,
        write: impl FnOnce(&mut [u8]),
        stored: ImageSize,
        plane: &'a mut Vec<u8>,
        frame: &'a mut Frame,
    ) -> Result<&'a [u8]> {
        let upright = self.geometry.upright();
        let pixels = frame.begin(upright, 1)?;
        if self.is_upright || self.geometry.turn == Turn::default() {
            write(pixels);
        } else {
            make_room(plane, stored.pixels() as usize)?;
            write(plane);
            turn::plane(plane, self.geometry.turn, stored, pixels);
        }
        let Some(placement) = self.geometry.placement else {
            apply(self.actions, frame)?;
            return Ok(frame.pixels());
        };
        make_room(plane, placement.size.pixels() as usize)?;
        place(frame.pixels(), upright, &placement, plane);
        Ok(plane)
    }
}

impl Decode for MaskPicture {
    fn parts(&self) -> Vec<String> {
        let mut parts = vec![self.ext.clone()];
        parts.extend(self.image.parts().into_iter().take(1));
        parts
    }

    fn shape(&self) -> RowShape {
        match self.image.result_size() {
            Some(size) => {
                RowShape::Fixed(self.dtype, vec![size.height as usize, size.width as usize])
            }
            None => RowShape::Variable(self.dtype),
        }
    }

    fn validate(&self) -> Result<()> {
        if self.image.makes_several() {
            return Err(Error::usage(
                "FiveCrop and TenCrop make several pictures of one, and a mask follows one: use a recipe without them",
            ));
        }
        self.image.validate()?;
        check_blend(&self.image)?;
        if self.image.needs_boxes() {
            return Err(Error::usage(
                "RandomIoUCrop draws with the boxes of a picture, which a mask of the whole picture does not get: use a recipe \
                 without it",
            ));
        }
        if matches!(self.dtype, DType::U8 | DType::U16 | DType::I32 | DType::I64) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "the numbers of a mask are uint8, uint16, int32 or int64, not {}",
            self.dtype
        )))
    }

    fn room(&self, _: &[u64]) -> u64 {
        self.image.result_pixels(None).saturating_mul(self.dtype.size() as u64)
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let mut buffers = scratch.take::<MaskBuffers>();
        let result = self.run(sample, row, scratch, &mut buffers);
        scratch.blocks += mem::take(&mut buffers.decoder.blocks);
        buffers.drop_large();
        scratch.put(buffers);
        result
    }

    fn wants_entry_points(&self) -> bool {
        true
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl MaskBuffers {
    fn drop_large(&mut self) {
        self.decoder.drop_large();
        self.frame.drop_large(Scratch::KEEP);
        for buffer in [&mut self.plane, &mut self.moved] {
            if buffer.capacity() > Scratch::KEEP {
                *buffer = Vec::new();
            }
        }
    }
}

impl DecodeHooks for MaskPicture {
    fn in_buckets(&self, of: &PictureBuckets) -> Option<Arc<dyn Decode>> {
        let is_sized = self.lacks_bucket();
        is_sized.then(|| {
            Arc::new(InBuckets::new(of, |number, size| {
                let image = Arc::new(self.image.in_bucket(of, number, size));
                let ImageSize { height, width } = image.result_size().unwrap_or(size);
                let shape = PictureShape { height, width, channels: 1, channels_first: true };
                BucketDecoder::new(MaskPicture { image, ..self.clone() }, Some(shape))
            })) as Arc<dyn Decode>
        })
    }

    fn lacks_bucket(&self) -> bool {
        self.image.lacks_bucket()
    }

    fn wants_pixels(&self) -> bool {
        self.image.result_size().is_none()
    }

    fn room_of(&self, _: &[u64], pixels: &[Option<u64>]) -> Option<u64> {
        let pixels = pixels.get(PICTURE).copied().flatten();
        Some(self.image.result_pixels(pixels).saturating_mul(self.dtype.size() as u64))
    }

    fn objects(&self) -> Option<ObjectRows> {
        Some(ObjectRows::Plane)
    }

    fn on_picture(&self) -> Option<OnPicture> {
        let picture = draws_of(&self.image);
        Some(OnPicture { picture, group: 0, rows: PictureRows::Plane })
    }

    fn takes_excerpts(&self) -> bool {
        true
    }

    fn mask_part(&self) -> Option<usize> {
        Some(MASK)
    }

    fn picture_part(&self) -> Option<usize> {
        Some(PICTURE)
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        self.image.region(picture)
    }

    fn for_resident(&self, _: PictureStorage) -> Result<Option<ForResident>> {
        Err(Error::usage(
            "the device draws the crops of a resident data set, and masks do not get these draws: use a loader without \
             Resident (`Residency`)",
        ))
    }
}
