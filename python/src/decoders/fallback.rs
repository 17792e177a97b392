//! `PillowFallback`: opens pictures of kinds that the reader does not decode with Pillow, in the decoding threads. It
//! measures the cost of each call.

use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tarflume::{Calls, Channels, Error, ErrorKind, Fallback, FallbackPicture, ImageSize, Result};

use crate::decoders::gate::with_python;
use crate::faults::errors::usage;

/// Decoded pixels are in memory up to so many times: in Pillow's picture of up to four bytes a pixel, its upright copy, its
/// copy with other channels, and the bytes that are handed over.
const COPIES: u64 = 4 * 4;

/// Pillow, as the module `tarflume.fallback` calls it.
#[derive(Debug)]
pub(crate) struct PillowFallback {
    open: Py<PyAny>,
    decode: Arc<Py<PyAny>>,
    upright: bool,
}

impl PillowFallback {
    /// The fallback of this name. `upright`: pictures are turned by their orientation.
    ///
    /// # Errors
    /// There is no such fallback, or Pillow is not installed.
    pub(crate) fn named(py: Python<'_>, name: &str, upright: bool) -> PyResult<PillowFallback> {
        if name != "pillow" {
            return Err(usage(py, format!("fallback is \"pillow\" or None, not {name:?}")));
        }
        let module = py.import("tarflume.fallback")?;
        module.getattr("_pillow")?.call0()?;
        let open = module.getattr("_open")?.unbind();
        let decode = Arc::new(module.getattr("_decode")?.unbind());
        Ok(PillowFallback { open, decode, upright })
    }
}

/// A picture that Pillow has opened.
struct PillowPicture {
    decode: Arc<Py<PyAny>>,
    picture: Py<PyAny>,
    upright: bool,
    size: ImageSize,
    exceeds_bytes: bool,
    file: usize,
    /// The cost of opening it.
    cost: Calls,
}

/// Calls Python; returns the result and the cost.
fn call<T>(what: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<(T, Calls)> {
    let requested = Instant::now();
    let called = with_python(|py| {
        let entered = Instant::now();
        let made = what(py).map_err(|error| failed(py, error));
        (entered - requested, made, entered.elapsed())
    });
    let Some((waiting, made, busy)) = called else {
        let text = "Python is shutting down: close the loader before the program ends";
        return Err(Error::new(ErrorKind::Decode, text));
    };
    Ok((made?, Calls { count: 1, busy, waiting }))
}

/// The error of an exception. Too little memory says nothing of the picture.
fn failed(py: Python<'_>, error: PyErr) -> Error {
    let machine = error.is_instance_of::<PyMemoryError>(py);
    let kind = if machine { ErrorKind::Machine } else { ErrorKind::Decode };
    Error::new(kind, "Pillow cannot decode this picture").with_source(error)
}

impl Fallback for PillowFallback {
    fn open<'a>(&self, bytes: &'a [u8]) -> Result<Box<dyn FallbackPicture + 'a>> {
        let upright = self.upright;
        let opened = call(|py| {
            let opened = self.open.bind(py).call1((PyBytes::new(py, bytes), upright))?;
            opened.extract::<(Py<PyAny>, u32, u32, bool)>()
        });
        let ((picture, width, height, exceeds_bytes), cost) = opened?;
        let size = ImageSize::new(width, height);
        let decode = self.decode.clone();
        let file = bytes.len();
        Ok(Box::new(PillowPicture { decode, picture, upright, size, exceeds_bytes, file, cost }))
    }
}

impl FallbackPicture for PillowPicture {
    fn size(&self) -> ImageSize {
        self.size
    }

    fn exceeds_bytes(&self) -> bool {
        self.exceeds_bytes
    }

    fn memory(&self) -> u64 {
        self.size.pixels().saturating_mul(COPIES).saturating_add(2 * self.file as u64)
    }

    fn decode(
        self: Box<Self>,
        channels: Channels,
        pixels: &mut [u8],
        calls: &mut Calls,
    ) -> Result<()> {
        let word = channels.to_string();
        let PillowPicture { decode, picture, upright, size, cost: opening, .. } = *self;
        let (fits, cost) = call(|py| {
            let made = decode.bind(py).call1((picture, &word, upright))?;
            let made = made.cast::<PyBytes>()?.as_bytes();
            let fits = made.len() == pixels.len();
            if fits {
                pixels.copy_from_slice(made);
            }
            Ok(fits)
        })?;
        *calls += Calls {
            count: 1,
            busy: opening.busy + cost.busy,
            waiting: opening.waiting + cost.waiting,
        };
        if !fits {
            let text = format!("Pillow's picture has another size than its header, {size}");
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(())
    }
}
