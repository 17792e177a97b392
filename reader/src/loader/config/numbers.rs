//! A whole number of each sample of a data set, read once by a loader of that part alone.

use std::sync::Arc;

use tarflume_formats::index::Value;

use crate::dataset::Dataset;
use crate::decode::class::Class;
use crate::decode::json::Json;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::config::builder::LoaderBuilder;
use crate::loader::epoch::Epoch;
use crate::order::Remainder;

/// Rows of a batch that reads numbers.
const ROWS: u64 = 1024;

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
    pub fn numbers(&self, part: &str) -> Result<Arc<[i64]>> {
        if let Some(known) = self.known_numbers(part) {
            return Ok(known);
        }
        let numbers: Arc<[i64]> = read(self, part)?.into();
        self.keep_numbers(part, &numbers);
        Ok(numbers)
    }
}

fn whole(value: Option<Value<'_>>) -> std::result::Result<i64, String> {
    match value {
        Some(Value::Whole(number)) => {
            i64::try_from(number).map_err(|_| format!("{number} is outside the range of int64"))
        }
        _ => Err("there is no value".into()),
    }
}

fn read(dataset: &Dataset, part: &str) -> Result<Vec<i64>> {
    let samples = usize::try_from(dataset.len()).unwrap_or(usize::MAX);
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(samples).map_err(|e| {
        let text = format!("the numbers of {samples} samples do not fit in memory");
        Error::new(ErrorKind::Limit, text).with_source(e)
    })?;
    let (ext, pointer) = if part.starts_with('/') { ("json", Some(part)) } else { (part, None) };
    let stored = dataset.stored_values(ext, pointer);
    if let Some(values) = stored.filter(|values| values.spec().kind.is_whole()) {
        values.each(|value| {
            numbers.push(whole(value).map_err(|what| {
                let text = format!("column '{}' of the sidecar: {what}", values.spec().name);
                Error::new(ErrorKind::Decode, text)
            })?);
            Ok(())
        })?;
        return Ok(numbers);
    }
    let builder = LoaderBuilder::new(Ok(dataset.clone()));
    let builder = if part.starts_with('/') {
        builder.column("number", Json::new("json", part).language(None))
    } else {
        builder.column("number", Class::new(part))
    };
    let shared = builder.batch(ROWS).remainder(Remainder::Uneven).shared()?;
    for batch in Epoch::begin(shared, 0) {
        numbers.extend_from_slice(batch?.column("number")?.elements::<i64>()?);
    }
    Ok(numbers)
}
