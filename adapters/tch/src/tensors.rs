//! `Tensors`: returns the columns of a batch as tensors, on the host or a device.

use tarflume::{Batch, DeviceBatch, Error, Result};
use tch::{Device, Tensor};

use crate::host;

/// Converts the columns of a batch into tensors.
pub trait Tensors {
    /// The columns of these names, in this order: tensors of `[rows, row's shape..]` on `device`, which own their
    /// memory. The batch returns to its loader; take keys, and [`DeviceBatch::host_shared`], before.
    ///
    /// # Errors
    /// [`tarflume::ErrorKind::Usage`]: a column does not exist, its rows have different lengths, tch does not have its
    /// type, a Bool column holds bytes other than 0 and 1, or the batch is on another GPU.
    /// [`tarflume::ErrorKind::Device`]: libtorch or the driver failed.
    fn tensors<const N: usize>(self, names: [&str; N], device: Device) -> Result<[Tensor; N]>;
}

impl Tensors for &Batch {
    fn tensors<const N: usize>(self, names: [&str; N], device: Device) -> Result<[Tensor; N]> {
        each(names, |name| host::tensor(self, name, device))
    }
}

impl Tensors for Batch {
    fn tensors<const N: usize>(self, names: [&str; N], device: Device) -> Result<[Tensor; N]> {
        (&self).tensors(names, device)
    }
}

impl Tensors for DeviceBatch {
    fn tensors<const N: usize>(self, names: [&str; N], device: Device) -> Result<[Tensor; N]> {
        match device {
            #[cfg(feature = "cuda")]
            Device::Cuda(gpu) => {
                crate::device::taken(self, |from| each(names, |name| from.tensor(name)), gpu)
            }
            _ => self.host().tensors(names, device),
        }
    }
}

fn each<const N: usize>(
    names: [&str; N],
    make: impl Fn(&str) -> Result<Tensor>,
) -> Result<[Tensor; N]> {
    let made = names.iter().map(|name| make(name)).collect::<Result<Vec<_>>>()?;
    made.try_into().map_err(|_| Error::usage("as many tensors as names"))
}
