//! `Kernels`: the entries of the kernel, compiled for a device once and kept on disk for the next time.
//!
//! A room with unsafe code: modules of the driver. What it relies on, and why it holds:
//! - a module is unloaded once, when nothing in a stream uses it: whoever drops this has waited;
//! - parameters are read when a launch is asked for, from an array that lives as long.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::env;
use std::ffi::{CString, c_void};
use std::path::PathBuf;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{DriverError, result, sys};

use super::cache::Cache;
use super::context::{Primary, Words};
use super::nvrtc::{Nvrtc, Target};
use crate::device::kernels::args::{BLOCK, ENTRIES, SOURCE};
use crate::device::kernels::launch::{Argument, Launch};
use crate::error::{Error, ErrorKind, Result};
use crate::libraries::Libraries;

/// Parameters of an entry, at most.
const MOST: usize = 32;

/// The entries, ready to be launched.
pub(super) struct Kernels {
    /// A module's handle.
    module: usize,
    entries: HashMap<&'static str, usize>,
}

/// The name of what was compiled from this source.
fn name(target: Target) -> String {
    let source = blake3::hash(SOURCE.as_bytes()).to_hex();
    match target {
        Target::Machine(capability) => format!("kernel-{}-sm_{capability}.cubin", &source[..16]),
        Target::Portable(capability) => {
            format!("kernel-{}-compute_{capability}.ptx", &source[..16])
        }
    }
}

/// What to compile for, the best first: older targets serve where the compiler is older than the GPU.
fn targets(capability: u32) -> Vec<Target> {
    let older = [90, 80, 75].into_iter().filter(|&known| known < capability);
    let portable = [capability].into_iter().chain(older).map(Target::Portable);
    [Target::Machine(capability)].into_iter().chain(portable).collect()
}

impl Kernels {
    /// Kernels for the device of this context, which must be the calling thread's; and what is wrong with where they
    /// are kept.
    ///
    /// # Errors
    /// There is no compiler, or the driver refuses what it made.
    pub(super) fn new(
        context: &Primary,
        libraries: &Libraries,
    ) -> Result<(Kernels, Option<String>)> {
        let targets = targets(capability(context).map_err(refused("asking for its capability"))?);
        let (cache, warning) = Cache::find(|name| env::var_os(name).map(PathBuf::from));
        for &target in &targets {
            let code = cache.kept(&name(target));
            if let Some(kernels) = code.and_then(|code| Kernels::load(code).ok()) {
                return Ok((kernels, warning));
            }
        }
        let source = CString::new(SOURCE).unwrap_or_default();
        let mut last = Error::new(ErrorKind::Device, "no target");
        // A compiler may be older than the GPU: then another one, if there is one, may know it.
        for compiler in Nvrtc::find(libraries)? {
            for &target in targets.iter().filter(|&&target| compiler.makes(target)) {
                let made = compiler.compile(&source, target).and_then(|code| {
                    let kernels =
                        Kernels::load(code.clone()).map_err(refused("loading kernels"))?;
                    Ok((kernels, code))
                });
                match made {
                    Ok((kernels, code)) => {
                        cache.keep(&name(target), &code);
                        return Ok((kernels, warning));
                    }
                    Err(error) => last = error,
                }
            }
        }
        Err(last)
    }

    fn load(mut code: Vec<u8>) -> std::result::Result<Kernels, DriverError> {
        code.push(0); // the end of a text, if it is one
        // SAFETY: a text that ends in a zero, or machine code, which the driver checks.
        let module = unsafe { result::module::load_data(code.as_ptr().cast()) }?;
        let mut kernels = Kernels { module: module as usize, entries: HashMap::new() };
        for entry in ENTRIES {
            let name = CString::new(entry).unwrap_or_default();
            // SAFETY: the module was loaded just now.
            let found = unsafe { result::module::get_function(module, name) }?;
            kernels.entries.insert(entry, found as usize);
        }
        Ok(kernels)
    }

    /// Starts one on a stream of this context.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn launch(
        &self,
        launch: &Launch,
        stream: sys::CUstream,
    ) -> std::result::Result<(), DriverError> {
        let entry = self.entries.get(launch.entry).copied().unwrap_or(0);
        let mut values = [0u64; MOST];
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST];
        let slots = values.iter_mut().zip(&mut pointers);
        for (argument, (value, pointer)) in launch.arguments.iter().zip(slots) {
            // Little-endian, as every machine with such a device: a shorter value stands first.
            *value = match *argument {
                Argument::U64(number) => number,
                Argument::U32(number) => number.into(),
                Argument::F32(number) => number.to_bits().into(),
            };
            *pointer = std::ptr::from_mut(value).cast();
        }
        let count = launch.arguments.len().min(MOST);
        let (grid, block) = ((launch.grid.0, launch.grid.1, 1), (BLOCK, 1, 1));
        // SAFETY: an entry of a module that is loaded; as many parameters of the types that `kernel` says
        // it has, in variables that live until the call returns, which has read them then.
        unsafe {
            result::launch_kernel(
                entry as sys::CUfunction,
                grid,
                block,
                0,
                stream,
                &mut pointers[..count],
            )
        }
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`, unloaded once; nothing in a stream uses it any more.
        let _ = unsafe { result::module::unload(self.module as sys::CUmodule) };
    }
}

/// 90 for compute capability 9.0.
fn capability(context: &Primary) -> std::result::Result<u32, DriverError> {
    let ask = |attribute| context.attribute(attribute);
    let major = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major * 10 + minor).unsigned_abs())
}

fn refused(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::new(ErrorKind::Device, format!("{what} failed")).with_source(Words(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_targets_follow_the_device_s_own() {
        use Target::{Machine, Portable};
        assert_eq!(targets(90), [Machine(90), Portable(90), Portable(80), Portable(75)]);
        assert_eq!(targets(75), [Machine(75), Portable(75)]);
        assert_eq!(targets(120)[..3], [Machine(120), Portable(120), Portable(90)]);
    }
}
