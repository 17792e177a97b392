//! Exports read back by naive readers of each format, hostile data, and what is left after a
//! failure. The libraries of the formats themselves read them in `python/tests`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tarflume_base::{Choice, Stop};
use tarflume_fixtures::TarBytes;
use tarflume_formats::Reading;
use tarflume_formats::crc32c;
use tarflume_shards::{index, listing};

use super::*;

mod hostile;

/// Samples as keys and parts.
type Samples = Vec<(Vec<u8>, BTreeMap<String, Vec<u8>>)>;

struct Set {
    dir: tempfile::TempDir,
}

impl Set {
    /// A data set with these members in its shards.
    fn of(shards: &[&[(&[u8], &[u8])]]) -> Set {
        let set = Set { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(set.dir.path().join("in")).unwrap();
        for (n, members) in shards.iter().enumerate() {
            let mut tar = TarBytes::new();
            for (name, data) in members.iter() {
                tar.member(name, data);
            }
            fs::write(set.dir.path().join(format!("in/{n}.tar")), tar.ended()).unwrap();
        }
        let options = index::Options {
            reading: Reading::Everything,
            entry_points: false,
            force: false,
            accept_edits: false,
            allow_missing_end: false,
            splits: false,
            ignore_zeros: false,
            columns: tarflume_base::Columns::default(),
            jobs: 1,
            stop: Stop::new(),
            storage: Vec::new(),
        };
        let done = index::index(&set.dir.path().join("in"), &options, &|_| {}).unwrap();
        done.manifest.unwrap().unwrap();
        set
    }

    /// 40 samples of three kinds of parts in three shards, some of them large.
    fn usual() -> Set {
        let mut shards: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new(); 3];
        for n in 0..40usize {
            let shard = &mut shards[n % 3];
            let length = if n == 20 { 5 << 20 } else { n * n * 700 };
            let image: Vec<u8> = (0..length).map(|i| (i * 7 + n) as u8).collect();
            let json = format!("{{\"n\": {n}, \"x\": {n}.5, \"tags\": [\"a\", \"b{n}\"]}}");
            shard.push((format!("d/{n:03}.jpg").into(), image));
            shard.push((format!("d/{n:03}.cls").into(), format!("{}\n", n % 7).into()));
            shard.push((format!("d/{n:03}.json").into(), json.into()));
        }
        let shards: Vec<Vec<(&[u8], &[u8])>> = shards
            .iter()
            .map(|shard| shard.iter().map(|(name, data)| (&name[..], &data[..])).collect())
            .collect();
        Set::of(&shards.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn export(&self, options: &ExportOptions) -> Result<Exported, Failure> {
        let listing = listing::open(&self.dir.path().join("in")).unwrap();
        export(&listing, &self.out(), options, &|_| {})
    }

    /// The error of an export that must leave nothing behind.
    fn refused(&self, options: &ExportOptions) -> String {
        let failure = self.export(options).unwrap_err();
        let there: Vec<_> =
            fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(there, ["in"], "{failure}");
        failure.text()
    }

    /// All samples, by the sidecars and the tars.
    fn samples(&self) -> Samples {
        let listing = listing::open(&self.dir.path().join("in")).unwrap();
        let mut samples = Samples::new();
        for shard in &listing.shards {
            let tar = fs::read(&shard.tar).unwrap();
            for sample in shard.index.iter() {
                let sample = sample.unwrap();
                let parts = sample.parts().map(|part| {
                    let part = part.unwrap();
                    let data = &tar[part.offset as usize..(part.offset + part.length) as usize];
                    (String::from_utf8(part.ext.to_vec()).unwrap(), data.to_vec())
                });
                samples.push((sample.key.to_vec(), parts.collect()));
            }
        }
        samples
    }

    /// The files of the export by name.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut todo = vec![self.out()];
        while let Some(folder) = todo.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if fs::metadata(&path).unwrap().is_dir() {
                    todo.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.out()).unwrap().to_str().unwrap().to_string();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
        files
    }
}

/// All formats of this build that take samples of any kind.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|format| *format != Format::Coco).filter(is_built)
}

fn is_built(format: &Format) -> bool {
    cfg!(feature = "tables") || !needs_tables(*format)
}

fn needs_tables(format: Format) -> bool {
    matches!(format, Format::Parquet | Format::Hf)
}

fn options(format: Format, size: u64) -> ExportOptions {
    ExportOptions { file_size: Some(size), jobs: 3, ..ExportOptions::new(format) }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Splits the records of a file with a u32 count and offsets.
fn records(file: &[u8]) -> Vec<&[u8]> {
    let at = |n: usize| u32_at(file, 4 + 4 * n);
    assert_eq!(at(u32_at(file, 0)), file.len(), "the last offset is the end");
    (0..u32_at(file, 0)).map(|n| &file[at(n)..at(n + 1)]).collect()
}

/// Splits a record into columns; those with a fixed size have it here.
fn columns(record: &[u8], fixed: &[Option<usize>]) -> Vec<Vec<u8>> {
    let heads = fixed.iter().filter(|size| size.is_none()).count();
    let mut head = 0;
    let mut at = 4 * heads;
    let mut columns = Vec::new();
    for size in fixed {
        let size = size.unwrap_or_else(|| {
            head += 4;
            u32_at(record, head - 4)
        });
        columns.push(record[at..at + size].to_vec());
        at += size;
    }
    assert_eq!(at, record.len());
    columns
}

#[test]
fn mds_shards_hold_every_sample_in_order() {
    let set = Set::usual();
    set.export(&options(Format::Mds, 300_000)).unwrap();
    let files = set.files();
    let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    let shards = index["shards"].as_array().unwrap();
    assert!(shards.len() > 5 && files.len() == shards.len() + 1, "{index}");
    let mut rows = Vec::new();
    for shard in shards {
        assert_eq!(shard["column_names"], serde_json::json!(["__key__", "cls", "jpg", "json"]));
        assert_eq!(shard["column_encodings"], serde_json::json!(["str", "int", "jpeg", "json"]));
        assert_eq!(shard["column_sizes"], serde_json::json!([null, 8, null, null]));
        let file = &files[shard["raw_data"]["basename"].as_str().unwrap()];
        assert_eq!(shard["raw_data"]["bytes"], file.len());
        let found = records(file);
        assert_eq!(shard["samples"], found.len());
        assert!(file.len() <= 300_000 || found.len() == 1, "{shard}");
        rows.extend(found.into_iter().map(|row| columns(row, &[None, Some(8), None, None])));
    }
    let want = set.samples().into_iter().map(|(key, parts)| {
        let class: i64 = String::from_utf8_lossy(&parts["cls"]).trim().parse().unwrap();
        vec![key, class.to_le_bytes().to_vec(), parts["jpg"].clone(), parts["json"].clone()]
    });
    assert!(rows == want.collect::<Vec<_>>());
}

#[test]
fn litdata_chunks_hold_every_sample_in_order() {
    let set = Set::usual();
    set.export(&options(Format::LitData, 300_000)).unwrap();
    let files = set.files();
    let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    assert_eq!(index["config"]["data_format"], serde_json::json!(["str", "int", "jpeg", "str"]));
    let mut rows = Vec::new();
    for (n, chunk) in index["chunks"].as_array().unwrap().iter().enumerate() {
        assert_eq!(chunk["filename"], format!("chunk-0-{n}.bin"));
        let file = &files[chunk["filename"].as_str().unwrap()];
        let found = records(file);
        assert_eq!(chunk["chunk_size"], found.len());
        assert_eq!(chunk["chunk_bytes"], file.len());
        rows.extend(found.into_iter().map(|item| columns(item, &[None; 4])));
    }
    let want = set.samples().into_iter().map(|(key, parts)| {
        let class: i64 = String::from_utf8_lossy(&parts["cls"]).trim().parse().unwrap();
        vec![key, class.to_le_bytes().to_vec(), parts["jpg"].clone(), parts["json"].clone()]
    });
    assert!(rows == want.collect::<Vec<_>>());
}

#[test]
fn records_of_tensorflow_have_right_checksums() {
    let set = Set::usual();
    set.export(&ExportOptions { json: Some(JsonAs::Text), ..options(Format::TfRecord, 1_000_000) })
        .unwrap();
    let samples = set.samples();
    let mut samples = samples.iter();
    let files = set.files();
    assert!(files.len() > 5);
    for (name, file) in &files {
        assert!(name.ends_with(&format!("-of-{:05}.tfrecord", files.len())), "{name}");
        let mut rest = &file[..];
        while !rest.is_empty() {
            let length = u32_at(rest, 0);
            let data = &rest[12..12 + length];
            let sum = u32_at(rest, 12 + length) as u32;
            assert_eq!(u32_at(rest, 8) as u32, values::example::masked(crc32c(&rest[..8])));
            assert_eq!(sum, values::example::masked(crc32c(data)));
            let (key, parts) = samples.next().unwrap();
            let holds = |bytes: &[u8]| data.windows(bytes.len().max(1)).any(|at| at == bytes);
            assert!(holds(key) && holds(&parts["json"]) && data.ends_with(&parts["json"]));
            rest = &rest[16 + length..];
        }
    }
    assert!(samples.next().is_none());
}

#[test]
fn a_folder_has_the_files_and_a_table() {
    let set = Set::usual();
    set.export(&ExportOptions { jobs: 2, ..ExportOptions::new(Format::Folder) }).unwrap();
    let mut files = set.files();
    let table = String::from_utf8(files.remove("metadata.jsonl").unwrap()).unwrap();
    let mut lines = table.lines();
    for (key, parts) in set.samples() {
        let key = String::from_utf8(key).unwrap();
        let line: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        let mut want: Value = serde_json::from_slice(&parts["json"]).unwrap();
        want["file_name"] = format!("{key}.jpg").into();
        assert_eq!(line, want);
        for ext in ["jpg", "cls"] {
            assert!(files.remove(&format!("{key}.{ext}")).unwrap() == parts[ext], "{key}.{ext}");
        }
    }
    assert!(lines.next().is_none() && files.is_empty());
}

#[test]
fn a_table_has_a_line_for_each_sample() {
    let set = Set::of(&[
        &[
            (b"a/1.jpg", b"12345"),
            (b"a/1.json", br#"{"t": "x,\"y\"", "n": 1, "o": {"f": 2}}"#),
            (b"a/2.jpg", b""),
        ],
        &[(b"b.json", br#"{"o": {"f": 0.5}, "l": [1, 2]}"#)],
    ]);
    set.export(&ExportOptions::new(Format::Csv)).unwrap();
    let want = "__key__,__shard__,__row__,__width__,__height__,__jpg_bytes__,__json_bytes__,l,n,o.f,t\n\
                a/1,0.tar,0,,,5,39,,1,2.0,\"x,\"\"y\"\"\"\n\
                a/2,0.tar,1,,,0,,,,,\n\
                b,1.tar,0,,,,30,\"[1,2]\",,0.5,\n";
    assert_eq!(fs::read_to_string(set.out()).unwrap(), want);
}

#[test]
fn threads_and_sidecars_change_no_byte() {
    let set = Set::usual();
    for format in [Format::Mds, Format::LitData, Format::TfRecord, Format::Folder] {
        let options = |jobs| {
            let size = (format != Format::Folder).then_some(500_000);
            ExportOptions { file_size: size, jobs, ..ExportOptions::new(format) }
        };
        set.export(&options(1)).unwrap();
        let one = set.files();
        fs::remove_dir_all(set.out()).unwrap();
        set.export(&options(5)).unwrap();
        assert!(one == set.files(), "{format:?}");
        fs::remove_dir_all(set.out()).unwrap();
    }
    let alone = set.dir.path().join("0.tar");
    fs::copy(set.dir.path().join("in/0.tar"), &alone).unwrap();
    let mut made = Vec::new();
    for tar in [alone, set.dir.path().join("in/0.tar")] {
        let listing = listing::open(&tar).unwrap();
        let done = export(&listing, &set.out(), &ExportOptions::new(Format::Mds), &|_| {}).unwrap();
        made.push((set.files(), done.samples));
        assert_eq!(done.unproved, u64::from(made.len() == 1), "a walked tar has no checksums");
        fs::remove_dir_all(set.out()).unwrap();
    }
    assert!(made[0] == made[1]);
}
