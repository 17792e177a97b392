//! `Frame`: the pixels of one picture while its actions are applied, and the buffers that they need.

use tarflume_image::{Filter, ImageSize, Pixels, Placement, Resizer, make_room};
use tarflume_types::Result;

/// The pixels of one picture, upright: `[height, width, channels]` of u8, of 1 or 3 channels.
///
/// A thread keeps one frame for all its pictures: after the largest, nothing is allocated.
#[derive(Debug, Default)]
pub struct Frame {
    size: Option<ImageSize>,
    channels: usize,
    bytes: Vec<u8>,
    spare: Vec<u8>,
    /// Buffers of actions, whose content no action expects.
    pub(crate) room: Room,
    resizer: Resizer,
}

/// Memory that an action uses while it runs.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) bytes: Vec<u8>,
    pub(crate) words: Vec<u16>,
    pub(crate) floats: Vec<f32>,
    pub(crate) starts: Vec<u32>,
    /// Of the mix in progress: what the actions inside it do not touch.
    pub(crate) mixture: Mixture,
}

/// The sum of a mix in progress, and the picture with which each of its chains begins.
#[derive(Debug, Default)]
pub(crate) struct Mixture {
    pub(crate) picture: Vec<u8>,
    pub(crate) sum: Vec<f32>,
    /// The size and the channels of the picture, while a mix is in progress.
    pub(crate) begun: Option<(ImageSize, usize)>,
}

impl Frame {
    /// Makes room for a picture and returns its pixels, which the caller writes. Their content is any.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub fn begin(&mut self, size: ImageSize, channels: usize) -> Result<&mut [u8]> {
        debug_assert!(matches!(channels, 1 | 3), "{channels} channels");
        make_room(&mut self.bytes, size.pixels() as usize * channels)?;
        self.size = Some(size);
        self.channels = channels;
        Ok(&mut self.bytes)
    }

    /// Width and height.
    pub fn size(&self) -> ImageSize {
        self.size.unwrap_or(ImageSize::new(0, 0))
    }

    /// 1 or 3.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The pixels.
    pub fn pixels(&self) -> &[u8] {
        &self.bytes
    }

    /// The pixels, to be changed in place.
    pub fn pixels_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Replaces the picture by another of `size`: `draw` reads the old pixels and writes all new ones.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub(crate) fn redraw(
        &mut self,
        size: ImageSize,
        draw: impl FnOnce(Source<'_>, &mut [u8], &mut Room),
    ) -> Result<()> {
        make_room(&mut self.spare, size.pixels() as usize * self.channels)?;
        let source = Source { bytes: &self.bytes, size: self.size(), channels: self.channels };
        draw(source, &mut self.spare, &mut self.room);
        std::mem::swap(&mut self.bytes, &mut self.spare);
        self.size = Some(size);
        Ok(())
    }

    /// Replaces the picture by what a placement, which is not mirrored, makes of it.
    ///
    /// # Errors
    /// Returns an error if the placement is outside the picture, or if memory is short.
    pub(crate) fn resize(&mut self, placement: &Placement, filter: Filter) -> Result<()> {
        make_room(&mut self.spare, placement.size.pixels() as usize * self.channels)?;
        let ImageSize { width, height } = self.size();
        let bytes = std::mem::take(&mut self.bytes);
        let pixels = Pixels { bytes, channels: self.channels, width, height, ..Pixels::default() };
        let resized = self.resizer.resize(&pixels, placement, filter.into(), &mut self.spare);
        self.bytes = pixels.bytes;
        resized?;
        std::mem::swap(&mut self.bytes, &mut self.spare);
        self.size = Some(placement.size);
        Ok(())
    }

    /// The bytes of memory that the frame keeps.
    pub fn kept(&self) -> usize {
        let Room { bytes, words, floats, starts, mixture } = &self.room;
        self.bytes.capacity()
            + self.spare.capacity()
            + bytes.capacity()
            + 2 * words.capacity()
            + 4 * floats.capacity()
            + 4 * starts.capacity()
            + mixture.picture.capacity()
            + 4 * mixture.sum.capacity()
    }

    /// Frees the buffers if they have more than `keep` bytes.
    pub fn drop_large(&mut self, keep: usize) {
        self.resizer.drop_large(keep);
        if self.kept() > keep {
            *self = Frame::default();
        }
    }
}

/// The pixels that an action reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) size: ImageSize,
    pub(crate) channels: usize,
}
