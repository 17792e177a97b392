//! The queue of batches with a source that reads nothing.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tarflume_device::slab::SlabLayout;
use tarflume_types::{DType, Error, ErrorKind, RowShape};

use crate::loader::pipeline::pending_batch::{PlannedRow, SourceWorkspace};
use crate::loader::pipeline::queue::*;

use crate::order::Draw;
use crate::pool::ThreadPool;

/// What goes wrong, by number of the batch.
#[derive(Default, Clone)]
struct Faults {
    plan: Option<u64>,
    room: Option<u64>,
    task: Option<u64>,
}

/// Numbers the batches of an epoch.
struct Numbers {
    next: u64,
    count: u64,
    /// Tasks of every batch, if not 0 to 3 by turns.
    tasks: Option<usize>,
    /// Batches that may be planned so far.
    released: Arc<AtomicU64>,
}

#[derive(Default)]
struct NoLists;

impl SourceWorkspace for NoLists {}

/// Makes batches of one row. Tasks sleep.
struct Sleeping {
    faults: Faults,
    threads: usize,
}

impl BatchSource for Sleeping {
    type Workspace = NoLists;
    type Planner = Numbers;

    fn plan(&self, planner: &mut Numbers, batch: &mut PendingBatch<NoLists>) -> Result<Planned> {
        let number = planner.next;
        if number == planner.count {
            return Ok(Planned::End);
        }
        if number >= planner.released.load(Ordering::SeqCst) {
            return Ok(Planned::NotYet);
        }
        assert_ne!(self.faults.plan, Some(number), "no plan");
        let lists = &mut batch.workspace.rows;
        lists.planned.clear();
        // Batches have room for one row.
        for _ in 0..1 + usize::from(self.faults.room == Some(number)) {
            lists.planned.push(PlannedRow::of(Draw { ordinal: number, pass: 0 }, false));
        }
        lists.reset_outcomes();
        batch.variable_bytes = number % 5;
        planner.next += 1;
        Ok(Planned::Tasks(planner.tasks.unwrap_or((planner.next % 4) as usize)))
    }

    fn run(&self, batch: &PendingBatch<NoLists>, task: usize) {
        assert_ne!(self.faults.task, Some(batch.number), "no task");
        std::thread::sleep(Duration::from_micros((batch.number * 7 + task as u64) % 5 * 50));
    }

    fn threads(&self) -> usize {
        self.threads
    }
}

/// A queue that a pool works for.
struct Running {
    pool: Arc<ThreadPool>,
    queue: Arc<BatchQueue<Sleeping>>,
    work: Arc<dyn Work>,
    released: Arc<AtomicU64>,
}

impl Running {
    fn start(count: u64, released: u64, faults: Faults) -> Running {
        Running::start_wide(count, released, faults, 3, None)
    }

    fn start_wide(
        count: u64,
        released: u64,
        faults: Faults,
        threads: usize,
        tasks: Option<usize>,
    ) -> Running {
        let pool = ThreadPool::of_process(threads).unwrap();
        let layout = SlabLayout::new(vec![RowShape::Fixed(DType::U8, vec![])], 1).unwrap();
        let released = Arc::new(AtomicU64::new(released));
        let planner = Numbers { next: 0, count, tasks, released: released.clone() };
        let context = QueueContext {
            counters: Arc::new(Counters::new(threads)),
            notifier: pool.notifier(),
            batch_pool: Arc::new(BatchPool::new(2)),
            object_mixers: Arc::default(),
            mixer: None,
        };
        let limits =
            QueueLimits { layout: Arc::new(layout), memory: None, depth: 4, variable_bytes: 6 };
        let source = Arc::new(Sleeping { faults, threads });
        let queue = Arc::new(BatchQueue::new(source, planner, context, limits));
        let work: Arc<dyn Work> = queue.clone();
        pool.add(work.clone());
        Running { pool, queue, work, released }
    }

    /// The planned ordinals until the end, and the error there.
    fn all(&self) -> (Vec<u64>, Option<Error>) {
        let mut came = Vec::new();
        while let Some(batch) = self.queue.next() {
            match batch {
                Ok(content) => came.extend(content.facts.iter().map(|row| row.planned)),
                Err(error) => return (came, Some(error)),
            }
        }
        (came, None)
    }

    /// Lets the planner plan so many batches.
    fn release(&self, batches: u64) {
        self.released.store(batches, Ordering::SeqCst);
        self.pool.notifier().notify_one();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.queue.cancel();
        self.pool.remove(&self.work);
    }
}

#[test]
fn batches_come_in_order_whatever_thread_finishes_first() {
    let running = Running::start(500, u64::MAX, Faults::default());
    let (came, error) = running.all();
    assert!(came.into_iter().eq(0..500));
    assert!(error.is_none() && running.queue.next().is_none());
}

#[test]
fn a_panic_anywhere_is_an_error_in_its_place() {
    for (faults, words) in [
        (Faults { plan: Some(7), ..Faults::default() }, "no plan"),
        (Faults { room: Some(7), ..Faults::default() }, "rows <= self.layout.rows"),
        (Faults { task: Some(6), ..Faults::default() }, "no task"),
    ] {
        for _ in 0..20 {
            let place = faults.plan.or(faults.room).or(faults.task).unwrap();
            let (came, error) = Running::start(50, u64::MAX, faults.clone()).all();
            assert!(came.into_iter().eq(0..place), "{words}");
            let error = error.unwrap();
            assert_eq!(error.kind(), ErrorKind::Panicked);
            assert!(error.text().contains(words), "{error}");
        }
    }
}

#[test]
fn a_planner_without_input_continues_after_a_notification() {
    let running = Running::start(60, 0, Faults::default());
    for n in 0..60 {
        running.release(n + 1);
        let content = running.queue.next().unwrap().unwrap();
        assert_eq!(content.facts[0].planned, n);
    }
    running.pool.notifier().notify_one();
    assert!(running.queue.next().is_none());
}

#[test]
fn a_cancellation_ends_the_wait_of_a_consumer() {
    let running = Running::start(60, 3, Faults::default());
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            while let Some(batch) = running.queue.next() {
                assert!(batch.is_ok());
                taken.fetch_add(1, Ordering::SeqCst);
            }
        });
        // After the third batch it waits for one that never comes.
        while taken.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        running.queue.cancel();
        waiting.join().unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn ready_is_false_until_a_batch_is_there_and_true_at_the_end() {
    // The longer one ends only if a notification is lost.
    let short = Duration::from_millis(5);
    let long = Duration::from_secs(600);
    let running = Running::start(2, 0, Faults::default());
    for n in 0..2 {
        assert!(!running.queue.ready(short));
        running.release(n + 1);
        assert!(running.queue.ready(long));
        assert_eq!(running.queue.next().unwrap().unwrap().facts[0].planned, n);
    }
    running.pool.notifier().notify_one();
    assert!(running.queue.ready(long));
    assert!(running.queue.next().is_none());
    let cancelled = Running::start(2, 0, Faults::default());
    cancelled.queue.cancel();
    assert!(cancelled.queue.ready(long));
}

#[test]
fn at_64_threads_locks_are_bounded_by_tasks_and_wakeups() {
    let batches = 200;
    let tasks = 32;
    let threads = 64;
    let running = Running::start_wide(batches, u64::MAX, Faults::default(), threads, Some(tasks));
    let (came, error) = running.all();
    assert!(came.into_iter().eq(0..batches) && error.is_none());
    let locked = running.queue.state.lock().unwrap().locked;
    // A task locks the state twice; planning, admitting, closing and taking a batch lock it eight times. The pool is
    // notified twice a batch, and each thread that finds no work after that locks the state once and sleeps.
    let most = batches * (2 * tasks as u64 + 8 + 2 * threads as u64) + 2 * threads as u64;
    assert!(locked >= batches * 2 * tasks as u64, "locked {locked} times");
    assert!(locked <= most, "locked {locked} times, {most} at most");
}
