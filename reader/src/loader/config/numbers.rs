//! A whole number of each sample of a data set, read once by a loader of that part alone.

use tarflume_dataset::{Dataset, ReadNumbers};
use tarflume_formats::index::Value;
use tarflume_types::{Error, ErrorKind, Result};

use crate::decode::json::Json;
use crate::decode::numbers::class::Class;
use crate::loader::config::builder::LoaderBuilder;
use crate::loader::epoch::Epoch;
use crate::order::Remainder;

/// Rows of a batch that reads numbers.
const ROWS: u64 = 1024;

impl ReadNumbers<LoaderBuilder> for Dataset {
    fn read_numbers(&self, part: &str) -> Result<Vec<i64>> {
        read(self, part)
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
