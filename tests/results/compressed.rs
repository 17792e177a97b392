//! Compressed shards: `--compress zstd`, and every command that reads shards.

use std::fs;

use tarflume_fixtures::Folder;

use crate::harness::{Place, members_of};
use crate::interrupted::kills::killed;
use crate::results::reshard::same_shards;

/// Packs 24 photographs with long captions, plain and compressed.
fn packed() -> Place {
    let place = Place::new();
    Folder::new(7).dirs(3).pairs(24).mixed_kinds().write(&place.at("photos")).unwrap();
    for (n, key) in place.names("photos").into_iter().enumerate() {
        if let Some(stem) = key.strip_suffix(".json") {
            let text = format!("{n} {}", "a photograph of something. ".repeat(n * 20 % 300));
            place.file(format!("photos/{stem}.txt"), text);
        }
    }
    place.pack("build photos -o plain --shards 3").succeeds();
    place.pack("build photos -o zstd --shards 3 --compress zstd:5").succeeds();
    place
}

fn decompressed(place: &Place, shard: &str) -> Vec<u8> {
    zstd::decode_all(&fs::read(place.at(format!("zstd/{shard}.tar.zst"))).unwrap()[..]).unwrap()
}

#[test]
fn a_compressed_shard_holds_the_tar_and_names_its_sidecar_as_the_plain_one() {
    let place = packed();
    for n in 0..3 {
        let shard = format!("shard-00000{n}");
        let tar = fs::read(place.at(format!("plain/{shard}.tar"))).unwrap();
        assert!(decompressed(&place, &shard) == tar);
    }
    let names = place.names("zstd");
    assert!(names.contains(&"shard-000000.index".to_string()), "{names:?}");
    assert_eq!(names.len(), 7, "{names:?}");
    let bytes = |set: &str| -> u64 {
        let shards = place.manifest(set)["shards"].as_array().unwrap().clone();
        shards.iter().map(|shard| shard["bytes"].as_u64().unwrap()).sum()
    };
    assert!(bytes("zstd") < bytes("plain"));
    place.pack("build photos -o again --shards 3 --compress zstd:5 --jobs 1").succeeds();
    place.same("again", "zstd");
    place.pack("build photos -o bad --compress gzip").exits(2).says("zstd:LEVEL");
}

#[test]
fn every_command_reads_compressed_shards() {
    let place = packed();
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify --level {level} zstd")).succeeds();
    }
    let said = place.pack("diff plain zstd").succeeds().stdout;
    assert!(said.ends_with("24 the same\n"), "{said}");
    let key = place.pack("ls --format json zstd").succeeds().events()[5]["key"].clone();
    let key = key.as_str().unwrap();
    for ext in ["json", "txt"] {
        let cat = |set: &str| place.pack(&format!("cat {set} {key}.{ext}")).succeeds().stdout;
        assert!(cat("zstd") == cat("plain") && !cat("zstd").is_empty());
    }
    place.pack("unpack zstd -o files").succeeds();
    place.same("files", "photos");
    for format in ["mds", "csv"] {
        for set in ["plain", "zstd"] {
            place.pack(&format!("export {set} --to {format} -o {set}.{format}")).succeeds();
        }
    }
    place.same("zstd.mds", "plain.mds");
    place.pack("info zstd").succeeds();
    place.pack("info zstd/shard-000000.tar.zst").succeeds();
    place.pack("reshard zstd -o from-zstd --shards 2").succeeds();
    place.pack("reshard plain -o from-plain --shards 2").succeeds();
    same_shards(&place, "from-zstd", "from-plain");
    place.pack("reshard plain -o to-zstd --shards 3 --compress zstd:5").succeeds();
    place.pack("reshard zstd -o some --where json:/width>=300").succeeds();
    place.pack("reshard plain -o same --where json:/width>=300").succeeds();
    same_shards(&place, "some", "same");
    for n in 0..3 {
        let of = |set: &str| fs::read(place.at(format!("{set}/shard-00000{n}.tar.zst"))).unwrap();
        assert!(of("to-zstd") == of("zstd"));
    }
    // Classes and pictures are read, and no part is called damaged.
    let counted = |set: &str| {
        let said = place.pack(&format!("stats --format json {set}")).succeeds().stdout;
        let mut stats: serde_json::Value = serde_json::from_str(&said).unwrap();
        stats.as_object_mut().unwrap().remove("bytes");
        stats
    };
    assert_eq!(counted("zstd"), counted("plain"));
    place.pack("bench zstd --seconds 1").succeeds();
    place.pack("sync zstd copy").succeeds();
    place.same("copy", "zstd");
}

#[test]
fn an_append_to_a_compressed_data_set_is_compressed() {
    let place = packed();
    for n in 0..5 {
        place.pair(&format!("photos/zz/{n}"));
    }
    place.pack("append photos -o zstd").succeeds();
    assert!(place.names("zstd").contains(&"shard-000003.tar.zst".to_string()));
    place.pack("verify zstd").succeeds();
}

#[test]
fn damage_is_found_and_each_lost_sample_is_named() {
    let place = packed();
    let path = place.at("zstd/shard-000001.tar.zst");
    let whole = fs::read(&path).unwrap();
    let tar = decompressed(&place, "shard-000001");
    let photo = members_of(&tar).into_iter().find(|member| member.name.ends_with(".jpg")).unwrap();
    let key = photo.name.split('.').next().unwrap().to_string();
    let at = whole.windows(64).position(|bytes| bytes == &photo.data[1000..1064]).unwrap();
    let mut wrong = whole.clone();
    wrong[at] ^= 1;
    fs::write(&path, &wrong).unwrap();
    place.pack("verify zstd").exits(1).says(&key).says("zstd frame is damaged");
    place.pack(&format!("cat zstd {}", photo.name)).exits(65).says("zstd frame is damaged");
    place.pack("reshard zstd -o new").exits(65).says("zstd frame is damaged");
    let counted = place.pack("stats zstd").succeeds().stdout;
    assert!(counted.contains("damaged-part jpg") && counted.contains(&key), "{counted}");
    place.pack("view zstd -o page.html").succeeds();
    fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    place.pack("verify --level quick zstd").exits(1);
    place.pack("verify zstd").exits(1);
    fs::write(&path, &whole).unwrap();
    place.pack("verify zstd").succeeds();
}

#[test]
fn compressed_builds_killed_at_random_calls_give_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    killed(&place, "photos", "--shard-samples 6 --compress zstd", 15);
}
