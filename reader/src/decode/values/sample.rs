//! `Sample`: the parts of a sample as a decoder gets them.

use std::fmt;

use tarflume_jpeg::Excerpt;

/// The parts of a sample that a [`Decode`](crate::Decode) needs.
///
/// ```
/// use tarflume::Sample;
///
/// let parts = [("json", &b"{}"[..])];
/// let sample = Sample { key: b"cat/001", seed: 42, parts: &parts, ..Sample::default() };
/// assert_eq!((sample.ext(0), sample.part(0)), ("json", &b"{}"[..]));
/// ```
#[derive(Clone, Copy, Default)]
pub struct Sample<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The ordinal in the data set.
    pub ordinal: u64,
    /// The seed of the sample's random numbers, a function of (seed, pass, ordinal); see [`Random`](crate::Random).
    pub seed: u64,
    /// The needed parts in the order of [`Decode::parts`](crate::Decode::parts): the extension that was found, and the bytes.
    pub parts: &'a [(&'a str, &'a [u8])],
    /// The entry points of each part; empty where no decoder uses them.
    pub entry_points: &'a [Option<&'a [u8]>],
    /// For each part of which only an excerpt was read, its rows: other bytes of the part are unspecified. Empty for
    /// decoders that do not ask for excerpts, which those of this crate alone can do.
    #[doc(hidden)]
    pub excerpts: &'a [Option<Excerpt<'a>>],
}

impl<'a> Sample<'a> {
    /// The bytes of the `n`th needed part.
    ///
    /// # Panics
    /// Panics if [`Decode::parts`](crate::Decode::parts) has no `n`th part.
    pub fn part(&self, n: usize) -> &'a [u8] {
        self.parts[n].1
    }

    /// The entry points of the `n`th needed part, if the decoder uses them and the sidecar has them. They come from a
    /// file and may have any content.
    pub fn entry_points(&self, n: usize) -> Option<&'a [u8]> {
        self.entry_points.get(n).copied().flatten()
    }

    /// The excerpt of the `n`th needed part, if it was not read whole.
    pub(crate) fn excerpt(&self, n: usize) -> Option<Excerpt<'a>> {
        self.excerpts.get(n).copied().flatten()
    }

    /// The extension of the `n`th needed part.
    ///
    /// # Panics
    /// Panics if [`Decode::parts`](crate::Decode::parts) has no `n`th part.
    pub fn ext(&self, n: usize) -> &'a str {
        self.parts[n].0
    }
}

impl fmt::Debug for Sample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({}, {})", self.ordinal, String::from_utf8_lossy(self.key))
    }
}
