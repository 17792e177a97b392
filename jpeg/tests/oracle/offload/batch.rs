//! `Batch`: pictures for the kernels, which the programs of `fixtures/cuda/build.sh` run over files.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tarflume_jpeg::{EntryPoints, Header, Offload, OffloadPlace, Region};

use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::Picture;

/// Addresses of the arrays, as a device might have handed them out.
const WORKS: u64 = 1 << 40;
const PIECES: u64 = 2 << 40;
const BYTES: u64 = 3 << 40;
const COEFFICIENTS: u64 = 4 << 40;
const SAMPLES: u64 = 5 << 40;
const PIXELS: u64 = 6 << 40;
const FAULTS: u64 = 7 << 40;

/// What a program reports beside wrong results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sanitizer {
    /// Steps outside of arrays, and what C++ leaves undefined.
    Address,
    /// Races of two threads.
    Thread,
}

/// The program with this sanitizer, newer than its sources.
fn program(sanitizer: Sanitizer) -> Command {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let cuda = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cuda");
    let folder = FOLDER.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        let built =
            Command::new("bash").arg(cuda.join("build.sh")).arg(&out).arg("kernel").output();
        let built = built.unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the kernels can't be built as C++: {text}");
        out
    });
    match sanitizer {
        Sanitizer::Address => Command::new(folder.join("run_kernel")),
        Sanitizer::Thread => {
            let mut command = Command::new(cuda.join("fixed_addresses.sh"));
            command.arg(folder.join("run_kernel_thread"));
            command
        }
    }
}

/// Blocks across and down, and the threads of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) block: u32,
}

/// A picture of a batch.
struct Asked {
    jpeg: Vec<u8>,
    ask: Ask<'static>,
    points: Vec<u8>,
    size: (usize, usize),
    channels: usize,
    right: Option<Picture>,
    first: usize,
}

/// Pictures for one run of the kernels.
#[derive(Default)]
pub(crate) struct Batch {
    works: Vec<u32>,
    pieces: Vec<u32>,
    bytes: Vec<u8>,
    next: OffloadPlace,
    asked: Vec<Asked>,
}

impl Batch {
    /// Adds a part of a JPEG; false if it is none for the kernels. Its entry points need not be those of the bytes.
    pub(crate) fn add(&mut self, jpeg: &[u8], ask: Ask<'_>, right: Option<Picture>) -> bool {
        let header = Header::parse(jpeg).unwrap();
        let blob = ask.points.unwrap();
        let points = EntryPoints::read(blob).unwrap();
        let size = ask.scale.of(header.width(), header.height());
        let region = ask.region.unwrap_or(Region::whole(size));
        let work = Offload::of(jpeg, &header, &points, region, ask.scale, ask.color);
        let Ok(Some(work)) = work else { return false };
        self.works.extend(work.words(self.next));
        assert_eq!(self.works.len(), (self.asked.len() + 1) * Offload::WORDS);
        self.pieces.extend(work.pieces().iter().flatten());
        self.bytes.extend(&jpeg[work.range()]);
        self.asked.push(Asked {
            jpeg: jpeg.to_vec(),
            ask: ask_of(ask),
            points: blob.to_vec(),
            size: (region.width as usize, region.height as usize),
            channels: ask.color.bytes(),
            right,
            first: self.next.pixels as usize,
        });
        self.next = OffloadPlace {
            bytes: self.bytes.len() as u64,
            blocks: self.next.blocks + work.blocks(),
            samples: self.next.samples + work.samples(),
            pixels: self.next.pixels + work.pixels(),
            pieces: (self.pieces.len() / Offload::PIECE_WORDS) as u32,
        };
        true
    }

    /// Changes a word of the last piece.
    pub(crate) fn lie(&mut self, word: usize, lie: u32) {
        let first = self.pieces.len() - Offload::PIECE_WORDS;
        self.pieces[first + word] = lie;
    }

    /// Runs the kernels in one order of their threads. `None` for a picture with a fault.
    pub(crate) fn run(&self, grid: Grid) -> Vec<Option<Picture>> {
        self.run_in(grid, Sanitizer::Address, 1)
    }

    /// Runs the kernels in this many orders, which must agree.
    pub(crate) fn run_in(
        &self,
        grid: Grid,
        sanitizer: Sanitizer,
        orders: u32,
    ) -> Vec<Option<Picture>> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("tarflume-offload-{}-{run}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let inputs: [(u64, Vec<u8>); 3] = [
            (WORKS, bytes_of(&self.works)),
            (PIECES, bytes_of(&self.pieces)),
            (BYTES, self.bytes.clone()),
        ];
        let mut command = program(sanitizer);
        command.args([format!("seed={run}"), format!("orders={orders}")]);
        for (at, bytes) in &inputs {
            let path = folder.join(at.to_string());
            fs::write(&path, bytes).unwrap();
            command.arg(format!("array={at}:{}:{}:", bytes.len(), path.display()));
        }
        let OffloadPlace { blocks, samples, pixels, .. } = self.next;
        let count = self.asked.len();
        command.arg(format!("array={COEFFICIENTS}:{}::", blocks * 128));
        command.arg(format!("array={SAMPLES}:{samples}::"));
        for (at, bytes) in [(PIXELS, pixels), (FAULTS, 4 * count as u64)] {
            command.arg(format!("array={at}:{bytes}::{}", folder.join(at.to_string()).display()));
        }
        command.args(launches(grid, count));
        // A tracer, if present, would end the leak check with an error.
        let ran = command.env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{text}");
        let pixels = fs::read(folder.join(PIXELS.to_string())).unwrap();
        let faults = fs::read(folder.join(FAULTS.to_string())).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let faults = faults.as_chunks().0.iter().map(|&four| u32::from_le_bytes(four));
        let pictures = self.asked.iter().zip(faults).map(|(asked, fault)| {
            let (width, height) = asked.size;
            let channels = asked.channels;
            let bytes = pixels[asked.first..][..width * height * channels].to_vec();
            assert!(fault <= 1, "{fault}");
            (fault == 0).then_some(Picture { width, height, channels, bytes })
        });
        pictures.collect()
    }

    /// Runs the kernels: each picture must be the right one.
    pub(crate) fn compare(&self, grid: Grid) {
        self.compare_in(grid, Sanitizer::Address, 1);
    }

    /// The same in this many orders of their threads.
    pub(crate) fn compare_in(&self, grid: Grid, sanitizer: Sanitizer, orders: u32) {
        assert!(!self.asked.is_empty());
        for (asked, found) in self.asked.iter().zip(self.run_in(grid, sanitizer, orders)) {
            let found = found.unwrap_or_else(|| panic!("a fault: {:?}", asked.ask));
            let right = asked.right.as_ref().unwrap();
            assert_eq!(found.difference(right), None, "{:?}", asked.ask);
        }
    }

    /// Each picture without a fault must be that of the CPU's decoder without entry points.
    pub(crate) fn compare_with_cpu(&self, found: &[Option<Picture>]) {
        let mut decoder = TestDecoder::default();
        for (asked, found) in self.asked.iter().zip(found) {
            let Some(found) = found else { continue };
            let with = Ask { points: Some(&asked.points), ..asked.ask };
            let right = decoder.decode(&asked.jpeg, with).unwrap();
            assert_eq!(found.difference(&right), None, "{:?}", asked.ask);
        }
    }
}

/// Words as a device has them in memory.
fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The launches of the three kernels, one after another.
fn launches(grid: Grid, count: usize) -> Vec<String> {
    let Grid { x, y, block } = grid;
    let kernels: [(&str, u32, &[u64]); 3] = [
        ("huff", 1, &[WORKS, PIECES, BYTES, COEFFICIENTS, FAULTS]),
        ("samples", y, &[WORKS, COEFFICIENTS, SAMPLES]),
        ("pixels", y, &[WORKS, SAMPLES, PIXELS]),
    ];
    let words = kernels.into_iter().flat_map(|(name, rows, addresses)| {
        let shape = [format!("launch=tarflume_{name}"), format!("grid={x},{rows},1")];
        let shape = shape.into_iter().chain([format!("block={block},1,1")]);
        let addresses = addresses.iter().map(|address| format!("u64={address}"));
        shape.chain(addresses).chain([format!("u32={count}")])
    });
    words.collect()
}

/// The same without the entry points, which have another lifetime.
fn ask_of(ask: Ask<'_>) -> Ask<'static> {
    Ask {
        scale: ask.scale,
        color: ask.color,
        region: ask.region,
        points: None,
        on_damage: ask.on_damage,
    }
}
