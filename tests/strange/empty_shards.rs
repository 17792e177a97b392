//! Tars of zeros, as downloaders leave them for shards in which no sample was downloaded.

use std::fs;

use crate::harness::{Place, tool};

fn place() -> Place {
    let place = Place::new();
    place.folder("d", 5);
    place.pack("build d -o made").succeeds();
    let tar = fs::read(place.at("made/shard-000000.tar")).unwrap();
    place.file("t/a.tar", tar);
    place.file("t/b.tar", [0; 10_240]).file("t/c.tar", [0; 1024]);
    place
}

#[test]
fn a_tar_of_zeros_is_a_shard_without_samples_for_every_command() {
    let place = place();
    let said = "t/b.tar: there is no file in this tar; it becomes a shard without samples";
    place.pack("index t").succeeds().says(said).says("3 shards, 5 samples");
    place.pack("index t").succeeds().says("kept");
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify --level {level} t")).succeeds().says("3 shards, 5 samples");
    }
    place.pack("index --force --entry-points --columns class:u32 t").succeeds();
    place.pack("verify --level decode t").succeeds();
    place.pack("ls t/b.tar").succeeds().prints("", "");
    place.pack("info t").succeeds();
    place.pack("stats t").succeeds();
    place.pack("unpack t/c.tar -o u").succeeds();
    for (command, out) in [("reshard t -o r", "r"), ("build tar:t -o b", "b")] {
        place
            .pack(command)
            .succeeds()
            .says("tars have no file and give no sample; the first is PLACE/t/b.tar");
        assert!(place.names(out).len() > 1, "{command}");
    }
    place.pack("export t --to folder -o e").succeeds();
    assert!(place.names("e").len() > 1);
    place.pack("index --export dali t").succeeds().says("t/b.tar: it has no samples");
    assert!(place.at("t/a.idx").try_exists().unwrap());
    assert!(!place.at("t/b.idx").try_exists().unwrap());
    assert_eq!(place.members("r"), place.members("b"));
    assert_eq!(place.members("r").len(), 10);
}

#[test]
fn tars_of_zeros_without_a_sidecar_are_sources() {
    let place = place();
    place.file("t/d.tar", [0; 10_240]);
    tool(&place, "gzip", &["t/d.tar"]).succeeds();
    place.file("t/e.tar.zst", zstd::encode_all(&[0; 10_240][..], 1).unwrap());
    place.pack("build tar:t -o b").succeeds().says("5 samples").says("4 tars have no file");
    place.pack("reshard t -o r").succeeds().says("4 tars have no file");
    place.pack("verify t/b.tar").exits(1).says("there is no sidecar");
}
