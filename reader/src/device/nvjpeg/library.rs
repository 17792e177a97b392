//! `Library`: libnvjpeg, found and loaded when it is asked for. The same program runs where there is none.

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

use super::places::places;
use super::symbols::Functions;
use crate::error::{Error, ErrorKind, Result};

/// The variable that names the library's file; nothing else is tried then.
const VARIABLE: &str = "TARFLUME_NVJPEG";

/// libnvjpeg, loaded. It stays so until the process ends.
#[derive(Debug, Clone)]
pub struct Library {
    pub(super) functions: Functions,
    name: String,
    version: [i32; 3],
}

/// What came of looking for the library.
#[derive(Debug, Clone)]
pub enum Found {
    /// Here it is.
    Here(Library),
    /// It is nowhere: in one line, where it was looked for and what was wrong there.
    Nowhere(String),
}

impl Library {
    /// Looks for the library: where `TARFLUME_NVJPEG` says; else in these site-packages folders of a Python
    /// environment (torchvision carries a copy, NVIDIA's wheels are one), where the loader looks, in CUDA's
    /// toolkit. What can't be loaded is passed over.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: `TARFLUME_NVJPEG` is set, and what it names can't be used.
    pub fn find(site_packages: &[PathBuf]) -> Result<Found> {
        if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            return Library::load(&named).map(Found::Here).map_err(|why| {
                let text = format!("{VARIABLE} names no usable libnvjpeg: {why}");
                Error::new(ErrorKind::Device, text).with_path(PathBuf::from(named))
            });
        }
        let places = places(site_packages);
        let mut looked: Vec<String> = Vec::new();
        for name in &places.names {
            match Library::load(name) {
                Ok(library) => return Ok(Found::Here(library)),
                Err(why) => looked.push(format!("{} ({why})", name.display())),
            }
        }
        looked.extend(places.without.iter().map(|folder| format!("{}/ (none)", folder.display())));
        Ok(Found::Nowhere(format!(
            "libnvjpeg was not found; install nvidia-nvjpeg or torchvision, or set {VARIABLE} to the file; \
             looked for: {}",
            looked.join(", ")
        )))
    }

    fn load(name: &OsStr) -> Result<Library, String> {
        let functions = Functions::load(name)?;
        let version = functions.version().map_err(|status| format!("no version: {status}"))?;
        Ok(Library { functions, name: name.display().to_string(), version })
    }

    /// Major, minor and patch number.
    pub fn version(&self) -> [i32; 3] {
        self.version
    }

    /// The file that was loaded, or the name that the loader found.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        write!(f, "nvJPEG {major}.{minor}.{patch} ({})", self.name)
    }
}
