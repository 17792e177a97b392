//! `Bands`: a TIFF of any number of bands as an array, such as the 13 of Sentinel-2.

use tarflume_types::{DType, Result};
use tiff::TiffError;
use tiff::decoder::{Decoder, Limits};
use tiff::tags::{SampleFormat, Tag};

use super::super::faults::{damaged, guarded, unsupported};
use super::super::input::patched::Patched;
use super::{Padding, beside, padding};
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
    /// Rows of a band as decoded, some of which may be padding.
    rows: usize,
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
        let padded = padding(bytes).map_err(unsupported)?;
        let source = Patched::new(bytes, padded.map(|padding| padding.patch));
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
        let rows = extent.1 as usize;
        let height = padded.map_or(extent.1, |Padding { height, .. }| height);
        let size = ImageSize::new(extent.0, height);
        if size.pixels() == 0 || found == 0 {
            return Err(damaged(format!("the TIFF has no pixels: its size is {size}")));
        }
        let samples = (size.width as usize).checked_mul(rows).and_then(|n| n.checked_mul(found));
        let expected = samples.and_then(|n| n.checked_mul(dtype.size()));
        if expected != Some(layout.complete_len) {
            let text = format!(
                "a TIFF of {found} bands of {size} {dtype} has {} bytes of samples",
                layout.complete_len
            );
            return Err(unsupported(text));
        }
        Ok(Bands { decoder, bands: found, size, dtype, planar, rows, beside })
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
        let row = u64::from(self.size.width) * (self.bands * self.dtype.size()) as u64;
        row.saturating_mul(self.rows as u64)
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
        let kept = width * self.size.height as usize * each;
        if self.planar {
            let plane = width * self.rows * each;
            let planes = stored.chunks_exact(plane).zip(target.chunks_exact_mut(kept));
            planes.for_each(|(from, to)| to.copy_from_slice(&from[..kept]));
            return Ok(());
        }
        for (band, to) in target.chunks_exact_mut(kept).enumerate() {
            let pixels = stored.chunks_exact(self.bands * each);
            for (pixel, to) in pixels.zip(to.chunks_exact_mut(each)) {
                to.copy_from_slice(&pixel[band * each..(band + 1) * each]);
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
mod tests {
    use std::io::Cursor;

    use tiff::encoder::{TiffEncoder, colortype};

    use super::*;

    /// Numbers in one byte order.
    struct Numbers {
        bytes: Vec<u8>,
        big_endian: bool,
    }

    impl Numbers {
        fn put16(&mut self, n: u16) {
            self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        }

        fn put32(&mut self, n: u32) {
            self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
        }
    }

    /// A TIFF of five bands by hand, each sample a number of 16 bits: pixel by pixel, or band by band.
    fn five_bands(planar: bool, big_endian: bool) -> Vec<u8> {
        const WIDTH: u16 = 3;
        const HEIGHT: u16 = 2;
        const BANDS: u16 = 5;
        let mut out = Numbers { bytes: Vec::new(), big_endian };
        out.bytes.extend(if big_endian { b"MM" } else { b"II" });
        out.put16(42);
        out.put32(8);
        let strips = if planar { u32::from(BANDS) } else { 1 };
        let pixels = u32::from(WIDTH) * u32::from(HEIGHT);
        let tags = 10_u16;
        let behind = 8 + 2 + u32::from(tags) * 12 + 4;
        let bits_at = behind;
        let offsets_at = bits_at + 2 * u32::from(BANDS);
        let counts_at = offsets_at + 4 * strips;
        let data_at = counts_at + 4 * strips;
        let strip_bytes = pixels * 2 * u32::from(BANDS) / strips;
        out.put16(tags);
        // A list of one value is in the tag itself.
        let lists = if strips == 1 { [data_at, strip_bytes] } else { [offsets_at, counts_at] };
        for (tag, kind, count, value) in [
            (256, 3, 1, u32::from(WIDTH)),
            (257, 3, 1, u32::from(HEIGHT)),
            (258, 3, u32::from(BANDS), bits_at),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, strips, lists[0]),
            (277, 3, 1, u32::from(BANDS)),
            (278, 3, 1, u32::from(HEIGHT)),
            (279, 4, strips, lists[1]),
            (284, 3, 1, if planar { 2 } else { 1 }),
        ] {
            out.put16(tag);
            out.put16(kind);
            out.put32(count);
            if kind == 3 && count == 1 {
                out.put16(value as u16);
                out.put16(0);
            } else {
                out.put32(value);
            }
        }
        out.put32(0);
        (0..BANDS).for_each(|_| out.put16(16));
        (0..strips).for_each(|n| out.put32(data_at + n * strip_bytes));
        (0..strips).for_each(|_| out.put32(strip_bytes));
        for n in 0..pixels * u32::from(BANDS) {
            let sample = if planar {
                n / pixels * 1000 + n % pixels
            } else {
                n % u32::from(BANDS) * 1000 + n / u32::from(BANDS)
            };
            out.put16(sample as u16);
        }
        out.bytes
    }

    fn decoded(bytes: &[u8]) -> Vec<u16> {
        let bands = Bands::open(bytes).unwrap();
        let mut target = vec![0; bands.bytes() as usize];
        bands.decode(&mut target).unwrap();
        target.as_chunks::<2>().0.iter().map(|&pair| u16::from_ne_bytes(pair)).collect()
    }

    #[test]
    fn bands_come_one_after_the_other_however_they_are_stored() {
        let want: Vec<u16> = (0..30).map(|n| n / 6 * 1000 + n % 6).collect();
        for planar in [false, true] {
            for big_endian in [false, true] {
                let bytes = five_bands(planar, big_endian);
                let bands = Bands::open(&bytes).unwrap();
                assert_eq!(
                    (bands.bands, bands.size, bands.dtype),
                    (5, ImageSize::new(3, 2), DType::U16)
                );
                assert_eq!(decoded(&bytes), want, "planar {planar}, big-endian {big_endian}");
            }
        }
    }

    #[test]
    fn pictures_of_usual_colors_are_arrays_too() {
        let mut bytes = Cursor::new(Vec::new());
        let mut encoder = TiffEncoder::new(&mut bytes).unwrap();
        let samples: Vec<f32> = (0..12).map(|n| n as f32 / 4.0).collect();
        encoder.write_image::<colortype::RGB32Float>(2, 2, &samples).unwrap();
        let bands = Bands::open(bytes.get_ref()).unwrap();
        assert_eq!((bands.bands, bands.dtype), (3, DType::F32));
        let mut target = vec![0; bands.bytes() as usize];
        bands.decode(&mut target).unwrap();
        let found: Vec<f32> =
            target.as_chunks::<4>().0.iter().map(|&four| f32::from_ne_bytes(four)).collect();
        assert_eq!(found, [0.0, 0.75, 1.5, 2.25, 0.25, 1.0, 1.75, 2.5, 0.5, 1.25, 2.0, 2.75]);
    }

    #[test]
    fn each_cut_and_each_changed_byte_is_an_error_or_an_array_of_the_declared_size() {
        let whole = five_bands(false, false);
        for length in 0..whole.len() {
            let read = Bands::open(&whole[..length]).and_then(|bands| {
                let mut target = vec![0; bands.bytes() as usize];
                bands.decode(&mut target)
            });
            assert!(read.is_err(), "{length}");
        }
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= flip;
                let Ok(bands) = Bands::open(&changed) else { continue };
                if bands.memory() < 1 << 20 {
                    let mut target = vec![0; bands.bytes() as usize];
                    let _ = bands.decode(&mut target);
                }
            }
        }
    }
}
