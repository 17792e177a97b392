//! `PictureTotals`: what preparation did to the images of a run, and what it does to the speed of
//! decoding.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tarflume_jpeg::{Color, Decoder, Header, Job};

use super::decode::discard;
use super::preparer::Prepared;

/// Number of images that are decoded to measure the speed, and their bytes.
const IMAGES: usize = 500;
const BYTES: usize = 64 << 20;
/// The part of these that one shard gives.
const IMAGES_OF_SHARD: usize = 32;
const BYTES_OF_SHARD: usize = 8 << 20;
/// Time after which no more images are decoded.
const ENOUGH: Duration = Duration::from_secs(4);

/// The bytes of an image before and after preparation.
#[derive(Debug, Clone)]
pub struct SamplePair {
    before: Vec<u8>,
    after: Vec<u8>,
}

/// What preparation did to images.
#[derive(Debug, Clone, Default)]
pub struct PictureTotals {
    /// Images that have other bytes than their files.
    pub prepared: u64,
    /// Images that no option concerns.
    pub left_alone: u64,
    /// Of the prepared ones: resized.
    pub resized: u64,
    /// Of the prepared ones: turned upright.
    pub turned: u64,
    /// Of the prepared ones: converted to JPEG.
    pub converted: u64,
    /// Of the prepared ones: those with the same pixels.
    pub lossless: u64,
    /// Bytes of all images before.
    pub bytes_before: u64,
    /// Bytes of all images after.
    pub bytes_after: u64,
    /// Some of the prepared images.
    pairs: Vec<SamplePair>,
}

/// How many images one thread decodes in a second, all their pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeSpeed {
    /// Number of images that were decoded before and after.
    pub images: u64,
    /// Images per second before.
    pub before: f64,
    /// Images per second after.
    pub after: f64,
}

impl PictureTotals {
    /// Counts an image of these bytes, and what became of it.
    pub fn add(&mut self, bytes: &[u8], prepared: Option<&Prepared>) {
        self.bytes_before += bytes.len() as u64;
        let Some(new) = prepared else {
            self.bytes_after += bytes.len() as u64;
            self.left_alone += 1;
            return;
        };
        self.bytes_after += new.bytes.len() as u64;
        self.prepared += 1;
        self.resized += u64::from(new.resized);
        self.turned += u64::from(new.turned);
        self.converted += u64::from(new.converted);
        self.lossless += u64::from(new.lossless);
        if self.has_room(bytes.len() + new.bytes.len(), IMAGES_OF_SHARD, BYTES_OF_SHARD) {
            self.pairs.push(SamplePair { before: bytes.to_vec(), after: new.bytes.clone() });
        }
    }

    /// Adds the totals of a shard.
    pub fn join(&mut self, other: PictureTotals) {
        let totals = [
            (&mut self.prepared, other.prepared),
            (&mut self.left_alone, other.left_alone),
            (&mut self.resized, other.resized),
            (&mut self.turned, other.turned),
            (&mut self.converted, other.converted),
            (&mut self.lossless, other.lossless),
            (&mut self.bytes_before, other.bytes_before),
            (&mut self.bytes_after, other.bytes_after),
        ];
        totals.into_iter().for_each(|(total, more)| *total += more);
        for pair in other.pairs {
            if self.has_room(pair.before.len() + pair.after.len(), IMAGES, BYTES) {
                self.pairs.push(pair);
            }
        }
    }

    fn has_room(&self, bytes: usize, images: usize, most: usize) -> bool {
        let held: usize = self.pairs.iter().map(|p| p.before.len() + p.after.len()).sum();
        self.pairs.len() < images && held + bytes <= most
    }

    /// Decodes some images before and after preparation, in turns and in one thread; `None` if no
    /// image was prepared. Takes a few seconds at most.
    pub fn decode_speed(&self) -> Option<DecodeSpeed> {
        let mut decoder = Decoder::new();
        let mut pixels = Vec::new();
        let mut timed = |bytes: &[u8]| {
            let started = Instant::now();
            decode(&mut decoder, bytes, &mut pixels)?;
            Some(started.elapsed().as_secs_f64())
        };
        let first = self.pairs.first()?;
        let _ = (timed(&first.before), timed(&first.after)); // buffers grow once
        let started = Instant::now();
        let mut images = 0u32;
        let mut before = 0.0;
        let mut after = 0.0;
        for pair in &self.pairs {
            if let (Some(a), Some(b)) = (timed(&pair.before), timed(&pair.after)) {
                (images, before, after) = (images + 1, before + a, after + b);
            }
            if started.elapsed() > ENOUGH {
                break;
            }
        }
        (images > 0).then(|| DecodeSpeed {
            images: images.into(),
            before: f64::from(images) / before.max(1e-9),
            after: f64::from(images) / after.max(1e-9),
        })
    }
}

/// Decodes all pixels; `None` if that fails.
fn decode(decoder: &mut Decoder, bytes: &[u8], pixels: &mut Vec<u8>) -> Option<()> {
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return discard(bytes);
    }
    let header = Header::parse(bytes).ok()?;
    let stride = header.width() as usize * 3;
    pixels.resize(stride * header.height() as usize, 0);
    let job = Job { color: Color::Rgb, stride, ..Job::new(bytes, &header, pixels) };
    decoder.decode(job).ok()?;
    black_box(&pixels);
    Some(())
}
