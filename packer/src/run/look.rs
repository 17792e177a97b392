//! Checks the files of a plan as a run would, and packs nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Builder};

use tarflume_base::{Failure, LISTED_MAX, Problems};
use tarflume_formats::Plan;

use super::RunCounter;
use super::options::RunOptions;
use super::sources::{self, Absences};
use crate::run::samples::part::Parts;
use crate::run::samples::readahead::Ahead;
use crate::run::samples::refused::Refused;
use crate::run::samples::sample::{Seen, look_at};
use crate::run::samples::sample_part::PartPlace;
use tarflume_formats::IgnorePoison;

/// The problems by shard number; holds no more than will be listed.
#[derive(Debug, Default)]
struct FoundProblems {
    shards: BTreeMap<usize, Problems>,
    failure: Option<Failure>,
}

impl FoundProblems {
    /// Adds a shard's problems and drops those that follow the last listed one in the order of the
    /// plan.
    fn add(&mut self, number: usize, problems: Problems) {
        if !problems.is_empty() {
            self.shards.insert(number, problems);
        }
        let mut room = LISTED_MAX;
        for problems in self.shards.values_mut() {
            let cut = problems.listed.len().saturating_sub(room);
            problems.listed.truncate(room);
            problems.listed.shrink_to_fit();
            problems.unlisted += cut as u64;
            room -= problems.listed.len();
        }
    }

    /// Returns all problems in the order of the plan.
    fn joined(self) -> Problems {
        let mut all = Problems::default();
        for problems in self.shards.into_values() {
            all.unlisted += problems.unlisted;
            all.listed.extend(problems.listed);
        }
        all
    }
}

/// Checks all samples of the plan and returns their problems in the order of the plan.
///
/// # Errors
/// Returns the first failure of the machine, including threads that cannot be started and a missing
/// source, and an error after an interruption.
pub(crate) fn look(
    plan: &Plan,
    options: &RunOptions,
    counter: &RunCounter,
) -> Result<Problems, Failure> {
    let shards = plan.foot().shards.len();
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let found = Mutex::new(FoundProblems::default());
    let fail = |failure| {
        stop.store(true, Ordering::Relaxed);
        locked(&found).failure.get_or_insert(failure);
    };
    thread::scope(|scope| {
        for _ in 0..options.jobs.min(shards) {
            let looker = Builder::new().name("tarflume-look".into()).spawn_scoped(scope, || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= shards || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    match shard(plan, number, options, counter, &stop) {
                        Ok(problems) => locked(&found).add(number, problems),
                        Err(failure) => fail(failure),
                    }
                }
            });
            if let Err(error) = looker {
                fail(Failure::no_thread(&error));
                break;
            }
        }
    });
    let found = found.into_inner().ignore_poison();
    match found.failure {
        Some(failure) => Err(failure),
        None if options.stop.requested() => Err(Failure::interrupted()),
        None => Ok(found.joined()),
    }
}

fn locked(found: &Mutex<FoundProblems>) -> MutexGuard<'_, FoundProblems> {
    found.lock().ignore_poison()
}

fn shard(
    plan: &Plan,
    number: usize,
    options: &RunOptions,
    counter: &RunCounter,
    stop: &AtomicBool,
) -> Result<Problems, Failure> {
    sources::check(&options.roots, &plan.foot().sources)?;
    let mut samples = plan.samples(number);
    let mut parts = Parts::new(plan.foot(), &options.roots, &options.checks);
    let mut ahead = Ahead::default();
    let mut space = Vec::new();
    let mut absences = Absences::default();
    let mut problems = Problems::default();
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
            let mut of_sample = Vec::new();
            for part in 0..planned.parts.len() {
                let seen = Seen { parts: &mut parts, ahead: &mut ahead, space: &mut space };
                match look_at(seen, PartPlace { sample: n, part }, &planned) {
                    Ok(()) => {}
                    Err(Refused::Problem(problem)) => of_sample.push(*problem),
                    Err(Refused::Failure(failure)) => return Err(failure),
                }
            }
            if of_sample.is_empty() {
                absences.read();
            } else {
                let root = &options.roots[planned.root as usize];
                let found = absences.refused(root, of_sample)?;
                counter.problems.fetch_add(found.len() as u64, Ordering::Relaxed);
                found.into_iter().for_each(|problem| problems.push(problem));
            }
            let bytes = planned.parts.iter().map(|part| part.size).sum();
            counter.bytes.fetch_add(bytes, Ordering::Relaxed);
            counter.samples.fetch_add(1, Ordering::Relaxed);
            ahead.give_back(n, planned);
        }
    }
    absences.check(&plan.foot().shards[number].name, &options.roots)?;
    counter.shards.fetch_add(1, Ordering::Relaxed);
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tarflume_formats::plan::PlanWriter;

    use super::*;
    use tarflume_base::Exit;
    use tarflume_base::{Problem, ProblemKind};
    use tarflume_shards::workdir::quarantine::Policy;

    /// Runs in a separate process whose address space has no room for a thread's stack.
    #[test]
    fn a_thread_that_cannot_start_ends_the_scan_without_a_panic() {
        const NAME: &str =
            "run::look::tests::a_thread_that_cannot_start_ends_the_scan_without_a_panic";
        const STACK: &str = "281474976710656";
        if std::env::var("RUST_MIN_STACK").as_deref() != Ok(STACK) {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", NAME, "--test-threads=1"]).env("RUST_MIN_STACK", STACK);
            let out = command.output().unwrap();
            let stdout = String::from_utf8_lossy(&out.stdout);
            assert!(out.status.success() && stdout.contains("1 passed"), "{out:?}");
            return;
        }
        let mut writer = PlanWriter::new(Vec::new(), Vec::new()).unwrap();
        writer.begin_shard("s.tar");
        writer.end_shard(1024).unwrap();
        let options = serde_json::json!({"check": "structure"});
        let (bytes, _) = writer.finish(String::new(), Vec::new(), options, Vec::new()).unwrap();
        let plan = Plan::from_bytes(bytes).unwrap();
        let options = RunOptions::of_plan(plan.foot(), Policy::Fail, 2, Vec::new()).unwrap();
        let failure = look(&plan, &options, &RunCounter::default()).unwrap_err();
        assert_eq!(failure.exit(), Exit::TryAgain);
        assert!(failure.text().contains("cannot start a thread"), "{failure}");
    }

    fn problems(path: &str, listed: usize) -> Problems {
        let problem = Problem::new(ProblemKind::BadJson, path, "it is damaged");
        let mut problems = Problems::default();
        problems.listed.resize(listed, problem);
        problems
    }

    #[test]
    fn no_more_problems_are_held_than_are_listed_and_the_first_of_the_plan_are_kept() {
        let mut found = FoundProblems::default();
        for number in [7, 3, 9, 0, 5] {
            found.add(number, problems(&number.to_string(), LISTED_MAX / 2));
            let held: usize = found.shards.values().map(|shard| shard.listed.len()).sum();
            assert!(held <= LISTED_MAX, "{held} after shard {number}");
        }
        let all = found.joined();
        assert_eq!((all.listed.len(), all.unlisted), (LISTED_MAX, 3 * (LISTED_MAX as u64 / 2)));
        assert_eq!(all.listed[0].path, "0");
        assert_eq!(all.listed[LISTED_MAX - 1].path, "3");
    }
}
