//! Tars that were changed after their sidecars were made: nothing that the sidecars state is believed before it was
//! compared with the tar, and copies whose times say nothing are read as before.

use std::fs;
use std::path::{Path, PathBuf};

use tarflume::{Class, Dataset, ErrorKind, Loader, OnBad, SourceKind, Verify};
use tarflume_formats::index::{ColumnSpec, Value};
use tarflume_formats::{Durability, ShardWriter, index_path};

const SAMPLES: usize = 40;

/// Writes a shard of samples with `cls` and a sidecar with a typed column of it; returns its path.
fn shard(folder: &Path, name: &str, class: impl Fn(usize) -> u32) -> PathBuf {
    let mut shard = ShardWriter::create(folder, name).unwrap();
    shard.set_columns(ColumnSpec::parse_all("class=cls:u32").unwrap());
    for n in 0..SAMPLES {
        shard.begin(format!("k{n:02}").as_bytes());
        let text = format!("{:03}", class(n));
        shard.part(b"cls", 3).unwrap().copy_from_slice(text.as_bytes());
        let pixels = [n as u8; 700];
        shard.part(b"raw", 700).unwrap().copy_from_slice(&pixels);
        shard.value(0, Value::Whole(class(n).into()));
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(folder, name, Durability::Cached).unwrap();
    folder.join(name)
}
