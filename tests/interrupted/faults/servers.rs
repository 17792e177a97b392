//! File systems that behave differently from a local disk: file servers that repeat requests and
//! keep open files under other names, object stores without links, mounts without permissions.

use std::fs;

use super::calls::Class;
use super::guarded::judged;
use super::tracer::{Call, Deed};
use crate::harness::Place;

const BUILD: &str = "build photos -o out --shards 2 --jobs 1";

fn place() -> Place {
    let place = Place::new();
    place.folder("photos", 6).pack("build photos -o whole --shards 2").succeeds();
    place
}

/// Runs `words` while the calls selected by `fail` return an error; returns their number, `None` if
/// tracing is not permitted.
#[track_caller]
fn succeeds(place: &Place, words: &str, fail: impl Fn(&Call) -> Option<i32>) -> Option<usize> {
    let ran = judged(place, words, |call| fail(call).map_or(Deed::Go, Deed::Fail))?;
    assert_eq!(ran.exit, 0, "{words}: {}", ran.stderr);
    Some(ran.injected)
}

#[test]
fn an_unreadable_parent_folder_does_not_matter() {
    let place = place();
    place.file("scratch/me/file", "");
    let words = "build photos -o scratch/me/new/out --shards 2";
    let failed = succeeds(&place, words, |call| {
        let above = ["scratch", "scratch/me"].contains(&call.path.as_str());
        (call.name == "openat" && above).then_some(libc::EACCES)
    });
    let Some(failed) = failed else { return };
    assert!(failed > 1, "{failed}");
    place.same("scratch/me/new/out", "whole");
}

#[test]
fn an_output_folder_whose_name_cannot_be_synced_is_an_error_before_anything_is_moved() {
    let place = place();
    place.pack("plan photos -o scratch/out --shards 2").succeeds();
    place.pack("run scratch/out").succeeds();
    let before = place.tree("scratch");
    let ran = judged(&place, "finalize scratch/out", |call| {
        let above = call.class == Class::Sync && call.path == "scratch";
        if above { Deed::Fail(libc::EIO) } else { Deed::Go }
    });
    let Some(ran) = ran else { return };
    assert_eq!(ran.exit, 75, "{}", ran.stderr);
    assert_eq!(place.tree("scratch"), before);
    place.pack("finalize scratch/out").succeeds();
    place.same("scratch/out", "whole");
}

#[test]
fn the_names_of_all_folders_above_the_output_are_synced() {
    let place = place();
    fs::create_dir_all(place.at("a/b/c")).unwrap(); // by an attempt that was killed before it synced them
    let mut synced = Vec::new();
    let ran = judged(&place, "build photos -o a/b/c/out --shards 2", |call| {
        if call.class == Class::Sync {
            synced.push(call.path.clone());
        }
        Deed::Go
    });
    let Some(ran) = ran else { return };
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    for folder in ["", "a", "a/b", "a/b/c"] {
        assert!(synced.iter().any(|path| path == folder), "'{folder}' is not of {synced:?}");
    }
}

#[test]
fn files_in_use_in_the_working_folder_of_a_published_data_set_are_kept() {
    for (name, path, error) in [
        ("unlink", "out/.pack/plan", libc::EBUSY),
        ("unlink", "out/.pack/lock", libc::EBUSY),
        ("rmdir", "out/.pack", libc::ENOTEMPTY),
        ("rmdir", "out/.pack", libc::EBUSY),
    ] {
        let place = place();
        let failed = succeeds(&place, BUILD, |call| {
            let at = call.name == "unlinkat" || call.name == name;
            (at && call.path == path).then_some(error)
        });
        let Some(failed) = failed else { return };
        assert!(failed > 0, "{name} of {path}");
        assert!(place.at("out/.pack").try_exists().unwrap());
        for command in ["run out", "status out", BUILD, "finalize out"] {
            place.pack(command).succeeds().says("published");
        }
        place.same("out", "whole");
    }
}

#[test]
fn a_rename_that_reports_not_found_after_success_counts_as_done() {
    let place = place();
    let mut renames = 0;
    let count = judged(&place, BUILD, |call| {
        renames += usize::from(call.name.starts_with("rename"));
        Deed::Go
    });
    if count.is_none() {
        return;
    }
    assert!(renames > 8, "{renames}");
    for number in 1..=renames {
        fs::remove_dir_all(place.at("out")).unwrap();
        let mut seen = 0;
        let ran = judged(&place, BUILD, |call| {
            let rename = call.name.starts_with("rename");
            seen += usize::from(rename);
            if rename && seen == number { Deed::Late(libc::ENOENT) } else { Deed::Go }
        });
        let Some(ran) = ran else { return };
        assert_eq!((ran.exit, ran.injected), (0, 1), "rename {number}: {}", ran.stderr);
        place.same("out", "whole");
    }
}

#[test]
fn a_link_that_reports_exists_after_success_counts_as_made() {
    let place = place();
    let mut links = 0;
    let ran = judged(&place, BUILD, |call| match call.name {
        "renameat2" => Deed::Fail(libc::EINVAL),
        "linkat" => {
            links += 1;
            Deed::Late(libc::EEXIST)
        }
        _ => Deed::Go,
    });
    let Some(ran) = ran else { return };
    assert!(links > 1, "{links}");
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    place.same("out", "whole");
}

#[test]
fn a_file_system_without_links_and_without_exclusive_renames_suffices() {
    for error in [libc::EPERM, libc::EOPNOTSUPP, libc::ENOSYS] {
        let place = place();
        place.file("photos/alone.jpg", "no picture");
        let words = format!("{BUILD} --on-problem quarantine");
        place.pack(&words.replace("-o out", "-o usual")).succeeds();
        let failed = succeeds(&place, &words, |call| match call.name {
            "renameat2" => Some(libc::EINVAL),
            "linkat" => Some(error),
            _ => None,
        });
        let Some(failed) = failed else { return };
        assert!(failed > 4, "{failed}");
        place.same("out", "usual");
    }
}

#[test]
fn a_file_system_without_permissions_can_hold_the_quarantine() {
    for error in [libc::EPERM, libc::EOPNOTSUPP] {
        let place = place();
        place.file("photos/alone.jpg", "no picture");
        let words = format!("{BUILD} --on-problem quarantine");
        let failed = succeeds(&place, &words, |call| (call.name == "fchmod").then_some(error));
        let Some(failed) = failed else { return };
        assert!(failed > 0);
        assert_eq!(fs::read(place.at("out/quarantine/alone.jpg")).unwrap(), b"no picture");
    }
}

#[test]
fn a_permanently_refused_verification_is_an_error() {
    let place = place();
    let ran = judged(&place, "verify whole", |call| match call.path.as_str() {
        "whole/shard-000001.tar" if call.class == Class::Open => Deed::Fail(libc::EBADMSG),
        _ => Deed::Go,
    });
    let Some(ran) = ran else { return };
    assert_eq!(ran.exit, 73, "{}", ran.stderr);
}

/// Runs `words` while the map of the file at `path` cannot be read: no page of the file is
/// available when it is touched, and the file's metadata is unchanged. `None` if tracing is not
/// permitted.
fn unreadable(place: &Place, words: &str, path: &str) -> Option<(i32, String)> {
    let at = place.at(path);
    let bytes = fs::read(&at).unwrap();
    let modified = fs::metadata(&at).unwrap().modified().unwrap();
    let open = || fs::File::options().write(true).open(&at).unwrap();
    let mut cut = false;
    let mut put_back = false;
    let ran = judged(place, words, |call| {
        if call.path == path && !cut && call.name == "mmap" {
            cut = true;
            open().set_len(0).unwrap();
        } else if call.path == path && cut && !put_back && call.class == Class::Ask {
            put_back = true;
            fs::write(&at, &bytes).unwrap();
            open().set_modified(modified).unwrap();
        }
        Deed::Go
    })?;
    assert!(cut && put_back, "{words}: {cut} {put_back}: {}", ran.stderr);
    assert_eq!(fs::read(&at).unwrap(), bytes);
    Some((ran.exit, ran.stderr))
}

#[test]
fn a_read_error_of_a_mapped_file_is_an_error_of_the_machine() {
    let place = place();
    place.pack("plan photos -o out --shards 2").succeeds();
    place.pack("run out").succeeds();
    let sidecar = "whole/shard-000001.index";
    for (words, path) in [
        ("verify --jobs 1 whole", sidecar),
        ("verify --jobs 1 --level quick whole", sidecar),
        ("ls whole", sidecar),
        ("status out", "out/.pack/plan"),
        ("run out", "out/.pack/plan"),
        ("finalize out", "out/.pack/plan"),
        (BUILD, "out/.pack/plan"),
    ] {
        let Some((exit, stderr)) = unreadable(&place, words, path) else { return };
        assert_eq!(exit, 75, "{words}: {stderr}");
        assert!(stderr.contains(path) && stderr.contains("Input/output error"), "{stderr}");
    }
    assert_eq!(place.names("out/.pack/shards").len(), 6, "what is finished is kept");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}
