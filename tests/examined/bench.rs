//! `pack bench`: its measurements of small data sets; no figure is compared with a threshold.

use std::fs;

use serde_json::Value;

use crate::harness::Place;

/// A place with the data set `shards` of this many photo-like pairs.
fn photos(pairs: usize) -> Place {
    let place = Place::new();
    place.photos("photos", pairs).pack("build photos -o shards --shards 2").succeeds();
    place
}

fn measured(place: &Place, words: &str) -> Value {
    let run = place.pack(&format!("bench --format json {words}")).succeeds();
    serde_json::from_str(&run.stdout).unwrap()
}

#[track_caller]
fn above_zero(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value[field].as_f64().is_some_and(|n| n > 0.0), "{field} in {value:#}");
    }
}

#[test]
fn a_data_set_is_measured_raw_and_decoded() {
    let place = photos(20);
    let report = measured(&place, "shards --samples 30 --batch 8 --jobs 2");
    assert_eq!((&report["samples"], &report["shards"]), (&20.into(), &2.into()));
    assert_eq!(report["parts"], serde_json::json!({"jpg": 20, "json": 20}));
    assert_eq!((&report["path"], &report["threads"]), (&"shards".into(), &2.into()));
    assert_eq!(report["notes"], serde_json::json!([]));
    for part in ["raw", "decoded"] {
        let rate = &report[part];
        assert_eq!(rate["samples"], 32, "whole batches: {rate:#}");
        assert_eq!(rate["passes"], 1.6);
        above_zero(rate, &["seconds", "samples_per_s", "first_batch_ms"]);
        assert!(rate["seconds"].as_f64() >= rate["first_batch_ms"].as_f64().map(|ms| ms / 1e3));
        let stages: Vec<_> = rate["stages"].as_array().unwrap().iter().collect();
        let names: Vec<_> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["plan", "read", "decode", "batch", "consumer"]);
        assert_eq!(stages[4]["items"], 4, "batches");
        assert!(stages[2]["items"].as_u64() >= Some(32), "samples");
        let verdict = rate["verdict"].as_str().unwrap();
        assert!(verdict.starts_with("Too little was measured"), "four batches are: {rate:#}");
    }
    above_zero(&report["raw"], &["mb_per_s"]);
    assert!(report["accelerator"].is_null());
}

#[test]
fn an_accelerator_is_simulated() {
    let place = photos(20);
    for options in ["", "--raw"] {
        let words = format!("shards --samples 40 --batch 4 --step-ms 2 {options}");
        let accelerator = &measured(&place, &words)["accelerator"];
        assert_eq!(
            (&accelerator["steps"], &accelerator["step_ms"]),
            (&9.into(), &2.0.into()),
            "all but the first"
        );
        let used = accelerator["utilization_percent"].as_f64().unwrap();
        assert!(used > 0.0 && used <= 100.0, "{accelerator:#}");
        assert_eq!(accelerator["target_percent"], 90.0);
        let wait = |name: &str| accelerator[name].as_f64().unwrap();
        assert!(0.0 <= wait("wait_p50_ms") && wait("wait_p50_ms") <= wait("wait_p99_ms"));
        assert!(wait("wait_p99_ms") <= wait("wait_max_ms"), "{accelerator:#}");
        assert_eq!(accelerator["stages"].as_array().unwrap().len(), 5);
    }
}

#[test]
fn text_output_is_lines_and_tables() {
    let place = photos(20);
    let words = "bench shards --samples 16 --batch 8 --jobs 2 --step-ms 1 --seed 3 --source file";
    let run = place.pack(words).succeeds();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "shards: 20 samples in 2 shards (jpg 20, json 20)");
    assert_eq!(
        lines[1],
        "shuffle full, seed 3; batch 8; 2 threads; prefetch 4; memory default; source file; verify off"
    );
    let begins = |text: &str| lines.iter().filter(|line| line.starts_with(text)).count();
    for line in ["raw  ", "decoded  ", "accelerator  ", "raw:", "decoded:", "accelerator:"] {
        assert_eq!(begins(line), 1, "{line}: {}", run.stdout);
    }
    assert_eq!(begins("stage "), 3, "{}", run.stdout);
    run.says("samples/s").says("MB/s").says("first batch after").says("% utilization, target 90 %");
}

#[test]
fn a_data_set_smaller_than_a_batch_repeats_within_the_batch() {
    let place = photos(3);
    let report = measured(&place, "shards --samples 1 --batch 16 --step-ms 1");
    assert_eq!(report["raw"]["samples"], 16);
    assert_eq!(report["accelerator"]["steps"], 1);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("3 samples, less than a batch of 16"), "{note}");
    place
        .pack("bench shards --samples 1 --batch 16")
        .succeeds()
        .says("note: the data set has 3 samples");
}

#[test]
fn every_order_and_source_can_be_requested() {
    let place = photos(12);
    for shuffle in ["none", "shards", "buffer", "blocks", "full"] {
        let words = format!("shards --samples 24 --batch 4 --raw --shuffle {shuffle} --verify all");
        let report = measured(&place, &words);
        assert_eq!(report["raw"]["samples"], 24, "{shuffle}");
        assert!(report["decoded"].is_null());
    }
    for way in ["file", "mapped"] {
        let words = "--samples 8 --batch 4 --verify sampled --memory 200MB --prefetch 1";
        measured(&place, &format!("shards/shard-000000.tar --source {way} {words}"));
    }
}

#[test]
fn files_that_are_no_images_are_not_decoded() {
    let place = Place::new();
    for n in 0..4 {
        place.file(format!("texts/{n}.txt"), "words").file(format!("texts/{n}.json"), "{}");
    }
    place.pack("build texts -o shards --require txt").succeeds();
    let report = measured(&place, "shards --samples 4 --batch 2");
    assert!(report["decoded"].is_null());
    assert_eq!(report["notes"], serde_json::json!(["no part is an image: nothing is decoded"]));
}

#[test]
fn images_of_several_kinds_are_decoded_and_samples_without_one_left_out() {
    let place = Place::new();
    place.photos("photos", 26).file("photos/y.json", "{}").file("photos/z.json", "{}");
    image::RgbImage::new(300, 200).save(place.at("photos/y.png")).unwrap();
    place.pack("build photos -o shards --require json").succeeds();
    let report = measured(&place, "shards --samples 27 --batch 9");
    assert_eq!(report["samples"], 28);
    assert_eq!(report["decoded"]["samples"], 27);
    assert_eq!(report["decoded"]["passes"], 1.0);
    let note = report["notes"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("1 sample has no image"), "{:#}", report["notes"]);
}

#[test]
fn invalid_arguments_are_errors_with_a_valid_example() {
    let place = photos(4);
    for (words, advice) in [
        ("nowhere", "nowhere"),
        ("photos", "not a data set; pack it with"),
        ("shards --batch 0", "--batch"),
        ("shards --batch 18446744073709551615", "16777216TiB"),
        ("shards --memory 1MiB", "--memory at least"),
        ("shards --memory much", "256MiB"),
        ("shards --step-ms 0", "as 30"),
        ("shards --seconds never", "as 10"),
        ("shards --samples 9 --seconds 1", "cannot be used with"),
        ("shards --jobs 0", "1 to 1024"),
        ("shards --shuffle well", "[possible values: none, shards, buffer, blocks, full]"),
    ] {
        let run = place.pack(&format!("bench {words}")).exits(2).says(advice);
        assert_eq!(run.stdout, "", "{words}");
    }
    fs::remove_file(place.at("shards/shard-000000.index")).unwrap();
    fs::remove_file(place.at("shards/dataset.json")).unwrap();
    let run = place.pack("bench shards --samples 4").says("pack index");
    assert_ne!(run.exit, 101, "{run:#?}");
}

#[test]
fn a_damaged_shard_is_named_and_the_exit_code_says_bad_data() {
    let place = photos(20);
    let tar = place.at("shards/shard-000000.tar");
    let whole = fs::read(&tar).unwrap();
    let mut flipped = whole.clone();
    flipped[512 + 700] ^= 1;
    fs::write(&tar, &flipped).unwrap();
    let words = "bench shards --samples 20 --batch 20 --raw --verify all";
    let run = place.pack(words).exits(65).says("shard-000000.tar: byte").says("checksum");
    assert_eq!(run.stdout, "");
    fs::write(&tar, &whole[..whole.len() / 2]).unwrap();
    place
        .pack("bench shards --samples 20 --batch 20")
        .exits(65)
        .says("shard-000000.index")
        .says("the tar has 32768");
}

#[test]
fn a_file_that_is_no_image_is_named() {
    let place = Place::new();
    place.folder("photos", 6).file("photos/zz.jpg", "no image").file("photos/zz.json", "{}");
    place.pack("build photos -o shards --check none").succeeds();
    place.pack("bench shards --samples 7 --batch 7 --raw").succeeds();
    place
        .pack("bench shards --samples 7 --batch 7")
        .exits(65)
        .says("key zz")
        .says("not those of a picture");
}

#[test]
fn help_teaches_with_examples() {
    let run = Place::new().pack("bench --help").succeeds();
    for text in ["Examples:", "pack bench shards/ --step-ms 30", "MLPerf Storage", "Exit codes:"] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    for flag in [
        "--raw",
        "--seconds <S>",
        "--samples <N>",
        "[default: 2GiB, more for many threads]",
        "[default: full]",
    ] {
        assert!(run.stdout.contains(flag), "{flag}: {}", run.stdout);
    }
}

#[test]
fn a_recommendation_is_a_curve_and_settings_to_paste() {
    let place = photos(20);
    let words = "shards --samples 16 --batch 8 --recommend";
    let found = measured(&place, words);
    assert_eq!(
        (&found["measured"], &found["needed_samples_per_s"]),
        (&"decoded".into(), &Value::Null)
    );
    let curve = found["curve"].as_array().unwrap();
    let processors = std::thread::available_parallelism().unwrap().get();
    assert_eq!(curve[0]["threads"], 1);
    assert_eq!(curve[curve.len() - 1]["threads"], processors);
    for point in curve {
        above_zero(point, &["samples_per_s"]);
    }
    let chosen = curve.iter().find(|point| point["threads"] == found["choice"]["threads"]);
    assert_eq!(chosen.unwrap()["samples_per_s"], found["choice"]["samples_per_s"]);
    assert_eq!(found["choice"]["reason"], "nearly_best");
    // Any rate feeds a step of a minute, and none one of ten microseconds.
    let slow = measured(&place, &format!("{words} --step-ms 60000"));
    assert_eq!(
        (&slow["choice"]["reason"], &slow["choice"]["threads"]),
        (&"feeds_accelerator".into(), &1.into())
    );
    let fast = measured(&place, &format!("{words} --step-ms 0.01"));
    assert_eq!(fast["choice"]["reason"], "too_slow");
    let run =
        place.pack(&format!("bench {words} --raw --shuffle blocks --source mapped")).succeeds();
    let text = &run.stdout;
    for line in [
        "shards: raw samples, by the number of threads\n",
        "loader = tarflume.torch.Loader(\n    \"shards\",\n    batch_size=8, shuffle=\"blocks\", block_size=64, window=16, seed=0, num_threads=",
        ", prefetch=4, source=\"mapped\",\n)\n",
        "let loader = Loader::builder(\"shards\")\n    .shuffle(Shuffle::Blocks { block: 64, window: 16, seed: 0 })\n    .batch(8)\n",
        "    .source(SourceKind::Mapped)\n    .build()?;\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(text.matches(" samples/s  #").count(), curve.len(), "{text}");
    place.pack("bench shards --recommend --jobs 2").exits(2);
}
