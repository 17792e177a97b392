//! `PictureDecoder`: decodes opened pictures, one by one or several at once, into buffers that a thread keeps.
//!
//! Decoding several JPEGs at once takes much less time than one by one: see `tarflume-jpeg`. Resizing and writing
//! follow in `image`.

use tarflume_image::{Channels, ImageSize, Pixels, Placement, Turn, Wanted};
use tarflume_jpeg::Decoder;
use tarflume_types::{ErrorKind, Result};

use super::open_picture::{Codec, OpenPicture};
use crate::decode::Scratch;
use crate::decode::costs::calls::Calls;
use crate::decode::jpeg::convert_error;
use crate::decode::texts::blocks::Blocks;

/// Maximum number of pictures that are decoded at once.
pub(in crate::decode) const GROUP: usize = 8;

/// A decoded picture. Its pixels are in a buffer of the decoder.
#[derive(Debug, Clone, Copy)]
pub(in crate::decode) struct Decoded {
    /// The placement, in the coordinates of these pixels.
    pub(in crate::decode) placement: Placement,
    pub(in crate::decode) turn: Turn,
    /// Size of the whole picture, upright, as it is stored.
    pub(in crate::decode) upright: ImageSize,
}

/// Identifies a picture: the column, the sample and its random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) struct Owner {
    pub(in crate::decode) column: usize,
    pub(in crate::decode) ordinal: u64,
    pub(in crate::decode) seed: u64,
}

/// Results of pictures that were decoded before their row was requested.
type Results = Vec<Option<(Owner, Result<Decoded>)>>;

/// The decoding state of a thread.
#[derive(Debug, Default)]
pub(in crate::decode) struct PictureDecoder {
    decoder: Decoder,
    pixels: Pixels,
    /// Results of [`PictureDecoder::decode_ahead`]; `None` is a free slot. The pixels of a slot are in the buffer
    /// with the same index.
    ahead: Results,
    ahead_pixels: Vec<Pixels>,
    /// The buffer of the picture that was taken last, if it was decoded ahead.
    taken: Option<usize>,
    /// Statistics since the last reset.
    pub(in crate::decode) blocks: Blocks,
    /// Statistics of the user's decoder since the last reset.
    pub(in crate::decode) calls: Calls,
}

impl PictureDecoder {
    /// The pixels of the picture that was decoded last, one by one.
    pub(in crate::decode) fn pixels(&self) -> &Pixels {
        &self.pixels
    }

    /// The pixels of the picture that was decoded or taken last, until the next one is decoded.
    pub(in crate::decode) fn latest(&self) -> &Pixels {
        self.taken.and_then(|place| self.ahead_pixels.get(place)).unwrap_or(&self.pixels)
    }

    /// Whether [`PictureDecoder::drop_large`] leaves them.
    pub(in crate::decode) fn keeps_latest(&self) -> bool {
        self.latest().capacity() <= Scratch::KEEP
    }

    /// Decodes one picture; [`PictureDecoder::pixels`] has its pixels.
    ///
    /// # Errors
    /// Returns an error if it is damaged or memory is exhausted.
    pub(in crate::decode) fn decode(
        &mut self,
        opened: OpenPicture<'_>,
        wanted: Wanted,
    ) -> Result<Decoded> {
        let OpenPicture { codec, placement, turn, upright, .. } = opened;
        self.taken = None;
        match codec {
            Codec::Jpeg(jpeg, view) => {
                let job = jpeg.job(&view, wanted.channels, &mut self.pixels)?;
                let report = self.decoder.decode(job).map_err(convert_error)?;
                self.blocks += Blocks::of(&report);
            }
            Codec::Other(other) => other.decode(wanted, &mut self.pixels)?,
            Codec::Fallback(picture) => {
                self.pixels.set(picture.size(), wanted.channels.count())?;
                picture.decode(wanted.channels, &mut self.pixels.bytes, &mut self.calls)?;
            }
        }
        Ok(Decoded { placement, turn, upright })
    }

    /// Decodes several JPEGs at once, for [`PictureDecoder::take`]. Discards earlier results of the same
    /// column that were not taken.
    pub(in crate::decode) fn decode_ahead(
        &mut self,
        column: usize,
        group: &Group<'_>,
        wanted: Channels,
    ) {
        let PictureDecoder { decoder, ahead, ahead_pixels, blocks, .. } = self;
        for slot in ahead.iter_mut() {
            slot.take_if(|(owner, _)| owner.column == column);
        }
        // Free slots take pictures in order. The two filters over free slots below see the same slots, because
        // no slot is filled before the last loop.
        let pictures = group.iter().flatten();
        let free = ahead.iter().filter(|slot| slot.is_none()).count();
        let room = ahead.len() + pictures.clone().count().saturating_sub(free);
        ahead.resize_with(room, || None);
        ahead_pixels.resize_with(room, Pixels::default);

        let mut failed = [const { None }; GROUP];
        let mut number = 0;
        let mut numbers = [0; GROUP];
        let slots = ahead_pixels.iter_mut().zip(ahead.iter()).filter(|(_, slot)| slot.is_none());
        let pending = slots.zip(pictures.clone()).enumerate();
        let jobs = pending.filter_map(|(n, ((pixels, _), picture))| {
            let Codec::Jpeg(jpeg, view) = &picture.1.codec else { return None };
            // If memory is exhausted, the picture is decoded on request and reports the error then.
            let job = jpeg.job(view, wanted, pixels).ok()?;
            // Jobs are numbered without gaps; `numbers` maps a job to its picture.
            (numbers[number], number) = (n, number + 1);
            Some(job)
        });
        let mut results = [const { None }; GROUP];
        decoder.decode_group(jobs, |job, result| {
            if let Ok(report) = &result {
                *blocks += Blocks::of(report);
            }
            results[job] = Some(result);
        });
        for (result, &n) in results.into_iter().zip(&numbers) {
            failed[n] = result;
        }
        let slots = ahead.iter_mut().filter(|slot| slot.is_none());
        for ((slot, (owner, opened)), result) in slots.zip(pictures).zip(failed) {
            let OpenPicture { placement, turn, upright, .. } = *opened;
            let drawn = Decoded { placement, turn, upright };
            *slot = result.map(|result| (*owner, result.map(|_| drawn).map_err(convert_error)));
        }
    }

    /// The result of decoding ahead for `owner`, if there is one. A picture of a kind that is not decoded here has none: it
    /// is opened again, so that a fallback can take it.
    pub(in crate::decode) fn take(&mut self, owner: Owner) -> Option<Result<(Decoded, &Pixels)>> {
        let place =
            self.ahead.iter().position(|slot| slot.as_ref().is_some_and(|(o, _)| *o == owner))?;
        let (_, result) = self.ahead[place].take()?;
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unsupported) {
            return None;
        }
        self.taken = Some(place);
        let pixels = &self.ahead_pixels[place];
        Some(result.map(|drawn| (drawn, pixels)))
    }

    /// Frees buffers that are too large to be kept.
    pub(in crate::decode) fn drop_large(&mut self) {
        for pixels in [&mut self.pixels].into_iter().chain(&mut self.ahead_pixels) {
            pixels.drop_large(Scratch::KEEP);
        }
        self.decoder.drop_large(Scratch::KEEP);
    }
}

/// Pictures that are decoded at once, with their owners.
pub(in crate::decode) type Group<'a> = [Option<(Owner, OpenPicture<'a>)>; GROUP];
