//! One fault at each system call on a file, over `build`, `run`, `finalize` and the quarantine:
//! none may lose data, leave an incomplete file under a final name, or end with a wrong exit code.
//!
//! The packer's file calls are raw system calls, so a tracer makes them fail, not a preloaded
//! library. On machines that do not permit tracing the tests fail with that reason, unless
//! `TARFLUME_NO_PTRACE=1` accepts it. `make faults` makes every call fail in every way; the tests
//! here, except for the one at the end, a fixed selection of them.

mod calls;
mod disk;
mod guarded;
mod power;
mod ptrace;
mod races;
mod servers;
mod sweep;
mod tracer;

use std::io::{self, Write};

use tarflume_fixtures::Fault;

pub(crate) use self::calls::Class;
pub(crate) use self::guarded::judged;
use self::power::{Chosen, Cuts, NEWEST, cut_power, cut_power_later};
use self::sweep::{Counts, KINDS, Scenario, sweep};
pub(crate) use self::tracer::{Call, Deed, Ran};

const BUILD: Scenario = Scenario {
    name: "build",
    faults: &[],
    before: &[],
    command: "build photos -o out --shards 2 --jobs 1",
    after: &[],
    plan: "plan photos -o out --shards 2 --jobs 1",
};
const PLAN: Scenario =
    Scenario { name: "plan", command: BUILD.plan, after: &["run out", "finalize out"], ..BUILD };
const RUN: Scenario = Scenario {
    name: "run",
    before: &[BUILD.plan],
    command: "run out --jobs 1",
    after: &["finalize out"],
    ..BUILD
};
const FINALIZE: Scenario = Scenario {
    name: "finalize",
    before: &[BUILD.plan, RUN.command],
    command: "finalize out",
    ..BUILD
};
const QUARANTINE: Scenario = Scenario {
    name: "quarantine",
    faults: &[Fault::BadJson, Fault::OrphanImage],
    command: "build photos -o out --shards 1 --jobs 1 --on-problem quarantine",
    plan: "plan photos -o out --shards 1 --jobs 1 --on-problem quarantine",
    ..BUILD
};

/// A build that continues what another attempt has finished.
const RESUME: Scenario =
    Scenario { name: "resume", before: &[BUILD.plan, "run out --jobs 1 --shard 1"], ..BUILD };

/// Returns `None`, with a message, if tracing is known to be impossible.
fn traced<T>(result: impl FnOnce() -> io::Result<T>) -> Option<T> {
    if std::env::var_os("TARFLUME_NO_PTRACE").is_some_and(|value| value == "1") {
        // Not by a macro: the output of a test that passes is not shown.
        #[expect(clippy::explicit_write, reason = "libtest captures what eprintln! writes")]
        writeln!(io::stderr(), "not run: TARFLUME_NO_PTRACE=1").unwrap();
        return None;
    }
    Some(result().unwrap_or_else(|error| {
        panic!("no process can be traced here ({error}); allow ptrace, or set TARFLUME_NO_PTRACE=1")
    }))
}

fn print_counts(scenario: Scenario, counts: &Counts) {
    let Counts { calls, faults, runs, exits, broken } = counts;
    eprintln!(
        "{}: {calls} calls, {faults} faults, {runs} runs, exit codes {exits:?}, {} broken",
        scenario.name,
        broken.len()
    );
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(*calls > 20 && *faults > 20, "the tracer sees too little");
}

/// At most one of the ways in which a call can fail, different from call to call.
fn some(call: usize, kind: usize, _: &Call) -> bool {
    (call + 7 * kind).is_multiple_of(20)
}

fn sampled(scenario: Scenario) {
    if let Some(counts) = traced(|| sweep(scenario, 1, &some)) {
        print_counts(scenario, &counts);
    }
}

#[test]
fn a_build_survives_faults() {
    sampled(BUILD);
}

#[test]
fn a_resumed_build_survives_faults() {
    sampled(RESUME);
}

#[test]
fn a_run_survives_faults() {
    sampled(RUN);
}

#[test]
fn a_finalize_survives_faults() {
    sampled(FINALIZE);
}

#[test]
fn a_quarantine_survives_faults() {
    sampled(QUARANTINE);
}

fn cut(scenario: Scenario, chosen: Chosen<'_>) {
    let Some(cuts) = traced(|| cut_power(scenario, chosen)) else { return };
    survived(scenario, &cuts);
}

fn survived(scenario: Scenario, cuts: &Cuts) {
    let Cuts { ops, cuts, published, broken } = cuts;
    eprintln!("{}: {ops} ops, {cuts} power cuts, {published} published", scenario.name);
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
    assert!(*ops > 15 && *cuts > 15, "the recorder sees too little");
}

/// Each cut in one way: the one that keeps only the newest name, or another one, which differs from cut to cut.
fn one_way(cut: usize, way: usize) -> bool {
    let chosen = if cut.is_multiple_of(2) { NEWEST } else { cut / 2 % NEWEST };
    way == chosen
}

#[test]
fn a_build_survives_power_cuts() {
    cut(BUILD, &one_way);
}

#[test]
fn a_plan_survives_power_cuts() {
    cut(PLAN, &one_way);
}

#[test]
fn a_run_survives_power_cuts() {
    cut(RUN, &one_way);
}

#[test]
fn a_finalize_survives_power_cuts() {
    cut(FINALIZE, &one_way);
}

#[test]
fn a_quarantine_survives_power_cuts() {
    cut(QUARANTINE, &one_way);
}

/// A first attempt, which is killed, and the command that continues.
const LATER: [(Scenario, &str); 6] = [
    (RUN, "run out --jobs 1 --no-fsync"),
    (RESUME, "run out --jobs 1 --no-fsync"),
    (PLAN, PLAN.command),
    (FINALIZE, FINALIZE.command),
    (BUILD, BUILD.command),
    (QUARANTINE, QUARANTINE.command),
];

/// Cuts the power after the end of a command that continued a killed attempt.
fn cut_later(name: &str) {
    let (scenario, first) = LATER.into_iter().find(|(scenario, _)| scenario.name == name).unwrap();
    // What was not synced is lost, is zeros, or is all but the newest name.
    let chosen = |_, left, way| left == 0 && [0, 3, NEWEST].contains(&way);
    let Some(cuts) = traced(|| cut_power_later(scenario, first, &chosen)) else {
        return;
    };
    survived(scenario, &cuts);
}

#[test]
fn a_resumed_plan_survives_power_cuts() {
    cut_later("plan");
}

#[test]
fn a_resumed_build_survives_power_cuts() {
    cut_later("build");
}

#[test]
fn a_resumed_finalize_survives_power_cuts() {
    cut_later("finalize");
}

#[test]
fn a_resumed_quarantine_survives_power_cuts() {
    cut_later("quarantine");
}

#[test]
fn a_run_over_unsynced_files_survives_power_cuts() {
    cut_later("run");
}

#[test]
fn a_build_over_unsynced_files_survives_power_cuts() {
    cut_later("resume");
}

#[test]
#[ignore = "every cut in every way: make faults"]
fn every_power_cut() {
    for scenario in [PLAN, FINALIZE, QUARANTINE, RUN, BUILD, RESUME] {
        cut(scenario, &|_, _| true);
    }
}

#[test]
#[ignore = "every call of a first attempt, killed, and the cuts behind it: make faults"]
fn every_power_cut_behind_another_attempt() {
    for (scenario, first) in LATER {
        let chosen = |kill, left, way| left == 0 || (kill + left) % (NEWEST + 1) == way;
        let Some(cuts) = traced(|| cut_power_later(scenario, first, &chosen)) else {
            return;
        };
        survived(scenario, &cuts);
    }
}

#[test]
#[ignore = "every call fails in every way: make faults"]
fn every_fault() {
    let mut broken = Vec::new();
    for scenario in [FINALIZE, QUARANTINE, RUN, BUILD, RESUME] {
        let Some(counts) = traced(|| sweep(scenario, 2, &|_, _, _| true)) else { return };
        let Counts { calls, faults, runs, exits, .. } = &counts;
        eprintln!(
            "{}: {calls} calls, {faults} faults of {} kinds, {runs} runs, exit codes {exits:?}",
            scenario.name,
            KINDS.len()
        );
        broken.extend(counts.broken);
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}
