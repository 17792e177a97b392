//! Data sets written sample by sample: what is published, what is refused, what remains.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

mod odd_inputs;

use std::fs;

use tarflume_base::Exit;
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_scan::names::rules::NameRules;
use tarflume_verify::Level;

use tarflume_formats::Durability;

use super::*;

fn small() -> Options {
    Options { shard_samples: Some(3), durability: Durability::Cached, ..Options::default() }
}

fn photo(n: u64) -> Vec<u8> {
    Photo::tiny(PhotoKind::ALL[0]).encode(n).unwrap()
}

fn write(writer: &mut DatasetWriter, key: &str) -> Result<(), Rejected> {
    let jpeg = photo(key.len() as u64);
    writer.write(key.as_bytes(), &[(b"json", b"{}"), (b"JPG", &jpeg)])
}

fn refused(result: Result<(), Rejected>) -> Problem {
    match result {
        Err(Rejected::Problem(problem)) => *problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_written_file_is_complete_and_appears_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = DatasetWriter::create(dir.path(), small()).unwrap();
    for n in 0..8 {
        write(&mut writer, &format!("cats/{n:03}")).unwrap();
    }
    let visible = || {
        let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|name| !name.to_string_lossy().starts_with('.')).count()
    };
    assert_eq!(visible(), 0);
    let manifest = writer.finish().unwrap();
    let samples: Vec<_> = manifest.shards.iter().map(|shard| shard.samples).collect();
    assert_eq!((manifest.samples, samples), (8, vec![3, 3, 2]));
    assert_eq!(visible(), 7);
    assert!(!dir.path().join(".pack").exists());
    let report = verified(dir.path(), Level::Decode);
    assert!(report.whole, "{report}");
    let again = DatasetWriter::create(dir.path(), small()).unwrap_err();
    assert!(again.text().contains("holds a data set already") && again.exit() == Exit::Usage);
}

fn verified(folder: &Path, level: Level) -> tarflume_verify::Report {
    let options = tarflume_verify::Options { jobs: 1, ..tarflume_verify::Options::new(level) };
    tarflume_verify::verify(&[folder.to_path_buf()], &options, &|_| {}).unwrap()
}

#[test]
fn faulty_samples_are_named_and_leave_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = DatasetWriter::create(dir.path(), small()).unwrap();
    write(&mut writer, "a").unwrap();
    for (key, kind) in [
        ("a", ProblemKind::RepeatedKey),
        ("A", ProblemKind::CaseCollision),
        ("b.c", ProblemKind::BadName),
        ("../b", ProblemKind::BadName),
        ("/b", ProblemKind::BadName),
        ("", ProblemKind::BadName),
        ("b c", ProblemKind::BadName),
        (".b", ProblemKind::BadName),
        ("__b", ProblemKind::BadName),
        ("é", ProblemKind::BadName),
        (&"b".repeat(98), ProblemKind::BadName),
    ] {
        assert_eq!(refused(write(&mut writer, key)).kind, kind, "{key}");
    }
    let jpeg = photo(1);
    type Parts<'a> = &'a [(&'a [u8], &'a [u8])];
    let parts: [(Parts<'_>, ProblemKind); 6] = [
        (&[], ProblemKind::MissingPart),
        (&[(b"txt", b"")], ProblemKind::Empty),
        (&[(b"json", b"[1]")], ProblemKind::BadJson),
        (&[(b"jpg", &jpeg[..jpeg.len() - 9]), (b"txt", b"x")], ProblemKind::BadJpeg),
        (&[(b"TXT", b"x"), (b"txt", b"x")], ProblemKind::RepeatedPart),
        (&[(b"t/t", b"x")], ProblemKind::BadName),
    ];
    for (parts, kind) in parts {
        assert_eq!(refused(writer.write(b"b", parts)).kind, kind);
    }
    write(&mut writer, "b").unwrap();
    let manifest = writer.finish().unwrap();
    assert_eq!((manifest.samples, manifest.extensions["jpg"]), (2, 2));
}

#[test]
fn an_abandoned_writer_publishes_nothing_and_can_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = DatasetWriter::create(dir.path(), small()).unwrap();
    for n in 0..4 {
        write(&mut writer, &n.to_string()).unwrap();
    }
    let left = writer.abandon().unwrap();
    assert_eq!((left.shards, left.samples), (1, 3));
    assert!(left.folder.join("shard-000000.index").exists());
    assert!(!dir.path().join("dataset.json").exists());
    let refused = DatasetWriter::create(dir.path(), small()).unwrap_err();
    assert!(refused.text().contains("unfinished"), "{refused}");
    let mut writer = DatasetWriter::create(dir.path(), Options { fresh: true, ..small() }).unwrap();
    write(&mut writer, "0").unwrap();
    assert_eq!(writer.finish().unwrap().samples, 1);
}

#[test]
fn finishing_an_empty_writer_is_a_usage_error_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let writer = DatasetWriter::create(dir.path(), small()).unwrap();
    assert_eq!(writer.finish().unwrap_err().exit(), Exit::Usage);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn allowed_case_twins_are_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let names = NameRules::parse("case=allow").unwrap();
    let mut writer = DatasetWriter::create(dir.path(), Options { names, ..small() }).unwrap();
    write(&mut writer, "ab").unwrap();
    write(&mut writer, "aB").unwrap();
    assert_eq!(refused(write(&mut writer, "aB")).kind, ProblemKind::RepeatedKey);
    assert_eq!(refused(write(&mut writer, "ab")).kind, ProblemKind::RepeatedKey);
    write(&mut writer, "AB").unwrap();
    assert_eq!(writer.finish().unwrap().samples, 3);
}

#[test]
fn a_shard_that_is_lost_is_never_left_out_in_silence() {
    let out = tempfile::tempdir().unwrap();
    let options = Options { shard_samples: Some(1), ..small() };
    let mut writer = DatasetWriter::create(out.path(), options).unwrap();
    let mut write = |n: u8| writer.write(&[b'a' + n], &[(b"txt", b"text")]);
    write(0).unwrap();
    // The name of the first shard is taken, so it cannot be published.
    let shards = tarflume_shards::workdir::staging::Staging::of(out.path()).shards();
    fs::create_dir(shards.join("shard-000000.tar")).unwrap();
    write(1).unwrap();
    assert!(matches!(write(2), Err(Rejected::Failure(_))), "the first shard is lost");
    let Err(Rejected::Failure(again)) = write(3) else {
        panic!("it goes on without the first shard")
    };
    assert!(again.text().contains("are lost, so nothing can be published"), "{}", again.text());
    let refused = writer.finish().unwrap_err();
    assert!(
        refused.text().contains("write the data set again, with `fresh` set to true"),
        "{}",
        refused.text()
    );
    assert!(!out.path().join("dataset.json").exists());
}

#[test]
fn values_of_typed_columns_are_in_the_sidecars_and_bad_ones_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let columns = tarflume_base::Columns::parse("class:u8,cap=txt:str").unwrap();
    let options = Options { columns, ..small() };
    let [one, two, both] = ["one", "two", "both"].map(|name| dir.path().join(name));
    for (folder, first) in [(&one, 0), (&two, 5)] {
        let mut writer = DatasetWriter::create(folder, options.clone()).unwrap();
        for n in first..first + 5 {
            let json = format!("{{\"class\": {n}}}");
            let parts: [(&[u8], &[u8]); 2] = [(b"json", json.as_bytes()), (b"txt", b"a cat")];
            let parts = if n == 3 { &parts[1..] } else { &parts[..] };
            writer.write(n.to_string().as_bytes(), parts).unwrap();
        }
        let problem = refused(writer.write(b"bad", &[(b"json", b"{\"class\": 256}")]));
        assert_eq!(problem.kind, ProblemKind::Schema);
        assert!(problem.reason.text().contains("column 'class': 256"), "{:?}", problem.reason);
        assert_eq!(
            writer.finish().unwrap().sidecar_columns,
            ["class=json:/class:u8", "cap=txt:str"]
        );
    }
    let merged = merge(&both, &[one, two], "all").unwrap();
    assert_eq!(merged.sidecar_columns, ["class=json:/class:u8", "cap=txt:str"]);
    let mut found = Vec::new();
    let mut text = Vec::new();
    for shard in &merged.shards {
        let index =
            tarflume_formats::Index::open(tarflume_formats::index_path(both.join(&shard.name)))
                .unwrap();
        for row in 0..index.samples() {
            for column in 0..2 {
                let value = index.value(column, row, &mut text).unwrap();
                found.push(value.map(|value| value.to_string()));
            }
        }
    }
    let expected =
        (0..10).flat_map(|n| [(n != 3).then(|| n.to_string()), Some("\"a cat\"".into())]);
    assert_eq!(found, expected.collect::<Vec<_>>());
}
