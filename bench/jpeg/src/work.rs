//! What competitors are given to do, and what one is.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Both sides of a finished crop, pixels.
pub(crate) const SIDE: u32 = 224;

/// A JPEG in memory.
pub(crate) struct Photo {
    pub(crate) jpeg: Vec<u8>,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Its entry points, as a sidecar holds them.
    pub(crate) points: Option<Vec<u8>>,
}

impl Photo {
    /// Bytes of its pixels as RGB.
    pub(crate) fn room(&self) -> usize {
        self.width as usize * self.height as usize * 3
    }
}

/// A window of a photo, pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// One image to be decoded.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Which photo of the data.
    pub(crate) photo: usize,
    /// What a crop takes of it; the same for all competitors.
    pub(crate) window: Window,
}

/// Photos, and the order in which they are asked for.
pub(crate) struct Data {
    pub(crate) name: &'static str,
    pub(crate) photos: Vec<Photo>,
    pub(crate) items: Vec<Item>,
}

impl Data {
    pub(crate) fn photo(&self, item: usize) -> &Photo {
        &self.photos[self.items[item].photo]
    }

    /// Bytes of JPEG over all items.
    pub(crate) fn bytes(&self) -> usize {
        (0..self.items.len()).map(|i| self.photo(i).jpeg.len()).sum()
    }

    /// Bytes of the largest photo's pixels.
    pub(crate) fn room(&self) -> usize {
        self.photos.iter().map(Photo::room).max().unwrap_or(0)
    }
}

/// Fewer images would leave streams without work.
const LEAST: usize = 4;

/// The items that no thread has taken yet.
pub(crate) struct Queue<'d> {
    pub(crate) data: &'d Data,
    threads: usize,
    next: AtomicUsize,
}

impl<'d> Queue<'d> {
    pub(crate) fn new(data: &'d Data, threads: usize) -> Queue<'d> {
        Queue { data, threads, next: AtomicUsize::new(0) }
    }

    /// The next items, `most` of them while there are many, fewer towards the end, lest one thread
    /// has all that is left; none behind the end.
    pub(crate) fn take(&self, most: usize) -> std::ops::Range<usize> {
        let end = self.data.items.len();
        let share = |from: usize| match self.threads {
            1 => most,
            threads => most.min(((end - from) / (2 * threads)).max(LEAST)),
        };
        let behind = |from: usize| (from + share(from)).min(end);
        let step = |from| (from < end).then(|| behind(from));
        match self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
            Ok(from) => from..behind(from),
            Err(_) => end..end,
        }
    }
}

/// Is handed each item that is done: its number, and its pixels where there are any.
pub(crate) type OnDone<'s> = dyn FnMut(usize, &[u8]) + 's;

/// A competitor in one thread, with all buffers that it keeps from image to image.
pub(crate) trait Worker: Send {
    /// Works until the queue is empty.
    ///
    /// # Errors
    /// Why an image could not be decoded.
    fn work(&mut self, queue: &Queue<'_>, seen: &mut OnDone<'_>) -> Result<(), String>;
}

/// A competitor that takes one image at a time.
pub(crate) struct Single<F>(pub(crate) F);

impl<F> Worker for Single<F>
where
    F: FnMut(&Data, usize, &mut OnDone<'_>) -> Result<(), String> + Send,
{
    fn work(&mut self, queue: &Queue<'_>, seen: &mut OnDone<'_>) -> Result<(), String> {
        loop {
            let taken = queue.take(1);
            if taken.is_empty() {
                return Ok(());
            }
            (self.0)(queue.data, taken.start, seen)
                .map_err(|why| format!("item {}: {why}", taken.start))?;
        }
    }
}

/// A competitor: its name in tables, and how to make it for a thread.
#[derive(Clone, Copy)]
pub(crate) struct Competitor {
    pub(crate) name: &'static str,
    pub(crate) make: for<'d> fn(&'d Data) -> Box<dyn Worker + 'd>,
}
