//! Small data sets with one fault each: which kinds are found, and where.

mod cached;
mod foreign_index;
mod known;
mod scoped;

use std::fs;
use std::path::Path;

use tarflume_base::{Choice, Exit, Stop};
use tarflume_fixtures::{FalseClaim, SplitMix64, TarBytes, good_shard};
use tarflume_formats::manifest::{FILE_NAME, Manifest};
use tarflume_formats::{Reading, index_path};
use tarflume_shards::index;

use super::*;

/// Bytes of one sample in the shards made here: two headers, one block of data each.
const SAMPLE: usize = 2048;
const SAMPLES: usize = 5;

fn shard(prefix: &str) -> Vec<u8> {
    let mut tar = TarBytes::new();
    for i in 0..SAMPLES {
        tar.member(format!("{prefix}{i}.jpg").as_bytes(), format!("{prefix} {i}").as_bytes());
        tar.member(format!("{prefix}{i}.json").as_bytes(), b"{}");
    }
    tar.ended()
}

/// Returns a complete data set of two shards, indexed.
fn set() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.tar"), shard("a")).unwrap();
    fs::write(dir.path().join("b.tar"), shard("b")).unwrap();
    index(dir.path());
    dir
}

fn index(dir: &Path) {
    let options = index::Options {
        reading: Reading::Everything,
        entry_points: false,
        force: true,
        accept_edits: false,
        allow_missing_end: true,
        splits: false,
        ignore_zeros: false,
        columns: tarflume_base::Columns::default(),
        jobs: 1,
        stop: Stop::new(),
        storage: Vec::new(),
    };
    index::index(dir, &options, &|_| {}).unwrap().manifest.unwrap().unwrap();
}

fn options(level: Level) -> Options {
    Options { jobs: 2, ..Options::new(level) }
}

fn report(path: &Path, level: Level) -> Report {
    let options = options(level);
    verify(&[path.to_path_buf()], &options, &|_| {}).unwrap()
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns kinds with file name, byte and key.
fn found(report: &Report) -> Vec<(ProblemKind, String, Option<u64>, Option<&str>)> {
    let problems = report.problems.iter();
    problems.map(|p| (p.kind, file_name(&p.path), p.byte, p.key.as_deref())).collect()
}

fn kinds(report: &Report) -> Vec<ProblemKind> {
    report.problems.iter().map(|p| p.kind).collect()
}

/// Damages a file of a complete set and returns the quick and the full report.
fn after(file: &str, damage: impl Fn(&mut Vec<u8>)) -> (Report, Report) {
    let dir = set();
    let path = dir.path().join(file);
    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, bytes).unwrap();
    if file.ends_with(".tar") {
        renew(&path);
    }
    (report(dir.path(), Level::Quick), report(dir.path(), Level::Full))
}

/// Makes a sidecar newer than its tar, as if a disk had changed the tar.
fn renew(tar: &Path) {
    use tarflume_formats::freshness::{may_be_newer, renew};
    let sidecar = index_path(tar);
    let found = |path: &Path| fs::metadata(path).unwrap();
    while may_be_newer(&found(tar), &found(&sidecar)) {
        renew(&sidecar, &found(&sidecar), &found(tar)).unwrap();
    }
}

#[test]
fn a_whole_set_is_whole_at_every_level() {
    let dir = set();
    for level in [Level::Quick, Level::Full] {
        let report = report(dir.path(), level);
        assert!(report.whole, "{:?}", report.problems);
        assert_eq!((report.shards, report.samples), (2, 10));
        assert_eq!(report.extensions, [("jpg".into(), 10), ("json".into(), 10)].into());
    }
}

#[test]
fn a_flipped_bit_is_placed_by_its_checksum() {
    let (quick, full) = after("a.tar", |tar| tar[SAMPLE + 512] ^= 1);
    assert!(quick.whole, "no data is read");
    let checksum = (ProblemKind::Checksum, "a.tar".into(), Some(SAMPLE as u64 + 512), Some("a1"));
    assert_eq!(found(&full)[0], checksum);
    assert_eq!(kinds(&full)[1..], [ProblemKind::Digest]);
}

#[test]
fn behind_a_damaged_header_the_pass_goes_on_and_names_every_sample() {
    let (_, full) = after("a.tar", |tar| {
        tar[SAMPLE + 3] ^= 1;
        tar[3 * SAMPLE + 1024 + 3] ^= 1;
        tar[4 * SAMPLE + 512] ^= 1;
    });
    let expected = [
        (ProblemKind::BadHeader, SAMPLE, "a1"),
        (ProblemKind::BadHeader, 3 * SAMPLE + 1024, "a3"),
        (ProblemKind::Checksum, 4 * SAMPLE + 512, "a4"),
    ];
    let expected =
        expected.map(|(kind, byte, key)| (kind, "a.tar".into(), Some(byte as u64), Some(key)));
    assert_eq!(found(&full)[..3], expected);
    assert_eq!(full.problems.len(), 4, "and the digest");
    assert_eq!(full.samples, 10, "the sidecar still tells the rows");
}

#[test]
fn zeros_in_the_middle_are_no_end() {
    let (quick, full) = after("a.tar", |tar| tar[SAMPLE..3 * SAMPLE].fill(0));
    assert_eq!(kinds(&quick), [ProblemKind::BadHeader; 2]);
    let keys: Vec<_> = full.problems.iter().filter_map(|p| p.key.as_deref()).collect();
    assert_eq!(keys, ["a1", "a1", "a2", "a2"]);
}

#[test]
fn a_cut_is_found_wherever_it_is() {
    for length in [SAMPLE, SAMPLE + 512, SAMPLE + 700, SAMPLES * SAMPLE, SAMPLES * SAMPLE + 512] {
        let (quick, full) = after("a.tar", |tar| tar.truncate(length));
        assert_eq!(kinds(&quick), [ProblemKind::Truncated], "{length}");
        let [kind] = kinds(&full)[..] else { panic!("{length}: {:?}", full.problems) };
        assert!(matches!(kind, ProblemKind::Truncated | ProblemKind::MissingEnd), "{length}");
        if length < SAMPLES * SAMPLE {
            assert_eq!(full.problems[0].key.as_deref(), Some("a1"));
        }
    }
}

#[test]
fn bytes_after_the_end_marker_must_be_zeros() {
    let (_, full) = after("a.tar", |tar| tar.extend(shard("c")));
    let want = [ProblemKind::Gap, ProblemKind::StaleIndex, ProblemKind::StaleManifest];
    assert_eq!(kinds(&full), want);
}

#[test]
fn another_tar_under_the_same_name_makes_the_sidecar_stale() {
    for other in [shard("c"), good_shard()] {
        let (quick, full) = after("a.tar", |tar| other.clone_into(tar));
        assert!(kinds(&quick).contains(&ProblemKind::StaleIndex));
        assert_eq!(kinds(&full)[0], ProblemKind::StaleIndex, "{:?}", full.problems);
        assert!(!kinds(&full).contains(&ProblemKind::Checksum));
    }
}

#[test]
fn a_damaged_or_missing_sidecar_leaves_the_tar_to_be_walked() {
    let (quick, full) = after("a.index", |index| index[20] ^= 1);
    assert_eq!(kinds(&quick), [ProblemKind::DamagedIndex]);
    assert_eq!((kinds(&full), full.samples), (vec![ProblemKind::DamagedIndex], 10));
    let dir = set();
    fs::remove_file(dir.path().join("a.index")).unwrap();
    let report = report(dir.path(), Level::Full);
    assert_eq!((kinds(&report), report.samples), (vec![ProblemKind::MissingIndex], 10));
}

#[test]
fn a_manifest_must_describe_the_files_beside_it() {
    let (quick, full) = after(FILE_NAME, |json| {
        let text = String::from_utf8(json.clone()).unwrap();
        let edited = text.replace("\"samples\":5", "\"samples\":6").replace("10,", "12,");
        *json = Manifest::from_edited_json(edited.as_bytes()).unwrap().to_json();
    });
    // Samples and parts are both ten: only the totals of a good manifest are their sum.
    for report in [&quick, &full] {
        assert!(
            matches!(kinds(report)[..], [ProblemKind::StaleManifest, ProblemKind::StaleManifest]),
            "{:?}",
            report.problems
        );
    }
    let (quick, _) = after(FILE_NAME, |json| json.truncate(50));
    assert_eq!(kinds(&quick), [ProblemKind::DamagedManifest]);
    let dir = set();
    fs::write(dir.path().join("c.tar"), shard("c")).unwrap();
    fs::remove_file(dir.path().join("b.tar")).unwrap();
    let want = [ProblemKind::StaleManifest, ProblemKind::MissingShard, ProblemKind::MissingIndex];
    assert_eq!(kinds(&report(dir.path(), Level::Full)), want);
    fs::remove_file(dir.path().join(FILE_NAME)).unwrap();
    assert_eq!(kinds(&report(dir.path(), Level::Full))[0], ProblemKind::MissingShard);
}

#[test]
fn keys_clash_within_and_across_shards() {
    for (claim, want) in [
        (FalseClaim::RepeatedKey, ProblemKind::RepeatedKey),
        (FalseClaim::Interleaved, ProblemKind::SplitSample),
        (FalseClaim::CaseTwins, ProblemKind::CaseCollision),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.tar"), claim.bytes()).unwrap();
        index(dir.path());
        assert_eq!(kinds(&report(dir.path(), Level::Full))[0], want, "{}", claim.name());
    }
    let dir = set();
    fs::write(dir.path().join("b.tar"), shard("A")).unwrap();
    index(dir.path());
    let report = report(dir.path(), Level::Full);
    assert_eq!(kinds(&report), [ProblemKind::CaseCollision; SAMPLES]);
    assert!(report.problems[0].reason.text().contains("a.tar at byte 0"), "{}", report.problems[0]);
}

#[test]
fn a_part_that_nearly_all_samples_have_is_a_warning_unless_it_is_required() {
    let dir = set();
    let mut tar = TarBytes::new();
    tar.member(b"b0.jpg", b"").member(b"b1.png", b"").member(b"b1.json", b"{}");
    fs::write(
        dir.path().join("b.tar"),
        tar.member(b"b2.jpg", b"").member(b"b2.json", b"{}").ended(),
    )
    .unwrap();
    index(dir.path());
    let without = report(dir.path(), Level::Full);
    assert!(without.whole, "{without}");
    let [warning] = without.warnings.as_slice() else { panic!("{without}") };
    assert_eq!((warning.byte, warning.key.as_deref()), (Some(0), Some("b0")));
    assert!(warning.path.ends_with("b.tar"), "{warning}");
    for text in ["no part 'json'", "the rest of the 8 samples have it", "--require json"] {
        assert!(warning.reason.text().contains(text), "{warning}");
    }
    for (require, problems) in [(vec![], 0), (vec!["json".into(), "jpg".into()], 2)] {
        let options = Options { require: Some(require), ..options(Level::Quick) };
        let report = verify(&[dir.path().to_path_buf()], &options, &|_| {}).unwrap();
        assert_eq!(report.problems.len(), problems);
    }
}

#[test]
fn decoding_looks_at_every_image_and_json() {
    let dir = set();
    let report = report(dir.path(), Level::Decode);
    assert_eq!(kinds(&report), [ProblemKind::BadJpeg; 2 * SAMPLES]);
    assert_eq!(report.problems[0].key.as_deref(), Some("a0"));
}

#[test]
fn parts_that_are_too_long_to_be_looked_into_are_named() {
    let dir = set();
    let tar = dir.path().join("a.tar");
    let long = |options: &Options| pass::within(1, &tar, None, options, &|_| {}).unwrap().long;
    assert_eq!(long(&options(Level::Full)).sentence(1), None, "nothing was to be looked into");
    let decoded = long(&options(Level::Decode));
    assert!(!decoded.was_asked_for);
    let sentence = decoded.sentence(1).unwrap();
    assert!(sentence.starts_with("a0.jpg at byte 512 and 9 other parts"), "{sentence}");
    let class = Some(ClassField::parse("json:/a").unwrap());
    let counted = long(&Options { class, ..options(Level::Full) });
    assert!(counted.was_asked_for);
    assert!(counted.sentence(1).unwrap().starts_with("a0.json at byte 1536 and 4 other"));
    let mut report = Report::new(Level::Full, Sifted::default());
    report.add_long(&tar, &decoded);
    assert_eq!((report.notes.len(), report.unchecked.len()), (1, 0));
    report.add_long(&tar, &counted);
    assert_eq!((report.notes.len(), report.unchecked.len()), (1, 1));
}

#[test]
fn only_a_foreign_tar_lacks_a_sidecar() {
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("a.tar");
    for (claim, want) in [
        (FalseClaim::DotDot, ProblemKind::BadName),
        (FalseClaim::NonUtf8Name, ProblemKind::BadName),
        (FalseClaim::Symlink, ProblemKind::NotRegular),
        (FalseClaim::RepeatedPart, ProblemKind::RepeatedPart),
        (FalseClaim::SampleAfterEnd, ProblemKind::Gap),
        (FalseClaim::GnuSparse, ProblemKind::Unsupported),
        (FalseClaim::ZeroBlockInside, ProblemKind::BadHeader),
        (FalseClaim::Empty, ProblemKind::MissingEnd),
    ] {
        fs::write(&tar, claim.bytes()).unwrap();
        let report = report(&tar, Level::Full);
        assert_eq!(kinds(&report)[..2], [ProblemKind::MissingIndex, want], "{}", claim.name());
    }
}

#[test]
fn nothing_to_verify_is_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(Level::Full);
    for path in [dir.path().to_path_buf(), dir.path().join("none.tar")] {
        assert_eq!(verify(&[path], &options, &|_| {}).unwrap_err().exit(), Exit::Usage);
    }
}

#[test]
fn a_flipped_bit_of_the_manifest_is_found_at_the_quickest_level_or_changes_no_value() {
    let dir = set();
    let path = dir.path().join(FILE_NAME);
    let mut manifest = Manifest::from_json(&fs::read(&path).unwrap()).unwrap();
    manifest.about.classes = Some(tarflume_formats::ClassTable {
        pointer: "/class".into(),
        names: vec!["cat".into(), "dog".into()],
        ids: vec![1, 18],
        ..Default::default()
    });
    let text = manifest.to_json();
    let mut random = SplitMix64::new(37);
    let mut found = 0;
    for _ in 0..300 {
        let bit = (random.next_u64() % (text.len() as u64 * 8)) as usize;
        let mut flipped = text.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        if report(dir.path(), Level::Quick).whole {
            assert_eq!(Manifest::from_json(&flipped).unwrap(), manifest, "bit {bit}");
        } else {
            found += 1;
        }
    }
    assert!(found > 250, "{found}");
}

#[test]
fn readers_that_are_not_looked_for_in_a_store_are_named() {
    let options = Options { profiles: vec![Profile::ALL[0]], ..options(Level::Full) };
    let text = report::unchecked::profiles(&["s3://bucket/set".into()], &options).unwrap().text();
    assert!(text.contains("s3://bucket/set") && text.contains(Profile::ALL[0].word()), "{text}");
    assert_eq!(report::unchecked::profiles(&[], &options), None);
}
