//! The time from opening a data set in a store to its first batch, for a data set of any number of samples, as an example
//! of the feature `remote`.
//!
//!     cargo run --profile dist -p tarflume-formats --example open -- make DIR 7800 10000000
//!     cargo run --profile dist -p tarflume --features remote --example first_batch -- DIR
//!
//! The server is in this process. An answer begins after 30 ms, and a connection has 50 MB/s. The tars are zeros, so nothing
//! is verified.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tarflume::{Dataset, Loader, Shuffle, Storage, Verify};
use tarflume_store::Store;
use tarflume_store::simulated::Server;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder made by the example `open`");
    let server = Server::new().with_delay(Duration::from_millis(30)).with_rate(50_000_000);
    let longest = fill(&server, Path::new(&folder));
    println!("the longest tar has {longest} bytes");
    println!("shuffle sidecars samples open_ms first_batch_ms second_batch_ms requests");
    let shuffles = [
        ("full", Shuffle::Full { seed: 1 }),
        ("blocks", Shuffle::Blocks { block: 64, window: 16, seed: 1 }),
        ("none", Shuffle::None),
    ];
    for (name, shuffle) in shuffles {
        let sidecars = tempfile::tempdir().unwrap();
        for kept in ["new", "kept"] {
            let begin = Instant::now();
            let store = Store::open("s3://bucket/set", &server.options()).unwrap();
            let storage = Storage::new().store(store).sidecars(sidecars.path());
            let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
            let samples = dataset.len();
            let opened = begin.elapsed().as_millis();
            server.take_asked();
            let loader = Loader::from_dataset(dataset).shuffle(shuffle).bytes("jpg").batch(256);
            let loader = loader.verify(Verify::Off).threads(2).build().unwrap();
            let mut epoch = loader.epoch(0);
            assert_eq!(epoch.next().unwrap().unwrap().len(), 256);
            let first = begin.elapsed().as_millis();
            let requests = server.take_asked().len();
            epoch.next().unwrap().unwrap();
            let second = begin.elapsed().as_millis();
            println!("{name} {kept} {samples} {opened} {first} {second} {requests}");
        }
    }
}

/// Serves the files of a folder; the tars are one row of zeros. Returns the length of the longest.
fn fill(server: &Server, folder: &Path) -> u64 {
    fn name(path: &Path) -> String {
        format!("set/{}", path.file_name().unwrap().to_str().unwrap())
    }

    fn length(path: &Path) -> u64 {
        std::fs::metadata(path).unwrap().len()
    }

    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (tars, others): (Vec<_>, Vec<_>) =
        files.partition(|path| path.extension().is_some_and(|e| e == "tar"));
    let longest = tars.iter().map(|path| length(path)).max().unwrap_or(0);
    let zeros = Bytes::from(vec![0; longest as usize]);
    tars.iter().for_each(|tar| server.set(&name(tar), zeros.slice(..length(tar) as usize)));
    others.iter().for_each(|file| server.set(&name(file), std::fs::read(file).unwrap()));
    longest
}
