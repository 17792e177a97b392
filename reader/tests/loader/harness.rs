//! A data set in a folder of its own, and what an epoch of it came to.

use std::path::{Path, PathBuf};

use tarflume::{Batch, Loader, LoaderBuilder, Result};
use tarflume_fixtures::{Photo, PhotoKind, SplitMix64};
use tarflume_formats::ShardWriter;
use tarflume_formats::shard::Durability;

/// A folder of shards with sidecars.
pub struct Shards {
    pub dir: tempfile::TempDir,
}

impl Shards {
    /// Shards of these numbers of samples. Each has `txt` (its ordinal), `bin` (bytes of many lengths) and
    /// `json` ({"class": ordinal % 10}).
    pub fn of(counts: &[u64]) -> Shards {
        let shards = Shards { dir: tempfile::tempdir().unwrap() };
        let mut ordinal = 0;
        for (number, &count) in counts.iter().enumerate() {
            let range = ordinal..ordinal + count;
            shards.write(number, range.map(|o| (key(o), parts(o))));
            ordinal += count;
        }
        shards
    }

    /// One shard of small photographs in all codings, with JSON.
    pub fn of_photos(samples: u64) -> Shards {
        let shards = Shards { dir: tempfile::tempdir().unwrap() };
        let photo = |o: u64| {
            let kind = PhotoKind::ALL[o as usize % PhotoKind::ALL.len()];
            let photo = Photo::new(20 + o as u16 % 30, 16 + o as u16 % 20, kind);
            (key(o), vec![("jpg", photo.encode(o).unwrap()), ("json", json(o))])
        };
        shards.write(0, (0..samples).map(photo));
        shards
    }

    pub fn write(
        &self,
        number: usize,
        samples: impl IntoIterator<Item = (String, Vec<(&'static str, Vec<u8>)>)>,
    ) {
        let name = format!("{number:03}.tar");
        let mut shard = ShardWriter::create(self.path(), &name).unwrap();
        for (key, parts) in samples {
            shard.begin(key.as_bytes());
            for (ext, bytes) in parts {
                let part = shard.part(ext.as_bytes(), bytes.len() as u64).unwrap();
                part.copy_from_slice(&bytes);
            }
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(self.path(), &name, Durability::Cached).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn shard(&self, number: usize) -> PathBuf {
        self.path().join(format!("{number:03}.tar"))
    }

    /// A loader that needs `bin` and `txt`, in batches of four.
    pub fn loader(&self) -> LoaderBuilder {
        Loader::builder(self.path()).bytes("bin").text("txt").batch(4).threads(3)
    }
}

pub fn key(ordinal: u64) -> String {
    format!("sample/{ordinal:06}")
}

pub fn json(ordinal: u64) -> Vec<u8> {
    format!(r#"{{"class": {}, "name": "n{ordinal}"}}"#, ordinal % 10).into_bytes()
}

/// The bytes of part `bin`.
pub fn bin(ordinal: u64) -> Vec<u8> {
    let mut random = SplitMix64::nth(5, ordinal);
    let length = random.below(3000) as usize;
    (0..length).map(|_| random.next_u64() as u8).collect()
}

pub fn parts(ordinal: u64) -> Vec<(&'static str, Vec<u8>)> {
    let txt = ordinal.to_string().into_bytes();
    vec![("bin", bin(ordinal)), ("json", json(ordinal)), ("txt", txt)]
}

/// Asks that every row holds what its ordinal says.
pub fn is_true(batch: &Batch) {
    let (bytes, texts) = (batch.column("bin").unwrap(), batch.column("txt").unwrap());
    assert_eq!(batch.len(), batch.ordinals().count());
    for (row, ordinal) in batch.ordinals().enumerate() {
        assert_eq!(batch.key(row), key(ordinal).as_bytes());
        assert_eq!(texts.row(row), ordinal.to_string().as_bytes());
        assert!(bytes.row(row) == bin(ordinal), "the bytes of {ordinal}");
    }
}

/// The ordinals of every batch of an epoch; each row is asked whether it is true.
pub fn batches(loader: &Loader, epoch: u64) -> Result<Vec<Vec<u64>>> {
    loader
        .epoch(epoch)
        .map(|batch| {
            let batch = batch?;
            is_true(&batch);
            Ok(batch.ordinals().collect())
        })
        .collect()
}

/// True once none of the loader's threads is left: one that was joined may be listed for a moment more.
#[allow(dead_code)] // for targets that count threads
pub fn threads_are_gone() -> bool {
    (0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_micros(200));
        threads() == 0
    })
}

/// Threads of this process whose names are the loader's.
pub fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    tasks
        .flatten()
        .filter(|t| t.path().exists())
        .filter_map(|t| name(t).ok())
        .filter(|n| n.starts_with("tarflume-"))
        .count()
}
