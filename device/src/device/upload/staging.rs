//! `StagingPool`: pinned memory in which the objects of a batch are put together for one copy.
//!
//! A batch announces much more memory for its objects than they take: masks are bounded by a number, not known. To pin all of
//! it would take it from the machine, so the bytes in use are put together here.

use std::sync::{Arc, Mutex};

use crate::device::upload::objects::PlacedObjects;
use crate::slab::{HostBytes, HostMemory};
use tarflume_formats::IgnorePoison;
use tarflume_types::Result;

/// Memory is allocated in steps of so many bytes.
const STEP: usize = 64 << 10;

/// Bytes to allocate for `bytes` bytes, so that a batch with some more objects needs no other memory.
pub(crate) fn with_spare(bytes: usize) -> usize {
    bytes.max(1).saturating_add(bytes / 4).checked_next_multiple_of(STEP).unwrap_or(usize::MAX)
}

/// The blocks of pinned memory. Copies that are pending share theirs.
#[derive(Debug, Default)]
pub(crate) struct StagingPool {
    kept: Mutex<Vec<Arc<HostBytes>>>,
}

impl StagingPool {
    /// Puts values together, each at its place, in memory that no pending copy reads.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the allocation failed.
    pub(crate) fn put_together(
        &self,
        values: &[PlacedObjects<'_>],
        memory: &dyn HostMemory,
    ) -> Result<Arc<HostBytes>> {
        let length = values.last().map_or(0, PlacedObjects::end);
        let free = self.take().filter(|block| block.bytes().len() >= length);
        let mut block = match free {
            Some(block) => block,
            None => HostBytes::in_memory(with_spare(length), memory)?,
        };
        let bytes = block.bytes_mut();
        for value in values {
            bytes[value.place..value.end()].copy_from_slice(value.column.bytes());
        }
        let block = Arc::new(block);
        self.kept.lock().ignore_poison().push(block.clone());
        Ok(block)
    }

    /// Takes a block that no copy reads.
    fn take(&self) -> Option<HostBytes> {
        let mut kept = self.kept.lock().ignore_poison();
        let free = kept.iter().position(|block| Arc::strong_count(block) == 1)?;
        // Only this list has it, so no one else shares it meanwhile.
        Arc::into_inner(kept.swap_remove(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::ExternalMemory;

    #[derive(Debug)]
    struct Pageable;

    impl HostMemory for Pageable {
        fn block(&self, _: usize) -> Option<Box<dyn ExternalMemory>> {
            None
        }
    }

    #[test]
    fn a_block_is_used_again_once_no_copy_reads_it() {
        let pool = StagingPool::default();
        let first = pool.put_together(&[], &Pageable).unwrap();
        let address = first.bytes().as_ptr();
        let second = pool.put_together(&[], &Pageable).unwrap();
        assert_ne!(second.bytes().as_ptr(), address, "a copy still reads the first one");
        drop((first, second));
        let third = pool.put_together(&[], &Pageable).unwrap();
        assert_eq!(third.bytes().as_ptr(), address);
        assert_eq!(pool.kept.lock().unwrap().len(), 2);
    }

    #[test]
    fn memory_has_spare_bytes() {
        assert_eq!([0, 1, STEP, 4 * STEP].map(with_spare), [STEP, STEP, 2 * STEP, 5 * STEP]);
        assert_eq!(with_spare(usize::MAX), usize::MAX);
    }
}
