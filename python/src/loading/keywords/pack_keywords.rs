//! The keyword of packed samples: `pack=`.

use pyo3::prelude::*;
use tarflume::Packing;

use crate::datasets::selecting;
use crate::faults::errors::{OrRaise, usage};

/// A `tarflume.Pack`.
pub(crate) fn packing(pack: &Bound<'_, PyAny>) -> PyResult<Packing> {
    let py = pack.py();
    let class = py.import("tarflume.packs")?.getattr("Pack")?;
    if !pack.is_instance(&class)? {
        let text = "pack= takes tarflume.Pack(max_tokens=4096, lengths=\"/tokens\"), not ";
        return Err(usage(py, format!("{text}{}", pack.repr()?)));
    }
    let lengths = selecting::numbers_of(&pack.getattr("lengths")?, "length", "Pack(lengths=)")?;
    let too_long: String = pack.getattr("too_long")?.extract()?;
    let too_long = too_long.parse().or_raise(py)?;
    let mut packing = Packing::new(lengths, pack.getattr("max_tokens")?.extract()?)
        .window(pack.getattr("window")?.extract()?)
        .too_long(too_long);
    if let Some(samples) = pack.getattr("max_samples")?.extract()? {
        packing = packing.max_samples(samples);
    }
    Ok(packing)
}
