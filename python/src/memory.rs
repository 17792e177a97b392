//! `Memory`: bytes that arrays show, kept alive by them: of a batch's slab, or their own.

use std::sync::Arc;

use tarflume::Batch;

/// Bytes that don't move and don't change while somebody holds them.
pub(crate) trait Memory: Send + Sync {
    fn bytes(&self) -> &[u8];
}

/// One column of a batch. While it is held, so is the batch, and nobody writes into its slab.
pub(crate) struct OfBatch {
    pub(crate) batch: Arc<Batch>,
    pub(crate) name: String,
}

impl Memory for OfBatch {
    fn bytes(&self) -> &[u8] {
        // The name was found before: columns don't come and go.
        self.batch.column(&self.name).map_or(&[], |column| column.bytes())
    }
}

/// Elements that belong to nobody else.
pub(crate) struct Own<T>(pub(crate) Vec<T>);

impl<T: bytemuck::NoUninit + Send + Sync> Memory for Own<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// A copy of some bytes, aligned for every element.
pub(crate) fn copy_of(bytes: &[u8]) -> Arc<dyn Memory> {
    struct Copied(Vec<u64>, usize);
    impl Memory for Copied {
        fn bytes(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.0)[..self.1]
        }
    }
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    Arc::new(Copied(words, bytes.len()))
}
