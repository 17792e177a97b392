//! `Fallback`: a decoder of the user for pictures of kinds that this crate does not decode.
//!
//! Contracts only; [`Image`](crate::Image) calls them.

use std::fmt;

use tarflume_image::{Channels, ImageSize};
use tarflume_types::Result;

use crate::decode::costs::calls::Calls;

/// Opens pictures of kinds that [`Image`](crate::Image) does not decode: AVIF, HEIC, JPEG XL, JPEG 2000, arithmetic and
/// lossless JPEG, rare TIFF, and others. [`Image::fallback`](crate::Image::fallback) takes it.
///
/// ```
/// use tarflume::{
///     Calls, Channels, Error, ErrorKind, Fallback, FallbackPicture, Image, ImageSize, Resize, Result,
/// };
///
/// /// Portable graymaps: `P5`, width, height and 255 in decimal, then a byte for each pixel.
/// #[derive(Debug)]
/// struct Graymaps;
///
/// struct Graymap<'a> {
///     size: ImageSize,
///     pixels: &'a [u8],
/// }
///
/// impl Fallback for Graymaps {
///     fn open<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn FallbackPicture + 'a>> {
///         let damaged = || Error::new(ErrorKind::Decode, "not a graymap of 8 bits");
///         let mut words = bytes.splitn(5, |byte| byte.is_ascii_whitespace());
///         let mut number = |wanted: Option<u32>| {
///             let found = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
///             found.filter(|found| wanted.is_none_or(|wanted| wanted == *found)).ok_or_else(damaged)
///         };
///         if !bytes.starts_with(b"P5") {
///             return Err(damaged());
///         }
///         _ = number(None); // `P5`
///         let size = ImageSize::new(number(None)?, number(None)?);
///         number(Some(255))?;
///         let pixels = words.next().filter(|p| p.len() as u64 == size.pixels()).ok_or_else(damaged)?;
///         Ok(Box::new(Graymap { size, pixels }))
///     }
/// }
///
/// impl FallbackPicture for Graymap<'_> {
///     fn size(&self) -> ImageSize {
///         self.size
///     }
///     fn memory(&self) -> u64 {
///         0
///     }
///     fn decode(self: Box<Self>, channels: Channels, out: &mut [u8], _: &mut Calls) -> Result<()> {
///         for (gray, out) in self.pixels.iter().zip(out.chunks_mut(channels.count())) {
///             out.fill(*gray);
///             out.get_mut(3).map(|opacity| *opacity = 255);
///         }
///         Ok(())
///     }
/// }
///
/// let pictures = Image::new("pgm;jpg", Resize::exact(64)).fallback(Graymaps);
/// ```
pub trait Fallback: Send + Sync + fmt::Debug + 'static {
    /// Reads the header of a picture. Called for a picture whose kind is known and not decoded, in any thread.
    ///
    /// # Errors
    /// The picture cannot be read: its sample is bad.
    fn open<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn FallbackPicture + 'a>>;
}

/// A picture that a [`Fallback`] has opened.
pub trait FallbackPicture {
    /// Size in pixels after the turn of its orientation.
    fn size(&self) -> ImageSize;

    /// Whether the picture has more than 8 bits a channel. Columns of floats and of 16-bit integers refuse it, because
    /// [`FallbackPicture::decode`] gives bytes.
    fn exceeds_bytes(&self) -> bool {
        false
    }

    /// Bytes that [`FallbackPicture::decode`] allocates. They are reserved from the loader's memory limit first.
    fn memory(&self) -> u64;

    /// Writes the upright pixels into `pixels`, row by row without gaps, [`Channels::count`] bytes each. Adds the cost of
    /// calls that statistics shall show to `calls`.
    ///
    /// # Errors
    /// The picture cannot be decoded: its sample is bad.
    fn decode(
        self: Box<Self>,
        channels: Channels,
        pixels: &mut [u8],
        calls: &mut Calls,
    ) -> Result<()>;
}
