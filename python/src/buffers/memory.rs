//! `Memory`: the bytes that arrays view and keep alive, in a batch's slab or in a vector.

use std::sync::Arc;

use tarflume::Batch;

/// Bytes that neither move nor change while a reference exists.
pub(crate) trait Memory: Send + Sync {
    fn bytes(&self) -> &[u8];
}

/// The name of the column of keys.
pub(crate) const KEY: &str = "key";

/// The column of the numbers of rows, of a loader of arrays.
pub(crate) const ROW: &str = "row";

/// One column of a batch. It keeps the batch, so the slab is not reused.
pub(crate) struct BatchColumnMemory {
    pub(crate) batch: Arc<Batch>,
    pub(crate) name: String,
}

impl Memory for BatchColumnMemory {
    fn bytes(&self) -> &[u8] {
        // The name was found before, and a batch's columns do not change.
        self.batch.column(&self.name).map_or(&[], |column| column.bytes())
    }
}

/// Elements in a separate vector.
pub(crate) struct VecMemory<T>(pub(crate) Vec<T>);

impl<T: bytemuck::NoUninit + Send + Sync> Memory for VecMemory<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// A copy of some bytes, aligned for every type of element.
pub(crate) fn copy_of(bytes: &[u8]) -> Arc<dyn Memory> {
    struct CopiedBytes(Vec<u64>, usize);
    impl Memory for CopiedBytes {
        fn bytes(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.0)[..self.1]
        }
    }
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    Arc::new(CopiedBytes(words, bytes.len()))
}
