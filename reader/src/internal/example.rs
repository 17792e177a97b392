//! `ExampleShards`: a small data set for the examples of this crate's documentation. Not for programs.
#![allow(clippy::unwrap_used, reason = "an example that cannot write its files has failed")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

use tarflume_formats::manifest::{FILE_NAME, ShardEntry};
use tarflume_formats::{Durability, Manifest, ShardWriter};

/// Folders made by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A folder with a manifest and two indexed shards of eight samples each. A sample has a photograph (`jpg`), `txt`, and
/// `json`: `{"class": 0 to 9, "caption": "photo N"}`. Dropping it removes the folder.
#[derive(Debug)]
pub struct ExampleShards(PathBuf);

impl ExampleShards {
    /// Writes the shards; `photo` is the JPEG of each sample.
    pub fn new(photo: &[u8]) -> ExampleShards {
        ExampleShards::made(photo, None)
    }

    /// As [`ExampleShards::new`]; `json` is the JSON part of each sample.
    pub fn with_json(photo: &[u8], json: &str) -> ExampleShards {
        ExampleShards::made(photo, Some(json))
    }

    fn made(photo: &[u8], json: Option<&str>) -> ExampleShards {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("tarflume-example-{}-{number}", process::id());
        let made = ExampleShards(env::temp_dir().join(name));
        fs::create_dir_all(&made.0).unwrap();
        let shards = (0..2)
            .map(|shard| {
                made.write(&format!("{shard:03}.tar"), shard * 8..shard * 8 + 8, photo, json)
            })
            .collect();
        let parts = ["jpg", "json", "txt"].map(|ext| (ext.to_string(), 16));
        let manifest = Manifest::new("example", None, parts.into(), shards);
        fs::write(made.0.join(FILE_NAME), manifest.to_json()).unwrap();
        made
    }

    fn write(
        &self,
        name: &str,
        samples: std::ops::Range<usize>,
        photo: &[u8],
        json: Option<&str>,
    ) -> ShardEntry {
        let mut shard = ShardWriter::create(&self.0, name).unwrap();
        let header = tarflume_jpeg::Header::parse(photo).unwrap();
        let size = (header.width(), header.height());
        for n in samples {
            let text = format!("photo {n}");
            let own = format!(r#"{{"class": {}, "caption": "{text}"}}"#, n % 10);
            let json = json.unwrap_or(&own);
            shard.begin(format!("photo/{n:03}").as_bytes());
            for (ext, bytes) in
                [("jpg", photo), ("json", json.as_bytes()), ("txt", text.as_bytes())]
            {
                let part = shard.part(ext.as_bytes(), bytes.len() as u64).unwrap();
                part.copy_from_slice(bytes);
            }
            shard.commit(Some(size)).unwrap();
        }
        shard.finish().unwrap().publish(&self.0, name, Durability::Cached).unwrap()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ExampleShards {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
