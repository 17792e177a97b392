//! Devices: batches arrive in device memory while the step before is computed.
//!
//! [`Device`] is what a user names. `driver` is the interface to a GPU, `cuda` the driver for NVIDIA's GPUs, `nvjpeg` its
//! decoder of JPEGs. `upload` brings batches there, `memory` keeps data there, [`kernels`] describes what is launched.
//! The loader puts them together.

#[cfg(feature = "cuda")]
pub(crate) mod call_scope;
#[cfg(feature = "cuda")]
mod cuda;
pub(crate) mod driver;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod kernels;
pub(crate) mod memory;
#[cfg(feature = "cuda")]
#[doc(hidden)] // for this crate and its Python package, until their shape is settled
pub mod nvjpeg;
mod ordinal;
#[cfg(feature = "cuda")]
pub(crate) mod presence;
pub(crate) mod upload;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use self::driver::Driver;
#[cfg(not(feature = "cuda"))]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
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
pub struct Device(pub(crate) Arc<dyn Driver>, Option<Arc<str>>);

impl Device {
    /// The CUDA device of this number, by its primary context: what PyTorch, candle and others use.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Device`]: there is no driver, or no such device; or this program was built without
    /// the feature `cuda`.
    pub fn cuda(ordinal: usize) -> Result<Device> {
        Device::cuda_with(ordinal, Libraries::default())
    }

    /// The same; libraries that it can do without are looked for in these places, too.
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

    /// `cuda:N`; or `cuda`: the device of this process. That is the only one that it sees, or the one of its number
    /// among the processes of this machine (by `LOCAL_RANK` as torchrun sets it, Slurm's `SLURM_LOCALID`, Open MPI's
    /// `OMPI_COMM_WORLD_LOCAL_RANK` or `MPI_LOCALRANKID`), counted round; else the first. [`Device::why`] has which.
    ///
    /// # Errors
    /// As [`Device::cuda`]; or the text is neither.
    pub fn named(text: &str, libraries: Libraries) -> Result<Device> {
        let number = match text.strip_prefix("cuda") {
            Some("") => {
                let (ordinal, why) = ordinal::chosen(visible(), |name| std::env::var(name).ok());
                return Device::cuda_with(ordinal, libraries).map(|device| device.because(&why));
            }
            rest => rest.and_then(|rest| rest.strip_prefix(':')).and_then(|n| n.parse().ok()),
        };
        match number {
            Some(ordinal) => Device::cuda_with(ordinal, libraries),
            None => {
                let text = format!("no device {text:?}; there are \"cuda\" and \"cuda:N\"");
                Err(Error::usage(text))
            }
        }
    }

    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn by(driver: Arc<dyn Driver>) -> Device {
        Device(driver, None)
    }

    /// Statistics will say that it was chosen for this reason.
    #[must_use]
    pub fn because(self, why: &str) -> Device {
        Device(self.0, Some(why.into()))
    }

    /// Why it is this one, where nobody gave its number.
    pub fn why(&self) -> Option<&str> {
        self.1.as_deref()
    }

    /// Its name: `cuda:0`.
    pub fn name(&self) -> String {
        self.0.name()
    }
}

/// Devices that this process sees.
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
