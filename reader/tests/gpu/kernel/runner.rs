//! Runs convert.cu as a program: built once with g++, with files as input and output.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tarflume::internal::args;
use tarflume::internal::convert::{Finish, Pictures, PixelElement};
use tarflume::internal::crop::CropBox;
use tarflume::internal::resample::Strides;
use tarflume::internal::row_header::{Format, RowHeader, RowPicture};
use tarflume::{Cut, ImageSize, Layout, Normalize};

/// The program, newer than its sources. g++ is needed for the tests, so that nothing is skipped.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cuda/build.sh");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        let built = Command::new("bash").arg(script).arg(&out).arg("kernel").output().unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "convert.cu can't be built as C++: {text}");
        out.join("run_kernel")
    })
}

/// One run of an entry.
pub(crate) struct Run {
    folder: tempfile::TempDir,
    words: Vec<OsString>,
}

impl Run {
    pub(crate) fn of(entry: &str) -> Run {
        Run { folder: tempfile::tempdir().unwrap(), words: vec![entry.into()] }
    }

    /// A number or a word.
    pub(crate) fn with(mut self, key: &str, value: impl ToString) -> Run {
        self.words.push(format!("{key}={}", value.to_string()).into());
        self
    }

    /// An array, as a file.
    pub(crate) fn file(mut self, key: &str, bytes: &[u8]) -> Run {
        let path = self.folder.path().join(key);
        fs::write(&path, bytes).unwrap();
        let mut word = OsString::from(format!("{key}="));
        word.push(path);
        self.words.push(word);
        self
    }

    /// Pictures and what shall become of them.
    pub(crate) fn pictures(self, pictures: &Pictures, finish: &Finish, from: &[u8]) -> Run {
        self.file("pictures", from).output_of(pictures, finish)
    }

    /// Headers followed by their pictures, and a store, as pictures of the shape of `drawn`.
    pub(crate) fn drawn(
        self,
        heads: Strides<'_>,
        store: Option<Strides<'_>>,
        drawn: &Pictures,
        finish: &Finish,
    ) -> Run {
        let run = self.file("heads", heads.bytes).with("head_stride", heads.stride);
        let stride = store.map_or(0, |store| store.stride);
        let rows = store.map_or(0, |store| store.bytes.len() / store.stride);
        let run = run.with("store_stride", stride).with("store_rows", rows);
        let run = match store {
            Some(store) => run.file("store", store.bytes),
            None => run,
        };
        run.output_of(drawn, finish)
    }

    fn output_of(self, pictures: &Pictures, finish: &Finish) -> Run {
        fn hex(numbers: [f32; 4]) -> String {
            numbers.map(|number| format!("{:x}", number.to_bits())).join(",")
        }

        let (scale, shift) = finish.factors();
        self.with("rows", pictures.rows())
            .with("height", pictures.size().height)
            .with("width", pictures.size().width)
            .with("channels", pictures.channels())
            .with("layout", args::layout_number(finish.layout_of()))
            .with("element", args::element_number(finish.element()))
            .with("scale", hex(scale))
            .with("shift", hex(shift))
    }

    pub(crate) fn flips(self, flips: Option<&[u8]>) -> Run {
        match flips {
            Some(flips) => self.file("flips", flips),
            None => self,
        }
    }

    /// `y` rows of `x` blocks of `block` threads each.
    pub(crate) fn grid(self, x: u32, y: u32, block: u32) -> Run {
        self.with("grid", format!("{x}x{y}")).with("block", block)
    }

    /// Runs it; `bytes` of output.
    pub(crate) fn output(self, bytes: usize) -> Vec<u8> {
        let out = self.folder.path().join("out");
        let mut word = OsString::from("out=");
        word.push(&out);
        let ran = Command::new(program())
            .args(&self.words)
            .arg(word)
            .arg(format!("out_bytes={bytes}"))
            // A tracer, if present, would end the leak check with an error.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{:?}: {text}", self.words);
        fs::read(out).unwrap()
    }
}

const ELEMENTS: [PixelElement; 4] =
    [PixelElement::U8, PixelElement::F16, PixelElement::Bf16, PixelElement::F32];

/// Bytes as they are, or ImageNet's numbers.
pub(crate) fn finish(element: PixelElement, layout: Layout) -> Finish {
    let finish = match element {
        PixelElement::U8 => Finish::bytes(),
        _ => Finish::floats(element, Normalize::imagenet()).unwrap(),
    };
    finish.layout(layout)
}

/// Every element, layout and number of channels.
pub(crate) fn each(mut body: impl FnMut(PixelElement, Layout, usize)) {
    for element in ELEMENTS {
        for layout in [Layout::Hwc, Layout::Chw] {
            for channels in [1, 3, 4] {
                body(element, layout, channels);
            }
        }
    }
}

/// All of a picture, pixel by pixel.
pub(crate) fn whole(size: ImageSize) -> RowPicture {
    RowPicture { format: Format::Pixels, size, area: Cut::whole(size).into(), flip: false }
}

/// Heads and the pictures behind them as rows of a stride that all fit, a few bytes more.
pub(crate) fn rows_of(rows: &[(RowHeader, &[u8])]) -> (Vec<u8>, usize) {
    let longest = rows.iter().map(|(_, picture)| picture.len()).max().unwrap_or(0);
    let stride = (RowHeader::BYTES + longest).next_multiple_of(16) + 16;
    let mut bytes = vec![0xEE; rows.len() * stride];
    for ((head, picture), row) in rows.iter().zip(bytes.chunks_exact_mut(stride)) {
        row[..RowHeader::BYTES].copy_from_slice(bytemuck::bytes_of(head));
        row[RowHeader::BYTES..][..picture.len()].copy_from_slice(picture);
    }
    (bytes, stride)
}

/// A box that begins and ends anywhere, from one pixel to the whole picture; of whole pixels, if wanted.
pub(crate) fn any_box(dice: &mut Dice, size: ImageSize, pixels: bool) -> CropBox {
    let mut side = |all: u32| {
        let length = 1.0 + dice.part() * (all as f32 - 1.0);
        let start = dice.part() * (all as f32 - length);
        if pixels { (start.floor(), length.floor()) } else { (start, length) }
    };
    let (left, width) = side(size.width);
    let (top, height) = side(size.height);
    CropBox { left, top, width, height }
}

/// Numbers that look random and are the same every time (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// From 0 to 1.
    pub(crate) fn part(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}
