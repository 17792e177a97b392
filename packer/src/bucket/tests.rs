//! Builds into objects in memory: killed at each call, by two machines, beside other data.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Bucket;
use crate::bucket::objects::memory::MemoryObjects;
use crate::build::BuildOptions;
use crate::build::prepare::{Prepared, prepare};
use crate::run::{RunCounter, RunOptions, run};
use crate::session::{
    Build, Finalized, Opened, Output, Planned, StoreOutcome, StoredPlan, WorkerOptions,
};
use crate::writer::{self, DatasetWriter, Rejected};
use tarflume_base::{Exit, Failure, Stop};
use tarflume_formats::Manifest;
use tarflume_scan::folders::walk::ScanCounter;

/// A folder of ten samples without images, and the options of a build of four shards.
fn source() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..10 {
        let text = format!("{{\"n\": {n}}}");
        std::fs::write(folder.path().join(format!("{n:03}.json")), text).unwrap();
    }
    folder
}

fn options(source: &Path, out: &Path) -> BuildOptions {
    let mut options = BuildOptions::new(vec![source.into()], out.into());
    (options.shards, options.require, options.jobs) = (Some(4), Some("json".into()), Some(1));
    options
}

/// What `pack build -o URL` does.
fn build(source: &Path, objects: &Arc<MemoryObjects>) -> Result<(), Failure> {
    build_in(Bucket::new(objects.clone()), source)
}

fn build_in(bucket: Bucket, source: &Path) -> Result<(), Failure> {
    let build = Build::in_bucket(bucket, options(source, Path::new("url")).request()?, false)?;
    let Planned::Ready(planned) = build.plan()? else { panic!() };
    match planned.store()? {
        StoreOutcome::Published(_, plan) => plan.finalize().map(drop),
        StoreOutcome::Ready(stored) => {
            assert!(matches!(stored.run()?.finalize()?, Finalized::Published(_)));
            Ok(())
        }
    }
}

/// What `pack plan`, `pack run` and `pack finalize` do with a URL.
fn build_part(
    source: &Path,
    objects: &Arc<MemoryObjects>,
    numbers: &[usize],
) -> Result<(), Failure> {
    let bucket = Bucket::new(objects.clone());
    let request = options(source, Path::new("url")).request()?;
    let Planned::Ready(planned) = Build::in_bucket(bucket.clone(), request, false)?.plan()? else {
        panic!()
    };
    planned.store()?;
    let Opened::Planned(plan) = StoredPlan::open(&Output::bucket(bucket))? else { panic!() };
    plan.run(numbers, &WorkerOptions::new(1))?;
    plan.finalize().map(drop)
}

/// The files of the same build in a folder.
fn in_a_folder(source: &Path) -> BTreeMap<String, Vec<u8>> {
    let out = tempfile::tempdir().unwrap();
    let build = Build::new(options(source, out.path()).request().unwrap());
    let Planned::Ready(planned) = build.plan().unwrap() else { panic!() };
    let StoreOutcome::Ready(stored) = planned.store().unwrap() else { panic!() };
    let finalized = stored.run().unwrap().finalize().unwrap();
    assert!(matches!(finalized, Finalized::Published(_)));
    let entries = std::fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|f| (f.file_name().into_string().unwrap(), std::fs::read(f.path()).unwrap()))
        .collect()
}

const ALL: [usize; 4] = [0, 1, 2, 3];

#[test]
fn delivered_shards_are_removed_from_the_disk() {
    let source = source();
    let work = tempfile::tempdir().unwrap();
    let request = options(source.path(), work.path()).request().unwrap();
    let Prepared::Ready(ready) = prepare(&request, &ScanCounter::default()).unwrap() else {
        panic!()
    };
    let bucket = Bucket::new(Arc::new(MemoryObjects::default()));
    bucket.offer(&ready.plan, &ready.staging.plan_path(), "fail").unwrap();
    let foot = ready.plan.foot();
    let mut options = RunOptions::of_plan(foot, request.policy, 1, request.roots.clone()).unwrap();
    options.destination = Some(bucket.destination(Stop::new()));
    let ran = run(&ready.plan, &ready.staging, &ALL, &options, &RunCounter::default()).unwrap();
    assert_eq!(ran.packed, 4);
    assert_eq!(std::fs::read_dir(ready.staging.shards()).unwrap().count(), 0);
}

#[test]
fn the_objects_are_the_files_of_a_build_in_a_folder() {
    let source = source();
    let objects = Arc::new(MemoryObjects::default());
    build(source.path(), &objects).unwrap();
    assert_eq!(objects.objects(), in_a_folder(source.path()));
    assert_eq!(objects.open_uploads(), 0);
    build(source.path(), &objects).unwrap();
    assert_eq!(objects.objects(), in_a_folder(source.path()), "published again: nothing changed");
}

#[test]
fn a_build_that_is_killed_at_any_call_is_finished_by_the_next() {
    let source = source();
    let expected = in_a_folder(source.path());
    let whole = Arc::new(MemoryObjects::default());
    build(source.path(), &whole).unwrap();
    let calls = whole.calls();
    assert!(calls > 40, "{calls} calls");
    let mut lost = 0;
    for (from, after_effect) in (0..calls).flat_map(|from| [(from, false), (from, true)]) {
        let empty = MemoryObjects::default();
        let killed = Arc::new(empty.restarted(Some(from), after_effect));
        build(source.path(), &killed).unwrap_err();
        let manifest = killed.objects().get("dataset.json").cloned();
        assert!(manifest.is_none() || manifest == expected.get("dataset.json").cloned());
        let next = Arc::new(killed.restarted(None, false));
        build(source.path(), &next).unwrap();
        assert_eq!(next.objects(), expected, "killed at call {from}, effect {after_effect}");
        // An upload whose id was lost with the process cannot be aborted. It is named.
        let named = Bucket::new(Arc::new(killed.restarted(None, false))).abort_uploads().unwrap();
        assert!(next.open_uploads() <= named.unknown.len(), "killed at call {from}");
        lost += next.open_uploads();
    }
    // Of each shard: the answer with the id was lost, or the process ended before it had noted it. The uploads of
    // two shards may be open at the same time.
    assert!((ALL.len()..=4 * ALL.len()).contains(&lost), "{lost}");
}

#[test]
fn two_machines_that_share_only_the_bucket_make_the_same_objects() {
    let source = source();
    let objects = Arc::new(MemoryObjects::default());
    let unfinished = build_part(source.path(), &objects, &[0, 2]).unwrap_err();
    assert_eq!(unfinished.exit(), Exit::TryAgain, "{}", unfinished.text());
    assert!(
        unfinished.text().contains("2 of 4 shards are not finished (1, 3)"),
        "{}",
        unfinished.text()
    );
    build_part(source.path(), &objects, &[1, 3]).unwrap();
    assert_eq!(objects.objects(), in_a_folder(source.path()));
}

#[test]
fn a_shard_that_was_changed_is_packed_again() {
    let source = source();
    let objects = Arc::new(MemoryObjects::default());
    build_part(source.path(), &objects, &[0, 1, 2]).unwrap_err();
    objects.set("shard-000001.tar", b"changed");
    build(source.path(), &objects).unwrap();
    assert_eq!(objects.objects(), in_a_folder(source.path()));
}

#[test]
fn other_data_is_never_replaced() {
    let first = source();
    let second = source();
    std::fs::write(second.path().join("010.json"), "{}").unwrap();
    let objects = Arc::new(MemoryObjects::default());
    build_part(first.path(), &objects, &[0]).unwrap_err();
    let refused = build(second.path(), &objects).unwrap_err();
    assert!(refused.text().contains("unfinished attempt with other sources"), "{}", refused.text());
    Bucket::new(objects.clone()).discard().unwrap();
    assert!(objects.objects().is_empty(), "{:?}", objects.objects().keys());
    build(first.path(), &objects).unwrap();
    let refused = build(second.path(), &objects).unwrap_err();
    assert_eq!(refused.exit(), Exit::Usage);
    assert!(refused.text().contains("holds another data set"), "{}", refused.text());
    assert!(Bucket::new(objects.clone()).discard().is_err());
    assert_eq!(objects.objects(), in_a_folder(first.path()));
}

#[test]
fn a_store_that_ignores_conditions_is_named() {
    let objects = MemoryObjects::ignoring_conditions();
    let refused = Bucket::new(Arc::new(objects)).expect_conditions().unwrap_err();
    assert!(refused.text().contains("ignores the condition If-None-Match"), "{}", refused.text());
    assert!(refused.text().contains("--single-writer"));
}

/// Writes ten samples in shards of four.
fn write_all(mut writer: DatasetWriter) -> Result<Manifest, Failure> {
    for n in 0..10 {
        let key = format!("{n:03}");
        let written =
            writer.write(key.as_bytes(), &[(b"json", format!("{{\"n\": {n}}}").as_bytes())]);
        match written {
            Ok(()) => {}
            Err(Rejected::Failure(failure)) => {
                writer.abandon()?;
                return Err(failure);
            }
            Err(Rejected::Problem(problem)) => panic!("{problem:?}"),
        }
    }
    writer.finish()
}

fn writer_options(fresh: bool) -> writer::Options {
    writer::Options { shard_samples: Some(4), fresh, ..writer::Options::default() }
}

fn write_in(objects: &Arc<MemoryObjects>, fresh: bool) -> Result<Manifest, Failure> {
    let bucket = Bucket::new(objects.clone());
    write_all(DatasetWriter::create_in(bucket, writer_options(fresh), false)?)
}

/// The files of the same writer in a folder.
fn written_in_a_folder() -> BTreeMap<String, Vec<u8>> {
    let out = tempfile::tempdir().unwrap();
    write_all(DatasetWriter::create(out.path(), writer_options(false)).unwrap()).unwrap();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(out.path()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, std::fs::read(entry.path()).unwrap());
    }
    files
}

#[test]
fn a_writer_makes_the_objects_of_one_in_a_folder() {
    let objects = Arc::new(MemoryObjects::default());
    write_in(&objects, false).unwrap();
    assert_eq!(objects.objects(), written_in_a_folder());
    assert_eq!((objects.objects().len(), objects.open_uploads()), (7, 0));
    let again = write_in(&objects, false).unwrap_err();
    assert!(again.text().contains("holds a data set already"), "{}", again.text());
    assert!(write_in(&objects, true).is_err(), "a published data set is never discarded");
    assert_eq!(objects.objects(), written_in_a_folder());
}

#[test]
fn a_writer_that_is_killed_at_any_call_publishes_all_or_nothing() {
    let expected = written_in_a_folder();
    let whole = Arc::new(MemoryObjects::default());
    write_in(&whole, false).unwrap();
    let calls = whole.calls();
    assert!(calls > 25, "{calls} calls");
    for (from, after_effect) in (0..calls).flat_map(|from| [(from, false), (from, true)]) {
        let killed = Arc::new(MemoryObjects::default().restarted(Some(from), after_effect));
        write_in(&killed, false).unwrap_err();
        let next = Arc::new(killed.restarted(None, false));
        if killed.objects().contains_key("dataset.json") {
            let mut left = killed.objects();
            left.retain(|name, _| !name.starts_with(".pack/"));
            assert_eq!(left, expected, "killed at call {from}");
            continue;
        }
        write_in(&next, true).unwrap();
        assert_eq!(next.objects(), expected, "killed at call {from}, effect {after_effect}");
    }
}

#[test]
fn a_writer_disturbs_no_other_attempt() {
    let source = source();
    let objects = Arc::new(MemoryObjects::default());
    build_part(source.path(), &objects, &[0]).unwrap_err();
    let refused = write_in(&objects, false).unwrap_err();
    assert!(
        refused.text().contains("unfinished data set; set `fresh` to true"),
        "{}",
        refused.text()
    );
    let other = Arc::new(MemoryObjects::default());
    other.set("shard-000000.tar", b"somebody's");
    let refused = write_in(&other, true).unwrap_err();
    assert!(refused.text().contains("belongs to no data set"), "{}", refused.text());
    // Two writers at once: the one that finishes later publishes nothing.
    let both = Arc::new(MemoryObjects::default());
    let writer = |name: &str| {
        let options = writer::Options { prefix: name.into(), ..writer_options(false) };
        DatasetWriter::create_in(Bucket::new(both.clone()), options, false).unwrap()
    };
    let first = writer("first");
    let second = writer("second");
    write_all(first).unwrap();
    let refused = write_all(second).unwrap_err();
    assert!(refused.text().contains("holds another data set"), "{}", refused.text());
    let abandoned = Arc::new(MemoryObjects::default());
    let bucket = Bucket::new(abandoned.clone());
    DatasetWriter::create_in(bucket, writer_options(false), false).unwrap().abandon().unwrap();
    assert!(abandoned.objects().is_empty());
}

fn write_nine(writer: &mut DatasetWriter) {
    for n in 0..9 {
        let key = format!("{n:03}");
        assert!(writer.write(key.as_bytes(), &[(b"json", b"{}")]).is_ok());
    }
}

#[test]
fn a_writer_whose_shards_were_discarded_publishes_nothing() {
    let objects = Arc::new(MemoryObjects::default());
    let open = |prefix: &str, fresh| {
        let options = writer::Options { prefix: prefix.into(), ..writer_options(fresh) };
        DatasetWriter::create_in(Bucket::new(objects.clone()), options, false)
    };
    let mut first = open("shard", false).unwrap();
    write_nine(&mut first);
    let is_uploaded = |name: &str| objects.objects().get(name).is_some_and(|note| note[0] == b'{');
    while !is_uploaded(".pack/records/shard-000001.tar") {
        std::thread::yield_now(); // until the thread of the first writer has ended
    }
    let idle = open("idle", true).unwrap(); // discards the shards of the first
    let mut second = open("second", false).unwrap();
    write_nine(&mut second);
    idle.abandon().unwrap(); // and leaves those of the second
    let refused = first.finish().unwrap_err();
    assert!(refused.text().contains("another program has discarded"), "{}", refused.text());
    assert!(!objects.objects().contains_key("dataset.json"));
    let manifest = second.finish().unwrap();
    assert!(manifest.shards.iter().all(|entry| entry.name.starts_with("second-")));
    assert_eq!((manifest.samples, manifest.shards.len()), (9, 3));
}

#[test]
fn a_writer_replaces_no_object_of_somebody_else() {
    let objects = Arc::new(MemoryObjects::default());
    objects.set("shard-000001.tar", b"somebody's");
    let refused = write_in(&objects, false).unwrap_err();
    assert!(refused.text().contains("belongs to no data set"), "{}", refused.text());
    assert_eq!(objects.objects()["shard-000001.tar"], b"somebody's");
    assert!(!objects.objects().contains_key("dataset.json"));
}

#[cfg(feature = "remote")]
mod in_a_store {
    use tarflume_store::Store;
    use tarflume_store::simulated::{Fault, Server};

    use super::*;

    fn bucket(server: &Server) -> Bucket {
        Bucket::of_store(Store::open("s3://bucket/set", &server.options()).unwrap()).unwrap()
    }

    fn objects(server: &Server) -> BTreeMap<String, Vec<u8>> {
        let mut objects = BTreeMap::new();
        for name in server.names() {
            let bytes = server.object(&name).unwrap().to_vec();
            objects.insert(name.strip_prefix("set/").unwrap().to_string(), bytes);
        }
        objects
    }

    #[test]
    fn the_objects_are_the_files_of_a_build_in_a_folder_under_faults_that_pass() {
        let source = source();
        let server = Server::new();
        // Every sixth request fails in one of four ways; conditional writes lose their answers, too.
        server.plan(|asked| {
            let faults = [
                Fault::Status(503, None),
                Fault::Reset,
                Fault::LostAnswer,
                Fault::Status(500, None),
            ];
            (asked.number % 6 == 2).then(|| faults[(asked.number / 6) as usize % 4])
        });
        build_in(bucket(&server), source.path()).unwrap();
        assert_eq!(objects(&server), in_a_folder(source.path()));
        assert_eq!(server.open_uploads(), 0);
    }

    #[test]
    fn a_store_that_ignores_conditions_and_one_that_refuses_are_told_apart() {
        let server = Server::new();
        server.ignore_conditions();
        let ignored = bucket(&server).expect_conditions().unwrap_err();
        assert!(ignored.text().contains("ignores the condition"), "{}", ignored.text());
        server.plan(|_| Some(Fault::Refused(403, "AccessDenied")));
        let refused = bucket(&server).expect_conditions().unwrap_err();
        assert_eq!(refused.exit(), Exit::Barred);
        assert!(refused.text().contains("AWS_PROFILE"), "{}", refused.text());
        let whole = Store::open("s3://bucket", &server.options()).unwrap();
        let unnamed = Bucket::of_store(whole).unwrap_err();
        assert!(unnamed.text().contains("name a prefix in the bucket"), "{}", unnamed.text());
    }
}
