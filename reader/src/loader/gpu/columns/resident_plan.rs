//! `ResidentPlan`: which columns of a resident data set are kept on the device, what fills their stores, and what an epoch
//! writes instead of pictures and values.
//!
//! Order, queue and upload are those of any loader. The slab holds headers and row numbers instead of pixels and values,
//! and the device draws and gathers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use tarflume_device::driver::Driver;
use tarflume_device::jpeg_decoder::WantedJpeg;
use tarflume_device::memory::jpeg_store::JpegStore;
use tarflume_device::memory::row_store::RowStore;
use tarflume_device::room::DeviceRoom;
use tarflume_device::upload::post_copy::ColumnWork;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Phrase};
use tarflume_image::ImageSize;
use tarflume_image::convert::Finish;
use tarflume_image::row_header::{Format, RowHeader};
use tarflume_jpeg::Scale;
use tarflume_transforms::device_list::LIST_BYTES;
use tarflume_types::{DType, Error, ErrorKind, Result, RowShape};

use crate::decode::hybrid::row::PICTURE_ROOM;
use crate::decode::resident::jpeg::{Admits, Entries, PreloadJpeg, StoredJpeg};
use crate::decode::resident::row::{RowNumber, StoreCrops, StoreRows, StoredPicture};
use crate::decode::{AsJpeg, Decode, ForResident};
use crate::loader::gpu::columns::resident_config::{Residency, ResidentSize};
use crate::loader::gpu::columns::resident_jpegs::ResidentJpegs;
use crate::loader::gpu::division::NamedColumn;
use crate::loader::pipeline::columns::Columns;

/// A resident column: what fills it, and what an epoch makes of it.
pub(crate) struct ResidentColumn {
    pub(crate) name: String,
    /// Bytes of a row.
    pub(crate) stride: usize,
    pub(crate) store: Arc<RowStore>,
    /// Sizes of pictures by row, if it holds any.
    pub(crate) sizes: Option<Arc<OnceLock<Vec<[u32; 2]>>>>,
    /// Where its rows are instead of in the store, if their lengths differ.
    pub(crate) jpegs: Option<(Arc<JpegStore>, Entries)>,
    /// Of its pictures, if their lengths differ.
    pub(crate) channels: usize,
}

/// What the device makes of stored pictures.
struct DrawnPictures {
    finish: Finish,
    size: ImageSize,
    channels: usize,
    store: Arc<RowStore>,
    /// Whether it changes their pixels behind the crop.
    changed: bool,
}

impl DrawnPictures {
    fn work(self) -> ColumnWork {
        let DrawnPictures { finish, size, channels, store, changed } = self;
        if changed {
            let list = LIST_BYTES;
            return ColumnWork::Changed { finish, size, channels, list, drawn: Some(store) };
        }
        ColumnWork::Drawn { finish, size, channels, store: Some(store) }
    }
}

/// The size of a data set and of its batches.
pub(crate) struct ResidentExtent<'a> {
    pub(crate) samples: u64,
    /// Rows of a batch.
    pub(crate) rows: usize,
    /// Bytes of the parts with one of these extensions, of all resident samples.
    pub(crate) lengths: &'a dyn Fn(&[String]) -> Result<u64>,
}

/// The columns of a resident data set.
pub(crate) struct ResidentPlan {
    pub(crate) columns: Vec<ResidentColumn>,
    pub(crate) rows: Arc<StoreRows>,
    /// The columns of the loader that fills the stores.
    pub(crate) keep: Columns,
    /// What the device makes of every batch, by the numbers of the columns.
    pub(crate) makes: Vec<(usize, ColumnWork)>,
    pub(crate) size: ResidentSize,
    /// Columns whose JPEGs the device decodes for each batch.
    pub(crate) jpegs: Option<ResidentJpegs>,
}

impl ResidentPlan {
    /// Takes over the columns whose rows have one length: `columns` then write headers and row numbers that refer to the
    /// stores.
    ///
    /// # Errors
    /// The data set does not fit, or the device can't make a column.
    pub(crate) fn new(
        residency: &Residency,
        columns: &mut Columns,
        extent: &ResidentExtent<'_>,
        driver: &Arc<dyn Driver>,
    ) -> Result<ResidentPlan> {
        let samples = extent.samples;
        let DeviceRoom { free, total } = driver.room()?;
        let rows = Arc::new(StoreRows::default());
        let size = ResidentSize {
            samples,
            sample_bytes: 0,
            jpeg_bytes: 0,
            budget: residency.budget.bytes(),
            free,
            total,
        };
        let mut plan = ResidentPlan {
            columns: Vec::new(),
            rows,
            keep: Vec::new(),
            makes: Vec::new(),
            size,
            jpegs: None,
        };
        if residency.storage.side < 8 || samples >= u64::from(u32::MAX) {
            let text = format!(
                "{samples} samples with pictures of a side of {} pixels can't stay on a device",
                residency.storage.side
            );
            return Err(Error::usage(text));
        }
        if residency.compressed {
            plan.jpegs = Some(ResidentJpegs::begin(driver)?);
        }
        for (number, (name, decode)) in columns.iter_mut().enumerate() {
            let column = NamedColumn { number, name };
            let pictures = decode.for_resident(residency.storage).map_err(|e| e.of_column(name))?;
            match (pictures, decode.shape()) {
                (Some(mut pictures), _) => match (&plan.jpegs, pictures.jpeg.take()) {
                    (Some(_), Some(jpeg)) => {
                        let made = plan.add_jpegs(column, pictures, jpeg, extent);
                        *decode = made.map_err(|e| e.of_column(name))?;
                    }
                    _ => *decode = plan.add_pictures(column, pictures),
                },
                (None, RowShape::Fixed(dtype, shape)) => {
                    *decode = plan.add_values(column, decode.clone(), dtype, shape);
                }
                (None, RowShape::Variable(_) | RowShape::Padded(_)) => {}
                (None, RowShape::Packed(_)) => {
                    let text = "packs differ between epochs, and a resident data set has rows that stay: use a loader \
                                without Resident (`Residency`)";
                    return Err(Error::usage(text).of_column(name));
                }
            }
        }
        plan.check(residency)?;
        Ok(plan)
    }

    fn add_store(&mut self, name: &str, stride: usize, head: usize) -> Arc<RowStore> {
        let store = Arc::new(RowStore::new(stride as u64, self.size.samples, head as u64));
        self.size.sample_bytes = self.size.sample_bytes.saturating_add(stride as u64);
        let sizes = (head > 0).then(Arc::default);
        let name = name.to_string();
        let kept = store.clone();
        self.columns.push(ResidentColumn {
            name,
            stride,
            store: kept,
            sizes,
            jpegs: None,
            channels: 0,
        });
        store
    }

    fn add_pictures(&mut self, column: NamedColumn<'_>, pictures: ForResident) -> Arc<dyn Decode> {
        let stride = pictures.keep.shape().bytes().unwrap_or(0);
        let store = self.add_store(column.name, stride, RowHeader::BYTES);
        let ForResident {
            keep, format, transform, stream, size, channels, finish, changes, ..
        } = pictures;
        self.keep.push((column.name.to_string(), keep));
        let draw = DrawnPictures { finish, size, channels, store, changed: changes.is_some() };
        self.makes.push((column.number, draw.work()));
        let sizes = self.columns.last().and_then(|column| column.sizes.clone()).unwrap_or_default();
        let room = stride - RowHeader::BYTES;
        let rows = self.rows.clone();
        let crops = StoreCrops { rows, transform, stream, channels, room, changes };
        Arc::new(StoredPicture { crops, sizes, format })
    }

    /// Adds a column of pictures that are resident as JPEGs.
    fn add_jpegs(
        &mut self,
        column: NamedColumn<'_>,
        pictures: ForResident,
        jpeg: AsJpeg,
        extent: &ResidentExtent<'_>,
    ) -> Result<Arc<dyn Decode>> {
        let resident = self.jpegs.as_mut().ok_or_else(no_decoder)?;
        let ForResident {
            keep: pixels, transform, stream, size, channels, finish, changes, ..
        } = pictures;
        let lengths = (extent.lengths)(&pixels.parts())?;
        self.size.jpeg_bytes = self.size.jpeg_bytes.saturating_add(lengths);
        let stride = pixels.shape().bytes().unwrap_or(0);
        let room = stride.saturating_sub(RowHeader::BYTES).max(PICTURE_ROOM).next_multiple_of(256);
        let driver = resident.driver.clone();
        let jpegs = Arc::new(JpegStore::new(driver.clone(), lengths, resident.spare.clone()));
        let entries = Entries::default();
        let store = resident.column(column, entries.clone(), channels, room, extent.rows)?;
        self.size.free = self.size.free.saturating_sub(store.bytes());
        let wanted = WantedJpeg { scale: Scale::Full, channels: channels as u8, stored: true };
        let admits: Admits = Arc::new(move |jpeg, header| {
            driver.admit(jpeg, header, wanted).is_ok_and(|verdict| verdict.is_ok())
        });
        let keep = PreloadJpeg { pixels, requests: jpeg.requests, admits, channels, room };
        let stride = keep.shape().bytes().unwrap_or(0);
        let gap = jpeg.gap;
        let least = resident.least;
        self.keep.push((column.name.to_string(), Arc::new(keep)));
        self.columns.push(ResidentColumn {
            name: column.name.to_string(),
            stride,
            store: store.clone(),
            sizes: None,
            jpegs: Some((jpegs, entries.clone())),
            channels,
        });
        let draw = DrawnPictures { finish, size, channels, store, changed: changes.is_some() };
        self.makes.push((column.number, draw.work()));
        let rows = self.rows.clone();
        let crops = StoreCrops { rows, transform, stream, channels, room, changes };
        Ok(Arc::new(StoredJpeg { crops, entries, gap, least }))
    }

    fn add_values(
        &mut self,
        column: NamedColumn<'_>,
        decode: Arc<dyn Decode>,
        dtype: DType,
        shape: Vec<usize>,
    ) -> Arc<dyn Decode> {
        let stride = RowShape::Fixed(dtype, shape.clone()).bytes().unwrap_or(0);
        let store = self.add_store(column.name, stride, 0);
        self.keep.push((column.name.to_string(), decode));
        self.makes.push((column.number, ColumnWork::Gathered { store, dtype, shape }));
        Arc::new(RowNumber(self.rows.clone()))
    }

    fn check(&self, residency: &Residency) -> Result<()> {
        let storage = residency.storage;
        let size = &self.size;
        if self.columns.is_empty() {
            let text =
                "no column's rows have one length: there is nothing that could stay on a device";
            return Err(Error::usage(text));
        }
        let most = size.budget.min(size.free);
        if let Some(spare) = most.checked_sub(size.bytes()) {
            if let Some(resident) = &self.jpegs {
                resident.spare.store(spare, Ordering::Relaxed);
            }
            return Ok(());
        }
        let more = if size.bytes() <= size.budget {
            Phrase::FreeDeviceMemory.into() // the device lacks room, not the budget
        } else {
            Message::words("allow more")
        };
        if residency.compressed {
            let text = message!(
                "the data set does not fit the device: {size}; pack smaller pictures, keep them decoded and small \
                 (RGB, or yuv420, of a side of {}), deal shards to more ranks (split by shard), or {more}",
                storage.side; more = more
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let planes = match storage.format {
            Format::Pixels => "keep them as planes (yuv420), ",
            Format::Yuv420 => "",
        };
        let side = (f64::from(storage.side)
            * (size.budget.min(size.free) as f64 / size.bytes() as f64).sqrt())
            as u32;
        let text = message!(
            "the data set does not fit the device: {size}; {planes}make pictures smaller (a side of {side} instead of {}), \
             deal shards to more ranks (split by shard), or {more}",
            storage.side; more = more
        );
        Err(Error::new(ErrorKind::Limit, text))
    }
}

fn no_decoder() -> Error {
    Error::usage("no decoder")
}
