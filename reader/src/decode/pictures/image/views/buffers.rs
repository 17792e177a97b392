//! `ViewBuffers`: what a thread keeps between the columns of one sample, and between samples.

use std::mem;

use tarflume_image::{ImageSize, Turn, make_room};
use tarflume_types::Result;

use crate::decode::Scratch;
use crate::decode::costs::operations::ColumnTimes;
use crate::decode::jpeg::View;
use crate::decode::pictures::image::FinishBuffers;
use crate::decode::pictures::picture_decoder::{Owner, PictureDecoder};

/// A stored picture of which a part was decoded, for one sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct ViewSource {
    pub(super) seed: u64,
    pub(super) stored: ImageSize,
    pub(super) turn: Turn,
    /// The part that is decoded.
    pub(super) view: View,
    /// Bytes of memory for resizing, changing and keeping the views; 0 if those of a thread suffice.
    pub(super) finishing: u64,
}

/// The state that a thread keeps.
#[derive(Default)]
pub(super) struct ViewBuffers {
    pub(super) decoder: PictureDecoder,
    pub(super) finish: FinishBuffers,
    pub(super) rows: KeptRows,
}

/// What is left of a sample after the first of its columns, for the columns that follow: its pixels in the decoder, or the
/// rows that were made of them if they are too large to be kept.
#[derive(Default)]
pub(super) struct KeptRows {
    owner: Option<Owner>,
    /// What the pixels in the decoder are, until the next picture is decoded.
    source: Option<ViewSource>,
    /// One for each group.
    rows: Vec<KeptRow>,
}

/// The row of a group.
#[derive(Default)]
struct KeptRow {
    /// In `u64`s, so that the row is aligned for any type.
    words: Vec<u64>,
    /// Bytes of the row.
    bytes: usize,
    /// How it was written, until the column of the group takes it.
    result: Option<Result<()>>,
    /// Whether the row is to be written from the kept pixels.
    awaited: bool,
    /// The times of the group's operations, until its column takes them.
    times: ColumnTimes,
}

impl KeptRows {
    /// Begins a sample: no row of an earlier one can be taken any more.
    pub(super) fn begin(&mut self, owner: Owner, groups: usize) {
        self.owner = Some(owner);
        self.source = None;
        self.rows.resize_with(groups, KeptRow::default);
        for row in &mut self.rows {
            row.result = None;
            row.awaited = false;
        }
    }

    /// Has the other groups write their rows themselves, from the pixels that the decoder keeps.
    pub(super) fn keep_source(&mut self, source: ViewSource, at: usize) {
        self.source = Some(source);
        for (group, row) in self.rows.iter_mut().enumerate() {
            row.awaited = group != at;
        }
    }

    /// What the kept pixels of this sample are, if the row of the group is to be written from them: once.
    pub(super) fn take_source(&mut self, owner: Owner, group: usize) -> Option<ViewSource> {
        let source = self.source.filter(|_| self.owner == Some(owner))?;
        let row = self.rows.get_mut(group)?;
        mem::take(&mut row.awaited).then_some(source)
    }

    /// Forgets the kept pixels: others are decoded.
    pub(super) fn forget_source(&mut self) {
        self.source = None;
    }

    /// Has `write` write the row of a group, whose length is `bytes`.
    pub(super) fn write(
        &mut self,
        group: usize,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) {
        let KeptRow { words, bytes: length, result, .. } = &mut self.rows[group];
        *length = bytes;
        *result = Some(
            make_room(words, bytes.div_ceil(size_of::<u64>()))
                .and_then(|()| write(&mut bytemuck::cast_slice_mut(words)[..bytes])),
        );
    }

    /// Moves the times of a group's operations here.
    pub(super) fn keep_times(&mut self, group: usize, times: &mut ColumnTimes) {
        self.rows[group].times.take(times);
    }

    /// The times of a group's operations.
    pub(super) fn times(&mut self, group: usize) -> Option<&mut ColumnTimes> {
        self.rows.get_mut(group).map(|row| &mut row.times)
    }

    /// The row of a group of this sample, unless it was taken before: a row is taken once.
    pub(super) fn take(&mut self, owner: Owner, group: usize) -> Option<Result<&[u8]>> {
        if self.owner != Some(owner) {
            return None;
        }
        let KeptRow { words, bytes, result, .. } = self.rows.get_mut(group)?;
        let result = result.take()?;
        Some(result.map(|()| &bytemuck::cast_slice(words)[..*bytes]))
    }

    /// Frees the memory of rows that were taken and are too large to be kept.
    fn drop_large(&mut self) {
        for row in self.rows.iter_mut().filter(|row| row.result.is_none()) {
            if size_of::<u64>() * row.words.capacity() > Scratch::KEEP {
                row.words = Vec::new();
            }
        }
    }
}

impl ViewBuffers {
    pub(super) fn drop_large(&mut self) {
        self.decoder.drop_large();
        self.finish.drop_large();
        self.rows.drop_large();
    }
}
