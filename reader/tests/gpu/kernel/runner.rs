//! Runs kernels as a program: built once with g++ for each sanitizer, with files as input and output. With TARFLUME_PTX,
//! the path of a file, what runs is this PTX instead (`make ptx`).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use tarflume::internal::args::{self, Strided};
use tarflume::internal::convert::{Finish, Pictures, PixelElement};
use tarflume::internal::crop::CropBox;
use tarflume::internal::launch::{Argument, Launch};
use tarflume::internal::resample::Strides;
use tarflume::internal::row_header::{Format, RowHeader, RowPicture};
use tarflume::transforms::device_list::LIST_BYTES;
use tarflume::{Cut, ImageSize, Layout, Normalize};
use tarflume_fixtures::{KernelPrograms, Sanitizer};

/// Addresses of the arrays, as a device might have handed them out.
const INPUT: u64 = 1 << 40;
const STORE: u64 = 2 << 40;
const FLIPS: u64 = 3 << 40;
const NUMBERS: u64 = 4 << 40;
const OUTPUT: u64 = 5 << 40;

/// What NVIDIA's compiler made of the kernels, if that is to be run.
fn ptx() -> Option<OsString> {
    env::var_os("TARFLUME_PTX")
}

/// The program with this sanitizer, not yet started.
fn program(sanitizer: Sanitizer) -> Command {
    static PROGRAMS: OnceLock<KernelPrograms> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        KernelPrograms::build(out, if ptx().is_some() { "ptx" } else { "kernel" }).unwrap()
    });
    let Some(text) = ptx() else { return programs.sanitized("run_kernel", sanitizer) };
    let mut word = OsString::from("ptx=");
    word.push(text);
    let mut command = programs.program("run_ptx");
    command.arg(word);
    command
}

/// A run, and what the host makes of the same input.
pub(crate) struct Case {
    pub(crate) run: Run,
    pub(crate) expected: Vec<u8>,
}

/// One launch of a kernel on arrays.
pub(crate) struct Run {
    entry: &'static str,
    launch: Option<Launch>,
    block: u32,
    arrays: Vec<(u64, Vec<u8>)>,
    output: u64,
}

impl Run {
    /// Nothing yet, for the entry `tarflume_{entry}`, or `entry` of the tests.
    pub(crate) fn of(entry: &'static str) -> Run {
        Run { entry, launch: None, block: args::BLOCK, arrays: Vec::new(), output: OUTPUT }
    }

    /// Pictures and what shall become of them.
    pub(crate) fn pictures(mut self, pictures: &Pictures, finish: &Finish, from: &[u8]) -> Run {
        self.launch = Some(args::finish_launch(finish, pictures, INPUT, None, OUTPUT));
        self.array(INPUT, from)
    }

    pub(crate) fn flips(mut self, flips: Option<&[u8]>) -> Run {
        let Some(flips) = flips else { return self };
        let launch = self.launch.as_mut().expect("pictures were given");
        launch.arguments[2] = Argument::U64(FLIPS);
        self.array(FLIPS, flips)
    }

    /// Headers followed by their pictures, and a store, as pictures of the shape of `drawn`.
    pub(crate) fn drawn(
        mut self,
        heads: Strides<'_>,
        store: Option<Strides<'_>>,
        drawn: &Pictures,
        finish: &Finish,
    ) -> Run {
        let rows = store.map(|store| args::Store {
            at: STORE,
            stride: store.stride as u64,
            rows: (store.bytes.len() / store.stride) as u64,
        });
        let stride = heads.stride as u64;
        self.launch = Some(args::draw_launch(finish, INPUT, stride, rows, drawn, OUTPUT).unwrap());
        let run = self.array(INPUT, heads.bytes);
        match store {
            Some(store) => run.array(STORE, store.bytes),
            None => run,
        }
    }

    /// Rows of a store, selected by numbers. The arrays begin `shift` bytes after a multiple of 16.
    pub(crate) fn gathered(
        mut self,
        slab: &[u8],
        row_bytes: usize,
        numbers: &[u64],
        shift: u64,
    ) -> Run {
        let rows = (slab.len() / row_bytes) as u64;
        self.output += shift;
        self.launch = Some(args::gather_launch(
            INPUT + shift,
            rows,
            NUMBERS,
            numbers.len(),
            row_bytes,
            self.output,
        ));
        self.array(INPUT + shift, slab).array(NUMBERS, bytemuck::cast_slice(numbers))
    }

    /// Lists of actions, and the pictures that they change, without gaps.
    pub(crate) fn changed(mut self, lists: &[u8], pictures: &Pictures, from: &[u8]) -> Run {
        let row = pictures.row_bytes() as u64;
        let listed = Strided { at: INPUT, stride: LIST_BYTES as u64 };
        let pixels = Strided { at: STORE, stride: row };
        let out = Strided { at: OUTPUT, stride: row };
        self.launch = Some(args::change_launch(listed, pixels, out, pictures).unwrap());
        self.array(INPUT, lists).array(STORE, from)
    }

    /// Lists of actions, and changed pictures that are finished and mixed.
    pub(crate) fn delivered(
        mut self,
        lists: &[u8],
        pictures: &Pictures,
        finish: &Finish,
        from: &[u8],
    ) -> Run {
        let listed = Strided { at: INPUT, stride: LIST_BYTES as u64 };
        let pixels = Strided { at: STORE, stride: pictures.row_bytes() as u64 };
        let launch = args::deliver_launch(finish, listed, pixels, pictures, OUTPUT);
        self.launch = Some(launch.unwrap());
        self.array(INPUT, lists).array(STORE, from)
    }

    /// Bits of floats, given to a function that rounds each to 16 bits.
    pub(crate) fn rounded(mut self, floats: &[u32]) -> Run {
        let arguments = [INPUT, OUTPUT, floats.len() as u64].map(Argument::U64);
        let arguments = arguments.into();
        self.launch = Some(Launch { entry: self.entry, grid: (1, 1), arguments });
        self.array(INPUT, bytemuck::cast_slice(floats))
    }

    fn array(mut self, at: u64, bytes: &[u8]) -> Run {
        self.arrays.push((at, bytes.to_vec()));
        self
    }

    /// `y` rows of `x` blocks of `block` threads each, instead of what the launch has.
    pub(crate) fn grid(mut self, x: u32, y: u32, block: u32) -> Run {
        self.launch.as_mut().expect("a launch").grid = (x, y);
        self.block = block;
        self
    }

    /// Runs it; `bytes` of output.
    pub(crate) fn output(&self, bytes: usize) -> Vec<u8> {
        // Any order will do, and each run has another one.
        let words = self.words(Path::new(""), bytes);
        let mut dice = Dice(words.len() as u64);
        for byte in words.iter().flat_map(|word| word.bytes()) {
            dice.0 ^= u64::from(byte);
            dice.next();
        }
        self.run(Sanitizer::Address, dice.next() >> 32, 1, bytes)
    }

    /// Runs it in the orders from `seed` on, which must agree.
    pub(crate) fn run(
        &self,
        sanitizer: Sanitizer,
        seed: u64,
        orders: u32,
        bytes: usize,
    ) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        for (at, bytes) in &self.arrays {
            fs::write(folder.path().join(at.to_string()), bytes).unwrap();
        }
        let words = self.words(folder.path(), bytes);
        let ran = program(sanitizer)
            .args([format!("seed={seed}"), format!("orders={orders}")])
            .args(&words)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{sanitizer:?} seed={seed} {words:?}: {text}");
        fs::read(folder.path().join("out")).unwrap()
    }

    fn words(&self, folder: &Path, bytes: usize) -> Vec<String> {
        let launch = self.launch.as_ref().expect("a launch");
        assert_eq!(launch.entry.trim_start_matches("tarflume_"), self.entry);
        let folder = folder.to_str().expect("a path of UTF-8");
        let mut words = vec![format!("array={}:{bytes}::{folder}/out", self.output)];
        words.extend(
            self.arrays
                .iter()
                .map(|(at, bytes)| format!("array={at}:{}:{folder}/{at}:", bytes.len())),
        );
        let (x, y) = launch.grid;
        words.push(format!("launch={}", launch.entry));
        words.push(format!("grid={x},{y},1"));
        words.push(format!("block={},1,1", self.block));
        words.extend(launch.arguments.iter().map(|argument| match argument {
            Argument::U64(number) => format!("u64={number}"),
            Argument::U32(number) => format!("u32={number}"),
            Argument::F32(number) => format!("f32={:x}", number.to_bits()),
        }));
        words
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
