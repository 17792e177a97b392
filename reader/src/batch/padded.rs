//! Rows of different lengths or sizes as one array, filled up to one size.

use crate::column::PictureShape;
use crate::error::{Error, ErrorKind, Result};

/// A variable column, filled up to equal rows.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(16).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let padded = batch.column("txt")?.padded(b' ')?; // "photo 0  ", .., "photo 15"
/// assert_eq!(padded.values.len(), 16 * 8);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Padded<T> {
    /// The elements, row after row.
    pub values: Vec<T>,
    /// Rows and elements a row.
    pub shape: [usize; 2],
    /// How many elements of each row are its own.
    pub lengths: Vec<usize>,
}

/// Pictures of a variable column, filled up to one size.
///
/// ```
/// use tarflume::{Image, Loader, Whole};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let whole = Image::new("jpg", Whole::up_to(1 << 20));
/// let loader = Loader::builder(shards).column("image", whole).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let padded = batch.column("image")?.padded_pictures(0u8)?;
/// println!("{:?}", padded.shape);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PaddedPictures<T> {
    /// The elements, row after row.
    pub values: Vec<T>,
    /// Rows, then the three dimensions of a row.
    pub shape: [usize; 4],
    /// The shape of each picture within its row.
    pub shapes: Vec<PictureShape>,
}

impl<T> PaddedPictures<T> {
    /// Whether each pixel is of a picture: `[rows, height, width]`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: it does not fit in memory.
    pub fn mask(&self) -> Result<Vec<bool>> {
        let first = self.shapes.first().is_some_and(|shape| shape.channels_first);
        let [_, high, wide] = if first {
            [self.shape[0], self.shape[2], self.shape[3]]
        } else {
            [self.shape[0], self.shape[1], self.shape[2]]
        };
        let mut mask = filled([self.shapes.len(), high, wide], false)?;
        for (row, shape) in self.shapes.iter().enumerate() {
            for line in 0..shape.height as usize {
                let at = (row * high + line) * wide;
                mask[at..at + shape.width as usize].fill(true);
            }
        }
        Ok(mask)
    }
}

/// An array of these sides that holds `value` everywhere. A few rows, one very high and one very wide, ask for
/// more than any machine has.
///
/// # Errors
/// [`ErrorKind::Limit`]: it does not fit in memory.
pub(super) fn filled<T: Clone, const N: usize>(sides: [usize; N], value: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let count = sides.iter().try_fold(1usize, |count, &side| count.checked_mul(side));
    let there = count.filter(|&count| values.try_reserve_exact(count).is_ok());
    let Some(count) = there else {
        let sides = sides.map(|side| side.to_string()).join(" x ");
        let text = format!(
            "an array of {sides} does not fit in memory: the rows are too unlike each other to be filled up \
             to one size"
        );
        return Err(Error::new(ErrorKind::Limit, text));
    };
    values.resize(count, value);
    Ok(values)
}
