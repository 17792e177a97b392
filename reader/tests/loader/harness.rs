//! A data set in a temporary folder, and the expected content of its samples.

use std::path::{Path, PathBuf};

use tarflume::{Loader, LoaderBuilder};
use tarflume_fixtures::SplitMix64;
use tarflume_formats::{Durability, ShardWriter};

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

    pub fn write(
        &self,
        number: usize,
        samples: impl IntoIterator<Item = (String, Vec<(&'static str, Vec<u8>)>)>,
    ) {
        let tar = self.shard(number);
        let name = tar.file_name().unwrap().to_str().unwrap();
        let mut shard = ShardWriter::create(self.path(), name).unwrap();
        for (key, parts) in samples {
            shard.begin(key.as_bytes());
            for (ext, bytes) in parts {
                let part = shard.part(ext.as_bytes(), bytes.len() as u64).unwrap();
                part.copy_from_slice(&bytes);
            }
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(self.path(), name, Durability::Cached).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn shard(&self, number: usize) -> PathBuf {
        self.path().join(format!("{number:04}.tar"))
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
