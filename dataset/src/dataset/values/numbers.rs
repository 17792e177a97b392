//! A whole number of each sample of a data set, read once and kept. The crate of the loader has the reading.

use std::sync::Arc;

use tarflume_types::Result;

use crate::dataset::Dataset;

/// Reads the numbers of a [`Dataset`]. `By` is the type that reads them, which is above this crate: the builder of loaders.
///
/// Another crate can implement a trait for [`Dataset`] only if the trait names a type of that crate: hence `By`. There
/// is one implementation, so the compiler finds `By` for a caller of [`Dataset::numbers`].
pub trait ReadNumbers<By> {
    /// Reads the number of each sample in `part`.
    ///
    /// # Errors
    /// Returns an error if a sample has no such number, or a part cannot be read.
    fn read_numbers(&self, part: &str) -> Result<Vec<i64>>;
}

impl Dataset {
    /// The whole number of each sample in `part`: a pointer into the part `json` if it begins with `/`, otherwise a
    /// part that contains the number. The first call reads these parts of all samples, with one thread for each core and
    /// the memory of a loader; the numbers, 8 bytes for each sample, then stay with the data set.
    ///
    /// ```
    /// use tarflume::Dataset;
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
    /// # let shards = made.path();
    /// let classes = Dataset::open(shards)?.numbers("/class")?;
    /// assert_eq!((classes.len(), classes[3]), (16, 3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a sample has no such number, or a part cannot be read.
    pub fn numbers<By>(&self, part: &str) -> Result<Arc<[i64]>>
    where
        Dataset: ReadNumbers<By>,
    {
        if let Some(known) = self.known_numbers(part) {
            return Ok(known);
        }
        let numbers: Arc<[i64]> = self.read_numbers(part)?.into();
        self.keep_numbers(part, &numbers);
        Ok(numbers)
    }
}
