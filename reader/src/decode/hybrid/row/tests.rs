//! The kind of row of each sample, and its content.

use tarflume_device::fake::FakeDevice;
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_image::row_header::PixelSource;

use crate::decode::DecodeHooks;
use crate::decode::hybrid::balance::WaitTimes;
use crate::decode::hybrid::row::*;
use crate::decode::pictures::image::Image;
use tarflume_transforms::placing::RandomResizedCrop;

fn staged(share: DeviceShare, scales: bool, verifies: bool) -> HybridRows {
    let crop = RandomResizedCrop::new(16).flip(0.5);
    let image = Image::new("jpg", crop).device_decoder(share);
    let part = image.for_device().unwrap();
    let driver = Arc::new(FakeDevice::new(std::time::Duration::ZERO));
    let least = if scales { Scale::Eighth } else { Scale::Full };
    let by = RowDecoder::Library { decoder: driver, least, verifies };
    HybridRows::new(part.decode, part.shared.unwrap(), by).unwrap()
}

fn sample<'a>(parts: &'a [(&'a str, &'a [u8])], seed: u64) -> Sample<'a> {
    Sample { key: b"k", ordinal: 1, seed, parts, entry_points: &[], excerpts: &[] }
}

/// The row of a JPEG.
fn row(staged: &HybridRows, jpeg: &[u8], seed: u64) -> Result<Vec<u8>> {
    let mut row = vec![0xcb; staged.shape().bytes().unwrap()];
    let parts = [("jpg", jpeg)];
    let mut scratch = Scratch::default();
    let sample = sample(&parts, seed);
    staged.prepare(&[sample], &mut scratch);
    staged.decode(&sample, Row::fixed(&mut row), &mut scratch).map(|()| row)
}

/// Where the pixels of a row come from.
fn source(staged: &HybridRows, jpeg: &[u8], seed: u64) -> PixelSource {
    head_of(&row(staged, jpeg, seed).unwrap()).unwrap().from()
}

fn photo(kind: PhotoKind, width: u16, height: u16) -> Vec<u8> {
    Photo::new(width, height, kind).encode(1).unwrap()
}

#[test]
fn a_row_for_the_device_has_the_jpeg_and_its_decode_parameters() {
    let jpeg = photo(PhotoKind::Yuv420, 400, 300);
    for (scales, least) in [(true, 1), (false, 0)] {
        let staged = staged(DeviceShare::fixed(1000), scales, true);
        let row = row(&staged, &jpeg, 7).unwrap();
        let head = head_of(&row).unwrap();
        assert_eq!(
            (head.from(), head.seed(), jpeg_of(&head, &row)),
            (PixelSource::Store, 7, Some(&jpeg[..]))
        );
        assert!(head.scale() >= least && (scales || head.scale() == 0), "{head:?}");
        let picture = head.picture().unwrap();
        assert_eq!(
            (picture.size.width, picture.size.height),
            (400 >> head.scale(), 300 >> head.scale())
        );
        picture.area.check(picture.size).unwrap();
    }
}

#[test]
fn a_row_of_the_host_has_the_pixels_of_a_host_only_loader() {
    let jpeg = photo(PhotoKind::Yuv420, 80, 60);
    let staged = staged(DeviceShare::fixed(0), true, false);
    let row = row(&staged, &jpeg, 7).unwrap();
    let head = head_of(&row).unwrap();
    assert_eq!(head.from(), PixelSource::Row);
    let parts = [("jpg", &jpeg[..])];
    let mut pixels = vec![0; 16 * 16 * 3];
    let image = Image::new("jpg", RandomResizedCrop::new(16).flip(0.5));
    let sample = sample(&parts, 7);
    image.decode(&sample, Row::fixed(&mut pixels), &mut Scratch::default()).unwrap();
    assert!(row[RowHeader::BYTES..][..pixels.len()] == pixels);
    let picture = head.picture().unwrap();
    assert_eq!((picture.size, picture.flip), (ImageSize::new(16, 16), false));
}

#[test]
fn the_host_decodes_what_the_device_does_not_accept() {
    let staged = staged(DeviceShare::fixed(1000), true, false);
    assert_eq!(source(&staged, &photo(PhotoKind::Yuv422, 80, 60), 3), PixelSource::Store);
    for kind in [PhotoKind::Progressive, PhotoKind::Cmyk, PhotoKind::Gray, PhotoKind::Exif(3)] {
        assert_eq!(source(&staged, &photo(kind, 80, 60), 3), PixelSource::Row, "{kind:?}");
    }
    assert_eq!(source(&staged, &photo(PhotoKind::Exif(1), 80, 60), 3), PixelSource::Store);
    // Longer than the row has room for.
    let mut long = photo(PhotoKind::Yuv420, 80, 60);
    let comment = [&[0xff, 0xfe, 0xff, 0xff][..], &vec![b' '; 0xffff - 2]].concat();
    long.splice(2..2, comment.repeat(3));
    assert_eq!(source(&staged, &long, 3), PixelSource::Row);
    // Damage is reported by the host's decoder.
    let cut = photo(PhotoKind::Yuv420, 80, 60);
    assert!(row(&staged, &cut[..cut.len() - 20], 3).is_err());
    assert!(row(&staged, b"no picture", 3).is_err());
}

#[test]
fn damage_among_the_codes_is_found_where_it_must_be() {
    let mut jpeg = photo(PhotoKind::Yuv420, 80, 80);
    let start = jpeg.len() / 2;
    let end = jpeg.len() - 2;
    jpeg[start..end].fill(0);
    jpeg.splice(start..start + 2, [0xff, 0xd9]);
    assert!(row(&staged(DeviceShare::fixed(1000), true, false), &jpeg, 3).is_ok());
    assert!(row(&staged(DeviceShare::fixed(1000), true, true), &jpeg, 3).is_err());
}

#[test]
fn pictures_too_large_for_the_device_are_decoded_by_the_host() {
    let jpeg = photo(PhotoKind::Yuv420, 1300, 900);
    let scaled = staged(DeviceShare::fixed(1000), true, false);
    assert!((0..8).any(|seed| source(&scaled, &jpeg, seed) == PixelSource::Store));
    let full = staged(DeviceShare::fixed(1000), false, false);
    assert!((0..8).all(|seed| source(&full, &jpeg, seed) == PixelSource::Row));
}

#[test]
fn a_share_selects_by_seed_and_follows_its_setting() {
    /// How many of 200 rows the device decodes.
    fn count(staged: &HybridRows, jpeg: &[u8]) -> usize {
        (0..200).filter(|&seed| source(staged, jpeg, seed) == PixelSource::Store).count()
    }

    let jpeg = photo(PhotoKind::Yuv420, 40, 30);
    let half = count(&staged(DeviceShare::fixed(500), false, false), &jpeg);
    assert!((70..130).contains(&half), "{half}");
    let auto = staged(DeviceShare::auto(500), false, false);
    assert_eq!(count(&auto, &jpeg), half);
    let cpu = std::time::Duration::from_millis(9);
    auto.sharing.observe(WaitTimes { cpu, ..WaitTimes::default() });
    assert!(auto.sharing.per_mille() > 500 && count(&auto, &jpeg) >= half);
}
