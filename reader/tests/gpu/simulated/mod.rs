//! Shared by the device tests: restarts the program with the simulated CUDA driver, compiler and decoder of
//! `fixtures/cuda`, and provides a consumer's stream.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]
#![allow(dead_code)] // each file of tests uses a part

pub mod shards;

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use tarflume::{Batch, DeviceBatch, DeviceStream};

/// The simulated libraries, built from their current sources.
pub fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cuda/build.sh");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
        let built = Command::new("bash").arg(script).arg(&out).arg("nvjpeg").output().unwrap();
        let text = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the simulated libraries can't be built: {text}");
        out
    })
}

/// Runs the child of this name, with these variables and a folder for caches.
pub fn child(name: &str, cache: &Path, variables: &[(&str, &str)]) -> Output {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env("LD_LIBRARY_PATH", libraries())
        .env("XDG_CACHE_HOME", cache)
        .env_remove("TARFLUME_NVJPEG")
        .env_remove("TARFLUME_NVRTC")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [&done.stdout[..], &done.stderr[..]].map(String::from_utf8_lossy).join("\n");
    assert!(done.status.success() && text.contains("1 passed"), "{name} {variables:?}:\n{text}");
    done
}

/// The same, with a separate folder.
pub fn alone(name: &str, variables: &[(&str, &str)]) -> Output {
    child(name, tempfile::tempdir().unwrap().path(), variables)
}

/// The consumer's stream.
pub struct Consumer {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

impl Consumer {
    pub fn new() -> Consumer {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        Consumer { context, stream }
    }

    pub fn stream(&self) -> DeviceStream {
        // SAFETY: a stream of this device, which lives longer than any batch.
        unsafe { DeviceStream::raw(self.stream.cu_stream() as u64) }
    }

    /// The bytes of an array, as this stream sees them.
    pub fn read(&self, pointer: u64, bytes: usize) -> Vec<u8> {
        self.context.bind_to_thread().unwrap();
        let mut copy = vec![0u8; bytes];
        // SAFETY: waited for below, before `copy` is looked at.
        unsafe { result::memcpy_dtoh_async(&mut copy, pointer, self.stream.cu_stream()) }.unwrap();
        self.stream.synchronize().unwrap();
        copy
    }
}

/// Holds a stream up until it is opened, so that what is behind it is not executed before, however slow the caller is.
pub struct Gate(Box<AtomicBool>);

impl Gate {
    /// Puts a closed gate into a stream of the simulated driver.
    pub fn close(stream: sys::CUstream) -> Gate {
        unsafe extern "C" fn wait(open: *mut c_void) {
            // SAFETY: the flag of a gate, which `drop` keeps until the stream has passed it.
            let open = unsafe { &*open.cast::<AtomicBool>() };
            while !open.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
        let gate = Gate(Box::new(AtomicBool::new(false)));
        let open = std::ptr::from_ref::<AtomicBool>(&gate.0).cast_mut().cast();
        // SAFETY: a stream that is alive; the flag stays where it is.
        unsafe { sys::cuLaunchHostFunc(stream, Some(wait), open) }.result().unwrap();
        gate
    }

    pub fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Compares each column of a batch that is on the device, as the consumer's stream sees it, with the host's. Returns their
/// number.
pub fn assert_same(consumer: &Consumer, right: &Batch, batch: &DeviceBatch) -> usize {
    batch.ready_on(consumer.stream()).unwrap();
    let mut compared = 0;
    for column in right.columns() {
        let name = column.name();
        let Ok(found) = batch.column(name) else { continue };
        assert_eq!((found.dtype, &found.shape), (column.dtype(), &column.shape()), "{name}");
        assert_eq!(found.pointer % 64, 0, "{name}");
        let bytes = consumer.read(found.pointer, column.bytes().len());
        assert!(bytes == column.bytes(), "{name} differs in step {}", right.step());
        compared += 1;
    }
    compared
}

/// The log of the simulated driver, which the parent set.
pub fn log() -> PathBuf {
    std::env::var_os("FAKECUDA_LOG").unwrap().into()
}

/// A folder for a log, and the log's name.
pub fn with_log() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log").to_str().unwrap().to_string();
    (folder, log)
}

/// Lines of a log that begin with these words.
pub fn lines(log: &Path, what: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let what = format!("{what} ");
    text.lines().filter(|line| line.starts_with(&what)).map(str::to_string).collect()
}

/// A word of a line of the log: `stream=..`.
pub fn word<'a>(line: &'a str, name: &str) -> &'a str {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).unwrap()
}

/// The stream of a line of the log.
pub fn stream_of(line: &str) -> sys::CUstream {
    let handle = word(line, "stream").trim_start_matches("0x");
    u64::from_str_radix(handle, 16).unwrap() as sys::CUstream
}
