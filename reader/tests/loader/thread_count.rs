//! Waits until the loader's threads have ended.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

/// True once none of the loader's threads is left: one that was joined may be listed for a moment more, and on a busy
/// machine for longer.
pub fn threads_are_gone() -> bool {
    crate::patience::until("no thread of the loader is left", || threads() == 0);
    true
}

/// Threads of this process whose names are the loader's.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .flatten()
        .filter(|t| t.path().exists())
        .filter_map(|t| std::fs::read_to_string(t.path().join("comm")).ok())
        .filter(|n| n.starts_with("tarflume-"))
        .count()
}
