//! The table of mapped ranges, which a signal handler reads while threads change it: one slot of it
//! under every schedule of its threads, by `shuttle`. Every operation is sequentially consistent here, so the
//! fences are not verified.

mod atomics {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}
#[allow(
    clippy::duplicate_mod,
    dead_code,
    reason = "compiled with the atomics above, and used in part"
)]
#[path = "slot.rs"]
mod slot;

use std::sync::Arc;

use shuttle::{check_dfs, thread};

use self::atomics::{AtomicBool, AtomicUsize};
use self::slot::Slot;

fn free_slot() -> Arc<Slot> {
    let zeros = std::array::from_fn(|_| AtomicUsize::new(0));
    Arc::new(Slot::of(zeros, AtomicBool::new(false)))
}

#[test]
fn a_reader_never_sees_the_start_of_one_range_and_the_end_of_another() {
    check_dfs(
        || {
            let slot = free_slot();
            let writer = slot.clone();
            let changing = thread::spawn(move || {
                assert!(writer.take(0, 10, 1));
                writer.free();
                assert!(writer.take(100, 200, 1));
            });
            // Between the two ranges: in neither, even during a change.
            assert_eq!(slot.end_of(50), None);
            changing.join().unwrap();
            assert_eq!(slot.end_of(150), Some(200));
            assert_eq!(slot.end_of(5), None);
        },
        None,
    );
}

#[test]
fn a_free_slot_is_taken_by_one_thread() {
    check_dfs(
        || {
            let slot = free_slot();
            let other = slot.clone();
            let second = thread::spawn(move || other.take(100, 200, 1));
            let first = slot.take(0, 10, 1);
            let second = second.join().unwrap();
            assert!(first != second, "one of them, not both and not none");
            let end = if first { slot.end_of(5) } else { slot.end_of(150) };
            assert_eq!(end, Some(if first { 10 } else { 200 }));
        },
        None,
    );
}

#[test]
fn a_thread_sees_the_loss_recorded_before_its_fault_handler_returned() {
    check_dfs(
        || {
            let slot = free_slot();
            assert!(slot.take(0, 10, 1));
            let zeroed = Arc::new(AtomicBool::new(false));
            let handler = slot.clone();
            let page = zeroed.clone();
            let tearing = thread::spawn(move || {
                handler.tear();
                page.store(true, atomics::Ordering::Release);
            });
            // A thread that has read such a zero sees the mark.
            if zeroed.load(atomics::Ordering::Relaxed) {
                assert!(slot.is_torn());
            }
            tearing.join().unwrap();
            assert!(slot.is_torn());
        },
        None,
    );
}
