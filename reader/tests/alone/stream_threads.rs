//! Streams leave no thread behind. A separate test binary, because it counts the threads of the process.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../patience.rs"]
mod patience;

use std::fs;
use std::io::{Cursor, Write};

use tarflume::{Shuffle, Size, Stream};
use tarflume_fixtures::TarBytes;

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn dropped_at_any_moment_no_thread_is_left() {
    let mut tar = TarBytes::new();
    for i in 0..300 {
        tar.sample(&format!("{i:03}"), 20);
    }
    let tar = tar.ended();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.tar"), &tar).unwrap();
    fs::write(dir.path().join("b.tar"), &tar).unwrap();
    let files =
        Stream::open(dir.path().to_str().unwrap()).unwrap().memory_limit(Size::new(16 << 20));
    let before = threads();
    for round in 0..200u64 {
        let (pipe, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&tar[..8192]).unwrap();
        let stream = match round % 4 {
            0 => files.clone(),
            1 => files.clone().shuffle(Shuffle::Buffer { size: 50 + round, seed: 0 }),
            2 => Stream::from_reader("memory", Cursor::new(tar.clone())),
            _ => Stream::from_fd("pipe", pipe).unwrap(),
        };
        let mut samples = stream.samples(round).unwrap();
        let most = if round % 4 == 3 { round % 3 } else { round };
        for _ in 0..most {
            samples.next().unwrap().unwrap();
        }
        drop(samples);
        // A joined thread may stay in the list for a moment: the kernel wakes the joining thread first.
        patience::until(&format!("round {round} leaves no thread"), || threads() == before);
    }
}
