//! `pack.toml`: each bound is broken by a data set that was made to break it, and a sound one is silent.

mod accepted;
mod baseline;
mod commands;
mod sets;

use std::fs;

use serde_json::Value;

use crate::harness::Place;

/// Packs 12 pairs into three shards: labels 0 to 3, widths of 0 to 550, classes `dog` 4 and `cat` 8.
fn labeled() -> Place {
    let place = Place::new();
    for n in 0..12 {
        place.pair(&format!("photos/{n:02}"));
        let class = if n % 3 == 0 { "dog" } else { "cat" };
        place.file(
            format!("photos/{n:02}.json"),
            format!("{{\"label\": {}, \"class\": \"{class}\", \"width\": {}}}", n % 4, n * 50),
        );
    }
    place.pack("build photos -o shards --shards 3").succeeds();
    place
}

/// Verifies `shards` and returns exit code and problems: kind, file, key, reason.
fn verify(place: &Place, words: &str) -> (i32, Vec<String>) {
    let run = place.pack(&format!("verify --format json {words}"));
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"));
    assert_eq!(report["whole"], run.exit == 0, "{run:#?}");
    (run.exit, report["problems"].as_array().unwrap().iter().map(shown).collect())
}

/// Returns kind, file, key and reason of a problem.
fn shown(problem: &Value) -> String {
    let key = problem["key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
    format!(
        "{} {}{key}: {}",
        problem["kind"].as_str().unwrap(),
        problem["path"].as_str().unwrap(),
        problem["reason"].as_str().unwrap()
    )
}

/// Asserts that a policy finds exactly these problems.
#[track_caller]
fn finds(place: &Place, policy: &str, expected: &[&str]) {
    place.file("pack.toml", policy);
    let (exit, found) = verify(place, "shards");
    assert_eq!(found.len(), expected.len(), "{policy}: {found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{policy}\n{found}\n{expected}");
    }
    assert_eq!(exit, i32::from(!expected.is_empty()));
}

#[test]
fn each_bound_that_is_kept_is_silent() {
    let place = labeled();
    finds(
        &place,
        r#"
        checksums = "required"
        [parts]
        jpg = "100%"
        json = true
        image = "100%"
        [fields."/label"]
        type = "integer"
        min = 0
        max = 3
        enum = [0, 1, 2, 3]
        required = "100%"
        [fields."/class"]
        type = "string"
        enum = ["cat", "dog"]
        [classes]
        field = "/class"
        min-share = "33%"
        max-share = "67%"
        min-count = 4
        required = ["cat", "dog"]
        [pictures]
        min-width = 1
        max-width = 100
        min-height = 1
        min-pixels = 1
        max-bytes = "1MiB"
        [shards]
        min-samples = 4
        max-samples = 4
        max-bytes = "1MiB"
        samples-deviation = "0%"
        bytes-deviation = "10%"
        [total]
        samples = 12
        shards = 3
        tolerance = "0%"
        "#,
        &[],
    );
}

#[test]
fn parts_and_fields_outside_of_their_bounds_are_named_with_the_line() {
    let place = labeled();
    finds(
        &place,
        "[parts]\ntxt = \"50%\"\n",
        &[
            "policy-part shards: pack.toml:2: parts.txt = 50%: 0% of 12 samples have it, 12 lack it: 00, 01, 02, ...",
        ],
    );
    finds(
        &place,
        "[fields.\"/width\"]\nmin = 100\nmax = 500\n",
        &[
            "policy-field shards/shard-000000.tar 00: pack.toml:2: fields.\"/width\".min = 100: 0 is below it",
            "policy-field shards/shard-000000.tar 01: pack.toml:2: fields.\"/width\".min = 100: 50 is below it",
            "policy-field shards/shard-000002.tar 11: pack.toml:3: fields.\"/width\".max = 500: 550 is above it",
        ],
    );
    finds(
        &place,
        "[fields.\"/nothing\"]\nrequired = \"1%\"\n",
        &[
            "policy-field shards: pack.toml:2: fields.\"/nothing\".required = 1%: 0% of 12 samples have it, 12 lack it: 00",
        ],
    );
    place.file("pack.toml", "[fields.\"/class\"]\ntype = \"integer\"\n");
    let (_, found) = verify(&place, "shards");
    assert_eq!(found.len(), 12);
    assert!(
        found[0].contains("fields.\"/class\".type = \"integer\": \"dog\" is a string"),
        "{found:?}"
    );
    place.file("pack.toml", "[fields.\"/class\"]\nenum = [\"cat\"]\n");
    assert_eq!(verify(&place, "shards").1.len(), 4);
}

#[test]
fn classes_outside_of_their_shares_are_named() {
    let place = labeled();
    finds(
        &place,
        "[classes]\nfield = \"/class\"\nmin-share = \"34%\"\nmax-share = \"60%\"\nmin-count = 5\nrequired = [\"cow\"]\n",
        &[
            "policy-class shards: pack.toml:6: classes.required: no sample has 'cow'",
            "policy-class shards: pack.toml:5: classes.min-count = 5: of 12 samples with a class 'dog' has 4 (33.33%)",
            "policy-class shards: pack.toml:3: classes.min-share = 34%: of 12 samples with a class 'dog' has 4",
            "policy-class shards: pack.toml:4: classes.max-share = 60%: of 12 samples with a class 'cat' has 8 (66.67%)",
        ],
    );
}

#[test]
fn pictures_shards_and_totals_outside_of_their_bounds_are_named() {
    let place = labeled();
    place.file("pack.toml", "[pictures]\nmin-width = 5000\n");
    for level in ["quick", "full", "decode"] {
        let (exit, found) = verify(&place, &format!("--level {level} shards"));
        assert_eq!((exit, found.len()), (1, 12), "{level}: {found:?}");
        let expected = "policy-picture shards/shard-000000.tar 00: pack.toml:2: pictures.min-width = 5000: width is ";
        assert!(found[0].starts_with(expected), "{level}: {found:?}");
    }
    finds(
        &place,
        "[shards]\nmax-samples = 3\n",
        &[
            "policy-shards shards/shard-000000.tar: pack.toml:2: shards.max-samples = 3: the shard has 4 samples",
            "policy-shards shards/shard-000001.tar",
            "policy-shards shards/shard-000002.tar",
        ],
    );
    finds(
        &place,
        "[total]\nsamples = 13\nshards = 3\ntolerance = \"5%\"\n",
        &[
            "policy-total shards: pack.toml:2: total.samples = 13: 13 are expected and may differ by 5%, 12 are found",
        ],
    );
}

#[test]
fn bounds_of_tars_of_other_tools_are_read_from_the_tars() {
    let place = labeled();
    for name in place.names("shards").into_iter().filter(|name| !name.ends_with(".tar")) {
        fs::remove_file(place.at("shards").join(name)).unwrap();
    }
    let rules = "[rules]\nmissing-index = \"off\"\nmissing-shard = \"off\"\n";
    let bounds = "[parts]\njson = \"100%\"\n[fields.\"/label\"]\nmax = 3\nrequired = true\n\
                  [classes]\nfield = \"/class\"\nmin-count = 4\n[pictures]\nmax-width = 100\n[total]\nsamples = 12\n";
    finds(&place, &format!("{rules}{bounds}"), &[]);
    finds(
        &place,
        &format!("{rules}[total]\nsamples = 11\n[fields.\"/label\"]\nmax = 2\n"),
        &[
            "policy-field shards/shard-000000.tar 03: pack.toml:7: fields.\"/label\".max = 2: 3 is above it",
            "policy-field shards/shard-000001.tar 07",
            "policy-field shards/shard-000002.tar 11",
            "policy-total shards: pack.toml:5: total.samples = 11",
        ],
    );
}

#[test]
fn uneven_shards_are_found_and_the_last_one_may_be_smaller() {
    let place = Place::new();
    place.photos("photos", 11);
    place.pack("build photos -o shards --shard-samples 4").succeeds();
    finds(&place, "[shards]\nsamples-deviation = \"1%\"\n", &[]);
    place.photos("more", 1);
    fs::remove_file(place.at("pack.toml")).unwrap();
    place.pack("build more -o one --prefix one").succeeds();
    // Between the others by its name, because the last one may be smaller.
    fs::copy(place.at("one/one-000000.tar"), place.at("shards/a-000000.tar")).unwrap();
    fs::remove_file(place.at("shards/dataset.json")).unwrap();
    place.pack("index --force shards").succeeds();
    place.file(
        "pack.toml",
        "[shards]\nsamples-deviation = \"50%\"\n[rules]\nrepeated-key = \"off\"\n",
    );
    let (_, found) = verify(&place, "shards");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("1 shard differs more than that from the mean of 3")
            && found[0].contains("a-000000.tar with 1"),
        "{found:?}"
    );
}

#[test]
fn train_and_val_have_their_own_bounds_and_no_common_picture() {
    let place = Place::new();
    place.photos("a", 4).photos("b", 3);
    let names = place.names("a");
    let jpeg = names.iter().find(|name| name.ends_with(".jpg")).unwrap();
    fs::copy(place.at("a").join(jpeg), place.at("b/leak.jpg")).unwrap();
    place.file("b/leak.json", "{}");
    place.pack("build a -o data/train").succeeds();
    place.pack("build b -o data/val").succeeds();
    let policy = "[total]\nsamples = 4\n[sets.train]\npath = \"data/train\"\n[sets.val]\npath = \"data/val\"\n\
                  total = { samples = 5 }\n[[duplicates]]\nacross = [\"train\", \"val\"]\n";
    place.file("pack.toml", policy);
    let (exit, found) = verify(&place, "data/train data/val");
    assert_eq!(exit, 1);
    assert!(
        found[0].starts_with(
            "policy-total data/val: pack.toml:7: total.samples = 5: 5 are expected, 4 are found"
        ),
        "{found:?}"
    );
    let leaks: Vec<&String> =
        found.iter().filter(|found| found.starts_with("policy-duplicate")).collect();
    assert!(
        leaks
            .iter()
            .any(|leak| leak
                .contains(" leak: pack.toml:8: duplicates: the picture has the bytes of")),
        "{found:?}"
    );
    let run = place.pack("verify data/train").succeeds();
    run.says("pack.toml:8: duplicates are not looked for: val was not verified");
}
