//! Existing contents of an output folder under faults: a published data set, shards that were not
//! synced.

use std::fs;

use super::calls::Class;
use super::traced;
use super::tracer::{self, Call, Deed, Ran};
use crate::harness::Place;

/// Runs `pack` with these words; `judge` decides about each call. Returns `None` if tracing is known to be impossible.
pub(crate) fn judged(
    place: &Place,
    words: &str,
    mut judge: impl FnMut(&Call) -> Deed,
) -> Option<Ran> {
    let root = place.at("").canonicalize().unwrap();
    traced(|| tracer::run(place.command(words), &root, &mut |call: &Call| judge(call)))
}

#[test]
fn a_published_data_set_whose_state_is_unknown_is_not_overwritten() {
    let place = Place::new();
    place.folder("photos", 6).folder("others", 9);
    place.pack("build photos -o out --shards 2").succeeds();
    let before = place.tree("out");
    for command in [
        "build others -o out --prefix other",
        "build others -o out --prefix other --fresh",
        "plan others -o out --prefix other",
        "finalize out",
        "run out",
        "status out",
    ] {
        for error in [libc::EIO, libc::ESTALE, libc::ENOMEM, libc::EACCES] {
            let ran = judged(&place, command, |call| match call.path.as_str() {
                "out/dataset.json" => Deed::Fail(error),
                _ => Deed::Go,
            });
            let Some(ran) = ran else { return };
            let code = if error == libc::EACCES { 73 } else { 75 };
            assert_eq!(ran.exit, code, "{command}: {error}: {}", ran.stderr);
            let mut after = place.tree("out");
            after.retain(|name, _| !name.starts_with(".pack/"));
            assert_eq!(after, before, "{command}: {error}");
        }
    }
    place.pack("build photos -o out --shards 2").succeeds().says("published already");
    assert_eq!(place.tree("out"), before, "what the refused attempts left is swept");
}

/// A place whose data set `out` was packed without syncs and is not published.
fn unsynced() -> Place {
    let place = Place::new();
    place.folder("photos", 8);
    place.pack("build photos -o whole --shards 3").succeeds();
    place.pack("plan photos -o out --shards 3").succeeds();
    place.pack("run out --no-fsync").succeeds();
    place
}

#[test]
fn shards_that_were_not_synced_are_synced_by_a_later_attempt() {
    for command in ["run out", "finalize out", "build photos -o out --shards 3"] {
        let place = unsynced();
        let mut synced = Vec::new();
        let ran = judged(&place, command, |call| {
            if call.class == Class::Sync {
                synced.push(call.path.clone());
            }
            Deed::Go
        });
        let Some(ran) = ran else { return };
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        for number in 0..3 {
            for ending in ["tar", "index"] {
                let path = format!("out/.pack/shards/shard-00000{number}.{ending}");
                assert!(synced.contains(&path), "{command} did not sync {path}: {synced:?}");
            }
        }
        place.pack("finalize out").succeeds();
        place.same("out", "whole");
    }
}

#[test]
fn a_shard_that_was_not_synced_and_did_not_survive_is_packed_again() {
    for command in ["run out", "build photos -o out --shards 3"] {
        for name in ["shard-000001.tar", "shard-000002.index"] {
            let place = unsynced();
            let path = place.at("out/.pack/shards").join(name);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..].fill(0); // its length was written, its last pages were not
            fs::write(&path, bytes).unwrap();
            let refused = place.pack("finalize out");
            refused.exits(75).says("1 of 3 shards are not finished");
            place.pack(command).succeeds();
            place.pack("finalize out").succeeds();
            place.same("out", "whole");
        }
    }
}

#[test]
fn the_lock_is_not_opened_through_a_link_and_nothing_is_cut() {
    let place = Place::new();
    place.folder("photos", 4).file("precious", "bytes");
    place.pack("plan photos -o out").succeeds();
    fs::remove_file(place.at("out/.pack/lock")).unwrap();
    std::os::unix::fs::symlink(place.at("precious"), place.at("out/.pack/lock")).unwrap();
    for command in ["build photos -o out", "plan photos -o out", "finalize out"] {
        place.pack(command).exits(2).says("is a link");
        assert_eq!(fs::read(place.at("precious")).unwrap(), b"bytes");
    }
    fs::remove_file(place.at("out/.pack/lock")).unwrap();
    fs::hard_link(place.at("precious"), place.at("out/.pack/lock")).unwrap();
    place.pack("build photos -o out").succeeds();
    assert_eq!(fs::read(place.at("precious")).unwrap(), b"bytes", "a lock is never cut");
}

#[test]
fn the_next_finalize_removes_an_abandoned_working_folder() {
    let place = Place::new();
    place.folder("photos", 6);
    place.pack("build photos -o whole --shards 2").succeeds();
    // The state after a kill during the removal of the working folder, with the plan and without.
    for left in [&["plan", "lock"][..], &["lock"], &["plan", "lock", "shards"], &[]] {
        place.pack("plan photos -o out --shards 2").succeeds();
        place.pack("run out").succeeds();
        fs::create_dir(place.at("kept")).unwrap();
        for name in ["plan", "lock"] {
            fs::copy(place.at("out/.pack").join(name), place.at("kept").join(name)).unwrap();
        }
        place.pack("finalize out").succeeds();
        fs::create_dir(place.at("out/.pack")).unwrap();
        for name in left {
            match *name {
                "shards" => fs::create_dir(place.at("out/.pack/shards")).unwrap(),
                name => fs::rename(place.at("kept").join(name), place.at("out/.pack").join(name))
                    .unwrap(),
            }
        }
        for command in ["run out", "status out", "finalize out"] {
            place.pack(command).succeeds().says("published");
        }
        assert!(!place.at("out/.pack").try_exists().unwrap(), "{left:?}");
        place.same("out", "whole");
        for folder in ["out", "kept"] {
            fs::remove_dir_all(place.at(folder)).unwrap();
        }
    }
}

#[test]
fn finalize_compares_what_an_earlier_attempt_moved() {
    let place = Place::new();
    place.folder("photos", 6);
    place.pack("build photos -o whole --shards 2").succeeds();
    place.pack("plan photos -o out --shards 2").succeeds();
    place.pack("run out").succeeds();
    let from = place.at("out/.pack/shards/shard-000000.tar");
    let to = place.at("out/shard-000000.tar");
    // Its length is right, its bytes are not: the only copy stays where it is, and nothing is
    // published.
    let length = fs::metadata(&from).unwrap().len();
    fs::write(&to, vec![0; length as usize]).unwrap();
    place.pack("finalize out").exits(65).says("has the name of a shard");
    fs::rename(&from, place.at("aside")).unwrap();
    place.pack("finalize out").exits(65).says("has the name of a shard");
    assert!(!place.at("out/dataset.json").try_exists().unwrap());
    // The same bytes twice, as left by a link and a kill on file systems without such a rename.
    fs::copy(place.at("aside"), &to).unwrap();
    fs::rename(place.at("aside"), &from).unwrap();
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}

#[test]
fn unpacking_succeeds_only_if_the_file_system_confirms_all_writes() {
    let place = Place::new();
    place.folder("photos", 6).pack("build photos -o out --shards 2").succeeds();
    for error in [libc::EIO, libc::ENOSPC, libc::EDQUOT] {
        let mut synced = false;
        let ran = judged(&place, "unpack out -o back", |call| {
            let last = call.path == "back" && call.name == "syncfs";
            synced |= last;
            if last { Deed::Fail(error) } else { Deed::Go }
        });
        let Some(ran) = ran else { return };
        assert!(synced, "nobody asked");
        assert_eq!(ran.exit, 75, "{}", ran.stderr);
        assert!(ran.stderr.contains("remove back and unpack again"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("same command"), "{}", ran.stderr);
        fs::remove_dir_all(place.at("back")).unwrap();
    }
    place.pack("unpack out -o back").succeeds();
    place.same("photos", "back");
}

#[test]
fn a_file_that_is_not_unpacked_whole_does_not_keep_its_name() {
    let place = Place::new();
    place.photos("photos", 3).pack("build photos -o out").succeeds();
    let mut writes = 0;
    let ran = judged(&place, "unpack out -o back --jobs 1", |call| {
        let write = call.class == Class::Write && call.path.starts_with("back/");
        writes += usize::from(write);
        if write && writes == 4 { Deed::Fail(libc::ENOSPC) } else { Deed::Go }
    });
    let Some(ran) = ran else { return };
    assert_eq!(ran.exit, 75, "{}", ran.stderr);
    assert!(ran.stderr.contains("run the same command again"), "{}", ran.stderr);
    let whole = place.tree("photos");
    let mut left = place.tree("back");
    left.retain(|name, _| !name.starts_with(".pack-unpack/"));
    assert!(left.iter().all(|(name, digest)| whole.get(name) == Some(digest)), "{left:?}");
    assert!(left.len() < whole.len(), "{left:?}");
    place.pack("unpack out -o back").succeeds();
    place.same("photos", "back");
}
