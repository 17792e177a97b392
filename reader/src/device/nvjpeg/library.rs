//! `Library`: libnvjpeg, found and loaded when it is asked for. The same program runs where there is none.

use std::ffi::OsStr;
use std::fmt;

use super::symbols::Functions;
use crate::error::{Error, ErrorKind, Result};
use crate::libraries::Libraries;

/// Its name in those of files.
const NAME: &str = "nvjpeg";

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
    /// Looks for the library where `TARFLUME_NVJPEG` says; else beside other packages (torchvision carries a
    /// copy, NVIDIA's wheels are one), where the loader looks, in CUDA's toolkit. What can't be loaded is
    /// passed over.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: `TARFLUME_NVJPEG` is set, and what it names can't be used.
    pub fn find(libraries: &Libraries) -> Result<Found> {
        if let Some(named) = Libraries::named(NAME) {
            return Library::load(named.as_os_str()).map(Found::Here).map_err(|why| {
                let text = format!("TARFLUME_NVJPEG names no usable libnvjpeg: {why}");
                Error::new(ErrorKind::Device, text).with_path(named)
            });
        }
        let mut looked: Vec<String> = Vec::new();
        for name in libraries.candidates(NAME) {
            match Library::load(name.as_os_str()) {
                Ok(library) => return Ok(Found::Here(library)),
                Err(why) => looked.push(format!("{} ({why})", name.display())),
            }
        }
        looked.extend(libraries.packages().map(|folder| format!("below {}", folder.display())));
        Ok(Found::Nowhere(format!(
            "libnvjpeg was not found; install nvidia-nvjpeg or torchvision, or set TARFLUME_NVJPEG to the \
             file; looked for: {}",
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
