//! `HybridColumns`: the columns of a loader whose JPEGs host and device share.
//!
//! Chosen when the loader is built.

use std::sync::Arc;
use std::time::Duration;

use tarflume_device::Device;
use tarflume_device::driver::Driver;
use tarflume_device::jpeg_decoder::{Abilities, JpegDecoder};
use tarflume_device::memory::decode_buffers::{DecodeBuffers, HALVES};
use tarflume_device::memory::jpeg_kernels::JpegKernels;
use tarflume_device::memory::row_store::RowStore;
use tarflume_device::upload::post_copy::ColumnWork;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_image::convert::Finish;
use tarflume_types::Result;

use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::request::DecodedBy;
use crate::decode::hybrid::row::{HybridRows, RowDecoder};
use crate::decode::{Decode, SharedJpegs};
use crate::loader::gpu::division::{BatchRules, DividedColumn, NamedColumn};

/// Our kernels, in one line.
const KERNELS: &str = "kernels of tarflume, from entry points";

/// A column whose JPEGs host and device share.
pub(crate) struct HybridColumn {
    /// Its number in the slab.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) decode: Arc<HybridRows>,
    /// Where the device decodes to: a half for each of two batches.
    pub(crate) store: Arc<RowStore>,
    /// Our kernels, if they decode it, and not NVIDIA's library.
    pub(crate) kernels: Option<JpegKernels>,
}

/// The columns of a loader whose JPEGs host and device share.
#[derive(Default)]
pub(crate) struct HybridColumns {
    pub(crate) columns: Vec<HybridColumn>,
    pub(crate) device: Option<(Arc<dyn Driver>, Arc<DecodeBuffers>)>,
    /// The device's decoders, in one line.
    pub(crate) about: Message,
}

impl HybridColumns {
    /// Shares a column's JPEGs with the device, which applies `finish` to its pictures. `host` decodes the others.
    ///
    /// # Errors
    /// The device has no decoder or no kernels, or no memory for the pictures.
    pub(crate) fn share(
        &mut self,
        device: &Device,
        column: NamedColumn<'_>,
        host: Arc<dyn Decode>,
        shared: SharedJpegs,
        finish: Finish,
        rules: BatchRules,
    ) -> Result<DividedColumn> {
        let driver = device.driver();
        let (by, about) = match shared.decoder {
            DecodedBy::Library => {
                let Abilities { least, about } = driver.prepare_decoder(false)?;
                let decoder: Arc<dyn JpegDecoder> = driver.clone();
                (RowDecoder::Library { decoder, least, verifies: rules.verifies }, about)
            }
            DecodedBy::Kernels => (RowDecoder::Kernels, KERNELS.into()),
        };
        let is_ours = matches!(by, RowDecoder::Kernels);
        let decode = Arc::new(HybridRows::new(host, shared, by)?);
        let kernels = is_ours.then(|| JpegKernels::new(driver, rules.rows, decode.kernel_room()));
        let kernels = kernels.transpose()?;
        let rows = HALVES.saturating_mul(rules.rows as u64);
        let store = Arc::new(RowStore::new(decode.picture_stride() as u64, rows, 0));
        store.allocate(driver)?;
        if self.device.is_none() {
            let buffers = Arc::new(DecodeBuffers::new(driver.clone())?);
            self.device = Some((driver.clone(), buffers));
        }
        let (size, channels) = decode.output();
        let make = ColumnWork::Drawn { finish, size, channels, store: Some(store.clone()) };
        self.add_decoder(about);
        self.columns.push(HybridColumn {
            number: column.number + 1,
            name: column.name.to_string(),
            decode: decode.clone(),
            store,
            kernels,
        });
        Ok(DividedColumn { host: decode, device: make })
    }

    /// Adds a decoder to the line about them, once.
    fn add_decoder(&mut self, about: Message) {
        let before = std::mem::take(&mut self.about);
        self.about = if before.is_empty() || before == about {
            about
        } else {
            message!("{before}; {about}"; before = before, about = about)
        };
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
