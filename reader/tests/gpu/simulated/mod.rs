//! Shared by the device tests: restarts the program with the simulated CUDA driver, compiler and decoder of
//! `fixtures/cuda`, and provides a consumer's stream.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]
#![allow(dead_code)] // each file of tests uses a part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaStream, result};
use tarflume::DeviceStream;

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
