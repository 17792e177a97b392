//! A decoder of the user takes exactly the pictures of kinds that are not decoded here.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use image::{DynamicImage, ImageFormat};
use tarflume::{
    Calls, Channels, Error, ErrorKind, Fallback, FallbackPicture, Image, ImageSize, Loader,
    LoaderBuilder, OnBad, RandomResizedCrop, Remainder, Resize, Result, Stream, Whole,
};
use tarflume_fixtures::TarBytes;

use crate::loader::harness::{Shards, key};

/// The size and the pixels that the fallback finds in any picture.
const SIZE: (u32, u32) = (24, 17);

fn pixel(x: u32, y: u32) -> u8 {
    (x * 9 + y * 5) as u8
}

/// Takes any picture, unless its last byte is 0; says that it needs `memory` bytes.
#[derive(Debug, Clone, Default)]
struct Gray {
    opened: Arc<AtomicU64>,
    memory: u64,
}

impl Fallback for Gray {
    fn open<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn FallbackPicture + 'a>> {
        self.opened.fetch_add(1, SeqCst);
        match bytes.last() {
            Some(0) | None => Err(Error::new(ErrorKind::Decode, "it ends with a zero")),
            _ => Ok(Box::new(self.clone())),
        }
    }
}

impl FallbackPicture for Gray {
    fn size(&self) -> ImageSize {
        ImageSize::new(SIZE.0, SIZE.1)
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn decode(
        self: Box<Self>,
        channels: Channels,
        pixels: &mut [u8],
        calls: &mut Calls,
    ) -> Result<()> {
        let places = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y)));
        for ((x, y), out) in places.zip(pixels.chunks_exact_mut(channels.count())) {
            out.fill(pixel(x, y));
        }
        let busy = Duration::from_millis(3);
        let waiting = Duration::ZERO;
        *calls += Calls { count: 1, busy, waiting };
        Ok(())
    }
}

/// The same picture in a format that is decoded.
fn encoded(format: ImageFormat) -> Vec<u8> {
    let picture = image::RgbImage::from_fn(SIZE.0, SIZE.1, |x, y| image::Rgb([pixel(x, y); 3]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(picture).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn avif() -> Vec<u8> {
    b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miafMA1B\x01".to_vec()
}

/// A TIFF whose compression no decoder has, which is found only after its header.
fn faxed() -> Vec<u8> {
    let mut tiff = encoded(ImageFormat::Tiff);
    let compression = tiff.windows(4).position(|tag| tag == [3, 1, 3, 0]).unwrap();
    tiff[compression + 8..compression + 10].copy_from_slice(&34_661u16.to_le_bytes());
    tiff.push(1);
    tiff
}

/// Samples with these pictures as part `img`.
fn shards(pictures: &[Vec<u8>]) -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(
        0,
        pictures
            .iter()
            .enumerate()
            .map(|(n, picture)| (key(n as u64), vec![("img", picture.clone())])),
    );
    shards
}

fn loader(shards: &Shards, image: Image) -> LoaderBuilder {
    Loader::builder(shards.path())
        .column("image", image)
        .batch(16)
        .remainder(Remainder::Uneven)
        .threads(2)
}

#[test]
fn it_takes_exactly_the_kinds_that_are_not_decoded_and_rows_are_cropped_as_others() {
    let png = encoded(ImageFormat::Png);
    let jpeg = encoded(ImageFormat::Jpeg);
    let shards = shards(&[png.clone(), avif(), jpeg, faxed(), png[..60].to_vec()]);
    for channels in [Channels::Rgb, Channels::Gray] {
        let gray = Gray::default();
        let image = Image::new("img", Resize::exact((9, 7))).channels(channels);
        let image = image.fallback(gray.clone());
        let loader = loader(&shards, image).on_bad(OnBad::Skip).build().unwrap();
        let batch = loader.epoch(0).next().unwrap().unwrap();
        assert_eq!(batch.len(), 4, "the damaged PNG is left out");
        let column = batch.column("image").unwrap();
        assert_eq!(column.row(1), column.row(0), "{channels:?}: as the PNG");
        assert_eq!(column.row(3), column.row(0), "{channels:?}: as the PNG");
        assert_eq!(gray.opened.load(SeqCst), 2, "neither the PNGs nor the JPEG");
        let calls = loader.stats().calls;
        assert_eq!((calls.count, calls.busy), (2, Duration::from_millis(6)));
        assert_eq!(loader.bad_samples()[0].ordinal, 4);
    }
}

#[test]
fn random_crops_are_those_of_the_same_picture() {
    let image = Image::new("img", RandomResizedCrop::new(8).flip(0.5)).fallback(Gray::default());
    let [one, two] = [avif(), encoded(ImageFormat::Png)].map(|picture| {
        let shards = shards(&vec![picture; 12]);
        let loader = loader(&shards, image.clone()).build().unwrap();
        let batch = loader.epoch(3).next().unwrap().unwrap();
        batch.column("image").unwrap().bytes().to_vec()
    });
    assert!(one == two);
}

#[test]
fn without_it_the_error_names_the_kind_and_both_ways_on() {
    for (picture, kind) in [(avif(), "an AVIF"), (faxed(), "Tiff")] {
        let shards = shards(&[picture]);
        let loader = loader(&shards, Image::new("img", Resize::exact(8))).build().unwrap();
        let error = loader.epoch(0).next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        for words in [kind, "convert it", "`fallback`"] {
            assert!(error.text().contains(words), "{words}: {error}");
        }
        assert_eq!(error.place().key, Some(key(0)));
    }
}

#[test]
fn its_errors_and_claims_are_bad_samples() {
    let mut damaged = avif();
    *damaged.last_mut().unwrap() = 0;
    let shards = shards(&[avif(), damaged, encoded(ImageFormat::Png)]);
    let [few, many] = [0, 1 << 50].map(|memory| {
        let gray = Gray { memory, ..Gray::default() };
        let image = Image::new("img", Resize::exact(8)).fallback(gray);
        let loader = loader(&shards, image).on_bad(OnBad::Skip).build().unwrap();
        loader.epoch(0).for_each(|batch| drop(batch.unwrap()));
        loader.bad_samples()
    });
    assert_eq!(few.iter().map(|bad| bad.ordinal).collect::<Vec<_>>(), [1]);
    assert_eq!(many.iter().map(|bad| bad.ordinal).collect::<Vec<_>>(), [0, 1]);
    assert!(many[0].reason.contains(".memory_limit()"), "{many:?}");
    let few = Image::new("img", Resize::exact(8)).most_pixels(24 * 17 - 1);
    let error = loader(&shards, few.fallback(Gray::default())).build().unwrap().epoch(0).next();
    assert_eq!(error.unwrap().unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn pictures_of_any_size_and_their_sizes_come_from_it_with_and_without_an_index() {
    fn image() -> Image {
        Image::new("img", Whole::up_to(1 << 12)).fallback(Gray::default())
    }

    let pictures = [encoded(ImageFormat::Png), avif(), faxed()];
    let shards = shards(&pictures);
    let loader = loader(&shards, image()).column("size", image().sizes()).build().unwrap();
    let mut tar = TarBytes::new();
    for (n, picture) in pictures.iter().enumerate() {
        tar.member(format!("{n}.img").as_bytes(), picture);
    }
    let stream = Stream::from_reader("memory.tar", Cursor::new(tar.ended()));
    let stream = Loader::stream(stream).column("image", image()).column("size", image().sizes());
    let stream = stream.batch(16).build().unwrap();
    let batches = [loader.epoch(0).next().unwrap(), stream.epoch(0).next().unwrap()];
    for batch in batches.map(Result::unwrap) {
        let image = batch.column("image").unwrap();
        let size = batch.column("size").unwrap();
        for n in 0..3 {
            let shape = image.picture(n).unwrap();
            assert_eq!((shape.width, shape.height), SIZE);
            assert_eq!(image.row(n), image.row(0));
            assert_eq!(size.row(n), size.row(0));
        }
    }
}
