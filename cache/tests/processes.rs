//! Processes that share a cache and are killed at any moment: no wrong byte, no wait, no growth.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tarflume_cache::{BLOCK, Cache, Key, Lookup, Settings};

const PROCESSES: usize = 8;
const SLOTS: u64 = 48;
/// Blocks of the data set: three times as many as slots.
const BLOCKS: u32 = 144;
const FOLDER: &str = "TARFLUME_TEST_CACHE";

fn settings(folder: &Path) -> Settings {
    Settings::new((SLOTS + 1) * (BLOCK as u64 + 4096)).folder(folder)
}

/// The byte at `at` of a block.
fn byte(block: u32, at: usize) -> u8 {
    (block as usize * 7 + at * 31 + (at >> 8) * 5) as u8
}

fn key(block: u32) -> Key {
    Key::new([0x5a; 32], block)
}

/// What has not happened by then never will, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(600);

/// Reads random ranges, and writes blocks that are missing, until it is killed. A wrong byte ends it with a message; a
/// call that waits for a killed process never ends, and then nothing is read and replaced any more.
#[test]
#[ignore = "a process of the test below"]
fn worker() {
    let folder = std::env::var_os(FOLDER).expect("the folder of the cache");
    let cache = Cache::open(&settings(Path::new(&folder))).unwrap();
    let mut random = u64::from(std::process::id()) | 1;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) % below
    };
    loop {
        let block = next(BLOCKS.into()) as u32;
        let length = 1 + next(200_000) as usize;
        let at = next((BLOCK - length) as u64) as usize;
        let mut into = vec![0; length];
        match cache.read(key(block), at, &mut into) {
            Lookup::Hit => {
                let wrong = (0..length).find(|n| into[*n] != byte(block, at + n));
                assert_eq!(wrong, None, "WRONG BYTE of block {block} from {at}");
            }
            Lookup::Filling => {}
            Lookup::Miss => {
                if let Some(fill) = cache.begin(key(block)).fill() {
                    let bytes: Vec<u8> = (0..BLOCK).map(|at| byte(block, at)).collect();
                    fill.finish(&bytes).unwrap();
                }
            }
        }
        assert_eq!(cache.stats().errors, 0, "ERROR of the disk");
    }
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["processes::worker", "--exact", "--ignored", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Kills a process; panics if it had ended by itself.
fn kill(mut child: Child) {
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ended.is_none(), "a process ended by itself: {}", text.concat());
}

/// How often blocks were read and replaced by all processes until now; 0 while there is no cache.
fn work(folder: &Path) -> u64 {
    let cache = Cache::find(&settings(folder)).unwrap();
    let total = cache.map(|cache| cache.total_stats());
    total.map_or(0, |total| total.hits.min(total.evictions))
}

#[test]
fn killed_processes_leave_a_cache_that_is_right() {
    let folder = tempfile::tempdir().unwrap();
    // In a folder without files yet: the processes also make the cache at the same time.
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| start(folder.path())).collect();
    for kills in 0..40 {
        // Between two kills something happens, however long that takes.
        let begin = Instant::now();
        let before = work(folder.path());
        while work(folder.path()) < before + 3 {
            assert!(begin.elapsed() < PATIENCE, "nothing happens after {kills} kills");
            std::thread::sleep(Duration::from_millis(1));
        }
        kill(std::mem::replace(&mut processes[kills % PROCESSES], start(folder.path())));
    }
    processes.into_iter().for_each(kill);
    let cache = Cache::find(&settings(folder.path())).unwrap().expect("the cache");
    let contents = cache.contents();
    assert_eq!(std::fs::metadata(cache.path()).unwrap().len(), cache.bytes());
    assert_eq!(contents.filling, 0, "the claims of killed processes are void");
    // What is left is right, and each slot can be written again.
    let found = cache.scrub(&|| false);
    assert!(found.unread.is_empty());
    let mut into = vec![0; BLOCK];
    let read = (0..BLOCKS).filter(|block| cache.read(key(*block), 0, &mut into) == Lookup::Hit);
    assert!(read.count() as u64 + contents.abandoned + found.damaged.len() as u64 > SLOTS / 2);
}
