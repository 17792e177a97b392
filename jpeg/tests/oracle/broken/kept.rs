//! Damaged pictures that are kept: their pixels are those of libjpeg-turbo, whatever is wrong with
//! the file. What libjpeg-turbo does not decode stays an error.

use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Color, Damage, ErrorKind, Header, OnDamage, Region, Scale, Size};

use crate::broken::damage::{kind_tests, kinds};
use crate::harness::compare::pixels;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::{Recipe, Turbo};

/// Limit on the reported findings.
const TOLD: usize = 8;
/// Of so many files one is decoded at another scale, in gray and in part, too.
const OFTEN: usize = 7;

/// Returns a JPEG of a kind of `damage`. Progressive ones have one row of blocks in an MCU: for
/// missing scans, libjpeg-turbo 2.1 looks at other rows of blocks than 3.1 if there are more.
fn jpeg_of(kind: usize) -> Vec<u8> {
    let progressive = Recipe { progressive: true, ..Recipe::sampled(2, 1) };
    match kind {
        9 => Turbo::new().encode(&Picture::new(64, 56, 3, Motif::Scene, 9), &progressive),
        13 => {
            let recipe = Recipe { ycck: true, ..progressive };
            Turbo::new().encode(&Picture::new(43, 30, 4, Motif::Scene, 13), &recipe)
        }
        _ => kinds().swap_remove(kind),
    }
}

/// Both decoders, and the findings.
struct Kept {
    ours: TestDecoder,
    turbo: Turbo,
    tried: usize,
    /// Files with pixels that are lost.
    lost: usize,
    found: Vec<String>,
}

impl Kept {
    fn new() -> Kept {
        Kept {
            ours: TestDecoder::default(),
            turbo: Turbo::new(),
            tried: 0,
            lost: 0,
            found: Vec::new(),
        }
    }

    fn try_one(&mut self, jpeg: &[u8], what: &str) {
        self.tried += 1;
        self.compare(jpeg, Scale::Full, Color::Rgb, what);
        if self.tried.is_multiple_of(OFTEN) {
            let scale = Scale::ALL[self.tried / OFTEN % 4];
            let color = [Color::Rgb, Color::Gray][self.tried / OFTEN % 2];
            self.compare(jpeg, scale, color, what);
        }
    }

    /// Compares the whole picture and a part of it.
    fn compare(&mut self, jpeg: &[u8], scale: Scale, color: Color, what: &str) {
        let ask = Ask { scale, color, on_damage: OnDamage::Keep, ..Ask::default() };
        let ours = self.ours.report(jpeg, ask);
        let right = pixels(&mut self.turbo, jpeg, scale, color);
        let wrong = match (&ours, &right) {
            (Err(_), Err(_)) => None,
            // Another kind, by damage of its frame header.
            (Err(error), Ok(_)) if error.kind() == ErrorKind::Unsupported => None,
            (Ok(_), Err(error)) => Some(format!("libjpeg-turbo says {error}")),
            (Err(error), Ok(right)) => Some(format!("{error}; warning {:?}", right.warning)),
            (Ok((picture, _)), Ok(right)) => {
                let difference = picture.difference(&right.picture);
                difference.map(|difference| format!("{difference}; warning {:?}", right.warning))
            }
        };
        self.found.extend(wrong.map(|wrong| format!("{what}, {scale:?} {color:?}: {wrong}")));
        let Ok(header) = Header::parse(jpeg) else { return };
        let Ok((picture, report)) = ours else { return };
        self.lost += usize::from(report.damage == Damage::Lost);
        let Size { width, height } = scale.of(header.width(), header.height());
        let left = width / 3;
        let top = height / 2;
        let region =
            Region { left, top, width: (width - left).min(9), height: (height - top).min(5) };
        let crop = [left, top, region.width, region.height].map(|n| n as usize);
        let crop = picture.crop(crop[0], crop[1], crop[2], crop[3]);
        let part = self.ours.decode(jpeg, Ask { region: Some(region), ..ask });
        let wrong = match part {
            Ok(part) => part.difference(&crop),
            Err(error) => Some(error.to_string()),
        };
        self.found.extend(wrong.map(|wrong| format!("{what}, {scale:?}, region: {wrong}")));
    }

    /// Ends a test in which at least `lost` files lost pixels.
    fn verdict(self, lost: usize) {
        let told = self.found[..self.found.len().min(TOLD)].join("\n");
        assert!(self.found.is_empty(), "{} of {}:\n{told}", self.found.len(), self.tried);
        assert!(self.lost >= lost, "{} of {} have lost pixels", self.lost, self.tried);
    }
}

/// The file cut at every byte.
fn cuts(kind: usize) {
    let mut kept = Kept::new();
    let jpeg = jpeg_of(kind);
    for length in 2..jpeg.len() {
        kept.try_one(&jpeg[..length], &format!("kind {kind} cut at {length}"));
    }
    kept.verdict(100);
}

/// One bit of every byte, its number drawn from the byte's.
fn bits(kind: usize) {
    let mut kept = Kept::new();
    let mut jpeg = jpeg_of(kind);
    for at in 2..jpeg.len() {
        let bit = SplitMix64::nth(kind as u64, at as u64).below(8);
        jpeg[at] ^= 1 << bit;
        kept.try_one(&jpeg, &format!("bit {bit} of byte {at} of kind {kind}"));
        jpeg[at] ^= 1 << bit;
    }
    kept.verdict(50);
}

/// At every byte another change: bytes left out or doubled, markers and fill bytes inserted or
/// written over others.
fn bytes(kind: usize) {
    const PAIRS: [[u8; 2]; 14] = [
        [0xff, 0xd0],
        [0xff, 0xd1],
        [0xff, 0xd2],
        [0xff, 0xd4],
        [0xff, 0xd7],
        [0xff, 0xd9],
        [0xff, 0xdb],
        [0xff, 0xff],
        [0xff, 0x00],
        [0xff, 0x01],
        [0xff, 0xfe],
        [0xff, 0x30],
        [0x00, 0x00],
        [0x55, 0xaa],
    ];
    let mut kept = Kept::new();
    let original = jpeg_of(kind);
    for at in 2..original.len() {
        let mut rng = SplitMix64::nth(100 + kind as u64, at as u64);
        let length = (1 + rng.below(3) as usize).min(original.len() - at);
        let pair = PAIRS[rng.below(PAIRS.len() as u32) as usize];
        let mut jpeg = original.clone();
        let choice = rng.below(4);
        match choice {
            0 => drop(jpeg.drain(at..at + length)),
            1 => drop(jpeg.splice(at..at, original[at..at + length].to_vec())),
            2 => drop(jpeg.splice(at..at, pair)),
            _ => drop(jpeg.splice(at..(at + 2).min(original.len()), pair)),
        }
        kept.try_one(&jpeg, &format!("change {choice} of {pair:x?} at {at} of kind {kind}"));
    }
    kept.verdict(50);
}

kind_tests!(
    every_cut_gives_the_same_pixels cuts,
    every_byte_with_another_bit_gives_the_same_pixels bits,
    every_byte_with_another_change_gives_the_same_pixels bytes,
);

/// Far from its end libjpeg-turbo reads a file with other code than near it.
#[test]
fn a_large_file_gives_the_same_pixels() {
    let mut kept = Kept::new();
    for (luma, seed) in [(1, 1), (2, 2)].into_iter().zip(1..) {
        let picture = Picture::new(320, 240, 3, Motif::Scene, seed);
        let original =
            kept.turbo.encode(&picture, &Recipe { quality: 95, luma, ..Recipe::default() });
        assert!(original.len() > 40_000, "{}", original.len());
        for number in 0..150 {
            let mut rng = SplitMix64::nth(seed, number);
            let mut jpeg = original.clone();
            let at = 600 + rng.below(jpeg.len() as u32 - 600) as usize;
            match rng.below(4) {
                0 => jpeg.truncate(at),
                1 => drop(jpeg.splice(at..at, [0xff, 0xff, 0, 0x12])),
                2 => drop(jpeg.splice(at..at, [0xff, rng.below(256) as u8])),
                _ => jpeg[at] ^= 1 << rng.below(8),
            }
            kept.try_one(&jpeg, &format!("{luma:?}, number {number}, byte {at}"));
        }
    }
    kept.verdict(150);
}

/// Rows of blocks count in pairs or more in a gray picture whose factors are not 1.
#[test]
fn a_gray_picture_with_factors_gives_the_same_pixels() {
    let mut kept = Kept::new();
    for (luma, progressive) in [((2, 1), true), ((2, 2), false), ((1, 4), false)] {
        let picture = Picture::new(70, 51, 1, Motif::Scene, 5);
        let recipe = Recipe { progressive, luma, ..Recipe::default() };
        let jpeg = kept.turbo.encode(&picture, &recipe);
        for length in (300..jpeg.len()).step_by(3) {
            kept.try_one(&jpeg[..length], &format!("{luma:?} {progressive} cut at {length}"));
        }
    }
    kept.verdict(100);
}

/// A progressive picture in 4:2:0, and for cuts of it the FNV-1a hashes (64 bits) of the pixels of
/// libjpeg-turbo 3.1 (simplejpeg 1.9.0, `strict=False`): versions before 3 look at other rows of
/// blocks if an MCU has several.
const SCANS: &[u8] = include_bytes!("kept/scans_420.jpg");
const CUTS: [(usize, u64); 11] = [
    (292, 0x1bf3_d27d_e776_9c97),
    (389, 0x8aba_707b_c5f4_6b69),
    (583, 0x48f8_94ef_3184_a5af),
    (680, 0xc183_e530_ea90_6948),
    (874, 0xf2ee_7c28_c688_064c),
    (971, 0x364e_cd38_fcfb_c38e),
    (1262, 0xebca_b87a_e0e5_5c1e),
    (1359, 0x2316_5b87_c263_1e7d),
    (1456, 0x7101_539a_6591_fe92),
    (1553, 0xd9e3_23b1_e3da_7f53),
    (1650, 0xa81a_fdee_b1cf_5bf6),
];

#[test]
fn missing_scans_of_several_rows_of_blocks_are_estimated_as_in_the_newest_version() {
    let mut ours = TestDecoder::default();
    for (length, expected) in CUTS {
        let ask = Ask { on_damage: OnDamage::Keep, ..Ask::default() };
        let picture = ours.decode(&SCANS[..length], ask).unwrap();
        let hash = picture.bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(hash, expected, "cut at {length}");
    }
}
