//! Excerpts give the pixels of whole JPEGs, or an error.

use tarflume_fixtures::{Photo, PhotoKind, SplitMix64};

use super::*;
use crate::strips;
use crate::{
    Decoder, Error, ErrorKind, Header, Job, OnDamage, Scanner, Size, orientation_of, strips_fit,
};

/// A JPEG with its entry points and the checksums of its strips.
struct Packed {
    jpeg: Vec<u8>,
    points: Vec<u8>,
    sums: Vec<u8>,
}

impl Packed {
    fn new(width: u16, height: u16, kind: PhotoKind, seed: u64) -> Packed {
        let jpeg = Photo::new(width, height, kind).encode(seed).unwrap();
        let header = Header::parse(&jpeg).unwrap();
        let mut points = Vec::new();
        let mut sums = Vec::new();
        Scanner::new().scan(&jpeg, &header, &mut points).unwrap();
        strips(&jpeg, &points, &mut sums).unwrap();
        Packed { jpeg, points, sums }
    }

    fn excerpt(&self, region: Region, scale: Scale) -> Option<(Excerpt<'_>, ExcerptBytes)> {
        let points = EntryPoints::read(&self.points).unwrap();
        let height = Header::parse(&self.jpeg).unwrap().height();
        Excerpt::of(&points, &self.sums, height, region, scale)
    }

    /// The bytes of an excerpt; all others are `filler`.
    fn read(&self, bytes: &ExcerptBytes, filler: u8) -> Vec<u8> {
        let mut read = vec![filler; bytes.rows.end];
        for range in [0..bytes.header, bytes.rows.clone()] {
            read[range.clone()].copy_from_slice(&self.jpeg[range]);
        }
        read
    }

    fn decode(
        &self,
        bytes: &[u8],
        region: Region,
        scale: Scale,
        excerpt: Option<Excerpt<'_>>,
    ) -> Result<Vec<u8>, Error> {
        let header = Header::parse(bytes)?;
        let stride = region.width as usize * 3;
        let decode = |on_damage| {
            let mut pixels = vec![0; stride * region.height as usize];
            let job = Job::new(bytes, &header, &mut pixels);
            let job = Job { region: Some(region), scale, stride, excerpt, on_damage, ..job };
            let job = Job { entry_points: Some(self.points.as_slice()), ..job };
            Decoder::new().decode(job).map(|_| pixels)
        };
        let found = decode(OnDamage::Refuse);
        if excerpt.is_some() {
            let kept = decode(OnDamage::Keep).ok();
            assert!(kept.as_ref() == found.as_ref().ok(), "bytes that are not there are not kept");
        }
        found
    }
}

fn region(rng: &mut SplitMix64, size: Size) -> Region {
    let mut span = |all: u32| {
        let length = 1 + rng.below(all);
        (rng.below(all - length + 1), length)
    };
    let (left, width) = span(size.width);
    let (top, height) = span(size.height);
    Region { left, top, width, height }
}

#[test]
fn an_excerpt_has_the_pixels_of_the_whole_jpeg() {
    use PhotoKind::{Gray, Yuv420, Yuv422, Yuv444};
    let mut rng = SplitMix64::new(1);
    let mut saved = 0;
    for (kind, seed) in [Yuv420, Yuv444, Yuv422, Gray].into_iter().zip(1..) {
        let packed = Packed::new(1100, 403, kind, seed); // wide rows have several places
        assert!(packed.jpeg.len() > 16 << 10, "{}", packed.jpeg.len());
        for n in 0..120 {
            let scale = Scale::ALL[n % 4];
            let region = region(&mut rng, scale.of(1100, 403));
            let (excerpt, bytes) = packed.excerpt(region, scale).unwrap();
            let whole = packed.decode(&packed.jpeg, region, scale, None).unwrap();
            for filler in [0, 0xff] {
                let read = packed.read(&bytes, filler);
                let found = packed.decode(&read, region, scale, Some(excerpt));
                assert!(found.unwrap() == whole, "{kind:?} {region} at {scale:?}");
            }
            saved += packed.jpeg.len() - bytes.header - bytes.rows.len();
        }
    }
    assert!(saved > 100 * (16 << 10), "{saved}");
}

#[test]
fn a_changed_byte_of_an_excerpt_is_noticed_and_no_other_byte_is_read() {
    let packed = Packed::new(640, 480, PhotoKind::Yuv420, 7);
    let wanted = Region { left: 100, top: 200, width: 300, height: 64 };
    let (excerpt, bytes) = packed.excerpt(wanted, Scale::Full).unwrap();
    let whole = packed.decode(&packed.jpeg, wanted, Scale::Full, None).unwrap();
    for at in (0..bytes.rows.end).step_by(13) {
        let mut read = packed.jpeg[..bytes.rows.end].to_vec();
        read[at] ^= 0x10;
        let found = packed.decode(&read, wanted, Scale::Full, Some(excerpt));
        if at < bytes.header || bytes.rows.contains(&at) {
            found.unwrap_err(); // a changed header may be no header
        } else {
            assert!(found.unwrap() == whole, "byte {at} is not read");
        }
    }
    // A frame header that declares more columns than these bytes can hold.
    let mut wide = packed.read(&bytes, 0);
    let frame = wide.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    wide[frame + 7] = 0xff;
    packed.decode(&wide, wanted, Scale::Full, Some(excerpt)).unwrap_err();
    // A region outside the excerpt, and an excerpt that was cut.
    let other = Region { left: 0, top: 0, width: 8, height: 8 };
    let read = packed.read(&bytes, 0);
    let refused = packed.decode(&read, other, Scale::Full, Some(excerpt)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Excerpt);
    let cut = &read[..bytes.rows.end - 1];
    assert_eq!(
        packed.decode(cut, wanted, Scale::Full, Some(excerpt)).unwrap_err().kind(),
        ErrorKind::Excerpt
    );
}

#[test]
fn false_checksums_and_false_entry_points_are_refused() {
    let packed = Packed::new(640, 480, PhotoKind::Yuv420, 7);
    let wanted = Region { left: 100, top: 200, width: 300, height: 64 };
    let (_, bytes) = packed.excerpt(wanted, Scale::Full).unwrap();
    let read = packed.read(&bytes, 0);
    let points = EntryPoints::read(&packed.points).unwrap();
    let rows = rows_of(&points, 480, wanted, Scale::Full).unwrap();
    for at in 0..packed.sums.len() {
        let mut strips = packed.sums.clone();
        strips[at] ^= 0x81;
        let excerpt = Excerpt { strips: &strips, rows };
        match packed.decode(&read, wanted, Scale::Full, Some(excerpt)) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Excerpt),
            Ok(_) => assert!(at == 1 || at >= 8, "byte {at}: a row that is not read"),
        }
        let shorter = Excerpt { strips: &packed.sums[..at], rows };
        assert!(packed.decode(&read, wanted, Scale::Full, Some(shorter)).is_err());
    }
    for rows in [(0, 0), (5, 4), (0, 31), (31, 40), (u32::MAX, u32::MAX), (0, u32::MAX)] {
        let excerpt = Excerpt { strips: &packed.sums, rows };
        assert!(excerpt.bytes(&points).is_none(), "{rows:?}");
    }
    assert!(strips_fit(&packed.jpeg, &packed.points, &packed.sums));
    for at in 0..packed.sums.len() {
        let mut strips = packed.sums.clone();
        strips[at] ^= 1;
        assert!(!strips_fit(&packed.jpeg, &packed.points, &strips), "byte {at}");
    }
    let other = Packed::new(640, 480, PhotoKind::Yuv420, 8);
    assert!(!strips_fit(&packed.jpeg, &other.points, &packed.sums));
    let mut out = Vec::new();
    strips(&packed.jpeg, &other.points, &mut out).unwrap_err();
    assert!(out.is_empty());
}

#[test]
fn two_excerpts_of_one_picture_are_one() {
    let packed = Packed::new(640, 480, PhotoKind::Yuv420, 7);
    let crops =
        [(20, 60), (300, 90)].map(|(top, height)| Region { left: 9, top, width: 50, height });
    let [a, b] = crops.map(|crop| packed.excerpt(crop, Scale::Full).unwrap().0);
    let both = a.with(b);
    assert_eq!(both, b.with(a));
    let bytes = both.bytes(&EntryPoints::read(&packed.points).unwrap()).unwrap();
    let read = packed.read(&bytes, 0);
    for crop in crops {
        let whole = packed.decode(&packed.jpeg, crop, Scale::Full, None).unwrap();
        assert!(packed.decode(&read, crop, Scale::Full, Some(both)).unwrap() == whole);
    }
}

#[test]
fn rows_follow_from_the_number_of_rows_and_the_height() {
    let packed = Packed::new(640, 480, PhotoKind::Yuv420, 7);
    let points = EntryPoints::read(&packed.points).unwrap();
    fn crop(top: u32, height: u32) -> Region {
        Region { left: 0, top, width: 1, height }
    }
    assert_eq!(rows_of(&points, 480, crop(0, 16), Scale::Full), Some((0, 2)), "chroma reads below");
    assert_eq!(rows_of(&points, 480, crop(20, 8), Scale::Full), Some((1, 2)));
    assert_eq!(rows_of(&points, 480, crop(40, 4), Scale::Half), Some((4, 6)));
    assert_eq!(rows_of(&points, 480, crop(500, 4), Scale::Full), None);
    assert_eq!(rows_of(&points, 9000, crop(0, 16), Scale::Full), None, "another picture");
    assert_eq!(rows_of(&points, 480, crop(u32::MAX, 9), Scale::Full), None);
}

#[test]
fn small_jpegs_have_no_strips_and_the_orientation_is_known() {
    let packed = Packed::new(64, 64, PhotoKind::Yuv420, 7);
    assert!(packed.jpeg.len() < 16 << 10 && packed.sums.is_empty());
    assert_eq!(orientation_of(&Packed::new(640, 480, PhotoKind::Yuv420, 7).sums), None);
    assert_eq!(orientation_of(&[1, 6, 1, 0]), Some(6));
    assert_eq!([&[][..], &[1], &[2, 6], &[1, 9]].map(orientation_of), [None; 4]);
}
