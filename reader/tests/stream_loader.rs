//! Batches of a stream compared with batches of the same shards with an index, and the failures that only
//! streams have: stalls, truncation, too little memory, operations that need an index.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::io::{Cursor, Write};
use std::time::Duration;

use tarflume::{
    Batch, CenterCrop, DType, Decode, ErrorKind, Loader, OnBad, RandomResizedCrop, Refusal,
    Remainder, Result, Row, RowShape, Sample, Scratch, Shuffle, Size, Stream, StreamLoader,
    StreamLoaderBuilder,
};

use crate::loader::harness::Shards;
use crate::patience;

/// Extensions and bytes of a sample.
type Parts = Vec<(&'static str, Vec<u8>)>;

/// The key of each row, and the row's bytes in each column.
type Plain = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

fn plain(batch: &Batch) -> Plain {
    (0..batch.len())
        .map(|n| {
            let row = batch.columns().map(|column| column.row(n).to_vec()).collect();
            (batch.key(n).to_vec(), row)
        })
        .collect()
}

fn open(shards: &Shards) -> Stream {
    Stream::open(shards.path().join("*.tar").to_str().unwrap()).unwrap()
}

fn memory(tar: &[u8]) -> Stream {
    Stream::from_reader("memory.tar", Cursor::new(tar.to_vec()))
}

fn wanting(stream: Stream) -> StreamLoaderBuilder {
    Loader::stream(stream).bytes("bin").text("txt").label("json", "/class").batch(7).threads(3)
}

fn epoch(loader: &StreamLoader, epoch: u64) -> Result<Vec<Plain>> {
    loader.epoch(epoch).map(|batch| batch.map(|batch| plain(&batch))).collect()
}

fn rows(loader: &StreamLoader, number: u64) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    epoch(loader, number).unwrap().concat()
}

fn tar_of(samples: impl IntoIterator<Item = (&'static str, Parts)>) -> Vec<u8> {
    let mut tar = tarflume_fixtures::TarBytes::new();
    for (key, parts) in samples {
        for (ext, bytes) in parts {
            tar.member(format!("{key}.{ext}").as_bytes(), &bytes);
        }
    }
    tar.ended()
}

fn good(text: &str) -> Parts {
    vec![("txt", text.as_bytes().to_vec())]
}

#[test]
fn the_columns_are_those_of_the_indexed_loader_in_the_same_order() {
    let shards = Shards::of(&[20, 1, 33]);
    let indexed = Loader::builder(shards.path()).bytes("bin").text("txt").label("json", "/class");
    let indexed = indexed.batch(7).remainder(Remainder::Uneven).build().unwrap();
    let expected: Vec<Plain> = indexed.epoch(0).map(|batch| plain(&batch.unwrap())).collect();
    assert_eq!(expected.last().unwrap().len(), 54 % 7);
    for prefetch in [1, 4] {
        let loader = wanting(open(&shards)).prefetch(prefetch).build().unwrap();
        for number in 0..3 {
            assert!(epoch(&loader, number).unwrap() == expected, "epoch {number}");
        }
    }
    let batch = wanting(open(&shards)).build().unwrap().epoch(2).nth(3).unwrap().unwrap();
    assert_eq!((batch.epoch(), batch.step()), (2, 3));
    assert_eq!(batch.ordinals().next(), Some(2 << 40), "the third shard's first sample");
}

#[test]
fn pictures_are_those_of_the_indexed_loader() {
    let shards = Shards::of_photos(40);
    let indexed = Loader::builder(shards.path()).image("jpg", CenterCrop::new(8)).batch(8);
    let indexed: Vec<_> = indexed.build().unwrap().epoch(0).map(|b| plain(&b.unwrap())).collect();
    let stream = Loader::stream(open(&shards)).image("jpg", CenterCrop::new(8)).batch(8);
    assert!(epoch(&stream.build().unwrap(), 0).unwrap() == indexed);
}

#[test]
fn random_crops_depend_on_seed_epoch_and_sample_alone() {
    fn crops(shards: &Shards, seed: u64) -> StreamLoaderBuilder {
        let stream = open(shards).shuffle(Shuffle::Buffer { size: 10, seed });
        Loader::stream(stream).image("jpg", RandomResizedCrop::new(8)).batch(4).threads(1)
    }

    fn sorted(loader: StreamLoaderBuilder, number: u64) -> Plain {
        let mut rows = rows(&loader.build().unwrap(), number);
        rows.sort();
        rows
    }

    let shards = Shards::of_photos(30);
    let one = sorted(crops(&shards, 1), 0);
    assert_eq!(one.len(), 30);
    assert!(one == sorted(crops(&shards, 1).batch(7).threads(3), 0));
    assert!(one != sorted(crops(&shards, 1), 1));
    assert!(one != sorted(crops(&shards, 2), 0));
}

#[test]
fn gzip_zstd_and_a_pipe_give_the_same() {
    let shards = Shards::of(&[50]);
    let tar = fs::read(shards.shard(0)).unwrap();
    let expected = rows(&wanting(open(&shards)).build().unwrap(), 0);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).unwrap();
    let zstd = zstd::encode_all(&tar[..], 1).unwrap();
    for packed in [gzip.finish().unwrap(), zstd] {
        assert!(rows(&wanting(memory(&packed)).build().unwrap(), 0) == expected);
    }
    let (read, mut write) = std::io::pipe().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in tar.chunks(5000) {
            write.write_all(piece).unwrap();
            std::thread::sleep(Duration::from_micros(200)); // so that batches wait for samples
        }
    });
    let loader = wanting(Stream::from_fd("pipe", read).unwrap()).build().unwrap();
    assert!(rows(&loader, 0) == expected);
    writer.join().unwrap();
    let stats = loader.stats();
    assert_eq!(stats.stage("read").unwrap().items, 50);
    assert_eq!(stats.stage("decode").unwrap().items, 50);
    assert_eq!(stats.stage("plan").unwrap().items, 8);
    let bytes: usize =
        expected.iter().map(|(key, row)| key.len() + row.iter().map(Vec::len).sum::<usize>()).sum();
    assert_eq!(stats.stage("batch").unwrap().bytes, bytes as u64);
}

#[test]
fn a_buffer_mixes_every_sample_in_once_and_the_same_way_each_time() {
    fn loader(shards: &Shards, seed: u64, threads: usize) -> StreamLoader {
        let stream = open(shards).shuffle(Shuffle::Buffer { size: 50, seed });
        wanting(stream).threads(threads).build().unwrap()
    }

    let shards = Shards::of(&[60, 60, 60]);
    let first = loader(&shards, 1, 1);
    let one = rows(&first, 0);
    assert!(one == rows(&loader(&shards, 1, 4), 0));
    assert!(one != rows(&first, 1) && one != rows(&loader(&shards, 2, 1), 0));
    let mut plain = rows(&wanting(open(&shards)).build().unwrap(), 0);
    assert!(one != plain);
    let mut mixed = one;
    mixed.sort();
    plain.sort();
    assert!(mixed == plain);
}

#[test]
fn ranks_share_the_shards_and_see_each_sample_once() {
    let shards = Shards::of(&[10, 20, 5, 1, 30]);
    for shuffle in [Shuffle::None, Shuffle::Shards { seed: 3 }] {
        for world in [1, 2, 5] {
            let ranks = (0..world).map(|rank| open(&shards).shuffle(shuffle).split(rank, world));
            let all = ranks.map(|stream| rows(&wanting(stream).build().unwrap(), 1));
            let mut all: Vec<_> = all.collect::<Vec<_>>().concat();
            all.sort();
            assert!(all == rows(&wanting(open(&shards)).build().unwrap(), 0), "{world} ranks");
        }
    }
}

/// Refuses what isn't a number.
struct Number;

impl Decode for Number {
    fn parts(&self) -> Vec<String> {
        vec!["txt".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U64, vec![])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let text = std::str::from_utf8(sample.part(0)).unwrap_or("");
        assert!(text != "panic", "at the disco");
        let number: u64 = text
            .parse()
            .map_err(|_| tarflume::Error::new(ErrorKind::Decode, "no number").with_byte(1))?;
        row.put(&number.to_ne_bytes())
    }
}

/// Five samples, of which the second and fourth are bad in the way of `parts`.
fn with_bad(parts: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    tar_of([
        ("a", good("1")),
        ("b", parts.to_vec()),
        ("c", good("3")),
        ("d", parts.to_vec()),
        ("e", good("5")),
    ])
}

/// What can be wrong with a sample, the kind of its error, the byte in the shard, and what is said.
fn wrongs() -> Vec<(Parts, ErrorKind, u64, &'static str)> {
    let lacking = vec![("png", b"x".to_vec())];
    let twice = vec![("txt", b"1".to_vec()), ("TXT", b"2".to_vec())];
    vec![
        (lacking, ErrorKind::MissingPart, 1024, "has no part 'txt'; it has: png"),
        (good("x"), ErrorKind::Decode, 1024 + 512 + 1, "no number"),
        (good("panic"), ErrorKind::Panicked, 1024 + 512, "at the disco"),
        (twice, ErrorKind::Damaged, 2048, "is in this sample twice"),
    ]
}

#[test]
fn a_bad_sample_is_an_error_with_shard_byte_and_key() {
    for (parts, kind, byte, said) in wrongs() {
        let loader = Loader::stream(memory(&with_bad(&parts))).column("n", Number).batch(1);
        let mut epoch = loader.build().unwrap().epoch(0);
        assert_eq!(epoch.next().unwrap().unwrap().key(0), b"a");
        let error = epoch.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.place().path.as_deref().unwrap().to_str(), Some("memory.tar"));
        assert_eq!((error.place().byte, error.place().key.as_deref()), (Some(byte), Some("b")));
        assert!(epoch.next().is_none());
    }
}

#[test]
fn skipped_samples_leave_their_batch_a_row_less_and_stand_in_the_list() {
    for (parts, _, byte, said) in wrongs() {
        let tar = with_bad(&parts);
        let loader = Loader::stream(memory(&tar)).column("n", Number).on_bad(OnBad::Skip).batch(2);
        let loader = loader.build().unwrap();
        let batches: Vec<_> = loader.epoch(0).map(Result::unwrap).collect();
        let numbers = batches.iter().map(|b| b.column("n").unwrap().elements::<u64>().unwrap());
        assert_eq!(numbers.collect::<Vec<_>>(), [&[1][..], &[3], &[5]]);
        assert_eq!(batches[0].planned().len(), 2);
        let bad = loader.bad_samples();
        assert_eq!(bad.iter().map(|bad| bad.ordinal).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((bad[0].byte, bad[0].key.as_deref()), (Some(byte), Some("b")));
        assert!(bad[0].reason.contains(said), "{}", bad[0].reason);
        let tight = Loader::stream(memory(&tar)).column("n", Number).on_bad(OnBad::Skip);
        let tight = tight.bad_budget(1).batch(5).build().unwrap();
        let error = tight.epoch(0).next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooManyBad);
    }
}

#[test]
fn an_epoch_of_only_bad_samples_is_an_error() {
    let tar = tar_of([("a", good("x")), ("b", good("y")), ("c", good("z"))]);
    let loader = Loader::stream(memory(&tar)).column("n", Number).on_bad(OnBad::Skip).batch(2);
    let results: Vec<_> = loader.build().unwrap().epoch(0).collect();
    assert_eq!(results.len(), 3);
    assert!(results[..2].iter().all(|batch| batch.as_ref().unwrap().is_empty()));
    let error = results[2].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyBad);
    assert!(error.to_string().contains("every sample of the epoch was bad"), "{error}");
}

#[test]
fn a_cut_shard_is_an_error_and_not_a_shorter_epoch_whatever_the_policy() {
    let shards = Shards::of(&[20, 20, 20]);
    let tar = fs::read(shards.shard(1)).unwrap();
    for cut in [0, 100, tar.len() / 2, tar.len() - 1024] {
        fs::write(shards.shard(1), &tar[..cut]).unwrap();
        for policy in [OnBad::Error, OnBad::Skip] {
            let loader = wanting(open(&shards)).batch(5).on_bad(policy).build().unwrap();
            let results: Vec<_> = loader.epoch(0).collect();
            let (last, before) = results.split_last().unwrap();
            let error = last.as_ref().unwrap_err();
            assert_eq!(error.place().path.as_deref(), Some(&*shards.shard(1)), "{error}");
            assert_eq!(error.kind(), ErrorKind::Truncated, "cut at {cut}: {error}");
            assert!(before.len() >= 4 && before.iter().all(Result::is_ok));
        }
    }
    fs::remove_file(shards.shard(1)).unwrap();
    let stream = Stream::list([0, 1, 2].map(|n| shards.shard(n).to_str().unwrap().to_string()));
    let missing = match stream {
        Err(error) => error,
        Ok(stream) => epoch(&wanting(stream).build().unwrap(), 0).unwrap_err(),
    };
    assert!(missing.to_string().contains("001.tar"), "{missing}");
}

#[test]
fn a_stalled_pipe_can_be_dropped_at_any_moment() {
    let shards = Shards::of(&[50]);
    let tar = fs::read(shards.shard(0)).unwrap();
    for (sent, taken) in [(0, 0), (100, 0), (tar.len() / 2, 0), (tar.len() / 2, 2), (tar.len(), 7)]
    {
        let (read, mut write) = std::io::pipe().unwrap();
        let front = tar[..sent].to_vec();
        let writer = std::thread::spawn(move || {
            let _ = write.write_all(&front); // fails if the reader is gone
            write
        });
        let stream = Stream::from_fd("pipe", read).unwrap();
        let loader = wanting(stream).batch(5).build().unwrap();
        let mut epoch = loader.epoch(0);
        for _ in 0..taken {
            epoch.next().unwrap().unwrap();
        }
        // The writer keeps its end open, so a drop that waits for it hangs.
        patience::ends(&format!("dropping after {sent} bytes"), move || drop((epoch, loader)));
        drop(writer.join().unwrap());
    }
}

#[test]
fn epochs_that_are_dropped_early_leave_the_loader_whole() {
    let shards = Shards::of(&[100, 100]);
    let loader = wanting(open(&shards)).build().unwrap();
    let expected = rows(&loader, 0);
    for number in 0..60 {
        drop(loader.epoch(number).take(number as usize % 20).collect::<Vec<_>>());
    }
    assert!(rows(&loader, 7) == expected);
}

#[test]
fn a_second_epoch_from_one_reader_is_an_error() {
    let loader = Loader::stream(memory(&tar_of([("a", good("1"))]))).text("txt").build().unwrap();
    assert_eq!(rows(&loader, 0).len(), 1);
    let error = epoch(&loader, 1).unwrap_err();
    assert!(error.to_string().contains("memory.tar"), "{error}");
}

/// A loader with little memory for samples in hand.
fn narrow(tar: &[u8]) -> StreamLoaderBuilder {
    let stream = memory(tar).memory_limit(Size::new(16 << 20));
    Loader::stream(stream).bytes("txt").memory_limit("512MiB".parse().unwrap())
}

#[test]
fn samples_that_fill_the_memory_wait_or_are_an_error_and_never_hang() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"];
    let texts = (b'a'..).map(|letter| vec![("txt", vec![letter; 1 << 20])]);
    let tar = tar_of(keys.into_iter().zip(texts));
    // Of 16 MiB ten are for samples in hand: batches of four wait for each other, one of sixteen can't be.
    assert_eq!(rows(&narrow(&tar).batch(4).threads(2).build().unwrap(), 0).len(), 16);
    let error = epoch(&narrow(&tar).batch(16).threads(2).build().unwrap(), 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("a batch of 16 has no room"), "{error}");
    let error = Loader::stream(memory(&tar))
        .bytes("txt")
        .memory_limit("17MiB".parse().unwrap())
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn a_sample_that_keeps_a_batch_from_becoming_full_is_a_bad_sample() {
    // Of 16 MiB ten are for samples in hand: 55 of 128 KiB fit, but not with one that is much larger.
    let mut tar = tarflume_fixtures::TarBytes::new();
    for n in 0..56 {
        let length = if n == 3 { 3 << 19 } else { 128 << 10 };
        tar.member(format!("{n:02}.txt").as_bytes(), &vec![b'a'; length]);
    }
    let tar = tar.ended();
    let skipping = narrow(&tar).batch(56).on_bad(OnBad::Skip).build().unwrap();
    assert_eq!(rows(&skipping, 0).len(), 55);
    let bad = skipping.bad_samples();
    assert_eq!((bad.len(), bad[0].key.as_deref()), (1, Some("03")));
    assert!(bad[0].reason.contains("for the samples of a batch"), "{bad:?}");
    let error = epoch(&narrow(&tar).batch(56).build().unwrap(), 0).unwrap_err();
    assert_eq!((error.kind(), error.place().key.as_deref()), (ErrorKind::Limit, Some("03")));
}

#[test]
fn a_shortened_shuffle_buffer_is_noted() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let tar = tar_of(keys.map(|key| (key, vec![("txt", vec![b'a'; 1 << 20])])));
    let stream = memory(&tar)
        .memory_limit(Size::new(16 << 20))
        .shuffle(Shuffle::Buffer { size: 9, seed: 0 });
    let loader = Loader::stream(stream).bytes("txt").build().unwrap();
    assert_eq!(rows(&loader, 0).len(), 10);
    assert!(loader.notes()[0].contains("the shuffle buffer of 9 samples was full"));
}

#[test]
fn features_that_need_an_index_are_refused_with_a_remedy() {
    let shards = Shards::of(&[4, 4]);
    let ways = format!(": run `pack index {}` and open the data set", shards.path().display());
    let refused = |error: tarflume::Error, reason: &str| {
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.to_string(), format!("{reason}{ways}"));
    };
    let loader = wanting(open(&shards)).build().unwrap();
    let stream = loader.stream();
    let resume = "exact resume needs the position of every sample";
    refused(stream.refuse(Refusal::Resume), resume);
    let length = "the number of samples is known only after all shards are read";
    refused(stream.refuse(Refusal::Length), length);
    let proof = "the proof that each sample was seen exactly once needs the list of samples";
    refused(stream.refuse(Refusal::Ledger), proof);
    let random = "getting a sample by ordinal or key needs the position of every sample";
    refused(stream.refuse(Refusal::RandomAccess), random);
    let split = "splitting by position needs the position of every sample";
    refused(stream.refuse(Refusal::SplitByPosition), split);
    let equal = "the same number of steps on every rank needs the number of samples";
    refused(stream.refuse(Refusal::EqualSteps), equal);
    // With the index, the same shards have what the stream refuses.
    let indexed = shards.loader().build().unwrap();
    assert!(indexed.steps().unwrap() > 0 && indexed.expected(0).is_ok());
    let substituting = wanting(open(&shards)).on_bad(OnBad::Substitute).build();
    let substitute = "a substitute for a bad sample needs the positions of the others";
    refused(substituting.unwrap_err(), substitute);
    let full = wanting(open(&shards).shuffle(Shuffle::Full { seed: 1 })).build();
    refused(full.unwrap_err(), "a full shuffle needs the position of every sample");
}

#[test]
fn impossible_options_are_refused_before_anything_is_read() {
    fn stream() -> Stream {
        Stream::from_reader("never read", Cursor::new(Vec::new()))
    }

    fn said(builder: StreamLoaderBuilder, text: &str) {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }

    said(Loader::stream(stream()), "name the columns");
    said(wanting(stream()).batch(0), "at least one row");
    said(wanting(stream()).threads(0), "needs a thread");
    said(wanting(stream()).prefetch(usize::MAX), "65536 at most");
    said(wanting(stream().split(0, 2)), "cannot be split among 2 ranks");
}
