//! kernel.cu as a program: built once with g++, fed files, its output read back.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tarflume::device::finish::{Element, Finish, Pictures};
use tarflume::device::kernel;

/// The program, newer than its sources. g++ is needed for the tests, so that nothing is skipped.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cuda/build.sh");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        let built = Command::new("bash").arg(script).arg(&out).arg("kernel").output().unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "kernel.cu can't be built as C++: {text}");
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
        let hex =
            |numbers: [f32; 4]| numbers.map(|number| format!("{:x}", number.to_bits())).join(",");
        let (scale, shift) = finish.factors();
        self.file("pictures", from)
            .with("rows", pictures.rows())
            .with("height", pictures.size().height)
            .with("width", pictures.size().width)
            .with("channels", pictures.channels())
            .with("layout", kernel::layout_number(finish.layout_of()))
            .with("element", kernel::element_number(finish.element()))
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
    pub(crate) fn grid(self, (x, y): (u32, u32), block: u32) -> Run {
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
            // A tracer, where one runs, would end the leak check with an error of its own.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{:?}: {text}", self.words);
        fs::read(out).unwrap()
    }
}

/// The elements of finished pictures, as numbers.
pub(crate) fn numbers(element: Element, bytes: &[u8]) -> Vec<f32> {
    let two = bytes.as_chunks::<2>().0.iter();
    match element {
        Element::U8 => bytes.iter().map(|&byte| byte.into()).collect(),
        Element::F16 => two.map(|&b| half::f16::from_ne_bytes(b).to_f32()).collect(),
        Element::Bf16 => two.map(|&b| half::bf16::from_ne_bytes(b).to_f32()).collect(),
        Element::F32 => bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_ne_bytes(b)).collect(),
    }
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
