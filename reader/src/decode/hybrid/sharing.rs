//! `Sharing`: a share of pictures that threads read and that is adapted after each batch.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};

use tarflume_formats::IgnorePoison;

use crate::decode::hybrid::balance::{DeviceShare, WaitTimes};

/// The current share: read by decoding threads, adapted after each batch.
#[derive(Debug)]
pub(crate) struct Sharing {
    per_mille: AtomicU16,
    /// The authoritative value. `per_mille` is a copy that threads read without the lock.
    share: Mutex<DeviceShare>,
}

impl Sharing {
    pub(crate) fn new(share: DeviceShare) -> Sharing {
        Sharing { per_mille: AtomicU16::new(share.per_mille()), share: Mutex::new(share) }
    }

    /// Pictures in a thousand that are the device's.
    pub(crate) fn per_mille(&self) -> u16 {
        self.per_mille.load(Ordering::Relaxed)
    }

    /// Adapts the share to the waiting times of a completed batch.
    pub(crate) fn observe(&self, waited: WaitTimes) {
        let mut share = self.share.lock().ignore_poison();
        share.observe(waited);
        self.per_mille.store(share.per_mille(), Ordering::Relaxed);
    }
}
