//! `ColumnBytes`: the memory of a column, which keeps its batch from going back to the loader.

use std::sync::Arc;

use tarflume::Batch;

/// A column of a batch.
#[derive(Debug)]
pub(crate) struct ColumnBytes {
    pub(crate) batch: Arc<Batch>,
    pub(crate) name: String,
}

impl AsRef<[u8]> for ColumnBytes {
    fn as_ref(&self) -> &[u8] {
        self.batch.column(&self.name).map_or(&[], |column| column.bytes())
    }
}
