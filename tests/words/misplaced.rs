//! Places and options that a newcomer names: each gets the command that is right, and the command works.

use std::fs;

use crate::harness::{Place, tool};
use crate::words::remedies::{remedy, shell};

/// A place with everything that is named by mistake.
fn place() -> Place {
    let place = Place::new();
    place.pair("pairs/a").pair("pairs/b");
    for (name, from) in
        [("flat/1", "a"), ("flat/2", "b"), ("classes/cat/1", "a"), ("classes/dog/2", "b")]
    {
        place.file(format!("{name}.jpg"), fs::read(place.at(format!("pairs/{from}.jpg"))).unwrap());
    }
    place.pack("build pairs -o set").succeeds();
    for name in ["above/one", "above/two", "loose"] {
        let tar = fs::read(place.at("set/shard-000000.tar")).unwrap();
        place.file(format!("{name}/shard-000000.tar"), tar);
    }
    place.pack("index above/one").succeeds();
    place.pack("index above/two").succeeds();
    tool(&place, "gzip", &["-k", "loose/shard-000000.tar"]).succeeds();
    fs::rename(place.at("loose/shard-000000.tar.gz"), place.at("packed.tar.gz")).unwrap();
    place.file("labels.csv", "key,class\na,1\nb,2\n");
    place.file("notes.xyz", "of another type");
    place
}

#[test]
fn what_is_no_data_set_is_named_with_the_command_that_makes_one() {
    let place = place();
    let build = |rest: &str| format!("pack build {rest}");
    for (named, what, command) in [
        ("pairs", "a folder of images", build("pairs -o shards/")),
        ("flat", "a folder of images", build("flat -o shards/ --require image")),
        ("classes", "a folder of images", build("classes -o shards/ --label folder")),
        ("labels.csv", "a CSV table", build("csv:labels.csv -o shards/")),
        ("flat/1.jpg", "a JPEG", build("flat -o shards/ --require image")),
        ("loose", "a folder of tars without a manifest", "pack index loose".into()),
        ("packed.tar.gz", "a compressed tar", "pack reshard packed.tar.gz -o shards/".into()),
    ] {
        let run = place.pack(&format!("info {named}")).exits(2);
        let run = run.says(&format!("{named} is {what}, not a data set"));
        assert_eq!(remedy(&run), command);
        shell(&place, &command).succeeds();
        let made = if named == "loose" { "loose" } else { "shards" };
        place.pack(&format!("verify {made}")).succeeds();
        let _ = fs::remove_dir_all(place.at("shards"));
    }
    place
        .pack("info above")
        .exits(2)
        .says("the folder above 2 data sets")
        .says("above/one, above/two");
    place.pack("info set/shard-000000.index").succeeds(); // its tar is meant
    place
        .pack("info notes.xyz")
        .exits(2)
        .says("notes.xyz is a file of another type, not a data set\n");
    for words in [
        "ls pairs",
        "stats pairs",
        "verify pairs",
        "index pairs",
        "cat pairs a.jpg",
        "unpack pairs -o o",
        "export pairs --to csv -o o.csv",
        "dedupe pairs",
        "diff set pairs",
        "sync pairs o",
        "view pairs -o o.html",
        "bench pairs",
        "plan-epoch pairs",
        "append flat -o pairs",
    ] {
        place
            .pack(words)
            .exits(2)
            .says("not a data set; pack it with `pack build pairs -o shards/`");
    }
    place.pack("reshard classes -o o").exits(2).says("`pack build classes -o o --label folder`");
}

#[test]
fn what_is_no_folder_to_pack_is_named_with_the_command_for_it() {
    let place = place();
    for (named, command) in [
        ("set", "pack reshard set -o o"),
        ("loose", "pack reshard loose -o o"),
        ("above", "pack reshard above/one -o o"),
        ("packed.tar.gz", "pack reshard packed.tar.gz -o o"),
        ("set/shard-000000.tar", "pack reshard set/shard-000000.tar -o o"),
        ("labels.csv", "pack build csv:labels.csv -o o"),
        ("flat/1.jpg", "pack build flat -o o --require image"),
    ] {
        let run = place.pack(&format!("build {named} -o o")).exits(2);
        assert_eq!(remedy(&run), command, "{}", run.stderr);
        assert!(!place.at("o").exists(), "{named}");
        shell(&place, command).succeeds();
        place.pack("verify o").succeeds();
        fs::remove_dir_all(place.at("o")).unwrap();
    }
    // A folder without classes is not advised to take them from folders.
    let flat = place.pack("build flat -o o").exits(1).says("give --require image");
    assert!(!flat.stderr.contains("--label"), "{}", flat.stderr);
    place.pack("build classes -o o").exits(1).says("give --label folder to make each");
    place.file("flat/labels.csv", "key,class\n1,2\n2,3\n");
    place.pack("build flat -o o").exits(1).says("labels.csv to take it from the table");
    // A folder that is asked to be packed as it is.
    place.pack("build loose -o o --require tar").succeeds();
}

#[test]
fn a_line_without_a_command_is_completed() {
    let place = place();
    for (words, command) in [
        ("classes -o o", "pack build classes -o o --label folder"),
        ("-o o classes", "pack build classes -o o --label folder"),
        ("labels.csv", "pack build csv:labels.csv -o shards/"),
        ("set", "pack info set"),
        ("above", "pack info above/one"),
        ("loose", "pack index loose"),
    ] {
        let run = place.pack(words).exits(2).says("the command is missing: ");
        let line =
            run.stderr.lines().find_map(|line| line.split("the command is missing: ").nth(1));
        assert_eq!(line, Some(command), "{}", run.stderr);
        shell(&place, command).succeeds();
    }
    place.pack("validate set").exits(2).says("'pack verify' checks data sets");
    place.pack("verfy set").exits(2).says("'verify'");
}

#[test]
fn options_of_other_tools_lead_to_those_of_pack() {
    let place = place();
    for (words, tip) in [
        ("build flat -o o --threads 4", "tip: '--jobs N' uses N threads"),
        ("verify set --workers=4", "tip: '--jobs N' uses N threads"),
        ("build flat -o o --force", "'--fresh' discards an unfinished build"),
        (
            "export set --to csv -o o --overwrite",
            "tip: nothing is overwritten: name another place with -o",
        ),
        ("index set -f", "tip: '--force' replaces what is there"),
        ("build flat --output o", "tip: '-o PATH' (--out) names what is written"),
        ("build --input flat -o o", "tip: name SRC without an option"),
        ("build flat -o o --maxcount 100", "tip: '--shard-samples N'"),
        ("build flat -o o --maxsize 1e9", "tip: '--shard-size SIZE'"),
        ("build flat -o o --seed 3", "tip: '--shuffle SEED'"),
        ("build flat -o o --val-split 0.1", "tip: '--split train=0.9,val=0.1'"),
        ("build flat -o o --csv labels.csv", "tip: '--join FILE'"),
        ("build flat -o o -v", "tip: everything that is found is printed"),
        ("build flat -o o -r", "tip: folders are read with all folders in them"),
        ("ls set --region eu", "tip: '--storage NAME=VALUE'"),
        (
            "build flat -o o --where key",
            "tip: '--where' is an option of 'pack reshard', 'pack tokens'",
        ),
        ("build flat -o o --shard-sizes 1", "'--shard-size'"),
    ] {
        let run = place.pack(words).exits(2).says(tip);
        let command = words.split(' ').next().unwrap();
        assert!(run.stderr.contains(&format!("Usage: pack {command} ")), "{}", run.stderr);
        assert!(!run.stderr.contains("as a value"), "{}", run.stderr);
    }
}
