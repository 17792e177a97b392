//! `HybridColumns`: the columns of a loader whose JPEGs host and device share.
//!
//! Chosen when the loader is built.

use std::sync::Arc;
use std::time::Duration;

use tarflume_device::Device;
use tarflume_device::driver::Driver;
use tarflume_device::jpeg_decoder::JpegDecoder;
use tarflume_device::memory::decode_buffers::{DecodeBuffers, HALVES};
use tarflume_device::memory::row_store::RowStore;
use tarflume_device::upload::post_copy::ColumnWork;
use tarflume_formats::message::Message;
use tarflume_image::convert::Finish;
use tarflume_types::Result;

use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::row::HybridRows;
use crate::decode::{Decode, SharedJpegs};
use crate::loader::gpu::division::{BatchRules, DividedColumn, NamedColumn};

/// A column whose JPEGs host and device share.
pub(crate) struct HybridColumn {
    /// Its number in the slab.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) decode: Arc<HybridRows>,
    /// Where the device decodes to: a half for each of two batches.
    pub(crate) store: Arc<RowStore>,
}

/// The columns of a loader whose JPEGs host and device share.
#[derive(Default)]
pub(crate) struct HybridColumns {
    pub(crate) columns: Vec<HybridColumn>,
    pub(crate) device: Option<(Arc<dyn Driver>, Arc<DecodeBuffers>)>,
    /// The device's decoder, in one line.
    pub(crate) about: Message,
}

impl HybridColumns {
    /// Shares a column's JPEGs with the device, which applies `finish` to its pictures. `host` decodes the others.
    ///
    /// # Errors
    /// The device has no decoder, or no memory for the pictures.
    pub(crate) fn share(
        &mut self,
        device: &Device,
        column: NamedColumn<'_>,
        host: Arc<dyn Decode>,
        shared: SharedJpegs,
        finish: Finish,
        rules: BatchRules,
    ) -> Result<DividedColumn> {
        let abilities = device.driver().prepare_decoder(false)?;
        let decoder: Arc<dyn JpegDecoder> = device.driver().clone();
        let decode = HybridRows::new(host, shared, decoder, abilities.least, rules.verifies)?;
        let decode = Arc::new(decode);
        let rows = HALVES.saturating_mul(rules.rows as u64);
        let store = Arc::new(RowStore::new(decode.picture_stride() as u64, rows, 0));
        store.allocate(device.driver())?;
        if self.device.is_none() {
            let buffers = Arc::new(DecodeBuffers::new(device.driver().clone())?);
            self.device = Some((device.driver().clone(), buffers));
        }
        let (size, channels) = decode.output();
        let make = ColumnWork::Drawn { finish, size, channels, store: Some(store.clone()) };
        self.about = abilities.about;
        self.columns.push(HybridColumn {
            number: column.number + 1,
            name: column.name.to_string(),
            decode: decode.clone(),
            store,
        });
        Ok(DividedColumn { host: decode, device: make })
    }

    /// The device's share of the pictures, of a thousand.
    pub(crate) fn per_mille(&self) -> u16 {
        self.columns.first().map_or(1000, |column| column.decode.sharing.per_mille())
    }

    /// Slabs that are kept because the device may read JPEGs out of them.
    pub(crate) fn slabs(&self) -> u64 {
        if self.columns.is_empty() { 0 } else { HALVES }
    }

    /// Adjusts the shares of CPU and device after a batch. `waited` is how long the upload waited for each of them, `idle`
    /// how long it waited for the consumer.
    pub(crate) fn balance(&self, waited: WaitTimes, idle: Duration) {
        // If the consumer is the bottleneck, the waits do not depend on the decoders.
        if idle <= waited.cpu + waited.device {
            self.columns.iter().for_each(|column| column.decode.sharing.observe(waited));
        }
    }
}
