//! Verifies a JPEG decoder before the first batch: decodes known pictures and compares them with the CPU's results. For
//! what NVIDIA's documents leave open: which backends reduce pictures and how they round, and engines that skip
//! pictures silently.
//!
//! Contains unsafe code. What it relies on, and why it holds:
//! - device memory belongs to this value, has the length that is written, and is freed after the stream has finished;
//! - the driver reads and writes host memory within the length that it receives, and the host waits for the stream
//!   before that memory is freed.
#![allow(unsafe_code)]

use cudarc::driver::{DriverError, result, sys};
use tarflume_jpeg::{Color, Decoder, Header, Job, Size};
use tarflume_types::{Error, ErrorKind, Result};

use crate::device::memory::jpeg_store;
use crate::device::nvjpeg::{
    Compressed, Nvjpeg, Offer, PixelTarget, Sampling, Scale, Stored, Verdict, checked,
};
use crate::device::room::shortage::Shortage;

/// What a wrong picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// That the sampling is decoded wrongly.
    Sampling,
    /// That chroma of this sampling is not interpolated as the CPU does; in full size and in color only.
    Interpolation,
    /// That tiny pictures are.
    Tiny,
}

/// Created by `trial/make.py`: odd sizes, a wave that reveals any shift, and slowly changing colors, or stripes of
/// colors.
const PICTURES: [(&[u8], Sampling, Shows); 10] = [
    (include_bytes!("trial/yuv444.jpg"), Sampling::Yuv444, Shows::Sampling),
    (include_bytes!("trial/yuv422.jpg"), Sampling::Yuv422, Shows::Sampling),
    (include_bytes!("trial/yuv420.jpg"), Sampling::Yuv420, Shows::Sampling),
    (include_bytes!("trial/yuv440.jpg"), Sampling::Yuv440, Shows::Sampling),
    (include_bytes!("trial/gray.jpg"), Sampling::Gray, Shows::Sampling),
    (include_bytes!("trial/sharp422.jpg"), Sampling::Yuv422, Shows::Interpolation),
    (include_bytes!("trial/sharp420.jpg"), Sampling::Yuv420, Shows::Interpolation),
    (include_bytes!("trial/sharp440.jpg"), Sampling::Yuv440, Shows::Interpolation),
    (include_bytes!("trial/tiny420.jpg"), Sampling::Yuv420, Shows::Tiny),
    (include_bytes!("trial/tinygray.jpg"), Sampling::Gray, Shows::Tiny),
];

/// Maximum and mean difference from the CPU's values, in steps of 255. Two correct decoders differ by up to 4; a
/// shift by one pixel causes 12 and more.
const MOST: u8 = 8;
const MEAN: f64 = 1.5;

/// A picture and the number of channels to decode.
struct TrialPicture {
    jpeg: &'static [u8],
    header: Header,
    sampling: Sampling,
    shows: Shows,
    channels: u8,
}

/// Device memory.
struct TrialMemory(u64);

impl TrialMemory {
    fn new(bytes: usize) -> Result<TrialMemory> {
        // SAFETY: returns an address.
        let made = unsafe { result::malloc_sync(bytes) }.map(TrialMemory);
        made.map_err(|error| match Shortage::of_driver(bytes, error) {
            Some(shortage) => shortage.of("the trial of nvJPEG"),
            None => failed("asking for memory")(error),
        })
    }
}

impl Drop for TrialMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once; the call waits for the device.
        let _ = unsafe { result::free_sync(self.0) };
    }
}

fn failed(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| {
        let text = format!("{what} for pictures that are tried failed ({:?})", error.0);
        Error::new(ErrorKind::Device, text)
    }
}

/// Writes to device memory and waits for completion. Does not use a synchronous copy: that returns when the driver has
/// buffered the bytes, it is ordered only with the legacy stream, which our streams do not wait for, and it fails
/// during a capture of a stream that the legacy stream synchronizes with.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// The memory at `to` has room for the bytes and no other user. The stream belongs to the calling thread's context and
/// is alive.
unsafe fn fill(to: u64, from: &[u8], stream: u64) -> Result<()> {
    let stream = stream as usize as sys::CUstream;
    // SAFETY: by this function's contract; completed below, before the bytes change.
    let put = unsafe { result::memcpy_htod_async(to, from, stream) };
    // SAFETY: by this function's contract.
    put.and_then(|()| unsafe { result::stream::synchronize(stream) })
        .map_err(failed("filling memory"))
}

/// Reads device memory after all work in the stream.
///
/// # Errors
/// Returns the driver's error.
///
/// # Safety
/// `from` has as many bytes. The stream belongs to the calling thread's context and is alive.
unsafe fn fetch(to: &mut [u8], from: u64, stream: u64) -> Result<()> {
    let stream = stream as usize as sys::CUstream;
    // SAFETY: by this function's contract; completed below, before the bytes are read.
    let put = unsafe { result::memcpy_dtoh_async(to, from, stream) };
    // SAFETY: by this function's contract.
    put.and_then(|()| unsafe { result::stream::synchronize(stream) })
        .map_err(failed("reading memory"))
}

/// The scales and kinds of pictures that this decoder decodes correctly.
///
/// # Errors
/// [`ErrorKind::Device`]: the device failed or has too little memory.
///
/// # Safety
/// The stream belongs to the calling thread's context and is alive.
pub(crate) unsafe fn trial(nvjpeg: &Nvjpeg, stream: u64) -> Result<Offer> {
    let pictures_to_try = pictures_to_try()?;
    let might = nvjpeg.offer().least();
    let mut offer = Offer::all(Scale::Full);
    // SAFETY: by this function's contract.
    let right = unsafe { tried(nvjpeg, stream, &pictures_to_try, Scale::Full) }?;
    for (trial, right) in pictures_to_try.iter().zip(right) {
        if right {
            continue;
        }
        match trial.shows {
            Shows::Tiny => offer.without_tiny(),
            _ => offer.without(trial.sampling, trial.channels),
        }
    }
    let pictures_to_try: Vec<TrialPicture> = pictures_to_try
        .into_iter()
        .filter(|trial| {
            trial.shows == Shows::Sampling && offer.takes(trial.sampling, trial.channels)
        })
        .collect();
    for scale in Scale::ALL.into_iter().filter(|s| (1..=might as u32).contains(&(*s as u32))) {
        // SAFETY: by this function's contract.
        let right = unsafe { tried(nvjpeg, stream, &pictures_to_try, scale) }?;
        if right.contains(&false) {
            break;
        }
        offer.at_least(scale);
    }
    Ok(offer)
}

/// Every picture with every number of channels.
fn pictures_to_try() -> Result<Vec<TrialPicture>> {
    let mut pictures_to_try = Vec::new();
    for (jpeg, sampling, shows) in PICTURES {
        let channels = match (sampling, shows) {
            (Sampling::Gray, _) => &[1][..],
            (_, Shows::Interpolation) => &[3],
            _ => &[1, 3],
        };
        for &channels in channels {
            let header = checked(jpeg).map_err(|why| Error::new(ErrorKind::Device, why))?;
            pictures_to_try.push(TrialPicture { jpeg, header, sampling, shows, channels });
        }
    }
    Ok(pictures_to_try)
}

impl TrialPicture {
    fn size(&self, scale: Scale) -> Size {
        scale.of(self.header.width(), self.header.height())
    }

    /// Its place at address `to`.
    fn target(&self, to: u64, scale: Scale) -> PixelTarget {
        let Size { width, height } = self.size(scale);
        PixelTarget { to, width, height, scale, channels: self.channels }
    }

    fn bytes(&self, scale: Scale) -> usize {
        let Size { width, height } = self.size(scale);
        width as usize * height as usize * usize::from(self.channels)
    }

    /// The CPU's pixels.
    fn on_cpu(&self, scale: Scale) -> Result<Vec<u8>> {
        let mut output = vec![0; self.bytes(scale)];
        let color = if self.channels == 1 { Color::Gray } else { Color::Rgb };
        let stride = self.size(scale).width as usize * usize::from(self.channels);
        let job = Job { scale, color, stride, ..Job::new(self.jpeg, &self.header, &mut output) };
        Decoder::new().decode(job).map_err(of_jpeg)?;
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

fn of_jpeg(error: tarflume_jpeg::Error) -> Error {
    Error::new(ErrorKind::Device, error.text())
}

/// Which of these pictures it decodes correctly at this scale. One call for each number of channels.
///
/// # Errors
/// As [`trial`].
///
/// # Safety
/// As for [`trial`].
unsafe fn tried(
    nvjpeg: &Nvjpeg,
    stream: u64,
    pictures_to_try: &[TrialPicture],
    scale: Scale,
) -> Result<Vec<bool>> {
    let mut places = Vec::new();
    let mut all = 0;
    for trial in pictures_to_try {
        places.push(all);
        all += trial.bytes(scale).next_multiple_of(256);
    }
    let to = TrialMemory::new(all.max(1))?;
    let mut found = vec![0x5a; all];
    // SAFETY: the memory has this length; the stream by this function's contract. The fill ensures that skipped
    // pictures do not pass with the pixels of an earlier trial.
    unsafe { fill(to.0, &found, stream) }?;
    // SAFETY: by this function's contract; memory of this size without other users.
    let verdicts = unsafe { decode(nvjpeg, stream, pictures_to_try, scale, to.0, &places) }?;
    // SAFETY: as above.
    unsafe { fetch(&mut found, to.0, stream) }?;
    let mut right = Vec::new();
    for ((trial, place), verdict) in pictures_to_try.iter().zip(places).zip(verdicts) {
        let pixels = &found[place..place + trial.bytes(scale)];
        right.push(verdict == Verdict::Decoded && trial.is_right(scale, pixels)?);
    }
    Ok(right)
}

/// Decodes the pictures to their offsets from `to`, and waits.
///
/// # Safety
/// As for [`trial`]. The memory has room for the pictures and no other user.
unsafe fn decode(
    nvjpeg: &Nvjpeg,
    stream: u64,
    pictures_to_try: &[TrialPicture],
    scale: Scale,
    to: u64,
    places: &[usize],
) -> Result<Vec<Verdict>> {
    let refused = pictures_to_try
        .iter()
        .map(|trial| {
            let verdict = nvjpeg.admit(trial.jpeg, &trial.header, trial.channels, scale);
            verdict.map(Result::err)
        })
        .collect::<Result<Vec<_>>>()?;
    let tasks: Vec<(&TrialPicture, u64)> = pictures_to_try
        .iter()
        .zip(places)
        .zip(&refused)
        .filter(|(_, refused)| refused.is_none())
        .map(|((trial, place), _)| (trial, to + *place as u64))
        .collect();
    let mut kept = None;
    let verdicts = if nvjpeg.backend().reads_device() {
        // SAFETY: by this function's contract.
        let (memory, stored) = unsafe { brought(&tasks, scale, stream) }?;
        kept = Some(memory);
        // SAFETY: by this function's contract; the JPEGs were copied above.
        unsafe { nvjpeg.decode_stored(stream, &stored) }
    } else {
        let pictures: Vec<Compressed<'_>> = tasks
            .iter()
            .map(|&(trial, to): &(&TrialPicture, u64)| Compressed {
                bytes: trial.jpeg,
                target: trial.target(to, scale),
            })
            .collect();
        // SAFETY: by this function's contract; the bytes are static.
        unsafe { nvjpeg.decode_each(stream, &pictures) }
    };
    // SAFETY: by this function's contract.
    unsafe { result::stream::synchronize(stream as usize as sys::CUstream) }
        .map_err(failed("waiting"))?;
    drop(kept);
    let mut verdicts = verdicts?.into_iter();
    Ok(refused
        .into_iter()
        .map(|refused| match refused {
            Some(why) => Verdict::Refused(why.into()),
            None => verdicts.next().expect("each JPEG that was admitted has a verdict"),
        })
        .collect())
}

/// Copies JPEGs to device memory, aligned like stored ones, and describes their decoding.
///
/// # Errors
/// As [`trial`].
///
/// # Safety
/// The stream as for [`trial`].
unsafe fn brought(
    tasks: &[(&TrialPicture, u64)],
    scale: Scale,
    stream: u64,
) -> Result<(TrialMemory, Vec<Stored>)> {
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for (trial, _) in tasks {
        places.push(bytes.len() as u64);
        bytes.extend_from_slice(trial.jpeg);
        bytes.resize(bytes.len().next_multiple_of(jpeg_store::ALIGNED as usize), 0);
    }
    let memory = TrialMemory::new(bytes.len().max(1))?;
    // SAFETY: the memory has this length, it was allocated above; the stream by this function's contract.
    unsafe { fill(memory.0, &bytes, stream) }?;
    let stored = tasks
        .iter()
        .zip(places)
        .map(|(&(trial, to), place)| {
            let length = trial.jpeg.len() as u64;
            Stored { at: memory.0 + place, length, target: trial.target(to, scale) }
        })
        .collect();
    Ok((memory, stored))
}
