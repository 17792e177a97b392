//! `Scratch`: what a thread keeps between samples, and the memory that decoding a sample may take.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::blocks::Blocks;
use super::calls::Calls;
use crate::error::Result;

/// Grants memory to decoders, so that all of them together stay within the loader's bound.
pub(crate) trait Memory: Send + Sync {
    /// Waits until `bytes` more may be taken beside the `held` ones that the caller has.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: so much is never granted; the text says how to raise the bound.
    fn take(&self, held: u64, bytes: u64) -> Result<()>;
    /// Gives back what was taken.
    fn give(&self, bytes: u64);
}

/// What a thread keeps between samples: one value of each type that is asked for.
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
    /// What the next reservation of this sample takes in addition.
    beside: u64,
    /// Whether what is reserved may be handed in for more.
    outer: bool,
    refused: bool,
    /// What was spared of JPEGs since it was asked.
    pub(crate) blocks: Blocks,
    /// What the user's functions cost since it was asked.
    pub(crate) calls: Calls,
}

impl Scratch {
    /// A buffer of more bytes than this must not be kept between samples: one huge sample would
    /// otherwise hold its memory until the end.
    pub const KEEP: usize = 8 << 20;

    /// A scratch whose reservations are granted by `memory`.
    pub(crate) fn with_memory(memory: Arc<dyn Memory>) -> Scratch {
        Scratch { memory: Some(memory), ..Scratch::default() }
    }

    /// To be called before a sample needs `bytes` bytes of memory beside its row; waits until the
    /// loader's bound allows them. They count until the sample is done.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the bound is too small for this sample.
    pub fn reserve(&mut self, bytes: u64) -> Result<()> {
        let bytes = bytes.saturating_add(std::mem::take(&mut self.beside));
        if std::mem::take(&mut self.outer) {
            return self.exchange(bytes);
        }
        if let Some(memory) = &self.memory {
            memory.take(self.reserved, bytes).inspect_err(|_| self.refused = true)?;
            self.reserved += bytes;
        }
        Ok(())
    }

    /// [`Scratch::reserve`] for a decoder that stands around another one and needs `bytes` before that one
    /// decodes. The inner one may reserve once more.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the bound is too small for this sample.
    pub fn reserve_around(&mut self, bytes: u64) -> Result<()> {
        self.reserve(bytes)?;
        self.outer = true;
        Ok(())
    }

    /// Reserves `bytes` more. Whoever holds some and waits for more could wait for somebody who does the same:
    /// so what is held is given back, and all is asked for together. While this waits, the buffer that was
    /// reserved before is not counted.
    fn exchange(&mut self, bytes: u64) -> Result<()> {
        let held = std::mem::take(&mut self.reserved);
        if let Some(memory) = &self.memory {
            memory.give(held);
        }
        self.reserve(held.saturating_add(bytes))
    }

    /// For a decoder that stands around another one, before it has that one decode: `bytes` more are
    /// reserved together with what the inner one asks for. Whoever says this calls
    /// [`Scratch::reserve_beside`] afterwards, as the inner one may ask for nothing.
    pub fn beside(&mut self, bytes: u64) {
        self.beside = self.beside.saturating_add(bytes);
    }

    /// Reserves what was said by [`Scratch::beside`], unless that was done.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Limit`]: the bound is too small for this sample.
    pub fn reserve_beside(&mut self) -> Result<()> {
        if self.beside == 0 { Ok(()) } else { self.reserve(0) }
    }

    /// Counts one call of a function that the user handed in: how long it waited to be let in, and how
    /// long it took. Shown by the loader's statistics.
    pub fn called(&mut self, waiting: Duration, busy: Duration) {
        self.calls += Calls { count: 1, busy, waiting };
    }

    /// The sample is done: gives back what was reserved.
    pub fn release(&mut self) {
        (self.beside, self.outer) = (0, false);
        if let Some(memory) = &self.memory {
            memory.give(std::mem::take(&mut self.reserved));
        }
    }

    /// True if a reservation was refused since this was asked last: then it is the bound that a sample
    /// can't be decoded in, and no fault of the sample.
    #[must_use]
    pub(crate) fn take_refusal(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    /// The value of type `T`, made by `Default` when it is first asked for.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        let at = match self.kept.iter().position(|value| value.is::<T>()) {
            Some(at) => at,
            None => {
                self.kept.push(Box::new(T::default()));
                self.kept.len() - 1
            }
        };
        #[allow(clippy::expect_used)] // just found or just pushed
        self.kept[at].downcast_mut().expect("the value of this type")
    }
}

impl Scratch {
    /// Takes the value of type `T` out, for use beside this one; [`Scratch::put`] gives it back. Neither makes another
    /// value: a default one for each sample costs more than a small picture.
    pub(crate) fn take<T: Any + Send + Default>(&mut self) -> Box<T> {
        let at = self.kept.iter().position(|value| value.is::<T>());
        at.and_then(|at| self.kept.swap_remove(at).downcast().ok()).unwrap_or_default()
    }

    /// Keeps a value that was taken out.
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

    /// Notes what was taken, as (held, bytes).
    #[derive(Default)]
    struct Noted(Mutex<Vec<(u64, u64)>>);

    impl Memory for Noted {
        fn take(&self, held: u64, bytes: u64) -> Result<()> {
            self.0.lock().unwrap().push((held, bytes));
            Ok(())
        }
        fn give(&self, _: u64) {}
    }

    /// Notes what was taken and what was given back.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Memory for Told {
        fn take(&self, held: u64, bytes: u64) -> Result<()> {
            self.0.lock().unwrap().push(format!("take {bytes} with {held}"));
            Ok(())
        }
        fn give(&self, bytes: u64) {
            self.0.lock().unwrap().push(format!("give {bytes}"));
        }
    }

    #[test]
    fn what_was_reserved_around_is_handed_in_for_more_once() {
        let told = Arc::new(Told::default());
        let mut scratch = Scratch::with_memory(told.clone());
        scratch.reserve_around(10).unwrap();
        scratch.reserve(5).unwrap();
        scratch.release();
        scratch.reserve_around(7).unwrap();
        scratch.release();
        scratch.reserve(1).unwrap();
        let found = told.0.lock().unwrap().join(", ");
        let first = "take 10 with 0, give 10, take 15 with 0, give 15";
        assert_eq!(found, format!("{first}, take 7 with 0, give 7, take 1 with 0"));
    }

    #[test]
    fn a_value_that_was_taken_out_is_the_same_when_it_is_taken_again() {
        let mut scratch = Scratch::with_memory(Arc::new(Noted::default()));
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
    fn what_stands_beside_is_reserved_once_and_with_the_rest() {
        let noted = Arc::new(Noted::default());
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
