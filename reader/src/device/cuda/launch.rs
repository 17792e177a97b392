//! Launches of kernels by [`Cuda`].
//!
//! Compiles and loads nothing itself: `kernels` does.

use super::kernels::Kernels;
use super::{Cuda, held};
use crate::device::driver::{KernelLauncher, WorkStream};
use crate::device::kernels::args;
use crate::device::kernels::launch::Launch;
use crate::error::{Error, ErrorKind, Result};

impl KernelLauncher for Cuda {
    fn prepare_kernels(&self) -> Result<()> {
        if self.kernels.get().is_some() {
            return Ok(());
        }
        let make = || Ok(Kernels::new(&self.context, &self.libraries));
        let (made, warning) = self.call("entering the device", make)??;
        if let Some(warning) = warning {
            held(&self.warning).get_or_insert(warning);
        }
        // Code is brought to the device by the first launch, which may wait for all that runs there.
        self.call("trying kernels", || {
            args::nothing()
                .iter()
                .try_for_each(|launch| made.launch(launch, self.stream(WorkStream::Copy)))
        })?;
        if let Err(second) = self.kernels.set(made) {
            // Another thread has loaded them meanwhile.
            self.call("unloading kernels", || {
                drop(second);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch) -> Result<()> {
        let Some(kernels) = self.kernels.get() else {
            return Err(Error::new(ErrorKind::Device, "kernels were not prepared"));
        };
        self.call(launch.entry, || kernels.launch(launch, self.stream(WorkStream::Copy)))
    }
}
