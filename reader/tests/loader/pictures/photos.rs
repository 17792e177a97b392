//! A data set of photographs.

use tarflume_fixtures::{Photo, PhotoKind};

use crate::loader::harness::{Shards, json, key};

impl Shards {
    /// One shard of small photographs in all codings, with JSON.
    pub fn of_photos(samples: u64) -> Shards {
        let shards = Shards { dir: tempfile::tempdir().unwrap() };
        let samples = (0..samples).map(|o| (key(o), vec![("jpg", photo(o)), ("json", json(o))]));
        shards.write(0, samples);
        shards
    }
}

fn photo(o: u64) -> Vec<u8> {
    let kind = PhotoKind::ALL[o as usize % PhotoKind::ALL.len()];
    Photo::new(20 + o as u16 % 30, 16 + o as u16 % 20, kind).encode(o).unwrap()
}
