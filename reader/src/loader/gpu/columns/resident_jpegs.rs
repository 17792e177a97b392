//! `ResidentJpegs`: the columns of a resident data set that are resident as JPEGs, and where the device decodes them to.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tarflume_device::driver::Driver;
use tarflume_device::memory::decode_buffers::{DecodeBuffers, HALVES};
use tarflume_device::memory::row_store::RowStore;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_jpeg::Scale;
use tarflume_types::{Error, Result};

use crate::decode::resident::jpeg::Entries;
use crate::loader::gpu::division::NamedColumn;

/// One of these columns.
pub(crate) struct ResidentJpegColumn {
    /// Its number in the slab.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) entries: Entries,
    pub(crate) channels: usize,
    /// A half for each of two batches.
    pub(crate) store: Arc<RowStore>,
}

/// The JPEGs that a device decodes from its own memory for each batch.
pub(crate) struct ResidentJpegs {
    pub(crate) columns: Vec<ResidentJpegColumn>,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) buffers: Arc<DecodeBuffers>,
    /// The smallest scale at which it decodes.
    pub(crate) least: Scale,
    /// Bytes that pictures may take which are resident as pixels.
    pub(crate) spare: Arc<AtomicU64>,
    /// The device's decoder, in one line.
    pub(crate) about: Message,
}

impl ResidentJpegs {
    /// No columns yet.
    ///
    /// # Errors
    /// The device can't decode JPEGs that are in its memory.
    pub(crate) fn begin(driver: &Arc<dyn Driver>) -> Result<ResidentJpegs> {
        let abilities = driver.prepare_decoder(true).map_err(|error| {
            let text = message!(
                "JPEGs can't stay on {} as they are: {why}; keep pictures as RGB, or as planes (yuv420)",
                driver.name();
                why = error.message()
            );
            Error::new(error.kind(), text)
        })?;
        Ok(ResidentJpegs {
            columns: Vec::new(),
            driver: driver.clone(),
            buffers: Arc::new(DecodeBuffers::new(driver.clone())?),
            least: abilities.least,
            spare: Arc::default(),
            about: abilities.about,
        })
    }

    /// Adds a column, with `room` bytes for each picture of batches of `rows` rows. Returns where they are decoded to.
    ///
    /// # Errors
    /// There is no memory for its pictures.
    pub(crate) fn column(
        &mut self,
        column: NamedColumn<'_>,
        entries: Entries,
        channels: usize,
        room: usize,
        rows: usize,
    ) -> Result<Arc<RowStore>> {
        let store = Arc::new(RowStore::new(room as u64, HALVES.saturating_mul(rows as u64), 0));
        store.allocate(&self.driver)?;
        self.columns.push(ResidentJpegColumn {
            number: column.number + 1,
            name: column.name.to_string(),
            entries,
            channels,
            store: store.clone(),
        });
        Ok(store)
    }
}
