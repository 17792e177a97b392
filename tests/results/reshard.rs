//! `pack reshard`: the samples of existing shards in other shards.

use std::fs;

use serde_json::Value;
use tarflume_fixtures::Folder;

use crate::harness::{Place, members_of, tool};
use crate::interrupted::kills::killed_command;

/// Packs 24 photographs of different kinds into three shards.
fn packed() -> Place {
    let place = Place::new();
    Folder::new(7).dirs(3).pairs(24).mixed_kinds().write(&place.at("photos")).unwrap();
    place.pack("build photos -o old --shards 3").succeeds();
    place
}

/// Asserts that two data sets have the same tars and sidecars.
#[track_caller]
pub(crate) fn same_shards(place: &Place, one: &str, other: &str) {
    let shards = |set: &str| {
        let mut tree = place.tree(set);
        tree.remove("dataset.json");
        tree
    };
    let one = shards(one);
    let other = shards(other);
    assert!(!one.is_empty());
    assert_eq!(one, other);
}

fn keys(place: &Place, set: &str) -> Vec<String> {
    let run = place.pack(&format!("ls --format json {set}")).succeeds();
    run.events().iter().map(|sample| sample["key"].as_str().unwrap().into()).collect()
}

#[test]
fn other_shards_have_the_bytes_that_a_build_of_the_files_gives() {
    let place = packed();
    for (n, options) in
        ["--shards 5", "--shard-samples 7", "--shard-size 40KiB", "--shuffle 3 --shards 2"]
            .into_iter()
            .enumerate()
    {
        place.pack(&format!("reshard old -o new{n} {options}")).succeeds();
        place.pack(&format!("build photos -o files{n} {options}")).succeeds();
        same_shards(&place, &format!("new{n}"), &format!("files{n}"));
        place.pack(&format!("verify --level decode new{n}")).succeeds();
        let said = place.pack(&format!("diff old new{n}")).succeeds().stdout;
        assert!(said.ends_with("24 the same\n"), "{said}");
    }
    // One thread, and tars without sidecars, whose JPEGs are read again.
    place.pack("reshard old -o one --shards 5 --jobs 1").succeeds();
    same_shards(&place, "one", "new0");
    for shard in 0..3 {
        let name = format!("shard-00000{shard}.tar");
        fs::create_dir_all(place.at("bare")).unwrap();
        fs::copy(place.at(format!("old/{name}")), place.at(format!("bare/{name}"))).unwrap();
    }
    place.pack("reshard bare -o headers --shards 5").succeeds();
    same_shards(&place, "headers", "new0");
}

/// GNU's tools, bzip2 and xz (multiples of four) take zeros for padding; `zstd -dc` writes all data and complains.
#[test]
fn zeros_behind_compressed_tars_are_padding() {
    let place = packed();
    let program = "import bz2, gzip, lzma, pathlib\n\
                   data = pathlib.Path('old', 'shard-000000.tar').read_bytes()\n\
                   pathlib.Path('p').mkdir()\n\
                   for pack, end in [(gzip, 'gz'), (bz2, 'bz2'), (lzma, 'xz')]:\n    \
                       pathlib.Path('p', f'a.tar.{end}').write_bytes(pack.compress(data))\n";
    tool(&place, "python3", &["-c", program]).succeeds();
    let tar = fs::read(place.at("old/shard-000000.tar")).unwrap();
    place.file("p/a.tar.zst", zstd::encode_all(&tar[..], 3).unwrap());
    place.pack("reshard old/shard-000000.tar -o plain").succeeds();
    for end in ["gz", "bz2", "xz", "zst"] {
        let whole = fs::read(place.at(format!("p/a.tar.{end}"))).unwrap();
        for zeros in [4, 7, 10_240] {
            let source = format!("{end}-{zeros}/a.tar.{end}");
            let out = format!("out-{end}-{zeros}");
            place.file(&source, [&whole[..], &vec![0; zeros]].concat());
            place.pack(&format!("reshard {source} -o {out}")).succeeds();
            same_shards(&place, &out, "plain");
        }
        let bad = format!("bad-{end}/a.tar.{end}");
        place.file(&bad, [&whole[..], b"\0\0\0\0other bytes".as_slice()].concat());
        place.pack(&format!("reshard {bad} -o bad-out")).exits(65).says("data is damaged");
        // A second compressed tar behind the padding is read on, or refused, as one without padding.
        let two = format!("two-{end}/a.tar.{end}");
        place.file(&two, [&whole[..], &[0; 512], &whole].concat());
        place.pack(&format!("reshard {two} -o two-out")).exits(65).says("--ignore-zeros");
    }
    // The oracle: what zstd writes of a padded file.
    let found =
        tool(&place, "sh", &["-c", "zstd -dc zst-7/a.tar.zst 2>err | cmp - old/shard-000000.tar"]);
    found.succeeds();
}

#[test]
fn compressed_tars_give_the_shards_of_plain_ones() {
    let place = packed();
    let program = "import bz2, gzip, lzma, pathlib\n\
                   for n, (pack, end) in enumerate([(gzip, 'gz'), (bz2, 'bz2'), (lzma, 'xz')]):\n    \
                       name = f'shard-00000{n}.tar'\n    \
                       data = pathlib.Path('old', name).read_bytes()\n    \
                       pathlib.Path('mixed').mkdir(exist_ok=True)\n    \
                       pathlib.Path('mixed', f'{name}.{end}').write_bytes(pack.compress(data))\n";
    tool(&place, "python3", &["-c", program]).succeeds();
    for shard in 0..3 {
        let tar = fs::read(place.at(format!("old/shard-00000{shard}.tar"))).unwrap();
        let packed = zstd::encode_all(&tar[..], 3).unwrap();
        place.file(format!("zstd/shard-00000{shard}.tar.zst"), packed);
    }
    place.pack("reshard old -o plain --shard-samples 5").succeeds();
    for set in ["mixed", "zstd"] {
        place.pack(&format!("reshard {set} -o from-{set} --shard-samples 5 --jobs 3")).succeeds();
        same_shards(&place, &format!("from-{set}"), "plain");
    }
    place.pack("reshard mixed -o half --where json:/width>=300").succeeds();
    place.pack("reshard old -o same-half --where json:/width>=300").succeeds();
    same_shards(&place, "half", "same-half");
    let whole = fs::read(place.at("mixed/shard-000000.tar.gz")).unwrap();
    place.file("cut/a.tar.gz", &whole[..whole.len() / 2]);
    place.pack("reshard cut -o cut-out").exits(65).says("gzip data is damaged after byte");
    let mut flipped = whole.clone();
    let at = whole.len() - 5; // in the checksum
    flipped[at] ^= 1;
    place.file("bad/a.tar.gz", flipped);
    place.pack("reshard bad -o bad-out").exits(65).says("damaged");
    assert!(!place.at("bad-out").exists());
}

#[test]
fn conditions_lists_and_parts_select() {
    let place = packed();
    let all = keys(&place, "old");
    let json = |key: &String| -> Value {
        let text = fs::read(place.at(format!("photos/{key}.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let wide: Vec<String> =
        all.iter().filter(|key| json(key)["width"].as_u64().unwrap() >= 300).cloned().collect();
    assert!((1..24).contains(&wide.len()), "{}", wide.len());
    let run = place.pack("reshard old -o wide --where json:/width>=300").succeeds();
    run.says("not selected (--where, --keys)");
    assert_eq!(keys(&place, "wide"), wide);

    let some = [&all[3], &all[17], &all[9]];
    place.file("keys.txt", format!("{}\n{}\n{}\nno-such-key\n", some[0], some[1], some[2]));
    let run = place.pack("reshard old -o listed --keys keys.txt").succeeds();
    run.says("1 key of --keys in no source; the first is 'no-such-key'");
    assert_eq!(keys(&place, "listed"), [all[3].clone(), all[9].clone(), all[17].clone()]);
    place.pack("reshard old -o others --exclude @keys.txt").succeeds();
    assert_eq!(keys(&place, "others").len(), 21);

    place.pack("reshard old -o images --drop json --rename jpg=jpeg").succeeds();
    assert!(place.members("images").iter().all(|name| name.ends_with(".jpeg")));
    place.pack("reshard old -o texts --parts .JSON").succeeds();
    assert!(place.members("texts").iter().all(|name| name.ends_with(".json")));
    place.pack("reshard old -o none --parts txt").exits(1).says("none of its parts is kept");
    place
        .pack("reshard old -o none --where json:/width>=99999")
        .exits(2)
        .says("24 samples are not selected");
    place.pack("reshard old -o bad --where width>1").exits(2).says("json:/width");
    place.pack("reshard old -o bad --keys nothing.txt").exits(2).says("nothing.txt");
    place.pack("build photos -o bad --where a").exits(2);
    assert!(!place.at("bad").exists());
}

#[test]
fn merged_data_sets_keep_their_order_and_repeated_keys_are_named() {
    let place = packed();
    place.folder("more", 9);
    place.pack("build more -o other --shards 2").succeeds();
    let mut a = keys(&place, "old");
    let b = keys(&place, "other");
    place.pack("reshard old old -o twice").exits(1).says("has the same key in the shard");
    place.pack("reshard old other -o both --key-prefix a/,b/ --shards 2").succeeds();
    let named = |prefix: &str, keys: &[String]| -> Vec<String> {
        keys.iter().map(|key| format!("{prefix}{key}")).collect()
    };
    assert_eq!(keys(&place, "both"), [named("a/", &a), named("b/", &b)].concat());
    place.pack("reshard old other -o mixed --key-prefix ,b/ --shuffle 1").succeeds();
    a.extend(named("b/", &b));
    a.sort();
    let mut mixed = keys(&place, "mixed");
    mixed.sort();
    assert_eq!(mixed, a);
    place.pack("reshard old other -o bad --key-prefix a/").exits(2).says("one for each");
}

#[test]
fn splits_and_classes_are_kept() {
    let place = Place::new();
    place.folder("photos", 60);
    place
        .pack("build photos -o old --split train=0.8,val=0.2 --label folder --require image")
        .exits(1);
    for entry in fs::read_dir(place.at("photos")).unwrap() {
        for file in fs::read_dir(entry.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "json") {
                fs::remove_file(path).unwrap();
            }
        }
    }
    let options = "--split train=0.8,val=0.2 --label folder";
    place.pack(&format!("build photos -o sets {options} --shard-samples 9")).succeeds();
    place.pack("reshard sets -o again --shard-samples 25").succeeds();
    place.pack(&format!("build photos -o whole {options} --shard-samples 25")).succeeds();
    same_shards(&place, "again", "whole");
    let again = place.manifest("again");
    let sets = place.manifest("sets");
    assert_eq!(again["classes"], sets["classes"]);
    assert_eq!(again["columns"], sets["columns"]);
    assert!(again["shards"][0]["split"] == "train");
    place.pack("reshard sets -o one --split-by none").succeeds();
    assert!(place.manifest("one")["shards"][0]["split"].is_null());
    place.pack("reshard sets -o other --split a=0.5,b=0.5").succeeds();
    assert!(place.manifest("other")["shards"][0]["split"] == "a");
}

#[test]
fn images_are_prepared_as_a_build_prepares_them() {
    let place = packed();
    for (n, options) in
        ["--resize short:64 --shards 2", "--optimize --baseline --shards 2"].into_iter().enumerate()
    {
        place.pack(&format!("reshard old -o new{n} {options}")).succeeds();
        place.pack(&format!("build photos -o files{n} {options}")).succeeds();
        same_shards(&place, &format!("new{n}"), &format!("files{n}"));
        place.pack(&format!("verify --level decode new{n}")).succeeds();
    }
    assert_ne!(place.tree("new0"), place.tree("new1"));
}

#[test]
fn a_damaged_part_is_named_and_left_out_as_the_policy_says() {
    let place = packed();
    let tar = place.at("old/shard-000001.tar");
    let mut bytes = fs::read(&tar).unwrap();
    let members = members_of(&bytes);
    let json = members.iter().filter(|member| member.name.ends_with(".json")).nth(2).unwrap();
    let at = bytes.windows(json.data.len()).position(|bytes| bytes == json.data).unwrap();
    // Another digit leaves a JSON that is valid: only the checksum finds it.
    let digit = json.data.iter().rposition(u8::is_ascii_digit).unwrap();
    bytes[at + digit] = if bytes[at + digit] == b'1' { b'2' } else { b'1' };
    fs::write(&tar, &bytes).unwrap();
    let run = place.pack("reshard old -o new --shards 2").exits(1);
    run.says("the sidecar states").says(&format!("byte {at}"));
    assert!(!place.at("new/dataset.json").exists());
    place.pack("reshard old -o new --shards 2 --on-problem skip").succeeds();
    assert_eq!(keys(&place, "new").len(), 23);
    place.pack("verify new").succeeds();
    bytes.extend([0; 512]);
    fs::write(&tar, &bytes).unwrap();
    place.pack("reshard old -o newer").exits(65).says("pack index");
}

#[test]
fn reshards_killed_at_random_calls_give_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    place.pack("build photos -o old --shards 7").succeeds();
    killed_command(&place, "reshard old", "--shard-samples 6 --shuffle 4", 15);
    let program = "import gzip, pathlib\n\
                   for tar in pathlib.Path('old').glob('*.tar'):\n    \
                       pathlib.Path(f'{tar}.gz').write_bytes(gzip.compress(tar.read_bytes(), 1))\n";
    tool(&place, "python3", &["-c", program]).succeeds();
    let _ = fs::remove_dir_all(place.at("undisturbed"));
    let _ = fs::remove_dir_all(place.at("out"));
    killed_command(&place, "reshard old/*.tar.gz", "--shard-samples 6", 10);
}

#[test]
fn empty_parts_are_kept_by_extension_and_by_reshard() {
    let place = Place::new();
    place.pair("src/a").pair("src/b").file("src/a.txt", "").file("src/b.txt", "b");
    place.file("src/a.cls", "");
    let run = place.pack("build src -o out").exits(1);
    run.says("src/a.cls").says("--keep-empty cls");
    place.pack("build src -o out --fresh --keep-empty cls").exits(1).says("--keep-empty txt");
    place.pack("build src -o out --fresh --keep-empty txt,.CLS").succeeds();
    let names = ["a.cls", "a.jpg", "a.json", "a.txt", "b.jpg", "b.json", "b.txt"];
    assert_eq!(place.members("out"), names);
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify out --level {level}")).succeeds();
    }
    // An append follows the first build; packing again keeps what a verification accepts.
    place.pair("more/c").file("more/c.txt", "");
    place.pack("append more -o out").succeeds();
    place.pack("reshard out -o again").succeeds();
    assert_eq!(place.members("again"), place.members("out"));
    let sizes: Vec<usize> =
        place.shards("again").into_iter().flatten().map(|member| member.data.len()).collect();
    assert_eq!((sizes[0], sizes[3]), (0, 0));
    place.pack("verify again --level decode").succeeds();
    place.pack("build tar:again/shard-000000.tar -o no").exits(1).says("--keep-empty");
    // An empty JSON is no JSON for a verification either.
    place.file("bad/a.txt", "a").file("bad/a.json", "");
    place.pack("build bad -o bad-out --require json --keep-empty json").exits(1).says("bad-json");
}

#[test]
fn parts_that_are_not_neighbors_are_joined() {
    let place = Place::new();
    for stem in ["a", "b", "c"] {
        place.pair(&format!("src/{stem}")).file(format!("src/{stem}.txt"), stem);
    }
    place.pack("build src -o good").succeeds();
    // Sorted by extension, as `tar *.jpg *.json *.txt` writes them.
    let program = "import gzip, tarfile\n\
                   with tarfile.open('bad.tar', 'w', format=tarfile.USTAR_FORMAT) as tar:\n    \
                       for ext in ['jpg', 'json', 'txt']:\n        \
                           for stem in 'abc':\n            \
                               tar.add(f'src/{stem}.{ext}', f'{stem}.{ext}')\n\
                   open('bad.tar.gz', 'wb').write(gzip.compress(open('bad.tar', 'rb').read()))\n";
    tool(&place, "python3", &["-c", program]).succeeds();
    for source in ["bad.tar", "bad.tar.gz"] {
        let out = format!("{source}-out");
        let run = place.pack(&format!("reshard {source} -o {out}")).succeeds();
        run.says("6 pieces of samples joined to earlier parts of the same key");
        same_shards(&place, &out, "good");
        place.pack(&format!("verify {out} --level decode")).succeeds();
    }
    // A sidecar of the pieces, and a condition on a part that comes later.
    place.pack("index bad.tar").succeeds();
    place.pack("reshard bad.tar -o indexed").succeeds();
    same_shards(&place, "indexed", "good");
    let where_class = ["--where", "json:/class == 1"];
    let run = |source: &str, out: &str| {
        let mut command = place.command(&format!("reshard {source} -o {out}"));
        command.args(where_class).output().unwrap()
    };
    assert!(run("bad.tar", "some").status.success());
    assert_eq!(place.members("some").len(), 9);
    let refused = run("bad.tar.gz", "none");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("reshard it without --where first"));

    // A part that a sample has already is another sample of the same key.
    let program = "import tarfile\n\
                   with tarfile.open('twice.tar', 'w', format=tarfile.USTAR_FORMAT) as tar:\n    \
                       for name in ['a.jpg', 'a.json', 'b.jpg', 'b.json', 'a.jpg', 'a.json']:\n        \
                           tar.add(f'src/{name}', name)\n";
    tool(&place, "python3", &["-c", program]).succeeds();
    place.pack("reshard twice.tar -o twice").exits(1).says("repeated-key");
}
