//! Conversations beside transformers: the golden files of `fixtures/chat`, and properties of masks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::*;

/// The template that needs tools: Python cannot walk over `None`, and minijinja walks over nothing.
const NEEDS_TOOLS: &str = "hermes-3-tools";

fn chat() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/chat")
}

fn json(name: &str) -> Json {
    let text = std::fs::read_to_string(chat().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn encoder(tokenizer: &str, template: &str, loss: Loss) -> ChatEncoder {
    let options = ChatOptions {
        template: Some(chat().join(format!("templates/{template}.jinja"))),
        date: Some("2026-11-29".into()),
        loss,
        ..ChatOptions::default()
    };
    let path = chat().join(format!("tokenizers/{tokenizer}/tokenizer.json"));
    ChatEncoder::read(&path, TokenizerOptions::default(), &options).unwrap()
}

fn digest(ids: &[u32]) -> String {
    let mut hasher = Sha256::new();
    ids.iter().for_each(|id| hasher.update(id.to_le_bytes()));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the places of loss with those of a golden file: runs, or a word for why there are none.
fn same_mask(encoder: &ChatEncoder, conversation: &str, expected: &Json, what: &str) {
    let found = encoder.ids(conversation).map(prompt::runs);
    match expected {
        Json::Array(runs) => {
            let runs: Vec<u32> = runs.iter().map(|own| own.as_u64().unwrap() as u32).collect();
            assert_eq!(found.map_err(|e| e.text()), Ok(runs), "{what}");
        }
        Json::String(word) => {
            let told = found.expect_err(what).text();
            let expected =
                if word == "unknown" { "is not known" } else { "refuses the conversation" };
            assert!(told.contains(expected), "{what}: {told}");
        }
        _ => {}
    }
}

fn check(template: &str, conversations: &BTreeMap<String, String>) {
    let golden = json(&format!("golden/{template}.json"));
    let tokenizer = golden["tokenizer"].as_str().unwrap();
    let [plain, all, last] = [Loss::Everything, Loss::Assistant, Loss::Last]
        .map(|loss| encoder(tokenizer, template, loss));
    for (title, conversation) in conversations {
        let what = format!("{template}, {title}");
        let expected = &golden["cases"][title];
        let rendered = plain.rendered(conversation);
        let Some(text) = expected["text"].as_str() else {
            let is_lenient = template == NEEDS_TOOLS && !conversation.contains("\"tools\"");
            assert!(rendered.is_err() || is_lenient, "{what}: {rendered:?}");
            continue;
        };
        assert_eq!(rendered.map(|own| own.text).map_err(|e| e.text()), Ok(text.into()), "{what}");
        let ids = plain.ids(conversation).unwrap();
        assert_eq!(ids.len() as u64, expected["number"].as_u64().unwrap(), "{what}");
        assert_eq!(digest(&ids), expected["ids"].as_str().unwrap(), "{what}");
        same_mask(&all, conversation, &expected["all"], &format!("{what}, all turns"));
        same_mask(&last, conversation, &expected["last"], &format!("{what}, the last turn"));
    }
}

#[test]
fn texts_ids_and_masks_are_those_of_transformers() {
    let conversations: BTreeMap<String, String> =
        serde_json::from_value(json("conversations.json")).unwrap();
    let golden = std::fs::read_dir(chat().join("golden")).unwrap();
    let mut templates: Vec<String> = golden
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().into())
        .collect();
    templates.sort();
    assert!(templates.len() >= 20 && conversations.len() >= 15);
    templates.iter().for_each(|template| check(template, &conversations));
}

/// Roles and contents, also of characters that tokens cut.
fn turns() -> impl Strategy<Value = Vec<(bool, String)>> {
    let content = prop_oneof!["[a-z .,\n]{0,12}", "[\\PC]{0,6}", Just("🙂é".to_string())];
    proptest::collection::vec((any::<bool>(), content), 1..6)
}

fn conversation(turns: &[(bool, String)]) -> String {
    let messages: Vec<Json> = turns
        .iter()
        .map(|(is_assistant, content)| {
            let role = if *is_assistant { "assistant" } else { "user" };
            serde_json::json!({"role": role, "content": content})
        })
        .collect();
    serde_json::json!({"messages": messages}).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exactly_the_words_of_the_assistant_have_loss(turns in turns()) {
        let text = encoder("bytes", "chatml", Loss::Assistant).rendered(&conversation(&turns)).unwrap();
        let spans = text.spans.unwrap();
        let found: Vec<&str> = spans.iter().map(|&(begin, end)| &text.text[begin..end]).collect();
        let expected: Vec<String> = turns
            .iter()
            .filter(|(is_assistant, _)| *is_assistant)
            .map(|(_, content)| format!("{content}<|im_end|>\n"))
            .collect();
        prop_assert_eq!(found, expected);
        let last = encoder("bytes", "chatml", Loss::Last).rendered(&conversation(&turns)).unwrap();
        prop_assert_eq!(last.spans.unwrap(), spans[spans.len().saturating_sub(1)..].to_vec());
    }

    #[test]
    fn ids_that_touch_a_span_have_loss(
        widths in proptest::collection::vec(0usize..4, 0..30),
        cuts in proptest::collection::btree_set(0usize..60, 0..8),
    ) {
        let mut ids = Vec::new();
        let mut at = 0;
        for width in widths {
            ids.push(PlacedId { id: 5, begin: at, end: at + width });
            at += width;
        }
        let cuts: Vec<usize> = cuts.into_iter().collect();
        let spans: Vec<(usize, usize)> = cuts.chunks_exact(2).map(|own| (own[0], own[1])).collect();
        let found: Vec<bool> =
            marked(&ids, &spans).unwrap().into_iter().map(prompt::has_loss).collect();
        let touched: Vec<bool> = ids
            .iter()
            .map(|own| spans.iter().any(|(begin, end)| own.begin < *end && own.end > *begin))
            .collect();
        prop_assert_eq!(found, touched);
    }
}

#[test]
fn a_prompt_of_several_messages_has_no_loss() {
    let row = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},
        {"role":"user","content":"c"},{"role":"assistant","content":"d"}],"prompt":3}"#;
    for template in ["chatml", "qwen-2.5-training"] {
        let text = encoder("bytes", template, Loss::Assistant).rendered(row).unwrap();
        let spans = text.spans.unwrap();
        assert_eq!(spans.len(), 1, "{template}");
        let own = &text.text[spans[0].0..spans[0].1];
        assert!(own.trim_start().starts_with('d'), "{template}: {own}");
    }
}

#[test]
fn conversations_that_are_none_are_told() {
    let encoder = encoder("bytes", "chatml", Loss::Assistant);
    for (row, expected) in [
        ("{}", "it has no messages"),
        (r#"{"messages":[]}"#, "the conversation has no message"),
        (r#"{"messages":["a"]}"#, "message 0 is no object"),
        (r#"{"messages":[{"content":"a"}]}"#, "message 0 has no role"),
        (r#"{"messages":[{"role":"user","content":"a"}],"tools":"{"}"#, "of the text of its tools"),
        (r#"{"messages":[{"role":"user","content":"a"}],"tools":["x"]}"#, "no list of objects"),
    ] {
        let told = encoder.fault(row).unwrap().text();
        assert!(told.contains(expected), "{row}: {told}");
    }
    let mut ids = Ids::default();
    encoder.encode(&["{}", r#"{"messages":[{"role":"user","content":"a"}]}"#], &mut ids).unwrap();
    let lengths: Vec<usize> = ids.iter().map(<[u32]>::len).collect();
    assert!(lengths[0] == 0 && lengths[1] > 3, "{lengths:?}");
}

#[test]
fn settings_that_cannot_be_are_refused() {
    fn read(options: ChatOptions) -> String {
        let path = chat().join("tokenizers/bytes/tokenizer.json");
        let read = ChatEncoder::read(&path, TokenizerOptions::default(), &options);
        read.unwrap_err().text()
    }
    fn with() -> ChatOptions {
        let template = Some(chat().join("templates/chatml.jinja"));
        ChatOptions { template, ..ChatOptions::default() }
    }
    let path = chat().join("tokenizers/bytes/tokenizer.json");
    let none = read(ChatOptions::default());
    assert!(
        none.contains("neither chat_template.jinja nor one in tokenizer_config.json"),
        "{none}"
    );
    let date = read(ChatOptions { date: Some("today".into()), ..with() });
    assert!(date.contains("--template-date today: expected a date"), "{date}");
    let variables = read(ChatOptions { variables: Some("[1]".into()), ..with() });
    assert!(variables.contains("expected an object"), "{variables}");
    let name = read(ChatOptions { name: Some("rag".into()), ..with() });
    assert!(name.contains("has no template 'rag'; there are default"), "{name}");
    let settings = TokenizerOptions { add_special_tokens: true, ..TokenizerOptions::default() };
    let special = ChatEncoder::read(&path, settings, &with()).unwrap_err().text();
    assert!(special.contains("leave out --special-tokens"), "{special}");
}

/// A folder with a tokenizer and templates.
struct Own(tempfile::TempDir);

impl Own {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn text(&self, given: Option<&str>, name: Option<&str>, row: &str) -> Result<Text, String> {
        let options = ChatOptions {
            template: given.map(|own| self.0.path().join(own)),
            name: name.map(String::from),
            ..ChatOptions::default()
        };
        let tokenizer = self.0.path().join("tokenizer.json");
        let read = ChatEncoder::read(&tokenizer, TokenizerOptions::default(), &options);
        read.map_err(|e| e.text()).and_then(|own| own.rendered(row).map_err(|e| e.text()))
    }
}

#[test]
fn templates_are_found_where_transformers_looks() {
    let own = Own(tempfile::tempdir().unwrap());
    let tokenizer = chat().join("tokenizers/bytes/tokenizer.json");
    std::fs::copy(tokenizer, own.0.path().join("tokenizer.json")).unwrap();
    let row = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    let tools = r#"{"messages":[{"role":"user","content":"a"}],"tools":[{}]}"#;
    own.write("own.jinja", "{{ bos_token }}own");
    assert!(
        own.text(Some("own.jinja"), None, row)
            .unwrap_err()
            .contains("uses bos_token, and no tokenizer_config.json")
    );
    own.write(
        "tokenizer_config.json",
        r#"{"bos_token": {"content": "<b>"}, "chat_template": [{"name": "default", "template": "{{ bos_token }}d"},
            {"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"}]}"#,
    );
    assert_eq!(own.text(Some("own.jinja"), None, row).unwrap().text, "<b>own");
    assert_eq!(own.text(None, None, row).unwrap().text, "<b>d");
    assert_eq!(own.text(Some("tokenizer_config.json"), None, tools).unwrap().text, "t");
    assert_eq!(own.text(None, Some("rag"), tools).unwrap().text, "r");
    own.write("chat_template.jinja", "file");
    assert_eq!(own.text(None, None, tools).unwrap().text, "file");
    assert_eq!(own.text(Some(""), None, row).unwrap().text, "file");
    assert_eq!(own.text(Some("tokenizer_config.json"), None, row).unwrap().text, "file");
    std::fs::create_dir(own.0.path().join("additional_chat_templates")).unwrap();
    own.write("additional_chat_templates/tool_use.jinja", "more");
    assert_eq!(own.text(None, None, tools).unwrap().text, "more");
}
