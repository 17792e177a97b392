//! From opened pictures to decoded pixels, one by one or several at once, in buffers that a thread
//! keeps.
//!
//! Several JPEGs at once take much less time than one by one: see `tarflume-jpeg`. What is resized and
//! written follows in `image`.

use tarflume_jpeg::Decoder;

use super::blocks::Blocks;
use super::jpeg::told;
use super::opened::{Opened, What};
use crate::decode::Scratch;
use crate::error::Result;
use crate::picture::geometry::Placement;
use crate::picture::orientation::Turn;
use crate::picture::pixels::{Channels, Pixels};

/// The most pictures that are decoded at once.
pub(super) const GROUP: usize = 8;

/// A decoded picture: its pixels are in the buffer of the same number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    /// On these pixels.
    pub(super) placement: Placement,
    pub(super) turn: Turn,
}

/// Whose picture it is: the column, the sample and its random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) column: usize,
    pub(super) ordinal: u64,
    pub(super) seed: u64,
}

/// Pictures of one column whose pixels were made ahead of their turn.
type Results = Vec<Option<(Owner, Result<Drawn>)>>;

/// What a thread keeps to decode with.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    decoder: Decoder,
    pixels: Pixels,
    /// What was decoded ahead: what became of it, and its pixels.
    ahead: Results,
    ahead_pixels: Vec<Pixels>,
    /// What was decoded since it was asked.
    pub(super) blocks: Blocks,
}

impl Drawing {
    /// Decodes one picture.
    ///
    /// # Errors
    /// It is damaged, or there is no memory.
    pub(super) fn draw(
        &mut self,
        opened: Opened<'_>,
        wanted: Channels,
    ) -> Result<(Drawn, &Pixels)> {
        let Opened { what, placement, turn, .. } = opened;
        match what {
            What::Jpeg(jpeg, view) => {
                let job = jpeg.job(&view, wanted, &mut self.pixels)?;
                let report = self.decoder.decode(job).map_err(told)?;
                self.blocks += Blocks::of(&report);
            }
            What::Other(other) => other.decode(wanted, &mut self.pixels)?,
        }
        Ok((Drawn { placement, turn }, &self.pixels))
    }

    /// Decodes several JPEGs at once, for their owners to [`Drawing::take`]. What others of the same
    /// column have not taken is forgotten.
    pub(super) fn draw_ahead(&mut self, column: usize, group: &Group<'_>, wanted: Channels) {
        let Drawing { decoder, ahead, ahead_pixels, blocks, .. } = self;
        for slot in ahead.iter_mut() {
            slot.take_if(|(owner, _)| owner.column == column);
        }
        let pictures = || group.iter().flatten();
        let free = ahead.iter().filter(|slot| slot.is_none()).count();
        let room = ahead.len() + pictures().count().saturating_sub(free);
        ahead.resize_with(room, || None);
        ahead_pixels.resize_with(room, Pixels::default);

        let (mut failed, mut number) = ([const { None }; GROUP], 0);
        let mut numbers = [0; GROUP];
        let slots = ahead_pixels.iter_mut().zip(ahead.iter()).filter(|(_, slot)| slot.is_none());
        let jobs = slots.zip(pictures()).enumerate().filter_map(|(n, ((pixels, _), picture))| {
            let What::Jpeg(jpeg, view) = &picture.1.what else { return None };
            // One that there is no memory for is decoded when its turn comes, and fails then.
            let job = jpeg.job(view, wanted, pixels).ok()?;
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
        for ((slot, (owner, opened)), result) in slots.zip(pictures()).zip(failed) {
            let drawn = Drawn { placement: opened.placement, turn: opened.turn };
            *slot = result.map(|result| (*owner, result.map(|_| drawn).map_err(told)));
        }
    }

    /// What was decoded ahead for `owner`, if anything was.
    pub(super) fn take(&mut self, owner: Owner) -> Option<Result<(Drawn, &Pixels)>> {
        let is_its = |slot: &Option<(Owner, _)>| slot.as_ref().is_some_and(|(o, _)| *o == owner);
        let place = self.ahead.iter().position(is_its)?;
        let (_, result) = self.ahead[place].take()?;
        let pixels = &self.ahead_pixels[place];
        Some(result.map(|drawn| (drawn, pixels)))
    }

    /// Gives back buffers that are too large to be kept.
    pub(super) fn drop_large(&mut self) {
        for pixels in [&mut self.pixels].into_iter().chain(&mut self.ahead_pixels) {
            if pixels.bytes.capacity() > Scratch::KEEP {
                pixels.bytes = Vec::new();
            }
        }
        self.decoder.drop_large(Scratch::KEEP);
    }
}

/// Pictures that are decoded at once, and whose they are.
pub(super) type Group<'a> = [Option<(Owner, Opened<'a>)>; GROUP];
