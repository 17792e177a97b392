//! Memory of streams: bounded in bytes, whatever the sizes of samples.

use std::io::{Cursor, Read};

use tarflume::{ErrorKind, Shuffle, Size, Stream};
use tarflume_fixtures::{Header, TarBytes};

use super::zstd;

/// A tar of samples, made while it is read: `sizes[i % len]` bytes for sample i.
struct Made {
    sizes: Vec<u64>,
    count: u64,
    next: u64,
    piece: Cursor<Vec<u8>>,
}

impl Made {
    fn new(count: u64, sizes: &[u64]) -> Made {
        Made { sizes: sizes.to_vec(), count, next: 0, piece: Cursor::default() }
    }
}

impl Read for Made {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.piece.read(into)?;
        if bytes > 0 || into.is_empty() || self.next > self.count {
            return Ok(bytes);
        }
        let mut tar = TarBytes::new();
        if self.next < self.count {
            let size = self.sizes[(self.next % self.sizes.len() as u64) as usize];
            tar.member(format!("{:06}.bin", self.next).as_bytes(), &vec![7; size as usize]);
            self.piece = Cursor::new(tar.open());
        } else {
            self.piece = Cursor::new(tar.ended());
        }
        self.next += 1;
        self.piece.read(into)
    }
}

#[test]
fn large_samples_stay_within_the_bound_and_the_buffer_says_it_is_short() {
    let memory = 256 << 20;
    let sizes = [20_000_000, 3000, 5_000_000, 20_000_001, 100];
    let stream = Stream::from_reader("made", Made::new(60, &sizes)).memory_limit(Size::new(memory));
    let stream = stream.shuffle(Shuffle::Buffer { size: 50, seed: 0 });
    let mut epoch = stream.samples(0).unwrap();
    let mut keys = Vec::new();
    for sample in epoch.by_ref() {
        let sample = sample.unwrap();
        assert!(sample.part("bin").unwrap().iter().all(|&b| b == 7));
        keys.push(sample.key().to_vec());
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 60);
    let stats = epoch.stats();
    let notes = epoch.notes();
    assert!(stats.peak <= memory * 7 / 8, "{stats:?}");
    assert!(stats.peak >= 20_000_000 * 4, "{stats:?}");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("the shuffle buffer of 50 samples was full with"), "{notes:?}");
}

#[test]
fn reading_stops_while_the_caller_takes_nothing() {
    let stream = Stream::from_reader("made", Made::new(1000, &[1_000_000]))
        .memory_limit(Size::new(64 << 20));
    let mut epoch = stream.samples(0).unwrap();
    let held: Vec<_> = epoch.by_ref().take(60).map(|s| s.unwrap()).collect();
    assert_eq!(held.len(), 60, "what the caller holds must not keep the next sample away");
    drop(held);
    assert_eq!(epoch.by_ref().filter(|s| s.is_ok()).count(), 940);
}

#[test]
fn few_samples_wait_where_few_are_wanted_and_one_always() {
    for (ahead, most) in [(4 << 20, 24 << 20), (1, 12 << 20)] {
        let stream = Stream::from_reader("made", Made::new(300, &[1_000_000])).ahead(ahead);
        let mut epoch = stream.samples(0).unwrap();
        let samples = epoch.by_ref().inspect(|_| (0..20).for_each(|_| std::thread::yield_now()));
        assert_eq!(samples.filter(|sample| sample.is_ok()).count(), 300);
        let stats = epoch.stats();
        assert!(stats.peak <= most, "{stats:?}");
    }
}

#[test]
fn a_sample_over_its_share_is_bad_and_the_next_one_follows() {
    let sizes = [1000, 3_000_000, 2000];
    let stream =
        Stream::from_reader("made", Made::new(3, &sizes)).memory_limit(Size::new(16 << 20));
    let items: Vec<_> = stream.samples(0).unwrap().collect();
    let error = items[1].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.place().key.as_deref(), Some("000001"));
    assert!(error.text().contains("3000000 bytes"), "{error}");
    assert!(items[0].is_ok() && items[2].is_ok());
    // The memory that the error recommends is sufficient.
    let words = error.text().rsplit("its memory to ").next().unwrap();
    let enough: u64 = words.split(' ').next().unwrap().parse().unwrap();
    let stream = Stream::from_reader("made", Made::new(3, &sizes)).memory_limit(Size::new(enough));
    assert!(stream.samples(0).unwrap().all(|item| item.is_ok()));
}

#[test]
fn a_claim_of_a_terabyte_takes_no_memory() {
    let mut tar = TarBytes::new();
    tar.member(b"a.bin", b"a");
    tar.header(&Header::file(b"b.bin", 0).size_base256(1 << 40).seal());
    let bytes = [tar.open(), vec![0; 4096]].concat();
    let stream = Stream::from_reader("liar", Cursor::new(bytes)).memory_limit(Size::new(16 << 20));
    let items: Vec<_> = stream.samples(0).unwrap().collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1].as_ref().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(items[2].as_ref().unwrap_err().kind(), ErrorKind::Truncated);
}

#[test]
fn a_bomb_is_a_bad_sample() {
    let mut tar = TarBytes::new();
    let tar = tar.member(b"bomb.bin", &vec![0; 200 << 20]).member(b"c.txt", b"c").ended();
    let packed = zstd(&tar);
    assert!(packed.len() < 100_000);
    let stream = Stream::from_reader("bomb", Cursor::new(packed)).memory_limit(Size::new(16 << 20));
    let mut epoch = stream.samples(0).unwrap();
    assert_eq!(epoch.next().unwrap().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(epoch.next().unwrap().unwrap().key(), b"c");
    assert!(epoch.next().is_none());
    assert!(epoch.stats().peak < 16 << 20);
}

#[test]
fn a_zstd_window_over_its_share_is_an_error_that_names_the_limit() {
    let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
    out.window_log(27).unwrap();
    out.long_distance_matching(true).unwrap();
    let mut tar = TarBytes::new();
    let noise: Vec<u8> =
        (0..40_000_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    std::io::copy(&mut &tar.member(b"a.bin", &noise).ended()[..], &mut out).unwrap();
    let packed = out.finish().unwrap();
    let [narrow, wide] = [32 << 20, 1 << 30].map(|memory| {
        Stream::from_reader("wide", Cursor::new(packed.clone())).memory_limit(Size::new(memory))
    });
    let error = narrow.samples(0).unwrap().next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.text().contains("window"), "{error}");
    assert!(wide.samples(0).unwrap().all(|s| s.is_ok()));
}
