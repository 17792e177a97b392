//! `Batch`: pictures for the kernels, which the programs of `fixtures/cuda/build.sh` run over files.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{self, Command};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tarflume_fixtures::{KernelPrograms, Sanitizer};
use tarflume_jpeg::{EntryPoints, Header, Offload, OffloadPlace, Region};

use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::Picture;

/// Bytes of a piece, and where its bytes in a record are that say how many pieces there are.
const PIECE: usize = 32;
const PIECES: usize = 36;
const COUNT: usize = 40;

/// Addresses of the arrays, as a device might have handed them out.
const RECORDS: u64 = 1 << 40;
const COEFFICIENTS: u64 = 4 << 40;
const SAMPLES: u64 = 5 << 40;
const PIXELS: u64 = 6 << 40;
const FAULTS: u64 = 7 << 40;

/// The program with this sanitizer, not yet started.
fn program(sanitizer: Sanitizer) -> Command {
    static PROGRAMS: OnceLock<KernelPrograms> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        KernelPrograms::build(out, "kernel").unwrap()
    });
    programs.sanitized("run_kernel", sanitizer)
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
    records: Vec<Vec<u8>>,
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
        let mut record = vec![0; work.length()];
        assert_eq!(work.write(jpeg, &mut record), Some(record.len()));
        assert_eq!(work.write(jpeg, &mut record.clone()[1..]), None);
        Offload::set_place(&mut record, self.next);
        self.records.push(record);
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
            blocks: self.next.blocks + work.blocks(),
            samples: self.next.samples + work.samples(),
            pixels: self.next.pixels + work.pixels(),
        };
        true
    }

    /// Changes a word of the last piece.
    pub(crate) fn lie(&mut self, word: usize, lie: u32) {
        let record = self.records.last_mut().unwrap();
        let [first, count] =
            [PIECES, COUNT].map(|at| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap()));
        let at = first as usize + (count as usize - 1) * PIECE + 4 * word;
        record[at..at + 4].copy_from_slice(&lie.to_ne_bytes());
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
        let longest = self.records.iter().map(Vec::len).max().unwrap();
        let stride = longest.next_multiple_of(Offload::ALIGNED);
        let mut records = vec![0xff; stride * self.records.len()];
        for (to, record) in records.chunks_exact_mut(stride).zip(&self.records) {
            to[..record.len()].copy_from_slice(record);
        }
        let mut command = program(sanitizer);
        command.args([format!("seed={run}"), format!("orders={orders}")]);
        let path = folder.join(RECORDS.to_string());
        fs::write(&path, &records).unwrap();
        command.arg(format!("array={RECORDS}:{}:{}:", records.len(), path.display()));
        let OffloadPlace { blocks, samples, pixels, .. } = self.next;
        let count = self.asked.len();
        command.arg(format!("array={COEFFICIENTS}:{}::", blocks * 128));
        command.arg(format!("array={SAMPLES}:{samples}::"));
        for (at, bytes) in [(PIXELS, pixels), (FAULTS, 4 * count as u64)] {
            command.arg(format!("array={at}:{bytes}::{}", folder.join(at.to_string()).display()));
        }
        command.args(launches(grid, stride, count));
        let ran = command.output().unwrap();
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

/// The launches of the three kernels, one after another.
fn launches(grid: Grid, stride: usize, count: usize) -> Vec<String> {
    let Grid { x, y, block } = grid;
    let kernels: [(&str, u32, &[u64]); 3] = [
        ("huff", 1, &[COEFFICIENTS, FAULTS]),
        ("samples", y, &[COEFFICIENTS, SAMPLES]),
        ("pixels", y, &[SAMPLES, PIXELS]),
    ];
    let words = kernels.into_iter().flat_map(|(name, rows, addresses)| {
        let shape = [format!("launch=tarflume_{name}"), format!("grid={x},{rows},1")];
        let shape = shape.into_iter().chain([format!("block={block},1,1")]);
        let numbers = [RECORDS, stride as u64].into_iter().chain(addresses.iter().copied());
        let addresses = numbers.map(|number| format!("u64={number}"));
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
