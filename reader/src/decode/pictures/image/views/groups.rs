//! `ViewGroups`: decodes a picture once and writes the rows of all groups.
//!
//! Settings are checked in `rules`.

use tarflume_image::resize::memory;
use tarflume_image::{Cut, Depth, ImageSize, Pixels, Placement, Turn, Wanted};
use tarflume_jpeg::{Region, Scale};
use tarflume_types::{Error, ErrorKind, Result, Row};

use super::buffers::{ViewBuffers, ViewSource};
use crate::decode::jpeg::{View, region_of, scale_for};
use crate::decode::pictures::image::FinishBuffers;
use crate::decode::pictures::image::settings::Image;
use crate::decode::pictures::open_picture::{Codec, OpenPicture, PictureSource};
use crate::decode::pictures::picture_decoder::{Decoded, GROUP, Owner, PictureDecoder};
use crate::decode::{Decode, Sample, Scratch};

/// The most views of a group.
pub(super) const MOST_VIEWS: usize = 1024;

/// A group of views.
#[derive(Debug, Clone)]
pub(super) struct ViewGroup {
    pub(super) name: String,
    /// The number of views that was asked for.
    pub(super) count: usize,
    /// What makes each view: up to [`MOST_VIEWS`], which differ in their streams alone.
    pub(super) views: Vec<Image>,
    pub(super) kind: GroupKind,
}

/// How the views of a group differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// Each has draws of its stream. The image that was given has this stream.
    Views {
        /// 0 unless the user set it.
        given_stream: u64,
    },
    /// The last operation of the recipe makes all of them; they have the same draws.
    Crops,
}

/// All groups.
#[derive(Debug)]
pub(super) struct ViewGroups {
    pub(super) groups: Vec<ViewGroup>,
}

/// A picture whose header was read, and of which the views' part will be decoded.
pub(super) struct OpenViews<'a> {
    picture: OpenPicture<'a>,
    source: ViewSource,
}

/// The stream of a view: FNV-1a of its number and the name of its group. Frozen: a change would change augmentations.
/// Never 0, the stream of other columns.
pub(super) fn stream_of(group: &str, view: usize) -> u64 {
    let number = (view as u64).to_le_bytes();
    let hash =
        number.into_iter().chain(group.bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash.max(1)
}

impl ViewGroup {
    pub(super) fn new(name: &str, count: usize, image: &Image) -> ViewGroup {
        let numbers = 0..count.clamp(1, MOST_VIEWS);
        ViewGroup {
            name: name.to_string(),
            count,
            views: numbers.map(|view| image.clone().stream(stream_of(name, view))).collect(),
            kind: GroupKind::Views { given_stream: image.stream },
        }
    }

    /// The pictures that the last operation of the recipe makes of one.
    pub(super) fn of_crops(name: &str, image: &Image) -> ViewGroup {
        let pictures = image.recipe.as_ref().map_or(1, |recipe| recipe.pictures());
        ViewGroup {
            name: name.to_string(),
            count: pictures,
            views: (0..pictures).map(|number| image.with_picture(number)).collect(),
            kind: GroupKind::Crops,
        }
    }

    /// The settings of all views.
    pub(super) fn image(&self) -> &Image {
        &self.views[0]
    }

    /// Bytes of a row.
    fn row_bytes(&self) -> usize {
        let view = self.image().shape().bytes().unwrap_or(0);
        view.saturating_mul(self.views.len())
    }

    /// Writes the views of a row.
    fn write(
        &self,
        source: ViewSource,
        pixels: &Pixels,
        row: &mut [u8],
        finish: &mut FinishBuffers,
    ) -> Result<()> {
        let ViewSource { seed, stored, turn, view, .. } = source;
        let each = row.len() / self.views.len();
        for (image, row) in self.views.iter().zip(row.chunks_exact_mut(each.max(1))) {
            let (turn, upright, placement) = image.placed_as_stored(seed, stored, turn)?;
            image.memory_of_changes(seed, upright, turn.size(placement.size))?; // checks the size
            let placement = view.place_part(stored, &placement);
            let drawn = Decoded { placement, turn, upright };
            image.write_ready(drawn, pixels, seed, Row::fixed(row), finish)?;
        }
        Ok(())
    }
}

impl ViewGroups {
    /// The settings of what is decoded, which are the same in all groups.
    fn image(&self) -> &Image {
        self.groups[0].image()
    }

    /// All views of all groups.
    fn views(&self) -> impl Iterator<Item = &Image> {
        self.groups.iter().flat_map(|group| &group.views)
    }

    pub(super) fn owner(&self, sample: &Sample<'_>) -> Owner {
        let column = std::ptr::from_ref(self).addr();
        Owner { column, ordinal: sample.ordinal, seed: sample.seed }
    }

    /// The part of a stored picture that all views together need, at the largest scale that one of them needs. A view
    /// without a placement is left out: its column returns the error.
    ///
    /// # Errors
    /// Returns the error of the first view if no view has a placement.
    pub(super) fn jpeg_view(&self, seed: u64, stored: ImageSize, turn: Turn) -> Result<View> {
        let mut needed: Option<View> = None;
        let mut all = Cut::whole(ImageSize::new(0, 0));
        for image in self.views() {
            let Ok((_, _, placement)) = image.placed_as_stored(seed, stored, turn) else {
                continue;
            };
            let scale = scale_for(&placement, image.gap(), Scale::Eighth);
            all = needed.map_or(placement.cut, |_| around(all, placement.cut));
            let scale = needed.map_or(scale, |view| larger(view.scale, scale));
            needed = Some(View { scale, region: region_of(stored, all, scale) });
        }
        match needed {
            Some(view) => Ok(view),
            None => {
                self.image().placed_as_stored(seed, stored, turn)?;
                Err(Error::usage("a group of views has no view"))
            }
        }
    }

    /// What is decoded of a picture.
    pub(super) fn wanted(&self) -> Wanted {
        let exact = self.views().all(|image| image.wanted().exact);
        Wanted { exact, ..self.image().wanted() }
    }

    /// Opens a picture, with the fallback if its kind is not decoded here.
    fn open<'a>(&self, sample: &Sample<'a>) -> Result<OpenViews<'a>> {
        match self.open_own(sample) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.place(sample, self.image().replacement(sample, error)?)
            }
            opened => opened,
        }
    }

    /// Opens a picture of a kind that is decoded here.
    fn open_own<'a>(&self, sample: &Sample<'a>) -> Result<OpenViews<'a>> {
        self.place(sample, self.image().source(sample)?)
    }

    fn place<'a>(&self, sample: &Sample<'a>, source: PictureSource<'a>) -> Result<OpenViews<'a>> {
        self.check_source(&source)?;
        let seed = sample.seed;
        let stored = source.size();
        let turn = source.turn();
        let finishing = self.finishing(seed, &source);
        let mut view = whole(stored);
        let mut picture = match source {
            PictureSource::Jpeg(jpeg) => {
                view = self.jpeg_view(seed, stored, turn)?;
                OpenPicture::of_view(jpeg, view, turn)?
            }
            source => {
                OpenPicture::new(source, Placement::of(Cut::whole(stored), stored), turn, None)?
            }
        };
        picture.finishing = finishing;
        Ok(OpenViews { picture, source: ViewSource { seed, stored, turn, view, finishing } })
    }

    /// Checks that the groups agree on what becomes of the samples of a picture.
    fn check_source(&self, source: &PictureSource<'_>) -> Result<()> {
        for group in &self.groups {
            group.image().check_source(source)?;
        }
        let exact = self.groups.iter().filter(|group| group.image().wanted().exact).count();
        if source.depth() == Depth::Byte || exact == 0 || exact == self.groups.len() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Decode,
            "the picture has more than 8 bits a channel, which some groups of views keep and others cannot, because their \
             recipes change pixels of 8 bits: use dtype=\"uint8\", or recipes of crops, one resize and flips in this order \
             in all groups",
        ))
    }

    /// Bytes of memory for resizing, changing and keeping the views of a picture.
    fn finishing(&self, seed: u64, source: &PictureSource<'_>) -> u64 {
        let rows = self.groups.iter().map(|group| group.row_bytes() as u64);
        let kept = rows.fold(0, u64::saturating_add);
        let stored = source.size();
        let largest = self.views().filter_map(|image| {
            let placed = image.placed_as_stored(seed, stored, source.turn());
            let (turn, upright, placement) = placed.ok()?;
            let each = image.decoded_depth(source).bytes() as u64;
            let changing =
                image.memory_of_changes(seed, upright, turn.size(placement.size)).ok()?;
            let resizing = memory(&placement, image.resize_filter(), image.channels.count());
            Some(resizing.saturating_mul(each).saturating_add(changing))
        });
        largest.max().unwrap_or(0).saturating_add(kept)
    }

    /// Decodes a sample and writes the row of group `at`. Keeps the pixels for the other groups, or their rows.
    ///
    /// # Errors
    /// The picture cannot be decoded, or the views of this group cannot be made.
    pub(super) fn decode(
        &self,
        sample: &Sample<'_>,
        at: usize,
        row: &mut [u8],
        scratch: &mut Scratch,
        buffers: &mut ViewBuffers,
    ) -> Result<()> {
        let owner = self.owner(sample);
        buffers.rows.begin(owner, self.groups.len());
        let source = if let Some(ahead) = buffers.decoder.take(owner) {
            let (drawn, _) = ahead?;
            let seed = sample.seed;
            let turn = drawn.turn;
            let stored = turn.size(drawn.upright);
            let view = self.jpeg_view(seed, stored, turn)?;
            ViewSource { seed, stored, turn, view, finishing: 0 }
        } else {
            self.decode_now(sample, scratch, &mut buffers.decoder)?
        };
        // What needs much memory to finish is finished now, while it is reserved.
        if source.finishing <= Scratch::KEEP as u64 && buffers.decoder.keeps_latest() {
            buffers.rows.keep_source(source, at);
            return self.write_one(source, at, row, buffers);
        }
        self.write_all(source, at, row, buffers)
    }

    /// Writes the row of a group after another one of this sample, from the pixels that the decoder has kept.
    ///
    /// # Errors
    /// The views cannot be made, or memory is short.
    pub(super) fn write_next(
        &self,
        source: ViewSource,
        at: usize,
        row: &mut [u8],
        scratch: &mut Scratch,
        buffers: &mut ViewBuffers,
    ) -> Result<()> {
        // The first column's reservation has ended, and the pixels are still there.
        let pixels = buffers.decoder.latest().capacity() as u64;
        scratch.reserve(pixels.saturating_add(source.finishing))?;
        self.write_one(source, at, row, buffers)
    }

    /// Writes the row of a group from the pixels in the decoder.
    pub(super) fn write_one(
        &self,
        source: ViewSource,
        at: usize,
        row: &mut [u8],
        buffers: &mut ViewBuffers,
    ) -> Result<()> {
        let ViewBuffers { decoder, finish, rows } = buffers;
        let written = self.groups[at].write(source, decoder.latest(), row, finish);
        rows.keep_times(at, &mut finish.times);
        written
    }

    /// Decodes what all views need; the pixels are in the decoder.
    fn decode_now(
        &self,
        sample: &Sample<'_>,
        scratch: &mut Scratch,
        decoder: &mut PictureDecoder,
    ) -> Result<ViewSource> {
        let OpenViews { picture, mut source } = self.open(sample)?;
        scratch.reserve(picture.memory.saturating_add(picture.finishing))?;
        let is_own = !matches!(picture.codec, Codec::Fallback(_));
        let mut decoded = decoder.decode(picture, self.wanted());
        if let Err(error) = &decoded
            && is_own
            && error.kind() == ErrorKind::Unsupported
        {
            // Some kinds are only found to be such behind the header.
            let replacement = self.image().replacement(sample, error.clone())?;
            let opened = self.place(sample, replacement)?;
            let memory = opened.picture.memory.saturating_add(opened.picture.finishing);
            scratch.reserve_instead(memory)?;
            source = opened.source;
            decoded = decoder.decode(opened.picture, self.wanted());
        }
        decoded.map(|_| source)
    }

    /// Writes the rows of all groups: those of the others are kept.
    fn write_all(
        &self,
        source: ViewSource,
        at: usize,
        row: &mut [u8],
        buffers: &mut ViewBuffers,
    ) -> Result<()> {
        let ViewBuffers { decoder, finish, rows } = buffers;
        let pixels = decoder.latest();
        for (other, group) in self.groups.iter().enumerate().filter(|(other, _)| *other != at) {
            let bytes = group.row_bytes();
            rows.write(other, bytes, |row| group.write(source, pixels, row, finish));
            rows.keep_times(other, &mut finish.times);
        }
        self.write_one(source, at, row, buffers)
    }

    /// Decodes JPEGs of moderate size together. A sample that cannot be opened is reported when its row is written.
    pub(super) fn decode_ahead(
        &self,
        samples: &[Sample<'_>],
        scratch: &mut Scratch,
        decoder: &mut PictureDecoder,
    ) {
        let mut group = [const { None }; GROUP];
        let mut memory = 0;
        for (place, sample) in group.iter_mut().zip(samples) {
            let Ok(OpenViews { picture, .. }) = self.open_own(sample) else { continue };
            // As for other columns of pictures: entry points already provide several independent streams.
            let gains = matches!(&picture.codec, Codec::Jpeg(jpeg, _) if !jpeg.has_entry_points());
            let gains = gains && picture.finishing <= Scratch::KEEP as u64;
            if gains && memory + picture.memory <= Scratch::KEEP as u64 {
                memory += picture.memory;
                *place = Some((self.owner(sample), picture));
            }
        }
        if scratch.reserve(memory).is_ok() {
            let column = std::ptr::from_ref(self).addr();
            decoder.decode_ahead(column, &group, self.image().channels);
        }
        scratch.release();
    }
}

/// All of a picture that is decoded at its own scale.
fn whole(stored: ImageSize) -> View {
    let ImageSize { width, height } = stored;
    View { scale: Scale::Full, region: Region { left: 0, top: 0, width, height } }
}

/// The scale that reduces less.
fn larger(one: Scale, other: Scale) -> Scale {
    if (one as u32) < other as u32 { one } else { other }
}

/// The smallest cut around two.
fn around(one: Cut, other: Cut) -> Cut {
    let left = one.left.min(other.left);
    let top = one.top.min(other.top);
    let right = (one.left + one.size.width).max(other.left + other.size.width);
    let bottom = (one.top + one.size.height).max(other.top + other.size.height);
    Cut { left, top, size: ImageSize::new(right - left, bottom - top) }
}
