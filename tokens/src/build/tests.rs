//! Whole builds: what is tokenized again, what is written, what a killed run leaves.

mod texts;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tarflume_base::Exit;
use tarflume_formats::Dataset;
use tarflume_formats::Durability;
use tarflume_formats::files;

use super::*;
use crate::condition::Condition;
use crate::encoding::encoder::{Encode, Specials};
use crate::encoding::ids::Ids;
use crate::packing::Packing;
use crate::sample::Width;
use crate::source::{Reading, list};

/// A tokenizer of bytes that counts what it reads.
#[derive(Default)]
struct ByteEncoder {
    bytes: AtomicU64,
    /// Fails at this document.
    fails_at: Option<usize>,
    documents: AtomicUsize,
    fingerprint: u8,
}

impl Encode for ByteEncoder {
    fn fingerprint(&self) -> [u8; 32] {
        [self.fingerprint; 32]
    }

    fn vocabulary(&self) -> Option<u64> {
        Some(258)
    }

    fn token(&self, text: &str) -> Option<u32> {
        (text == "<end>").then_some(257)
    }

    fn specials(&self) -> Specials {
        let texts = [(u32::from(b'#'), "#".to_string())].into();
        Specials { before: Vec::new(), after: Vec::new(), texts }
    }

    fn encode(&self, texts: &[&str], into: &mut Ids) -> Result<(), Failure> {
        for text in texts {
            let number = self.documents.fetch_add(1, Ordering::Relaxed);
            if self.fails_at.is_some_and(|at| number >= at) {
                return Err(Failure::try_again("the tokenizer was stopped"));
            }
            self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
            into.push(text.bytes().map(u32::from));
        }
        Ok(())
    }
}

/// Writes a JSONL file of documents of different lengths.
fn corpus(path: &Path, documents: std::ops::Range<usize>) {
    let lines: String = documents
        .map(|n| format!("{{\"text\": \"{n} {}\"}}\n", "word ".repeat(n * 7919 % 40)))
        .collect();
    fs::write(path, lines).unwrap();
}

struct Place(tempfile::TempDir);

impl Place {
    fn new(documents: usize) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        corpus(&place.0.path().join("a.jsonl"), 0..documents);
        place
    }

    fn request(&self, encoder: Arc<ByteEncoder>, out: &str) -> Request {
        let sources = list(&[self.0.path().join("a.jsonl")], &Reading::default()).unwrap();
        let input = Input::Text(sources, encoder);
        Request {
            unit: 4096,
            jobs: 2,
            cache: Some(self.0.path().join("cache")),
            durability: Durability::Cached,
            shard_size: 100_000,
            ..Request::new(input, self.0.path().join(out), 256)
        }
    }

    fn files(&self, out: &str) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.0.path().join(out))
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| {
                (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

fn run(request: &Request) -> Result<Built, Failure> {
    build(request, &Counter::default())
}

/// Returns the documents in the samples of a data set, with their names.
fn documents(out: &Path) -> Vec<(String, Vec<u32>)> {
    let set = Dataset::open(out).unwrap();
    let mut all = Vec::new();
    for shard in &set.manifest().shards {
        let tar = fs::read(out.join(&shard.name)).unwrap();
        let index =
            tarflume_formats::Index::open(out.join(&shard.name).with_extension("index")).unwrap();
        for row in 0..index.samples() {
            let sample = index.sample(row).unwrap().unwrap();
            let [json, ids, begins] = ["json", "ids.npy", "cu_seqlens.npy"].map(|ext| {
                let part = sample.part(ext.as_bytes()).unwrap().unwrap();
                &tar[part.offset as usize..(part.offset + part.length) as usize]
            });
            let json: serde_json::Value = serde_json::from_slice(json).unwrap();
            let names = json["documents"].as_array().unwrap();
            let ids = crate::sample::documents(ids, begins).unwrap();
            assert_eq!(names.len(), ids.len());
            assert_eq!(
                json["tokens"].as_u64().unwrap() as usize,
                ids.iter().map(Vec::len).sum::<usize>()
            );
            all.extend(names.iter().map(|name| name.as_str().unwrap().to_string()).zip(ids));
        }
    }
    all
}

#[test]
fn a_rerun_and_another_length_tokenize_nothing_and_growth_only_what_is_new() {
    let place = Place::new(2000);
    let first = run(&place.request(Arc::default(), "one")).unwrap().report;
    assert_eq!((first.documents, first.tokenized_bytes), (2000, first.text_bytes));
    let again = Arc::new(ByteEncoder::default());
    let built = run(&place.request(again.clone(), "one")).unwrap().report;
    assert!(built.published_before && built.tokenized_units == 0);
    let longer =
        Request { length: 512, packing: Packing::Concat, ..place.request(again.clone(), "two") };
    assert_eq!(run(&longer).unwrap().report.tokenized_units, 0);
    assert_eq!(again.bytes.load(Ordering::Relaxed), 0);
    corpus(&place.0.path().join("a.jsonl"), 0..2020);
    let grown = run(&place.request(again.clone(), "three")).unwrap().report;
    let share = grown.tokenized_bytes as f64 / grown.text_bytes as f64;
    assert!(grown.documents == 2020 && share > 0.0 && share < 0.04, "{share}");
    assert_eq!(again.bytes.load(Ordering::Relaxed), grown.tokenized_bytes);
    let other = Arc::new(ByteEncoder { fingerprint: 1, ..ByteEncoder::default() });
    assert_eq!(run(&place.request(other, "four")).unwrap().report.tokenized_units, grown.units);
}

#[test]
fn every_document_is_packed_once_with_its_end() {
    let place = Place::new(300);
    for (out, packing) in [("bfd", Packing::BestFit), ("concat", Packing::Concat)] {
        let request = Request {
            packing,
            eos: Some(Special::Text("<end>".into())),
            condition: Some(Condition::parse("len(ids) >= 10").unwrap()),
            ..place.request(Arc::default(), out)
        };
        let built = run(&request).unwrap();
        let report = &built.report;
        assert_eq!((report.dtype.as_str(), report.pad), ("uint16", 257));
        assert!(report.fill() > 0.95 && report.filtered > 0, "{report:?}");
        let mut found = documents(&request.out);
        found.sort_by_key(|(name, _)| -> (u64, u64) {
            let number = name.strip_prefix("a.jsonl#").unwrap();
            let (number, from) = number.split_once('+').unwrap_or((number, "0"));
            (number.parse().unwrap(), from.parse().unwrap())
        });
        let texts = (0..300).map(|n| format!("{n} {}", "word ".repeat(n * 7919 % 40)));
        let kept: Vec<String> = texts.filter(|text| text.len() >= 10).collect();
        let expected: Vec<u32> =
            kept.iter().flat_map(|text| text.bytes().map(u32::from).chain([257])).collect();
        assert_eq!(found.iter().flat_map(|(_, ids)| ids.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(report.tokens, expected.len() as u64);
        assert_eq!(report.documents - report.filtered, kept.len() as u64);
    }
}

#[test]
fn megatron_files_of_one_name_give_names_of_their_own() {
    let place = Place::new(1);
    let prefixes = ["x/ids", "y/ids"].map(|name| place.0.path().join(name));
    for prefix in &prefixes {
        fs::create_dir(prefix.parent().unwrap()).unwrap();
        let mut writer =
            crate::megatron::Writer::create(prefix, crate::megatron::IdType::U16).unwrap();
        writer.sequence(&[1, 2]).unwrap();
        writer.end_document();
        writer.finish().unwrap();
    }
    let input = Input::Megatron(prefixes.to_vec());
    let request = Request {
        durability: Durability::Cached,
        ..Request::new(input, place.0.path().join("out"), 8)
    };
    run(&request).unwrap();
    let names: Vec<String> = documents(&request.out).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["x/ids#0", "y/ids#0"]);
}

#[test]
fn a_run_that_ends_early_is_repeated_with_the_same_bytes() {
    let place = Place::new(600);
    run(&Request { cache: None, ..place.request(Arc::default(), "whole") }).unwrap();
    for fails_at in [0, 50, 599] {
        let out = format!("cut{fails_at}");
        let failing = Arc::new(ByteEncoder { fails_at: Some(fails_at), ..ByteEncoder::default() });
        let request = Request { cache: None, ..place.request(failing, &out) };
        assert_eq!(run(&request).unwrap_err().exit(), Exit::TryAgain);
        assert!(place.files(&out).is_empty());
        let request = Request { cache: None, ..place.request(Arc::default(), &out) };
        run(&request).unwrap();
        assert_eq!(place.files(&out), place.files("whole"));
    }
}

#[test]
fn what_a_killed_run_left_is_discarded_also_when_it_was_publishing() {
    let place = Place::new(600);
    let request = place.request(Arc::default(), "out");
    run(&request).unwrap();
    let whole = place.files("out");
    // As if it was killed before the manifest: shards are in place, records in the working folder.
    let out = &request.out;
    fs::remove_file(out.join("dataset.json")).unwrap();
    fs::create_dir_all(out.join(".pack/shards")).unwrap();
    for (name, bytes) in whole.iter().filter(|(name, _)| name.ends_with(".tar")) {
        let index = fs::read(out.join(name).with_extension("index")).unwrap();
        let record = serde_json::json!({"plan": "written without a plan", "shard": 0, "extensions": {},
            "problems": [], "entry": {"name": name, "samples": 1, "bytes": bytes.len(),
            "blake3": blake3::hash(bytes).to_hex().to_string(), "index_bytes": index.len(),
            "index_blake3": blake3::hash(&index).to_hex().to_string()}});
        fs::write(out.join(format!(".pack/shards/{name}.record")), record.to_string()).unwrap();
    }
    run(&request).unwrap();
    assert_eq!(place.files("out"), whole);
    assert!(!files::exists(&out.join(".pack")).unwrap());
}

#[test]
fn damaged_cache_files_are_made_again() {
    let place = Place::new(300);
    run(&place.request(Arc::default(), "one")).unwrap();
    let mut damaged = 0;
    for folder in fs::read_dir(place.0.path().join("cache")).unwrap().map(Result::unwrap) {
        for file in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let mut bytes = fs::read(file.path()).unwrap();
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(file.path(), bytes).unwrap();
            damaged += 1;
        }
    }
    let report = run(&place.request(Arc::default(), "two")).unwrap().report;
    assert_eq!((report.tokenized_units, report.units), (damaged, damaged));
    assert_eq!(place.files("one"), place.files("two"));
}

#[test]
fn another_data_set_in_the_folder_is_left_alone() {
    let place = Place::new(50);
    let request = place.request(Arc::default(), "out");
    run(&request).unwrap();
    let error = run(&Request { length: 99, ..request.clone() }).unwrap_err();
    assert!(
        error.exit() == Exit::Usage && error.text().contains("holds another data set"),
        "{error}"
    );
    fs::remove_dir_all(request.out.join(".tokens")).unwrap();
    assert!(run(&request).unwrap_err().text().contains("holds another data set"));
    let other = place.request(Arc::default(), "other");
    fs::create_dir_all(other.out.join(".pack/shards")).unwrap();
    fs::write(other.out.join(".pack/shards/x.tar"), "x").unwrap();
    assert!(run(&other).unwrap_err().text().contains("another command"));
    run(&Request { fresh: true, ..other }).unwrap();
}

#[test]
fn a_build_without_a_result_leaves_no_folder() {
    let place = Place::new(5);
    let damaged = place.0.path().join("b.jsonl");
    fs::write(&damaged, "{\"other\": 1}\n").unwrap();
    let request = |out: &str| {
        let sources = list(std::slice::from_ref(&damaged), &Reading::default()).unwrap();
        let input = Input::Text(sources, Arc::new(ByteEncoder::default()));
        Request { input, cache: None, ..place.request(Arc::default(), out) }
    };
    let exists = |path: &str| files::exists(&place.0.path().join(path)).unwrap();
    assert_eq!(run(&request("new/deep")).unwrap_err().exit(), Exit::BadData);
    assert!(!exists("new"));
    // A folder of the user stays.
    fs::create_dir(place.0.path().join("mine")).unwrap();
    run(&request("mine/deep")).unwrap_err();
    assert!(exists("mine") && !exists("mine/deep"));
    run(&request("mine")).unwrap_err();
    assert!(exists("mine"));
    // So do ids that an earlier run has cached.
    let ids = place.0.path().join("cached/.tokens/cache");
    fs::create_dir_all(&ids).unwrap();
    fs::write(ids.join("ids"), "1 2 3").unwrap();
    run(&request("cached")).unwrap_err();
    assert!(exists("cached/.tokens/cache/ids"));
}

#[test]
fn impossible_requests_are_refused_with_the_option() {
    fn special(text: &str) -> Option<Special> {
        Some(Special::parse(text))
    }

    let place = Place::new(5);
    let usual = place.request(Arc::default(), "out");
    for (request, text) in [
        (Request { length: 0, ..usual.clone() }, "--length 0"),
        (Request { window: 0, ..usual.clone() }, "--window 0"),
        (Request { eos: special("<none>"), ..usual.clone() }, "--eos '<none>'"),
        (
            Request {
                pad: special("70000"),
                vocabulary: Some(70_001),
                width: Some(Width::U16),
                ..usual.clone()
            },
            "--dtype uint16",
        ),
        (Request { eos: special("258"), ..usual.clone() }, "--eos 258: the tokenizer has 258 ids"),
        (Request { pad: special("258"), ..usual.clone() }, "--pad 258: the tokenizer has 258 ids"),
        (
            Request { eos: special("99"), vocabulary: Some(99), ..usual.clone() },
            "--eos 99: --vocabulary has 99 ids",
        ),
        (Request { vocabulary: Some(99), ..usual.clone() }, "the tokenizer gave the id 1"),
        (
            Request {
                condition: Some(Condition::parse("len(ids) > 9999").unwrap()),
                ..usual.clone()
            },
            "5 left out by --where",
        ),
    ] {
        let error = run(&request).unwrap_err();
        assert!(error.exit() == Exit::Usage && error.text().contains(text), "{error}");
    }
    let wide = Request { pad: special("70000"), vocabulary: Some(70_001), ..usual };
    let wide = run(&wide).unwrap().report;
    assert_eq!((wide.dtype.as_str(), wide.pad), ("uint32", 70_000));
}

#[test]
fn megatron_files_are_packed_without_a_tokenizer() {
    let place = Place::new(1);
    let prefix = place.0.path().join("ids");
    let mut writer =
        crate::megatron::Writer::create(&prefix, crate::megatron::IdType::U16).unwrap();
    for n in 1..=50u32 {
        writer.sequence(&(0..n).collect::<Vec<_>>()).unwrap();
        writer.sequence(&[1000 + n]).unwrap();
        writer.end_document();
    }
    writer.finish().unwrap();
    let input = Input::Megatron(vec![prefix]);
    let request = Request {
        durability: Durability::Cached,
        ..Request::new(input, place.0.path().join("out"), 64)
    };
    let report = run(&request).unwrap().report;
    assert_eq!(
        (report.documents, report.tokens, report.dtype.as_str()),
        (50, 50 * 51 / 2 + 50, "uint16")
    );
    let mut found = documents(&request.out);
    found.sort_by_key(|(_, ids)| ids.len());
    for (n, (name, ids)) in (1u32..).zip(&found) {
        assert_eq!(*name, format!("ids#{}", n - 1));
        assert_eq!(*ids, (0..n).chain([1000 + n]).collect::<Vec<_>>());
    }
    assert!(run(&request).unwrap().report.published_before);
}
