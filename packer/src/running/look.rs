//! Looks at the files of a plan as closely as a run would, and packs nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tarflume_formats::Plan;

use super::RunCounter;
use super::ahead::Ahead;
use super::options::RunOptions;
use super::part::{Parts, Refused};
use super::sample::{Seen, look_at};
use crate::failure::Failure;
use crate::problem::{Problem, Problems};

/// What a thread found in a shard, by its number.
type Found = Mutex<Result<Vec<(usize, Vec<Problem>)>, Failure>>;

/// Looks at all samples of the plan: what is wrong with them, in the order of the plan.
///
/// # Errors
/// The first failure of the machine; an interruption.
pub fn look(plan: &Plan, options: &RunOptions, counter: &RunCounter) -> Result<Problems, Failure> {
    let shards = plan.foot().shards.len();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found: Found = Mutex::new(Ok(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.min(shards) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= shards || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let problems = shard((plan, number), options, counter, &stop);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    match (&mut *found, problems) {
                        (Ok(all), Ok(problems)) => all.push((number, problems)),
                        (Ok(_), Err(failure)) => {
                            stop.store(true, Ordering::Relaxed);
                            *found = Err(failure);
                        }
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    if options.stop.requested() {
        return Err(Failure::interrupted());
    }
    found.sort_by_key(|(number, _)| *number);
    let mut problems = Problems::default();
    found.into_iter().flat_map(|(_, of_shard)| of_shard).for_each(|p| problems.push(p));
    Ok(problems)
}

fn shard(
    (plan, number): (&Plan, usize),
    options: &RunOptions,
    counter: &RunCounter,
    stop: &AtomicBool,
) -> Result<Vec<Problem>, Failure> {
    let mut samples = plan.samples(number);
    let mut parts = Parts::new(plan.foot(), &options.roots, &options.checks);
    let (mut ahead, mut space, mut problems) = (Ahead::default(), Vec::new(), Vec::new());
    loop {
        let taken = ahead.take(&mut samples, &mut parts)?;
        if taken == 0 {
            break;
        }
        for n in 0..taken {
            if stop.load(Ordering::Relaxed) || options.stop.requested() {
                return Ok(problems);
            }
            let planned = ahead.sample(n);
            let before = problems.len();
            for part in 0..planned.parts.len() {
                let seen = Seen { parts: &mut parts, ahead: &mut ahead, space: &mut space };
                match look_at(seen, (n, part), &planned) {
                    Ok(()) => {}
                    Err(Refused::Problem(problem)) => problems.push(*problem),
                    Err(Refused::Failure(failure)) => return Err(failure),
                }
            }
            let new = (problems.len() - before) as u64;
            counter.problems.fetch_add(new, Ordering::Relaxed);
            let bytes = planned.parts.iter().map(|part| part.size).sum();
            counter.bytes.fetch_add(bytes, Ordering::Relaxed);
            counter.samples.fetch_add(1, Ordering::Relaxed);
            ahead.give_back(n, planned);
        }
    }
    counter.shards.fetch_add(1, Ordering::Relaxed);
    Ok(problems)
}
