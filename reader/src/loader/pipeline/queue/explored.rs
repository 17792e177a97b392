//! The queue of batches under many schedules of its threads: `shuttle` decides at each lock which thread
//! runs next, and reports a deadlock or a failed assertion with the schedule that led to it.

use std::sync::atomic::{AtomicU64, AtomicUsize};

use tarflume_device::slab::SlabLayout;
use tarflume_fixtures::scheduled::{explore, thread};
use tarflume_types::{DType, Error, RowShape};

use crate::loader::pipeline::pending_batch::{PlannedRow, SourceWorkspace};
use crate::loader::pipeline::queue::*;

use crate::order::Draw;
use crate::pool::PoolShared;

const BATCHES: u64 = 5;
const THREADS: usize = 2;
const SCHEDULES: usize = 4_000;

/// Numbers the batches of an epoch. One of them may fail.
struct Numbers {
    next: u64,
    fails: Option<u64>,
    /// Reports each batch once as not complete, and has another thread notify the pool.
    late: Option<(Arc<PoolShared>, u64)>,
}

#[derive(Default)]
struct NoLists;

impl SourceWorkspace for NoLists {}

/// Makes batches of one row and none to three tasks. Counts tasks, and threads that are in one.
struct Counted {
    done: AtomicU64,
    now: AtomicUsize,
}

impl BatchSource for Counted {
    type Workspace = NoLists;
    type Planner = Numbers;

    fn plan(&self, planner: &mut Numbers, batch: &mut PendingBatch<NoLists>) -> Result<Planned> {
        if planner.next == BATCHES {
            return Ok(Planned::End);
        }
        if planner.fails == Some(planner.next) {
            return Err(Error::usage("planned to fail"));
        }
        if let Some((shared, announced)) = &mut planner.late
            && *announced == planner.next
        {
            *announced += 1;
            let shared = shared.clone();
            thread::spawn(move || shared.notifier().notify_one());
            return Ok(Planned::NotYet);
        }
        let lists = &mut batch.workspace.rows;
        lists.planned.clear();
        lists.planned.push(PlannedRow::of(Draw { ordinal: planner.next, pass: 0 }, false));
        lists.reset_outcomes();
        batch.variable_bytes = planner.next % 3;
        planner.next += 1;
        Ok(Planned::Tasks((planner.next % 4) as usize))
    }

    fn run(&self, _: &PendingBatch<NoLists>, _: usize) {
        assert!(self.now.fetch_add(1, Ordering::SeqCst) < THREADS);
        thread::yield_now();
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    fn threads(&self) -> usize {
        THREADS
    }
}

type Queue = BatchQueue<Counted>;

/// An epoch with its threads: `consume` gets the queue.
fn epoch(fails: Option<u64>, late: bool, consume: impl FnOnce(&Arc<Queue>, &Counted)) {
    let shared = Arc::new(PoolShared::new());
    let layout = SlabLayout::new(vec![RowShape::Fixed(DType::U8, vec![])], 1).unwrap();
    let source = Arc::new(Counted { done: AtomicU64::new(0), now: AtomicUsize::new(0) });
    let late = late.then(|| (shared.clone(), 0));
    let planner = Numbers { next: 0, fails, late };
    let context = QueueContext {
        counters: Arc::new(Counters::new(THREADS)),
        notifier: shared.notifier(),
        batch_pool: Arc::new(BatchPool::new(2)),
        object_mixers: Arc::default(),
        mixer: None,
    };
    let limits =
        QueueLimits { layout: Arc::new(layout), memory: None, depth: 2, variable_bytes: 3 };
    let queue = Arc::new(BatchQueue::new(source.clone(), planner, context, limits));
    shared.add(queue.clone());
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.run())
        })
        .collect();
    consume(&queue, &source);
    queue.cancel();
    shared.stop();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The batches until the end, and the error there.
fn all(queue: &Queue) -> (Vec<u64>, Option<Error>) {
    let mut came = Vec::new();
    while let Some(batch) = queue.next() {
        match batch {
            Ok(content) => came.extend(content.facts.iter().map(|row| row.planned)),
            Err(error) => return (came, Some(error)),
        }
    }
    (came, None)
}

#[test]
fn every_batch_comes_once_and_in_order() {
    for late in [false, true] {
        explore(SCHEDULES, move || {
            epoch(None, late, |queue, source| {
                let (came, error) = all(queue);
                assert!(came.into_iter().eq(0..BATCHES) && error.is_none());
                assert_eq!(source.done.load(Ordering::SeqCst), 1 + 2 + 3 + 1);
            });
        });
    }
}

#[test]
fn an_error_of_planning_comes_in_its_place() {
    explore(SCHEDULES, || {
        epoch(Some(3), false, |queue, _| {
            let (came, error) = all(queue);
            assert!(came.into_iter().eq(0..3) && error.is_some());
        });
    });
}

#[test]
fn a_cancellation_wakes_a_waiting_consumer() {
    explore(SCHEDULES, || {
        epoch(None, false, |queue, _| {
            let other = queue.clone();
            let waiting = thread::spawn(move || all(&other).0);
            queue.cancel();
            let came = waiting.join().unwrap();
            assert!(came.iter().copied().eq(0..came.len() as u64));
        });
    });
}
