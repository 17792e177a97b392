//! `Library`: libnvjpeg, searched and loaded on first use. Programs run without it. Decodes nothing.

use std::ffi::OsStr;
use std::fmt;

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_types::{Error, ErrorKind, Result};

use super::symbols::Functions;
use crate::libraries::Libraries;

/// The library's base name.
const NAME: &str = "nvjpeg";

/// A loaded libnvjpeg. It stays loaded until the process ends.
#[derive(Debug, Clone)]
pub struct Library {
    pub(super) functions: Functions,
    name: String,
    version: [i32; 3],
}

/// Result of the search.
#[derive(Debug, Clone)]
pub enum FoundLibrary {
    /// The library.
    Here(Library),
    /// No library was found. One line lists the places and the problems there.
    Nowhere(String),
}

impl Library {
    /// Searches for the library: the file in `TARFLUME_NVJPEG` if set, otherwise in packages (torchvision and NVIDIA's
    /// wheels contain one), with the system's loader, and in CUDA's toolkit. Files that cannot be loaded are skipped.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: `TARFLUME_NVJPEG` is set, and its file cannot be used.
    pub fn find(libraries: &Libraries) -> Result<FoundLibrary> {
        let found = Library::search(libraries, |library| Ok(library.clone()))?;
        Ok(found.map_or_else(FoundLibrary::Nowhere, FoundLibrary::Here))
    }

    /// As [`Library::find`], but returns the result of `make` for the first library for which it succeeds. A library
    /// that is newer than the driver loads, but all its calls fail.
    ///
    /// # Errors
    /// As [`Library::find`]. Returns an error if no library is found, or the first error of `make`.
    pub fn first<T>(libraries: &Libraries, make: impl FnMut(&Library) -> Result<T>) -> Result<T> {
        Library::search(libraries, make)?.map_or_else(nowhere, Ok)
    }

    /// The inner error is the text of [`FoundLibrary::Nowhere`].
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
        let mut searched = Vec::new();
        let mut tried = Vec::new();
        let mut refused = None;
        for name in libraries.candidates(NAME) {
            match Library::load(name.as_os_str()) {
                // The loader finds one library under several names.
                Ok(library) if tried.contains(&library.functions.place()) => {}
                Ok(library) => match make(&library) {
                    Ok(made) => return Ok(Ok(made)),
                    Err(error) => {
                        tried.push(library.functions.place());
                        refused.get_or_insert(error);
                    }
                },
                Err(why) => searched.push(format!("{} ({why})", name.display())),
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        searched.extend(libraries.packages().map(|folder| format!("below {}", folder.display())));
        Ok(Err(format!(
            "libnvjpeg was not found; install nvidia-nvjpeg or torchvision, or set TARFLUME_NVJPEG to the \
             file; looked for: {}",
            searched.join(", ")
        )))
    }

    /// The error for a library without a usable backend. Equal refusals in a row appear once.
    pub(super) fn unusable(&self, mut refusals: Vec<Message>) -> Error {
        refusals.dedup();
        let refusals = refusals
            .into_iter()
            .reduce(|one, other| message!("{one}; {other}"; one = one, other = other))
            .expect("each backend was tried");
        let text = message!("{self} cannot be used: {refusals}"; refusals = refusals);
        Error::new(ErrorKind::Device, text)
    }

    fn load(name: &OsStr) -> Result<Library, String> {
        let functions = Functions::load(name)?;
        let version = functions.version().map_err(|status| format!("no version: {status}"))?;
        Ok(Library { functions, name: name.display().to_string(), version })
    }

    /// Major, minor and patch version.
    pub fn version(&self) -> [i32; 3] {
        self.version
    }

    /// The file that was loaded, or the name that the loader resolved.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn nowhere<T>(text: String) -> Result<T> {
    Err(Error::new(ErrorKind::Device, text))
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        write!(f, "nvJPEG {major}.{minor}.{patch} ({})", self.name)
    }
}
