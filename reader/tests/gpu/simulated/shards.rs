//! Shards of pictures, for devices.

use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, ShardWriter};

/// One shard of `count` JPEGs, each with its number as the class.
pub fn of_jpegs(count: u32, jpeg: impl Fn(u32) -> Vec<u8>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    for n in 0..count {
        shard.begin(format!("{n:04}").as_bytes());
        let jpeg = jpeg(n);
        shard.part(b"jpg", jpeg.len() as u64).unwrap().copy_from_slice(&jpeg);
        let json = format!("{{\"class\": {n}}}");
        shard.part(b"json", json.len() as u64).unwrap().copy_from_slice(json.as_bytes());
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

/// A picture whose size is that of its number.
pub fn sized(n: u32) -> Vec<u8> {
    let photo = Photo::new(60 + n as u16, 50 + 2 * n as u16, PhotoKind::Yuv420);
    photo.encode(n.into()).unwrap()
}
