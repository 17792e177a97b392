//! A column of pictures of one bucket: rows of different lengths in Rust, of one shape in each batch.

use std::sync::Arc;

use pyo3::prelude::*;
use tarflume::Batch;

use crate::batches::column::Column;
use crate::buffers::memory::BatchColumnMemory;
use crate::faults::errors::OrRaise;

/// The column of pictures of one bucket: `[rows, height, width, channels]`, or `[rows, height, width]` for planes.
pub(crate) fn of_bucket(
    py: Python<'_>,
    batch: &Arc<Batch>,
    name: &str,
    is_plane: bool,
) -> PyResult<Column> {
    let column = batch.column(name).or_raise(py)?;
    let picture = (0..batch.len()).find_map(|row| column.picture(row));
    let dims = picture.map_or([0; 3], |picture| picture.dims());
    let dims = if is_plane { &dims[1..] } else { &dims[..] };
    let shape: Vec<usize> = [batch.len()].iter().chain(dims).copied().collect();
    let memory = BatchColumnMemory { batch: batch.clone(), name: name.to_string() };
    Ok(Column::new(Arc::new(memory), column.dtype(), &shape))
}
