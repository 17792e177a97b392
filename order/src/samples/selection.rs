//! Which samples take part: all, some runs of neighbors, or any set of ordinals.
//!
//! The k-th of the selected has index k. The order is one of indexes; a selection turns them into ordinals. Few runs are kept as a list, many as bits; the same set always in the same form.

use std::ops::Range;
use std::sync::Arc;

use super::bits::{Bits, MAX_BITS};
use super::contents::Contents;
use super::fingerprint::Fingerprint;
use super::list::Listed;
use crate::error::{Error, Result};

/// Runs that are kept as a list whatever the number of samples; part of the order's version, as
/// the form is part of the fingerprint.
const FEW_RUNS: u64 = 64;
/// One more run for so many samples: the list stays smaller than an eighth of the bits. Past
/// [`MAX_BITS`] samples it is kept however long it is.
const SAMPLES_A_RUN: u64 = 1024;

/// The samples that take part. Clones share it. `Selection::all` takes a few bytes of memory, a selection with many gaps
/// 1.19 bits for each sample of the data set.
///
/// ```
/// use tarflume_order::Selection;
///
/// let clean = Selection::leave_out(1000, [3, 500])?;
/// let part = clean.skip(100)?.take(50)?;
/// assert_eq!((clean.len(), part.len()), (998, 50));
/// assert_eq!(part.ordinal(0), 101); // ordinal 3 is before it
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    samples: u64,
    kept: u64,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Runs(Arc<[Run]>),
    Bits(Arc<Bits>),
    /// Of an order by classes or by weights only.
    Listed(Listed),
}

/// Neighbors that are all kept; the next run's `before` is their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The first one's ordinal.
    start: u64,
    /// Indexes before it.
    before: u64,
}

impl Selection {
    /// All of `samples`.
    pub fn all(samples: u64) -> Selection {
        let run = (samples > 0).then_some(Run { start: 0, before: 0 });
        let runs: Vec<_> = run.into_iter().collect();
        Selection { samples, kept: samples, form: Form::Runs(runs.into()) }
    }

    /// The ordinals in `ranges`, which ascend and do not overlap.
    ///
    /// # Errors
    /// They do not ascend, or pass `samples`.
    pub fn ranges(samples: u64, ranges: impl IntoIterator<Item = Range<u64>>) -> Result<Selection> {
        let mut builder = Builder::new(samples);
        ranges.into_iter().try_for_each(|range| builder.push(range))?;
        Ok(builder.finish())
    }

    /// The given ordinals, in any order; one that comes twice counts once.
    ///
    /// # Errors
    /// One of them is not below `samples`.
    pub fn keep(samples: u64, ordinals: impl IntoIterator<Item = u64>) -> Result<Selection> {
        let ordinals = sorted(samples, ordinals)?;
        Selection::ranges(samples, ordinals.into_iter().map(|o| o..o + 1))
    }

    /// A class, or samples that a pass draws several times.
    pub(crate) fn listed(samples: u64, listed: Listed) -> Selection {
        Selection { samples, kept: listed.len(), form: Form::Listed(listed) }
    }

    /// All but the given ordinals, which may come in any order and more than once.
    ///
    /// # Errors
    /// One of them is not below `samples`.
    pub fn leave_out(samples: u64, ordinals: impl IntoIterator<Item = u64>) -> Result<Selection> {
        let ordinals = sorted(samples, ordinals)?;
        let starts = std::iter::once(0).chain(ordinals.iter().map(|o| o + 1));
        let ends = ordinals.iter().copied().chain([samples]);
        Selection::ranges(samples, starts.zip(ends).map(|(start, end)| start..end))
    }

    /// The ordinals for which `keep` returns true. It is called once for each, in ascending order.
    ///
    /// # Errors
    /// No memory for a bit a sample.
    pub fn filter(samples: u64, mut keep: impl FnMut(u64) -> bool) -> Result<Selection> {
        Selection::ranges(samples, (0..samples).filter(|&o| keep(o)).map(|o| o..o + 1))
    }

    /// The first `count` of the selected, by ordinal.
    ///
    /// # Errors
    /// No memory.
    pub fn take(&self, count: u64) -> Result<Selection> {
        self.indexes(0..count.min(self.kept))
    }

    /// All but the first `count` of the selected, by ordinal.
    ///
    /// # Errors
    /// No memory.
    pub fn skip(&self, count: u64) -> Result<Selection> {
        self.indexes(count.min(self.kept)..self.kept)
    }

    /// What both have selected.
    ///
    /// # Errors
    /// They are of different data sets; no memory.
    pub fn and(&self, other: &Selection) -> Result<Selection> {
        if self.samples != other.samples {
            let a = self.samples;
            let b = other.samples;
            return Err(Error::usage(format!(
                "a selection among {a} samples can't be joined with one among {b}: take both from \
                 the same data set"
            )));
        }
        if let Form::Listed(listed) = &self.form {
            return Ok(Selection::listed(self.samples, listed.only(|o| other.contains(o))));
        }
        let mut builder = Builder::new(self.samples);
        let mut mine = self.runs();
        let mut theirs = other.runs();
        let mut a = mine.next();
        let mut b = theirs.next();
        while let (Some(x), Some(y)) = (&a, &b) {
            builder.push(x.start.max(y.start)..x.end.min(y.end))?;
            if x.end <= y.end {
                a = mine.next();
            } else {
                b = theirs.next();
            }
        }
        Ok(builder.finish())
    }

    fn indexes(&self, indexes: Range<u64>) -> Result<Selection> {
        if indexes.is_empty() {
            return Selection::ranges(self.samples, []);
        }
        let first = self.ordinal(indexes.start);
        let last = self.ordinal(indexes.end - 1);
        self.and(&Selection::ranges(self.samples, std::iter::once(first..last + 1))?)
    }

    /// How many are selected.
    #[allow(clippy::len_without_is_empty)] // An order without samples is an error that says so.
    pub fn len(&self) -> u64 {
        self.kept
    }

    /// How many there are to select from.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// True if no sample is left out.
    pub fn is_all(&self) -> bool {
        self.kept == self.samples
    }

    /// The ordinal of index `index`: the selected one with `index` others before it.
    ///
    /// # Panics
    /// `index` is not below [`Selection::len`].
    pub fn ordinal(&self, index: u64) -> u64 {
        assert!(index < self.kept, "index {index} of {}", self.kept);
        match &self.form {
            Form::Listed(listed) => listed.place(index).0,
            Form::Runs(runs) => {
                let run = match runs.len() {
                    1 => runs[0],
                    _ => runs[runs.partition_point(|run| run.before <= index) - 1],
                };
                run.start + (index - run.before)
            }
            Form::Bits(bits) => bits.select(index),
        }
    }

    /// The ordinal of index `index`, how many copies of it have a smaller index, and the most copies that any has.
    pub(crate) fn copy(&self, index: u64) -> (u64, u64, u64) {
        match &self.form {
            Form::Listed(listed) => {
                let (ordinal, copy) = listed.place(index);
                (ordinal, copy, listed.most())
            }
            _ => (self.ordinal(index), 0, 1),
        }
    }

    /// Whether a pass may draw a sample more than once.
    pub(crate) fn repeats(&self) -> bool {
        matches!(&self.form, Form::Listed(listed) if listed.repeats())
    }

    /// How many of the selected have a smaller ordinal.
    pub fn indexes_before(&self, ordinal: u64) -> u64 {
        match &self.form {
            Form::Listed(listed) => listed.before(ordinal),
            Form::Runs(runs) => match runs.partition_point(|run| run.start < ordinal) {
                0 => 0,
                next => {
                    let run = runs[next - 1];
                    let end = runs.get(next).map_or(self.kept, |run| run.before);
                    end.min(run.before + (ordinal - run.start))
                }
            },
            Form::Bits(bits) => bits.rank(ordinal),
        }
    }

    /// True if `ordinal` is selected.
    pub fn contains(&self, ordinal: u64) -> bool {
        match &self.form {
            Form::Runs(_) | Form::Listed(_) => {
                ordinal < self.samples
                    && self.indexes_before(ordinal) < self.indexes_before(ordinal + 1)
            }
            Form::Bits(bits) => bits.contains(ordinal),
        }
    }

    /// The longest runs of selected ordinals, ascending.
    pub fn runs(&self) -> Box<dyn Iterator<Item = Range<u64>> + '_> {
        match &self.form {
            Form::Bits(bits) => Box::new(bits.runs()),
            Form::Listed(listed) => Box::new(listed.runs()),
            Form::Runs(list) => Box::new(runs(list, self.kept)),
        }
    }

    /// The index with which each shard that has any begins, then their number.
    pub fn starts(&self, contents: &Contents) -> Arc<[u64]> {
        let mut starts: Vec<_> =
            contents.starts().iter().map(|&start| self.indexes_before(start)).collect();
        starts.dedup();
        starts.into()
    }

    /// Identifies this selection in saved states.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.samples.to_le_bytes());
        match &self.form {
            Form::Runs(_) => {
                hasher.update(b"runs");
                for run in self.runs() {
                    hasher.update(&run.start.to_le_bytes());
                    hasher.update(&run.end.to_le_bytes());
                }
            }
            Form::Listed(listed) => {
                hasher.update(b"list");
                listed.hash(&mut hasher);
            }
            Form::Bits(bits) => {
                hasher.update(b"bits");
                bits.words().iter().for_each(|word| {
                    hasher.update(&word.to_le_bytes());
                });
            }
        }
        Fingerprint::new(*hasher.finalize().as_bytes())
    }
}

fn sorted(samples: u64, ordinals: impl IntoIterator<Item = u64>) -> Result<Vec<u64>> {
    let mut ordinals: Vec<_> = ordinals.into_iter().collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    match ordinals.last() {
        Some(&last) if last >= samples => Err(Error::usage(format!(
            "ordinal {last} can't be selected: the data set has {samples} samples, from 0; was the \
             list made for another data set?"
        ))),
        _ => Ok(ordinals),
    }
}

/// Takes ascending ranges, joins neighbors, and chooses the form.
struct Builder {
    samples: u64,
    kept: u64,
    /// Where the last range ended.
    end: u64,
    runs: Vec<Run>,
    /// Takes over when the runs are too many.
    bits: Option<Bits>,
}

impl Builder {
    fn new(samples: u64) -> Builder {
        Builder { samples, kept: 0, end: 0, runs: Vec::new(), bits: None }
    }

    fn push(&mut self, range: Range<u64>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let Range { start, end } = range;
        if start < self.end || end > self.samples {
            let samples = self.samples;
            let before = self.end;
            return Err(Error::usage(format!(
                "ordinals {start}..{end} can't be selected: they must come after {before} and be \
                 below {samples}, the samples of the data set"
            )));
        }
        let joins = start == self.end && self.kept > 0;
        if let Some(bits) = &mut self.bits {
            bits.fill(start..end);
        } else if !joins {
            self.runs.push(Run { start, before: self.kept });
        }
        self.kept += end - start;
        self.end = end;
        let many = self.samples <= MAX_BITS
            && self.runs.len() as u64 > FEW_RUNS + self.samples / SAMPLES_A_RUN;
        if many && self.bits.is_none() {
            let mut bits = Bits::empty(self.samples)?;
            runs(&self.runs, self.kept).for_each(|run| bits.fill(run));
            self.bits = Some(bits);
            self.runs = Vec::new();
        }
        Ok(())
    }

    fn finish(self) -> Selection {
        let form = match self.bits {
            Some(bits) => Form::Bits(Arc::new(bits.counted())),
            None => Form::Runs(self.runs.into()),
        };
        Selection { samples: self.samples, kept: self.kept, form }
    }
}

/// The runs of a list that holds `kept` ordinals.
fn runs(list: &[Run], kept: u64) -> impl Iterator<Item = Range<u64>> + '_ {
    let ends = list.iter().skip(1).map(|next| next.before).chain([kept]);
    list.iter().zip(ends).map(|(run, end)| run.start..run.start + (end - run.before))
}

#[cfg(test)]
mod tests;
