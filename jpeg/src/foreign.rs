//! Pictures of kinds that are not decoded here: progressive, four components, unusual sampling. They
//! go to `zune-jpeg`, whole, and told to be strict. A cut is always noticed; but damage inside a scan
//! that it does not notice is shown as it shows it. Where it panics, that is an error here, if panics
//! unwind; the process's panic hook still prints them.
//!
//! Its pixels may differ from libjpeg-turbo's by a few steps, and smaller scales are averaged from
//! full-size pixels.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use zune_core::bytestream::{ZByteReaderTrait, ZCursor};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::error::{Error, ErrorKind, Result};
use crate::header::{Elsewhere, whole_within};
use crate::job::{Job, Report};
use crate::lines::{Colour, luma};

/// Scans of a progressive picture that are decoded: by zune, too.
const PASSES: usize = 100;

/// Decodes a job.
///
/// # Errors
/// It is damaged, or of a kind that nobody decodes.
pub(crate) fn decode(job: &mut Job<'_>) -> Result<Report> {
    job.check()?;
    whole_within(job.bytes, most_scans(job))?;
    job.header.check_blocks(job.bytes)?;
    if job.header.elsewhere() == Some(Elsewhere::Fails) {
        return Err(refused(job, "no decoder here knows this kind"));
    }
    let (width, height) = (job.header.width as usize, job.header.height as usize);
    let grey = job.colour == Colour::Grey && job.header.ycc && job.header.channels() != 4;
    let channels = if grey || job.header.channels() == 1 { 1 } else { 3 };
    let bytes = width.checked_mul(height).and_then(|pixels| pixels.checked_mul(channels));
    let mut pixels = Vec::new();
    let room = bytes.map(|bytes| pixels.try_reserve_exact(bytes).is_ok());
    let (Some(bytes), Some(true)) = (bytes, room) else {
        let text = format!("no memory for a picture of {width}x{height} pixels");
        return Err(Error::new(ErrorKind::Limit, text));
    };
    let last_row = bytes - width * channels;
    // Data that end early can leave rows unwritten without a word. Rows are written from the top, so
    // the last one tells; two marks, because one might be the picture's own colour.
    for mark in [0xaa, 0x55] {
        pixels.clear();
        pixels.resize(bytes, mark);
        if let Err(error) = run(job, ZCursor::new(job.bytes), channels, &mut pixels) {
            return Err(placed(job, channels, &mut pixels, error));
        }
        if pixels[last_row..].iter().any(|&byte| byte != mark) {
            cut(job, &pixels, channels);
            return Ok(Report::default());
        }
    }
    Err(Error::damaged(job.bytes.len(), "the data end before the last row of pixels"))
}

/// Scans that a picture may have. Coded in one pass, each of its components has one. Encoders of
/// progressive ones write about ten, and each may cost a pass over all blocks.
fn most_scans(job: &Job<'_>) -> usize {
    match job.header.is_progressive() {
        true => PASSES,
        false => job.header.channels().into(),
    }
}

/// The error with the byte up to which the data were read: another run finds it, for the quicker
/// reader keeps it to itself.
fn placed(job: &Job<'_>, channels: usize, pixels: &mut [u8], error: Error) -> Error {
    let mut reader = Cursor::new(job.bytes);
    match run(job, &mut reader, channels, pixels) {
        Err(_) => error.at((reader.position() as usize).min(job.bytes.len())),
        Ok(()) => error,
    }
}

/// Has the other library decode. It has been seen to panic: that is an error, too, here.
fn run(
    job: &Job<'_>,
    reader: impl ZByteReaderTrait,
    channels: usize,
    pixels: &mut [u8],
) -> Result<()> {
    // Nothing that it leaves half done is looked at: the pixels are thrown away.
    let all = AssertUnwindSafe(|| hand_over(job, reader, channels, pixels));
    catch_unwind(all).unwrap_or_else(|_| Err(refused(job, "its decoder gave up")))
}

/// The error of a picture that the other library can't decode.
fn refused(job: &Job<'_>, what: &str) -> Error {
    let kind = match job.header.elsewhere() {
        Some(Elsewhere::Decodes) => ErrorKind::Damaged,
        _ => ErrorKind::Unsupported,
    };
    let why = job.header.foreign().unwrap_or_default();
    Error::new(kind, format!("{why}, and can't be decoded: {what}"))
}

fn hand_over(
    job: &Job<'_>,
    reader: impl ZByteReaderTrait,
    channels: usize,
    pixels: &mut [u8],
) -> Result<()> {
    let (width, height) = (job.header.width as usize, job.header.height as usize);
    let side = usize::from(u16::MAX);
    let space = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(side)
        .set_max_height(side)
        .jpeg_set_max_scans(PASSES)
        .jpeg_set_out_colorspace(space);
    let mut decoder = JpegDecoder::new_with_options(reader, options);
    let told = |e| refused(job, &format!("{e:?}"));
    decoder.decode_headers().map_err(told)?;
    if decoder.dimensions() != Some((width, height))
        || decoder.output_buffer_size() != Some(pixels.len())
    {
        let text = format!("a picture of {width}x{height} pixels is not understood");
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    decoder.decode_into(pixels).map_err(told)
}

/// Writes the region, at its scale and in its colour.
fn cut(job: &mut Job<'_>, pixels: &[u8], channels: usize) {
    let area = job.area();
    let (width, height) = (job.header.width, job.header.height);
    let bytes = job.colour.bytes();
    for y in 0..area.height {
        let row = &mut job.output[y as usize * job.stride..];
        for (x, out) in (0..area.width).zip(row.chunks_exact_mut(bytes)) {
            let place = (area.left + x, area.top + y);
            let [r, g, b] = mean(pixels, channels, (width, height), place, job.scale as u32);
            match out {
                [grey] if channels == 1 => *grey = r,
                [grey] => luma(&[r], &[g], &[b], std::slice::from_mut(grey)),
                out => out.copy_from_slice(&[r, g, b]),
            }
        }
    }
}

/// The mean of the pixels that one pixel of a smaller scale stands for.
fn mean(
    pixels: &[u8],
    channels: usize,
    (width, height): (u32, u32),
    (x, y): (u32, u32),
    shift: u32,
) -> [u8; 3] {
    let across = x << shift..((x + 1) << shift).min(width);
    let down = y << shift..((y + 1) << shift).min(height);
    let count = (across.len() * down.len()) as u32;
    let mut sums = [0u32; 3];
    for y in down {
        for x in across.clone() {
            let at = (y as usize * width as usize + x as usize) * channels;
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum += u32::from(pixels[at + c.min(channels - 1)]);
            }
        }
    }
    sums.map(|sum| ((sum + count / 2) / count) as u8)
}
