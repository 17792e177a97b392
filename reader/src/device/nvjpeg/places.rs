//! Where libnvjpeg may be. Looks into folders and loads nothing.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Below a site-packages folder, the likeliest first: PyTorch's vision library, NVIDIA's wheels for CUDA 13
/// and 12.
const IN_PYTHON: [&str; 3] = ["torchvision.libs", "nvidia/cu13/lib", "nvidia/nvjpeg/lib"];

/// By the loader's own search: its cache, `LD_LIBRARY_PATH`, what the process has loaded.
const NAMES: [&str; 3] = ["libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"];

/// Where CUDA's toolkit puts it.
const TOOLKIT: &str = "/usr/local/cuda/lib64";

/// What to load, in this order, and what was looked at.
#[derive(Debug)]
pub(super) struct Places {
    /// Paths of files, or names for the loader.
    pub(super) names: Vec<OsString>,
    /// Folders without such a file.
    pub(super) without: Vec<PathBuf>,
}

/// All places, for these site-packages folders.
pub(super) fn places(site_packages: &[PathBuf]) -> Places {
    let mut places = Places { names: Vec::new(), without: Vec::new() };
    for inner in IN_PYTHON {
        site_packages.iter().for_each(|folder| places.look_into(&folder.join(inner)));
    }
    places.names.extend(NAMES.map(OsString::from));
    places.look_into(Path::new(TOOLKIT));
    places
}

impl Places {
    fn look_into(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<_> =
            entries.map(|entry| entry.file_name()).filter(|name| is_library(name)).collect();
        if found.is_empty() {
            self.without.push(folder.to_path_buf());
        }
        // The newest first, and always in the same order.
        found.sort_by(|a, b| b.cmp(a));
        self.names.extend(found.into_iter().map(|name| folder.join(name).into_os_string()));
    }
}

/// `libnvjpeg.so`, `libnvjpeg.so.13`, and `libnvjpeg.36e11081.so.13` or `libnvjpeg-36e11081.so.13`, as wheels
/// rename what they carry.
fn is_library(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix("libnvjpeg"));
    rest.is_some_and(|rest| {
        rest.starts_with(['.', '-']) && (rest.ends_with(".so") || rest.contains(".so."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names_whatever_a_wheel_made_of_them() {
        for name in [
            "libnvjpeg.so",
            "libnvjpeg.so.13",
            "libnvjpeg.36e11081.so.13",
            "libnvjpeg-36e11081.so.12.4.0.76",
        ] {
            assert!(is_library(OsStr::new(name)), "{name}");
        }
        for name in ["libnvjpeg_static.a", "libnvjpeg2k.so.0", "libjpeg.so", "libnvjpeg.36e1.txt"] {
            assert!(!is_library(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn torchvisions_copy_comes_first_and_the_toolkits_last() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, b"").unwrap();
            path.into_os_string()
        };
        let later = file("two/nvidia/cu13/lib/libnvjpeg.so.13");
        let first = file("two/torchvision.libs/libnvjpeg.36e11081.so.13");
        file("two/torchvision.libs/libcudart.31f6.so.13");
        let sites = [folder.path().join("one"), folder.path().join("two")];
        let places = places(&sites);
        assert_eq!(places.names[..3], [first, later, OsString::from("libnvjpeg.so.13")]);
        assert!(places.without.contains(&folder.path().join("one/torchvision.libs")));
        assert!(places.without.contains(&folder.path().join("two/nvidia/nvjpeg/lib")));
    }
}
