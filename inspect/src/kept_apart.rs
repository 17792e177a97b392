//! Compares the data sets that a policy keeps apart, and adds the pictures that are in two of them to a report.

use std::path::Path;

use tarflume_base::{Choice, Failure, FailureKind, LISTED_MAX, Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_verify::policy::{DuplicateRule, Policy};
use tarflume_verify::{Level, Options, Report};

use crate::dedupe::{self, Duplicate, dedupe};

/// Adds a problem for each picture that is in two of the data sets of a rule. Rules about data sets that were not verified
/// are noted.
///
/// # Errors
/// Returns an error if the machine failed, and after an interruption. What is wrong with a data set is noted as not
/// checked.
pub fn check(report: &mut Report, options: &Options) -> Result<(), Failure> {
    let Some(policy) = options.rules.policy.clone() else { return Ok(()) };
    for rule in policy.duplicates() {
        let line = policy.line(rule.line);
        let absent = report.unverified(&policy, rule);
        if !absent.is_empty() {
            let sets = absent.join(", ");
            report
                .notes
                .push(message!("{line}: duplicates are not looked for: {sets} was not verified"));
            continue;
        }
        if options.level == Level::Quick {
            let level = Name::Level.is(Level::Quick.word());
            report
                .notes
                .push(message!("{line}: duplicates are not looked for at {level}"; level = level));
            continue;
        }
        compare(&policy, rule, report, options)?;
    }
    Ok(())
}

fn compare(
    policy: &Policy,
    rule: &DuplicateRule,
    report: &mut Report,
    options: &Options,
) -> Result<(), Failure> {
    let line = policy.line(rule.line);
    let near = rule.near.filter(|_| options.level == Level::Decode);
    if near.is_none() && rule.near.is_some() {
        let level = Name::Level.is(Level::Decode.word());
        report.notes.push(message!("{line}: pictures are compared by their bytes; {level} finds those that look alike"; level = level));
    }
    let how = dedupe::Options { part: None, near, jobs: options.jobs, stop: options.stop.clone() };
    let mut found = 0;
    let compared = dedupe(&rule.places, &how, &mut |duplicate| {
        if duplicate.sample.dataset == duplicate.kept.dataset {
            return Ok(());
        }
        found += 1;
        if found <= LISTED_MAX {
            report.push(problem(&line, rule, &duplicate));
        } else {
            report.unlisted += 1;
        }
        Ok(())
    });
    match compared {
        Ok(_) => Ok(()),
        Err(failure) if is_of_the_data(failure.kind()) => {
            report.unchecked.push(message!("{line}: duplicates: {why}"; why = failure.message()));
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}

fn is_of_the_data(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::BadData | FailureKind::Usage)
}

fn problem(line: &str, rule: &DuplicateRule, duplicate: &Duplicate) -> Problem {
    let Duplicate { sample, kept, distance } = duplicate;
    let how = match distance {
        None => "the picture has the bytes of".to_string(),
        Some(bits) => format!("the picture differs in {bits} of 64 bits of its hash from"),
    };
    let set = &rule.across[kept.dataset];
    let reason = format!("{line}: duplicates: {how} '{}' in {set}", kept.key);
    let shard = place(&rule.places[sample.dataset], &sample.shard);
    Problem::new(ProblemKind::PolicyDuplicate, shard, reason).of(sample.key.clone())
}

fn place(set: &Path, shard: &str) -> String {
    set.join(shard).display().to_string()
}
