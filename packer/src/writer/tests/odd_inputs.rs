//! Whatever a writer takes passes the levels of `pack verify` that it promises, and what it refuses leaves no trace:
//! odd keys, damaged pictures, JSON of all kinds. Random, with fixed seeds.

use std::collections::BTreeSet;
use std::io::Cursor;

use image::{DynamicImage, ImageFormat};
use tarflume_base::compress::Compress;
use tarflume_base::{Columns, check_of, json_rules};
use tarflume_fixtures::SplitMix64;
use tarflume_formats::json::JsonRules;
use tarflume_formats::{Index, index_path};

use super::*;

const SEEDS: u64 = 12;
const SAMPLES: u64 = 40;
const EXTENSIONS: [&str; 9] =
    ["jpg", "JPEG", "png", "seg.png", "gif", "bmp", "txt", "bin", "meta.json"];
const TEXTS: [&str; 9] = [
    r#"{"class": 3}"#,
    r#"{"class": 300, "caption": "\u00e9"}"#,
    r#"{"class": -1}"#,
    r#"{"class": 4294967295, "x": NaN}"#,
    r#"{"caption": "cut \ud83d"}"#,
    r#"{"class": 1.0, "class": 2}"#,
    "[1]",
    "{",
    "",
];

struct Inputs {
    random: SplitMix64,
}

impl Inputs {
    fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn options(&mut self) -> Options {
        let names = self.one(&["", "nonascii=allow"]);
        let columns = self.one(&[None, Some("class:u32"), Some("class:i64,caption:str")]);
        Options {
            shard_samples: Some(1 + self.below(20) as u64),
            names: NameRules::parse(names).unwrap(),
            check: self.one(&[CheckLevel::None, CheckLevel::Structure, CheckLevel::Decode]),
            json: self.one(JsonRules::ALL),
            compress: self.one(&[None, Some(Compress::parse("zstd").unwrap())]),
            entry_points: self.below(4) > 0,
            columns: columns.map(|text| Columns::parse(text).unwrap()).unwrap_or_default(),
            ..small()
        }
    }

    fn key(&mut self, number: u64) -> String {
        let long = "x".repeat(self.below(130));
        let folders = ["", "a/", "a/b-c/", "déjà/", "with space/", "../", "/", "a//"];
        let words = ["", "Photo", "photo", "_", "__", ".", "写真", "tab\t", long.as_str()];
        // Keys repeat now and then, also in another case.
        if self.below(9) == 0 {
            return self.one(&["first", "First"]).into();
        }
        format!("{}{}{number}", self.one(&folders), self.one(&words))
    }

    /// A picture, of which every third is damaged.
    fn picture(&mut self) -> Vec<u8> {
        let width = 1 + self.below(90);
        let height = 1 + self.below(60);
        let mut bytes = match self.below(2) {
            0 => {
                let kind = self.one(&PhotoKind::ALL);
                let photo = Photo::new(width as u16, height as u16, kind);
                photo.encode(self.random.next_u64()).unwrap()
            }
            _ => {
                let format = self.one(&[ImageFormat::Png, ImageFormat::Gif, ImageFormat::Bmp]);
                let mut bytes = Cursor::new(Vec::new());
                let picture = DynamicImage::new_rgb8(width as u32, height as u32);
                picture.write_to(&mut bytes, format).unwrap();
                bytes.into_inner()
            }
        };
        let at = self.below(bytes.len());
        match self.below(9) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << self.below(8),
            2 => bytes.extend(b"notes of a camera"),
            _ => {}
        }
        bytes
    }

    fn parts(&mut self) -> Vec<(String, Vec<u8>)> {
        let mut parts = Vec::new();
        for _ in 0..self.below(4) {
            let ext = self.one(&EXTENSIONS);
            let bytes = match ext {
                "txt" => self.one(&TEXTS).into(),
                "bin" => vec![self.below(256) as u8; self.below(3000)],
                "meta.json" => self.one(&TEXTS).into(),
                _ => self.picture(),
            };
            parts.push((ext.to_string(), bytes));
        }
        if self.below(2) == 0 {
            parts.push(("json".into(), self.one(&TEXTS).into()));
        }
        parts
    }
}

/// The levels at which a writer with these options promises that no problem is found.
fn promised(options: &Options) -> Vec<Level> {
    let decodes = match options.check {
        CheckLevel::None => false,
        CheckLevel::Structure => options.entry_points,
        CheckLevel::Decode => true,
    };
    let levels = [Level::Quick, Level::Full, Level::Decode];
    levels[..if decodes { 3 } else { 2 }].to_vec()
}

fn keys_of(folder: &Path, manifest: &Manifest) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    for shard in &manifest.shards {
        let index = Index::open(index_path(folder.join(&shard.name))).unwrap();
        keys.extend((0..index.samples()).map(|row| index.key(row).unwrap().to_vec()));
    }
    keys
}

#[test]
fn what_a_writer_takes_passes_every_level_that_it_promises() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let mut inputs = Inputs { random: SplitMix64::new(seed) };
        let options = inputs.options();
        let dir = tempfile::tempdir().unwrap();
        let mut writer = DatasetWriter::create(dir.path(), options.clone()).unwrap();
        writer.write(b"first", &[(b"txt", b"a")]).unwrap();
        let mut taken = BTreeSet::from([b"first".to_vec()]);
        for number in 0..SAMPLES {
            let key = inputs.key(number);
            let parts = inputs.parts();
            let parts: Vec<(&[u8], &[u8])> =
                parts.iter().map(|(ext, bytes)| (ext.as_bytes(), &bytes[..])).collect();
            match writer.write(key.as_bytes(), &parts) {
                Ok(()) => assert!(taken.insert(key.clone().into_bytes()), "{seed}: {key}"),
                Err(Rejected::Problem(problem)) => drop(seen.insert(problem.kind)),
                Err(Rejected::Failure(failure)) => panic!("{seed}: {key}: {failure}"),
            }
        }
        let manifest = writer.finish().unwrap();
        assert_eq!(keys_of(dir.path(), &manifest), taken, "{seed}");
        assert_eq!(check_of(&manifest), Some(options.check));
        assert_eq!(json_rules::of_manifest(Some(&manifest)), options.json);
        for level in promised(&options) {
            let report = verified(dir.path(), level);
            assert!(report.whole, "seed {seed}, {options:?}: {report}");
        }
    }
    use ProblemKind::*;
    let kinds = [MissingPart, BadName, RepeatedPart, RepeatedKey, CaseCollision];
    for kind in kinds.into_iter().chain([Empty, BadJpeg, BadImage, BadJson, Schema]) {
        assert!(seen.contains(&kind), "no input was refused as {kind}: {seen:?}");
    }
}

#[test]
fn json_that_only_python_reads_is_taken_by_its_rules_and_they_are_recorded() {
    let text: &[u8] = br#"{"nan": NaN, "caption": "cut \ud83d"}"#;
    let columns = Columns::parse("nan:f64").unwrap();
    let strict = tempfile::tempdir().unwrap();
    let options = Options { columns: columns.clone(), ..small() };
    let mut writer = DatasetWriter::create(strict.path(), options).unwrap();
    let problem = refused(writer.write(b"a", &[(b"json", text)]));
    assert_eq!(problem.kind, ProblemKind::BadJson);
    assert!(problem.reason.text().contains("--json-rules python"), "{problem}");
    writer.write(b"b", &[(b"json", b"{}")]).unwrap();
    assert_eq!(writer.finish().unwrap().json_rules, None);

    let python = tempfile::tempdir().unwrap();
    let options = Options { columns, json: JsonRules::Python, ..small() };
    let mut writer = DatasetWriter::create(python.path(), options).unwrap();
    writer.write(b"a", &[(b"json", text)]).unwrap();
    assert_eq!(writer.finish().unwrap().json_rules.as_deref(), Some("python"));
    for level in [Level::Quick, Level::Full, Level::Decode] {
        let report = verified(python.path(), level);
        assert!(report.whole, "{report}");
    }
    // Parts of one data set, of which one needs the rules.
    let both = tempfile::tempdir().unwrap();
    let parts = [strict.path().to_path_buf(), python.path().to_path_buf()];
    // The key "a" is in the second part alone.
    let merged = merge(both.path(), &parts, "all").unwrap();
    assert_eq!(json_rules::of_manifest(Some(&merged)), JsonRules::Python);
    assert_eq!(check_of(&merged), Some(CheckLevel::Structure));
    assert!(verified(both.path(), Level::Decode).whole);
}
