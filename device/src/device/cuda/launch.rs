//! Kernel launches of [`Cuda`].
//!
//! `kernels` compiles and loads the code.

use tarflume_types::{Error, ErrorKind, Result};

use super::kernels::Kernels;
use super::{Cuda, held};
use crate::device::driver::{KernelLauncher, WorkStream};
use crate::device::kernels::args;
use crate::device::kernels::launch::Launch;

impl KernelLauncher for Cuda {
    fn prepare_kernels(&self) -> Result<()> {
        if self.kernels.get().is_some() {
            return Ok(());
        }
        let (made, warning) =
            self.call("entering the device", || Ok(Kernels::new(&self.context, &self.libraries)))??;
        if let Some(warning) = warning {
            held(&self.warning).get_or_insert(warning.into());
        }
        // With lazy module loading, the first launch loads the code, which may synchronize with all running work.
        // An empty launch moves that out of the first batch.
        self.call("trying kernels", || {
            args::nothing()
                .iter()
                .try_for_each(|launch| made.launch(launch, self.stream(WorkStream::Kernel)))
        })?;
        if let Err(second) = self.kernels.set(made) {
            // Another thread was faster.
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
        self.call(launch.entry, || kernels.launch(launch, self.stream(WorkStream::Kernel)))
    }
}
