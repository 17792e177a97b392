//! Waits until the loader's threads have ended.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

/// True once none of the loader's threads is left: one that was joined may be listed for a moment more.
pub fn threads_are_gone() -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_micros(200));
        threads() == 0
    })
}

/// Threads of this process whose names are the loader's.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks
        .flatten()
        .filter(|t| t.path().exists())
        .filter_map(|t| name(t).ok())
        .filter(|n| n.starts_with("tarflume-"))
        .count()
}
