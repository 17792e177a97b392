//! Tars without sidecars at URLs: the same samples as from files, whatever the network does.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tarflume::{ErrorKind, Refusal, Shuffle, Size, Storage, Stream};
use tarflume_fixtures::TarBytes;
use tarflume_store::simulated::hub::{Hub, TOKEN, commit};
use tarflume_store::simulated::listener::{Listener, Reply};
use tarflume_store::simulated::{Asked, Fault, Server};
use tarflume_store::{Bytes, Store};

use crate::patience::{ends, until};
use crate::remote::content_of;

/// Samples of a tar.
const SAMPLES: u64 = 60;
/// Bytes of a range, of which a tar has more than two.
const RANGE: u64 = 4 << 20;

fn tar(number: u64) -> Vec<u8> {
    let mut tar = TarBytes::new();
    for row in 0..SAMPLES {
        let key = format!("{number}-{row:03}");
        tar.member(format!("{key}.bin").as_bytes(), &content_of(row * 31 + number, 180_000));
        tar.member(format!("{key}.txt").as_bytes(), key.as_bytes());
    }
    tar.ended()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// The same tars in a folder and below `set/` of a server.
struct Tars {
    folder: tempfile::TempDir,
    server: Server,
}

impl Tars {
    fn new(names: &[&str]) -> Tars {
        Tars::on(Server::new(), names)
    }

    fn on(server: Server, names: &[&str]) -> Tars {
        let folder = tempfile::tempdir().unwrap();
        for (number, name) in names.iter().enumerate() {
            let plain = tar(number as u64);
            let bytes = match name.rsplit('.').next() {
                Some("gz" | "tgz") => gzip(&plain),
                Some("zst") => zstd::encode_all(&plain[..], 1).unwrap(),
                _ => plain,
            };
            std::fs::write(folder.path().join(name), &bytes).unwrap();
            server.set(&format!("set/{name}"), bytes);
        }
        Tars { folder, server }
    }

    fn storage(&self) -> Storage {
        Storage::new().store(Store::open("s3://bucket", &self.server.options()).unwrap())
    }

    fn remote(&self, pattern: &str) -> Stream {
        Stream::open_with(format!("s3://bucket/{pattern}"), &self.storage()).unwrap()
    }

    fn local(&self) -> Stream {
        Stream::open(self.folder.path().to_str().unwrap()).unwrap()
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.server.take_asked().into_iter().map(|asked| (asked.method, asked.name)).collect()
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// Keys and bytes of an epoch.
fn rows(stream: &Stream, epoch: u64) -> Rows {
    stream
        .samples(epoch)
        .unwrap()
        .map(|sample| {
            let sample = sample.unwrap();
            (sample.key().to_vec(), sample.part("bin").unwrap().to_vec())
        })
        .collect()
}

const THREE: [&str; 3] = ["a.tar", "b.tar.gz", "c.tar.zst"];

#[test]
fn every_kind_of_tar_gives_the_samples_of_the_files() {
    let tars = Tars::new(&THREE);
    let shuffles =
        [Shuffle::None, Shuffle::Shards { seed: 3 }, Shuffle::Buffer { size: 20, seed: 3 }];
    for shuffle in shuffles {
        let remote = tars.remote("set/").shuffle(shuffle);
        for epoch in 0..2 {
            let files = rows(&tars.local().shuffle(shuffle), epoch);
            assert_eq!(files.len() as u64, 3 * SAMPLES);
            assert!(rows(&remote, epoch) == files, "{shuffle:?} {epoch}");
        }
    }
    let halves = tars.remote("set/{a.tar,b.tar.gz,c.tar.zst}");
    let whole = tars.local();
    for rank in 0..2 {
        assert!(rows(&halves.clone().split(rank, 2), 0) == rows(&whole.clone().split(rank, 2), 0));
    }
}

#[test]
fn a_tar_is_asked_for_once_and_in_ranges() {
    let tars = Tars::new(&["a.tar"]);
    let stream = tars.remote("set/a.tar");
    assert_eq!(tars.asked().len(), 0, "opening asks nothing");
    let found = rows(&stream, 0);
    assert!(found == rows(&tars.local(), 0));
    let asked = tars.server.take_asked();
    let length = tars.server.object("set/a.tar").unwrap().len() as u64;
    let mut ranges: Vec<_> = asked.iter().filter_map(|asked| asked.range).collect();
    ranges.sort_unstable();
    assert_eq!(
        ranges,
        (0..length.div_ceil(RANGE))
            .map(|n| (n * RANGE, ((n + 1) * RANGE).min(length)))
            .collect::<Vec<_>>()
    );
    assert_eq!(asked.len(), ranges.len() + 1, "and one for its state");
    assert!(ranges.len() > 2);
    assert!(rows(&stream, 1) == found);
    assert_eq!(tars.asked().len(), asked.len());
}

#[test]
fn readahead_limits_the_ranges_in_memory() {
    fn most_at_once(readahead: u64, wanted: usize) -> usize {
        // The pause leaves time for one too many.
        let tars = Tars::on(Server::new().with_delay(Duration::from_millis(20)), &["a.tar"]);
        // With fewer at once no range is ever answered.
        tars.server.hold(move |held| held.range.is_some() && held.most_at_once < wanted);
        let storage = tars.storage().readahead(Size::new(readahead));
        let stream = Stream::open_with("s3://bucket/set/a.tar", &storage).unwrap();
        assert_eq!(rows(&stream, 0).len() as u64, SAMPLES);
        tars.server.most_at_once()
    }

    assert_eq!(most_at_once(0, 1), 1);
    assert_eq!(most_at_once(2 * RANGE, 2), 2);
    assert_eq!(most_at_once(256 << 20, 3), 3, "all ranges of this tar");
}

#[test]
fn errors_that_pass_and_cuts_change_no_sample() {
    let tars = Tars::new(&THREE);
    let files = rows(&tars.local(), 0);
    for fault in [Fault::Status(503, None), Fault::Reset, Fault::Cut(70_000)] {
        tars.server.take_asked();
        tars.server.plan(move |asked: &Asked| {
            (asked.number % 2 == 1 && asked.number < 12).then_some(fault)
        });
        assert!(rows(&tars.remote("set/"), 0) == files, "{fault:?}");
        assert!(tars.asked().len() >= 12, "{fault:?}");
    }
}

#[test]
fn a_tar_that_is_replaced_is_an_error_with_its_url() {
    let tars = Tars::new(&["a.tar", "b.tar"]);
    let server = tars.server.clone();
    let mut other = tar(7);
    other[600] ^= 1;
    let storage = tars.storage().readahead(Size::new(1));
    let stream = Stream::open_with("s3://bucket/set/", &storage).unwrap();
    let mut samples = stream.ahead(1).samples(0).unwrap();
    samples.next().unwrap().unwrap();
    server.set("set/a.tar", other);
    let mut errors = Vec::new();
    let mut later = 0;
    for sample in samples {
        match sample {
            Ok(_) => later += 1,
            Err(error) => errors.push(error),
        }
    }
    let [error] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert_eq!(error.place().path.as_deref(), Some(Path::new("s3://bucket/set/a.tar")));
    assert_eq!(error.place().byte, Some(RANGE));
    assert!(later > SAMPLES, "the other tar is read: {later}");
}

#[test]
fn the_next_epoch_reads_what_is_there_then() {
    let tars = Tars::new(&["a.tar"]);
    let stream = tars.remote("set/a.tar");
    let before = rows(&stream, 0);
    tars.server.set("set/a.tar", tar(9));
    let after = rows(&stream, 1);
    assert_eq!(after.len(), before.len());
    assert_eq!(after[0].0, b"9-000");
}

#[test]
fn dropping_does_not_wait_for_a_slow_store() {
    let tars = Tars::new(&["a.tar", "b.tar"]);
    // Nothing is answered, not even the question for the state; or only the first range.
    for answered in [None, Some(0)] {
        tars.server.hold(move |held| match answered {
            None => true,
            Some(first) => held.range.is_some_and(|(at, _)| at > first),
        });
        for waits in [false, true] {
            let before = tars.server.begun();
            let mut samples = tars.remote("set/{a,b}.tar").samples(0).unwrap();
            if answered.is_some() {
                samples.next().unwrap().unwrap();
            }
            until("a request", || !waits || tars.server.begun() > before);
            ends("dropping the samples", move || drop(samples));
        }
    }
    tars.server.hold(|_| false);
}

#[test]
fn what_is_missing_is_an_error_at_its_place() {
    let tars = Tars::new(&["000.tar", "002.tar"]);
    let stream = tars.remote("set/{000..002}.tar");
    assert_eq!(stream.shards(), 3);
    let found: Vec<_> = stream.samples(0).unwrap().collect();
    assert_eq!(found.len() as u64, 2 * SAMPLES + 1);
    let error = found[SAMPLES as usize].as_ref().unwrap_err();
    assert_eq!(error.to_string(), "s3://bucket/set/001.tar: the store has no such object");
    assert_eq!(found[SAMPLES as usize + 1].as_ref().unwrap().key(), b"1-000");
}

#[test]
fn a_folder_is_its_tars_and_nothing_below_it() {
    let tars = Tars::new(&["b.tgz", "a.tar"]);
    for other in ["set/.hidden.tar", "set/sub/c.tar", "set/a.index", "settle/d.tar"] {
        tars.server.set(other, tar(5));
    }
    let stream = tars.remote("set/");
    assert_eq!(tars.asked().len(), 1, "the listing");
    assert_eq!(stream.shards(), 2);
    assert!(rows(&stream, 0) == rows(&tars.local(), 0));
    let both = ["s3://bucket/set/sub/", "s3://bucket/set/a.tar"];
    assert_eq!(Stream::list_with(both, &tars.storage()).unwrap().shards(), 2);
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    fn opened(url: &str) -> String {
        Stream::open(url).unwrap_err().to_string()
    }

    let tars = Tars::new(&["a.tar"]);
    let given = |url: &str| Stream::open_with(url, &tars.storage()).unwrap_err().to_string();
    assert!(given("s3://bucket/set/*.tar").contains("name the tars by braces"));
    assert!(given("s3://bucket/none/").contains("s3://bucket/none/: this folder contains no tar"));
    assert!(given("s3://other/a.tar").contains("not below the URL of the store"));
    let unknown = opened("ftp://host/a.tar");
    assert!(
        unknown.starts_with("ftp://host/a.tar: cannot open ftp://; there are s3://"),
        "{unknown}"
    );
    let web = opened("http://127.0.0.1:9/set/");
    assert!(web.contains("an HTTP server lists no objects") && web.contains("by braces"), "{web}");
    assert!(opened("https://host").contains("name a tar"));
    assert!(opened("hf://a.tar").contains("hf://datasets/OWNER/NAME"));
    assert!(opened("s3://bucket/{a..}.tar").contains("is not a range of numbers"));
    let refused = tars.remote("set/a.tar").refuse(Refusal::Resume).to_string();
    assert!(refused.contains("run `pack index s3://bucket/set`"), "{refused}");
    let refused = Stream::open("https://h/a.tar").unwrap().refuse(Refusal::Resume).to_string();
    assert!(refused.contains("save the stream as tars in a folder"), "{refused}");
}

/// A server of one tar under any name below `/x/`; the query `sig=secret` is needed below `/x/s`.
fn web(bytes: Vec<u8>) -> Listener {
    let bytes = Bytes::from(bytes);
    Listener::start(move |request| match request.path() {
        path if path.starts_with("/x/s") && request.query("sig") != Some("secret") => {
            Reply::new(403, "<Error><Code>AccessDenied</Code></Error>")
        }
        path if path.starts_with("/x/") => Reply::of(&bytes, request).with("ETag", "\"one\""),
        _ => Reply::new(404, ""),
    })
}

#[test]
fn web_servers_are_read_by_plain_presigned_and_encoded_urls() {
    let server = web(tar(0));
    let url = |rest: &str| format!("{}{rest}", server.url());
    let opened = |rest: &str| Stream::open(url(rest)).unwrap();
    let plain = rows(&opened("/x/a.tar"), 0);
    assert_eq!(plain.len() as u64, SAMPLES);
    assert!(rows(&opened("/x/s{0..1}.tar?sig=secret"), 0).len() == 2 * plain.len());
    assert!(rows(&opened("/x/a%20b.tar"), 0) == plain);
    let twice = [url("/x/dl?file=1"), url("/x/dl?file=2"), url("/x/a.tar")];
    assert!(rows(&Stream::list(twice).unwrap(), 0).len() == 3 * plain.len());
    let refused = opened("/x/s.tar?sig=wrong").samples(0).unwrap().next().unwrap().unwrap_err();
    assert!(refused.to_string().starts_with(&url("/x/s.tar: ")), "{refused}");
    assert!(!format!("{refused:?}").contains("wrong"), "{refused:?}");
}

#[test]
fn a_list_of_urls_is_streamed() {
    let server = web(tar(0));
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("train.urls");
    let [one, manifest, two] = ["s1.tar", "dataset.json", "s0.tar"]
        .map(|name| format!("{}/x/{name}?sig=secret\n", server.url()));
    std::fs::write(&list, one + &manifest + &two).unwrap();
    let stream = Stream::open(list.to_str().unwrap()).unwrap();
    assert_eq!(stream.shards(), 2);
    assert_eq!(rows(&stream, 0).len() as u64, 2 * SAMPLES);
    std::fs::write(&list, manifest).unwrap();
    let error = Stream::open(list.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("names no tar"), "{error}");
}

#[test]
fn tars_on_the_hub_are_listed_and_read() {
    let hub = Hub::new();
    hub.push(
        "main",
        &commit(1),
        (0..2).map(|number| (format!("train/{number:02}.tar"), tar(number))),
    );
    hub.require_token();
    let notes = tempfile::tempdir().unwrap();
    let storage = Storage::new()
        .option("endpoint", &hub.endpoint())
        .and_then(|storage| storage.option("token", TOKEN))
        .unwrap()
        .sidecars(notes.path());
    let place = "hf://datasets/lab/photos@main/train/";
    for pattern in [place.to_string(), format!("{place}{{00..01}}.tar")] {
        let stream = Stream::open_with(&pattern, &storage).unwrap();
        assert_eq!(rows(&stream, 0).len() as u64, 2 * SAMPLES, "{pattern}");
    }
}
