//! Test fixtures: shards of JPEGs of every kind, the simulated libraries, and a consumer that compares the content
//! of the device with the host's result.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream, result};
use tarflume::{
    Channels, Device, DeviceBatch, DeviceLoader, DeviceShare, DeviceStream, Image, Json, Layout,
    Loader, LoaderBuilder, Normalize, RandomResizedCrop, Remainder, Resize, ResizeCenterCrop,
    Shuffle,
};
use tarflume_fixtures::{Photo, PhotoKind};

pub(crate) use crate::gpu::simulated::alone as child;
use crate::gpu::simulated::shards::of_jpegs;

pub(crate) const SAMPLES: u32 = 30;

/// Steps of 255 that pixels may differ by: 4 of the decoders, 1 of each rounding. Where the device does not
/// make pictures smaller while it decodes them, and the CPU does, some more.
fn most() -> f32 {
    let full = number("FAKENVJPEG_ENGINES") == Some(0) || number("FAKENVJPEG_TRIED") == Some(1);
    if full { 14.0 } else { 6.0 }
}

pub(crate) fn photo(kind: PhotoKind, width: u16, height: u16, seed: u64) -> Vec<u8> {
    Photo::new(width, height, kind).encode(seed).unwrap()
}

/// A JPEG whose header is right and whose markers are, and whose codes stop too early.
pub(crate) fn damaged() -> Vec<u8> {
    let mut jpeg = photo(PhotoKind::Yuv420, 80, 80, 1);
    let start = jpeg.len() / 2;
    let end = jpeg.len() - 2;
    jpeg[start..end].fill(0);
    jpeg.splice(start..start + 2, [0xff, 0xd9]);
    jpeg
}

/// One that is longer than a row has room for: segments that say nothing.
fn long(seed: u64) -> Vec<u8> {
    let mut jpeg = photo(PhotoKind::Yuv420, 70, 60, seed);
    let comment = [&[0xff, 0xfe, 0xff, 0xff][..], &vec![b' '; 0xffff - 2]].concat();
    jpeg.splice(2..2, comment.repeat(3));
    jpeg
}

/// Of many sizes, and of every kind that goes to the CPU: those of each tenth sample but the first.
pub(crate) fn jpeg(n: u32) -> Vec<u8> {
    let width = 60 + 9 * n as u16;
    let height = 50 + 7 * n as u16;
    match n % 10 {
        4 => photo(PhotoKind::Progressive, width, height, n.into()),
        5 => photo(PhotoKind::Cmyk, width, height, n.into()),
        6 => photo(PhotoKind::Exif(6), width, height, n.into()),
        7 => photo(PhotoKind::Gray, width, height, n.into()),
        8 => long(n.into()),
        9 => photo(PhotoKind::Yuv444, 1200, 900, n.into()),
        _ => photo(PhotoKind::Yuv420, width, height, n.into()),
    }
}

/// One shard of them, each with a class; of some samples other bytes.
pub(crate) fn shards(other: &[(u32, Vec<u8>)]) -> tempfile::TempDir {
    of_jpegs(SAMPLES, |n| {
        let other = other.iter().find(|(at, _)| *at == n);
        other.map_or_else(|| jpeg(n), |(_, bytes)| bytes.clone())
    })
}

/// Columns that may be shared, by all ways in which they are finished, and others.
pub(crate) fn builder(dir: &tempfile::TempDir, share: &DeviceShare) -> LoaderBuilder {
    fn crop(ext: &str) -> Image {
        Image::new(ext, RandomResizedCrop::new(24).flip(0.5))
    }

    Loader::builder(dir.path())
        .column("image", crop("jpg").device_decoder(share.clone()))
        .column("label", Json::new("json", "/class"))
        .text("json")
        .column(
            "f32",
            crop("jpg")
                .stream(1)
                .to_f32(Normalize::unit())
                .layout(Layout::Chw)
                .device_decoder(share.clone()),
        )
        .column(
            "gray",
            Image::new("jpg", Resize::exact((9, 14)))
                .channels(Channels::Gray)
                .device_decoder(share.clone()),
        )
        .column(
            "center",
            Image::new("jpg", ResizeCenterCrop::new(20, 16)).device_decoder(share.clone()),
        )
        .column("plain", crop("jpg").layout(Layout::Chw))
        .shuffle(Shuffle::Full { seed: 4 })
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

/// A number that the parent set; none if it did not.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// The consumer's stream.
pub(crate) struct Consumer {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// How far a batch is from what the host makes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Apart {
    /// Elements that are not the same.
    pub(crate) elements: u64,
    /// Steps of 255 by which they differ, together.
    pub(crate) sum: f32,
}

impl Consumer {
    pub(crate) fn new() -> Consumer {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        Consumer { context, stream }
    }

    pub(crate) fn device(&self) -> Device {
        Device::cuda(0).unwrap()
    }

    /// A stream of the consumer's beside that, which no batch is for. It is never destroyed.
    pub(crate) fn another_stream(&self) -> cudarc::driver::sys::CUstream {
        let stream = self.context.new_stream().unwrap();
        let raw = stream.cu_stream();
        std::mem::forget(stream);
        raw
    }

    /// The bytes of a column on the device, as this stream sees them.
    pub(crate) fn read(&self, batch: &DeviceBatch, name: &str) -> Vec<u8> {
        // SAFETY: a stream of this device, which lives longer than any batch.
        batch.ready_on(unsafe { DeviceStream::raw(self.stream.cu_stream() as u64) }).unwrap();
        let column = batch.column(name).unwrap();
        let bytes = column.shape.iter().product::<usize>() * column.dtype.size();
        self.context.bind_to_thread().unwrap();
        let mut copy = vec![0u8; bytes];
        // SAFETY: waited for below, before `copy` is looked at.
        unsafe { result::memcpy_dtoh_async(&mut copy, column.pointer, self.stream.cu_stream()) }
            .unwrap();
        self.stream.synchronize().unwrap();
        copy
    }

    /// Compares a batch with the host's, column by column: labels and what stays with the CPU to the bit,
    /// pictures within what two decoders differ by.
    pub(crate) fn compare(&self, right: &tarflume::Batch, batch: &DeviceBatch) -> Apart {
        fn float(four: &[u8]) -> f32 {
            f32::from_ne_bytes(four.try_into().unwrap())
        }

        let mut apart = Apart::default();
        assert!(right.ordinals().eq(batch.host().ordinals()), "step {}", right.step());
        assert_eq!(
            right.column("json").unwrap().bytes(),
            batch.host().column("json").unwrap().bytes()
        );
        for column in right.columns().filter(|column| column.name() != "json") {
            let name = column.name();
            let expected = column.bytes();
            let there = batch.column(name).unwrap();
            assert_eq!((there.dtype, &there.shape), (column.dtype(), &column.shape()), "{name}");
            let found = self.read(batch, name);
            if ["label", "plain", "center"].contains(&name) {
                assert!(found == expected, "{name} differs in step {}", right.step());
                continue;
            }
            let differences: Vec<f32> = if name == "f32" {
                let pairs = expected.chunks_exact(4).zip(found.chunks_exact(4));
                pairs.map(|(a, b)| (float(a) - float(b)).abs() * 255.0).collect()
            } else {
                expected.iter().zip(&found).map(|(a, b)| f32::from(a.abs_diff(*b))).collect()
            };
            let most = differences.iter().copied().fold(0.0, f32::max);
            let mean = differences.iter().sum::<f32>() / differences.len() as f32;
            let step = right.step();
            assert!(
                most <= self::most() && mean < 0.7,
                "{name} in step {step}: {most}, mean {mean}"
            );
            apart.elements += differences.iter().filter(|d| **d > 0.0).count() as u64;
            apart.sum += differences.iter().sum::<f32>();
        }
        apart
    }

    /// Compares whole epochs; sleeps for so long with each batch. How far they are apart.
    pub(crate) fn compare_epochs(
        &self,
        host: &Loader,
        ours: &DeviceLoader,
        epochs: std::ops::Range<u64>,
        sleep: Duration,
    ) -> Apart {
        let mut apart = Apart::default();
        for epoch in epochs {
            let mut batches = ours.epoch(epoch);
            let mut taken = 0;
            for right in host.epoch(epoch) {
                let right = right.unwrap();
                let batch = batches.next().unwrap().unwrap();
                let of_batch = self.compare(&right, &batch);
                apart.elements += of_batch.elements;
                apart.sum += of_batch.sum;
                taken += 1;
                std::thread::sleep(sleep);
            }
            assert!(batches.next().is_none());
            assert_eq!(taken, u64::from(SAMPLES.div_ceil(4)));
        }
        apart
    }
}
