//! What a decoder of JPEGs does right, found by having it decode known pictures and by comparing what comes out with
//! what the CPU makes of them, before the first batch. For what NVIDIA's documents leave open: which backends make
//! pictures smaller and how they round, and engines that leave pictures out and say nothing.
//!
//! A room with unsafe code. What it relies on, and why it holds:
//! - memory on the device is this value's, of the length that is written there, and given back when the stream is done;
//! - the driver reads and writes host memory of the length that it is told, and the stream is waited for before that
//!   goes.
#![allow(unsafe_code)]

use cudarc::driver::{DriverError, result, sys};
use tarflume_jpeg::{Color, Decoder, Header, Job};

use crate::device::memory::jpeg_store;
use crate::device::nvjpeg::{
    Compressed, Fit, Nvjpeg, Offer, PixelTarget, Scale, Stored, Verdict, checked,
};
use crate::error::{Error, ErrorKind, Result};

/// Made by `trial/make.py`: odd sizes, a wave that every shift shows, colors that change slowly.
const PICTURES: [(&[u8], Fit); 5] = [
    (include_bytes!("trial/yuv444.jpg"), Fit::Yuv444),
    (include_bytes!("trial/yuv422.jpg"), Fit::Yuv422),
    (include_bytes!("trial/yuv420.jpg"), Fit::Yuv420),
    (include_bytes!("trial/yuv440.jpg"), Fit::Yuv440),
    (include_bytes!("trial/gray.jpg"), Fit::Gray),
];

const TINY: [(&[u8], Fit); 2] = [
    (include_bytes!("trial/tiny420.jpg"), Fit::Yuv420),
    (include_bytes!("trial/tinygray.jpg"), Fit::Gray),
];

/// Steps of 255 that a value may be away from the CPU's, at most and in the middle of a picture. Two decoders that are
/// right differ by 4; a shift by a pixel is 12 and more.
const MOST: u8 = 8;
const MEAN: f64 = 1.5;

/// A picture, at a scale, in so many channels.
struct Shot {
    jpeg: &'static [u8],
    header: Header,
    fit: Fit,
    tiny: bool,
    channels: u8,
}

/// Memory on the device.
struct Memory(u64);

impl Memory {
    fn new(bytes: usize) -> Result<Memory> {
        // SAFETY: gives a number.
        unsafe { result::malloc_sync(bytes) }.map(Memory).map_err(failed("asking for memory"))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once; the real call waits for the device.
        let _ = unsafe { result::free_sync(self.0) };
    }
}

fn failed(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| {
        let text = format!("{what} for pictures that are tried failed ({:?})", error.0);
        Error::new(ErrorKind::Device, text)
    }
}

/// Writes to the device's memory, and waits until it is there. Not by a plain copy: that returns when the driver has
/// taken the bytes over, it is ordered by the legacy stream alone, which our streams don't wait for, and it fails while
/// somebody captures a stream that the legacy one waits for.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// There is memory for the bytes at `to`, which nothing uses; the stream is one of the calling thread's context, and
/// alive.
unsafe fn fill(to: u64, from: &[u8], stream: u64) -> Result<()> {
    let stream = stream as usize as sys::CUstream;
    // SAFETY: by this function's promise; waited for below, before anybody changes the bytes.
    let put = unsafe { result::memcpy_htod_async(to, from, stream) };
    // SAFETY: by this function's promise.
    put.and_then(|()| unsafe { result::stream::synchronize(stream) })
        .map_err(failed("filling memory"))
}

/// Reads the device's memory, behind all that stands in the stream.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// There are as many bytes at `from`; the stream is one of the calling thread's context, and alive.
unsafe fn fetch(to: &mut [u8], from: u64, stream: u64) -> Result<()> {
    let stream = stream as usize as sys::CUstream;
    // SAFETY: by this function's promise; waited for below, before anybody looks at the bytes.
    let put = unsafe { result::memcpy_dtoh_async(to, from, stream) };
    // SAFETY: by this function's promise.
    put.and_then(|()| unsafe { result::stream::synchronize(stream) })
        .map_err(failed("reading memory"))
}

/// What of its scales and kinds this decoder does right.
///
/// # Errors
/// [`ErrorKind::Device`]: the device does nothing any more, or has no memory.
///
/// # Safety
/// The stream is one of the calling thread's context, and alive.
pub(crate) unsafe fn trial(nvjpeg: &Nvjpeg, stream: u64) -> Result<Offer> {
    let shots = shots()?;
    let might = nvjpeg.offer().least();
    let mut offer = Offer::all(Scale::Full);
    // SAFETY: by this function's promise.
    let right = unsafe { tried(nvjpeg, stream, &shots, Scale::Full) }?;
    for (shot, right) in shots.iter().zip(right) {
        match (right, shot.tiny) {
            (true, _) => {}
            (false, true) => offer.without_tiny(),
            (false, false) => offer.without(shot.fit, shot.channels),
        }
    }
    let known = |shot: &Shot| !shot.tiny && offer.takes(shot.fit, shot.channels);
    let shots: Vec<Shot> = shots.into_iter().filter(known).collect();
    for scale in Scale::ALL.into_iter().filter(|s| (1..=might as u32).contains(&(*s as u32))) {
        // SAFETY: by this function's promise.
        let right = unsafe { tried(nvjpeg, stream, &shots, scale) }?;
        if right.contains(&false) {
            break;
        }
        offer.at_least(scale);
    }
    Ok(offer)
}

/// Every picture in every number of channels that it is asked for in.
fn shots() -> Result<Vec<Shot>> {
    let mut shots = Vec::new();
    let tiny = TINY.into_iter().map(|picture| (picture, true));
    for ((jpeg, fit), tiny) in PICTURES.into_iter().map(|picture| (picture, false)).chain(tiny) {
        let channels = if fit == Fit::Gray { &[1][..] } else { &[1, 3] };
        for &channels in channels {
            let header = checked(jpeg).map_err(|why| Error::new(ErrorKind::Device, why))?;
            shots.push(Shot { jpeg, header, fit, tiny, channels });
        }
    }
    Ok(shots)
}

impl Shot {
    fn size(&self, scale: Scale) -> (u32, u32) {
        scale.of(self.header.width(), self.header.height())
    }

    fn bytes(&self, scale: Scale) -> usize {
        let (width, height) = self.size(scale);
        width as usize * height as usize * usize::from(self.channels)
    }

    /// What the CPU makes of it.
    fn on_cpu(&self, scale: Scale) -> Result<Vec<u8>> {
        let mut output = vec![0; self.bytes(scale)];
        let color = if self.channels == 1 { Color::Gray } else { Color::Rgb };
        let stride = self.size(scale).0 as usize * usize::from(self.channels);
        let job = Job { scale, color, stride, ..Job::new(self.jpeg, &self.header, &mut output) };
        let told = |error: tarflume_jpeg::Error| Error::new(ErrorKind::Device, error.text());
        Decoder::new().decode(job).map_err(told)?;
        Ok(output)
    }

    fn is_right(&self, scale: Scale, found: &[u8]) -> Result<bool> {
        let expected = self.on_cpu(scale)?;
        let apart = expected.iter().zip(found).map(|(a, b)| a.abs_diff(*b));
        let sum: u64 = apart.clone().map(u64::from).sum();
        let mean = sum as f64 / expected.len().max(1) as f64;
        Ok(apart.max().unwrap_or(0) <= MOST && mean <= MEAN)
    }
}

/// Which of these pictures it decodes rightly at this scale. All in one call for each number of channels.
///
/// # Errors
/// As [`trial`].
///
/// # Safety
/// As of [`trial`].
unsafe fn tried(nvjpeg: &Nvjpeg, stream: u64, shots: &[Shot], scale: Scale) -> Result<Vec<bool>> {
    let mut places = Vec::new();
    let mut all = 0;
    for shot in shots {
        places.push(all);
        all += shot.bytes(scale).next_multiple_of(256);
    }
    let to = Memory::new(all.max(1))?;
    let mut found = vec![0x5a; all];
    // SAFETY: as long as the memory; the stream by this function's promise. What is not written must not pass for a
    // picture of the last trial.
    unsafe { fill(to.0, &found, stream) }?;
    // SAFETY: by this function's promise; memory of this size, which nothing uses.
    let verdicts = unsafe { decode(nvjpeg, stream, shots, scale, (to.0, &places)) }?;
    // SAFETY: as above.
    unsafe { fetch(&mut found, to.0, stream) }?;
    let mut right = Vec::new();
    for ((shot, place), verdict) in shots.iter().zip(places).zip(verdicts) {
        let pixels = &found[place..place + shot.bytes(scale)];
        right.push(verdict == Verdict::Decoded && shot.is_right(scale, pixels)?);
    }
    Ok(right)
}

/// Decodes them to their places behind `to`, and waits.
///
/// # Safety
/// As of [`trial`]; there is memory for them, which nothing uses.
unsafe fn decode(
    nvjpeg: &Nvjpeg,
    stream: u64,
    shots: &[Shot],
    scale: Scale,
    (to, places): (u64, &[usize]),
) -> Result<Vec<Verdict>> {
    let refused = |shot: &Shot| {
        let said = nvjpeg.admit((shot.jpeg, &shot.header), shot.channels, scale);
        said.map(Result::err)
    };
    let refused = shots.iter().map(refused).collect::<Result<Vec<_>>>()?;
    let asked: Vec<(&Shot, u64)> = shots
        .iter()
        .zip(places)
        .zip(&refused)
        .filter(|(_, refused)| refused.is_none())
        .map(|((shot, place), _)| (shot, to + *place as u64))
        .collect();
    let mut kept = None;
    let verdicts = if nvjpeg.backend().reads_device() {
        // SAFETY: by this function's promise.
        let (memory, stored) = unsafe { brought(&asked, scale, stream) }?;
        kept = Some(memory);
        // SAFETY: by this function's promise; the JPEGs are there.
        unsafe { nvjpeg.decode_stored(stream, &stored) }
    } else {
        let picture = |&(shot, to): &(&Shot, u64)| {
            let ((width, height), channels) = (shot.size(scale), shot.channels);
            let target = PixelTarget { to, width, height, scale, channels };
            Compressed { bytes: shot.jpeg, target }
        };
        let pictures: Vec<Compressed<'_>> = asked.iter().map(picture).collect();
        // SAFETY: by this function's promise; the bytes are the program's own.
        unsafe { nvjpeg.decode_each(stream, &pictures) }
    };
    // SAFETY: by this function's promise.
    unsafe { result::stream::synchronize(stream as usize as sys::CUstream) }
        .map_err(failed("waiting"))?;
    drop(kept);
    let mut verdicts = verdicts?.into_iter();
    let of = |refused: Option<String>| match refused {
        Some(why) => Verdict::Refused(why),
        None => verdicts.next().unwrap_or(Verdict::Refused(String::new())),
    };
    Ok(refused.into_iter().map(of).collect())
}

/// JPEGs in memory of the device, each where those that stay there may begin, and what is wanted of them.
///
/// # Errors
/// As [`trial`].
///
/// # Safety
/// The stream as of [`trial`].
unsafe fn brought(
    asked: &[(&Shot, u64)],
    scale: Scale,
    stream: u64,
) -> Result<(Memory, Vec<Stored>)> {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for (shot, _) in asked {
        places.push(bytes.len() as u64);
        bytes.extend_from_slice(shot.jpeg);
        bytes.resize(bytes.len().next_multiple_of(jpeg_store::ALIGNED as usize), 0);
    }
    let memory = Memory::new(bytes.len().max(1))?;
    // SAFETY: as long as the memory, which was made just now; the stream by this function's promise.
    unsafe { fill(memory.0, &bytes, stream) }?;
    let stored = |(&(shot, to), place): (&(&Shot, u64), u64)| {
        let (width, height) = shot.size(scale);
        let (length, channels) = (shot.jpeg.len() as u64, shot.channels);
        let target = PixelTarget { to, width, height, scale, channels };
        Stored { at: memory.0 + place, length, target }
    };
    let stored = asked.iter().zip(places).map(stored).collect();
    Ok((memory, stored))
}
