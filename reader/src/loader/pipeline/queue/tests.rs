//! The line of batches with a feed and a labour that only pretend.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::column::{DType, RowShape};
use crate::error::{Error, ErrorKind};
use crate::loader::pipeline::pending_batch::Dealt;
use crate::loader::pipeline::queue::*;
use crate::pool::Pool;

/// Where something goes wrong, by number of the batch.
#[derive(Default, Clone)]
struct Faults {
    fill: Option<u64>,
    room: Option<u64>,
    task: Option<u64>,
}

struct Numbers {
    next: u64,
    count: u64,
    faults: Faults,
    /// Tasks of every batch, if not 0 to 3 by turns.
    tasks: Option<usize>,
    /// Batches that may be planned by now.
    released: Arc<AtomicU64>,
}

impl BatchPlanner for Numbers {
    fn plan(&mut self, job: &mut PendingBatch) -> Result<Planned> {
        if self.next == self.count {
            return Ok(Planned::End);
        }
        if self.next >= self.released.load(Ordering::SeqCst) {
            return Ok(Planned::NotYet);
        }
        assert_ne!(self.faults.fill, Some(self.next), "no fill");
        job.desk.dealt.clear();
        // Batches have room for one row.
        for _ in 0..1 + usize::from(self.faults.room == Some(self.next)) {
            job.desk.dealt.push(Dealt { ordinal: self.next, pass: 0, padding: false });
        }
        job.desk.reset_outcomes();
        job.variable = self.next % 5;
        self.next += 1;
        Ok(Planned::Tasks(self.tasks.unwrap_or((self.next % 4) as usize)))
    }
}

struct Pretend(Faults, usize);

impl BatchWorker for Pretend {
    fn task(&self, job: &PendingBatch, task: usize) {
        assert_ne!(self.0.task, Some(job.number), "no task");
        std::thread::sleep(Duration::from_micros((job.number * 7 + task as u64) % 5 * 50));
    }

    fn threads(&self) -> usize {
        self.1
    }
}

struct Running(Arc<Pool>, Arc<BatchQueue>, Arc<dyn Work>, Arc<AtomicU64>);

impl Running {
    fn start(count: u64, released: u64, faults: Faults) -> Running {
        Running::start_wide(count, released, faults, (3, None))
    }

    fn start_wide(
        count: u64,
        released: u64,
        faults: Faults,
        wide: (usize, Option<usize>),
    ) -> Running {
        let (threads, tasks) = wide;
        let pool = Pool::of_process(threads).unwrap();
        let layout = Layout::new(vec![RowShape::Fixed(DType::U8, vec![])], 1).unwrap();
        let released = Arc::new(AtomicU64::new(released));
        let labour = Arc::new(Pretend(faults.clone(), threads));
        let feed = Numbers { next: 0, count, faults, tasks, released: released.clone() };
        let with = (Arc::new(Counters::new(threads)), pool.bell(), Arc::new(BatchPool::new(2)));
        let room = QueueLimits { layout: Arc::new(layout), memory: None, depth: 4, variable: 6 };
        let flow = BatchQueue::new(Box::new(feed), labour, with, room);
        let flow = Arc::new(flow);
        let work: Arc<dyn Work> = flow.clone();
        pool.add(work.clone());
        Running(pool, flow, work, released)
    }

    /// The planned ordinals until the end, and the error there.
    fn all(&self) -> (Vec<u64>, Option<Error>) {
        let mut came = Vec::new();
        while let Some(batch) = self.1.next() {
            match batch {
                Ok(content) => came.extend(content.facts.iter().map(|row| row.planned)),
                Err(error) => return (came, Some(error)),
            }
        }
        (came, None)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.1.cancel();
        self.0.remove(&self.2);
    }
}

#[test]
fn batches_come_in_order_whoever_is_done_first() {
    let running = Running::start(500, u64::MAX, Faults::default());
    let (came, error) = running.all();
    assert!(came.into_iter().eq(0..500));
    assert!(error.is_none() && running.1.next().is_none());
}

#[test]
fn a_panic_anywhere_is_an_error_in_its_place() {
    for (faults, words) in [
        (Faults { fill: Some(7), ..Faults::default() }, "no fill"),
        (Faults { room: Some(7), ..Faults::default() }, "rows <= self.layout.rows"),
        (Faults { task: Some(6), ..Faults::default() }, "no task"),
    ] {
        for _ in 0..20 {
            let place = faults.fill.or(faults.room).or(faults.task).unwrap();
            let (came, error) = Running::start(50, u64::MAX, faults.clone()).all();
            assert!(came.into_iter().eq(0..place), "{words}");
            let error = error.unwrap();
            assert_eq!(error.kind(), ErrorKind::Panicked);
            assert!(error.text().contains(words), "{error}");
        }
    }
}

#[test]
fn a_feed_that_has_nothing_yet_goes_on_when_the_bell_rings() {
    let running = Running::start(60, 0, Faults::default());
    for n in 0..60 {
        running.3.store(n + 1, Ordering::SeqCst);
        running.0.bell().ring();
        let content = running.1.next().unwrap().unwrap();
        assert_eq!(content.facts[0].planned, n);
    }
    running.0.bell().ring();
    assert!(running.1.next().is_none());
}

#[test]
fn who_waits_for_a_cancelled_line_is_told_that_it_ended() {
    let running = Running::start(60, 3, Faults::default());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| running.all());
        std::thread::sleep(Duration::from_millis(20));
        running.1.cancel();
        let (came, error) = waiting.join().unwrap();
        assert!(came.len() <= 3 && error.is_none());
    });
}

#[test]
fn who_asks_whether_a_batch_is_there_is_told_no_until_it_is_and_yes_at_the_end() {
    let (short, long) = (Duration::from_millis(5), Duration::from_secs(60));
    let running = Running::start(2, 0, Faults::default());
    for n in 0..2 {
        assert!(!running.1.ready(short));
        running.3.store(n + 1, Ordering::SeqCst);
        running.0.bell().ring();
        assert!(running.1.ready(long));
        assert_eq!(running.1.next().unwrap().unwrap().facts[0].planned, n);
    }
    running.0.bell().ring();
    assert!(running.1.ready(long));
    assert!(running.1.next().is_none());
    let cancelled = Running::start(2, 0, Faults::default());
    cancelled.1.cancel();
    assert!(cancelled.1.ready(long));
}

#[test]
fn at_64_threads_locks_are_bounded_by_tasks_and_wakeups() {
    let (batches, tasks, threads) = (200, 32, 64);
    let running = Running::start_wide(batches, u64::MAX, Faults::default(), (threads, Some(tasks)));
    let (came, error) = running.all();
    assert!(came.into_iter().eq(0..batches) && error.is_none());
    let locked = running.1.line.lock().unwrap().locked;
    // A task locks it twice; planning, admitting, closing and taking a batch lock it eight times. The bell rings
    // twice a batch, and each thread that finds nothing after a ring locks it once and sleeps.
    let most = batches * (2 * tasks as u64 + 8 + 2 * threads as u64) + 2 * threads as u64;
    assert!(locked >= batches * 2 * tasks as u64, "locked {locked} times");
    assert!(locked <= most, "locked {locked} times, {most} at most");
}
