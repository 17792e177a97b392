//! Builds in a folder and in a store: each step, a build that ends after each step and is continued,
//! interruptions, dry runs, refusals, and machines that share a plan.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tarflume_base::Exit;
use tarflume_formats::Manifest;
use tarflume_shards::workdir::Policy;
use tempfile::TempDir;

use super::*;
use crate::bucket::objects::memory::MemoryObjects;
use crate::build::BuildOptions;
use crate::run::RunReport;

/// The place that a build writes to.
enum Target {
    Folder(TempDir),
    Store(Arc<MemoryObjects>),
}

impl Target {
    fn both() -> [Target; 2] {
        [Target::Folder(tempfile::tempdir().unwrap()), Target::Store(Arc::default())]
    }

    fn build(&self, options: BuildOptions) -> Build {
        let request = options.request().unwrap();
        match self {
            Target::Folder(_) => Build::new(request),
            Target::Store(_) => Build::in_bucket(self.bucket(), request, false).unwrap(),
        }
    }

    fn out(&self) -> &Path {
        match self {
            Target::Folder(folder) => folder.path(),
            Target::Store(_) => "s3://bucket/set".as_ref(),
        }
    }

    fn bucket(&self) -> Bucket {
        match self {
            Target::Folder(_) => panic!("a folder"),
            Target::Store(objects) => Bucket::new(objects.clone()),
        }
    }

    fn output(&self) -> Output {
        match self {
            Target::Folder(folder) => Output::folder(folder.path()),
            Target::Store(_) => Output::bucket(self.bucket()),
        }
    }

    /// The files or objects below the place, but those that wait for their publication.
    fn visible(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = match self {
            Target::Folder(folder) => files(folder.path()),
            Target::Store(objects) => objects.objects(),
        };
        all.retain(|name, _| !name.starts_with(".pack/"));
        all
    }
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|f| (f.file_name().into_string().unwrap(), fs::read(f.path()).unwrap())).collect()
}

/// A folder of ten samples without images.
fn source() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..10 {
        fs::write(folder.path().join(format!("{n:03}.json")), format!("{{\"n\": {n}}}")).unwrap();
    }
    folder
}

fn options(source: &TempDir, target: &Target) -> BuildOptions {
    let mut options = BuildOptions::new(vec![source.path().into()], target.out().into());
    options.shards = Some(4);
    options.require = Some("json".into());
    options.jobs = Some(1);
    options
}

fn planned(build: Build) -> PlannedBuild {
    match build.plan().unwrap() {
        Planned::Ready(planned) => *planned,
        other => panic!("{other:?}"),
    }
}

fn stored(build: Build) -> StoredBuild {
    match planned(build).store().unwrap() {
        StoreOutcome::Ready(stored) => *stored,
        other => panic!("{other:?}"),
    }
}

fn published(packed: PackedBuild) -> PublishedBuild {
    match packed.finalize().unwrap() {
        Finalized::Published(done) => *done,
        other => panic!("{other:?}"),
    }
}

fn opened(target: &Target) -> StoredPlan {
    match StoredPlan::open(&target.output()).unwrap() {
        Opened::Planned(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn packed(outcome: ShareOutcome) -> RunReport {
    match outcome {
        ShareOutcome::Packed(ran) => *ran,
        other => panic!("{other:?}"),
    }
}

/// The files of a build in a folder that nothing interrupted.
fn expected(source: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let [folder, _] = Target::both();
    published(stored(folder.build(options(source, &folder))).run().unwrap());
    folder.visible()
}

#[test]
fn each_step_reports_and_counts_what_it_did() {
    let source = source();
    for target in Target::both() {
        let build = target.build(options(&source, &target));
        let counter = build.counter();
        assert_eq!((build.out(), counter.names()), (target.out(), 0));
        let planned = planned(build);
        assert_eq!((planned.scanned().samples, planned.foot().shards.len()), (10, 4));
        assert!(!planned.is_resumed());
        assert_eq!(counter.names(), 10);
        assert!(counter.now().is_none(), "nothing is packed yet");
        let StoreOutcome::Ready(stored) = planned.store().unwrap() else { panic!() };
        assert_eq!((stored.scanned().samples, stored.foot().samples), (10, 10));
        let run = stored.run().unwrap();
        let now = counter.now().unwrap().json();
        assert_eq!(
            (&now["samples"], &now["shards"], &now["total_shards"]),
            (&10.into(), &4.into(), &4.into())
        );
        let done = published(run);
        assert_eq!((done.manifest.samples, done.ran.packed, done.scanned().samples), (10, 4, 10));
        assert_eq!(done.manifest.plan.as_ref(), Some(&done.foot().content));
        assert!(done.empty_columns().unwrap().is_empty());
        assert_eq!(target.visible(), expected(&source), "folder and store have the same bytes");
    }
}

#[test]
fn a_build_that_ends_after_any_step_is_continued_by_the_next() {
    let source = source();
    let whole = expected(&source);
    for steps in 0..4 {
        for target in Target::both() {
            let build = || target.build(options(&source, &target));
            match steps {
                0 => drop(planned(build())),
                1 => drop(stored(build())),
                2 => drop(stored(build()).run().unwrap()),
                _ => drop(published(stored(build()).run().unwrap())),
            }
            let is_published = target.visible().contains_key("dataset.json");
            assert_eq!(is_published, steps == 3, "after {steps} steps");
            match (steps, &target) {
                (3, Target::Folder(_)) => {
                    let again = build().plan().unwrap();
                    assert!(matches!(again, Planned::Published { .. }), "{again:?}");
                }
                (3, Target::Store(_)) => {
                    let again = planned(build()).store().unwrap();
                    let StoreOutcome::Published(manifest, plan) = again else { panic!() };
                    assert_eq!(plan.finalize().unwrap().manifest.plan, manifest.plan);
                }
                (steps, target) => {
                    let next = planned(build());
                    assert_eq!(next.is_resumed(), matches!(target, Target::Folder(_)));
                    let StoreOutcome::Ready(next) = next.store().unwrap() else { panic!() };
                    let done = published(next.run().unwrap());
                    let skipped = if steps == 2 { 4 } else { 0 };
                    assert_eq!((done.ran.packed, done.ran.skipped), (4 - skipped, skipped));
                }
            }
            assert_eq!(target.visible(), whole, "after {steps} steps");
        }
    }
}

#[test]
fn an_interrupted_step_publishes_nothing_and_the_next_build_finishes() {
    let source = source();
    let whole = expected(&source);
    for target in Target::both() {
        let build = target.build(options(&source, &target));
        build.task.request.stop.request();
        let refused = build.plan().unwrap_err();
        assert_eq!(refused.exit(), Exit::Interrupted, "{refused}");
        let build = target.build(options(&source, &target));
        let stop = build.task.request.stop.clone();
        let begun = stored(build);
        stop.request();
        let refused = begun.run().unwrap_err();
        assert_eq!(refused.exit(), Exit::Interrupted, "{refused}");
        let worker = WorkerOptions::new(1);
        worker.stop.request();
        let refused = opened(&target).run(&[0, 1], &worker).unwrap_err();
        assert_eq!(refused.exit(), Exit::Interrupted, "{refused}");
        assert!(target.visible().is_empty(), "{:?}", target.visible().keys());
        let next = target.build(options(&source, &target));
        published(stored(next).run().unwrap());
        assert_eq!(target.visible(), whole);
    }
}

#[test]
fn a_dry_run_and_a_refused_plan_pack_nothing_and_look_at_all_contents() {
    let source = source();
    fs::write(source.path().join("003.json"), "{ no JSON").unwrap();
    for target in Target::both() {
        let mut dry = options(&source, &target);
        dry.dry_run = true;
        dry.check = Some(tarflume_base::check::CheckLevel::Structure);
        let Planned::Dry(mut plan) = target.build(dry).plan().unwrap() else { panic!() };
        assert_eq!((plan.foot().samples, plan.scanned().problems.len()), (10, 0));
        plan.look().unwrap();
        let problems = &plan.scanned().problems;
        assert_eq!(problems.len(), 1);
        assert!(problems[0].path.ends_with("/003.json"), "{}", problems[0]);
        let written = match &target {
            Target::Folder(folder) => fs::read_dir(folder.path()).unwrap().count(),
            Target::Store(objects) => objects.calls() as usize,
        };
        assert_eq!(written, 0, "a dry run writes nothing, and asks nothing of a store");
        fs::write(source.path().join("lone.txt"), "no JSON").unwrap();
        let refused = target.build(options(&source, &target)).plan().unwrap();
        let Planned::Refused(mut refused) = refused else { panic!("{refused:?}") };
        assert_eq!(refused.scanned().problems.len(), 1);
        refused.look().unwrap();
        assert_eq!(refused.scanned().problems.len(), 2, "names and contents are in one report");
        fs::remove_file(source.path().join("lone.txt")).unwrap();
    }
}

#[test]
fn refused_shards_are_listed_and_nothing_is_published() {
    let source = source();
    fs::write(source.path().join("003.json"), "{ no JSON").unwrap();
    for target in Target::both() {
        let run = stored(target.build(options(&source, &target))).run().unwrap();
        let Finalized::Refused(ran) = run.finalize().unwrap() else { panic!() };
        assert_eq!((ran.refused, ran.packed, ran.problems.len()), (1, 3, 1));
        let visible = target.visible();
        assert!(!visible.contains_key("dataset.json"));
        let problems = String::from_utf8_lossy(&visible["problems.jsonl"]).into_owned();
        assert!(problems.contains("003.json"), "{problems}");
        let skip = WorkerOptions { policy: Some(Policy::Skip), ..WorkerOptions::new(1) };
        let plan = opened(&target);
        let ran = packed(plan.run(&plan.share(0, 1), &skip).unwrap());
        assert_eq!((ran.packed, ran.skipped), (1, 3));
        assert_eq!(plan.finalize().unwrap().manifest.samples, 9);
    }
}

#[test]
fn machines_that_share_a_plan_make_the_bytes_of_one_build() {
    let source = source();
    let whole = expected(&source);
    for target in Target::both() {
        drop(stored(target.build(options(&source, &target))));
        let first = opened(&target);
        let ran = packed(first.run(&first.share(0, 2), &WorkerOptions::new(1)).unwrap());
        assert_eq!((ran.packed, ran.skipped), (2, 0));
        assert_eq!(first.progress().unwrap().missing, first.share(1, 2));
        assert!(first.temporaries().unwrap().is_empty());
        let early = first.finalize().unwrap_err();
        assert_eq!(early.exit(), Exit::TryAgain, "{early}");
        let second = opened(&target);
        let past = second.run(&[4], &WorkerOptions::new(1)).unwrap_err();
        assert_eq!(past.text(), "shard 4: the plan has 4, from 0");
        let ran = packed(second.run(&[0, 1, 2, 3], &WorkerOptions::new(1)).unwrap());
        assert_eq!((ran.packed, ran.skipped), (2, 2));
        let publication = second.finalize().unwrap();
        assert_eq!(publication.manifest.samples, 10);
        assert_eq!(target.visible(), whole);
        let Opened::Published(manifest) = StoredPlan::open(&target.output()).unwrap() else {
            panic!()
        };
        target.output().sweep_published(&manifest).unwrap();
        assert_eq!(same_plan(&manifest), same_plan(&publication.manifest));
        assert_eq!(target.visible(), whole);
    }
}

fn same_plan(manifest: &Manifest) -> &str {
    manifest.plan.as_deref().unwrap()
}

#[test]
fn a_machine_whose_working_folder_is_gone_finds_the_data_set_that_another_has_published() {
    let source = source();
    let [folder, _] = Target::both();
    drop(stored(folder.build(options(&source, &folder))));
    let late = opened(&folder);
    let plan = opened(&folder);
    packed(plan.run(&plan.share(0, 1), &WorkerOptions::new(1)).unwrap());
    plan.finalize().unwrap();
    let outcome = late.run(&[0], &WorkerOptions::new(1)).unwrap();
    let ShareOutcome::Published(manifest) = outcome else { panic!("{outcome:?}") };
    assert_eq!(manifest.samples, 10);
}

#[test]
fn a_store_has_no_place_for_a_quarantine() {
    let source = source();
    let [_, store] = Target::both();
    let mut quarantining = options(&source, &store);
    quarantining.on_problem = Policy::Quarantine;
    let request = quarantining.request().unwrap();
    let refused = Build::in_bucket(store.bucket(), request, false).unwrap_err();
    assert!(refused.text().contains("a store has none"), "{refused}");
    drop(stored(store.build(options(&source, &store))));
    let quarantine = WorkerOptions { policy: Some(Policy::Quarantine), ..WorkerOptions::new(1) };
    let refused = opened(&store).run(&[0], &quarantine).unwrap_err();
    assert!(refused.text().contains("a store has none"), "{refused}");
}
