//! `Batch`: pictures for the kernels, which a program built by `fixtures/cuda/build.sh` runs over files.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tarflume_jpeg::{EntryPoints, Header, Offload, OffloadPlace, Region};

use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::Picture;

/// The program, newer than its sources.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cuda/build.sh");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        let built = Command::new("bash").arg(script).arg(&out).arg("kernel").output().unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the kernels can't be built as C++: {text}");
        out.join("run_jpeg")
    })
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

    /// Runs the kernels. `None` for a picture with a fault.
    pub(crate) fn run(&self, grid: Grid) -> Vec<Option<Picture>> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("tarflume-offload-{}-{run}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(program());
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let files: [(&str, Vec<u8>); 3] = [
            ("works", words(&self.works)),
            ("pieces", words(&self.pieces)),
            ("bytes", self.bytes.clone()),
        ];
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes).unwrap();
            command.arg(format!("{name}={}", folder.join(name).display()));
        }
        let OffloadPlace { blocks, samples, pixels, .. } = self.next;
        let count = self.asked.len();
        let Grid { x, y, block } = grid;
        let sizes = [("blocks", blocks), ("samples", samples), ("pixels", pixels)];
        command.args(sizes.map(|(name, number)| format!("{name}={number}")));
        command.arg(format!("pictures={count}")).arg(format!("grid={x}x{y}"));
        command.arg(format!("block={block}"));
        command.arg(format!("out={}", folder.join("out").display()));
        // A tracer, if present, would end the leak check with an error.
        let ran = command.env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{text}");
        let out = fs::read(folder.join("out")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let (pixels, faults) = out.split_at(pixels as usize);
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
        assert!(!self.asked.is_empty());
        for (asked, found) in self.asked.iter().zip(self.run(grid)) {
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
