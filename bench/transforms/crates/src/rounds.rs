//! Measuring: every competitor once a round, each round in another order, so that noise hits all alike.

use std::time::{Duration, Instant};

use crate::work::Competitor;

/// A measurement is of so many runs that it takes at least this time.
const LEAST: Duration = Duration::from_millis(4);

/// The seconds of one run of each competitor, one number for each round.
pub fn measure(all: &mut [Competitor], rounds: usize) -> Vec<Vec<f64>> {
    let counts: Vec<usize> = all.iter_mut().map(|one| count(one)).collect();
    let mut times = vec![Vec::new(); all.len()];
    for round in 0..rounds {
        for step in 0..all.len() {
            // Each round starts at another competitor; odd rounds go backwards.
            let at = (step + 7 * round) % all.len();
            let at = if round % 2 == 0 { at } else { all.len() - 1 - at };
            times[at].push(seconds(&mut all[at], counts[at]) / counts[at] as f64);
        }
    }
    times
}

/// How many runs make a measurement. The first ones warm memory and caches.
fn count(one: &mut Competitor) -> usize {
    let mut count = 1;
    while seconds(one, count) < LEAST.as_secs_f64() {
        count *= 2;
    }
    count
}

fn seconds(one: &mut Competitor, count: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        one.work.run();
    }
    start.elapsed().as_secs_f64()
}
