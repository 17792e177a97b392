//! `ViewBuffers`: what a thread keeps between the columns of one sample, and between samples.

use tarflume_image::make_room;
use tarflume_types::Result;

use crate::decode::Scratch;
use crate::decode::costs::operations::ColumnTimes;
use crate::decode::pictures::image::FinishBuffers;
use crate::decode::pictures::picture_decoder::{Owner, PictureDecoder};

/// The state that a thread keeps.
#[derive(Default)]
pub(super) struct ViewBuffers {
    pub(super) decoder: PictureDecoder,
    pub(super) finish: FinishBuffers,
    pub(super) rows: KeptRows,
}

/// The rows of a sample that were written with the first of its columns, for the columns that follow.
#[derive(Default)]
pub(super) struct KeptRows {
    owner: Option<Owner>,
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
    /// The times of the group's operations, until its column takes them.
    times: ColumnTimes,
}

impl KeptRows {
    /// Begins a sample: no row of an earlier one can be taken any more.
    pub(super) fn begin(&mut self, owner: Owner, groups: usize) {
        self.owner = Some(owner);
        self.rows.resize_with(groups, KeptRow::default);
        for row in &mut self.rows {
            row.result = None;
        }
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
