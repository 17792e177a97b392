//! `Scratch`: the state that a thread keeps between samples, and its reservations of memory for decoding.
//!
//! Accounts for memory; decoders allocate it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tarflume_types::Result;

use super::costs::calls::Calls;
use super::costs::operations::OperationTimes;
use super::texts::blocks::Blocks;

/// Grants memory to decoders, so that their total stays within the loader's limit.
pub(crate) trait Memory: Send + Sync {
    /// Waits until the caller, which holds `held` bytes, may take `bytes` more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: that much is never granted. The message states how to raise the limit.
    /// [`crate::ErrorKind::Usage`] with the fault of the decoder: the caller holds bytes already.
    fn take(&self, held: u64, bytes: u64) -> Result<()>;
    /// Returns `bytes` bytes.
    fn give(&self, bytes: u64);
}

/// State that a thread keeps between samples: one value of each requested type.
///
/// ```
/// use tarflume::Scratch;
///
/// let mut scratch = Scratch::default(); // one for each thread
/// scratch.get::<Vec<u8>>().push(1);
/// assert_eq!(scratch.get::<Vec<u8>>().len(), 1); // kept for the next sample
/// ```
#[derive(Default)]
pub struct Scratch {
    kept: Vec<Box<dyn Any + Send>>,
    memory: Option<Arc<dyn Memory>>,
    reserved: u64,
    /// Bytes to be added to the next reservation of this sample.
    beside: u64,
    /// Whether the current reservation may be exchanged for a larger one.
    outer: bool,
    /// Statistics of JPEGs since the last reset.
    pub(crate) blocks: Blocks,
    /// Statistics of user functions since the last reset.
    pub(crate) calls: Calls,
    /// Times of the operations of recipes since the last reset.
    pub(crate) operations: OperationTimes,
}

impl Scratch {
    /// Maximum bytes of a buffer that is kept between samples. Otherwise one huge sample would hold its memory
    /// until the end.
    pub const KEEP: usize = 8 << 20;

    /// A scratch whose reservations `memory` grants.
    pub(crate) fn with_memory(memory: Arc<dyn Memory>) -> Scratch {
        Scratch { memory: Some(memory), ..Scratch::default() }
    }

    /// Reserves `bytes` bytes for a sample, in addition to its row. Call it before allocating. Waits until
    /// the loader's limit allows it. The reservation ends with the sample.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the limit is too small for this sample.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        let bytes = bytes.saturating_add(std::mem::take(&mut self.beside));
        if std::mem::take(&mut self.outer) {
            return self.exchange(bytes);
        }
        if let Some(memory) = &self.memory {
            memory.take(self.reserved, bytes)?;
            self.reserved += bytes;
        }
        Ok(())
    }

    /// As [`Scratch::reserve`], for a decoder that wraps another one and needs `bytes` before that one
    /// decodes. The inner decoder may reserve once more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the limit is too small for this sample.
    pub fn reserve_around(&mut self, bytes: u64) -> Result<()> {
        self.reserve(bytes)?;
        self.outer = true;
        Ok(())
    }

    /// Reserves `bytes` more. Threads that hold memory while they wait for more could deadlock, so the held
    /// bytes are returned first and the sum is requested at once. During the wait, the buffer that was
    /// reserved before is not counted.
    fn exchange(&mut self, bytes: u64) -> Result<()> {
        let held = std::mem::take(&mut self.reserved);
        if let Some(memory) = &self.memory {
            memory.give(held);
        }
        self.reserve(held.saturating_add(bytes))
    }

    /// Exchanges the reservation of a picture for one of `bytes` more, after what it was made for turned out to be
    /// impossible.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the limit is too small for this sample.
    pub(crate) fn reserve_instead(&mut self, bytes: u64) -> Result<()> {
        self.outer = true;
        self.reserve(bytes)
    }

    /// Adds `bytes` to the next reservation of the inner decoder. For a decoder that wraps another one, before
    /// it calls that one. Call [`Scratch::reserve_beside`] afterwards, because the inner decoder may reserve
    /// nothing.
    pub fn beside(&mut self, bytes: u64) {
        self.beside = self.beside.saturating_add(bytes);
    }

    /// Reserves the bytes announced with [`Scratch::beside`], unless that was done.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the limit is too small for this sample.
    pub fn reserve_beside(&mut self) -> Result<()> {
        if self.beside == 0 { Ok(()) } else { self.reserve(0) }
    }

    /// Counts one call of a user function: the time that it waited for admission, and the time that it ran.
    /// The loader's statistics show the sums.
    pub fn called(&mut self, waiting: Duration, busy: Duration) {
        self.calls += Calls { count: 1, busy, waiting };
    }

    /// Ends the sample and returns its reservations.
    pub fn release(&mut self) {
        (self.beside, self.outer) = (0, false);
        if let Some(memory) = &self.memory {
            memory.give(std::mem::take(&mut self.reserved));
        }
    }

    /// The value of type `T`, created with `Default` on first use.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        let at = match self.kept.iter().position(|value| value.is::<T>()) {
            Some(at) => at,
            None => {
                self.kept.push(Box::new(T::default()));
                self.kept.len() - 1
            }
        };
        #[allow(clippy::expect_used)] // found or pushed above
        self.kept[at].downcast_mut().expect("the value of this type")
    }
}

impl Scratch {
    /// Takes the value of type `T` out, for use beside the scratch; [`Scratch::put`] returns it. Does not create a
    /// default value if one is kept, because that costs more than decoding a small picture.
    pub(crate) fn take<T: Any + Send + Default>(&mut self) -> Box<T> {
        let at = self.kept.iter().position(|value| value.is::<T>());
        at.and_then(|at| self.kept.swap_remove(at).downcast().ok()).unwrap_or_default()
    }

    /// Returns a value that was taken out.
    pub(crate) fn put<T: Any + Send>(&mut self, value: Box<T>) {
        self.kept.push(value);
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scratch({} values)", self.kept.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records reservations as (held, bytes).
    #[derive(Default)]
    struct RecordingMemory(Mutex<Vec<(u64, u64)>>);

    impl Memory for RecordingMemory {
        fn take(&self, held: u64, bytes: u64) -> Result<()> {
            self.0.lock().unwrap().push((held, bytes));
            Ok(())
        }
        fn give(&self, _: u64) {}
    }

    /// Records reservations and returns.
    #[derive(Default)]
    struct CallLog(Mutex<Vec<String>>);

    impl Memory for CallLog {
        fn take(&self, held: u64, bytes: u64) -> Result<()> {
            self.0.lock().unwrap().push(format!("take {bytes} with {held}"));
            Ok(())
        }
        fn give(&self, bytes: u64) {
            self.0.lock().unwrap().push(format!("give {bytes}"));
        }
    }

    #[test]
    fn memory_reserved_around_a_call_is_exchanged_once_for_more() {
        let recorded = Arc::new(CallLog::default());
        let mut scratch = Scratch::with_memory(recorded.clone());
        scratch.reserve_around(10).unwrap();
        scratch.reserve(5).unwrap();
        scratch.release();
        scratch.reserve_around(7).unwrap();
        scratch.release();
        scratch.reserve(1).unwrap();
        let found = recorded.0.lock().unwrap().join(", ");
        let first = "take 10 with 0, give 10, take 15 with 0, give 15";
        assert_eq!(found, format!("{first}, take 7 with 0, give 7, take 1 with 0"));
    }

    #[test]
    fn a_value_put_back_is_returned_by_the_next_take() {
        let mut scratch = Scratch::with_memory(Arc::new(RecordingMemory::default()));
        *scratch.get::<u8>() = 3;
        let mut taken = scratch.take::<Vec<u32>>();
        taken.push(7);
        let at = taken.as_ptr();
        scratch.put(taken);
        let again = scratch.take::<Vec<u32>>();
        assert_eq!((again.as_ptr(), again.as_slice()), (at, &[7][..]));
        assert_eq!((scratch.take::<Vec<u32>>().len(), *scratch.get::<u8>()), (0, 3));
    }

    #[test]
    fn additional_memory_is_reserved_once_and_with_the_rest() {
        let noted = Arc::new(RecordingMemory::default());
        let mut scratch = Scratch::with_memory(noted.clone());
        for inner in [Some(100), None] {
            scratch.beside(3);
            scratch.beside(4);
            if let Some(bytes) = inner {
                scratch.reserve(bytes).unwrap();
            }
            scratch.reserve_beside().unwrap();
            scratch.release();
        }
        scratch.beside(9);
        scratch.release();
        scratch.reserve_beside().unwrap();
        assert_eq!(*noted.0.lock().unwrap(), [(0, 107), (0, 7)]);
    }
}
