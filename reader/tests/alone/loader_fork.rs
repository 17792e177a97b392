//! A loader in a forked child: using it returns an error, and a new loader works. Both tell what they do in files of
//! their own.
//!
//! A separate test binary with one test, because it forks.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../loader/harness.rs"]
mod harness;
#[path = "../patience.rs"]
mod patience;
#[path = "../loader/thread_count.rs"]
mod thread_count;
#[path = "../loader/truth.rs"]
mod truth;

use harness::Shards;
use tarflume::Loader;
use truth::batches;

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: i32) -> !;
}

/// What the child does; false if something is not as it should be.
fn child(shards: &Shards, loader: Loader, mut epoch: tarflume::Epoch) -> bool {
    let refused = epoch.next().unwrap().unwrap_err().to_string();
    let begun = loader.epoch(0).next().unwrap().unwrap_err().to_string();
    let said = [refused, begun].iter().all(|text| text.contains("made before a fork"));
    drop(epoch);
    let new = shards.loader().build().unwrap();
    let works = batches(&new, 0).is_ok_and(|batches| batches.len() == 10);
    drop((loader, new));
    said && works && thread_count::threads_are_gone()
}

/// Each file of statistics was written by the process that its name has: 20 of the parent, 20 of children.
fn files_are_whole(folder: &std::path::Path) {
    let mut of_parent = 0u64;
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    for file in &files {
        let text = std::fs::read(file.path()).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let name = file.file_name().into_string().unwrap();
        let pid = record["pid"].as_u64().unwrap();
        assert!(name.contains(&format!("-{pid}-")), "{name} is of process {pid}");
        assert_eq!((&record["ended"], &record["epoch"]), (&true.into(), &1.into()), "{name}");
        assert_eq!(record["stats"]["batch_wait_s"]["count"], 10, "{name}");
        assert_eq!(record["stats"]["ready_batches"]["requests"], 10, "{name}");
        assert_eq!(record["epoch_steps"], 10, "{name}");
        of_parent += u64::from(pid == u64::from(std::process::id()));
    }
    assert_eq!((of_parent, files.len()), (20, 40));
}

#[test]
fn using_a_loader_in_a_forked_child_is_an_error() {
    let shards = Shards::of(&[40]);
    let stats = tempfile::tempdir().unwrap();
    // SAFETY: this process has no other thread yet.
    unsafe { std::env::set_var("TARFLUME_STATS", stats.path()) };
    for _ in 0..20 {
        let loader = shards.loader().build().unwrap();
        let mut epoch = loader.epoch(0);
        let batch = epoch.next().unwrap().unwrap();
        // SAFETY: the child calls nothing but this test's own code, and ends without destructors.
        let process = unsafe { fork() };
        if process == 0 {
            // SAFETY: no memory is touched; a child that hangs is ended by the signal.
            unsafe { alarm(patience::PATIENCE.as_secs() as u32) };
            drop(batch);
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                child(&shards, loader, epoch)
            }));
            // SAFETY: never returns.
            unsafe { _exit(i32::from(!good.unwrap_or(false))) }
        }
        assert!(process > 0);
        let mut status = -1;
        // SAFETY: the status is this function's own.
        assert_eq!(unsafe { waitpid(process, &raw mut status, 0) }, process);
        assert_eq!(status, 0, "the child's exit status");
        truth::is_true(&batch);
        assert_eq!(epoch.map(Result::unwrap).count(), 9, "the parent's loader works on");
    }
    assert!(thread_count::threads_are_gone());
    files_are_whole(stats.path());
}
