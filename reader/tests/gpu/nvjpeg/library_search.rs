//! The search for the library, and the message if it is not found.

use std::path::PathBuf;

use tarflume::internal::nvjpeg::{FoundLibrary, Library, Nvjpeg};
use tarflume::{ErrorKind, Libraries};

use crate::gpu::nvjpeg::bench::{child, library, simulated};

#[test]
#[ignore = "a child of the tests below"]
fn child_finds_none() {
    let folder = std::env::temp_dir().join("site-packages");
    match Library::find(&Libraries::beside([folder])) {
        Ok(FoundLibrary::Nowhere(places)) => {
            assert!(places.contains("libnvjpeg was not found"), "{places}");
            for place in ["below ", "site-packages", "libnvjpeg.so.13 (", "TARFLUME_NVJPEG"] {
                assert!(places.contains(place), "no {place}: {places}");
            }
        }
        // A real one, of this machine's.
        Ok(FoundLibrary::Here(library)) => assert!(library.version() >= [12, 0, 0]),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Device);
            assert!(std::env::var_os("TARFLUME_NVJPEG").is_some_and(|named| !named.is_empty()));
            assert!(error.to_string().contains("TARFLUME_NVJPEG names no usable"), "{error}");
        }
    }
}

#[test]
fn the_error_for_a_missing_library_lists_the_searched_places() {
    let none = [("LD_LIBRARY_PATH", "/nonexistent")];
    child("gpu::nvjpeg::library_search::child_finds_none", &none);
    let text = tempfile::NamedTempFile::new().unwrap();
    for wrong in ["/nonexistent/libnvjpeg.so.13", text.path().to_str().unwrap()] {
        child(
            "gpu::nvjpeg::library_search::child_finds_none",
            &[none[0], ("TARFLUME_NVJPEG", wrong)],
        );
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_finds_named() {
    let sites: Vec<PathBuf> = std::env::var_os("SITE").map(PathBuf::from).into_iter().collect();
    let FoundLibrary::Here(library) = Library::find(&Libraries::beside(sites)).unwrap() else {
        panic!("none")
    };
    assert_eq!(library.name(), std::env::var("EXPECTED").unwrap());
    assert_eq!(library.version(), [13, 3, 2]);
}

#[test]
fn a_named_library_precedes_that_of_a_package_and_that_of_the_dynamic_linker() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().to_str().unwrap();
    let inner = folder.path().join("torchvision.libs");
    std::fs::create_dir(&inner).unwrap();
    let [carried, broken] =
        ["libnvjpeg.36e11081.so.13", "libnvjpeg.zz.so.13"].map(|n| inner.join(n));
    std::fs::copy(simulated().join("libnvjpeg.so.13"), &carried).unwrap();
    std::fs::write(&broken, b"not a library").unwrap();
    let named = simulated().join("libnvjpeg.so.13");
    let [carried, named] = [&carried, &named].map(|path| path.to_str().unwrap());
    child("gpu::nvjpeg::library_search::child_finds_named", &[("EXPECTED", "libnvjpeg.so.13")]);
    child(
        "gpu::nvjpeg::library_search::child_finds_named",
        &[("SITE", site), ("EXPECTED", carried)],
    );
    let knobs = [("SITE", site), ("TARFLUME_NVJPEG", named), ("EXPECTED", named)];
    child("gpu::nvjpeg::library_search::child_finds_named", &knobs);
}

/// With `TARFLUME_NVJPEG` set to NVIDIA's own library, on a machine with or without a GPU: by hand.
#[test]
#[ignore = "needs NVIDIA's library"]
fn the_real_library_has_what_is_called() {
    let library = library();
    assert!(library.version() >= [12, 0, 0]);
    // No driver, or no context: an error of words, no crash.
    let error = Nvjpeg::new(&library, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
}
