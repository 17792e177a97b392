//! Finds the libraries that use a GPU, by their file names in the usual folders.
//!
//! Loads nothing. The order is that of precedence: `LD_LIBRARY_PATH`, the system's folders, the
//! toolkit, Python packages.

use std::path::{Path, PathBuf};

use super::facts::Library;
use super::surroundings::Surroundings;

const WANTED: [(&str, &str); 4] = [
    ("libcuda", "the driver's own: copies batches to a GPU"),
    ("libnvrtc", "compiles kernels for the installed GPU"),
    ("libnvjpeg", "decodes JPEGs on a GPU"),
    ("libnvcuvid", "the driver's own: lets libnvjpeg use decoders in hardware"),
];

/// Returns each library, found or not.
pub(super) fn libraries(of: &Surroundings) -> Vec<Library> {
    let searched = [named(of), system(of)].concat();
    let others = [toolkits(of), python(of)].concat();
    let libraries = WANTED.into_iter().map(|(name, purpose)| {
        let near = first_inside(&searched, of, name);
        let on_search_path = near.is_some();
        Library {
            name,
            purpose,
            path: near.or_else(|| first_inside(&others, of, name)),
            on_search_path,
        }
    });
    libraries.collect()
}

fn first_inside(folders: &[PathBuf], of: &Surroundings, name: &str) -> Option<PathBuf> {
    folders.iter().find_map(|folder| inside(of, folder, name))
}

/// Returns true if the system's linker can find a file of this name: in `LD_LIBRARY_PATH`, or in the system's folders.
pub(super) fn is_on_search_path(of: &Surroundings, file: &str) -> bool {
    let searched = [named(of), system(of)].concat();
    searched.iter().any(|folder| of.names(folder).iter().any(|name| name == file))
}

/// Returns the newest file of a library in a folder. torchvision's is `libnvjpeg.36e11081.so.13`.
fn inside(of: &Surroundings, folder: &Path, name: &str) -> Option<PathBuf> {
    // A file name with a version is more informative: of `libnvrtc.so` and `libnvrtc.so.13` the
    // latter is reported.
    let newest = of
        .names(folder)
        .into_iter()
        .filter(|file| is_library(file, name))
        .filter(|file| !file.contains(".alt."))
        .max()?;
    Some(folder.join(newest))
}

fn is_library(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).unwrap_or_default();
    rest.starts_with('.') && (rest.ends_with(".so") || rest.contains(".so."))
}

fn named(of: &Surroundings) -> Vec<PathBuf> {
    let text = of.variable("LD_LIBRARY_PATH").unwrap_or_default();
    text.split([':', ';']).filter(|folder| folder.starts_with('/')).map(PathBuf::from).collect()
}

/// Returns the folders of `ld.so.conf`, and the default ones.
fn system(of: &Surroundings) -> Vec<PathBuf> {
    let confs = of.names("/etc/ld.so.conf.d").into_iter();
    let confs = confs.map(|name| format!("/etc/ld.so.conf.d/{name}"));
    let texts = confs.chain(["/etc/ld.so.conf".to_string()]).filter_map(|conf| of.text(conf));
    let listed: Vec<_> = texts
        .flat_map(|text| text.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>())
        .filter(|line| line.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let usual = ["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&triplet));
    let plain = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"].map(PathBuf::from);
    [&listed[..], &usual[..], &plain[..]].concat()
}

/// Returns the folders of CUDA's toolkits: the configured one, then those of /usr/local, newest
/// first.
fn toolkits(of: &Surroundings) -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(|name| of.variable(name));
    let kits = of.names("/usr/local").into_iter().rev().filter(|name| name.starts_with("cuda"));
    let kits = kits.map(|name| format!("/usr/local/{name}"));
    named.chain(kits).map(|kit| PathBuf::from(kit).join("lib64")).collect()
}

/// Returns the folders of packages in the Python environment: `nvidia/*/lib`, `torchvision.libs`.
fn python(of: &Surroundings) -> Vec<PathBuf> {
    let homes = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| of.variable(name));
    let homes = homes.chain(["/usr/local".to_string(), "/usr".to_string()]);
    let mut found = Vec::new();
    for lib in homes.map(|home| PathBuf::from(home).join("lib")) {
        let versions = of.names(&lib).into_iter().filter(|name| name.starts_with("python3"));
        for packages in versions.flat_map(|version| {
            ["site-packages", "dist-packages"].map(|kind| lib.join(&version).join(kind))
        }) {
            let nvidia = packages.join("nvidia");
            let parts = of.names(&nvidia).into_iter().rev();
            found.extend(parts.map(|part| nvidia.join(part).join("lib")));
            found.push(packages.join("torchvision.libs"));
        }
    }
    found
}
