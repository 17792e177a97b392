//! A mapped file that is truncated while it is read gives zeros and a mark, and does not kill the
//! process.
//!
//! Every test runs in its own process, started from this one: a crash fails one test and does not
//! end the others, and handlers of SIGBUS can be set safely.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tarflume_formats::index::{Index, IndexBuilder, TarFacts};
use tarflume_formats::{ErrorKind, Mapped};

const CHILD: &str = "TARFLUME_TEST_CHILD";
const PAGE: u64 = 4096;

/// Runs the test `name` of this program in its own process, which reads `mode`.
fn child(name: &str, mode: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    let name = format!("guard::{name}");
    let args = ["--exact", &name, "--nocapture", "--test-threads=1"];
    Command::new(program).args(args).env(CHILD, mode).output().unwrap()
}

fn mode() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Returns true in the child, which continues with the test; in the parent, after the child ended
/// well.
fn in_child(name: &str) -> bool {
    if mode().is_some() {
        return true;
    }
    let out = child(name, "run");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{name}: {:?}, {said}", out.status);
    assert!(String::from_utf8_lossy(&out.stdout).contains("1 passed"), "{name} did not run");
    false
}

/// A file of `pages` pages of sevens.
fn sevens(folder: &Path, name: &str, pages: u64) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, vec![7; (pages * PAGE) as usize]).unwrap();
    path
}

fn cut(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b == 0).count()
}

#[test]
fn a_truncated_file_reads_as_zeros_and_reports_it() {
    if !in_child("a_truncated_file_reads_as_zeros_and_reports_it") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = sevens(folder.path(), "a", 100);
    let map = Mapped::open(&path).unwrap();
    assert!(map.is_intact() && zeros(&map) == 0);
    cut(&path, 10 * PAGE + 100);
    assert_eq!(zeros(&map) as u64, 90 * PAGE - 100);
    assert!(!map.is_intact());
    let error = map.intact().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(error.text().contains("cut"), "{error}");
    // A file that is whole again is not trusted before it is opened again.
    let path = sevens(folder.path(), "a", 100);
    assert!(!map.is_intact());
    let again = Mapped::open(&path).unwrap();
    assert!(again.is_intact() && zeros(&again) == 0);
}

/// A failing disk sends the same signal, and leaves the file unchanged.
#[test]
fn a_lost_page_of_an_unchanged_file_is_an_error_of_the_machine() {
    if !in_child("a_lost_page_of_an_unchanged_file_is_an_error_of_the_machine") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (changed, kind) in [(false, ErrorKind::Io), (true, ErrorKind::Truncated)] {
        let path = sevens(folder.path(), "a", 100);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let map = Mapped::open(&path).unwrap();
        cut(&path, 10 * PAGE);
        assert!(zeros(&map) > 0 && !map.is_intact());
        cut(&path, 100 * PAGE);
        if !changed {
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        }
        let error = map.intact().unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert_eq!(error.blame().is_machine(), !changed, "{error:?}");
        assert_eq!(error.place().path.is_some(), !changed);
    }
}

/// The bytes read are in the last page of the truncated file: they raise no signal.
#[test]
fn a_cut_in_the_page_that_was_read_is_noticed() {
    if !in_child("a_cut_in_the_page_that_was_read_is_noticed") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = sevens(folder.path(), "a", 3);
    let map = Mapped::open(&path).unwrap();
    cut(&path, PAGE + 10);
    assert_eq!(
        map[PAGE as usize..][..20],
        [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    assert!(!map.is_intact());
}

/// The map's end is no multiple of a page, and the file is cut to nothing.
#[test]
fn a_file_cut_to_nothing_is_noticed_from_its_first_byte_to_its_last() {
    if !in_child("a_file_cut_to_nothing_is_noticed_from_its_first_byte_to_its_last") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for length in [1, 100, PAGE, PAGE + 1, 3 * PAGE - 1] {
        let path = folder.path().join("a");
        fs::write(&path, vec![7; length as usize]).unwrap();
        let map = Mapped::open(&path).unwrap();
        cut(&path, 0);
        assert_eq!(zeros(&map) as u64, length);
        assert!(!map.is_intact());
    }
}

#[test]
fn holes_are_no_cuts() {
    if !in_child("holes_are_no_cuts") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holes");
    File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let map = Mapped::open(&path).unwrap();
    assert_eq!(zeros(&map), 64 << 20);
    assert!(map.is_intact());
}

#[test]
fn many_threads_read_many_maps_while_files_are_cut() {
    if !in_child("many_threads_read_many_maps_while_files_are_cut") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> =
        (0..200).map(|i| sevens(folder.path(), &format!("{i}"), 1 + i % 40)).collect();
    let maps: Vec<_> = paths.iter().map(|p| Mapped::open(p).unwrap()).collect();
    let start = Barrier::new(9);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let maps = &maps;
            let start = &start;
            let done = &done;
            scope.spawn(move || {
                start.wait();
                let mut last = false;
                while !last {
                    last = done.load(Ordering::Relaxed);
                    for map in maps.iter().cycle().skip(thread * 25).take(maps.len()) {
                        let seen = zeros(map);
                        // A zero that was read is never trusted.
                        assert!(seen == 0 || !map.is_intact());
                    }
                }
            });
        }
        start.wait();
        for (i, path) in paths.iter().enumerate().filter(|(i, _)| i % 2 == 0) {
            cut(path, if i % 4 == 0 { 0 } else { i as u64 % 40 / 2 * PAGE });
        }
        done.store(true, Ordering::Relaxed);
    });
    for (i, map) in maps.iter().enumerate() {
        assert_eq!(map.is_intact(), i % 2 == 1, "map {i}");
    }
}

/// Addresses are reused by maps that are whole and maps that are not.
#[test]
fn maps_come_and_go_in_eight_threads() {
    if !in_child("maps_come_and_go_in_eight_threads") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let folder = folder.path();
            scope.spawn(move || {
                for round in 0..400 {
                    let path = sevens(folder, &format!("{thread}"), 8);
                    let map = Mapped::open(&path).unwrap();
                    let other = Mapped::open(&path).unwrap();
                    assert_eq!(zeros(&map), 0);
                    if round % 2 == 0 {
                        cut(&path, 3 * PAGE);
                        assert_eq!(zeros(&map) as u64, 5 * PAGE);
                        assert!(!map.is_intact());
                    } else {
                        assert!(map.is_intact());
                    }
                    drop(map);
                    assert_eq!(other.is_intact(), round % 2 == 1);
                    fs::remove_file(path).unwrap();
                }
            });
        }
    });
}

/// Faults by pages from the end backwards would create one area each: they are merged.
#[test]
fn a_torn_map_uses_few_areas() {
    if !in_child("a_torn_map_uses_few_areas") {
        return;
    }
    fn areas() -> usize {
        fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }
    let folder = tempfile::tempdir().unwrap();
    let path = sevens(folder.path(), "a", 2000);
    let map = Mapped::open(&path).unwrap();
    let before = areas();
    cut(&path, 0);
    for page in (0..2000).rev().step_by(2).map(|p| p * PAGE as usize) {
        assert_eq!(map[page], 0);
    }
    assert!(areas() <= before + 2, "{before} areas before, {} after", areas());
}

#[test]
fn errno_outlives_a_fault() {
    if !in_child("errno_outlives_a_fault") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = sevens(folder.path(), "a", 3);
    let map = Mapped::open(&path).unwrap();
    cut(&path, 0);
    unsafe { *libc::__errno_location() = 4321 };
    assert_eq!(std::hint::black_box(map[0]), 0);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(4321));
}

/// The child of a fork has its own guard, and its loss does not affect its parent.
#[test]
fn a_forked_child_is_guarded() {
    if !in_child("a_forked_child_is_guarded") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = sevens(folder.path(), "a", 3);
    let map = Mapped::open(&path).unwrap();
    let other = sevens(folder.path(), "b", 3);
    let whole = Mapped::open(&other).unwrap();
    cut(&path, PAGE);
    let child = unsafe { libc::fork() };
    if child == 0 {
        let seen = zeros(&map) as u64 == 2 * PAGE && !map.is_intact() && whole.is_intact();
        unsafe { libc::_exit(if seen { 0 } else { 1 }) };
    }
    let mut status = -1;
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(zeros(&whole), 0);
    assert!(whole.is_intact());
}

#[test]
fn a_cut_sidecar_is_an_error_also_where_it_was_read_before() {
    if !in_child("a_cut_sidecar_is_an_error_also_where_it_was_read_before") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut builder = IndexBuilder::new();
    for n in 0..5000u64 {
        builder.sample(format!("{n:06}").as_bytes(), n * 1024);
        builder.part(b"jpg", n * 1024 + 512, 100, None).unwrap();
    }
    let facts = TarFacts { length: 5000 * 1024 + 1024, digest: None };
    let bytes = builder.encode(&facts).unwrap();
    let path = folder.path().join("a.index");
    for read_before in [true, false] {
        for length in (0..bytes.len() as u64 - PAGE).step_by(5000) {
            fs::write(&path, &bytes).unwrap();
            let index = Index::open(&path).unwrap();
            if read_before {
                index.check().unwrap();
            }
            cut(&path, length);
            for row in [0, 17, 2500, 4999] {
                let error = index.sample(row).expect_err("a cut sidecar");
                assert_eq!(error.kind(), ErrorKind::Truncated, "{error}");
                assert_eq!(error.place().path.as_deref(), Some(&*path));
            }
            assert_eq!(index.find(b"000017").unwrap_err().kind(), ErrorKind::Truncated);
            assert_eq!(index.check().unwrap_err().kind(), ErrorKind::Truncated);
            // The next call writes over this file: it must not be the mapped one.
            drop(index);
        }
    }
}

static CALLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn say(_: i32) {
    CALLED.fetch_add(1, Ordering::Relaxed);
    unsafe { libc::_exit(42) };
}

extern "C" fn say_more(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let address = unsafe { (*info).si_addr() };
    unsafe { libc::_exit(if address.is_null() { 44 } else { 43 }) };
}

fn set(handler: usize, flags: i32) {
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    assert_eq!(
        unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) },
        0
    );
}

/// Touches a lost page of a map that is not watched.
fn foreign_fault(folder: &Path) {
    let path = sevens(folder, "foreign", 2);
    let file = File::open(&path).unwrap();
    let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    cut(&path, 0);
    std::hint::black_box(map[0]);
}

/// A foreign SIGBUS has its previous effect: in each mode, a handler is set (or none), a data set's
/// file is mapped, and then something foreign faults or the signal is sent.
#[test]
fn a_fault_outside_our_maps_goes_to_the_previous_handler() {
    let name = "a_fault_outside_our_maps_goes_to_the_previous_handler";
    let Some(mode) = mode() else {
        for (mode, code, signal) in [
            ("std,fault", None, Some(libc::SIGBUS)),
            ("default,fault", None, Some(libc::SIGBUS)),
            ("default,sent", None, Some(libc::SIGBUS)),
            ("ignored,fault", None, Some(libc::SIGBUS)),
            ("ignored,sent", Some(0), None),
            ("plain,fault", Some(42), None),
            ("plain,sent", Some(42), None),
            ("info,fault", Some(43), None),
            ("once,fault", Some(42), None),
            ("later,fault", Some(42), None),
            ("later,ours", Some(42), None),
        ] {
            let status = child(name, mode).status;
            assert_eq!((status.code(), status.signal()), (code, signal), "{mode}");
        }
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (before, what) = mode.split_once(',').unwrap();
    match before {
        "default" => set(libc::SIG_DFL, 0),
        "ignored" => set(libc::SIG_IGN, 0),
        "plain" => set(say as *const () as usize, libc::SA_NODEFER),
        "once" => set(say as *const () as usize, libc::SA_RESETHAND),
        "info" => set(say_more as *const () as usize, libc::SA_SIGINFO),
        _ => {}
    }
    let path = sevens(folder.path(), "ours", 3);
    let map = Mapped::open(&path).unwrap();
    cut(&path, PAGE);
    if before == "later" {
        set(say as *const () as usize, 0);
    } else {
        assert_eq!(zeros(&map) as u64, 2 * PAGE);
    }
    match what {
        "fault" => foreign_fault(folder.path()),
        "ours" => assert!(zeros(&map) < 1, "the handler that came later did not end this"),
        _ => assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0),
    }
}
