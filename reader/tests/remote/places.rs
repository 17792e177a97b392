//! Where a data set can be: on the Hub, behind a list of URLs, and parts of one by braces.

use std::path::Path;

use tarflume::{Bucketing, Dataset, ErrorKind, Loader, LoaderBuilder, Shuffle, Storage};
use tarflume_store::Bytes;
use tarflume_store::simulated::hub::{Host, Hub, commit};
use tarflume_store::simulated::listener::{Listener, Reply};

use crate::remote::{SAMPLES, SHARDS, SHUFFLES, Set, content, epoch, loader};

/// The files of a set, by name.
fn files(set: &Set) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(set.folder.path()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

/// A Hub with a set below `train/`, and how it is reached.
fn on_hub(set: &Set) -> (Hub, Storage) {
    let hub = Hub::new();
    hub.push(
        "main",
        &commit(1),
        files(set).into_iter().map(|(name, bytes)| (format!("train/{name}"), bytes)),
    );
    hub.require_token();
    let storage = Storage::new()
        .option("endpoint", &hub.endpoint())
        .and_then(|storage| storage.option("token", tarflume_store::simulated::hub::TOKEN))
        .unwrap();
    (hub, storage.sidecars(set.sidecars.path()))
}

const HUB: &str = "hf://datasets/lab/photos/train";

#[test]
fn a_data_set_on_the_hub_has_the_rows_of_its_files() {
    let set = Set::new();
    let (hub, storage) = on_hub(&set);
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 1 }] {
        let dataset = Dataset::open_with(HUB, &storage).unwrap();
        assert_eq!(dataset.shards()[0].path(), Path::new(HUB).join("shard-000000.tar"));
        let files = epoch(loader(set.local(), shuffle));
        assert_eq!(epoch(loader(dataset, shuffle)), files, "{shuffle:?}");
    }
    let asked = hub.take_asked();
    for (end, count, reason) in [
        ("/revision/main", 1, "of two data sets"),
        ("/dataset.json", 2, "one of each data set"),
        (".index", SHARDS as usize, "sidecars are kept"),
        (".tar", 2 * SHARDS as usize, "a signed URL for each shard of each data set"),
    ] {
        let of_api = asked.iter().filter(|asked| asked.host == Host::Api);
        let found = of_api.filter(|asked| asked.request.path().ends_with(end)).count();
        assert_eq!(found, count, "{end}: {reason}");
    }
}

#[test]
fn a_branch_that_moves_changes_no_row() {
    let set = Set::new();
    let (hub, storage) = on_hub(&set);
    let built = loader(Dataset::open_with(HUB, &storage).unwrap(), Shuffle::None).build().unwrap();
    let mut epoch = built.epoch(0);
    epoch.next().unwrap().unwrap();
    hub.push("main", &commit(2), [("train/dataset.json".to_string(), Vec::new())]);
    hub.revoke();
    let rows: usize = epoch.map(|batch| batch.unwrap().len()).sum();
    assert_eq!(rows as u64, SHARDS * SAMPLES - 8);
}

#[test]
fn what_the_hub_lacks_is_said() {
    let set = Set::new();
    let (_hub, storage) = on_hub(&set);
    let refused = |url: &str| Dataset::open_with(url, &storage).unwrap_err();
    let error = refused("hf://datasets/lab/photos");
    assert!(error.to_string().contains("upload them beside the tars"), "{error}");
    assert_eq!(refused("hf://datasets/lab/photos@v9/train").kind(), ErrorKind::Usage);
}

#[test]
fn named_shards_of_a_store_are_a_data_set() {
    let set = Set::new();
    let part = "s3://bucket/set/shard-{000002,000001}.tar";
    let dataset = Dataset::open_with(part, &set.storage()).unwrap();
    assert_eq!(set.server.take_asked().len(), 1, "dataset.json");
    assert_eq!(dataset.len(), 2 * SAMPLES);
    assert_eq!(dataset.extensions().unwrap()["bin"], 2 * SAMPLES);
    let (rows, _) = epoch(loader(dataset, Shuffle::None));
    let first = [2 * SAMPLES, SAMPLES];
    for (ordinal, bytes) in rows {
        let shard = ordinal / SAMPLES;
        let row = ordinal % SAMPLES;
        assert_eq!(bytes, content(first[shard as usize] + row));
    }
    // Neighbors of a list share the manifest.
    set.server.take_asked();
    let names = ["s3://bucket/set/shard-000000.tar", "s3://bucket/set/shard-000002.tar"];
    let listed = Dataset::open_with(names, &set.storage()).unwrap();
    assert_eq!((listed.len(), set.server.take_asked().len()), (2 * SAMPLES, 1));
}

/// A server of the files of a set that wants a signature, and the text of a list of them.
fn signed(set: &Set) -> (Listener, String) {
    let files = files(set);
    let names: Vec<_> = files.iter().map(|(name, _)| name.clone()).collect();
    let server = Listener::start(move |request| {
        let found = files.iter().find(|(name, _)| request.path() == format!("/x/{name}"));
        match found.filter(|_| request.query("sig") == Some("secret")) {
            Some((_, bytes)) => {
                Reply::of(&Bytes::from(bytes.clone()), request).with("ETag", "\"one\"")
            }
            None => Reply::new(403, "<Error><Code>AccessDenied</Code></Error>"),
        }
    });
    let text = names.iter().map(|name| format!("{}/x/{name}?sig=secret\n", server.url())).collect();
    (server, text)
}

#[test]
fn a_list_of_presigned_urls_is_a_data_set() {
    let set = Set::new();
    let (_server, text) = signed(&set);
    let path = set.sidecars.path().join("train.urls");
    std::fs::write(&path, &text).unwrap();
    let storage = Storage::new().sidecars(set.sidecars.path());
    let dataset = Dataset::open_with(&path, &storage).unwrap();
    assert_eq!(dataset.shards()[1].path(), path.join("shard-000001.tar"));
    let files = epoch(loader(set.local(), Shuffle::Full { seed: 1 }));
    assert_eq!(epoch(loader(dataset, Shuffle::Full { seed: 1 })), files);
    let both = Dataset::concat(&[set.local(), Dataset::open_with(&path, &storage).unwrap()]);
    assert_eq!(both.unwrap().len(), 2 * SHARDS * SAMPLES);
}

#[test]
fn a_list_that_lacks_something_or_has_expired_says_so() {
    fn without(text: &str, part: &str) -> String {
        let lines = text.lines().filter(|line| !line.contains(part));
        lines.map(|line| format!("{line}\n")).collect()
    }

    let set = Set::new();
    let (_server, text) = signed(&set);
    let path = set.sidecars.path().join("train.urls");
    let storage = Storage::new().sidecars(set.sidecars.path());
    let opened = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let dataset = Dataset::open_with(&path, &storage)?;
        dataset.open_all()
    };
    let refused = |text: &str| {
        let error = opened(text).unwrap_err();
        assert!(!error.to_string().contains("sig="), "{error}");
        error
    };
    let manifest = refused(&without(&text, "dataset.json"));
    assert!(manifest.to_string().contains("the list must have its URL"), "{manifest}");
    let sidecar = refused(&without(&text, "000001.index"));
    assert!(sidecar.to_string().contains("shard-000001.index: "), "{sidecar}");
    assert!(sidecar.to_string().contains("no URL of this name"), "{sidecar}");
    let expired = refused(&text.replace("sig=secret", "sig=other"));
    assert!(expired.to_string().contains("presigned URLs expire"), "{expired}");
    opened(&text).unwrap();
}

#[test]
fn batches_by_buckets_are_those_of_the_files_and_are_fetched_in_runs() {
    fn bucketed(dataset: Dataset, shuffle: Shuffle) -> LoaderBuilder {
        let numbers: Vec<i64> = (0..SHARDS * SAMPLES).map(|n| n as i64 * 7 % 3).collect();
        let bucketing = Bucketing::numbered(numbers);
        Loader::from_dataset(dataset)
            .shuffle(shuffle)
            .bytes("bin")
            .batch(8)
            .threads(2)
            .buckets(bucketing)
    }

    let set = Set::new();
    for shuffle in SHUFFLES {
        let files = epoch(bucketed(set.local(), shuffle));
        assert_eq!(files.0.len() as u64, SHARDS * SAMPLES);
        set.server.take_asked();
        assert_eq!(epoch(bucketed(set.remote(), shuffle)), files, "{shuffle:?}");
        let requests =
            set.server.take_asked().iter().filter(|asked| asked.range.is_some()).count() as u64;
        // Stretches of neighbors are looked up together, so runs have several samples.
        assert!(requests < SHARDS * SAMPLES / 2, "{shuffle:?}: {requests} requests");
    }
}
