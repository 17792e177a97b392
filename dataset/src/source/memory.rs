//! `MemorySource`: a shard whose bytes are in memory. Performs no I/O.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tarflume_types::Result;

use crate::source::Source;
use crate::source::disk::file::past_the_end;

/// Bytes in memory. Clones share them.
///
/// ```
/// use tarflume::{MemorySource, Source};
///
/// assert_eq!(MemorySource::new(vec![0; 512]).len(), 512);
/// ```
#[derive(Clone)]
pub struct MemorySource(Arc<[u8]>);

impl MemorySource {
    /// A source of `bytes`.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> MemorySource {
        MemorySource(bytes.into())
    }
}

impl Source for MemorySource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        match self.view(at, into.len()) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => {
                let end = at.saturating_add(into.len() as u64);
                return Err(past_the_end(Path::new("(memory)"), at, end, self.len()));
            }
        }
        Ok(())
    }

    fn view(&self, at: u64, length: usize) -> Option<&[u8]> {
        let at = usize::try_from(at).ok()?;
        self.0.get(at..at.checked_add(length)?)
    }
}

impl fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySource({} bytes)", self.0.len())
    }
}
