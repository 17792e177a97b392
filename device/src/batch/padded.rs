//! Padded copies of variable columns: rows of different lengths or sizes in one array. Plain data.

use tarflume_types::{Error, ErrorKind, PictureShape, Result};

/// A variable column, padded to equal rows.
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
    /// Number of rows, and elements in a row.
    pub shape: [usize; 2],
    /// Elements of each row before the padding.
    pub lengths: Vec<usize>,
}

/// Pictures of a variable column, padded to equal sizes.
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
    /// Number of rows, then the three dimensions of a row.
    pub shape: [usize; 4],
    /// The shape of each picture within its row.
    pub shapes: Vec<PictureShape>,
}

impl<T> PaddedPictures<T> {
    /// For each pixel, whether it is part of a picture (not padding): `[rows, height, width]`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`]: the mask does not fit in memory.
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

/// An array of shape `sides` filled with `value`. The allocation may fail: one very high picture and one
/// very wide picture are enough to exceed any machine's memory.
///
/// # Errors
/// [`ErrorKind::Limit`]: the array does not fit in memory.
pub(super) fn filled<T: Clone, const N: usize>(sides: [usize; N], value: T) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let count = sides.iter().try_fold(1usize, |count, &side| count.checked_mul(side));
    let reserved = count.filter(|&count| values.try_reserve_exact(count).is_ok());
    let Some(count) = reserved else {
        let sides = sides.map(|side| side.to_string()).join(" x ");
        let text = format!(
            "an array of {sides} does not fit in memory: the rows differ too much in size to be padded \
             to one size"
        );
        return Err(Error::new(ErrorKind::Limit, text));
    };
    values.resize(count, value);
    Ok(values)
}
