//! Documents leave as they entered, in whatever way they were packed.

use std::fs;
use std::path::PathBuf;

use tarflume_base::Exit;
use tarflume_base::compress::Compress;
use tarflume_formats::Durability;
use tarflume_shards::listing;

use super::*;
use crate::build::{Counter, Input, Request, build};
use crate::packing::Packing;

struct Ids {
    dir: tempfile::TempDir,
    prefix: PathBuf,
}

/// Writes documents of 1 to 150 ids, in an order that is not that of their lengths.
fn given(kind: IdType, top: u32) -> Ids {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("ids");
    let mut writer = Writer::create(&prefix, kind).unwrap();
    for n in 0..150u32 {
        let length = (n * 37) % 150 + 1;
        writer.sequence(&(0..length).map(|i| (n * 1000 + i) % top).collect::<Vec<_>>()).unwrap();
        writer.end_document();
    }
    writer.finish().unwrap();
    Ids { dir, prefix }
}

impl Ids {
    fn pack(&self, packing: Packing) -> Listing {
        self.pack_as(packing, None)
    }

    fn pack_as(&self, packing: Packing, compress: Option<Compress>) -> Listing {
        let out = self.dir.path().join("out");
        let request = Request {
            durability: Durability::Cached,
            packing,
            compress,
            shard_samples: Some(7),
            ..Request::new(Input::Megatron(vec![self.prefix.clone()]), out.clone(), 64)
        };
        build(&request, &Counter::default()).unwrap();
        listing::open(&out).unwrap()
    }

    fn export(&self, listing: &Listing) -> Result<Exported, Failure> {
        to_megatron(listing, &self.dir.path().join("back"), &Stop::new(), &|_| ())
    }
}

#[test]
fn an_export_has_the_bytes_of_the_files_that_were_packed() {
    for (kind, top) in [(IdType::U16, 60_000), (IdType::I32, 140_000)] {
        for packing in [Packing::BestFit, Packing::Concat] {
            let ids = given(kind, top);
            let done = ids.export(&ids.pack(packing)).unwrap();
            assert_eq!((done.documents, done.tokens), (150, 150 * 151 / 2));
            for ending in ["bin", "idx"] {
                let before = fs::read(ids.dir.path().join(format!("ids.{ending}"))).unwrap();
                let after = fs::read(ids.dir.path().join(format!("back.{ending}"))).unwrap();
                assert!(before == after, "{kind:?} {packing:?} {ending}");
            }
        }
    }
}

#[test]
fn existing_files_foreign_samples_and_missing_pieces_are_errors() {
    let ids = given(IdType::U16, 60_000);
    let mut listing = ids.pack(Packing::Concat);
    ids.export(&listing).unwrap();
    let exists = ids.export(&listing).unwrap_err();
    assert!(exists.text().contains("back.bin exists"), "{exists}");
    for ending in ["bin", "idx"] {
        fs::remove_file(ids.dir.path().join(format!("back.{ending}"))).unwrap();
    }
    let first = listing.shards.remove(0);
    let incomplete = ids.export(&listing).unwrap_err();
    assert!(incomplete.text().contains("export the whole data set"), "{incomplete}");
    let mut bytes = fs::read(&first.tar).unwrap();
    let at = bytes.windows(9).position(|w| w == b"documents").unwrap();
    bytes[at] = b'D';
    fs::write(&first.tar, bytes).unwrap();
    listing.shards.insert(0, first);
    let damaged = ids.export(&listing).unwrap_err();
    assert_eq!(damaged.exit(), Exit::BadData);
    assert!(damaged.text().contains("does not have its checksum"), "{damaged}");
    let photos = ids.dir.path().join("photos.tar");
    fs::write(&photos, tarflume_fixtures::good_shard()).unwrap();
    let foreign = ids.export(&listing::open(&photos).unwrap()).unwrap_err();
    assert!(foreign.text().contains("there is no part 'ids.npy'"), "{foreign}");
    assert!(!files::exists(&ids.dir.path().join("back.bin")).unwrap());
}

#[test]
fn compressed_blocks_have_the_documents_of_plain_ones() {
    let ids = given(IdType::U16, 60_000);
    let listing = ids.pack_as(Packing::BestFit, Some(Compress::parse("zstd").unwrap()));
    assert!(
        listing.shards.len() > OPEN
            && listing.shards.iter().all(|shard| shard.index.is_compressed())
    );
    ids.export(&listing).unwrap();
    for ending in ["bin", "idx"] {
        let before = fs::read(ids.dir.path().join(format!("ids.{ending}"))).unwrap();
        assert!(before == fs::read(ids.dir.path().join(format!("back.{ending}"))).unwrap());
    }
}
