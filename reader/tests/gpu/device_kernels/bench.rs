//! Shards of JPEGs of every kind, with their entry points and the checksums of their strips, or with forged ones; and the
//! comparison of a device's batches with the host's, to the byte.

use std::ops::Range;

use tarflume::{
    Channels, Device, DeviceBatch, DeviceLoader, DeviceShare, Image, Json, Layout, Loader,
    LoaderBuilder, Normalize, RandomResizedCrop, Remainder, Resize, Shuffle,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, ShardWriter};
use tarflume_jpeg::{Header, Job, Offload, Scanner, strips};

use crate::gpu::simulated::Consumer;

pub(crate) const SAMPLES: u32 = 30;

pub(crate) fn photo(kind: PhotoKind, width: u16, height: u16, seed: u64) -> Vec<u8> {
    Photo::new(width, height, kind).encode(seed).unwrap()
}

/// A JPEG whose header and markers are right, and whose codes stop too early.
pub(crate) fn damaged() -> Vec<u8> {
    let mut jpeg = photo(PhotoKind::Yuv420, 90, 80, 1);
    let start = jpeg.len() / 2;
    let end = jpeg.len() - 2;
    jpeg[start..end].fill(0);
    jpeg.splice(start..start + 2, [0xff, 0xd9]);
    jpeg
}

/// A picture of a sample, and what its sidecar says about it.
pub(crate) struct Given {
    pub(crate) jpeg: Vec<u8>,
    points: Vec<u8>,
}

impl Given {
    /// With its entry points, if it has any.
    pub(crate) fn of(jpeg: Vec<u8>) -> Given {
        let points = points_of(&jpeg);
        Given { jpeg, points }
    }

    pub(crate) fn with(jpeg: Vec<u8>, points: Vec<u8>) -> Given {
        Given { jpeg, points }
    }

    fn is_for_kernels(&self) -> bool {
        let header = Header::parse(&self.jpeg).unwrap();
        let job = Job::new(&self.jpeg, &header, &mut []);
        let job = Job { entry_points: Some(&self.points), ..job };
        Offload::of_job(&job).unwrap().is_some()
    }
}

fn points_of(jpeg: &[u8]) -> Vec<u8> {
    let mut points = Vec::new();
    let whole = Header::parse(jpeg).map(|header| Scanner::new().scan(jpeg, &header, &mut points));
    if !matches!(whole, Ok(Ok(_))) {
        points.clear();
    }
    points
}

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> [u8; 4] {
    let sum = bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 }
        })
    });
    (!sum).to_le_bytes()
}

/// The entry points of another JPEG, changed so that they claim to be of this one (FORMAT.md).
pub(crate) fn forged(other: &[u8], jpeg: &[u8]) -> Vec<u8> {
    let mut points = points_of(other);
    points[8..12].copy_from_slice(&(jpeg.len() as u32).to_le_bytes());
    points[12..16].copy_from_slice(&crc32c(jpeg));
    points[16..20].fill(0);
    let sum = crc32c(&points);
    points[16..20].copy_from_slice(&sum);
    points
}

/// A JPEG whose rows of blocks in the middle end too early, with entry points as if they did not. None of these is inside
/// a marker, which the host would see.
pub(crate) fn broken(jpeg: &[u8]) -> Given {
    let middle = jpeg.len() / 4..jpeg.len() * 3 / 4;
    let mut all = (0..200).map(|shift| {
        let mut broken = jpeg.to_vec();
        for part in broken[middle.clone()].chunks_exact_mut(256) {
            part[shift..shift + 2].copy_from_slice(&[0xff, 0xd9]);
        }
        Given::with(broken.clone(), forged(jpeg, &broken))
    });
    all.find(Given::is_for_kernels).unwrap()
}

/// Of many sizes, and of every kind that goes to the CPU: those of each tenth sample but the first. One of 10 is a PNG.
pub(crate) fn given(n: u32) -> Given {
    let width = 60 + 9 * n as u16;
    let height = 50 + 7 * n as u16;
    let seed = n.into();
    Given::of(match n % 10 {
        1 => photo(PhotoKind::Yuv444, width, height, seed),
        2 => photo(PhotoKind::Yuv422, width, height, seed),
        3 => photo(PhotoKind::Gray, width, height, seed),
        4 => photo(PhotoKind::Progressive, width, height, seed),
        5 => photo(PhotoKind::Cmyk, width, height, seed),
        6 => photo(PhotoKind::Exif(6), width, height, seed),
        7 => photo(PhotoKind::Exif(2), width, height, seed),
        8 => include_bytes!("../../golden/rgb.png").to_vec(),
        // More than a row has room for.
        9 => photo(PhotoKind::Yuv444, 1200, 900, seed),
        _ => photo(PhotoKind::Yuv420, width, height, seed),
    })
}

/// One shard of them, each with a class; of some samples others.
pub(crate) fn shards(other: &[(u32, Given)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    for n in 0..SAMPLES {
        shard.begin(format!("{n:04}").as_bytes());
        let usual = given(n);
        let given = other.iter().find(|(at, _)| *at == n).map_or(&usual, |(_, given)| given);
        let Given { jpeg, points } = given;
        shard.part(b"jpg", jpeg.len() as u64).unwrap().copy_from_slice(jpeg);
        if !points.is_empty() {
            let mut sums = Vec::new();
            shard.entry_points(points);
            if strips(jpeg, points, &mut sums).is_ok() {
                shard.strips(&sums);
            }
        }
        let json = format!("{{\"class\": {n}}}");
        shard.part(b"json", json.len() as u64).unwrap().copy_from_slice(json.as_bytes());
        let size = Header::parse(jpeg).ok().map(|header| (header.width(), header.height()));
        shard.commit(size).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

/// A column whose JPEGs kernels decode, if a share is given.
pub(crate) fn kernels(image: Image, share: Option<&DeviceShare>) -> Image {
    match share {
        Some(share) => image.device_kernels(share.clone()),
        None => image,
    }
}

/// Columns that kernels may decode, by all ways in which they are finished, and others that no JPEG is decoded for.
pub(crate) fn builder(dir: &tempfile::TempDir, share: Option<&DeviceShare>) -> LoaderBuilder {
    fn crop(stream: u64) -> Image {
        Image::new("jpg", RandomResizedCrop::new(24).flip(0.5)).stream(stream)
    }

    let floats = crop(1).to_f32(Normalize::unit()).layout(Layout::Chw);
    let gray = Image::new("jpg", Resize::exact((9, 14))).channels(Channels::Gray);
    Loader::builder(dir.path())
        .column("image", kernels(crop(0), share))
        .column("label", Json::new("json", "/class"))
        .text("json")
        .column("f32", kernels(floats, share))
        .column("gray", kernels(gray, share))
        .shuffle(Shuffle::Full { seed: 4 })
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

pub(crate) fn on(builder: LoaderBuilder) -> DeviceLoader {
    builder.device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap()
}

/// Compares all columns of a batch with the host's.
pub(crate) fn compare(consumer: &Consumer, right: &tarflume::Batch, batch: &DeviceBatch) {
    let step = right.step();
    assert!(right.ordinals().eq(batch.host().ordinals()), "step {step}");
    batch.ready_on(consumer.stream()).unwrap();
    for column in right.columns() {
        let name = column.name();
        let Ok(there) = batch.column(name) else {
            assert_eq!(batch.host().column(name).unwrap().bytes(), column.bytes(), "{name}");
            continue;
        };
        assert_eq!((there.dtype, &there.shape), (column.dtype(), &column.shape()), "{name}");
        let found = consumer.read(there.pointer, column.bytes().len());
        assert!(found == column.bytes(), "{name} differs in step {step}");
    }
}

/// Compares whole epochs.
pub(crate) fn compare_epochs(
    consumer: &Consumer,
    host: &Loader,
    ours: &DeviceLoader,
    epochs: Range<u64>,
) {
    for epoch in epochs {
        let mut batches = ours.epoch(epoch);
        for right in host.epoch(epoch) {
            compare(consumer, &right.unwrap(), &batches.next().unwrap().unwrap());
        }
        assert!(batches.next().is_none());
    }
}
