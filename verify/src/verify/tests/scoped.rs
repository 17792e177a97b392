//! What is read of a data set: slices, samples, as much as there is time for, what a change touches.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::scope::{Budget, Change, Coverage, Scope, Share};

/// Makes a set of some shards with samples of random sizes, and returns the names of the tars.
fn random_set(dir: &Path, rng: &mut SplitMix64) -> Vec<String> {
    let shards = rng.between(1, 5);
    let names: Vec<String> = (0..shards).map(|n| format!("s{n}.tar")).collect();
    for name in &names {
        let mut tar = TarBytes::new();
        for sample in 0..rng.between(1, 12) {
            for ext in ["bin", "json"].iter().take(rng.between(1, 2) as usize) {
                let data: Vec<u8> =
                    (0..rng.between(1, 3000)).map(|_| rng.next_u64() as u8 | 1).collect();
                tar.member(format!("{name}{sample}.{ext}").as_bytes(), &data);
            }
        }
        let mut bytes = tar.ended();
        bytes.resize(bytes.len().next_multiple_of(10240), 0);
        fs::write(dir.join(name), bytes).unwrap();
    }
    index(dir);
    names
}

fn sliced(dir: &Path, share: &Share) -> Report {
    let scope = Scope { share: Some(share.clone()), ..Scope::default() };
    verify(&[dir.to_path_buf()], &Options { scope, ..options(Level::Full) }, &|_| {}).unwrap()
}

fn coverage(report: &Report) -> &Coverage {
    report.coverage.as_ref().unwrap()
}

fn slices(of: u32) -> Vec<Share> {
    (1..=of).map(|n| Share::slice(&format!("{n}/{of}")).unwrap()).collect()
}

#[test]
fn all_slices_together_have_every_byte_and_sample_once() {
    let mut rng = SplitMix64::new(7);
    for _ in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        random_set(dir.path(), &mut rng);
        let whole = report(dir.path(), Level::Full);
        assert!(whole.whole && whole.coverage.is_none());
        let of = rng.between(1, 9);
        let reports: Vec<Report> =
            slices(of).iter().map(|share| sliced(dir.path(), share)).collect();
        assert!(reports.iter().all(Report::is_passed), "{reports:?}");
        assert!(reports.iter().all(|report| report.whole == (of == 1)) || whole.samples < 9);
        let bytes: u64 = reports.iter().map(|report| coverage(report).bytes).sum();
        let samples: u64 = reports.iter().map(|report| coverage(report).samples).sum();
        assert_eq!((bytes, samples), (whole.bytes, whole.samples));
        for report in &reports {
            assert_eq!(coverage(report).of_bytes, whole.bytes);
            assert_eq!((report.shards, report.samples), (whole.shards, whole.samples));
        }
    }
}

#[test]
fn a_flip_of_any_byte_is_found_by_one_of_the_slices() {
    let mut rng = SplitMix64::new(11);
    for round in 0..60 {
        let dir = tempfile::tempdir().unwrap();
        let names = random_set(dir.path(), &mut rng);
        let name = &names[rng.below(names.len() as u32) as usize];
        let path = dir.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let at = rng.below(bytes.len() as u32) as usize;
        bytes[at] ^= 1 << rng.below(8);
        fs::write(&path, bytes).unwrap();
        renew(&path);
        let found: Vec<Vec<ProblemKind>> = slices(rng.between(2, 7))
            .iter()
            .map(|share| kinds(&sliced(dir.path(), share)))
            .collect();
        assert!(found.iter().any(|kinds| !kinds.is_empty()), "round {round}, byte {at} of {name}");
    }
}

#[test]
fn a_slice_places_a_problem_as_the_whole_does_and_no_other_slice_has_it() {
    let dir = set();
    let path = dir.path().join("b.tar");
    let mut bytes = fs::read(&path).unwrap();
    bytes[2 * SAMPLE + 512] ^= 1;
    fs::write(&path, bytes).unwrap();
    renew(&path);
    let checksum = (ProblemKind::Checksum, "b.tar".into(), Some(4608), Some("b2"));
    let reports: Vec<Report> = slices(5).iter().map(|share| sliced(dir.path(), share)).collect();
    let hits: Vec<&Report> = reports.iter().filter(|report| !report.is_passed()).collect();
    assert_eq!(hits.len(), 1);
    assert_eq!(found(hits[0]), [checksum]);
    assert!(hits[0].to_string().contains("1 problem (checksum 1); read "), "{}", hits[0]);
}

#[test]
fn padding_that_is_not_zeros_is_judged_by_the_digest() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = shard("a");
    bytes[512 + 9] = 7; // behind 'a 0'
    fs::write(dir.path().join("a.tar"), &bytes).unwrap();
    index(dir.path());
    for share in slices(2) {
        assert!(sliced(dir.path(), &share).is_passed(), "it was packed so");
    }
    bytes[512 + 9] = 8;
    fs::write(dir.path().join("a.tar"), &bytes).unwrap();
    renew(&dir.path().join("a.tar"));
    let kinds: Vec<_> =
        slices(2).iter().flat_map(|share| kinds(&sliced(dir.path(), share))).collect();
    assert_eq!(kinds, [ProblemKind::Digest]);
}

#[test]
fn a_shard_without_a_sidecar_is_in_one_slice_as_a_whole() {
    let dir = set();
    fs::remove_file(dir.path().join("a.index")).unwrap();
    let reports: Vec<Report> = slices(4).iter().map(|share| sliced(dir.path(), share)).collect();
    assert!(reports.iter().all(|report| kinds(report) == [ProblemKind::MissingIndex]));
    let total: u64 = reports.iter().map(|report| coverage(report).bytes).sum();
    assert_eq!(total, reports[0].bytes);
}

/// Returns a clock, each query of which is a second later than the one before.
pub(super) fn ticking() -> impl Fn() -> Duration + Send + Sync + 'static {
    let ticks = AtomicU64::new(0);
    move || Duration::from_secs(ticks.fetch_add(1, Ordering::SeqCst))
}

fn within(dir: &Path, limit: u64, share: Option<Share>) -> Report {
    let budget = Some(Budget::by_clock(Duration::from_secs(limit), ticking()));
    let scope = Scope { budget, share, ..Scope::default() };
    verify(&[dir.to_path_buf()], &Options { scope, jobs: 1, ..options(Level::Full) }, &|_| {})
        .unwrap()
}

#[test]
fn no_shard_is_begun_after_the_time() {
    let dir = set();
    for (limit, shards) in [(0, 0), (1, 1), (2, 2), (9, 2)] {
        let report = within(dir.path(), limit, None);
        let read = coverage(&report);
        assert_eq!((read.shards, read.ended_early), (shards, shards < 2), "{limit}");
        assert_eq!((report.whole, report.is_passed()), (shards == 2, true), "{report}");
    }
    let early = within(dir.path(), 1, None).to_string();
    assert!(early.contains("no problem found; read 50 % of"), "{early}");
    assert!(early.contains("the time was over before all was read"), "{early}");
    let share = Share::slice("1/1").unwrap();
    assert!(within(dir.path(), 9, Some(share)).whole);
}

#[test]
fn problems_of_sidecars_are_found_also_after_the_time() {
    let dir = set();
    fs::write(dir.path().join("b.index"), b"nothing").unwrap();
    assert_eq!(kinds(&within(dir.path(), 0, None)), [ProblemKind::DamagedIndex]);
}

fn changed(paths: &[&Path], files: &[PathBuf]) -> Report {
    let scope = Scope { change: Some(Change::Files(files.to_vec())), ..Scope::default() };
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    verify(&paths, &Options { scope, ..options(Level::Full) }, &|_| {}).unwrap()
}

#[test]
fn only_the_shards_that_a_change_touches_are_read() {
    let dir = set();
    for name in ["a.tar", "b.tar"] {
        let path = dir.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[512] ^= 1;
        fs::write(&path, bytes).unwrap();
        renew(&path);
    }
    let here = dir.path();
    for touched in ["b.tar", "b.index", "b.tar.dvc", "../x/../b.tar"] {
        let touched = match touched.strip_prefix("../x/../") {
            Some(name) => dir.path().join(".").join(name),
            None => here.join(touched),
        };
        let report = changed(&[dir.path()], std::slice::from_ref(&touched));
        assert_eq!(kinds(&report), [ProblemKind::Checksum, ProblemKind::Digest], "{touched:?}");
        assert_eq!(coverage(&report).shards, 1);
    }
    assert!(
        changed(&[dir.path()], &[here.join("dataset.json"), here.join("notes.txt")]).is_passed()
    );
    assert_eq!(changed(&[dir.path()], &[dir.path().to_path_buf()]).problems.len(), 4);
    assert_eq!(changed(&[], &[here.join("a.tar"), here.join("train.py")]).problems.len(), 2);
    let nothing = changed(&[], &[here.join("train.py")]);
    assert!(nothing.is_passed() && nothing.shards == 0);
}

#[test]
fn a_shard_that_a_change_removes_is_missing_and_one_that_is_elsewhere_is_not() {
    let dir = set();
    fs::remove_file(dir.path().join("a.tar")).unwrap();
    let removed = changed(&[dir.path()], &[dir.path().join("a.tar")]);
    assert_eq!(kinds(&removed), [ProblemKind::MissingShard]);
    let elsewhere = changed(&[dir.path()], &[dir.path().join("b.tar")]);
    assert!(elsewhere.is_passed(), "{elsewhere}");
    assert!(elsewhere.to_string().contains("1 tar is not here"), "{elsewhere}");
}

/// Compares manifest and sidecars.
fn stated(dir: &Path) -> Report {
    let scope = Scope { manifest_only: true, ..Scope::default() };
    verify(&[dir.to_path_buf()], &Options { scope, ..options(Level::Full) }, &|_| {}).unwrap()
}

#[test]
fn a_manifest_alone_is_compared_with_sidecars_and_sizes() {
    let dir = set();
    let sound = stated(dir.path());
    assert!(sound.is_passed() && !sound.whole, "{sound}");
    assert!(sound.to_string().contains("no tar was opened"), "{sound}");
    let path = dir.path().join("a.tar");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, vec![7; bytes.len()]).unwrap();
    assert!(stated(dir.path()).is_passed(), "the bytes are not looked at");
    fs::write(&path, &bytes[..bytes.len() - 512]).unwrap();
    assert_eq!(kinds(&stated(dir.path())), [ProblemKind::StaleManifest, ProblemKind::StaleIndex]);
    fs::remove_file(&path).unwrap();
    assert!(stated(dir.path()).is_passed());
    fs::write(dir.path().join("a.index"), b"nothing").unwrap();
    assert_eq!(kinds(&stated(dir.path())), [ProblemKind::DamagedIndex]);
}

/// Returns the refusal of options.
fn refused(dir: &Path, options: &Options) -> String {
    let failure = verify(&[dir.to_path_buf()], options, &|_| {}).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
    failure.text()
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let dir = set();
    let slice = Scope { share: Some(Share::slice("1/2").unwrap()), ..Scope::default() };
    let manifest = Scope { manifest_only: true, ..Scope::default() };
    let both = Scope { manifest_only: true, ..slice.clone() };
    let sliced = Options { scope: slice.clone(), ..options(Level::Full) };
    let cases = [
        (Options { scope: slice, ..options(Level::Quick) }, "--slice limits what is read"),
        (
            Options { scope: both, ..options(Level::Full) },
            "--manifest-only opens no tar, so --slice",
        ),
        (Options { count_classes: true, ..sliced.clone() }, "is that of all samples, and --slice"),
        (Options { profiles: vec![Profile::Dali], ..sliced }, "needs whole shards"),
        (
            Options { objects: true, scope: manifest, ..options(Level::Full) },
            "so no schema or object is checked",
        ),
    ];
    for (options, text) in cases {
        let said = refused(dir.path(), &options);
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn sets_below_a_folder_are_one_report() {
    let root = tempfile::tempdir().unwrap();
    for name in ["train", "deep/val"] {
        let folder = root.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.tar"), shard("a")).unwrap();
        index(&folder);
    }
    let whole = report(root.path(), Level::Full);
    assert!(whole.whole, "keys of other sets may be the same: {whole}");
    let path = root.path().join("train/a.tar");
    let mut bytes = fs::read(&path).unwrap();
    bytes[512] ^= 1;
    fs::write(&path, bytes).unwrap();
    renew(&path);
    let damaged = report(root.path(), Level::Full);
    let sets: Vec<_> =
        damaged.sets.iter().map(|set| (set.shards, set.samples, set.problems)).collect();
    assert_eq!(sets, [(1, 5, 0), (1, 5, 2)]);
    assert!(damaged.sets[1].path.ends_with("train"));
    assert!(damaged.problems.iter().all(|problem| problem.path == path.display().to_string()));
    let empty = tempfile::tempdir().unwrap();
    let failure =
        verify(&[empty.path().to_path_buf()], &options(Level::Full), &|_| {}).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
}

const LFS: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize ";

#[test]
fn a_tar_that_was_not_pulled_is_unchecked_and_not_damaged() {
    for tool in ["lfs", "dvc"] {
        for (size, problems) in [(SAMPLE * SAMPLES + 1024, 0), (5, 2)] {
            let dir = set();
            let tar = dir.path().join("a.tar");
            if tool == "lfs" {
                fs::write(&tar, format!("{LFS}{size}\n")).unwrap();
            } else {
                fs::remove_file(&tar).unwrap();
                let text = format!(
                    "outs:\n- md5: {}\n  size: {size}\n  hash: md5\n  path: a.tar\n",
                    "0".repeat(32)
                );
                fs::write(dir.path().join("a.tar.dvc"), text).unwrap();
            }
            let report = report(dir.path(), Level::Full);
            assert_eq!(
                (report.problems.len(), report.not_pulled),
                (problems, 1),
                "{tool}: {report}"
            );
            let text = report.unchecked[0].text();
            assert!(
                text.contains("1 tar was not pulled") && text.contains(&format!("{tool} pull")),
                "{text}"
            );
            let touched = changed(&[dir.path()], std::slice::from_ref(&tar));
            assert_eq!(
                (touched.problems.len(), touched.unchecked.len()),
                (problems, 0),
                "{touched}"
            );
        }
    }
}

/// Verifies a set whose first tar DVC tracks with this digest and size.
fn tracked(dir: &Path, md5: &str, size: u64, level: Level) -> Report {
    let text = format!("outs:\n- md5: {md5}\n  size: {size}\n  path: a.tar\n");
    fs::write(dir.join("a.tar.dvc"), text).unwrap();
    report(dir, level)
}

#[test]
fn a_pulled_tar_is_compared_with_what_dvc_states() {
    let dir = set();
    let tar = dir.path().join("a.tar");
    let length = fs::metadata(&tar).unwrap().len();
    let md5 = tarflume_export::foreign_index::md5_of(&tar, length, &Stop::new()).unwrap();
    let other = "0".repeat(32);
    assert!(tracked(dir.path(), &md5, length, Level::Full).whole);
    assert!(tracked(dir.path(), &other, length, Level::Quick).whole, "no byte is read");
    for wrong in [
        tracked(dir.path(), &other, length, Level::Full),
        tracked(dir.path(), &md5, length + 1, Level::Full),
        tracked(dir.path(), &md5, length + 1, Level::Quick),
    ] {
        assert_eq!(kinds(&wrong), [ProblemKind::Digest]);
        assert!(wrong.to_string().contains("`dvc checkout`"), "{wrong}");
    }
}
