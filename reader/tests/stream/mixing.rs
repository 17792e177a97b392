//! The order of streams: depends on seed, epoch, shards, buffer and rank only.

use std::collections::BTreeSet;
use std::fs;

use tarflume::{Error, ErrorKind, Refusal, Shuffle, Size, Stream};
use tarflume_fixtures::TarBytes;
use tempfile::TempDir;

/// Shards `0.tar` and so on with keys `SHARD-SAMPLE`, unevenly many samples.
fn folder(shards: usize) -> (TempDir, Stream) {
    let dir = tempfile::tempdir().unwrap();
    for shard in 0..shards {
        let mut tar = TarBytes::new();
        for sample in 0..5 + shard * 3 % 7 {
            tar.sample(&format!("{shard:02}-{sample:02}"), 1);
        }
        fs::write(dir.path().join(format!("{shard:02}.tar")), tar.ended()).unwrap();
    }
    let stream = Stream::open(dir.path().to_str().unwrap()).unwrap();
    (dir, stream)
}

fn keys(stream: &Stream, epoch: u64) -> Vec<String> {
    let samples = stream.samples(epoch).unwrap();
    samples.map(|s| String::from_utf8(s.unwrap().key().to_vec()).unwrap()).collect()
}

fn sorted(mut keys: Vec<String>) -> Vec<String> {
    keys.sort();
    keys
}

#[test]
fn each_shuffle_gives_each_sample_once_and_the_same_again() {
    let (_dir, stream) = folder(9);
    let all = keys(&stream, 0);
    assert_eq!(all, sorted(all.clone()), "unshuffled is the order of names");
    let shuffles: [fn(u64) -> Shuffle; 4] = [
        |seed| Shuffle::Shards { seed },
        |seed| Shuffle::Buffer { size: 1, seed },
        |seed| Shuffle::Buffer { size: 20, seed },
        |seed| Shuffle::Buffer { size: 1000, seed },
    ];
    for of_seed in shuffles {
        let shuffle = of_seed(5);
        let stream = stream.clone().shuffle(shuffle);
        let zero = keys(&stream, 0);
        let one = keys(&stream, 1);
        assert_eq!(zero, keys(&stream, 0), "{shuffle:?}");
        assert_ne!(zero, one, "{shuffle:?}");
        assert_ne!(zero, keys(&stream.clone().shuffle(of_seed(6)), 0), "{shuffle:?}");
        assert_eq!(sorted(zero), all, "{shuffle:?}");
        assert_eq!(sorted(one), all, "{shuffle:?}");
    }
}

#[test]
fn shards_shuffled_stay_whole() {
    let (_dir, stream) = folder(9);
    let keys = keys(&stream.shuffle(Shuffle::Shards { seed: 0 }), 3);
    let mut runs: Vec<&str> = keys.iter().map(|key| &key[..2]).collect();
    runs.dedup();
    assert_eq!(runs.len(), 9, "{runs:?}");
    assert!(keys.windows(2).all(|w| w[0][..2] != w[1][..2] || w[0] < w[1]));
}

#[test]
fn ranks_share_out_the_shards_of_one_order() {
    let (_dir, stream) = folder(9);
    let stream = stream.shuffle(Shuffle::Shards { seed: 2 });
    let whole = keys(&stream, 4);
    for world in [1u64, 2, 4, 9] {
        let mut all = Vec::new();
        for rank in 0..world {
            let mine = keys(&stream.clone().split(rank, world), 4);
            let shards: BTreeSet<&str> = mine.iter().map(|k| &k[..2]).collect();
            let mut order: Vec<&str> = whole.iter().map(|k| &k[..2]).collect();
            order.dedup();
            let want = order.into_iter().skip(rank as usize).step_by(world as usize);
            assert_eq!(shards, want.collect(), "rank {rank} of {world}");
            all.extend(mine);
        }
        assert_eq!(sorted(all), sorted(whole.clone()), "world {world}");
    }
}

#[test]
fn impossible_requests_name_their_numbers() {
    fn usage(stream: Stream) -> Error {
        let error = stream.samples(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error
    }

    let (_dir, stream) = folder(3);
    let few = usage(stream.clone().split(0, 4)).to_string();
    assert!(few.contains("3 shards") && few.contains("4 ranks"), "{few}");
    let rank = usage(stream.clone().split(4, 4)).to_string();
    assert!(rank.contains("rank 4") && rank.contains("of 4 does not exist"), "{rank}");
    let full = usage(stream.clone().shuffle(Shuffle::Full { seed: 1 })).to_string();
    assert!(full.starts_with("a full shuffle needs the position"), "{full}");
    usage(stream.clone().shuffle(Shuffle::Blocks { block: 8, window: 8, seed: 1 }));
    usage(stream.clone().split(0, 0));
    usage(stream.clone().memory_limit(Size::new(1000)));
    usage(stream.clone().shuffle(Shuffle::Buffer { size: 0, seed: 0 }));
}

#[test]
fn refusals_name_the_folder_of_the_shards() {
    let (dir, stream) = folder(1);
    let text = stream.refuse(Refusal::Resume).to_string();
    let want = format!("run `pack index {}` and open the data set", dir.path().display());
    assert!(text.ends_with(&want), "{text}");
    fs::rename(dir.path().join("00.tar"), dir.path().join("00.tgz")).unwrap();
    let packed = Stream::open(dir.path().to_str().unwrap()).unwrap();
    assert!(packed.refuse(Refusal::Length).to_string().contains("decompress the shards"));
    let pipe = Stream::from_reader("a pipe", std::io::empty());
    assert!(pipe.refuse(Refusal::Ledger).to_string().starts_with("a pipe: the proof that"));
}

#[test]
fn a_tar_without_samples_is_noted() {
    let mut tar = TarBytes::new();
    let tar = tar.member(b"README", b"hello").ended();
    let stream = Stream::from_reader("odd.tar", std::io::Cursor::new(tar));
    let mut epoch = stream.samples(0).unwrap();
    assert!(epoch.next().is_none());
    assert_eq!(epoch.notes(), ["odd.tar: none of its 1 members belongs to a sample"]);
}
