//! `DecoderStates`: the decoder states that batches use alternately.
//!
//! Contains unsafe code: it passes on the caller's contracts. Its own part is that an output has the size that is
//! written there.
#![allow(unsafe_code)]

use std::sync::Arc;

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_jpeg::Scale;

use super::handle::{DecodeTask, Handle, HandleState};
use super::params::ParamsTable;
use super::status::{OutputFormat, Status};
use super::symbols::RawImage;

/// An admitted picture.
pub(super) struct Piece {
    pub(super) format: OutputFormat,
    /// Address and length of the JPEG, in the memory that the backend reads.
    pub(super) at: (usize, usize),
    pub(super) to: u64,
    pub(super) width: u32,
    pub(super) scale: Scale,
    pub(super) channels: u8,
}

/// The decoder's other objects.
#[derive(Clone, Copy)]
pub(super) struct DecoderParts<'a> {
    pub(super) handle: &'a Arc<Handle>,
    /// Whether the backend uses the hardware engines.
    pub(super) engines: bool,
    pub(super) params: &'a ParamsTable,
}

/// The states of a decoder. One batch at a time uses them.
pub(super) struct DecoderStates {
    /// By format: two alternating states, so that two batches may be in flight. `None` after an error.
    states: [[Option<HandleState>; 2]; 2],
    turns: [usize; 2],
    /// The state of a failed call, kept until the work that the call started has finished.
    failed: Option<HandleState>,
}

impl DecoderStates {
    pub(super) fn new(handle: &Arc<Handle>, engines: bool) -> Result<DecoderStates, Status> {
        let mut states = DecoderStates { states: Default::default(), turns: [0; 2], failed: None };
        let mut all = states.states.iter_mut().flatten();
        all.try_for_each(|place| state(place, handle, engines).map(drop))?;
        Ok(states)
    }

    /// Destroys the state of a failed call, whose work has finished.
    pub(super) fn drop_failed(&mut self) {
        self.failed = None;
    }

    /// Decodes pictures in one call.
    ///
    /// # Errors
    /// Returns the library's message if the call fails. The cause is unknown, and the state is set aside.
    ///
    /// # Safety
    /// As for `Nvjpeg::decode` or `Nvjpeg::decode_stored`. The pictures were admitted in this format.
    pub(super) unsafe fn decode(
        &mut self,
        with: DecoderParts<'_>,
        pieces: &[(usize, Piece)],
        format: OutputFormat,
        stream: u64,
    ) -> Result<(), Message> {
        let turn = &mut self.turns[format as usize];
        let place = &mut self.states[format as usize][*turn];
        *turn = 1 - *turn;
        let state = state(place, with.handle, with.engines)
            .map_err(|status| message!("no new state: {told}"; told = with.handle.told(status)))?;
        let tasks: Vec<DecodeTask<'_>> = pieces
            .iter()
            .filter_map(|(_, piece)| -> Option<DecodeTask<'_>> {
                let pitch = piece.width as usize * usize::from(piece.channels);
                let image = RawImage { channel: [piece.to, 0, 0, 0], pitch: [pitch, 0, 0, 0] };
                Some((piece.at, image, with.params.of(format, piece.scale)?))
            })
            .collect();
        let scaled = pieces.iter().any(|(_, piece)| piece.scale != Scale::Full);
        // SAFETY: by this function's contract; `fits` checked that an output has as many rows as the picture.
        let done = unsafe { state.decode(&tasks, format, scaled, stream) };
        if done.is_err() {
            self.failed = place.take(); // its leftovers must not affect the next batch
        }
        done.map_err(|status| with.handle.told(status))
    }
}

/// The state in this place, created if there is none.
fn state<'a>(
    place: &'a mut Option<HandleState>,
    handle: &Arc<Handle>,
    engines: bool,
) -> Result<&'a mut HandleState, Status> {
    if place.is_none() {
        let mut state = HandleState::new(handle)?;
        if engines {
            state.use_pool();
        }
        *place = Some(state);
    }
    place.as_mut().ok_or(Status(1))
}
