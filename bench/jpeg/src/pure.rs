//! The decoders in Rust that others use: `zune-jpeg`, and `image`, which wraps it.

use image::ImageFormat;
use tarflume_jpeg::Size;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::resize::Resize;
use crate::work::{Competitor, Data, OnDone, Photo, Single, Worker};

pub(crate) const ZUNE: Competitor = Competitor { name: "zune-jpeg", make: zune_full };
pub(crate) const IMAGE: Competitor = Competitor { name: "image", make: image_full };
pub(crate) const ZUNE_CROP: Competitor = Competitor { name: "zune-jpeg full", make: zune_crop };
pub(crate) const IMAGE_CROP: Competitor = Competitor { name: "image full", make: image_crop };

fn zune(photo: &Photo, pixels: &mut [u8]) -> Result<(), String> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&photo.jpeg[..]), options);
    decoder.decode_into(&mut pixels[..photo.room()]).map_err(|e| format!("{e:?}"))
}

fn image(photo: &Photo) -> Result<Vec<u8>, String> {
    let decoded = image::load_from_memory_with_format(&photo.jpeg, ImageFormat::Jpeg);
    Ok(decoded.map_err(|e| e.to_string())?.into_rgb8().into_raw())
}

fn zune_full(data: &Data) -> Box<dyn Worker + '_> {
    let mut pixels = vec![0; data.room()];
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        zune(photo, &mut pixels)?;
        seen(item, &pixels[..photo.room()]);
        Ok(())
    }))
}

fn image_full(_: &Data) -> Box<dyn Worker + '_> {
    Box::new(Single(|data: &Data, item: usize, seen: &mut OnDone<'_>| {
        seen(item, &image(data.photo(item))?);
        Ok(())
    }))
}

fn zune_crop(data: &Data) -> Box<dyn Worker + '_> {
    let mut pixels = vec![0; data.room()];
    let mut resize = Resize::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        zune(photo, &mut pixels)?;
        let size = Size { width: photo.width, height: photo.height };
        seen(item, resize.cut(&pixels, size, data.items[item].window)?);
        Ok(())
    }))
}

fn image_crop(_: &Data) -> Box<dyn Worker + '_> {
    let mut resize = Resize::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        let pixels = image(photo)?;
        let size = Size { width: photo.width, height: photo.height };
        seen(item, resize.cut(&pixels, size, data.items[item].window)?);
        Ok(())
    }))
}
