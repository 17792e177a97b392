//! `Kernels`: the entries of a program, compiled once for a device and cached on disk.
//!
//! Contains unsafe code: modules of the driver. What it relies on, and why it holds:
//! - the driver writes the log of its compiler into a buffer that lives until the call returns, within its length;
//! - a module is unloaded once, after all work that uses it: the owner has waited for the streams;
//! - parameters are read during the launch call, from an array that lives until it returns.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::env;
use std::ffi::{CString, c_void};
use std::path::PathBuf;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{DriverError, result, sys};
use tarflume_types::{Error, ErrorKind, Result};

use super::cache::Cache;
use super::context::Primary;
use super::nvrtc::{Nvrtc, Target};
use crate::device::call_scope::DriverMessage;
use crate::device::kernels::args::BLOCK;
use crate::device::kernels::launch::{Argument, Launch};
use crate::device::kernels::program::Program;
use crate::libraries::Libraries;

/// Maximum number of parameters of an entry.
const MOST: usize = 32;

/// The entries, ready to be launched.
pub(super) struct Kernels {
    /// A module's handle.
    module: usize,
    entries: HashMap<&'static str, usize>,
}

/// Bytes for what the driver's compiler says about PTX that it refuses.
const LOG: usize = 8 << 10;

/// Why the driver does not load code.
struct Refusal {
    error: DriverError,
    /// What its compiler says, if it was PTX.
    log: String,
}

/// File name of the code compiled from this source.
fn name(source: &str, target: Target) -> String {
    let source = blake3::hash(source.as_bytes()).to_hex();
    match target {
        Target::Machine(capability) => format!("kernel-{}-sm_{capability}.cubin", &source[..16]),
        Target::Portable(capability) => {
            format!("kernel-{}-compute_{capability}.ptx", &source[..16])
        }
    }
}

/// The compilation targets, best first. Older targets work if the compiler is older than the GPU.
fn targets(capability: u32) -> Vec<Target> {
    let older = [90, 80, 75].into_iter().filter(|&known| known < capability);
    let portable = [capability].into_iter().chain(older).map(Target::Portable);
    [Target::Machine(capability)].into_iter().chain(portable).collect()
}

impl Kernels {
    /// Loads or compiles the kernels for the device of this context, which must be current. Also returns a warning if
    /// the cache cannot be used. Machine code is best: PTX is compiled by the driver at each start, so cached PTX is used
    /// only if no compiler makes machine code that the driver loads.
    ///
    /// # Errors
    /// Returns an error if no compiler is found, or if the driver rejects its output.
    pub(super) fn new(
        program: Program,
        context: &Primary,
        libraries: &Libraries,
    ) -> Result<(Kernels, Option<String>)> {
        let targets = targets(capability(context).map_err(refused("asking for its capability"))?);
        let (cache, warning) = Cache::find(|name| env::var_os(name).map(PathBuf::from));
        let mut search = Search { program, source: program.source(), cache, last: None };
        let (machine, portable) = targets.split_at(1);
        let mut compilers = Vec::new();
        if let Some(kernels) = search.cached(machine) {
            return Ok((kernels, warning));
        }
        // A compiler may be older than the GPU, or newer than the driver; another one may be installed, too.
        for compiler in Nvrtc::all(libraries) {
            if let Some(kernels) = search.compiled(&compiler, machine) {
                return Ok((kernels, warning));
            }
            compilers.push(compiler);
        }
        let found = search.cached(portable);
        let found = found
            .or_else(|| compilers.iter().find_map(|compiler| search.compiled(compiler, portable)));
        match found {
            Some(kernels) => Ok((kernels, warning)),
            None => Err(search.last.unwrap_or_else(|| Nvrtc::none(libraries))),
        }
    }

    /// # Errors
    /// Returns what the driver says.
    fn load(program: Program, mut code: Vec<u8>) -> std::result::Result<Kernels, Refusal> {
        code.push(0); // PTX is a text, which must end in a zero byte; ignored after machine code
        let mut log = vec![0u8; LOG];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // Numbers are passed as pointers.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG)];
        let mut module = std::ptr::null_mut();
        // SAFETY: a text that ends in a zero byte, or machine code, which the driver validates; two options with the
        // values of their types, in variables that live until the call returns.
        let loaded = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                code.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        loaded.result().map_err(|error| Refusal::new(error, &log))?;
        let mut kernels = Kernels { module: module as usize, entries: HashMap::new() };
        for &entry in program.entries() {
            let name = CString::new(entry).expect("names have no zero byte");
            // SAFETY: the module was loaded above.
            let found = unsafe { result::module::get_function(module, name) }
                .map_err(|error| Refusal::new(error, &log))?;
            kernels.entries.insert(entry, found as usize);
        }
        Ok(kernels)
    }

    /// Launches an entry on a stream of this context.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub(super) fn launch(
        &self,
        launch: &Launch,
        stream: sys::CUstream,
    ) -> std::result::Result<(), DriverError> {
        let entry = self.entries[launch.entry];
        let mut values = [0u64; MOST];
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST];
        let slots = values.iter_mut().zip(&mut pointers);
        for (argument, (value, pointer)) in launch.arguments.iter().zip(slots) {
            // All hosts of CUDA devices are little-endian, so a shorter value is at the beginning of its slot.
            *value = match *argument {
                Argument::U64(number) => number,
                Argument::U32(number) => number.into(),
                Argument::F32(number) => number.to_bits().into(),
            };
            *pointer = std::ptr::from_mut(value).cast();
        }
        let count = launch.arguments.len().min(MOST);
        let grid = (launch.grid.0, launch.grid.1, 1);
        let block = (BLOCK, 1, 1);
        // SAFETY: an entry of a loaded module; parameters in the number and types that `args` declares for it, in
        // variables that live until the call returns, and the call copies them.
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

/// The search for code that the driver loads.
struct Search {
    program: Program,
    source: String,
    cache: Cache,
    /// Why the last attempt failed.
    last: Option<Error>,
}

impl Search {
    /// The code of an earlier start, for the first of these targets that the driver loads.
    fn cached(&self, targets: &[Target]) -> Option<Kernels> {
        let names = targets.iter().map(|&target| name(&self.source, target));
        let mut codes = names.filter_map(|name| self.cache.kept(&name));
        codes.find_map(|code| Kernels::load(self.program, code).ok())
    }

    /// Compiles for the first of these targets that the compiler supports and the driver loads, and caches the code.
    fn compiled(&mut self, compiler: &Nvrtc, targets: &[Target]) -> Option<Kernels> {
        let source = CString::new(self.source.as_str()).expect("the source has no zero byte");
        for &target in targets.iter().filter(|&&target| compiler.makes(target)) {
            let made = compiler.compile(&source, target).and_then(|code| {
                let kernels = Kernels::load(self.program, code.clone()).map_err(Refusal::told)?;
                Ok((kernels, code))
            });
            match made {
                Ok((kernels, code)) => {
                    self.cache.keep(&name(&self.source, target), &code);
                    return Some(kernels);
                }
                Err(error) => self.last = Some(error),
            }
        }
        None
    }
}

impl Refusal {
    /// `log` ends with its first zero byte.
    fn new(error: DriverError, log: &[u8]) -> Refusal {
        let said = log.split(|&byte| byte == 0).next().expect("a split has a first part");
        Refusal { error, log: String::from_utf8_lossy(said).trim().to_string() }
    }

    fn told(self) -> Error {
        let Refusal { error, log } = self;
        let said = if log.is_empty() { String::new() } else { format!(": {log}") };
        let text = format!("loading kernels failed{said}");
        Error::new(ErrorKind::Device, text).with_source(DriverMessage(error))
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`, unloaded once; no stream uses it.
        let _ = unsafe { result::module::unload(self.module as sys::CUmodule) };
    }
}

/// 90 for compute capability 9.0.
fn capability(context: &Primary) -> std::result::Result<u32, DriverError> {
    let major = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major * 10 + minor).unsigned_abs())
}

fn refused(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| {
        Error::new(ErrorKind::Device, format!("{what} failed")).with_source(DriverMessage(error))
    }
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
