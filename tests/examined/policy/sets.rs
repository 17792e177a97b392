//! Bounds between data sets, and who may sign them.

use std::fs;

use image::codecs::jpeg::JpegEncoder;
use tarflume_fixtures::{Photo, PhotoKind};

use super::{finds, labeled, verify};
use crate::harness::Place;

fn photo(seed: u64) -> Vec<u8> {
    Photo::new(320, 240, PhotoKind::Yuv420).encode(seed).unwrap()
}

/// The same picture in other bytes.
fn recompressed(jpeg: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let image = image::load_from_memory(jpeg).unwrap();
    image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, 60)).unwrap();
    bytes
}

#[test]
fn pictures_that_look_alike_are_found_between_data_sets_at_the_level_that_decodes() {
    let place = Place::new();
    for n in 0..4 {
        place.file(format!("a/{n}.jpg"), photo(n));
        place.file(format!("b/{n}.jpg"), photo(10 + n));
    }
    let policy = "[sets.train]\npath = \"train\"\n[sets.val]\npath = \"val\"\n[[duplicates]]\nacross = [\"train\", \
                  \"val\"]\nkind = \"near\"\ndistance = 6\n";
    place.file("pack.toml", policy);
    place.pack("build a -o train --require image").succeeds();
    place.pack("build b -o val --require image").succeeds();
    place.pack("verify --level decode").succeeds();
    place.file("b/leak.jpg", recompressed(&photo(2)));
    fs::remove_dir_all(place.at("val")).unwrap();
    place.pack("build b -o val --require image").succeeds();
    let (exit, found) = verify(&place, "--level decode");
    assert_eq!((exit, found.len()), (1, 1), "{found:?}");
    assert!(found[0].starts_with("policy-duplicate "), "{found:?}");
    assert!(found[0].contains("val/shard-000000.tar leak: pack.toml:5:"), "{found:?}");
    assert!(found[0].contains("of 64 bits of its hash from '2' in train"), "{found:?}");
    let full = place.pack("verify").succeeds();
    full.says("pictures are compared by their bytes; --level decode finds those that look alike");
}

fn public_key(place: &Place, file: &str) -> String {
    let text = fs::read_to_string(place.at(file)).unwrap();
    text.lines().nth(1).unwrap().to_string()
}

#[test]
fn a_policy_states_who_may_sign() {
    let place = labeled();
    place.pack("sign --new-key release.key --no-password").succeeds();
    place.pack("sign --new-key other.key --no-password").succeeds();
    let policy = format!("[signatures]\nallowed = [\"{}\"]\n", public_key(&place, "release.pub"));
    finds(&place, &policy, &["no-signature shards"]);
    place.pack("sign shards --key release.key").succeeds();
    finds(&place, &policy, &[]);
    let other = format!("[signatures]\nallowed = [\"{}\"]\n", public_key(&place, "other.pub"));
    finds(&place, &other, &["bad-signature shards"]);
    finds(&place, &format!("[rules]\nbad-signature = \"off\"\n{other}"), &[]);
    let both = format!(
        "[signatures]\nallowed = [\"{}\", \"{}\"]\n",
        public_key(&place, "other.pub"),
        public_key(&place, "release.pub")
    );
    finds(&place, &both, &[]);
}

#[test]
fn without_paths_the_data_sets_of_the_policy_are_verified() {
    let place = Place::new();
    place.photos("a", 4).photos("b", 3);
    place.pack("build a -o data/train").succeeds();
    place.pack("build b -o data/val").succeeds();
    place.pack("verify").exits(2).says("no path is given").says("pack policy init");
    place.file("pack.toml", "[total]\nsamples = 4\n");
    place.pack("verify").exits(2).says("names no data sets in [sets]");
    place.pack("policy init data/train data/val -o ci.toml").succeeds();
    fs::rename(place.at("ci.toml"), place.at("pack.toml")).unwrap();
    let named = place.pack("verify --format json data/train data/val").succeeds().stdout;
    assert_eq!(place.pack("verify --format json").succeeds().stdout, named);
    assert_eq!(place.pack("verify --format json --policy pack.toml").succeeds().stdout, named);
    place.pack("verify --level quick --jobs 1").succeeds().says("  data/val: 1 shard, 3 samples");
    place.pack("verify --no-policy").exits(2).says("no path is given");
    place.pack("verify --changed").exits(2).says("--changed takes the files that have changed");
    fs::remove_dir_all(place.at("data/val")).unwrap();
    place.pack("verify").exits(2).says("not checked: data/val");
}
