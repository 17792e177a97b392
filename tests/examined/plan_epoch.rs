//! `pack plan-epoch`: its numbers by arithmetic that is written out here, its text, and its refusals.

use serde_json::Value;

use crate::harness::Place;

/// A place with the data set `shards`: so many tiny pairs.
fn pairs(count: usize) -> Place {
    let place = Place::new();
    place.folder("tiny", count).pack("build tiny -o shards --shards 2").succeeds();
    place
}

fn planned(place: &Place, words: &str) -> Value {
    let run = place.pack(&format!("plan-epoch shards --format json {words}")).succeeds();
    serde_json::from_str(&run.stdout).unwrap()
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{path} in {value:#}"))
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-6, "{found}, not {expected}");
}

#[test]
fn steps_samples_and_bytes_are_those_of_the_job() {
    let place = pairs(100);
    let words = "--world-size 3 --batch-size 8 --ranks-per-node 2 --step-ms 50 --epochs 10";
    let report = planned(&place, words);
    let job = serde_json::json!({
        "world_size": 3, "nodes": 2, "ranks_per_node": 2, "batch_size": 8, "epochs": 10
    });
    assert_eq!(report["job"], job);
    assert_eq!((&report["samples"], &report["shards"]), (&100.into(), &2.into()));
    // 100 samples fill four batches of three ranks of eight.
    let epoch = &report["epoch"];
    let counts = ["steps", "samples", "dropped"].map(|name| epoch[name].as_u64().unwrap());
    assert_eq!(counts, [4, 96, 4]);
    assert_eq!(report["looked_up"]["exact"], true);
    assert_eq!(report["looked_up"]["samples"], 96);
    assert_eq!(report["looked_up"]["uncertainty_percent"], Value::Null);
    let tars: Vec<_> = place.names("shards").into_iter().filter(|n| n.ends_with(".tar")).collect();
    let sizes =
        tars.iter().map(|name| place.at(format!("shards/{name}")).metadata().unwrap().len());
    assert_eq!(report["bytes"], sizes.clone().sum::<u64>());
    let slots: u64 = sizes.map(|bytes| bytes.div_ceil(1 << 20)).sum();
    assert_eq!(report["node_cache"]["slots"], slots);
    assert_eq!(report["opening"]["requests_per_node"], 3, "dataset.json and two sidecars");
    // An epoch takes 4 steps of 50 ms.
    near(number(&report, "/rate/epoch_seconds"), 0.2);
    near(number(&report, "/rate/samples_per_s"), 480.0);
    let requests = number(&report, "/epoch/requests");
    near(number(&report, "/rate/requests_per_s/world"), requests / 0.2);
    near(number(&report, "/rate/requests_per_s/node"), requests / 0.2 / 3.0 * 2.0);
    near(number(&report, "/rate/bytes_per_s/rank"), number(&report, "/epoch/bytes") / 0.6);
}

#[test]
fn costs_are_list_prices_unless_others_are_given() {
    let place = pairs(100);
    let report = planned(&place, "--batch-size 10 --epochs 2");
    let requests = number(&report, "/epoch/requests");
    let bytes = number(&report, "/epoch/bytes");
    let opened = number(&report, "/opening/bytes_per_node");
    let gb = (1u64 << 30) as f64;
    near(number(&report, "/cost/usd_per_epoch"), requests * 0.0004 / 1000.0);
    near(number(&report, "/cost/usd"), (2.0 * requests + 3.0) * 0.0004 / 1000.0);
    near(number(&report, "/cost/egress_usd"), (2.0 * bytes + opened) / gb * 0.09);
    let source = report["cost"]["source"].as_str().unwrap();
    assert!(source.starts_with("list price of Amazon S3 Standard, us-east-1, 20"), "{source}");
    let given = planned(&place, "--batch-size 10 --price s3-express --request-price 2");
    near(number(&given, "/cost/usd_per_epoch"), requests * 0.002 + bytes / gb * 0.0006);
    let source = given["cost"]["source"].as_str().unwrap();
    assert!(source.starts_with("--request-price; otherwise list price of"), "{source}");
}

#[test]
fn bounds_are_those_of_latency_prefix_and_bandwidth() {
    let place = pairs(200);
    let words = "--batch-size 50 --step-ms 100 --latency-ms 20 --connection-bandwidth 1MB \
                 --bandwidth 1.5MB --request-rate 70";
    let report = planned(&place, words);
    let per_step = number(&report, "/epoch/requests") / 4.0;
    let each = number(&report, "/epoch/bytes") / 4.0 / per_step;
    let at_once = number(&report, "/readahead/requests_at_once");
    assert!(at_once > 1.0 && at_once <= 256.0);
    let bounds = report["bounds"].as_array().unwrap();
    let allowed = [at_once / (0.02 + each / 1e6), 70.0, 1.5e6];
    let needed = [per_step * 10.0, per_step * 10.0, per_step * each * 10.0];
    assert_eq!(bounds.len(), 3);
    let mut longest: f64 = 0.0;
    for (bound, (allowed, needed)) in bounds.iter().zip(allowed.into_iter().zip(needed)) {
        near(number(bound, "/allowed_per_s"), allowed);
        near(number(bound, "/needed_per_s"), needed);
        near(number(bound, "/utilization_percent"), 100.0 * needed / allowed);
        near(number(bound, "/shortest_step_ms"), 100.0 * needed / allowed);
        longest = longest.max(100.0 * needed / allowed);
    }
    near(number(&report, "/shortest_step_ms"), longest);
    assert_eq!(report["feeds"], longest <= 100.0);
    assert!(planned(&place, "--batch-size 50")["feeds"].is_null(), "no step is known");
}

#[test]
fn blocks_are_suggested_where_they_feed_the_job() {
    let place = pairs(400);
    // 400 samples in 10 steps of 100 ms: far more requests than 60 a second.
    let words = "--batch-size 40 --step-ms 100 --request-rate 60";
    let report = planned(&place, &format!("{words} --readahead 4MiB"));
    assert_eq!(report["feeds"], false);
    let found = &report["suggestion"];
    let block = found["block_size"].as_u64().unwrap();
    let window = found["window"].as_u64().unwrap();
    assert_eq!(found["split"], "position", "there is one rank");
    assert!(number(found, "/utilization_percent") <= 100.0);
    let blocks = format!("--shuffle blocks --block-size {block} --window {window}");
    let report = planned(&place, &format!("{words} {blocks} --readahead 4MiB"));
    assert_eq!(
        (&report["feeds"], &report["epoch"]["requests"]),
        (&true.into(), &found["requests"])
    );
    // With room for nothing, there is none.
    let narrow = planned(&place, &format!("{words} {blocks} --readahead 10kB"));
    assert_eq!((&narrow["feeds"], &narrow["suggestion"]), (&false.into(), &Value::Null));
    let note = narrow["notes"][0].as_str().unwrap();
    assert!(note.contains("more than half of the readahead") && note.contains("--readahead "));
}

#[test]
fn no_shuffle_is_suggested_where_the_parts_alone_need_more_than_the_bandwidth() {
    let place = pairs(200);
    let words = "--batch-size 50 --step-ms 10 --bandwidth 100kB";
    let report = planned(&place, words);
    assert_eq!(report["bandwidth_is_too_low"], true);
    assert_eq!((&report["feeds"], &report["suggestion"]), (&false.into(), &Value::Null));
    place
        .pack(&format!("plan-epoch shards {words}"))
        .succeeds()
        .says("need more than the bandwidth, whatever the shuffle");
}

#[test]
fn fewer_parts_are_fewer_bytes() {
    let place = pairs(60);
    let all = number(&planned(&place, "--batch-size 10"), "/epoch/part_bytes");
    let some = |parts: &str| {
        let report = planned(&place, &format!("--batch-size 10 --parts {parts}"));
        number(&report, "/epoch/part_bytes")
    };
    near(some("json") + some("jpg"), all);
    near(some("jpg,json"), all);
    place
        .pack("plan-epoch shards --batch-size 10 --parts png")
        .exits(2)
        .says("no sample has a part 'png'; the data set has: jpg, json");
}

#[test]
fn a_large_epoch_is_sampled_and_says_so() {
    let place = pairs(6000);
    let words = "--batch-size 4 --shuffle blocks --block-size 8 --window 2 --readahead 100kB";
    let whole = planned(&place, words);
    let part = planned(&place, &format!("{words} --samples 5000"));
    assert_eq!(
        (&whole["looked_up"]["exact"], &part["looked_up"]["exact"]),
        (&true.into(), &false.into())
    );
    assert_eq!(part["epoch"]["samples"], whole["epoch"]["samples"]);
    let exact = number(&whole, "/epoch/requests");
    let about = number(&part, "/epoch/requests");
    assert!((about / exact - 1.0).abs() < 0.15, "{about} for {exact}");
    place
        .pack(&format!("plan-epoch shards {words} --samples 5000"))
        .succeeds()
        .says("in batches spread over the epoch, of 2 of 2 shards: requests ± ");
}

#[test]
fn text_output_has_all_of_it() {
    let place = pairs(100);
    let words =
        "plan-epoch shards --world-size 2 --batch 8 --step-ms 50 --epochs 3 --bandwidth 1GB";
    let run = place.pack(words).succeeds();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("shards: 100 samples in 2 shards, "), "{}", run.stdout);
    assert_eq!(
        lines[1],
        "shuffle full, seed 0; all parts; 2 ranks of 8 samples on 1 node, split by position, remainder drop"
    );
    assert_eq!(lines[2], "note: this is a folder: it is planned as if it were in S3");
    let begins = |text: &str| lines.iter().filter(|line| line.starts_with(text)).count();
    for line in [
        "epoch      6 steps of each rank; 96 samples, 4 dropped",
        "requests   ",
        "bytes      ",
        "looked up  every sample of the epoch",
        "opening    3 requests, ",
        "memory     ",
        "cache      ",
        "cost       ",
        "rate       an epoch takes 0.3 s with steps of 50 ms: 320 samples a second",
        "bound  ",
        "requests of all ranks (S3, one prefix) ",
        "bandwidth of each node ",
        "This storage feeds the job, at ",
    ] {
        assert_eq!(begins(line), 1, "{line}: {}", run.stdout);
    }
    run.says("list price of Amazon S3 Standard, us-east-1, ")
        .says("transfer within the region is free; to the Internet, ")
        .says("3 epochs and opening: ");
    let without = place.pack("plan-epoch shards --batch-size 8").succeeds();
    without.says("This storage feeds steps of ").says("--step-ms compares that");
}

#[test]
fn wrong_words_say_what_to_type() {
    let place = pairs(20);
    for (words, said) in [
        ("shards", "make the batch smaller"),
        ("shards --batch-size 0", "0 is not in 1.."),
        ("shards --price s4", "there are s3-standard, s3-express, gcs-standard"),
        ("shards --request-price=-1", "expected USD from 0 to 1000, such as 0.0004"),
        ("shards --bandwidth fast", "such as 1.25GB for a link of 10 Gbit/s"),
        ("shards --step-ms 0", "expected milliseconds"),
        ("shards --shuffle random", "[possible values: none, shards, buffer, blocks, full]"),
        ("nothing", "nothing"),
    ] {
        place.pack(&format!("plan-epoch {words}")).exits(2).says(said);
    }
}

/// A place with the data set `shards`: 640 samples in the order of their ten labels.
fn sorted_by_label() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.at("sorted")).unwrap();
    for n in 0..640 {
        place.file(format!("sorted/{n:04}.json"), format!("{{\"label\":\"kind {}\"}}", n / 64));
        place.file(format!("sorted/{n:04}.cls"), (n % 7).to_string());
    }
    place.pack("build sorted -o shards --require json,cls").succeeds();
    place
}

#[test]
fn a_shuffle_that_does_not_mix_the_classes_is_told_with_one_that_does() {
    let place = sorted_by_label();
    let words = "--batch-size 32 --shuffle buffer --buffer-size 20 --class json:/label";
    let classes = &planned(&place, words)["classes"];
    assert_eq!((&classes["place"], &classes["count"]), (&"json:/label".into(), &10.into()));
    assert_eq!((&classes["batches"], &classes["samples"]), (&20.into(), &640.into()));
    assert!(number(classes, "/batch_is_worth") < 2.0, "{classes:#}");
    assert!(number(classes, "/most_frequent_percent") > 70.0, "{classes:#}");
    let better = classes["better"].as_array().unwrap();
    let options: Vec<_> =
        better.iter().map(|shuffle| shuffle["options"].as_str().unwrap()).collect();
    assert_eq!(options, ["--shuffle blocks --block-size 64 --window 256", "--shuffle full"]);
    // The classes are those of the batches that a training gets: the suggestion keeps its promise.
    for shuffle in better {
        let options = shuffle["options"].as_str().unwrap();
        let words = format!("--batch-size 32 --class json:/label {options}");
        let classes = &planned(&place, &words)["classes"];
        assert_eq!(classes["batch_is_worth"], shuffle["batch_is_worth"]);
        assert!(number(classes, "/batch_is_worth") > 20.0, "{classes:#}");
        assert_eq!(classes["better"], serde_json::json!([]));
    }
    place
        .pack(&format!("plan-epoch shards {words}"))
        .succeeds()
        .says("10 classes (json:/label); by classes, a batch of 32 is worth 1.")
        .says("This shuffle does not mix the classes: one class has ")
        .says("--shuffle full makes it worth ");
}

#[test]
fn classes_are_found_in_the_usual_place_and_many_ranks_are_one_job() {
    let place = sorted_by_label();
    let classes = &planned(&place, "--batch-size 8 --world-size 4 --shuffle none")["classes"];
    assert_eq!((&classes["place"], &classes["count"]), (&"cls".into(), &7.into()));
    // Rank 0 of 4 has 8 of each 32 samples; the seven classes of `cls` take turns.
    assert_eq!((&classes["batches"], &classes["samples"]), (&20.into(), &160.into()));
    assert_eq!(number(classes, "/batch_is_worth"), 8.0);
    let classes = &planned(&pairs(9), "--batch-size 8")["classes"];
    assert_eq!(classes, &Value::Null, "one batch says nothing");
    // An epoch of less than one batch is planned if the job pads it; it has no full batch to look at.
    let padded = planned(&pairs(9), "--batch-size 256 --remainder pad");
    assert_eq!((&padded["classes"], number(&padded, "/samples")), (&Value::Null, 9.0));
    place
        .pack("plan-epoch shards --class json:label")
        .exits(2)
        .says("give an extension (cls) or EXT:POINTER (json:/label)");
}
