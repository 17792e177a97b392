//! Measuring: every competitor once a round, each round starting one competitor later, so that
//! whatever else the machine does hits all alike.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use crate::shim;
use crate::work::{Competitor, Data, Queue, Worker};

/// What one pass over the data took.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
}

/// All passes of one competitor.
pub(crate) struct Passes {
    pub(crate) name: &'static str,
    pub(crate) passes: Vec<Pass>,
}

/// One pass in as many threads as there are workers.
///
/// # Errors
/// An image failed, or was not seen.
pub(crate) fn pass(data: &Data, workers: &mut [Box<dyn Worker + '_>]) -> Result<Pass, String> {
    let queue = Queue::new(data, workers.len());
    let start = Instant::now();
    let cpu = shim::cpu_seconds();
    let count = |worker: &mut Box<dyn Worker + '_>| {
        let mut seen = 0;
        let mut see = |_, pixels: &[u8]| {
            black_box(pixels);
            seen += 1;
        };
        worker.work(&queue, &mut see).map(|()| seen)
    };
    let seen: usize = if let [worker] = workers {
        count(worker)?
    } else {
        thread::scope(|scope| {
            let running: Vec<_> = workers.iter_mut().map(|w| scope.spawn(|| count(w))).collect();
            let join = |t: thread::ScopedJoinHandle<'_, _>| t.join().map_err(|_| "a panic")?;
            running.into_iter().map(join).sum::<Result<usize, String>>()
        })?
    };
    let took =
        Pass { seconds: start.elapsed().as_secs_f64(), cpu_seconds: shim::cpu_seconds() - cpu };
    if seen != data.items.len() {
        return Err(format!("{seen} images of {} came out", data.items.len()));
    }
    Ok(took)
}

/// `rounds` passes of each competitor, after one that is not counted.
///
/// # Errors
/// The competitor's name, and why it failed.
pub(crate) fn measure(
    data: &Data,
    competitors: &[Competitor],
    threads: usize,
    rounds: usize,
) -> Result<Vec<Passes>, String> {
    let describe = |name, why| format!("{name}: {why}");
    let mut teams = Vec::new();
    for competitor in competitors {
        let mut team: Vec<_> = (0..threads).map(|_| (competitor.make)(data)).collect();
        pass(data, &mut team).map_err(|why| describe(competitor.name, why))?;
        teams.push(team);
    }
    let mut measured: Vec<Passes> =
        competitors.iter().map(|c| Passes { name: c.name, passes: Vec::new() }).collect();
    for round in 0..rounds {
        for i in 0..teams.len() {
            let at = (round + i) % teams.len();
            let took =
                pass(data, &mut teams[at]).map_err(|why| describe(measured[at].name, why))?;
            measured[at].passes.push(took);
        }
    }
    Ok(measured)
}
