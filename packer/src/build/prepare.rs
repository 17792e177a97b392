//! From a request to a plan in place: scans, decides, plans, and compares with an earlier attempt
//! in the output folder. Writes only the plan, the policy and the list of problems.

use tarflume_base::{Choice, Failure, Problem, ProblemKind};
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::plan::PlanFoot;
use tarflume_formats::publish::create_folders;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{About, Manifest, Plan};
use tarflume_scan::folders::walk::{ScanCounter, Watch};
use tarflume_scan::grouped::scan_grouped;
use tarflume_scan::links::Links;
use tarflume_scan::lists::scan_lists;
use tarflume_scan::names::exclude_list::Absent;
use tarflume_scan::names::exts::Require;
use tarflume_scan::options::{Cause, ScanOptions, ScanProblem};
use tarflume_scan::pair::{self, scan_pairs};
use tarflume_scan::parts::stored;
use tarflume_scan::{Scan, scan, several};
use tarflume_shards::workdir::quarantine::{Policy, set_aside};
use tarflume_shards::workdir::staging::{Lock, Staging};
use tarflume_shards::workdir::state::{self, progress, published, write_problems};
use tarflume_sources::join::Known;
use tarflume_sources::present::Left;
use tarflume_sources::rows::{self, SourceFormat};

use super::advice;
use super::replan::difference;
use super::sources::{check_files, check_folders, check_in_the_way};
use crate::build::requests::joined::Reading;
use crate::build::requests::joins::JoinTerms;
use crate::build::requests::request::Request;
use crate::label::label;
use crate::plan::deal::Cut;
use crate::plan::{Dealt, Terms, encode_plan, write_plan};

/// Result of a scan, for reports.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Samples that can be packed.
    pub samples: u64,
    /// Samples whose key is not their files' name.
    pub renamed: u64,
    /// Files left out because they are hidden or excluded.
    pub skipped: u64,
    /// Samples left out because the data set has them.
    pub present: u64,
    /// The advice if samples were found, and none has a JSON that is required.
    pub lacks_json: Option<Message>,
    /// Keys of the exclude list that no sample has.
    pub absent: Option<Absent>,
    /// The problems found.
    pub problems: Vec<Problem>,
    /// Number of problems that are not in the list.
    pub unlisted: u64,
    /// Lines about the sources for the summary.
    pub notes: Vec<Message>,
}

/// Result of `prepare`.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// The same data set is already published.
    Published {
        /// Its manifest.
        manifest: Manifest,
        /// The request has entry points, and the data set has none.
        lacks_entry_points: bool,
    },
    /// The data set that would get more shards has all samples.
    Nothing {
        /// Its manifest.
        manifest: Manifest,
        /// Result of the scan.
        scanned: Scanned,
    },
    /// There are problems, and the policy is to fail. The plan is that of the other samples, if
    /// there are any.
    Refused(Scanned, Option<Box<Plan>>),
    /// There is a plan; shards of an earlier attempt may be finished.
    Ready(Box<Ready>),
    /// The plan of a dry run.
    Dry(Box<Plan>, Scanned),
}

/// A plan in place.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The working folder.
    pub staging: Staging,
    /// Keeps other commands out of the working folder.
    _lock: Lock,
    /// The plan.
    pub plan: Plan,
    /// Result of the scan.
    pub scanned: Scanned,
    /// An earlier attempt had made the same plan.
    pub resumed: bool,
}

/// Scans, plans, and writes the plan. Runs in a pool of `request.jobs` threads.
///
/// # Errors
/// Returns an error for wrong usage (an invalid source, an output folder in use) and for failures
/// of the machine.
pub(crate) fn prepare(request: &Request, counter: &ScanCounter) -> Result<Prepared, Failure> {
    let staging = Staging::of(&request.out);
    if request.sources.is_empty() {
        check_folders(&request.roots, &request.out)?;
        pair::check_folders(&request.roots[0], &request.pair)?;
    } else {
        check_files(&request.sources, &request.out)?;
    }
    Failure::check_threads(request.jobs)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(request.jobs).build();
    let pool = pool.map_err(|e| Failure::no_thread(&e))?;
    pool.install(|| {
        let (mut scan, mut left) = scanned(request, counter)?;
        let Request { roots, scan: options, stop, .. } = request;
        check_objects(request, &scan.about)?;
        if let Some(rule) = &request.label {
            label(&mut scan, roots, rule, request.scan.json, stop)?;
        }
        let groups_files = request.pair.is_empty()
            && request.group.is_none()
            && request.sources.iter().all(|source| source.kind == SourceFormat::Zip);
        if groups_files && !request.adds_to_several_pictures() {
            several::refuse(&mut scan, roots, &options.require, request.label.is_some())?;
        }
        if let Some(append) = &request.append {
            left = append.present.leave_out(&mut scan, roots, &options.names, left)?;
        }
        if request.stop.requested() {
            return Err(Failure::interrupted());
        }
        plan(request, &staging, &scan, left)
    })
}

/// Refuses to resize pictures to whose pixels the coordinates of objects belong.
fn check_objects(request: &Request, about: &About) -> Result<(), Failure> {
    let Some(objects) = &about.objects else { return Ok(()) };
    if request.shape.prepare.is_none_or(|prepare| !prepare.misplaces(objects)) {
        return Ok(());
    }
    Err(Failure::usage(message!(
        "{resize} makes other pixels, and boxes, polygons and keypoints of the annotations are in pixels of the pictures as they \
         are: leave it out, and resize while loading, which moves both"; resize = Name::Resize.on()
    )))
}

/// Scans the sources and joins to the samples what the request names. Returns what the join left out.
fn scanned(request: &Request, counter: &ScanCounter) -> Result<(Scan, Left), Failure> {
    let Request { roots, scan: options, stop, join, append, .. } = request;
    let watch = Watch { counter, stop };
    let mut found = match request.sources.as_slice() {
        [] if !request.scans.is_empty() => {
            let found = stored::read::open(&request.scans, roots, &request.options_of_scan())?;
            counter.add(found.samples.len());
            found
        }
        [] if !request.lists.is_empty() => {
            scan_lists(roots, &request.lists, options, watch)?.into_scan()
        }
        [] if !request.pair.is_empty() => scan_pairs(&roots[0], &request.pair, options, watch)?,
        [] => match &request.group {
            Some(rule) => scan_grouped(roots, rule, options, watch)?,
            None => scan(roots, options, watch)?,
        },
        sources => rows::scan(sources, options, watch)?,
    };
    let note = request.split_note(&found);
    found.notes.extend(note);
    if join.is_auto() && !found.tables.is_empty() && request.usual_require {
        if !request.scans.is_empty() {
            let text = message!("the folders have tables of metadata: scan them again with {require}, which joins the tables' \
                 rows, or with {join}"; require = Name::Require.is("image"), join = Name::Join.is("none"));
            return Err(Failure::usage(text));
        }
        // The tables have the JSON that samples are required to have.
        let without = ScanOptions { require: Require::parse("image"), ..options.clone() };
        found = match request.lists.as_slice() {
            [] => scan(roots, &without, watch)?,
            lists => scan_lists(roots, lists, &without, watch)?.into_scan(),
        };
    }
    if stop.requested() {
        return Err(Failure::interrupted());
    }
    let nothing = About::default();
    let side = request.pair.first();
    let before = append.as_ref().map_or(&nothing, |append| &append.base.about);
    let reading = Reading { rules: options.json, links: Links::of(options.follow_links) };
    let present = append.as_ref().map(|append| &append.present);
    let known = present.map(|present| Known { present, options, side });
    let terms = JoinTerms { before, reading, known };
    let left = join.add(&mut found, roots, terms, watch)?;
    Ok((found, left))
}

fn plan(
    request: &Request,
    staging: &Staging,
    scan: &Scan,
    left: Left,
) -> Result<Prepared, Failure> {
    let roots = &request.roots;
    let rule = request.split.as_ref();
    let dealt = Dealt::new(scan, roots, &request.scan, &request.shape, rule)?;
    let found: Vec<&ScanProblem> = scan.problems.iter().chain(dealt.problems()).collect();
    let scanned = Scanned {
        samples: dealt.total().samples,
        renamed: scan.renamed + dealt.renamed() + left.renamed,
        skipped: scan.skipped + dealt.skipped(),
        present: left.present,
        lacks_json: lacks_json(&found, dealt.total().samples + left.present)
            .then(|| advice::without_json(&request.roots)),
        absent: request.scan.listed.absent(),
        problems: found.iter().map(|p| p.problem.clone()).collect(),
        unlisted: 0,
        notes: scan.notes.iter().chain(dealt.notes()).cloned().collect(),
    };
    if scanned.samples + scanned.present == 0 {
        advice::refuse_packed(&request.roots, &request.out)?;
    }
    let values: Vec<_> = scanned.problems.iter().map(Problem::to_stored).collect();
    let faults = found.iter().any(|p| p.is_fault());
    if request.policy == Policy::Fail && faults && !request.dry_run {
        if request.append.is_none() && published(staging)?.is_some() {
            return Err(other_data_set(request)); // whose list of problems stays
        }
        create_folders(&request.out)?;
        write_problems(&staging.problems_path(), &values)?;
        let others =
            (scanned.samples > 0).then(|| in_memory(&dealt, request, values)).transpose()?;
        return Ok(Prepared::Refused(scanned, others.map(Box::new)));
    }
    if scanned.samples == 0 {
        return nothing(request, staging, scanned);
    }
    check_shards(request, scanned.samples)?;
    if request.dry_run {
        let plan = in_memory(&dealt, request, values)?;
        return Ok(Prepared::Dry(Box::new(plan), scanned));
    }
    let terms = terms(request);
    if let Some(append) = &request.append {
        staging.sweep_published(&append.manifest)?; // an attempt may have been ended after it had published
    }
    let lock = staging.lock()?;
    let (temp, foot) = write_plan(&dealt, terms, values, &staging.plan_path())?;
    scan.samples.intact()?;
    if request.append.is_none()
        && let Some(manifest) = published(staging)?
    {
        drop(temp);
        return same_as_published(request, staging, manifest, &foot, scan.newest);
    }
    let resumed = keep_earlier(request, staging, &Plan::open(temp.path())?)?;
    if !resumed {
        check_in_the_way(&request.out, &foot)?; // a resumed one may be half published: `finalize` compares
    }
    temp.sync()?;
    temp.publish_over(staging.plan_path())?;
    staging.set_policy(request.policy.word())?;
    if request.policy == Policy::Quarantine {
        for p in found.iter().filter(|p| p.is_fault()) {
            set_aside(
                &staging.quarantine(),
                &request.roots[p.root as usize],
                &p.files,
                &p.problem,
            )?;
        }
    }
    let plan = staging.plan()?;
    Ok(Prepared::Ready(Box::new(Ready {
        staging: staging.clone(),
        _lock: lock,
        plan,
        scanned,
        resumed,
    })))
}

fn terms(request: &Request) -> Terms<'_> {
    let Request { roots, shape, entry_points, append, .. } = request;
    let base = append.as_ref().map(|append| &append.base);
    Terms { roots, shape, entry_points: *entry_points, base }
}

/// Returns true if all samples were left out because they have no JSON. A table beside the images is no sample.
fn lacks_json(found: &[&ScanProblem], samples: u64) -> bool {
    samples == 0
        && found.iter().any(|found| is_without_json(found))
        && found.iter().all(|found| is_without_json(found) || is_table(&found.problem))
}

fn is_without_json(found: &ScanProblem) -> bool {
    matches!(&found.cause, Some(Cause::Lacks(part)) if part == "json")
}

fn is_table(problem: &Problem) -> bool {
    let ends = [".csv", ".tsv", ".jsonl", ".parquet"];
    problem.kind == ProblemKind::MissingPart && ends.iter().any(|end| problem.path.ends_with(end))
}

/// Ends an append that found nothing new, and refuses a build without samples.
fn nothing(request: &Request, staging: &Staging, scanned: Scanned) -> Result<Prepared, Failure> {
    match &request.append {
        Some(append) if scanned.present > 0 => {
            let manifest = append.manifest.clone();
            if !request.dry_run {
                staging.sweep_published(&manifest)?; // an attempt may have been ended after it had published
            }
            Ok(Prepared::Nothing { manifest, scanned })
        }
        _ => Err(no_samples(request, &scanned)),
    }
}

/// Returns the plan without writing it.
fn in_memory(
    dealt: &Dealt<'_>,
    request: &Request,
    problems: Vec<serde_json::Value>,
) -> Result<Plan, Failure> {
    let mut bytes = Vec::new();
    encode_plan(dealt, terms(request), problems, &mut bytes)?;
    Ok(Plan::from_bytes(bytes)?)
}

fn no_samples(request: &Request, scanned: &Scanned) -> Failure {
    let mut roots: Vec<_> = request.roots.iter().map(|r| r.shown().to_string()).collect();
    if roots.len() > 3 {
        roots.splice(1..roots.len() - 1, ["...".to_string()]);
    }
    let why = if scanned.problems.is_empty() && !scanned.notes.is_empty() {
        let notes = scanned.notes.iter().cloned();
        notes
            .reduce(|one, other| message!("{one}; {other}"; one = one, other = other))
            .unwrap_or_default()
    } else if scanned.problems.is_empty() {
        Message::words("no files were found that could be part of one")
    } else {
        message!(
            "all {} that were found have problems, the first: {first}",
            scanned.problems.len();
            first = scanned.problems[0].message()
        )
    };
    let advice = match &scanned.lacks_json {
        Some(text) => message!("; {text}"; text = text),
        None => advice::of_published(&request.roots),
    };
    let failure = Failure::usage(
        message!("no samples in {}: {why}{advice}", roots.join(", "); why = why, advice = advice),
    );
    match request.roots.as_slice() {
        [root] => failure.with_file(root),
        _ => failure,
    }
}

fn check_shards(request: &Request, samples: u64) -> Result<(), Failure> {
    match request.shape.cut {
        Cut::Shards(shards) if shards > samples => Err(Failure::usage(
            message!("{shards_option}, but there are only {samples} samples; use fewer shards"; shards_option = Name::Shards.is(shards)),
        )),
        _ => Ok(()),
    }
}

fn same_as_published(
    request: &Request,
    staging: &Staging,
    manifest: Manifest,
    foot: &PlanFoot,
    newest: i64,
) -> Result<Prepared, Failure> {
    staging.remove_published(&manifest)?; // an attempt that was ended after it had published
    if !manifest.has_plan(&foot.content) {
        return Err(other_data_set(request));
    }
    if newest > published_at(staging)? {
        return Err(Failure::usage(message!(
            "a file of the source was modified after the data set in {out} was published; choose \
             another folder, or remove that one first";
            out = &request.out
        ))
        .with_file(&request.out));
    }
    let lacks_entry_points = request.entry_points && state::lacks_entry_points(staging, &manifest)?;
    Ok(Prepared::Published { manifest, lacks_entry_points })
}

/// Returns the manifest's modification time, in nanoseconds since 1970.
fn published_at(staging: &Staging) -> Result<i64, Failure> {
    use std::os::unix::fs::MetadataExt;
    let found = files::metadata(&staging.manifest_path(), "examine the manifest")?;
    Ok(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
}

fn other_data_set(request: &Request) -> Failure {
    Failure::usage(message!(
        "{path} holds a data set that was packed from another source, or from this one before \
         files were added, removed or changed, or with other options, and a build never changes a \
         published data set; add new samples to it with `{append}`, or pack what is there now into \
         another folder ({out}), or remove {path} first";
        path = &request.out,
        append = Call::of(Task::Append),
        out = Name::Out
    ))
    .with_file(&request.out)
}

/// Returns true if an earlier attempt made the same plan; its finished shards are then kept.
fn keep_earlier(request: &Request, staging: &Staging, new: &Plan) -> Result<bool, Failure> {
    if request.fresh {
        staging.clear()?;
        return Ok(false);
    }
    let old = match staging.existing_plan() {
        Ok(Some(old)) => old,
        Ok(None) => return Ok(false),
        Err(error) if error.blame().is_machine() => return Err(error.into()),
        Err(_) => {
            // A damaged plan names no shard, and its shards cannot be trusted.
            staging.clear()?;
            return Ok(false);
        }
    };
    let Some(difference) = difference(&old, new)? else { return Ok(true) };
    let progress = progress(staging, old.foot())?;
    Err(Failure::usage(message!(
        "{path} holds an unfinished build ({} of {} shards) that this command can't continue: \
         {difference}; give {fresh} to discard it, or undo the change",
        progress.records.len(),
        progress.total;
        path = &request.out,
        fresh = Name::Fresh.on(),
        difference = difference
    ))
    .with_file(&request.out))
}
