//! What an order is made of: one data set's stream, or several and their schedule.

use std::ops::Range;
use std::sync::Arc;

use super::fingerprint::Fingerprint;
use super::mix::ORDER_VERSION;
use super::schedule::{Schedule, Weights};
use super::stream::{Draw, Stream, StreamCursor};
use crate::error::{Error, Result};

/// One stream, or several and the schedule that chooses among them.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    streams: Arc<[Stream]>,
    schedule: Option<Arc<Schedule>>,
}

impl Parts {
    /// Without a schedule there is one stream.
    pub(super) fn new(streams: Vec<Stream>, schedule: Option<Schedule>) -> Parts {
        Parts { streams: streams.into(), schedule: schedule.map(Arc::new) }
    }

    pub(super) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    pub(super) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_deref()
    }

    /// Other weights from a later position on.
    pub(super) fn change(&mut self, weights: Weights) -> Result<()> {
        match &mut self.schedule {
            Some(schedule) => Arc::make_mut(schedule).change(weights),
            None => Err(Error::usage("one data set has no weights: they are for mixtures")),
        }
    }

    /// The selected samples of all data sets.
    pub(super) fn samples(&self) -> u64 {
        self.streams.iter().map(Stream::len).sum()
    }

    /// Whose turn it is, and how many of that stream came before.
    fn place(&self, position: u64) -> (usize, u64) {
        self.schedule.as_ref().map_or((0, position), |schedule| schedule.place(position))
    }

    /// The part of each stream that stream positions `range` take.
    pub(super) fn pieces(&self, range: Range<u64>) -> Vec<(&Stream, Range<u64>)> {
        let Some(schedule) = &self.schedule else { return vec![(&self.streams[0], range)] };
        let (from, to) = (schedule.drawn(range.start), schedule.drawn(range.end));
        let ranges = from.into_iter().zip(to).map(|(from, to)| from..to);
        self.streams.iter().zip(ranges).collect()
    }

    /// The data sets alone.
    pub(super) fn data(&self) -> Fingerprint {
        if let [stream] = &self.streams[..] {
            return stream.contents.fingerprint();
        }
        let prints = self.streams.iter().map(|stream| *stream.contents.fingerprint().bytes());
        Fingerprint::of("tarflume data sets", prints)
    }

    /// What is selected of them.
    pub(super) fn selection(&self) -> Fingerprint {
        if let [stream] = &self.streams[..] {
            return stream.selection.fingerprint();
        }
        let prints = self.streams.iter().map(|stream| *stream.selection.fingerprint().bytes());
        Fingerprint::of("tarflume selections", prints)
    }

    /// How they are shuffled, in words.
    pub(super) fn shuffle(&self) -> String {
        let mut words: Vec<_> = self.streams.iter().map(Stream::shuffle_in_words).collect();
        words.dedup();
        words.join("; ")
    }

    /// All that determines which sample comes when.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let version = ORDER_VERSION.to_string().into_bytes();
        let streams = self.streams.iter().map(|stream| stream.fingerprint().bytes().to_vec());
        let weights = self.schedule().into_iter().flat_map(Schedule::changes).map(|change| {
            let numbers = [change.from].into_iter().chain(change.weights.iter().copied());
            numbers.flat_map(u64::to_le_bytes).collect()
        });
        let pieces: Vec<Vec<u8>> = [version].into_iter().chain(streams).chain(weights).collect();
        Fingerprint::of("tarflume order", pieces)
    }
}

/// An iterator over the samples of an epoch, from a position on; made by [`Order::cursor`](crate::Order::cursor).
///
/// Cheap to move a little forward; it holds one pass of each data set it has met.
#[derive(Debug)]
pub struct Cursor {
    parts: Parts,
    cursors: Vec<Option<StreamCursor>>,
    /// Stream position of the epoch's first sample.
    first: u64,
    /// Stream position of the next sample.
    at: u64,
    end: u64,
}

impl Cursor {
    pub(super) fn new(parts: Parts, epoch: Range<u64>, position: u64) -> Cursor {
        let cursors = parts.streams.iter().map(|_| None).collect();
        let at = epoch.start.saturating_add(position);
        Cursor { parts, cursors, first: epoch.start, at, end: epoch.end }
    }

    /// The next sample's position in the epoch.
    pub fn position(&self) -> u64 {
        self.at - self.first
    }

    /// Goes on at another position of the same epoch. Forward costs at most what drawing the
    /// samples between would; past the end nothing comes.
    pub fn seek(&mut self, position: u64) {
        self.at = self.first.saturating_add(position);
    }
}

impl Iterator for Cursor {
    type Item = Draw;

    fn next(&mut self) -> Option<Draw> {
        if self.at >= self.end {
            return None;
        }
        let (part, index) = self.parts.place(self.at);
        let stream = &self.parts.streams[part];
        let cursor = self.cursors[part].get_or_insert_with(|| StreamCursor::new(stream, index));
        cursor.seek(stream, index);
        self.at += 1;
        Some(cursor.next(stream))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}
