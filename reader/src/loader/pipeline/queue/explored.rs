//! The line of batches under many schedules of its threads: `shuttle` decides at each lock which thread
//! goes on, and reports a deadlock or a failed assertion with the schedule that led there.

use std::sync::atomic::{AtomicU64, AtomicUsize};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use crate::column::{DType, RowShape};
use crate::error::Error;
use crate::loader::pipeline::pending_batch::Dealt;
use crate::loader::pipeline::queue::*;
use crate::pool::Shared;

const BATCHES: u64 = 5;
const THREADS: usize = 2;
const SCHEDULES: usize = 4_000;

/// Batches of one row, with none to three tasks each; one of them may fail.
struct Numbers {
    next: u64,
    fails: Option<u64>,
    /// Says of each batch once that it is not there yet, and has another thread ring.
    late: Option<(Arc<Shared>, u64)>,
}

impl BatchPlanner for Numbers {
    fn plan(&mut self, job: &mut PendingBatch) -> Result<Planned> {
        if self.next == BATCHES {
            return Ok(Planned::End);
        }
        if self.fails == Some(self.next) {
            return Err(Error::usage("planned to fail"));
        }
        if let Some((shared, told)) = &mut self.late
            && *told == self.next
        {
            *told += 1;
            let shared = shared.clone();
            thread::spawn(move || shared.bell().ring());
            return Ok(Planned::NotYet);
        }
        job.desk.dealt.clear();
        job.desk.dealt.push(Dealt { ordinal: self.next, pass: 0, padding: false });
        job.desk.reset_outcomes();
        job.variable = self.next % 3;
        self.next += 1;
        Ok(Planned::Tasks((self.next % 4) as usize))
    }
}

/// Counts tasks, and threads that are in one.
struct Counted {
    done: AtomicU64,
    now: AtomicUsize,
}

impl BatchWorker for Counted {
    fn task(&self, _: &PendingBatch, _: usize) {
        assert!(self.now.fetch_add(1, Ordering::SeqCst) < THREADS);
        thread::yield_now();
        self.now.fetch_sub(1, Ordering::SeqCst);
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    fn threads(&self) -> usize {
        THREADS
    }
}

/// An epoch with its threads: `consume` gets the line.
fn epoch(fails: Option<u64>, late: bool, consume: impl FnOnce(&Arc<BatchQueue>, &Counted)) {
    let shared = Arc::new(Shared::new());
    let layout = Layout::new(vec![RowShape::Fixed(DType::U8, vec![])], 1).unwrap();
    let labour = Arc::new(Counted { done: AtomicU64::new(0), now: AtomicUsize::new(0) });
    let late = late.then(|| (shared.clone(), 0));
    let feed = Box::new(Numbers { next: 0, fails, late });
    let with = (Arc::new(Counters::new(THREADS)), shared.bell(), Arc::new(BatchPool::new(2)));
    let room = QueueLimits { layout: Arc::new(layout), memory: None, depth: 2, variable: 3 };
    let flow = Arc::new(BatchQueue::new(feed, labour.clone(), with, room));
    shared.add(flow.clone());
    let run = |_| {
        let shared = shared.clone();
        thread::spawn(move || shared.run())
    };
    let threads: Vec<_> = (0..THREADS).map(run).collect();
    consume(&flow, &labour);
    flow.cancel();
    shared.stop();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The batches until the end, and the error there.
fn all(flow: &BatchQueue) -> (Vec<u64>, Option<Error>) {
    let mut came = Vec::new();
    while let Some(batch) = flow.next() {
        match batch {
            Ok(content) => came.extend(content.facts.iter().map(|row| row.planned)),
            Err(error) => return (came, Some(error)),
        }
    }
    (came, None)
}

/// Runs `test` under random schedules, and under such that change threads at few places.
fn explore(test: impl Fn() + Send + Sync + Clone + 'static) {
    let config = Config::new();
    Runner::new(RandomScheduler::new(SCHEDULES), config.clone()).run(test.clone());
    Runner::new(PctScheduler::new(3, SCHEDULES), config).run(test);
}

#[test]
fn every_batch_comes_once_and_in_order() {
    for late in [false, true] {
        explore(move || {
            epoch(None, late, |flow, labour| {
                let (came, error) = all(flow);
                assert!(came.into_iter().eq(0..BATCHES) && error.is_none());
                assert_eq!(labour.done.load(Ordering::SeqCst), 1 + 2 + 3 + 0 + 1);
            });
        });
    }
}

#[test]
fn an_error_of_planning_comes_in_its_place() {
    explore(|| {
        epoch(Some(3), false, |flow, _| {
            let (came, error) = all(flow);
            assert!(came.into_iter().eq(0..3) && error.is_some());
        });
    });
}

#[test]
fn a_consumer_that_waits_hears_of_a_cancelled_line() {
    explore(|| {
        epoch(None, false, |flow, _| {
            let other = flow.clone();
            let waiting = thread::spawn(move || all(&other).0);
            flow.cancel();
            let came = waiting.join().unwrap();
            assert!(came.iter().copied().eq(0..came.len() as u64));
        });
    });
}
