//! `pack tokens`: what is in the shards, what a second run does, kills at random calls, wrong
//! usage.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::SplitMix64;

use crate::harness::{Place, Tree, sampled};
use crate::interrupted::kills::Kills;

/// Words of the texts; their ids are 2 and up.
const WORDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// A tokenizer with an id for each of [`WORDS`], and with a truncation that must not take effect.
fn tokenizer() -> String {
    let mut vocabulary = json!({"<end>": 0, "<unk>": 1});
    for (id, word) in (2..).zip(WORDS) {
        vocabulary[word] = json!(id);
    }
    let truncation =
        json!({"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0});
    let end = json!({"id": 0, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false,
                     "normalized": false, "special": true});
    json!({"version": "1.0", "truncation": truncation, "padding": null, "added_tokens": [end],
           "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
           "decoder": null, "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}})
    .to_string()
}

/// Returns the words of a document.
fn words(number: u64) -> Vec<usize> {
    let mut random = SplitMix64::new(number);
    let length = random.below(24);
    (0..length).map(|_| random.below(6) as usize).collect()
}

/// Writes the corpus as JSONL and its tokenizer.
fn corpus(place: &Place, name: &str, documents: u64) {
    let text = |n: u64| words(n).iter().map(|&word| WORDS[word]).collect::<Vec<_>>().join(" ");
    let lines: String =
        (0..documents).map(|n| json!({"id": n, "text": text(n)}).to_string() + "\n").collect();
    place.file(name, lines).file("tokenizer.json", tokenizer());
}

/// Returns the data of an npy file as numbers; knows only what `pack tokens` writes.
fn array(npy: &[u8], width: usize) -> Vec<u32> {
    assert_eq!(&npy[..8], b"\x93NUMPY\x01\x00");
    let kind: &[u8] = if width == 2 { b"'<u2'" } else { b"'<i4'" };
    assert!(npy[..128].windows(5).any(|own| own == kind));
    npy[128..]
        .chunks(width)
        .map(|own| own.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)))
        .collect()
}

/// Returns the documents of a data set: the number in the name, the first id of the part, the ids.
fn documents(place: &Place, set: &str, length: usize) -> Vec<(u64, usize, Vec<u32>)> {
    let mut all = Vec::new();
    for sample in place.shards(set).concat().chunks(3) {
        let [bounds, ids, json] = sample else { panic!("three parts") };
        assert!(bounds.name.ends_with(".cu_seqlens.npy") && ids.name.ends_with(".ids.npy"));
        let bounds = array(&bounds.data, 4);
        let ids = array(&ids.data, 2);
        let json: Value = serde_json::from_slice(&json.data).unwrap();
        assert_eq!(
            (ids.len(), json["tokens"].as_u64()),
            (length, bounds.last().map(|&n| n.into()))
        );
        assert!(ids[*bounds.last().unwrap() as usize..].iter().all(|&id| id == 0));
        for (pair, name) in bounds.windows(2).zip(json["documents"].as_array().unwrap()) {
            let name = name.as_str().unwrap().strip_prefix("text.jsonl#").unwrap();
            let (number, from) = name.split_once('+').unwrap_or((name, "0"));
            let own = ids[pair[0] as usize..pair[1] as usize].to_vec();
            all.push((number.parse().unwrap(), from.parse().unwrap(), own));
        }
    }
    all.sort();
    all
}

/// Returns the files of a data set without the cache.
fn published(place: &Place, set: &str) -> Tree {
    place.tree(set).into_iter().filter(|(name, _)| !name.starts_with(".tokens/")).collect()
}

#[test]
fn each_document_is_in_one_sample_with_its_end() {
    let place = Place::new();
    corpus(&place, "text.jsonl", 500);
    for packing in ["bfd", "concat"] {
        let run = place.pack(&format!(
            "tokens text.jsonl -o {packing} --pack {packing} --tokenizer tokenizer.json --length 32 \
             --eos <end> --where len(ids)>=3 --shard-samples 40"
        ));
        run.succeeds().says("500 documents").says("left out by --where").says("fill 9");
        place.pack(&format!("verify {packing} --require '' --level decode")).succeeds();
        let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
        for (number, from, ids) in documents(&place, packing, 32) {
            match found.last_mut() {
                Some((last, all)) if *last == number => {
                    assert!(packing == "concat" && from == all.len(), "split at {from}");
                    all.extend(ids);
                }
                _ => found.push((number, ids)),
            }
        }
        let ids = |n: u64| words(n).iter().map(|&w| w as u32 + 2).chain([0]).collect::<Vec<_>>();
        let expected: Vec<_> =
            (0..500).filter(|&n| words(n).len() >= 3).map(|n| (n, ids(n))).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn only_what_is_new_is_tokenized() {
    let place = Place::new();
    corpus(&place, "text.jsonl", 3000);
    let command = |out: &str, more: &str| {
        place.pack(&format!(
            "tokens text.jsonl -o {out} --tokenizer tokenizer.json --cache cache --unit 4kB --format json {more}"
        ))
    };
    let report = |out: &str, more: &str| command(out, more).succeeds().events().pop().unwrap();
    let first = report("a", "--length 64");
    assert_eq!(
        (&first["event"], &first["tokenized_bytes"]),
        (&json!("published"), &first["text_bytes"])
    );
    assert!(first["fill"].as_f64().unwrap() >= 0.99, "{first}");
    // What a run leaves that is killed after it has published.
    place.file("a/.pack/lock", "");
    fs::create_dir(place.at("a/.pack/shards")).unwrap();
    let again = report("a", "--length 64");
    let gone = fs::metadata(place.at("a/.pack")).unwrap_err();
    assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
    assert_eq!((&again["event"], &again["tokenized_bytes"]), (&json!("skipped"), &json!(0)));
    assert_eq!(report("b", "--length 128 --pack concat")["tokenized_bytes"], json!(0));
    command("a", "--length 128").exits(2).says("holds another data set").says("--cache");
    corpus(&place, "text.jsonl", 3030);
    let grown = report("c", "--length 64");
    let share = grown["tokenized_bytes"].as_f64().unwrap() / grown["text_bytes"].as_f64().unwrap();
    assert!(share > 0.005 && share < 0.04, "{share}");
    let other = tokenizer().replace("<unk>", "<any>");
    place.file("tokenizer.json", other);
    let changed = report("d", "--length 64");
    assert_eq!(changed["tokenized_bytes"], changed["text_bytes"]);
}

#[test]
fn runs_killed_at_random_calls_end_with_the_same_bytes() {
    let place = Place::new();
    corpus(&place, "text.jsonl", 6000);
    let words = "--tokenizer tokenizer.json --length 32 --unit 16kB --shard-size 64kB --no-fsync";
    let command = |out: &str| format!("tokens text.jsonl -o {out} {words}");
    let Some(mut attempts) = Kills::of(&place, &command("whole")) else { return };
    let expected = published(&place, "whole");
    for _ in 0..sampled(12) {
        let _ = fs::remove_dir_all(place.at("out"));
        for _ in 0..4 {
            attempts.kill(&place, &command("out"), false);
        }
        place.pack(&command("out")).succeeds();
        assert_eq!(published(&place, "out"), expected);
    }
    assert!(attempts.killed > 4, "only {} runs were killed", attempts.killed);
}

#[test]
fn folders_of_several_kinds_are_read_in_order() {
    let place = Place::new();
    place.file("t/b.txt", "one two").file("t/c/d.txt", "three").file("t/x.jpg", "no text");
    place
        .file("t/a.jsonl", "{\"text\": \"four\"}\n{\"text\": \"\"}\n")
        .file("tokenizer.json", tokenizer());
    let run = place.pack("tokens t -o out --tokenizer tokenizer.json --length 8 --pack concat");
    run.succeeds()
        .says("4 documents, 4 ids (uint16)")
        .says("1 without ids")
        .says("notice: files of the folders that are no text are left out: 1 .jpg");
    let members = place.shards("out").concat();
    assert_eq!(array(&members[1].data, 2), [5, 2, 3, 4, 0, 0, 0, 0]);
    let names = String::from_utf8(members[2].data.clone()).unwrap();
    assert_eq!(names, r##"{"documents":["t/a.jsonl#0","t/b.txt#0","t/c/d.txt#0"],"tokens":4}"##);
    let lines =
        place.pack("tokens t/b.txt -o lines --tokenizer tokenizer.json --length 2 --per-line");
    lines.succeeds().says("1 document, 2 ids");
}

#[test]
fn faults_are_named_with_line_and_remedy() {
    let place = Place::new();
    place
        .file("text.jsonl", "{\"text\": \"one\"}\n{\"body\": 1}\n")
        .file("tokenizer.json", tokenizer());
    let usual = "tokens text.jsonl -o out --tokenizer tokenizer.json --length 8";
    place
        .pack(usual)
        .exits(65)
        .says("text.jsonl: line 2 (byte 16)")
        .says("give the text's name with --text-field");
    assert!(!place.at("out/dataset.json").exists());
    place
        .pack(&format!("{usual} --bad-budget 1"))
        .succeeds()
        .says("notice: 1 document left out, listed in out/.tokens/problems.jsonl; the first: text.jsonl: line 2")
        .says("2 documents, 1 ids (uint16)")
        .says("; 1 cannot be read");
    fs::remove_dir_all(place.at("out")).unwrap();
    place.file("text.jsonl", "{\"text\": \"one\"}\n");
    place.pack(&format!("{usual} --eos 50256")).exits(2).says(
        "--eos 50256: the tokenizer has 8 ids, from 0; give the token's text, or --vocabulary N",
    );
    place
        .pack(&format!("{usual} --where len(ids)>x"))
        .exits(2)
        .says("--where: column 10: expected");
    place.pack(&format!("{usual} --eos <bos>")).exits(2).says("the tokenizer has no such token");
    place.pack(&format!("{usual} --where len(ids)>5")).exits(2).says("1 left out by --where");
    place.pack("tokens text.jsonl -o out --length 8").exits(2).says("--tokenizer tokenizer.json");
    place
        .pack("tokens none -o out --tokenizer tokenizer.json --length 8")
        .exits(2)
        .says("no such file");
    place.pack("tokens megatron:none -o out --length 8").exits(2).says("none.bin");
    place.file("bad.json", "{}");
    place
        .pack("tokens text.jsonl -o out --tokenizer bad.json --length 8")
        .exits(65)
        .says("tokenizer.json");
    place.folder("photos", 5).pack("build photos -o photos-out").succeeds();
    place
        .pack("tokens text.jsonl -o photos-out --tokenizer tokenizer.json --length 8")
        .exits(2)
        .says("another data set");
}

#[test]
fn special_tokens_in_texts_are_counted_or_text_and_settings_beside_the_file_named() {
    let place = Place::new();
    place
        .file("text.jsonl", "{\"text\": \"one <end>\"}\n{\"text\": \"two\"}\n")
        .file("tokenizer.json", tokenizer())
        .file("tokenizer_config.json", "{\"split_special_tokens\": true}");
    let command = |out: &str, more: &str| {
        let usual =
            "tokens text.jsonl --tokenizer tokenizer.json --length 8 --pack concat --eos <end>";
        place.pack(&format!("{usual} -o {out} {more}"))
    };
    command("out", "")
        .succeeds()
        .says("notice: 1 special token is in the text of 1 document, the first is '<end>' (id 0)")
        .says("notice: 1 document already ended with the token of --eos, and got no second one")
        .says("tokenizer_config.json sets split_special_tokens");
    let ids = |out: &str| array(&place.shards(out).concat()[1].data, 2);
    assert_eq!(ids("out"), [2, 0, 3, 0, 0, 0, 0, 0]);
    let split = command("split", "--split-special-tokens").succeeds();
    assert!(!split.stderr.contains("notice"), "{split:?}");
    assert_eq!(ids("split"), [2, 1, 1, 1, 0, 3, 0, 0]);
}

#[test]
fn documents_leave_for_megatron_and_return_with_the_same_bytes() {
    let place = Place::new();
    place.file("tokenizer.json", tokenizer());
    place.file(
        "a.jsonl",
        "{\"text\": \"one two three\"}\n{\"text\": \"four\"}\n{\"text\": \"two\"}\n",
    );
    place.pack("tokens a.jsonl -o tok --tokenizer tokenizer.json --length 2").succeeds();
    place.pack("export tok --to megatron -o first").succeeds().says("3 documents, 5 ids");
    place.pack("tokens megatron:first -o again --length 4 --pack concat").succeeds();
    place.pack("export again --to megatron -o second.bin").succeeds();
    for ending in ["bin", "idx"] {
        let read = |name: &str| fs::read(place.at(format!("{name}.{ending}"))).unwrap();
        assert_eq!(read("first"), read("second"), "{ending}");
    }
    place.pack("export tok --to megatron -o first").exits(2).says("first.bin exists");
    place.pack("export tok --to megatron -o x --parts json").exits(2).says("not for --to megatron");
}
