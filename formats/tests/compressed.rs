//! Compressed shards: any zstd program finds the tar in them, and the sidecar finds each part in its frames.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::fs;
use std::path::Path;

use tarflume_formats::frames::{Frame, decode_table, decompress, table_length};
use tarflume_formats::{Durability, Index, ShardWriter, crc32c, index_path};

/// Bytes that no compression makes smaller.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    fn next(state: &mut u64) -> u8 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state as u8
    }
    (0..length).map(|_| next(&mut state)).collect()
}

fn json(n: usize) -> Vec<u8> {
    format!("{{\"number\": {n}, \"caption\": \"{}\"}}", "a picture of a cat ".repeat(n % 40 + 1))
        .into_bytes()
}

/// The parts of sample `n`.
fn parts(n: usize) -> Vec<(&'static str, Vec<u8>)> {
    match n % 5 {
        0 => vec![("jpg", noise(30_000 + n, n as u64)), ("json", json(n))],
        1 => vec![("json", json(n)), ("txt", noise(n % 3 + 1, 1)), ("webp", noise(900, 2))],
        2 => vec![("mask.png", noise(4096, 3)), ("png", noise(4095, 4))],
        3 => vec![("npy", vec![7; 300_000]), ("json", json(n))],
        _ => vec![("json", json(n))],
    }
}

/// Writes the samples with and without compression. `streamed`: parts longer than this are streamed.
fn write(folder: &Path, name: &str, level: Option<i32>, streamed: usize, samples: usize) -> Index {
    let mut writer = match level {
        Some(level) => ShardWriter::create_compressed(folder, name, level).unwrap(),
        None => ShardWriter::create(folder, name).unwrap(),
    };
    for n in 0..samples {
        writer.begin(format!("{n:06}").as_bytes());
        for (ext, data) in parts(n) {
            put(&mut writer, ext, &data, streamed);
        }
        if n % 7 == 6 {
            // A sample that is left out after some of its bytes have reached the file.
            writer.abandon().unwrap();
            writer.begin(b"bad");
            put(&mut writer, "json", b"{}", streamed);
            put(&mut writer, "jpg", &noise(500_000, 9), streamed.min(10));
            writer.abandon().unwrap();
        } else {
            writer.commit(None).unwrap();
        }
    }
    let entry = writer.finish().unwrap().publish(folder, name, Durability::Cached).unwrap();
    let index = Index::open(index_path(folder.join(name))).unwrap();
    assert_eq!(entry.bytes, fs::metadata(folder.join(name)).unwrap().len());
    assert_eq!(index.tar().length, entry.bytes);
    index.check().unwrap();
    index
}

fn put(writer: &mut ShardWriter, ext: &str, data: &[u8], streamed: usize) {
    let length = data.len() as u64;
    if data.len() <= streamed {
        writer.part(ext.as_bytes(), length).unwrap().copy_from_slice(data);
        return;
    }
    let mut at = 0;
    let filled = writer.stream_part::<tarflume_formats::Error>(ext.as_bytes(), length, |piece| {
        piece.copy_from_slice(&data[at..at + piece.len()]);
        at += piece.len();
        Ok(())
    });
    filled.unwrap();
}

fn frames(index: &Index) -> Vec<Frame> {
    (0..index.frames()).map(|n| index.frame(n).unwrap().unwrap()).collect()
}

#[test]
fn a_compressed_shard_is_the_tar_in_frames() {
    let dir = tempfile::tempdir().unwrap();
    let plain = write(dir.path(), "plain.tar", None, usize::MAX, 200);
    let index = write(dir.path(), "packed.tar.zst", Some(3), usize::MAX, 200);
    let tar = fs::read(dir.path().join("plain.tar")).unwrap();
    let file = fs::read(dir.path().join("packed.tar.zst")).unwrap();
    assert!(zstd::decode_all(&file[..]).unwrap() == tar);
    assert!(index.is_compressed() && !plain.is_compressed());
    assert_eq!((index.tar_length(), plain.tar_length()), (tar.len() as u64, tar.len() as u64));
    assert!(file.len() < tar.len() / 3, "{} of {}", file.len(), tar.len());

    let found = frames(&index);
    let last = file.last_chunk().unwrap();
    let table = &file[file.len() - table_length(*last).unwrap() as usize..];
    assert_eq!(decode_table(table, file.len() as u64).unwrap(), found);
    for (n, frame) in found.iter().enumerate() {
        let bytes = &file[frame.file.start as usize..frame.file.end as usize];
        let mut data = vec![0; (frame.data.end - frame.data.start) as usize];
        decompress(bytes, &mut data).unwrap();
        assert!(data == tar[frame.data.start as usize..frame.data.end as usize]);
        for at in [frame.data.start, frame.data.end - 1] {
            assert_eq!(index.frame_with(at).unwrap(), Some(n as u64));
        }
    }
    assert_eq!(index.frame_with(tar.len() as u64).unwrap(), None);

    let mut whole = 0;
    for (one, other) in index.iter().zip(plain.iter()) {
        let one = one.unwrap();
        let other = other.unwrap();
        assert_eq!((one.key, one.first), (other.key, other.first));
        for (part, same) in one.parts().zip(other.parts()) {
            let part = part.unwrap();
            assert_eq!(part, same.unwrap());
            let data = &tar[part.offset as usize..(part.offset + part.length) as usize];
            assert_eq!(part.checksum, Some(crc32c(data)));
            if part.ext == b"jpg" {
                let frame = &found[index.frame_with(part.offset).unwrap().unwrap() as usize];
                assert_eq!(frame.data, part.offset..part.offset + part.length, "its own frame");
                let stored = frame.file.end - frame.file.start;
                assert!(stored <= part.length + 13 + 3 * part.length.div_ceil(128 << 10));
                whole += 1;
            }
        }
    }
    assert!(whole > 20);
}

#[test]
fn frames_do_not_depend_on_how_the_bytes_arrive() {
    fn read(dir: &tempfile::TempDir, name: &str) -> Vec<u8> {
        fs::read(dir.path().join(name)).unwrap()
    }

    let dir = tempfile::tempdir().unwrap();
    for (n, streamed) in [usize::MAX, 100_000, 1000, 0].into_iter().enumerate() {
        write(dir.path(), &format!("{n}.tar.zst"), Some(1), streamed, 60);
        assert!(
            read(&dir, &format!("{n}.tar.zst")) == read(&dir, "0.tar.zst"),
            "streamed from {streamed}"
        );
        assert!(read(&dir, &format!("{n}.index")) == read(&dir, "0.index"));
    }
}

#[test]
fn small_samples_share_frames_and_a_large_part_has_several() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = ShardWriter::create_compressed(dir.path(), "a.tar.zst", 3).unwrap();
    for n in 0..3000 {
        writer.begin(format!("{n:06}").as_bytes());
        put(&mut writer, "json", &json(n), usize::MAX);
        writer.commit(None).unwrap();
    }
    writer.begin(b"large");
    put(&mut writer, "mp4", &noise(20 << 20, 5), 1 << 20);
    writer.commit(None).unwrap();
    writer.finish().unwrap().publish(dir.path(), "a.tar.zst", Durability::Cached).unwrap();
    let index = Index::open(dir.path().join("a.index")).unwrap();
    let found = frames(&index);
    assert!(found.len() < 60, "{}", found.len());
    assert!(found.iter().all(|frame| frame.data.end - frame.data.start <= 8 << 20));
    for sample in index.iter().take(3000) {
        let sample = sample.unwrap();
        let of = |at: u64| index.frame_with(at).unwrap();
        assert_eq!(of(sample.first), of(sample.end().unwrap() - 1), "one frame");
    }
}

#[test]
fn a_damaged_record_of_a_frame_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.tar.zst", Some(3), usize::MAX, 40);
    let bytes = fs::read(dir.path().join("a.index")).unwrap();
    for at in (0..bytes.len()).step_by(97) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x20;
        if let Ok(index) = Index::from_bytes(wrong) {
            assert!(index.check().is_err(), "byte {at}");
        }
    }
}
