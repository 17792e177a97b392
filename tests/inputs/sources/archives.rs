//! Tars, zips and zips of arrays as sources.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::flat_jpeg;

use super::made::zip;
use super::members;
use crate::harness::{Place, python};

/// Writes old/a.tar and old/b.tar, eight samples each, from folders of pairs.
pub(super) fn tars(place: &Place) {
    for folder in ["a", "b"] {
        for n in 0..8 {
            place.pair(&format!("pairs/{folder}/{folder}{n}"));
        }
    }
    place.pack("build pairs -o packed --shard-samples 8").succeeds();
    for (shard, name) in [("shard-000000", "a"), ("shard-000001", "b")] {
        let tar = fs::read(place.at(format!("packed/{shard}.tar"))).unwrap();
        place.file(format!("old/{name}.tar"), tar);
    }
}

#[test]
fn tars_are_packed_into_other_shards_member_by_member() {
    let place = Place::new();
    tars(&place);
    for (n, source) in ["tar:old/*.tar", "tar:old/{a,b}.tar", "tar:old", "tar:old/a.tar,old/b.tar"]
        .into_iter()
        .enumerate()
    {
        let out = format!("out{n}");
        place.pack(&format!("build {source} -o {out} --shards 3")).succeeds();
        assert_eq!(members(&place, &out), members(&place, "packed"), "{source}");
        place.pack(&format!("verify {out}")).succeeds();
    }
    place.pack("build pairs -o whole --shards 3").succeeds();
    for shard in ["shard-000000", "shard-000001", "shard-000002"] {
        for end in ["tar", "index"] {
            let of = |folder: &str| fs::read(place.at(format!("{folder}/{shard}.{end}"))).unwrap();
            assert!(of("out0") == of("whole"), "{shard}.{end} is that of the folder");
        }
    }
}

#[test]
fn the_options_of_samples_hold_for_rows() {
    let place = Place::new();
    tars(&place);
    let count = |out: &str| place.manifest(out)["samples"].as_u64().unwrap();
    place.pack("build tar:old -o few --limit 5").succeeds();
    place.pack("build tar:old -o mixed --shuffle 3 --shards 2").succeeds();
    place.pack("build pairs -o same --shuffle 3 --shards 2").succeeds();
    assert_eq!((count("few"), count("mixed")), (5, 16));
    assert_eq!(members(&place, "mixed"), members(&place, "same"));
    assert_ne!(members(&place, "mixed"), members(&place, "packed"));
    place.pack("build tar:old -o less --exclude a/*").succeeds();
    assert_eq!(count("less"), 8);
    place.file("keys.txt", "a/a0\nb/b7\nnone\n");
    place.pack("build tar:old -o listed --exclude @keys.txt").succeeds().says("'none'");
    assert_eq!(count("listed"), 14);
    place.pack("build tar:old -o out --require txt").exits(1).says("it has no 'txt'");
    let twin = flat_jpeg(b"pairs/a/a1");
    place.file("pairs/b/twin.jpg", twin).file("pairs/b/twin.json", "{}");
    place.pack("build pairs -o twins").succeeds();
    place.pack("build tar:twins/shard-000000.tar -o single --dedupe").succeeds();
    assert_eq!(count("single"), 16);
    assert_eq!(place.problems("single")[0]["kind"], "duplicate");
}

#[test]
fn what_is_wrong_with_a_tar_is_a_problem_with_its_place() {
    let place = Place::new();
    tars(&place);
    fs::copy(place.at("old/a.tar"), place.at("old/c.tar")).unwrap();
    place.pack("build tar:old -o out").exits(1).says("repeated-key 8").says("has the same key");
    place.pack("build tar:old -o out --on-problem skip").succeeds();
    assert_eq!(place.manifest("out")["samples"], 16);
    place.file("old/z.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0");
    place.pack("build tar:old/z.tar.gz -o other").exits(65).says("gzip data is damaged");
    let cut = fs::read(place.at("old/a.tar")).unwrap();
    place.file("old/cut.tar", &cut[..cut.len() - 2048]);
    place.pack("build tar:old/cut.tar -o other").exits(65).says("cut.tar").says("byte");
}

#[test]
fn the_quarantine_of_rows_has_their_bytes_and_the_reason() {
    let place = Place::new();
    tars(&place);
    let mut tar = fs::read(place.at("old/a.tar")).unwrap();
    let found = &place.shards("packed")[0];
    let bad = found.iter().find(|m| m.name == "a/a3.jpg").unwrap();
    tar[bad.at..bad.at + 2].copy_from_slice(b"no");
    place.file("old/a.tar", &tar);
    place.pack("build tar:old -o failed").exits(1).says("bad-jpeg");
    place.pack("build tar:old -o out --on-problem quarantine").succeeds();
    assert_eq!(place.manifest("out")["samples"], 15);
    let jpg = fs::read(place.at("out/quarantine/a/a3.jpg")).unwrap();
    assert!(jpg.starts_with(b"no") && jpg[2..] == bad.data[2..]);
    assert!(place.at("out/quarantine/a/a3.json").exists());
    let reason = fs::read(place.at("out/quarantine/a/a3.jpg.reason.json")).unwrap();
    let reason: Value = serde_json::from_slice(&reason).unwrap();
    assert_eq!((&reason["kind"], &reason["key"]), (&json!("bad-jpeg"), &json!("a/a3")));
    assert_eq!(reason["byte"], json!(bad.at), "the byte of the tar");
}

#[test]
fn zips_are_grouped_like_folders_stored_and_deflated() {
    let place = Place::new();
    for key in ["a/x", "a/y", "b/z"] {
        place.pair(&format!("pairs/{key}"));
    }
    place.pack("build pairs -o whole").succeeds();
    let made = r"
import sys, zipfile, pathlib
for name, method in ('stored', 0), ('deflated', 8):
    with zipfile.ZipFile(name + '.zip', 'w', method) as out:
        for file in sorted(pathlib.Path('pairs').rglob('*.*'), reverse=True):
            out.write(file, file.relative_to('pairs'))
        out.writestr('__MACOSX/a/._x.jpg', b'fork')
        out.writestr('d/', b'')
with zipfile.ZipFile('xz.zip', 'w', zipfile.ZIP_LZMA) as out:
    out.writestr('a.jpg', b'x' * 99)
with zipfile.ZipFile('large.zip', 'w', allowZip64=True) as out:
    with out.open('a.json', 'w', force_zip64=True) as member:
        member.write(b'{}')
";
    python(&place, made, &[]).succeeds();
    for kind in ["stored", "deflated"] {
        place.pack(&format!("build zip:{kind}.zip -o {kind}")).succeeds();
        assert_eq!(members(&place, kind), members(&place, "whole"), "{kind}");
    }
    place.pack("build zip:large.zip -o large").succeeds();
    place.pack("build zip:xz.zip -o xz").exits(1).says("LZMA").says("zip it again");
    place.pack("build zip:stored.zip,deflated.zip -o both").exits(1).says("repeated-key 3");
    let mut damaged = fs::read(place.at("deflated.zip")).unwrap();
    damaged[30 + "b/z.json".len() + 3] ^= 0x55; // in the data of the first member
    place.file("damaged.zip", damaged);
    place.pack("build zip:damaged.zip -o damaged").exits(1).says("unreadable").says("'b/z.json'");
    place.file("cut.zip", &zip(&[("a.jpg", b"abc")])[..60]);
    place.pack("build zip:cut.zip -o cut").exits(65).says("not a zip file, or its end is missing");
    place.file("two.zip", zip(&[("a.txt", b"1"), ("a.txt", b"2"), ("noext", b"3")]));
    place.pack("build zip:two.zip -o two").exits(1).says("two files are its part 'txt'");
}

#[test]
fn a_link_in_a_zip_is_no_file() {
    let place = Place::new();
    // Info-ZIP's `zip --symlinks` stores the path that a link points to.
    let mut linked = zip(&[("a.txt", b"1"), ("b.txt", b"/etc/passwd")]);
    let record = linked.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    linked[record + 5] = 3;
    linked[record + 40..record + 42].copy_from_slice(&0o120_777u16.to_le_bytes());
    place.file("linked.zip", linked);
    let run = place.pack("build zip:linked.zip -o linked").exits(1);
    run.says("member 'b.txt'").says("a symbolic link").says("unsupported 1");
}

#[test]
fn a_compression_that_is_not_read_is_one_problem_of_the_zip() {
    let place = Place::new();
    let made = r"
import zipfile
with zipfile.ZipFile('xz.zip', 'w', zipfile.ZIP_LZMA) as out:
    for n in range(300):
        out.writestr(f'{n:03}.jpg', b'x' * 99)
with zipfile.ZipFile('both.zip', 'w', zipfile.ZIP_LZMA) as out:
    out.writestr('a.txt', b'x', zipfile.ZIP_STORED)
    out.writestr('b.txt', b'x' * 99)
";
    python(&place, made, &[]).succeeds();
    let refused = place.pack("build zip:xz.zip -o xz").exits(1);
    refused.says("member '000.jpg' and 299 others: it is compressed by LZMA").says("zip it again");
    place
        .pack("build zip:both.zip -o both")
        .exits(1)
        .says("member 'b.txt': it is compressed by LZMA");
    place.pack("build zip:both.zip -o both --on-problem skip --fresh").succeeds();
    assert_eq!(place.members("both"), ["a.txt"]);
}

#[test]
fn zips_of_file_managers_are_taken_and_their_own_files_left_behind() {
    let place = Place::new();
    for key in ["a/x", "a/y", "b/z"] {
        place.pair(&format!("pairs/{key}"));
    }
    place.pack("build pairs -o whole").succeeds();
    let made = r"
import zipfile, pathlib
files = [(str(f.relative_to('pairs')), f.read_bytes()) for f in sorted(pathlib.Path('pairs').rglob('*.*'))]
junk = '.DS_Store', 'a/.DS_Store', '__MACOSX/a/._x.jpg', 'a/__MACOSX/x.jpg', 'b/Thumbs.db', 'b/desktop.ini', 'a/.t/x.jpg'
def write(name, files, system=3):
    with zipfile.ZipFile(name, 'w') as out:
        for path, data in files:
            info = zipfile.ZipInfo('x')
            info.filename, info.create_system = path, system
            out.writestr(info, data)
write('junk.zip', files + [(name, b'x') for name in junk])
write('windows.zip', [(name.replace('/', chr(92)), data) for name, data in files], 0)
write('dot.zip', [('./' + name, data) for name, data in files])
write('absolute.zip', [('//' + name, data) for name, data in files])
write('left.zip', files + [('left/' + name, b'x') for name in ('a.jpg', 'b/c.jpg')])
";
    python(&place, made, &[]).succeeds();
    for (name, options) in [
        ("junk", ""),
        ("windows", ""),
        ("dot", ""),
        ("absolute", "--names path=replace"),
        ("left", "--exclude left/**"),
    ] {
        place.pack(&format!("build zip:{name}.zip -o {name} {options}")).succeeds();
        assert_eq!(members(&place, name), members(&place, "whole"), "{name}");
    }
    place.pack("build zip:absolute.zip -o x").exits(1).says("--names path=replace cleans it");
}

#[test]
fn globs_of_all_in_a_folder_leave_out_the_folder() {
    let place = Place::new();
    place.pair("photos/a/x").pair("photos/__MACOSX/deep/x").pair("photos/a/_raw/y");
    place.file("photos/a/Thumbs.db", "x").file("photos/.DS_Store", "x");
    place.pack("build photos -o refused").exits(1).says("__MACOSX");
    for globs in
        ["--exclude __MACOSX/** --exclude **/_raw/**", "--exclude __MACOSX --exclude a/_raw"]
    {
        place.pack(&format!("build photos -o out {globs}")).succeeds();
        assert_eq!(place.manifest("out")["samples"], 1);
        fs::remove_dir_all(place.at("out")).unwrap();
    }
}

#[test]
fn npz_members_stored_and_compressed_are_the_same_rows() {
    let place = Place::new();
    let made = r"
import numpy as np
x = np.arange(30, dtype=np.float32).reshape(10, 3)
y = np.arange(10) * 3
np.save('x.npy', x); np.save('y.npy', y)
np.savez('stored.npz', x=x, y=y, names=np.arange(4))
np.savez_compressed('packed.npz', x=x, y=y, names=np.arange(4))
";
    python(&place, made, &[]).succeeds();
    place.pack("build npy:x.npy,y.npy -o whole --shards 2").succeeds();
    for kind in ["stored", "packed"] {
        place.pack(&format!("build npz:{kind}.npz -o {kind}")).exits(2).says("has 10 rows");
        place.pack(&format!("build npz:{kind}.npz?arrays=x,y -o {kind} --shards 2")).succeeds();
        assert_eq!(members(&place, kind), members(&place, "whole"), "{kind}");
        let columns = |out: &str| place.manifest(out)["columns"].clone();
        assert_eq!(columns(kind), columns("whole"));
    }
    place
        .pack("build npz:stored.npz?arrays=z -o z")
        .exits(2)
        .says("no array 'z'")
        .says("names.npy");
    place.pack("build npz:stored.npz,packed.npz?arrays=x -o both").succeeds();
    assert_eq!(place.manifest("both")["samples"], 20);
}

#[test]
fn arrays_of_splits_in_one_npz_follow_one_another() {
    let place = Place::new();
    let made = r"
import numpy as np
sets = {}
for split, rows in [('train', 5), ('val', 2), ('test', 3)]:
    sets[split + '_images'] = np.arange(rows * 6, dtype=np.uint8).reshape(rows, 2, 3) + len(split)
    sets[split + '_labels'] = np.arange(rows).reshape(rows, 1)
    sets[split + '_ids'] = np.arange(rows) + 100
np.savez('stored.npz', **sets); np.savez_compressed('packed.npz', **sets)
np.savez('keras.npz', x_train=sets['train_ids'], y_train=sets['train_images'], x_test=sets['test_ids'], y_test=sets['test_images'])
for name in ('images', 'labels', 'ids'):
    np.save(name + '.npy', sets['val_' + name])
";
    python(&place, made, &[]).succeeds();
    place.pack("build npy:images.npy,labels.npy,ids.npy -o val").succeeds();
    for kind in ["stored", "packed"] {
        let words = format!("build npz:{kind}.npz -o {kind} --split-by file");
        place.pack(&words).succeeds();
        let manifest = place.manifest(kind);
        let shards = manifest["shards"].as_array().unwrap();
        let splits: Vec<_> = shards.iter().map(|s| (&s["split"], &s["samples"])).collect();
        let [test, train, val] = ["test", "train", "val"].map(Value::from);
        let [three, five, two] = [3, 5, 2].map(Value::from);
        assert_eq!(splits, [(&test, &three), (&train, &five), (&val, &two)]);
        let rows = place.shards(kind)[2].iter().map(|m| m.data.clone()).collect::<Vec<_>>();
        let alone = place.shards("val")[0].iter().map(|m| m.data.clone()).collect::<Vec<_>>();
        assert_eq!(rows, alone);
    }
    let run = place.pack("build npz:stored.npz -o one").succeeds();
    run.says("the names of the arrays state splits").says("--split-by file keeps them as splits");
    assert_eq!(place.manifest("one")["samples"], 10);
    place.pack("build npz:keras.npz -o keras --split-by source").succeeds();
    assert_eq!(place.members("keras")[0], "00000005.json");
    let run = place.pack("build npz:stored.npz?arrays=train_ids,val_images -o odd").exits(2);
    run.says("has 5 rows");
}
