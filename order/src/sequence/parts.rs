//! What an order is made of: one data set's stream, several and their schedule, or the classes of one.

use std::iter::FusedIterator;
use std::ops::Range;
use std::sync::Arc;

use super::stream::{Draw, Stream, StreamCursor};
use crate::error::{Error, Result};
use crate::mixture::deal::{Deal, Round};
use crate::mixture::schedule::{Schedule, Weights};
use crate::random::mix::ORDER_VERSION;
use crate::samples::fingerprint::Fingerprint;

/// One stream, or several and what chooses among them.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    streams: Arc<[Stream]>,
    turns: Turns,
}

/// Which stream is next.
#[derive(Debug, Clone)]
enum Turns {
    /// There is one.
    One,
    /// Data sets by weights.
    Mixed(Arc<Schedule>),
    /// Classes of one data set by weights, and what identifies classes and weights.
    Dealt(Arc<Deal>, Fingerprint),
}

impl Parts {
    /// Without a schedule there is one stream.
    pub(crate) fn new(streams: Vec<Stream>, schedule: Option<Schedule>) -> Parts {
        let turns = schedule.map_or(Turns::One, |schedule| Turns::Mixed(Arc::new(schedule)));
        Parts { streams: streams.into(), turns }
    }

    /// The classes of one data set, one stream for each. `print` identifies classes and weights.
    pub(crate) fn classes(streams: Vec<Stream>, deal: Deal, print: Fingerprint) -> Parts {
        Parts { streams: streams.into(), turns: Turns::Dealt(Arc::new(deal), print) }
    }

    /// The same classes with other samples.
    pub(crate) fn with_classes(&self, streams: Vec<Stream>) -> Parts {
        Parts { streams: streams.into(), turns: self.turns.clone() }
    }

    /// True if the streams are classes of one data set.
    pub(crate) fn is_dealt(&self) -> bool {
        matches!(self.turns, Turns::Dealt(..))
    }

    /// True if the streams are of one data set.
    pub(crate) fn of_one_data_set(&self) -> bool {
        self.streams.len() == 1 || self.is_dealt()
    }

    /// Samples of the data sets, whether selected or not.
    pub(crate) fn ordinals(&self) -> u64 {
        let streams = if self.of_one_data_set() { &self.streams[..1] } else { &self.streams[..] };
        streams.iter().map(|stream| stream.contents.samples()).sum()
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match &self.turns {
            Turns::Mixed(schedule) => Some(schedule),
            _ => None,
        }
    }

    /// Other weights from a later position on.
    pub(crate) fn change(&mut self, weights: Weights) -> Result<()> {
        match &mut self.turns {
            Turns::Mixed(schedule) => Arc::make_mut(schedule).change(weights),
            Turns::Dealt(..) => {
                let text = "weights of classes can't change within a job: start another one";
                Err(Error::usage(text))
            }
            Turns::One => Err(Error::usage("one data set has no weights: they are for mixtures")),
        }
    }

    /// The selected samples of all data sets.
    pub(crate) fn samples(&self) -> u64 {
        self.streams.iter().map(Stream::len).sum()
    }

    /// Whose turn it is, and how many of that stream came before. `round` is that of the last call.
    fn place(&self, position: u64, round: &mut Option<(u64, Round)>) -> (usize, u64) {
        match &self.turns {
            Turns::One => (0, position),
            Turns::Mixed(schedule) => schedule.place(position),
            Turns::Dealt(deal, _) => {
                let (number, within) = deal.round_of(position);
                let (_, turns) = match round {
                    Some(known) if known.0 == number => known,
                    other => other.insert((number, deal.round(number))),
                };
                deal.place(number, turns[within])
            }
        }
    }

    /// The part of each stream that stream positions `range` take.
    pub(crate) fn pieces(&self, range: Range<u64>) -> Vec<(&Stream, Range<u64>)> {
        let from = self.drawn(range.start);
        let to = self.drawn(range.end);
        let ranges = from.into_iter().zip(to).map(|(from, to)| from..to);
        self.streams.iter().zip(ranges).collect()
    }

    /// Positions of each stream that are drawn before `position`.
    fn drawn(&self, position: u64) -> Vec<u64> {
        match &self.turns {
            Turns::One => vec![position],
            Turns::Mixed(schedule) => schedule.drawn(position),
            Turns::Dealt(deal, _) => deal.drawn(position),
        }
    }

    /// The data sets alone.
    pub(crate) fn data(&self) -> Fingerprint {
        if self.of_one_data_set() {
            return self.streams[0].contents.fingerprint();
        }
        let prints = self.streams.iter().map(|stream| *stream.contents.fingerprint().bytes());
        Fingerprint::of("tarflume data sets", prints)
    }

    /// What is selected of them.
    pub(crate) fn selection(&self) -> Fingerprint {
        if let Turns::Dealt(_, print) = &self.turns {
            return *print;
        }
        if let [stream] = &self.streams[..] {
            return stream.selection.fingerprint();
        }
        let prints = self.streams.iter().map(|stream| *stream.selection.fingerprint().bytes());
        Fingerprint::of("tarflume selections", prints)
    }

    /// How they are shuffled, in words.
    pub(crate) fn shuffle(&self) -> String {
        let mut words: Vec<_> = self.streams.iter().map(Stream::shuffle_in_words).collect();
        words.dedup();
        words.join("; ")
    }

    /// All that determines which sample comes when.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let version = ORDER_VERSION.to_string().into_bytes();
        let streams = self.streams.iter().map(|stream| stream.fingerprint().bytes().to_vec());
        let classes = match &self.turns {
            Turns::Dealt(_, print) => Some(print.bytes().to_vec()),
            _ => None,
        };
        let weights = self.schedule().into_iter().flat_map(Schedule::changes).map(|change| {
            let numbers = [change.from].into_iter().chain(change.weights.iter().copied());
            numbers.flat_map(u64::to_le_bytes).collect()
        });
        let pieces: Vec<Vec<u8>> =
            [version].into_iter().chain(streams).chain(classes).chain(weights).collect();
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
    /// Of an order by classes: the number of the last round, and its turns.
    round: Option<(u64, Round)>,
    /// Stream position of the epoch's first sample.
    first: u64,
    /// Stream position of the next sample.
    at: u64,
    end: u64,
}

impl Cursor {
    pub(crate) fn new(parts: Parts, epoch: Range<u64>, position: u64) -> Cursor {
        let cursors = parts.streams.iter().map(|_| None).collect();
        let at = epoch.start.saturating_add(position);
        Cursor { parts, cursors, round: None, first: epoch.start, at, end: epoch.end }
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

    /// The position at which the window of [`Shuffle::Blocks`](crate::Shuffle::Blocks) ends that holds the next sample: the
    /// samples before it and those from it on have no block in common. `None` for other shuffles, for an order of several
    /// data sets or classes, and past the end of the epoch.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tarflume_order::{Contents, Fingerprint, Order, Selection, Shuffle};
    ///
    /// # fn main() -> tarflume_order::Result<()> {
    /// let contents = Arc::new(Contents::new(Fingerprint::of("data", ["v1"]), [1000])?);
    /// let shuffle = Shuffle::Blocks { block: 10, window: 8, seed: 42 };
    /// let order = Order::new(contents, Selection::all(1000), shuffle)?;
    /// assert_eq!(order.cursor(0, 100)?.window_end(), Some(160));
    /// assert_eq!(order.cursor(0, 990)?.window_end(), Some(1000));
    /// # Ok(())
    /// # }
    /// ```
    pub fn window_end(&mut self) -> Option<u64> {
        let [stream] = &self.parts.streams[..] else { return None };
        if self.at >= self.end {
            return None;
        }
        let (part, index) = self.parts.place(self.at, &mut self.round);
        let cursor = self.cursors[part].get_or_insert_with(|| StreamCursor::new(stream, index));
        cursor.seek(stream, index);
        let end = cursor.window_end(stream)?;
        Some((self.at + (end - index)).min(self.end) - self.first)
    }
}

impl Iterator for Cursor {
    type Item = Draw;

    fn next(&mut self) -> Option<Draw> {
        if self.at >= self.end {
            return None;
        }
        let (part, index) = self.parts.place(self.at, &mut self.round);
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

impl FusedIterator for Cursor {}
