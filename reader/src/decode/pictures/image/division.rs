//! The part of an `Image` column's work that a device can do: conversion, or, for pictures stored in its memory,
//! everything but decoding. Builds descriptions; runs nothing.

use std::sync::Arc;

use tarflume_image::convert::Finish;
use tarflume_image::row_header::Format;
use tarflume_image::{Extent, Filter};
use tarflume_transforms::Recipe;
use tarflume_types::{Error, Result};

use super::settings::Image;
use crate::decode::hybrid::pictures::{ChangedPictures, PictureStorage};
use crate::decode::resident::picture::{FitWithin, PreloadImage};
use crate::decode::{AsJpeg, ForDevice, ForResident};

/// Splits the work: the host decodes bytes, the device converts. `None` if there is nothing to convert.
pub(super) fn for_device(image: &Image) -> Option<ForDevice> {
    if let (Some(_), Extent::Fixed(size)) = (image.changes_on_device(), image.transform.extent()) {
        let rows = image.listed_rows();
        let channels = image.channels.count();
        let changed = Some(ChangedPictures { size, channels, share: rows.share.clone() });
        let decode = Arc::new(Image { listed: Some(rows), ..image.bytes_for_device() });
        let finish = image.finish().ok()?;
        return Some(ForDevice { decode, finish, drawn: None, changed, shared: None });
    }
    // Values are erased after they are normalized, which the host then does.
    if image.changes().is_some_and(Recipe::erases_rows) {
        return None;
    }
    let finish = image.finish().ok()?;
    let bytes = image.bytes_for_device();
    let fixed = matches!(image.transform.extent(), Extent::Fixed(_));
    let shared = image.shared();
    if let (Some(_), Extent::Fixed(size)) = (image.decoded, image.transform.extent()) {
        let decode = Arc::new(Image { headed: true, ..bytes });
        let drawn = Some((size, image.channels.count()));
        return Some(ForDevice { decode, finish, drawn, changed: None, shared: None });
    }
    let gains = fixed && (shared.is_some() || finish != Finish::bytes());
    let decode = Arc::new(bytes);
    gains.then_some(ForDevice { decode, finish, drawn: None, changed: None, shared })
}

/// Splits the work for pictures stored on the device: whole pictures, and what each epoch draws of them.
///
/// # Errors
/// Returns an error if the device does not have the filter, or if pictures are too large for it.
pub(super) fn for_resident(
    image: &Image,
    PictureStorage { side, format }: PictureStorage,
) -> Result<Option<ForResident>> {
    let Extent::Fixed(size) = image.transform.extent() else { return Ok(None) };
    image.check_resident()?;
    image.check_stored()?;
    if image.resize_filter() != Filter::Bilinear {
        let text = "pictures stored on a device are resized there, bilinear with antialiasing: use \
                    Filter::Bilinear";
        return Err(Error::usage(text));
    }
    let within = FitWithin { side };
    let channels = image.channels.count();
    let format = if channels == 3 { format } else { Format::Pixels };
    let whole = Image { transform: Arc::new(within), recipe: None, ..image.bytes_for_device() };
    let sizes = Arc::new(whole.sizes());
    let jpeg =
        (channels < 4).then(|| AsJpeg { requests: Arc::new(whole.clone()), gap: image.gap() });
    Ok(Some(ForResident {
        keep: Arc::new(PreloadImage::new(Arc::new(whole), sizes, within, channels, format)?),
        format,
        transform: image.transform.clone(),
        stream: image.stream,
        size,
        channels,
        finish: image.finish()?,
        jpeg,
        changes: image.changes_in_store(),
    }))
}
