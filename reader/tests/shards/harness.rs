//! Data sets for tests: shards in a folder, and an independent reader for them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tarflume::{Identity, Open, Result, Source, SourceKind};
use tarflume_fixtures::SplitMix64;
use tarflume_formats::manifest::{FILE_NAME, Manifest, ShardEntry};
use tarflume_formats::{Durability, ShardWriter};
use tempfile::TempDir;

pub(crate) const KINDS: [SourceKind; 2] = [SourceKind::File, SourceKind::Mapped];

pub(crate) fn cut(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// A sample to be written: its key, and its parts by extension.
pub(crate) type NewSample = (String, Vec<(&'static str, Vec<u8>)>);

/// Writes a shard of these samples.
pub(crate) fn write_shard(
    folder: &Path,
    name: &str,
    samples: &[NewSample],
) -> (ShardEntry, BTreeMap<String, u64>) {
    let mut shard = ShardWriter::create(folder, name).unwrap();
    for (key, parts) in samples {
        shard.begin(key.as_bytes());
        for (ext, bytes) in parts {
            shard.part(ext.as_bytes(), bytes.len() as u64).unwrap().copy_from_slice(bytes);
        }
        shard.commit(Some((key.len() as u32, 7))).unwrap();
    }
    let shard = shard.finish().unwrap();
    let extensions = shard.extensions.clone();
    (shard.publish(folder, name, Durability::Cached).unwrap(), extensions)
}

/// Random bytes, less than `most`.
fn noise(rng: &mut SplitMix64, most: u64) -> Vec<u8> {
    let length = rng.next_u64() % most;
    (0..length).map(|_| rng.next_u64() as u8).collect()
}

/// `counts` shards `s-0.tar`, .. with `jpg` and `json` of random bytes and lengths; every third
/// sample has a `txt`, too. Keys are `k` and the ordinal.
pub(crate) struct Made {
    pub(crate) folder: TempDir,
    pub(crate) tars: Vec<PathBuf>,
}

impl Made {
    pub(crate) fn new(counts: &[usize]) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let mut rng = SplitMix64::new(7);
        let mut ordinal = 0;
        let mut entries = Vec::new();
        let mut sum = BTreeMap::new();
        let mut tars = Vec::new();
        for (number, &count) in counts.iter().enumerate() {
            let mut samples = Vec::new();
            for _ in 0..count {
                let mut parts =
                    vec![("jpg", noise(&mut rng, 5000)), ("json", noise(&mut rng, 100))];
                if ordinal % 3 == 0 {
                    parts.push(("txt", noise(&mut rng, 700)));
                }
                samples.push((format!("k{ordinal:05}"), parts));
                ordinal += 1;
            }
            let name = format!("s-{number}.tar");
            let (entry, extensions) = write_shard(folder.path(), &name, &samples);
            extensions.into_iter().for_each(|(ext, n)| *sum.entry(ext).or_insert(0) += n);
            tars.push(folder.path().join(&name));
            entries.push(entry);
        }
        let manifest = Manifest::new("test", None, sum, entries);
        fs::write(folder.path().join(FILE_NAME), manifest.to_json()).unwrap();
        Made { folder, tars }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.path().join(FILE_NAME)
    }

    /// All samples as the `tar` crate reads them, in order: key, and parts by extension.
    pub(crate) fn samples(&self) -> Vec<(String, BTreeMap<String, Vec<u8>>)> {
        self.tars.iter().flat_map(|tar| independent(tar)).collect()
    }
}

fn independent(path: &Path) -> Vec<(String, BTreeMap<String, Vec<u8>>)> {
    let mut samples: Vec<(String, BTreeMap<String, Vec<u8>>)> = Vec::new();
    for entry in tar::Archive::new(File::open(path).unwrap()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_string();
        let (key, ext) = name.split_once('.').unwrap();
        if samples.last().is_none_or(|(last, _)| last != key) {
            samples.push((key.into(), BTreeMap::new()));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        samples.last_mut().unwrap().1.insert(ext.into(), bytes);
    }
    samples
}

/// Opens shards and notes which bytes are read of them, and fails to read those that are cursed.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) kind: SourceKind,
    pub(crate) reads: Arc<Mutex<Vec<(u64, u64)>>>,
    pub(crate) opened: AtomicU64,
    pub(crate) cursed: Option<u64>,
}

impl Watched {
    pub(crate) fn new(kind: SourceKind, cursed: Option<u64>) -> Arc<Watched> {
        Arc::new(Watched { kind, reads: Arc::default(), opened: AtomicU64::new(0), cursed })
    }

    /// First byte and length of every read and view, and forgets them.
    pub(crate) fn take(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *self.reads.lock().unwrap())
    }
}

impl Open for Watched {
    fn open(&self, path: &Path) -> Result<(Arc<dyn Source>, Identity)> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (inner, identity) = self.kind.open(path)?;
        let source = WatchedSource { inner, reads: self.reads.clone(), cursed: self.cursed };
        Ok((Arc::new(source), identity))
    }
}

#[derive(Debug)]
struct WatchedSource {
    inner: Arc<dyn Source>,
    reads: Arc<Mutex<Vec<(u64, u64)>>>,
    cursed: Option<u64>,
}

impl Source for WatchedSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.reads.lock().unwrap().push((at, into.len() as u64));
        if self.cursed.is_some_and(|byte| (at..at + into.len() as u64).contains(&byte)) {
            let text = "the disk has lost this byte";
            return Err(tarflume::Error::new(tarflume::ErrorKind::Truncated, text).with_byte(at));
        }
        self.inner.read_at(at, into)
    }

    fn view(&self, at: u64, length: usize) -> Option<&[u8]> {
        let view = self.inner.view(at, length);
        if view.is_some() {
            self.reads.lock().unwrap().push((at, length as u64));
        }
        view
    }
}
