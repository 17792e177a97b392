//! Tar and index, written in step, and their final names.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::Path;

use tarflume_formats::index::Index;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::{Durability, Error, ErrorKind, ShardWriter, crc32c, digest_of, index_path};
use tempfile::TempDir;

const NAME: &str = "s.tar";

/// How a part is added to the shard.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Buffer,
    Stream,
}

use By::{Buffer, Stream};

/// The calls on a writer, step by step.
struct Shard {
    dir: TempDir,
    writer: ShardWriter,
}

impl Shard {
    fn new() -> Shard {
        let dir = tempfile::tempdir().unwrap();
        let writer = ShardWriter::create(dir.path(), NAME).unwrap();
        Shard { dir, writer }
    }

    fn part(&mut self, ext: &str, data: &[u8], by: By) {
        let length = data.len() as u64;
        if by == Buffer {
            self.writer.part(ext.as_bytes(), length).unwrap().copy_from_slice(data);
            return;
        }
        let mut rest = data;
        let fill = |piece: &mut [u8]| {
            let (now, later) = rest.split_at(piece.len());
            piece.copy_from_slice(now);
            rest = later;
            Ok::<(), Error>(())
        };
        self.writer.stream_part(ext.as_bytes(), length, fill).unwrap();
        assert!(rest.is_empty());
    }

    fn begin(&mut self, key: &str, parts: &[(&str, &[u8], By)]) {
        self.writer.begin(key.as_bytes());
        for (ext, data, by) in parts {
            self.part(ext, data, *by);
        }
    }

    fn sample(&mut self, key: &str, parts: &[(&str, &[u8], By)]) {
        self.begin(key, parts);
        self.writer.commit(Some((4, 3))).unwrap();
    }

    fn publish(self) -> Published {
        let written = self.writer.finish().unwrap();
        let entry = written.publish(self.dir.path(), NAME, Durability::Synced).unwrap();
        Published::read(self.dir, entry)
    }
}

struct Published {
    dir: TempDir,
    entry: ShardEntry,
    tar: Vec<u8>,
    index: Vec<u8>,
}

impl Published {
    fn read(dir: TempDir, entry: ShardEntry) -> Published {
        let tar = dir.path().join(NAME);
        let index = fs::read(index_path(&tar)).unwrap();
        let names = files_in(dir.path());
        assert_eq!(names, ["s.index", "s.tar"], "and no temporary file");
        Published { tar: fs::read(tar).unwrap(), index, dir, entry }
    }

    /// The index describes the tar, and both match the entry.
    fn assert_sound(&self) -> Index {
        let index = Index::from_bytes(self.index.clone()).unwrap();
        index.check().unwrap();
        assert_eq!(index.tar().length, self.tar.len() as u64);
        assert_eq!(index.tar().digest, Some(blake3::hash(&self.tar)));
        assert_eq!(self.entry.digest().unwrap(), Some(blake3::hash(&self.tar)));
        assert_eq!(self.entry.index_blake3, blake3::hash(&self.index).to_hex().as_str());
        assert_eq!((self.entry.bytes, self.entry.samples), (index.tar().length, index.samples()));
        assert!(self.tar.ends_with(&[0; 1024]));
        let mut end = 0;
        for sample in index.iter() {
            let sample = sample.unwrap();
            assert_eq!(sample.first, end);
            for part in sample.parts() {
                let part = part.unwrap();
                let data = &self.tar[part.offset as usize..(part.offset + part.length) as usize];
                assert_eq!(part.checksum, Some(crc32c(data)));
                end = part.end();
            }
        }
        assert_eq!(end + 1024, self.tar.len() as u64);
        index
    }
}

fn files_in(dir: &Path) -> Vec<String> {
    fn name(e: std::io::Result<fs::DirEntry>) -> String {
        e.unwrap().file_name().into_string().unwrap()
    }
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i % 251) as u8).collect()
}

#[test]
fn foreign_readers_find_the_parts_where_the_index_points() {
    let photo = data(70_000);
    let mut shard = Shard::new();
    for i in 0..9 {
        shard.sample(&format!("k/{i}"), &[("jpg", &photo[i..], Buffer), ("json", b"{}", Buffer)]);
    }
    let published = shard.publish();
    let index = published.assert_sound();
    let mut archive = tar::Archive::new(&published.tar[..]);
    let mut parts = index.iter().flat_map(|s| {
        let s = s.unwrap();
        s.parts().map(move |p| (s.key, p.unwrap())).collect::<Vec<_>>()
    });
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        let (key, part) = parts.next().unwrap();
        assert_eq!(*entry.path_bytes(), *[key, b".", part.ext].concat());
        assert_eq!((entry.raw_file_position(), entry.size()), (part.offset, part.length));
    }
    assert!(parts.next().is_none());
}

#[test]
fn an_empty_shard_is_an_end_marker() {
    let published = Shard::new().publish();
    assert_eq!(published.tar, [0; 1024]);
    assert_eq!(published.assert_sound().samples(), 0);
}

#[test]
fn streamed_or_buffered_the_bytes_are_the_same() {
    let large = data(5_000_001);
    let photo = data(512);
    let write = |by: [By; 3]| {
        let mut shard = Shard::new();
        shard.sample("a", &[("cls", b"7", Buffer)]);
        shard.sample("b", &[("cls", b"8", by[0]), ("mp4", &large, by[1]), ("txt", &photo, by[2])]);
        shard.sample("c", &[("jpg", &photo, by[2]), ("json", b"", by[0])]);
        shard.publish()
    };
    let want = write([Buffer; 3]);
    want.assert_sound();
    for by in [
        [Stream, Stream, Stream],
        [Buffer, Stream, Buffer],
        [Stream, Buffer, Stream],
        [Stream, Stream, Buffer],
        [Buffer, Buffer, Stream],
    ] {
        let got = write(by);
        assert!(got.tar == want.tar && got.index == want.index, "{by:?}");
    }
}

#[test]
fn an_abandoned_sample_leaves_no_trace() {
    let large = data(700_000);
    let photo = data(3_000);
    type Parts<'a> = Vec<(&'a str, &'a [u8], By)>;
    let bad: [Parts<'_>; 6] = [
        vec![],
        vec![("new", &photo, Buffer)],
        vec![("new", &large, Buffer), ("cls", b"1", Buffer)],
        vec![("new", &large, Stream)],
        vec![("cls", b"1", Buffer), ("new", &large, Stream), ("json", &photo, Buffer)],
        vec![("a", &large, Stream), ("b", &large, Stream), ("c", &photo, Stream)],
    ];
    let write = |before: usize, after: usize, bad: Option<&Parts<'_>>| {
        let mut shard = Shard::new();
        for i in 0..before + after {
            if i == before {
                abandon(&mut shard, bad);
            }
            shard.sample(&format!("{i}"), &[("jpg", &large[i..], Buffer), ("txt", &photo, Stream)]);
        }
        if after == 0 {
            abandon(&mut shard, bad);
        }
        shard.publish()
    };
    fn abandon(shard: &mut Shard, bad: Option<&Parts<'_>>) {
        if let Some(parts) = bad {
            let position = shard.writer.position();
            shard.begin("bad", parts);
            shard.writer.abandon().unwrap();
            assert_eq!(shard.writer.position(), position);
        }
    }
    for (before, after) in [(0, 2), (1, 1), (2, 0), (0, 0)] {
        let want = write(before, after, None);
        want.assert_sound();
        for parts in &bad {
            let got = write(before, after, Some(parts));
            assert!(got.tar == want.tar, "{before} before, {after} after, {} parts", parts.len());
            assert!(got.index == want.index);
        }
    }
}

#[test]
fn a_part_that_cannot_be_filled_can_be_abandoned() {
    let mut shard = Shard::new();
    shard.sample("a", &[("txt", b"one", Buffer)]);
    shard.writer.begin(b"b");
    let mut pieces = 0;
    let shrunk = shard.writer.stream_part(b"mp4", 1_000_000, |_| {
        pieces += 1;
        if pieces < 3 { Ok(()) } else { Err(Error::new(ErrorKind::Truncated, "it shrank")) }
    });
    assert_eq!(shrunk.unwrap_err().kind(), ErrorKind::Truncated);
    shard.writer.abandon().unwrap();
    shard.sample("c", &[("txt", b"two", Buffer)]);
    let index = shard.publish().assert_sound();
    assert_eq!((index.find(b"b").unwrap(), index.find(b"c").unwrap()), (None, Some(1)));
}

/// Entry points stay with their part, however it was written, and disappear with an abandoned
/// sample.
#[test]
fn entry_points_belong_to_the_parts_that_they_were_given_for() {
    let large = data(700_000);
    let photo = data(3_000);
    let mut shard = Shard::new();
    shard.sample("a", &[("txt", b"one", Buffer)]);
    shard.begin("bad", &[("jpg", &photo, Buffer)]);
    shard.writer.entry_points(b"gone");
    shard.writer.strips(b"gone, too");
    shard.part("mp4", &large, Stream);
    shard.writer.abandon().unwrap();
    shard.begin("b", &[("jpg", &photo, Buffer)]);
    shard.writer.entry_points(b"not these");
    shard.writer.strips(b"nor these");
    shard.writer.entry_points(b"of the jpg");
    shard.writer.strips(b"not these");
    shard.writer.strips(b"sums");
    shard.part("left.jpg", &large, Stream);
    shard.writer.entry_points(b"of the other");
    shard.part("txt", b"two", Buffer);
    shard.writer.commit(None).unwrap();
    shard.sample("c", &[("jpg", &photo, Buffer)]);
    let with = shard.publish();
    let index = with.assert_sound();
    let all: Vec<_> = (0..index.parts())
        .map(|part| index.entry_points(part).unwrap().unwrap_or_default())
        .collect();
    assert_eq!(all, [&b""[..], b"of the jpg", b"of the other", b"", b""]);
    let all: Vec<_> =
        (0..index.parts()).map(|part| index.strips(part).unwrap().unwrap_or_default()).collect();
    assert_eq!(all, [&b""[..], b"sums", b"", b"", b""]);

    let mut shard = Shard::new();
    shard.sample("a", &[("txt", b"one", Buffer)]);
    shard.begin(
        "b",
        &[("jpg", &photo, Buffer), ("left.jpg", &large, Stream), ("txt", b"two", Buffer)],
    );
    shard.writer.commit(None).unwrap();
    shard.sample("c", &[("jpg", &photo, Buffer)]);
    let without = shard.publish();
    assert!(with.tar == without.tar);
    assert!(!without.assert_sound().has_entry_points());
    assert!(without.index.len() < with.index.len());
}

#[test]
fn a_committed_sample_can_not_be_abandoned() {
    let mut shard = Shard::new();
    shard.sample("a", &[("mp4", &data(600_000), Stream)]);
    shard.writer.abandon().unwrap();
    assert_eq!(shard.publish().assert_sound().samples(), 1);
}

#[test]
fn a_duplicate_part_is_refused_before_it_is_written() {
    let mut shard = Shard::new();
    shard.begin("a", &[("jpg", b"1", Buffer)]);
    let position = shard.writer.position();
    let error = shard.writer.part(b"jpg", 1).unwrap_err();
    assert_eq!((error.kind(), error.place().key.as_deref()), (ErrorKind::Repeated, Some("a")));
    assert_eq!(shard.writer.position(), position);
    shard.writer.abandon().unwrap();
    shard.sample("b", &[("jpg", b"1", Buffer)]);
    assert_eq!(shard.publish().assert_sound().samples(), 1);
}

#[test]
fn the_same_tar_is_left_and_another_one_replaced() {
    fn write(text: &[u8]) -> Shard {
        let mut shard = Shard::new();
        shard.sample("a", &[("txt", text, Buffer)]);
        shard
    }

    let Published { dir, tar, .. } = write(b"same").publish();
    let path = dir.path().join(NAME);
    let before = fs::metadata(&path).unwrap();
    for (text, same) in [(b"same", true), (b"else", false)] {
        let written = write(text).writer.finish();
        drop(written); // a finished shard that is not published leaves nothing
        let mut writer = ShardWriter::create(dir.path(), NAME).unwrap();
        writer.begin(b"a");
        writer.part(b"txt", 4).unwrap().copy_from_slice(text);
        writer.commit(Some((4, 3))).unwrap();
        let entry = writer.finish().unwrap().publish(dir.path(), NAME, Durability::Cached).unwrap();
        assert_eq!(entry.digest().unwrap(), Some(digest_of(&path).unwrap()));
        assert_eq!(fs::read(&path).unwrap() == tar, same);
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(&path).unwrap().ino() == before.ino(), same);
    }
    let tar_digest = digest_of(&path).unwrap();
    assert_eq!(Index::open(index_path(&path)).unwrap().tar().digest, Some(tar_digest));
    assert_eq!(files_in(dir.path()), ["s.index", "s.tar"]);
}

#[test]
fn an_unpublished_shard_leaves_no_file() {
    for finish in [false, true] {
        let mut shard = Shard::new();
        shard.sample("a", &[("mp4", &data(600_000), Stream)]);
        let Shard { dir, writer } = shard;
        if finish {
            drop(writer.finish().unwrap())
        } else {
            drop(writer)
        }
        assert_eq!(files_in(dir.path()), Vec::<String>::new());
    }
}

#[test]
fn names_no_tar_can_hold_are_refused() {
    let mut shard = Shard::new();
    shard.writer.begin(b"a\0b");
    assert_eq!(shard.writer.part(b"txt", 1).unwrap_err().kind(), ErrorKind::BadName);
    shard.writer.begin(b"a");
    assert_eq!(shard.writer.part(b"txt", u64::MAX).unwrap_err().kind(), ErrorKind::Limit);
}
