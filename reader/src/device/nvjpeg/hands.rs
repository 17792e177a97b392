//! `Hands`: what one batch at a time uses of a decoder: its states, by turns.
//!
//! A room with unsafe code: it hands on promises of the caller's, and gives none of its own but that
//! an image is as large as what is written there.
#![allow(unsafe_code)]

use std::sync::Arc;

use tarflume_jpeg::Scale;

use super::handle::{Handle, State, Task};
use super::status::{Format, Status};
use super::symbols::Image;
use super::wishes::Wishes;

/// A picture that was admitted.
pub(super) struct Piece {
    pub(super) format: Format,
    /// Address and length of the JPEG, in the memory that the backend reads.
    pub(super) at: (usize, usize),
    pub(super) to: u64,
    pub(super) width: u32,
    pub(super) scale: Scale,
    pub(super) channels: u8,
}

/// What a decoder has beside.
#[derive(Clone, Copy)]
pub(super) struct With<'a> {
    pub(super) handle: &'a Arc<Handle>,
    /// Whether the chip's engines do it.
    pub(super) engines: bool,
    pub(super) wishes: &'a Wishes,
}

/// What one batch at a time uses.
pub(super) struct Hands {
    /// By format: two, by turns, so that two batches may be under way. None after an error.
    states: [[Option<State>; 2]; 2],
    turns: [usize; 2],
    /// One that a call failed with; it is not given back before what the call began is over.
    failed: Option<State>,
}

impl Hands {
    pub(super) fn new(handle: &Arc<Handle>, engines: bool) -> Result<Hands, Status> {
        let mut hands = Hands { states: Default::default(), turns: [0; 2], failed: None };
        let mut all = hands.states.iter_mut().flatten();
        all.try_for_each(|place| state(place, handle, engines).map(drop))?;
        Ok(hands)
    }

    /// What a failed call began is over: its state is given back.
    pub(super) fn let_go(&mut self) {
        self.failed = None;
    }

    /// Decodes pictures, in one call.
    ///
    /// # Errors
    /// The call failed, and nobody knows why; its state is put aside.
    ///
    /// # Safety
    /// As of `Nvjpeg::decode` or `Nvjpeg::decode_stored`; the pictures were admitted in this format.
    pub(super) unsafe fn decode(
        &mut self,
        with: With<'_>,
        pieces: &[(usize, Piece)],
        format: Format,
        stream: u64,
    ) -> Result<(), String> {
        let turn = &mut self.turns[format as usize];
        let place = &mut self.states[format as usize][*turn];
        *turn = 1 - *turn;
        let state = state(place, with.handle, with.engines)
            .map_err(|status| format!("no new state: {status}"))?;
        let task = |(_, piece): &(usize, Piece)| -> Option<Task<'_>> {
            let pitch = piece.width as usize * usize::from(piece.channels);
            let image = Image { channel: [piece.to, 0, 0, 0], pitch: [pitch, 0, 0, 0] };
            Some((piece.at, image, with.wishes.of(format, piece.scale)?))
        };
        let tasks: Vec<Task<'_>> = pieces.iter().filter_map(task).collect();
        let scaled = pieces.iter().any(|(_, piece)| piece.scale != Scale::Full);
        // SAFETY: by this function's promise; an image has as many rows as the picture, see `fits`.
        let done = unsafe { state.decode(&tasks, format, scaled, stream) };
        if done.is_err() {
            self.failed = place.take(); // what it still holds of the failed batch is not to meet the next
        }
        done.map_err(|status| status.to_string())
    }
}

/// The state of this place, a new one after an error.
fn state<'a>(
    place: &'a mut Option<State>,
    handle: &Arc<Handle>,
    engines: bool,
) -> Result<&'a mut State, Status> {
    if place.is_none() {
        let mut state = State::new(handle)?;
        if engines {
            state.use_pool();
        }
        *place = Some(state);
    }
    place.as_mut().ok_or(Status(1))
}
