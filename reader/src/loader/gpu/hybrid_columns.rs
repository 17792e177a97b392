//! `HybridColumns`: the columns of a loader some of whose JPEGs its device decodes, and what was counted of them.
//!
//! Decided when the loader is built. Where a device can't, the host does all, and statistics say why.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::decode::hybrid::balance::Waited;
use crate::decode::hybrid::row::HybridRows;
use crate::decode::{Decode, Shared};
use crate::device::Device;
use crate::device::driver::Driver;
use crate::device::memory::decode_buffers::{DecodeBuffers, HALVES};
use crate::device::memory::row_store::RowStore;
use crate::device::upload::post_copy::Make;
use crate::error::{Error, Result};
use crate::loader::metrics::stats::DecoderStats;
use crate::picture::convert::Finish;

/// One of these columns.
pub(crate) struct HybridColumn {
    /// Its number in the slab.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) staged: Arc<HybridRows>,
    /// Where the device decodes to: a half for each of two batches.
    pub(crate) store: Arc<RowStore>,
}

/// What a loader's device decodes.
#[derive(Default)]
pub(crate) struct HybridColumns {
    pub(crate) columns: Vec<HybridColumn>,
    pub(crate) device: Option<(Arc<dyn Driver>, Arc<DecodeBuffers>)>,
    /// Why the host does it all.
    warning: Option<String>,
    counted: Mutex<DecoderStats>,
}

impl HybridColumns {
    /// The host decodes JPEGs that the device might, and this is why.
    pub(crate) fn refused(&mut self, why: &str) {
        let text = || format!("JPEGs are decoded by the CPU: {why}");
        self.warning.get_or_insert_with(text);
    }

    /// Has a column's JPEGs shared with the device, in batches of `rows` rows; the device makes `finish` of
    /// its pictures. None if it can't be.
    pub(crate) fn share(
        &mut self,
        device: &Device,
        (number, name): (usize, &str),
        (host, shared, finish): (Arc<dyn Decode>, Shared, Finish),
        (rows, verifies): (usize, bool),
    ) -> Option<(Arc<dyn Decode>, Make)> {
        let begin = || -> Result<(Arc<dyn Decode>, Make)> {
            let abilities = device.0.prepare_decoder(false)?;
            let staged = Arc::new(HybridRows::new(
                host,
                shared,
                (device.0.clone(), abilities.least),
                verifies,
            )?);
            let store = RowStore::new(
                staged.picture_stride() as u64,
                HALVES.saturating_mul(rows as u64),
                0,
            );
            store.allocate(&device.0)?;
            if self.device.is_none() {
                self.device =
                    Some((device.0.clone(), Arc::new(DecodeBuffers::new(device.0.clone())?)));
            }
            let (store, (size, channels)) = (Arc::new(store), staged.output());
            let make = Make::Drawn { finish, size, channels, store: Some(store.clone()) };
            self.counted().about = abilities.about;
            self.columns.push(HybridColumn {
                number: number + 1, // in the slab the keys come first
                name: name.to_string(),
                staged: staged.clone(),
                store,
            });
            Ok((staged, make))
        };
        match begin() {
            Ok(made) => Some(made),
            Err(error) => {
                self.refused(&error.of_column(name).to_string());
                None
            }
        }
    }

    pub(crate) fn counted(&self) -> MutexGuard<'_, DecoderStats> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted, if a device decodes anything.
    pub(crate) fn stats(&self) -> Option<DecoderStats> {
        let counted = self.counted().clone();
        let per_mille = |column: &HybridColumn| column.staged.sharing.per_mille();
        let share = self.columns.first().map_or(1000, per_mille);
        (!counted.about.is_empty()).then_some(DecoderStats { share, ..counted })
    }

    /// # Errors
    /// Rows are not as anybody but the device can use them.
    pub(crate) fn expect_host_rows(&self) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        Err(Error::usage(
            "this loader's device decodes some of its JPEGs: take device_epoch, or build one without \
             device_decoder for batches on the host",
        ))
    }

    pub(crate) fn warning(&self) -> Option<String> {
        self.warning.clone()
    }

    /// Slabs that are kept because the device may read JPEGs out of them.
    pub(crate) fn slabs(&self) -> u64 {
        if self.columns.is_empty() { 0 } else { HALVES }
    }

    /// Tells of a batch: how long it was waited for the CPU's pictures and the device's.
    pub(crate) fn told(&self, waited: Waited, idle: Duration) {
        // Where the consumer is what everything waits for, waits say nothing of decoders.
        if idle <= waited.cpu + waited.device {
            self.columns.iter().for_each(|column| column.staged.sharing.told(waited));
        }
    }
}
