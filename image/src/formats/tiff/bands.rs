//! `Bands`: a TIFF of any number of bands as an array, such as the 13 of Sentinel-2.

use tarflume_types::{DType, Result};
use tiff::TiffError;
use tiff::decoder::{Decoder, Limits};
use tiff::tags::{SampleFormat, Tag};

use super::super::faults::{damaged, guarded, unsupported};
use super::super::input::patched::Patched;
use super::beside;
use super::padding::{Padding, padding};
use super::samples::check_samples;
use crate::picture::geometry::ImageSize;

/// Limit on the bytes of a tag's values.
const TAG_MAX: usize = 16 << 20;

/// The samples of the first picture of a TIFF, whatever they mean.
///
/// Samples that are stored pixel by pixel and those that are stored band by band give the same array.
pub struct Bands<'a> {
    decoder: Decoder<Patched<'a>>,
    /// Number of bands.
    pub bands: usize,
    /// Size as stored; an orientation is not applied.
    pub size: ImageSize,
    /// The type of the samples.
    pub dtype: DType,
    /// True if the file has the bands one after the other.
    planar: bool,
    /// The size of a band as decoded, some of which may be padding.
    decoded: ImageSize,
    /// Bytes that the decoder allocates beside the samples.
    beside: u64,
}

impl std::fmt::Debug for Bands<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bands({} of {}, {})", self.bands, self.size, self.dtype)
    }
}

impl<'a> Bands<'a> {
    /// Reads the header of a TIFF.
    ///
    /// # Errors
    /// Returns an error if the header is damaged, or if the samples are of a kind that is not decoded: fewer than 8 bits,
    /// complex numbers, bands of several types, JPEGs in YCbCr.
    pub fn open(bytes: &'a [u8]) -> Result<Bands<'a>> {
        guarded(|| Bands::open_unguarded(bytes))
    }

    fn open_unguarded(bytes: &'a [u8]) -> Result<Bands<'a>> {
        let beside = beside(bytes).map_err(damaged)?;
        check_samples(bytes).map_err(unsupported)?;
        let padded = padding(bytes).map_err(unsupported)?;
        let source = Patched::new(bytes, padded.map_or([None; 2], |padding| padding.patches));
        let mut decoder = Decoder::new(source).map_err(fault)?.with_limits(limits(0));
        let extent = decoder.dimensions().map_err(fault)?;
        let declared: u16 =
            decoder.find_tag_unsigned(Tag::SamplesPerPixel).map_err(fault)?.unwrap_or(1);
        let layout = decoder.image_buffer_layout().map_err(fault)?;
        let color = decoder.colortype().map_err(fault)?;
        let planar = layout.planes > 1;
        let found = if planar { layout.planes } else { usize::from(color.num_samples()) };
        if found != usize::from(declared) {
            let text = format!("a TIFF of {declared} bands, of which {found} are decoded");
            return Err(unsupported(text));
        }
        let dtype = dtype_of(layout.sample_format, color.bit_depth())?;
        let decoded = ImageSize::new(extent.0, extent.1);
        let size =
            padded.map_or(decoded, |Padding { width, height, .. }| ImageSize::new(width, height));
        if size.pixels() == 0 || found == 0 {
            return Err(damaged(format!("the TIFF has no pixels: its size is {size}")));
        }
        let samples = usize::try_from(decoded.pixels()).ok().and_then(|n| n.checked_mul(found));
        let expected = samples.and_then(|n| n.checked_mul(dtype.size()));
        if expected != Some(layout.complete_len) {
            let text = format!(
                "a TIFF of {found} bands of {size} {dtype} has {} bytes of samples",
                layout.complete_len
            );
            return Err(unsupported(text));
        }
        Ok(Bands { decoder, bands: found, size, dtype, planar, decoded, beside })
    }

    /// The bytes of the array.
    pub fn bytes(&self) -> u64 {
        self.size.pixels().saturating_mul((self.bands * self.dtype.size()) as u64)
    }

    /// Maximum memory for decoding beside the array, in bytes.
    pub fn memory(&self) -> u64 {
        self.decoded_bytes().saturating_mul(2).saturating_add(self.beside)
    }

    fn decoded_bytes(&self) -> u64 {
        self.decoded.pixels().saturating_mul((self.bands * self.dtype.size()) as u64)
    }

    /// Decodes the samples into `target`, whose length is [`Bands::bytes`]: an array of shape `[bands, height, width]` in the
    /// byte order of the machine.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or truncated.
    pub fn decode(self, target: &mut [u8]) -> Result<()> {
        guarded(|| self.decode_unguarded(target))
    }

    fn decode_unguarded(mut self, target: &mut [u8]) -> Result<()> {
        let length = usize::try_from(self.decoded_bytes())
            .map_err(|_| damaged(format!("a TIFF of {} is too large", self.size)))?;
        self.decoder = self.decoder.with_limits(limits(length));
        let mut stored = vec![0; length];
        self.decoder.read_image_bytes(&mut stored).map_err(fault)?;
        let each = self.dtype.size();
        let width = self.size.width as usize;
        let long = self.decoded.width as usize;
        let kept = width * self.size.height as usize * each;
        let plane = long * self.decoded.height as usize * each;
        for (band, to) in target.chunks_exact_mut(kept).enumerate() {
            let rows = to.chunks_exact_mut(width * each);
            if self.planar {
                let from = stored[band * plane..][..plane].chunks_exact(long * each);
                rows.zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..width * each]));
                continue;
            }
            for (to, from) in rows.zip(stored.chunks_exact(long * each * self.bands)) {
                let pixels = from.chunks_exact(self.bands * each);
                for (pixel, to) in pixels.zip(to.chunks_exact_mut(each)) {
                    to.copy_from_slice(&pixel[band * each..(band + 1) * each]);
                }
            }
        }
        Ok(())
    }
}

/// Limits for samples of `length` bytes.
fn limits(length: usize) -> Limits {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = length;
    limits.intermediate_buffer_size = length.max(TAG_MAX).saturating_mul(2);
    limits.ifd_value_size = TAG_MAX;
    limits
}

fn dtype_of(format: SampleFormat, bits: u8) -> Result<DType> {
    Ok(match (format, bits) {
        (SampleFormat::Uint, 8) => DType::U8,
        (SampleFormat::Uint, 16) => DType::U16,
        (SampleFormat::Uint, 32) => DType::U32,
        (SampleFormat::Uint, 64) => DType::U64,
        (SampleFormat::Int, 8) => DType::I8,
        (SampleFormat::Int, 16) => DType::I16,
        (SampleFormat::Int, 32) => DType::I32,
        (SampleFormat::Int, 64) => DType::I64,
        (SampleFormat::IEEEFP, 16) => DType::F16,
        (SampleFormat::IEEEFP, 32) => DType::F32,
        (SampleFormat::IEEEFP, 64) => DType::F64,
        _ => {
            return Err(unsupported(format!("a TIFF with samples {format:?} of {bits} bits")));
        }
    })
}

/// Converts an error of the decoder.
fn fault(error: TiffError) -> tarflume_types::Error {
    let text = format!("the TIFF cannot be decoded: {error}");
    match error {
        TiffError::UnsupportedError(_) => unsupported(text),
        _ => damaged(text),
    }
}

/// Returns true if bytes begin as a TIFF or a BigTIFF does.
pub fn is_tiff(bytes: &[u8]) -> bool {
    matches!(bytes, [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..])
}

#[cfg(test)]
mod tests;
