//! `Libraries`: the search path for NVIDIA's optional libraries.
//!
//! Finds file names only; the caller loads the library.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Additional places to search for libraries.
///
/// ```
/// use tarflume::Libraries;
///
/// let libraries = Libraries::beside(["venv/lib/python3.12/site-packages"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Libraries {
    packages: Vec<PathBuf>,
}

impl Libraries {
    /// Also searches the package folders (`site-packages`) of a Python environment. NVIDIA's wheels and
    /// torchvision contain libraries.
    pub fn beside<P: AsRef<Path>>(packages: impl IntoIterator<Item = P>) -> Libraries {
        let packages = packages.into_iter();
        Libraries { packages: packages.map(|folder| folder.as_ref().to_path_buf()).collect() }
    }

    /// The value of the environment variable `TARFLUME_NVRTC`, for the library `nvrtc`. An empty value
    /// counts as unset.
    pub(crate) fn named(name: &str) -> Option<PathBuf> {
        let named = env::var_os(format!("TARFLUME_{}", name.to_uppercase()));
        named.filter(|named| !named.is_empty()).map(PathBuf::from)
    }

    /// The package folders that are searched.
    pub fn packages(&self) -> impl Iterator<Item = &Path> {
        self.packages.iter().map(PathBuf::as_path)
    }

    /// Files to try for the library `name` (`nvrtc`), best first. If the environment variable
    /// `TARFLUME_NVRTC` is set, only the file that it names. Otherwise the files in the packages, then
    /// those that the system's loader finds, then those in CUDA's folder.
    pub fn candidates(&self, name: &str) -> Vec<PathBuf> {
        if let Some(named) = Libraries::named(name) {
            return vec![named];
        }
        let mut found = self.packaged(name);
        let majors = ["", ".13", ".12", ".11"];
        found.extend(majors.map(|major| PathBuf::from(format!("lib{name}.so{major}"))));
        let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os);
        for home in homes.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]) {
            found.extend(files(&home.join("lib64"), name));
        }
        found
    }
}

impl Libraries {
    /// The files in the packages only.
    pub(crate) fn packaged(&self, name: &str) -> Vec<PathBuf> {
        self.packages.iter().flat_map(|packages| packaged(packages, name)).collect()
    }
}

/// Searches the folders that wheels use: `nvidia/*/lib` and `torchvision.libs`.
fn packaged(packages: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(packages.join("nvidia")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|folder| Reverse((toolkit(folder), folder.clone())));
    let mut folders: Vec<PathBuf> = folders.into_iter().map(|folder| folder.join("lib")).collect();
    folders.push(packages.join("torchvision.libs"));
    folders.iter().flat_map(|folder| files(folder, name)).collect()
}

/// 13 for `cu13`, the folder of all libraries in wheels of that version; 0 for folders of one library such as
/// `cuda_nvrtc`, which older wheels use.
fn toolkit(folder: &Path) -> u32 {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.strip_prefix("cu").and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Matches `libNAME.so`, `libNAME.so.13`, and names that wheels rename to: `libNAME.36e11081.so.13`,
/// `libNAME-36e11081.so.13`. Does not match `libNAME-builtins.so`.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    fn is_one(path: &Path, begins: &str) -> bool {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(rest) = file.strip_prefix(begins) else { return false };
        let Some((digest, end)) = rest.split_once(".so") else { return false };
        let digest = digest.strip_prefix(['.', '-']).unwrap_or(digest);
        digest.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (end.is_empty() || end.starts_with('.'))
    }

    let begins = format!("lib{name}");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_one(path, &begins)).collect();
    found.sort_by(|a, b| b.cmp(a));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_come_first_and_other_libraries_not_at_all() {
        let site = tempfile::tempdir().unwrap();
        for file in [
            "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8",
            "nvidia/cu13/lib/libnvrtc.so.13",
            "torchvision.libs/libnvjpeg.36e11081.so.13",
        ] {
            let path = site.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let libraries = Libraries::beside([site.path().to_path_buf()]);
        let found = libraries.candidates("nvrtc");
        let first: Vec<_> =
            found.iter().map_while(|path| path.strip_prefix(site.path()).ok()).collect();
        assert_eq!(
            first,
            [
                Path::new("nvidia/cu13/lib/libnvrtc.so.13"),
                Path::new("nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
            ]
        );
        assert_eq!(found[2], Path::new("libnvrtc.so"));
        let found = libraries.candidates("nvjpeg");
        assert_eq!(found[0], site.path().join("torchvision.libs/libnvjpeg.36e11081.so.13"));
        assert_eq!(libraries.packages().collect::<Vec<_>>(), [site.path()]);
    }

    #[test]
    fn libraries_are_recognized_by_name_even_as_renamed_by_a_wheel() {
        let folder = tempfile::tempdir().unwrap();
        let named = ["libx.so", "libx.so.13", "libx.36e11081.so.13", "libx-36e11081.so.12.4.0.76"];
        let others =
            ["libx_static.a", "libx2k.so.0", "liby.so", "libx.36e1.txt", "libx-builtins.so"];
        for file in named.iter().chain(&others) {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let mut named = named.map(|file| folder.path().join(file));
        named.sort_by(|a, b| b.cmp(a));
        assert_eq!(files(folder.path(), "x"), named);
    }
}
