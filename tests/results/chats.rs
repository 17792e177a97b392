//! `pack tokens` reads conversations: forms of rows, masks, lengths, and what the command prints.

use std::fs;

use serde_json::{Value, json};
use tarflume_formats::files;

use crate::harness::{Place, Run};

/// A template with the words of the assistant between `<a>` and `</a>`.
const TEMPLATE: &str = "{% for m in messages %}<{{ m.role[0] }}>{{ m.content }}</{{ m.role[0] }}>{% endfor %}\
                        {% if add_generation_prompt %}<a>{% endif %}";

/// A tokenizer whose ids are bytes.
fn tokenizer() -> String {
    let letters: Vec<char> = (' '..='~').chain(['\n']).collect();
    let mut vocabulary = json!({"?": 0});
    for (id, letter) in (1..).zip(letters) {
        vocabulary[letter.to_string()] = json!(id);
    }
    let split = json!({"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false});
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
           "pre_tokenizer": split, "post_processor": null, "decoder": null,
           "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"}})
    .to_string()
}

fn place() -> Place {
    let place = Place::new();
    place.file("tokenizer.json", tokenizer()).file("t.jinja", TEMPLATE);
    place
}

/// Returns the numbers of an npy file.
fn array(npy: &[u8], width: usize) -> Vec<usize> {
    npy[128..]
        .chunks(width)
        .map(|own| own.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte)))
        .collect()
}

/// Returns the texts of the samples, with what has no loss as dots, and the names of documents.
fn rows(place: &Place, set: &str) -> Vec<(String, String)> {
    let mut samples: std::collections::BTreeMap<String, [Vec<u8>; 3]> = Default::default();
    for member in place.shards(set).concat() {
        let (key, part) = member.name.split_once('.').unwrap();
        let at = ["ids.npy", "loss.npy", "json"].iter().position(|own| *own == part).unwrap();
        samples.entry(key.into()).or_default()[at] = member.data.clone();
    }
    samples.values().map(text_and_name).collect()
}

fn text_and_name(parts: &[Vec<u8>; 3]) -> (String, String) {
    let [ids, loss, names] = parts;
    let ids = array(ids, 2);
    let bounds = if loss.is_empty() { vec![0, ids.len()] } else { array(loss, 4) };
    let mut text = String::new();
    for (at, id) in ids.into_iter().enumerate() {
        let has_loss = bounds.chunks(2).any(|run| (run[0]..run[1]).contains(&at));
        let letter = if id == 96 { '\n' } else { char::from(id as u8 + 31) };
        text.push(if has_loss { letter } else { '.' });
    }
    let names: Value = serde_json::from_slice(names).unwrap();
    (text, names["documents"][0].as_str().unwrap().to_string())
}

const CHATS: &str = r#"{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]}
{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "dd"}]}
{"messages": [{"role": "user", "content": "only a question"}]}
"#;

fn command(out: &str, more: &str) -> String {
    format!("tokens chats.jsonl -o {out} --tokenizer tokenizer.json --chat-template t.jinja {more}")
}

#[test]
fn only_the_words_of_the_assistant_have_loss() {
    let place = place();
    place.file("chats.jsonl", CHATS);
    let all = place.pack(&command("all", "--messages messages --mask-prompt"));
    all.succeeds()
        .says("3 documents, 51 ids (uint16); loss for 17 ids (33.3 %)")
        .says("1 left out without an id that has loss")
        .says("all: published 2 samples")
        .says("the longest has 33 ids");
    let expected = [
        ("............yo</a>", "chats.jsonl#0"),
        ("...........b</a>...........dd</a>", "chats.jsonl#1"),
    ];
    let expected = expected.map(|(text, name)| (text.to_string(), name.to_string()));
    assert_eq!(rows(&place, "all"), expected);
    place.pack(&command("last", "--messages messages --mask-prompt last")).succeeds();
    assert_eq!(rows(&place, "last")[1].0, format!("{}dd</a>", ".".repeat(27)));
    place.pack(&command("none", "--messages messages")).succeeds().says("published 3 samples");
    let texts: Vec<String> = rows(&place, "none").into_iter().map(|(text, _)| text).collect();
    assert_eq!(
        texts,
        ["<u>hi</u><a>yo</a>", "<u>a</u><a>b</a><u>c</u><a>dd</a>", "<u>only a question</u>"]
    );
    place.pack("verify all --require '' --level decode").succeeds();
}

#[test]
fn rows_of_other_forms_are_the_same_conversations() {
    let place = place();
    let masked = format!("{}yo</a>", ".".repeat(25));
    let whole = "<s>be</s><u>hi\nyou</u><a>yo</a>";
    for (name, row, words) in [
        (
            "sharegpt",
            json!({"conversations": [{"from": "human", "value": "hi\nyou"}, {"from": "gpt", "value": "yo"}], "system": "be"}),
            "--messages conversations",
        ),
        (
            "alpaca",
            json!({"instruction": "hi", "input": "you", "output": "yo", "system": "be"}),
            "--alpaca",
        ),
        (
            "pair",
            json!({"p": [{"role": "system", "content": "be"}, {"role": "user", "content": "hi\nyou"}], "r": "yo"}),
            "--prompt p --response r",
        ),
        (
            "list",
            json!([{"messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "hi\nyou"}, {"role": "assistant", "content": "yo"}]}]),
            "--messages messages",
        ),
    ] {
        place.file("chats.jsonl", format!("{row}\n"));
        place.pack(&command(&format!("{name}-all"), words)).succeeds();
        assert_eq!(rows(&place, &format!("{name}-all"))[0].0, whole, "{name}");
        place.pack(&command(name, &format!("{words} --mask-prompt"))).succeeds();
        assert_eq!(rows(&place, name)[0].0, masked, "{name}");
    }
}

fn cut(place: &Place, out: &str, more: &str) -> Run {
    place.pack(&command(out, &format!("--messages messages --max-length 20 {more}")))
}

#[test]
fn long_rows_are_cut_left_out_or_end_the_command() {
    let place = place();
    place.file("chats.jsonl", CHATS);
    cut(&place, "right", "").succeeds().says("2 cut to --max-length");
    let [first, second] = [0, 1].map(|at| rows(&place, "right")[at].clone());
    assert_eq!(first.0, "<u>hi</u><a>yo</a>");
    assert_eq!(second, ("<u>a</u><a>b</a><u>c".into(), "chats.jsonl#1".into()));
    cut(&place, "left", "--truncate left").succeeds().says("2 cut to --max-length");
    let left = rows(&place, "left")[1].clone();
    assert_eq!(left, ("</a><u>c</u><a>dd</a>"[1..].into(), "chats.jsonl#1+13".into()));
    cut(&place, "drop", "--drop-longer").succeeds().says("2 left out by --drop-longer");
    assert_eq!(rows(&place, "drop").len(), 1);
    cut(&place, "short", "--min-length 19").succeeds().says("1 left out by --min-length");
    cut(&place, "error", "--truncate error")
        .exits(65)
        .says("chats.jsonl#1 has 33 ids, and --max-length 20 is the limit")
        .says("--truncate right or --truncate left to cut such documents, or --drop-longer");
    cut(&place, "cut", "--mask-prompt --truncate right")
        .succeeds()
        .says("left out without an id that has loss");
    cut(&place, "both", "--truncate left --drop-longer").exits(2);
    place.pack(&command("blocks", "--messages messages --mask-prompt --length 64")).succeeds();
    let names: Vec<String> =
        place.shards("blocks").concat().into_iter().map(|own| own.name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

fn strict(place: &Place, out: &str, more: &str) -> Run {
    let words = "--chat-template strict.jinja --messages messages";
    place.pack(&format!("tokens chats.jsonl -o {out} --tokenizer tokenizer.json {words} {more}"))
}

#[test]
fn what_cannot_be_rendered_is_named_or_left_out() {
    let place = place();
    place.file(
        "strict.jinja",
        "{% if messages|length < 2 %}{{ raise_exception('too short') }}{% endif %}x y",
    );
    place.file("chats.jsonl", format!("{CHATS}{{\"messages\": 1}}\n"));
    strict(&place, "a", "")
        .exits(65)
        .says("chats.jsonl: line 4 (byte ")
        .says("expected a list of messages");
    strict(&place, "b", "--bad-budget 1")
        .exits(65)
        .says("chats.jsonl: line 4 (byte ")
        .says("2 documents cannot be read, and --bad-budget is 1");
    strict(&place, "c", "--bad-budget 2")
        .succeeds()
        .says("2 documents left out")
        .says("2 cannot be read");
    let told = fs::read_to_string(place.at("c/.tokens/problems.jsonl")).unwrap();
    assert_eq!(told.lines().count(), 2, "{told}");
    place.file("few.jsonl", CHATS);
    place
        .pack("tokens few.jsonl -o e --tokenizer tokenizer.json --chat-template strict.jinja --messages messages")
        .exits(65)
        .says("few.jsonl: document 2: the chat template refuses the conversation: too short")
        .says("--bad-budget N leaves out");
    // Again from the cache: what was refused stays refused.
    strict(&place, "d", "--bad-budget 1 --cache c/.tokens/cache")
        .exits(65)
        .says("2 documents cannot be read");
    assert!(!files::exists(place.at("d/dataset.json").as_ref()).unwrap());
}

#[test]
fn a_turn_whose_end_is_not_known_is_an_error_with_a_remedy() {
    let place = place();
    let changing = "{% for m in messages %}<{{ m.role[0] }}>{{ m.content if loop.last else m.content[0] }}{% endfor %}\
                    {% if add_generation_prompt %}<a>{% endif %}";
    place
        .file("t.jinja", changing)
        .file("chats.jsonl", CHATS.lines().nth(1).unwrap().replace("\"b\"", "\"bb\""));
    let all = place.pack(&command("all", "--messages messages --mask-prompt"));
    all.exits(65)
        .says("the end of the assistant's message 1 is not known")
        .says("--mask-prompt last needs the last turn only");
    place.pack(&command("last", "--messages messages --mask-prompt last")).succeeds();
    assert_eq!(rows(&place, "last")[0].0, "...............dd");
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let place = place();
    place.file("chats.jsonl", CHATS);
    for (words, expected) in [
        ("", "are for conversations; give --messages FIELD"),
        (
            "--messages m --alpaca",
            "conversations are --messages FIELD, or --prompt FIELD with --response FIELD",
        ),
        ("--prompt p", "conversations are --messages FIELD"),
        ("--messages messages --special-tokens", "leave out --special-tokens"),
        ("--messages messages --pack bfd", "give --length N for samples of N ids, or --pack rows"),
        ("--messages messages --pack rows --length 9", "give --max-length 9 in place of --length"),
        (
            "--messages messages --min-length 9 --max-length 8",
            "--min-length 9: more than the most ids",
        ),
        ("--messages messages --template-date x", "expected a date"),
        ("--messages conversation", "there is no field 'conversation'; the fields are 'messages'"),
    ] {
        let run = place.pack(&command("out", words));
        assert_ne!(run.exit, 0, "{words}");
        run.says(expected);
    }
    place
        .pack("tokens chats.jsonl -o out --tokenizer tokenizer.json")
        .exits(2)
        .says("give --length N for samples of N ids, or --pack rows");
}
