//! Kernel launches of [`Cuda`].
//!
//! `kernels` compiles and loads the code.

use tarflume_types::{Error, ErrorKind, Result};

use super::kernels::Kernels;
use super::{Cuda, held};
use crate::device::driver::{KernelLauncher, WorkStream};
use crate::device::kernels::launch::Launch;
use crate::device::kernels::program::Program;

impl KernelLauncher for Cuda {
    fn prepare_kernels(&self, program: Program) -> Result<()> {
        let place = self.kernels(program);
        if place.get().is_some() {
            return Ok(());
        }
        let (made, warning) = self.call("entering the device", || {
            Ok(Kernels::new(program, &self.context, &self.libraries))
        })??;
        if let Some(warning) = warning {
            held(&self.warning).get_or_insert(warning.into());
        }
        // With lazy module loading, the first launch loads the code, which may synchronize with all running work.
        // An empty launch moves that out of the first batch.
        self.call("trying kernels", || {
            program
                .nothing()
                .iter()
                .try_for_each(|launch| made.launch(launch, self.stream(WorkStream::Kernel)))
        })?;
        if let Err(second) = place.set(made) {
            // Another thread was faster.
            self.call("unloading kernels", || {
                drop(second);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch, on: WorkStream) -> Result<()> {
        let Some(kernels) = self.kernels(Program::of(launch.entry)).get() else {
            return Err(Error::new(ErrorKind::Device, "kernels were not prepared"));
        };
        self.call(launch.entry, || kernels.launch(launch, self.stream(on)))
    }
}
