//! The final output of `build`, `plan`, `run` and `finalize`: results on stdout, problems on
//! stderr.

use std::path::Path;

use serde_json::json;
use tarflume_base::{Problem, counts, units};
use tarflume_formats::message::Face;
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::shown::{self, ShowPath};
use tarflume_formats::{IrregularJpegs, Manifest};
use tarflume_order::rank::Rank;
use tarflume_packer::bucket::Leftovers;
use tarflume_packer::build;
use tarflume_packer::build::Scanned;
use tarflume_packer::run::RunReport;
use tarflume_packer::session::{PlannedBuild, PublishedBuild, StoredBuild};
use tarflume_shards::irregular_note;

use super::pictures;
use crate::cli::arguments::source_args::ShowArgs;
use crate::cli::output::out;

/// Number of problems that are printed one by one; the file has all.
const SHOWN: usize = 10;

fn print_either(show: ShowArgs, text: &str, value: impl FnOnce() -> serde_json::Value) {
    if show.is_json() {
        print_result!("{}", shown::json(&value()));
    } else if !show.quiet {
        print_result!("{text}");
    }
}

fn size(manifest: &Manifest) -> String {
    format!(
        "{}, {}, {}",
        units::counted(manifest.samples, "sample", "samples"),
        units::counted(manifest.shards.len() as u64, "shard", "shards"),
        units::bytes(manifest.bytes)
    )
}

pub(in crate::cli) fn already_published(out: &Path, manifest: &Manifest, show: ShowArgs) {
    let text = format!("{}: published already: {}", out.shown(), size(manifest));
    print_either(
        show,
        &text,
        || json!({"event": "skipped", "samples": manifest.samples, "shards": manifest.shards.len()}),
    );
}

/// Reports a published data set without the entry points that this build has.
pub(in crate::cli) fn lacks_entry_points(out: &Path, show: ShowArgs) {
    if !show.quiet && !show.is_json() {
        print_message!(
            "notice: its sidecars have no entry points of JPEGs; add them with `pack index \
             --entry-points {}`",
            out.shown()
        );
    }
}

/// Prints the first problems one by one, then the numbers by kind, on stderr; or all as JSON
/// events.
fn problems(list: &[Problem], file: Option<&Path>, show: ShowArgs) {
    if show.is_json() {
        for problem in list {
            let mut event = problem.to_value(Face::Command);
            event["event"] = json!("problem");
            print_message!("{}", shown::json(&event));
        }
        return;
    }
    for problem in list.iter().take(SHOWN) {
        out::print_wrapped(problem);
    }
    if list.len() > SHOWN {
        print_message!("... and {} more", units::count((list.len() - SHOWN) as u64));
    }
    let kinds: Vec<_> =
        counts(list).iter().map(|(kind, n)| format!("{kind} {}", units::count(*n))).collect();
    let all = file.map_or(String::new(), |f| format!("; all in {}", f.shown()));
    let total = units::counted(list.len() as u64, "problem", "problems");
    out::print_wrapped(format!("{total}: {}{all}", kinds.join(", ")));
}

/// Prints warnings about the plan, which change no exit code.
fn warnings(foot: &PlanFoot, show: ShowArgs) {
    for warning in build::warnings(foot) {
        let text = warning.text();
        if show.is_json() {
            print_message!("{}", shown::json(&json!({"event": "warning", "text": text})));
        } else if !show.quiet {
            out::print_wrapped(format!("warning: {text}"));
        }
    }
}

/// Prints the number of problems that are in no list.
fn unlisted(scanned: &Scanned) {
    if scanned.unlisted > 0 {
        let count = units::counted(scanned.unlisted, "problem is", "problems are");
        print_message!("{count} counted only: the list has the first");
    }
}

/// Prints the number of samples that a data set has already.
fn present(scanned: &Scanned, show: ShowArgs) {
    if scanned.present > 0 && !show.quiet && !show.is_json() {
        let samples = units::counted(scanned.present, "sample", "samples");
        print_result!("skipped {samples} that the data set has");
    }
}

/// Reports an append that found no new sample.
pub(in crate::cli) fn nothing_new(
    out: &Path,
    manifest: &Manifest,
    scanned: &Scanned,
    show: ShowArgs,
) {
    absent(scanned, show);
    if !scanned.problems.is_empty() {
        problems(&scanned.problems, None, show);
    }
    present(scanned, show);
    let text = format!("{}: nothing new: {}", out.shown(), size(manifest));
    print_either(show, &text, || {
        json!({"event": "skipped", "samples": manifest.samples, "shards": manifest.shards.len(),
               "present": scanned.present})
    });
}

fn renames(scanned: &Scanned, show: ShowArgs) {
    if scanned.renamed > 0 && !show.quiet && !show.is_json() {
        print_result!(
            "{} another key than the file's name (see --names)",
            units::counted(scanned.renamed, "sample has", "samples have")
        );
    }
}

/// Prints keys of an exclude list that were not found, which change no exit code.
fn absent(scanned: &Scanned, show: ShowArgs) {
    let Some(absent) = &scanned.absent else { return };
    if show.is_json() {
        let event = json!({"event": "absent-keys", "keys": absent.keys, "first": absent.first});
        print_message!("{}", shown::json(&event));
    } else if !show.quiet {
        let keys = units::counted(absent.keys, "key is", "keys are");
        print_message!(
            "notice: {keys} in the exclude list but in no source folder, the first is '{}'",
            absent.first
        );
    }
}

/// Prints lines about the sources, which change no exit code.
fn notes(scanned: &Scanned, show: ShowArgs) {
    scanned.notes.iter().for_each(|note| notice(&note.text(), show));
}

fn notice(text: &str, show: ShowArgs) {
    if show.is_json() {
        print_message!("{}", shown::json(&json!({"event": "notice", "text": text})));
    } else if !show.quiet {
        out::print_wrapped(format!("notice: {}", shown::text(text)));
    }
}

/// Prints that JPEGs break rules of their format without losing a pixel, which changes no exit code.
fn irregular(jpegs: &IrregularJpegs, show: ShowArgs) {
    let Some(text) = irregular_note(jpegs).filter(|_| !show.quiet && !show.is_json()) else {
        return;
    };
    out::print_wrapped(format!("notice: {}", text.text()));
}

/// Adds the irregular JPEGs to the event of a result, if there are some.
fn with_irregular(mut event: serde_json::Value, jpegs: &IrregularJpegs) -> serde_json::Value {
    if !jpegs.is_empty() {
        event["irregular_jpegs"] = json!(jpegs);
    }
    event
}

pub(in crate::cli) fn refused_scan(out: &Path, scanned: &Scanned, show: ShowArgs) {
    absent(scanned, show);
    notes(scanned, show);
    problems(&scanned.problems, Some(&out.join("problems.jsonl")), show);
    unlisted(scanned);
    if show.is_json() {
        print_result!("{}", json!({"event": "refused", "problems": scanned.problems.len()})); // no foreign text
    } else {
        out::print_wrapped(build::mend(scanned).text());
    }
}

pub(in crate::cli) fn refused_run(out: &Path, ran: &RunReport, show: ShowArgs) {
    problems(&ran.problems, Some(&out.join("problems.jsonl")), show);
    if show.is_json() {
        let value = json!({"event": "refused", "problems": ran.problems.len(), "finished": ran.packed + ran.skipped});
        print_result!("{}", shown::json(&value));
        return;
    }
    out::print_wrapped(build::kept(ran).text());
}

/// Prints what became of the uploads that killed attempts left behind in a store.
pub(in crate::cli) fn leftovers(left: &Leftovers, show: ShowArgs) {
    if !show.quiet {
        left.notices().iter().for_each(|notice| print_message!("notice: {}", notice.text()));
    }
}

/// Prints the typed columns without values.
pub(in crate::cli) fn empty_columns(names: &[String], show: ShowArgs) {
    for name in names {
        notice(&format!("no sample has a value of column '{name}' (--columns)"), show);
    }
}

pub(in crate::cli) fn dry_run(foot: &PlanFoot, scanned: &Scanned, show: ShowArgs) {
    absent(scanned, show);
    notes(scanned, show);
    warnings(foot, show);
    if show.is_json() {
        let shards: Vec<_> = foot
            .shards
            .iter()
            .map(|s| json!({"name": s.name, "samples": s.samples, "bytes": s.bytes}))
            .collect();
        let value = json!({"event": "plan", "plan": foot.content, "samples": foot.samples,
            "bytes": foot.bytes, "shards": shards, "problems": scanned.problems});
        print_result!("{}", shown::json(&value));
        return;
    }
    if !scanned.problems.is_empty() {
        problems(&scanned.problems, None, show);
        unlisted(scanned);
    }
    for shard in &foot.shards {
        let samples = units::counted(shard.samples, "sample", "samples");
        print_result!("{}  {samples}  {}", shard.name, units::bytes(shard.bytes));
    }
    print_result!(
        "would pack {} into {}, {}",
        units::counted(foot.samples, "sample", "samples"),
        units::counted(foot.shards.len() as u64, "shard", "shards"),
        units::bytes(foot.bytes)
    );
    present(scanned, show);
    renames(scanned, show);
}

pub(in crate::cli) fn scanned(planned: &PlannedBuild, show: ShowArgs) {
    absent(planned.scanned(), show);
    notes(planned.scanned(), show);
    let foot = planned.foot();
    warnings(foot, show);
    if show.quiet || show.is_json() {
        return;
    }
    let resumed = if planned.is_resumed() { "; continuing an unfinished build" } else { "" };
    print_message!(
        "{} in {}{resumed}",
        units::counted(foot.samples, "sample", "samples"),
        units::counted(foot.shards.len() as u64, "shard", "shards")
    );
}

pub(in crate::cli) fn planned(out: &Path, stored: &StoredBuild, show: ShowArgs) {
    let foot = stored.foot();
    let scanned = stored.scanned();
    absent(scanned, show);
    notes(scanned, show);
    warnings(foot, show);
    if !scanned.problems.is_empty() {
        problems(&scanned.problems, None, show);
    }
    renames(scanned, show);
    present(scanned, show);
    let samples = foot.samples;
    let shards = foot.shards.len();
    let bytes = foot.bytes;
    let text = format!(
        "planned {} in {}, {} (plan {})\nnext: pack run {}",
        units::counted(samples, "sample", "samples"),
        units::counted(shards as u64, "shard", "shards"),
        units::bytes(bytes),
        &foot.content[..16],
        out.shown()
    );
    print_either(show, &text, || {
        json!({"event": "planned", "plan": foot.content, "samples": samples, "shards": shards, "bytes": bytes,
               "problems": scanned.problems.len()})
    });
}

pub(in crate::cli) fn chosen_rank(rank: &Rank, show: ShowArgs) {
    if !show.quiet && !show.is_json() {
        let source = rank.source.as_deref().unwrap_or("--rank");
        print_message!("rank {} of {} ({source})", rank.rank, rank.world);
    }
}

pub(in crate::cli) fn ran(ran: &RunReport, show: ShowArgs) {
    if !ran.problems.is_empty() {
        problems(&ran.problems, None, show);
    }
    pictures::prepared(&ran.pictures, show);
    irregular(&ran.irregular_jpegs, show);
    let mut text = format!(
        "packed {}, skipped {} that {} finished",
        units::counted(ran.packed, "shard", "shards"),
        units::count(ran.skipped),
        if ran.skipped == 1 { "was" } else { "were" }
    );
    if ran.stolen > 0 {
        let share = units::counted(ran.stolen, "shard", "shards");
        text.push_str(&format!(", {share} of them of other machines' shares"));
    }
    if ran.refused > 0 {
        text.push_str(&format!(", refused {} with problems", units::count(ran.refused)));
    }
    print_either(show, &text, || {
        let event = json!({"event": "ran", "packed": ran.packed, "stolen": ran.stolen, "skipped": ran.skipped,
                           "refused": ran.refused, "problems": ran.problems.len()});
        with_irregular(event, &ran.irregular_jpegs)
    });
}

pub(in crate::cli) fn published(out: &Path, done: &PublishedBuild, show: ShowArgs) {
    let manifest = &done.manifest;
    let scanned = done.scanned();
    let ran = &done.ran;
    let all: Vec<Problem> = scanned.problems.iter().chain(&ran.problems).cloned().collect();
    if !all.is_empty() {
        problems(&all, Some(&out.join("problems.jsonl")), show);
    }
    renames(scanned, show);
    present(scanned, show);
    pictures::prepared(&ran.pictures, show);
    irregular(&ran.irregular_jpegs, show);
    print_either(show, &published_text(out, manifest), || {
        with_irregular(published_event(manifest), &ran.irregular_jpegs)
    });
}

pub(in crate::cli) fn finalized(out: &Path, manifest: &Manifest, show: ShowArgs) {
    print_either(show, &published_text(out, manifest), || published_event(manifest));
}

fn published_text(out: &Path, manifest: &Manifest) -> String {
    format!("{}: published {}", out.shown(), size(manifest))
}

fn published_event(manifest: &Manifest) -> serde_json::Value {
    json!({"event": "published", "samples": manifest.samples, "shards": manifest.shards.len(),
           "bytes": manifest.bytes, "plan": manifest.plan})
}
