//! Opens the pictures of an [`Image`] column: those that are decoded here, and those of a user's decoder. Decodes no
//! pixels.

use tarflume_image::ImageSize;
use tarflume_types::{DecodeFault, Error, ErrorKind, Result};

use super::settings::Image;
use crate::decode::Sample;
use crate::decode::pictures::open_picture::{OpenPicture, PictureSource};

/// What to do about a picture of a kind that is not decoded.
const WAYS_ON: &str = "convert it to JPEG or PNG, or let another library decode it with Image's `fallback` (in Python \
                       fallback=\"pillow\")";

/// For `DecodeHooks::room_of`: the number of pixels is unknown, because the kind of the picture is not decoded here.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The number of pixels for `DecodeHooks::room_of`, from the header of a picture: none if it is damaged.
pub fn room_pixels(bytes: &[u8]) -> u64 {
    match PictureSource::open(bytes, None, None) {
        Ok(source) => source.size().pixels(),
        Err(error) if error.kind() == ErrorKind::Unsupported => UNKNOWN,
        Err(_) => 0,
    }
}

/// Marks the error of a picture of which only an excerpt was read: the loader then reads the whole part.
pub(super) fn of_excerpt(result: Result<()>, sample: &Sample<'_>) -> Result<()> {
    match sample.excerpt(0) {
        Some(_) => result.map_err(|error| error.with_fault(DecodeFault::Excerpt)),
        None => result,
    }
}

impl Image {
    /// Checks the number of pixels against the column's limit.
    pub(super) fn check_pixels(&self, size: ImageSize) -> Result<()> {
        if size.pixels() > self.most_pixels {
            let text = format!(
                "a picture of {size} has {} pixels, above the limit of {} (`most_pixels`)",
                size.pixels(),
                self.most_pixels
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(())
    }

    /// The picture of a sample, for what its header states; with the fallback if its kind is not decoded here.
    pub(super) fn header<'a>(&self, sample: &Sample<'a>) -> Result<PictureSource<'a>> {
        match self.source(sample) {
            Err(error) if error.kind() == ErrorKind::Unsupported => self.replacement(sample, error),
            source => source,
        }
    }

    /// Opens a picture, with the fallback if its kind is not decoded here.
    pub(super) fn open<'a>(&self, sample: &Sample<'a>) -> Result<OpenPicture<'a>> {
        match self.open_own(sample) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.place(sample, self.replacement(sample, error)?)
            }
            opened => opened,
        }
    }

    /// Opens a picture of a kind that is decoded here.
    pub(super) fn open_own<'a>(&self, sample: &Sample<'a>) -> Result<OpenPicture<'a>> {
        self.place(sample, self.source(sample)?)
    }

    /// Opens a picture whose kind is not decoded here, as `error` says.
    pub(super) fn replacement<'a>(
        &self,
        sample: &Sample<'a>,
        error: Error,
    ) -> Result<PictureSource<'a>> {
        let Some(fallback) = &self.fallback else { return Err(error.and_advice(WAYS_ON)) };
        // A fallback needs all bytes: after this error, the loader reads the part whole.
        if sample.excerpt(0).is_some() {
            return Err(error);
        }
        let source = PictureSource::Fallback(fallback.open(sample.part(0))?);
        self.check_pixels(source.size())?;
        self.check_source(&source)?;
        Ok(source)
    }
}
