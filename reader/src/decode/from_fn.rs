//! Decoders that are closures (`decode_fn`), and decoders behind `Arc` and `Box`.

use std::fmt;
use std::sync::Arc;

use tarflume_types::{Result, Row, RowShape};

use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

/// A decoder that is a closure; made by [`decode_fn`].
#[derive(Clone)]
pub struct DecodeFn<F> {
    parts: Vec<String>,
    shape: RowShape,
    decode: F,
}

/// A decoder of rows of `shape` from `parts`, as [`Decode::parts`] has them: `decode` writes a row, as
/// [`Decode::decode`] does.
///
/// ```
/// use tarflume::{DType, Loader, RowShape, decode_fn};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let length = decode_fn(["txt"], RowShape::Fixed(DType::U64, vec![]), |sample, mut row, _| {
///     row.put(&(sample.part(0).len() as u64).to_ne_bytes())
/// });
/// let loader = Loader::builder(shards).column("length", length).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!(batch.column("length")?.elements::<u64>()?, [7; 4]); // "photo 0" has seven bytes
/// # Ok(())
/// # }
/// ```
pub fn decode_fn<P, F>(
    parts: impl IntoIterator<Item = P>,
    shape: RowShape,
    decode: F,
) -> DecodeFn<F>
where
    P: Into<String>,
    F: Fn(&Sample<'_>, Row<'_>, &mut Scratch) -> Result<()> + Send + Sync + 'static,
{
    DecodeFn { parts: parts.into_iter().map(Into::into).collect(), shape, decode }
}

impl<F> Decode for DecodeFn<F>
where
    F: Fn(&Sample<'_>, Row<'_>, &mut Scratch) -> Result<()> + Send + Sync + 'static,
{
    fn parts(&self) -> Vec<String> {
        self.parts.clone()
    }

    fn shape(&self) -> RowShape {
        self.shape.clone()
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        (self.decode)(sample, row, scratch)
    }
}

impl<F> fmt::Debug for DecodeFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodeFn")
            .field("parts", &self.parts)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => { $(
/// A decoder shared by several loaders, or one whose type is chosen at run time.
impl<D: Decode + ?Sized> Decode for $pointer<D> {
    fn parts(&self) -> Vec<String> {
        (**self).parts()
    }

    fn shape(&self) -> RowShape {
        (**self).shape()
    }

    fn optional(&self) -> bool {
        (**self).optional()
    }

    fn validate(&self) -> Result<()> {
        (**self).validate()
    }

    fn wants_entry_points(&self) -> bool {
        (**self).wants_entry_points()
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        (**self).hooks()
    }

    fn room(&self, lengths: &[u64]) -> u64 {
        (**self).room(lengths)
    }

    fn group(&self) -> usize {
        (**self).group()
    }

    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        (**self).prepare(samples, scratch);
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        (**self).decode(sample, row, scratch)
    }
}
    )* };
}
pointers!(Arc, Box);
