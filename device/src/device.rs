//! Devices: batches reach device memory while the previous step is computed.
//!
//! [`Device`] is the public handle. `driver` is the interface to a GPU, `cuda` its implementation for NVIDIA's GPUs,
//! `nvjpeg` their JPEG decoder. `upload` copies batches, `memory` holds data on the device, [`kernels`] describes
//! launches, `room` is about how much memory there is. The loader combines them.

#[cfg(feature = "cuda")]
pub(crate) mod call_scope;
#[cfg(feature = "cuda")]
mod cuda;
pub mod driver;
#[cfg(any(test, feature = "simulated"))]
pub mod fake;
pub mod kernels;
pub mod memory;
#[cfg(feature = "cuda")]
#[doc(hidden)] // for this crate and its Python package, until their shape is settled
pub mod nvjpeg;
mod ordinal;
#[cfg(feature = "cuda")]
pub(crate) mod presence;
pub mod room;
pub mod upload;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(not(feature = "cuda"))]
use tarflume_types::ErrorKind;
use tarflume_types::{Error, Result};

use self::driver::Driver;
use crate::libraries::Libraries;

pub use self::driver::DeviceStream;

/// A device that batches are copied to.
///
/// ```
/// use tarflume::Device;
///
/// match "cuda:0".parse::<Device>() {
///     Ok(device) => println!("{}", device.name()),
///     Err(error) => println!("{error}"), // no driver, no such device, or the feature `cuda` is off
/// }
/// ```
#[derive(Clone)]
pub struct Device(Arc<dyn Driver>, Option<Arc<str>>);

impl Device {
    /// The CUDA device with this ordinal, in its primary context, which PyTorch, candle and others use, too.
    ///
    /// # Errors
    /// [`ErrorKind::Device`](tarflume_types::ErrorKind::Device): no driver or no such device exists, or this program was built without the feature
    /// `cuda`.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Device::cuda_with(ordinal, Libraries::default())
    }

    /// As [`Device::cuda`], with additional places in which optional libraries are searched.
    ///
    /// # Errors
    /// As [`Device::cuda`].
    pub fn cuda_with(ordinal: usize, libraries: Libraries) -> Result<Device> {
        #[cfg(feature = "cuda")]
        return cuda::Cuda::open(ordinal, libraries).map(|cuda| Device::by(Arc::new(cuda)));
        #[cfg(not(feature = "cuda"))]
        let _ = libraries;
        #[cfg(not(feature = "cuda"))]
        Err(Error::new(
            ErrorKind::Device,
            format!(
                "cuda:{ordinal}: this program was built without the feature `cuda` of tarflume"
            ),
        ))
    }

    /// `cuda:N`, or `cuda` for the device of this process. That is the only visible device, or the device numbered by
    /// the process's local rank modulo the number of devices (`LOCAL_RANK` of torchrun, Slurm's `SLURM_LOCALID`, Open
    /// MPI's `OMPI_COMM_WORLD_LOCAL_RANK` or `MPI_LOCALRANKID`), or else the first. [`Device::why`] states which
    /// applied.
    ///
    /// # Errors
    /// As [`Device::cuda`]. Returns an error if the text has neither form.
    pub fn named(text: &str, libraries: Libraries) -> Result<Device> {
        let number = match text.strip_prefix("cuda") {
            Some("") => {
                let (ordinal, why) = Device::of_process(visible());
                return Device::cuda_with(ordinal, libraries).map(|device| device.because(&why));
            }
            rest => rest.and_then(|rest| rest.strip_prefix(':')).and_then(|n| n.parse().ok()),
        };
        match number {
            Some(ordinal) => Device::cuda_with(ordinal, libraries),
            None => {
                let text = format!("unknown device {text:?}; use \"cuda\" or \"cuda:N\"");
                Err(Error::usage(text))
            }
        }
    }

    /// The ordinal of this process's device among `visible` devices, and the reason for the choice. [`Device::named`]
    /// applies this rule to `cuda`.
    pub fn of_process(visible: usize) -> (usize, String) {
        ordinal::chosen(visible, |name| std::env::var(name).ok())
    }

    #[cfg(any(test, feature = "cuda", feature = "simulated"))]
    #[doc(hidden)]
    pub fn by(driver: Arc<dyn Driver>) -> Device {
        Device(driver, None)
    }

    /// Sets the reason for choosing this device, which statistics show.
    #[must_use]
    pub fn because(self, why: &str) -> Device {
        Device(self.0, Some(why.into()))
    }

    /// The interface to the device.
    #[doc(hidden)]
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.0
    }

    /// Why this device was chosen, if no ordinal was given.
    pub fn why(&self) -> Option<&str> {
        self.1.as_deref()
    }

    /// The name: `cuda:0`.
    pub fn name(&self) -> String {
        self.0.name()
    }
}

/// Number of devices that this process sees.
fn visible() -> usize {
    #[cfg(feature = "cuda")]
    return cuda::Cuda::visible();
    #[cfg(not(feature = "cuda"))]
    0
}

impl FromStr for Device {
    type Err = Error;

    /// As [`Device::named`].
    fn from_str(text: &str) -> Result<Device> {
        Device::named(text, Libraries::default())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
