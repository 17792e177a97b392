//! The place of a failure is data: path, byte and key are fields, and the text begins with them or names them.
//!
//! A separate test binary, because it uses the crates of the packer and not their commands.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::{Exit, Failure, Stop};
use tarflume_export::{ExportOptions, Format, export, unpack::unpack};
use tarflume_formats::Place;
use tarflume_inspect::dedupe::{self, dedupe};
use tarflume_packer::build::BuildOptions;
use tarflume_packer::session::{Build, Finalized, Planned, StoreOutcome};
use tarflume_packer::sync::{self, sync};
use tarflume_packer::writer::{DatasetWriter, Options as WriterOptions};
use tarflume_shards::index::{self, index};
use tarflume_shards::listing;
use tarflume_tokens::export::to_megatron;
use tarflume_tokens::source::{Reading, list};
use tarflume_verify::schema::PartSchema;

/// The inputs of all failures.
struct Inputs {
    folder: tempfile::TempDir,
}

impl Inputs {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// A folder of samples, and the data set of them.
fn inputs() -> Inputs {
    let made = Inputs { folder: tempfile::tempdir().unwrap() };
    for n in 0..3 {
        made.file(&format!("samples/{n}.json"), b"{}");
    }
    let planned = plan(options(made.at("samples"), made.at("set"))).unwrap();
    let Planned::Ready(planned) = planned else { panic!("no plan") };
    let StoreOutcome::Ready(stored) = planned.store().unwrap() else { panic!("not stored") };
    let done = stored.run().unwrap().finalize().unwrap();
    assert!(matches!(done, Finalized::Published(_)));
    made
}

fn options(source: PathBuf, out: PathBuf) -> BuildOptions {
    let mut options = BuildOptions::new(vec![source], out);
    options.require = Some("json".into());
    options
}

fn plan(options: BuildOptions) -> Result<Planned, Failure> {
    Build::new(options.request()?).plan()
}

/// Plans the rows of a file as `KIND:FILE`.
fn rows(kind: &str, file: &Path) -> Result<Planned, Failure> {
    let source = format!("{kind}:{}", file.display());
    let out = file.with_extension("out");
    plan(BuildOptions::new(vec![source.into()], out))
}

/// What fails, and the place that it should have.
struct Case {
    failure: Failure,
    place: Place,
}

fn failed<T: Debug>(result: Result<T, Failure>, place: Place) -> Case {
    Case { failure: result.map(|done| format!("{done:?}")).unwrap_err(), place }
}

fn at_byte(path: &Path, byte: u64) -> Place {
    Place { path: Some(path.into()), byte: Some(byte), key: None }
}

fn builds(made: &Inputs) -> Vec<Case> {
    let set = made.at("set");
    let other = made.file("other/a.json", b"{}");
    let inner = made.at("samples/inner");
    let absent = made.at("absent");
    let copying = sync::Options { jobs: 1, force: false, stop: Stop::new(), storage: Vec::new() };
    let mut listed = options(made.at("samples"), made.at("of-list"));
    listed.files = vec![made.file("list.txt", b"../a.json\n")];
    vec![
        failed(plan(options(made.at("other"), set.clone())), Place::file(&set)),
        failed(plan(options(made.at("samples"), inner.clone())), Place::file(&inner)),
        failed(plan(options(absent.clone(), made.at("out"))), Place::file(&absent)),
        failed(plan(options(other.clone(), made.at("out"))), Place::file(&other)),
        failed(plan(listed), Place::file(made.at("list.txt"))),
        failed(DatasetWriter::create(&set, WriterOptions::default()), Place::file(&set)),
        failed(
            sync(&absent, &made.at("copy"), &copying, &|_| ()),
            Place::file(absent.join("dataset.json")),
        ),
    ]
}

fn sources(made: &Inputs) -> Vec<Case> {
    let wide = made.file("wide.csv", b"\xff\xfea\0,\0b\0");
    let short = made.file("short.tfrecord", b"short");
    let text = made.file("text.npy", b"this is no array");
    let unknown = made.file("words.csv", b"name,name\na,b\n");
    vec![
        failed(rows("csv", &wide), Place::file(&wide)),
        failed(rows("csv", &unknown), Place::file(&unknown)),
        failed(rows("tfrecord", &short), at_byte(&short, 0)),
        failed(rows("npy", &text), at_byte(&text, 0)),
        failed(tarflume_sources::arrays::find(&text, "x"), Place::file(&text)),
    ]
}

fn index_options() -> index::Options {
    index::Options {
        reading: tarflume_formats::Reading::Headers,
        entry_points: false,
        columns: Default::default(),
        splits: false,
        force: false,
        accept_edits: true,
        allow_missing_end: false,
        ignore_zeros: false,
        jobs: 1,
        stop: Stop::new(),
        storage: Vec::new(),
    }
}

fn shards(made: &Inputs) -> Vec<Case> {
    let tar = made.at("set/shard-000000.tar");
    let url = "s3://bucket/set";
    let schema = made.at("schema.json");
    let absent = made.at("absent");
    let searched = dedupe::Options { part: None, near: None, jobs: 1, stop: Stop::new() };
    vec![
        failed(index(&tar, &index_options(), &|_| ()), Place::file(&tar)),
        failed(index(Path::new(url), &index_options(), &|_| ()), Place::file(url)),
        failed(listing::open(Path::new(url)), Place::file(url)),
        failed(PartSchema::parse(schema.to_str().unwrap()), Place::file(&schema)),
        failed(
            dedupe(std::slice::from_ref(&absent), &searched, &mut |_| Ok(())),
            Place::file(&absent),
        ),
    ]
}

fn outputs(made: &Inputs) -> Vec<Case> {
    let listing = listing::open(&made.at("set")).unwrap();
    let table = made.file("table.csv", b"");
    let full = made.at("samples");
    let tar = made.at("set/shard-000000.tar");
    let of_sample = Place { path: Some(tar), byte: None, key: Some("0".into()) };
    vec![
        failed(
            export(&listing, &table, &ExportOptions::new(Format::Csv), &|_| ()),
            Place::file(&table),
        ),
        failed(unpack(&listing, &full, 1, &|_| ()), Place::file(&full)),
        failed(to_megatron(&listing, &made.at("ids"), &Stop::new(), &|_| ()), of_sample),
    ]
}

fn texts(made: &Inputs) -> Vec<Case> {
    let reading = Reading { field: "text".into(), part: "txt".into(), ..Reading::default() };
    let absent = made.at("absent");
    let picture = made.file("picture.jpg", b"");
    vec![
        failed(list(std::slice::from_ref(&absent), &reading), Place::file(&absent)),
        failed(list(std::slice::from_ref(&picture), &reading), Place::file(&picture)),
    ]
}

#[test]
fn the_place_of_a_failure_is_in_its_fields_and_in_its_text() {
    let made = inputs();
    let cases = [builds(&made), sources(&made), shards(&made), outputs(&made), texts(&made)];
    for Case { failure, place } in cases.into_iter().flatten() {
        assert_eq!(failure.place(), &place, "{failure:#?}");
        let path = place.path.unwrap().display().to_string();
        assert!(failure.text().contains(&path), "{failure}");
        assert!(matches!(failure.exit(), Exit::Usage | Exit::BadData), "{failure}");
        if let Some(byte) = place.byte {
            assert!(failure.text().contains(&format!("byte {byte}")), "{failure}");
        }
        if let Some(key) = place.key {
            assert!(failure.text().contains(&format!("key {key}")), "{failure}");
        }
    }
}

#[test]
fn other_paths_replace_those_of_place_and_text() {
    let made = inputs();
    let copy = made.at("set");
    made.file("other/a.json", b"{}");
    let failure = plan(options(made.at("other"), copy.clone())).map(drop).unwrap_err();
    let failure = failure.map_paths(|path| (path == copy).then(|| "s3://bucket/set".into()));
    assert_eq!(failure.place(), &Place::file("s3://bucket/set"));
    assert!(!failure.text().contains(copy.to_str().unwrap()), "{failure}");
}
