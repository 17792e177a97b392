//! Downloads of whole objects into files, in ranges.

use std::fs::File;
use std::os::unix::fs::FileExt;

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::errors::error::{Error, ErrorKind, Result};
use crate::transfer::object::Object;

/// Bytes of a range.
const RANGE: u64 = 8 << 20;
/// Ranges of an object that are asked for at the same time. Their bytes are in memory.
const AT_ONCE: usize = 8;

impl Object {
    /// Copies the object into `file`, from its first byte. Returns false if `stopped` returned true between
    /// two ranges; the file is incomplete then.
    ///
    /// # Errors
    /// The errors of [`Object::read`], and [`ErrorKind::Machine`] if the file cannot be written.
    pub fn download(&self, file: &File, stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        self.home().wait(self.url(), self.copy(file, stopped))
    }

    async fn copy(&self, file: &File, stopped: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let mut next = 0;
        let mut reading = FuturesUnordered::new();
        loop {
            if stopped() {
                return Ok(false);
            }
            while reading.len() < AT_ONCE && next < self.length() {
                let at = next;
                let length = RANGE.min(self.length() - next);
                next += length;
                reading.push(async move { (at, self.read_later(at, length).await) });
            }
            let Some((at, bytes)) = reading.next().await else { return Ok(true) };
            file.write_all_at(&bytes?, at).map_err(|e| {
                Error::new(ErrorKind::Machine, self.url(), format!("cannot keep a copy: {e}"))
            })?;
        }
    }
}
