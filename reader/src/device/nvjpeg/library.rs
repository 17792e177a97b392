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
        let found = Library::search(libraries, |library| Ok(library.clone()))?;
        Ok(found.map_or_else(Found::Nowhere, Found::Here))
    }

    /// As [`Library::find`], the first one of which something can be made: a library that is newer than the driver
    /// loads, and refuses everything.
    ///
    /// # Errors
    /// As [`Library::find`]; there is no library; what `make` said of the first one.
    pub fn first<T>(libraries: &Libraries, make: impl FnMut(&Library) -> Result<T>) -> Result<T> {
        let nowhere = |text| Err(Error::new(ErrorKind::Device, text));
        Library::search(libraries, make)?.map_or_else(nowhere, Ok)
    }

    /// Within: there is no library, in the words of [`Found::Nowhere`].
    fn search<T>(
        libraries: &Libraries,
        mut make: impl FnMut(&Library) -> Result<T>,
    ) -> Result<std::result::Result<T, String>> {
        if let Some(named) = Libraries::named(NAME) {
            let library = Library::load(named.as_os_str()).map_err(|why| {
                let text = format!("TARFLUME_NVJPEG names no usable libnvjpeg: {why}");
                Error::new(ErrorKind::Device, text).with_path(named)
            })?;
            return make(&library).map(Ok);
        }
        let (mut looked, mut tried, mut refused) = (Vec::new(), Vec::new(), None);
        for name in libraries.candidates(NAME) {
            match Library::load(name.as_os_str()) {
                // The loader finds a library under several names.
                Ok(library) if tried.contains(&library.functions.place()) => {}
                Ok(library) => match make(&library) {
                    Ok(made) => return Ok(Ok(made)),
                    Err(error) => {
                        tried.push(library.functions.place());
                        refused.get_or_insert(error);
                    }
                },
                Err(why) => looked.push(format!("{} ({why})", name.display())),
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        looked.extend(libraries.packages().map(|folder| format!("below {}", folder.display())));
        Ok(Err(format!(
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
