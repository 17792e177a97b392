//! Index files for the tars of other programs, compared with what Python's tarfile says of these tars.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tarflume_base::{Exit, ProblemKind, Stop};
use tarflume_export::foreign_index::{ForeignFiles, ForeignIndexOptions, IndexFormat, write};
use tarflume_fixtures::{GOLDEN, Golden};
use tarflume_formats::Reading;

use crate::verify::{Level, Options, verify};

const ALL: [IndexFormat; 5] = [
    IndexFormat::Dali,
    IndexFormat::Energon,
    IndexFormat::Wids,
    IndexFormat::Hfutils,
    IndexFormat::Hf,
];

fn options(formats: &[IndexFormat]) -> ForeignIndexOptions {
    ForeignIndexOptions {
        formats: formats.to_vec(),
        digests: true,
        force: false,
        jobs: 2,
        stop: Stop::new(),
    }
}

/// A folder with this tar as `a.tar`, its sidecar and the manifest.
fn folder(tar: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.tar"), tar).unwrap();
    indexed(dir.path());
    dir
}

fn indexed(folder: &Path) {
    let options = tarflume_shards::index::Options {
        reading: Reading::Headers,
        entry_points: false,
        force: true,
        accept_edits: false,
        allow_missing_end: false,
        splits: false,
        ignore_zeros: false,
        columns: tarflume_base::Columns::default(),
        jobs: 1,
        stop: Stop::new(),
        storage: Vec::new(),
    };
    let done = tarflume_shards::index::index(folder, &options, &|_| {}).unwrap();
    done.manifest.unwrap().unwrap();
}

fn written(folder: &Path, formats: &[IndexFormat]) -> ForeignFiles {
    write(folder, &options(formats), &|_| {}).unwrap()
}

/// A regular file of a golden tar: name, first header, data, size and SHA-256.
type File = (String, u64, u64, u64, String);

fn number(member: &Value, field: &str) -> u64 {
    member[field].as_u64().unwrap()
}

fn text(member: &Value, field: &str) -> String {
    member[field].as_str().unwrap().to_string()
}

fn members(golden: &Golden) -> Vec<File> {
    let list: Vec<Value> = serde_json::from_str(golden.members).unwrap();
    list.iter()
        .filter(|member| member["type"] == "file")
        .map(|m| {
            (
                text(m, "name"),
                number(m, "offset"),
                number(m, "offset_data"),
                number(m, "size"),
                text(m, "sha256"),
            )
        })
        .collect()
}

fn key(name: &str) -> &str {
    let base = name.rfind('/').map_or(0, |slash| slash + 1);
    &name[..base + name[base..].find('.').unwrap()]
}

#[test]
fn dalis_offsets_are_those_of_tarfile_for_every_kind_of_tar() {
    for golden in &GOLDEN {
        let dir = folder(golden.tar);
        written(dir.path(), &[IndexFormat::Dali]);
        let text = fs::read_to_string(dir.path().join("a.idx")).unwrap();
        let mut lines = text.lines();
        let count: usize = lines.next().unwrap().strip_prefix("v1.2 ").unwrap().parse().unwrap();
        let found: Vec<&str> = lines.flat_map(|line| line.split(' ')).collect();
        let wanted: Vec<String> = members(golden)
            .into_iter()
            .flat_map(|(name, _, data, size, _)| {
                let ext = name[key(&name).len() + 1..].to_string();
                [ext, data.to_string(), size.to_string(), name]
            })
            .collect();
        assert_eq!(found, wanted, "{}", golden.name);
        assert_eq!(text.lines().count(), count + 1);
    }
}

#[test]
fn energons_offsets_are_those_of_the_first_headers() {
    for golden in &GOLDEN {
        let dir = folder(golden.tar);
        written(dir.path(), &[IndexFormat::Energon]);
        let bytes = fs::read(dir.path().join("a.tar.idx")).unwrap();
        let found: Vec<u64> =
            bytes.chunks_exact(8).map(|of| u64::from_le_bytes(of.try_into().unwrap())).collect();
        let members = members(golden);
        let mut wanted: Vec<u64> = Vec::new();
        for (n, (name, first, ..)) in members.iter().enumerate() {
            if n == 0 || key(&members[n - 1].0) != key(name) {
                wanted.push(*first);
            }
        }
        let (_, _, data, size, _) = members.last().unwrap();
        wanted.push((data + size).next_multiple_of(512));
        assert_eq!(found, wanted, "{}", golden.name);
        let info = fs::read_to_string(dir.path().join(".nv-meta/.info.json")).unwrap();
        let info: Value = serde_json::from_str(&info).unwrap();
        assert_eq!(info["shard_counts"]["a.tar"], wanted.len() as u64 - 1);
    }
}

#[test]
fn hfutils_digests_are_those_of_the_files() {
    for golden in &GOLDEN {
        let dir = folder(golden.tar);
        written(dir.path(), &[IndexFormat::Hfutils]);
        let found: Value =
            serde_json::from_slice(&fs::read(dir.path().join("a.json")).unwrap()).unwrap();
        let files = found["files"].as_object().unwrap();
        let members = members(golden);
        assert_eq!(files.len(), members.len());
        for (name, _, data, size, sha256) in members {
            let file = &files[&name];
            assert_eq!(file["offset"], data, "{name}");
            assert_eq!(file["size"], size);
            assert_eq!(file["sha256"], sha256);
        }
        assert_eq!(found["filesize"], golden.tar.len() as u64);
    }
}

/// The tar of one file.
fn tar_of(names: &[&str]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for name in names {
        let mut header = tar::Header::new_ustar();
        header.set_size(1);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &b"x"[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn names_that_dali_cannot_read_are_left_out_or_refused() {
    let dir = folder(&tar_of(&["a b.jpg", "c.jpg"]));
    let made = written(dir.path(), &[IndexFormat::Dali]);
    assert_eq!(
        fs::read_to_string(dir.path().join("a.idx")).unwrap(),
        "v1.1 2\njpg 512 1\njpg 1536 1\n"
    );
    assert!(made.notes[0].text().contains("version 1.1"), "{:?}", made.notes);
    let dir = folder(&tar_of(&["a.jpg", "a.x y"]));
    let error = write(dir.path(), &options(&[IndexFormat::Dali]), &|_| {}).unwrap_err();
    assert!(error.text().contains("sample a: the extension `x y`"), "{error}");
    assert_eq!(error.exit(), Exit::BadData);
    // A file without extension is no part and does not divide a sample; wds2idx makes a sample `noex` of it.
    let dir = folder(&tar_of(&["a.jpg", "noext", "a.json"]));
    written(dir.path(), &[IndexFormat::Dali]);
    let text = fs::read_to_string(dir.path().join("a.idx")).unwrap();
    assert_eq!(text, "v1.2 1\njpg 512 1 a.jpg json 2560 1 a.json\n");
}

#[test]
fn a_shard_without_samples_has_no_index_of_dali_and_all_others() {
    let dir = folder(&tar_of(&["a.jpg"]));
    fs::write(dir.path().join("b.tar"), [0; 10_240]).unwrap();
    indexed(dir.path());
    let made = written(dir.path(), &ALL);
    assert!(
        made.notes.iter().any(|note| note.text().contains("b.idx was not written")),
        "{made:?}"
    );
    assert!(dir.path().join("a.idx").try_exists().unwrap());
    assert!(!dir.path().join("b.idx").try_exists().unwrap());
    for name in ["b.tar.idx", "b.json", "shardindex.json"] {
        assert!(dir.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_second_run_keeps_every_byte_and_other_files_stay() {
    let dir = folder(GOLDEN[0].tar);
    let made = written(dir.path(), &ALL);
    assert!(made.files.iter().all(|file| !file.kept), "{made:?}");
    let again = written(dir.path(), &ALL);
    assert!(again.files.iter().all(|file| file.kept), "{again:?}");
    for name in ["a.idx", "shardindex.json", ".nv-meta/index.sqlite", "README.md"] {
        fs::write(dir.path().join(name), "other").unwrap();
    }
    for format in [IndexFormat::Dali, IndexFormat::Wids, IndexFormat::Energon, IndexFormat::Hf] {
        let error = write(dir.path(), &options(&[format]), &|_| {}).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage, "{error}");
        assert!(error.text().contains("--force"), "{error}");
    }
    assert_eq!(fs::read(dir.path().join("a.idx")).unwrap(), b"other");
    let forced = ForeignIndexOptions { force: true, ..options(&ALL) };
    write(dir.path(), &forced, &|_| {}).unwrap();
    assert!(written(dir.path(), &ALL).files.iter().all(|file| file.kept));
}

#[test]
fn without_digests_only_headers_are_read() {
    let dir = folder(&tar_of(&["a.jpg"]));
    let formats = [IndexFormat::Wids, IndexFormat::Hfutils];
    write(dir.path(), &ForeignIndexOptions { digests: false, ..options(&formats) }, &|_| {})
        .unwrap();
    let text = fs::read_to_string(dir.path().join("a.json")).unwrap();
    assert_eq!(text, r#"{"filesize": 2048, "files": {"a.jpg": {"offset": 512, "size": 1}}}"#);
    let wids = fs::read_to_string(dir.path().join("shardindex.json")).unwrap();
    let wids: Value = serde_json::from_str(&wids).unwrap();
    let shard = serde_json::json!({"url": "a.tar", "nsamples": 1, "filesize": 2048});
    assert_eq!(wids["shardlist"], serde_json::json!([shard]));
    assert_eq!(found(dir.path()), Vec::<String>::new());
}

#[test]
fn energon_gets_no_index_with_a_key_twice() {
    let dir = folder(&tar_of(&["a.jpg", "b.jpg"]));
    fs::write(dir.path().join("b.tar"), tar_of(&["b.jpg", "c.jpg"])).unwrap();
    indexed(dir.path());
    let error = write(dir.path(), &options(&[IndexFormat::Energon]), &|_| {}).unwrap_err();
    assert!(error.text().contains("b.tar: the key b occurs before"), "{error}");
    assert!(!dir.path().join(".nv-meta/index.sqlite").exists());
}

#[test]
fn tars_with_one_name_of_an_index_are_refused() {
    let dir = folder(&tar_of(&["a.jpg"]));
    fs::write(dir.path().join("a.b.tar"), tar_of(&["b.jpg"])).unwrap();
    indexed(dir.path());
    let error = write(dir.path(), &options(&[IndexFormat::Dali]), &|_| {}).unwrap_err();
    assert!(error.text().contains("the same index, a.idx"), "{error}");
    written(dir.path(), &[IndexFormat::Energon, IndexFormat::Hfutils]);
}

/// The problems of the index files in a folder.
fn found(folder: &Path) -> Vec<String> {
    let options = Options { require: Some(Vec::new()), jobs: 2, ..Options::new(Level::Decode) };
    let report = verify(&[folder.to_path_buf()], &options, &|_| {}).unwrap();
    let foreign = report.problems.iter().filter(|p| p.kind == ProblemKind::ForeignIndex);
    foreign.map(|problem| problem.to_string()).collect()
}

#[test]
fn our_own_index_files_are_no_problem() {
    for golden in &GOLDEN {
        let dir = folder(golden.tar);
        written(dir.path(), &ALL);
        assert_eq!(found(dir.path()), Vec::<String>::new(), "{}", golden.name);
    }
}

/// The index of a golden tar with the offset of each part changed as `rule` says.
fn dali_by(golden: &Golden, rule: &dyn Fn(usize, &[File]) -> u64) -> String {
    let dir = folder(golden.tar);
    written(dir.path(), &[IndexFormat::Dali]);
    let path = dir.path().join("a.idx");
    let mut text = fs::read_to_string(&path).unwrap();
    let members = members(golden);
    for (n, (name, _, data, size, _)) in members.iter().enumerate() {
        let right = format!(" {data} {size} {name}");
        assert!(text.contains(&right));
        text = text.replace(&right, &format!(" {} {size} {name}", rule(n, &members)));
    }
    fs::write(&path, text).unwrap();
    found(dir.path()).join("\n")
}

fn golden(name: &str) -> &'static Golden {
    GOLDEN.iter().find(|golden| golden.name == name).unwrap()
}

#[test]
fn the_two_wrong_rules_of_wds2idx_are_named() {
    // The block of the member's first header, plus one: early where a long name precedes it.
    let since_2022 = dali_by(golden("gnutar-gnu"), &|n, members| members[n].1 + 512);
    assert!(since_2022.contains("GNU long names 1024 bytes early"), "{since_2022}");
    // The block of the next header, less the size: late where a pax header precedes that.
    let before = dali_by(golden("webdataset"), &|n, members| match members.get(n + 1) {
        Some(next) => (next.2 - 512).saturating_sub(members[n].3) / 512 * 512,
        None => members[n].2,
    });
    assert!(before.contains("where the next file has a pax header"), "{before}");
    let other =
        dali_by(golden("python-ustar"), &|n, members| members[n].2 + 512 * u64::from(n == 3));
    assert!(other.contains("its data begins at byte"), "{other}");
    assert!(!other.contains("wds2idx"), "{other}");
}

#[test]
fn every_changed_number_of_an_index_is_found() {
    let dir = folder(&tar_of(&["a.jpg", "a.txt", "b.jpg"]));
    written(dir.path(), &ALL);
    let path = |name: &str| dir.path().join(name);
    for name in ["a.idx", "a.json", "shardindex.json", ".nv-meta/.info.json"] {
        let whole = fs::read_to_string(path(name)).unwrap();
        let digits = whole.char_indices().filter(|(_, letter)| letter.is_ascii_digit());
        for (at, digit) in digits {
            let mut other = whole.clone();
            let next = char::from_digit((digit.to_digit(10).unwrap() + 1) % 10, 10).unwrap();
            other.replace_range(at..at + 1, &next.to_string());
            // Versions, the name of the folder, and the MD5 of wids are not compared.
            let begin = whole[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let line = whole[begin..].split('\n').next().unwrap();
            let is_field = whole[..at].rsplit('"').next().unwrap().starts_with("sha");
            let skipped = ["version", "md5sum", "wids-shard-index-v", "\"name\""];
            if is_field || skipped.iter().any(|word| line.contains(word)) {
                continue;
            }
            fs::write(path(name), &other).unwrap();
            assert_eq!(found(dir.path()).len(), 1, "{name}, byte {at}: {other}");
        }
        fs::write(path(name), whole).unwrap();
    }
    let whole = fs::read(path("a.tar.idx")).unwrap();
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1;
        fs::write(path("a.tar.idx"), &other).unwrap();
        assert_eq!(found(dir.path()).len(), 1, "byte {at}");
        fs::write(path("a.tar.idx"), &whole[..at]).unwrap();
        assert_eq!(found(dir.path()).len(), 1, "cut at {at}");
    }
}
