//! `Sequence`: converts a variable column into one of fixed length, by padding and truncating.
//!
//! Independent of the source of the elements: wraps any [`Decode`] of a variable column.

use std::mem;
use std::sync::Arc;

use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::values::number::Number;
use crate::decode::{Decode, Sample, Scratch};

/// A column of sequences of equal length.
///
/// ```
/// use tarflume::{DType, Decode, Json, RowShape, Sequence};
///
/// let tokens = Json::new("json", "/tokens").dtype(DType::U16).variable();
/// let tokens = Sequence::new(tokens).pad_to(512, 0).truncate();
/// assert_eq!(tokens.shape(), RowShape::Fixed(DType::U16, vec![512]));
/// let lengths = tokens.lengths(); // a separate column: i64, before padding, after truncation
/// ```
#[derive(Clone)]
pub struct Sequence {
    inner: Arc<dyn Decode>,
    dtype: DType,
    length: usize,
    padding: Number,
    truncate: bool,
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sequence({:?}, {:?})", self.inner.parts(), self.shape())
    }
}

impl Sequence {
    /// Wraps `inner`, a variable column. Set the length with [`Sequence::pad_to`].
    pub fn new(inner: impl Decode) -> Sequence {
        let dtype = inner.shape().dtype();
        let inner = Arc::new(inner);
        let padding = Number::Whole(0);
        Sequence { inner, dtype, length: 0, padding, truncate: false }
    }

    /// Sets the length to `length` elements. Shorter rows are filled up with `padding`.
    #[must_use]
    pub fn pad_to(mut self, length: usize, padding: impl Into<Number>) -> Sequence {
        (self.length, self.padding) = (length, padding.into());
        self
    }

    /// Truncates longer rows. Without this they are errors.
    #[must_use]
    pub fn truncate(mut self) -> Sequence {
        self.truncate = true;
        self
    }

    /// A column of the number of elements of each row before padding, as `i64`.
    pub fn lengths(&self) -> SequenceLengths {
        SequenceLengths(self.clone())
    }

    /// Decodes the inner row and calls `with` with its bytes, truncated, without padding.
    fn inner<R>(
        &self,
        sample: &Sample<'_>,
        scratch: &mut Scratch,
        with: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let mut kept = mem::take(scratch.get::<SequenceBuffer>());
        let result = self.fill(sample, scratch, &mut kept.0).and_then(|used| {
            let bytes: &[u8] = bytemuck::cast_slice(&kept.0);
            with(&bytes[..used])
        });
        if kept.0.capacity() * 8 > Scratch::KEEP {
            kept.0 = Vec::new();
        }
        *scratch.get() = kept;
        result
    }

    fn fill(
        &self,
        sample: &Sample<'_>,
        scratch: &mut Scratch,
        kept: &mut Vec<u64>,
    ) -> Result<usize> {
        // Most columns have one part: no allocation for these.
        let room = match sample.parts {
            [part] => self.inner.room(&[part.1.len() as u64]),
            parts => {
                let lengths: Vec<u64> = parts.iter().map(|part| part.1.len() as u64).collect();
                self.inner.room(&lengths)
            }
        };
        // The inner column may reserve, too: a long JSON text, or the decoder inside a user's function.
        scratch.reserve_around(room)?;
        make_room(kept, room)?;
        let mut used = 0;
        let row = Row::variable(&mut bytemuck::cast_slice_mut(kept)[..room as usize], &mut used);
        self.inner.decode(sample, row, scratch)?;
        let size = self.dtype.size();
        let found = used / size;
        if found > self.length && !self.truncate {
            let text = format!(
                "a sequence of {found} elements is longer than {}; `truncate` would shorten it",
                self.length
            );
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(used.min(self.length * size))
    }
}

/// Makes `kept` at least `room` bytes long.
fn make_room(kept: &mut Vec<u64>, room: u64) -> Result<()> {
    let fits =
        usize::try_from(room.div_ceil(8)).ok().filter(|&words| words <= isize::MAX as usize / 8);
    let words = fits.ok_or_else(|| lacking(ErrorKind::Limit, room))?;
    if kept.len() < words {
        kept.try_reserve_exact(words - kept.len())
            .map_err(|e| lacking(ErrorKind::Machine, room).with_source(e))?;
        kept.resize(words, 0);
    }
    Ok(())
}

/// The error of this kind about `room` bytes that there is no memory for.
fn lacking(kind: ErrorKind, room: u64) -> Error {
    Error::new(kind, format!("a sequence of up to {room} bytes does not fit in memory"))
}

impl Decode for Sequence {
    fn parts(&self) -> Vec<String> {
        self.inner.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(self.dtype, vec![self.length])
    }

    fn validate(&self) -> Result<()> {
        self.inner.validate()?;
        let dtype = self.dtype;
        if !matches!(self.inner.shape(), RowShape::Variable(_)) {
            return Err(Error::usage("a Sequence needs a variable column"));
        }
        if self.length == 0 {
            return Err(Error::usage("a Sequence needs a length: call pad_to"));
        }
        match self.padding.encode(dtype) {
            Some(_) => Ok(()),
            None => Err(Error::usage(format!(
                "padding {:?} is outside the range of {dtype}",
                self.padding
            ))),
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let Some((padding, size)) = self.padding.encode(self.dtype) else {
            return self.validate();
        };
        self.inner(sample, scratch, |bytes| {
            let out = row.bytes();
            if out.len() != self.length * size {
                let text = format!("a sequence does not fit a row of {} bytes", out.len());
                return Err(Error::new(ErrorKind::Decode, text));
            }
            out[..bytes.len()].copy_from_slice(bytes);
            for element in out[bytes.len()..].chunks_exact_mut(size) {
                element.copy_from_slice(&padding[..size]);
            }
            Ok(())
        })
    }
}

/// A column of the lengths of a [`Sequence`] column; see [`Sequence::lengths`].
///
/// ```
/// use tarflume::{Loader, Sequence, Text};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let text = Sequence::new(Text::new("txt")).pad_to(32, 0_i64);
/// let loader = Loader::builder(shards).column("length", text.lengths()).column("text", text).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.column("length")?.elements::<i64>()?, [7; 4]); // "photo 0" has seven bytes
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SequenceLengths(Sequence);

impl Decode for SequenceLengths {
    fn parts(&self) -> Vec<String> {
        self.0.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::I64, Vec::new())
    }

    fn validate(&self) -> Result<()> {
        self.0.validate()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let size = self.0.dtype.size();
        let length = self.0.inner(sample, scratch, |bytes| Ok(bytes.len() / size))?;
        row.put(&(length as i64).to_ne_bytes())
    }
}

/// A buffer that a thread keeps between sequences. `u64`, so that elements of any type are aligned.
#[derive(Default)]
struct SequenceBuffer(Vec<u64>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::bytes::raw::Raw;
    use crate::decode::json::Json;

    fn decode(column: &impl Decode, bytes: &[u8]) -> Result<Vec<u8>> {
        column.validate()?;
        let sample = Sample {
            key: b"a",
            ordinal: 0,
            seed: 0,
            parts: &[("json", bytes)],
            ..Sample::default()
        };
        let mut row = vec![0xaa; column.shape().bytes().unwrap()];
        column.decode(&sample, Row::fixed(&mut row), &mut Scratch::default())?;
        Ok(row)
    }

    #[test]
    fn short_ones_are_filled_and_long_ones_cut_or_refused() {
        fn tokens() -> Json {
            Json::new("json", "").dtype(DType::I16).variable()
        }

        fn rows(column: &Sequence, text: &str) -> Vec<i16> {
            bytemuck::pod_collect_to_vec(&decode(column, text.as_bytes()).unwrap())
        }

        let column = Sequence::new(tokens()).pad_to(4, -1);
        assert_eq!(rows(&column, "[5, 6]"), [5, 6, -1, -1]);
        assert_eq!(rows(&column, "[]"), [-1; 4]);
        assert_eq!(rows(&column, "[1,2,3,4]"), [1, 2, 3, 4]);
        let error = decode(&column, b"[1,2,3,4,5]").unwrap_err();
        assert!(error.text().contains("5 elements is longer than 4"), "{error}");
        let cut = column.truncate();
        assert_eq!(rows(&cut, "[1,2,3,4,5,6,7]"), [1, 2, 3, 4]);
        let lengths = cut.lengths();
        assert_eq!(decode(&lengths, b"[1,2]").unwrap(), 2i64.to_ne_bytes());
        assert_eq!(decode(&lengths, b"[1,2,3,4,5]").unwrap(), 4i64.to_ne_bytes());
    }

    #[test]
    fn a_lack_of_memory_is_an_error_of_the_machine_and_not_of_the_sample() {
        let mut kept = Vec::new();
        assert_eq!(make_room(&mut kept, 1 << 62).unwrap_err().kind(), ErrorKind::Machine);
        assert_eq!(make_room(&mut kept, u64::MAX).unwrap_err().kind(), ErrorKind::Limit);
        make_room(&mut kept, 9).unwrap();
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn invalid_options_are_refused_before_anything_is_read() {
        let fixed = Sequence::new(Json::new("json", "")).pad_to(4, 0);
        let endless = Sequence::new(Raw::new("bin"));
        let padding = Sequence::new(Raw::new("bin")).pad_to(4, 256);
        for column in [fixed, endless, padding] {
            assert_eq!(column.validate().unwrap_err().kind(), ErrorKind::Usage, "{column:?}");
        }
    }
}
