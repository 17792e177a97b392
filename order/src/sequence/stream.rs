//! The endless stream of one data set's samples: pass after pass, each in its own order.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pass::{Pass, PassCursor};
use crate::random::mix::Key;
use crate::samples::contents::Contents;
use crate::samples::fingerprint::Fingerprint;
use crate::samples::selection::Selection;
use crate::shuffle::Shuffle;

/// One sample's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Which sample of the data set; of several data sets, counted through all of them.
    pub ordinal: u64,
    /// How often its data set was gone through before. With the seed and the ordinal it is all
    /// that an augmentation may depend on.
    pub pass: u64,
}

/// One data set, what is selected of it, and how it is shuffled.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) contents: Arc<Contents>,
    pub(crate) selection: Selection,
    pub(crate) shuffle: Shuffle,
    /// Indexes with which shards begin, where the shuffle needs them; the first and the last otherwise.
    starts: Arc<[u64]>,
    /// The number of the class, which shuffles otherwise than others.
    class: Option<u64>,
    /// Samples of the data sets before this one.
    pub(crate) offset: u64,
}

impl Stream {
    pub(crate) fn new(
        contents: Arc<Contents>,
        selection: Selection,
        shuffle: Shuffle,
    ) -> Result<Stream> {
        let samples = contents.samples();
        let known = selection.samples();
        if samples == 0 {
            return Err(Error::usage("the data set has no samples: there is nothing to order"));
        }
        if samples != known {
            return Err(Error::usage(format!(
                "the selection was made for a data set of {known} samples, this one has {samples}; \
                 make it from this data set"
            )));
        }
        if selection.len() == 0 {
            return Err(Error::usage(format!(
                "of {samples} samples none is selected: select, take, skip, filters and exclude \
                 lists leave nothing; loosen one of them"
            )));
        }
        shuffle.check()?;
        let starts = match shuffle {
            Shuffle::Shards { .. } | Shuffle::Buffer { .. } => selection.starts(&contents),
            _ => [0, selection.len()].into(),
        };
        Ok(Stream { contents, selection, shuffle, starts, class: None, offset: 0 })
    }

    /// The same as class number `class` of its data set.
    pub(crate) fn of_class(self, class: u64) -> Stream {
        Stream { class: Some(class), ..self }
    }

    /// The same with other samples selected, or at another place among data sets.
    pub(crate) fn with(&self, selection: Selection, offset: u64) -> Result<Stream> {
        let stream = Stream::new(self.contents.clone(), selection, self.shuffle)?;
        Ok(Stream { offset, class: self.class, ..stream })
    }

    /// Samples of one pass.
    pub(crate) fn len(&self) -> u64 {
        self.selection.len()
    }

    /// The order of one pass; costs what `Pass::new` costs.
    pub(crate) fn pass(&self, pass: u64) -> Pass {
        let shuffle = match self.class {
            // Samples with the same index in two classes must not meet in every pass.
            Some(class) => {
                self.shuffle.with_seed(|seed| Key::new(seed, class, b"class   ").draw(0))
            }
            None => self.shuffle,
        };
        Pass::new(self.starts.clone(), shuffle, pass)
    }

    /// The sample with this index in pass number `pass`. Copies of a sample count as different passes.
    fn draw(&self, index: u64, pass: u64) -> Draw {
        let (ordinal, copy, most) = self.selection.copy(index);
        Draw { ordinal: self.offset + ordinal, pass: pass.wrapping_mul(most).wrapping_add(copy) }
    }

    /// The shuffle in words that tell it from any other.
    pub(crate) fn shuffle_in_words(&self) -> String {
        self.shuffle.to_string()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let selection = self.selection.fingerprint();
        let shuffle = self.shuffle_in_words();
        let contents = self.contents.fingerprint();
        let pieces = [&contents.bytes()[..], selection.bytes(), shuffle.as_bytes()];
        Fingerprint::of("tarflume stream", pieces)
    }
}

/// Goes through a [`Stream`]; one pass is built at a time.
#[derive(Debug)]
pub(crate) struct StreamCursor {
    pass: PassCursor,
    /// Number of the pass.
    number: u64,
    /// Stream position of the next sample.
    at: u64,
}

impl StreamCursor {
    pub(crate) fn new(stream: &Stream, position: u64) -> StreamCursor {
        let number = position / stream.len();
        let pass = stream.pass(number).cursor(position % stream.len());
        StreamCursor { pass, number, at: position }
    }

    /// Goes on at stream position `position`: a little forward is cheap in every shuffle.
    pub(crate) fn seek(&mut self, stream: &Stream, position: u64) {
        if position == self.at {
            return;
        }
        if position / stream.len() == self.number {
            self.pass.seek(position % stream.len());
            self.at = position;
        } else {
            *self = StreamCursor::new(stream, position);
        }
    }

    /// The stream position at which the window ends that holds the next sample, if the shuffle has windows.
    pub(crate) fn window_end(&mut self, stream: &Stream) -> Option<u64> {
        if self.pass.position() == self.pass.len() {
            *self = StreamCursor::new(stream, self.at);
        }
        let start = self.number * stream.len();
        self.pass.window_end().map(|end| start + end)
    }

    pub(crate) fn next(&mut self, stream: &Stream) -> Draw {
        loop {
            if let Some(index) = self.pass.next() {
                self.at += 1;
                return stream.draw(index, self.number);
            }
            *self = StreamCursor::new(stream, self.at);
        }
    }
}
