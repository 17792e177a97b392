//! Builds of texts with special tokens, and with documents that cannot be read.

use tarflume_formats::message::Message;

use super::*;

/// Writes `lines` as the corpus; returns the report and the documents that are packed.
fn packed(lines: &str, change: impl FnOnce(&mut Request)) -> (Report, Vec<(String, Vec<u32>)>) {
    let place = Place::new(0);
    fs::write(place.0.path().join("a.jsonl"), lines).unwrap();
    let mut request = place.request(Arc::default(), "out");
    change(&mut request);
    let report = run(&request).unwrap().report;
    let mut found = documents(&request.out);
    found.sort();
    (report, found)
}

#[test]
fn a_document_ends_once_and_special_tokens_in_texts_are_counted() {
    let lines = "{\"text\": \"a#\"}\n{\"text\": \"#b#c\"}\n{\"text\": \"d\"}\n";
    let (report, found) = packed(lines, |request| request.eos = Some(Special::Id(35)));
    let ids: Vec<&[u8]> = vec![b"a#", b"#b#c#", b"d#"];
    let ids: Vec<Vec<u32>> =
        ids.into_iter().map(|text| text.iter().map(|&b| b.into()).collect()).collect();
    assert_eq!(found.into_iter().map(|(_, ids)| ids).collect::<Vec<_>>(), ids);
    assert_eq!((report.ended, report.special_in_text, report.doubled), (1, 3, 0));
    let notices = report.notices.iter().map(Message::text).collect::<Vec<_>>().join("\n");
    assert!(notices.contains("3 special tokens are in the text of 2 documents, the first is '#'"));
    assert!(notices.contains("1 document already ended with the token of --eos"), "{notices}");
}

#[test]
fn bad_documents_are_left_out_within_the_budget_and_keep_their_numbers() {
    let lines = "{\"text\": \"a\"}\n{\"text\": 5}\n{\"text\": \"c\"}\n{\n";
    let (report, found) = packed(lines, |request| request.bad_budget = 2);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.jsonl#0", "a.jsonl#2"]);
    assert_eq!((report.bad, report.documents, report.empty), (2, 4, 0));
    let notices = report.notices.iter().map(Message::text).collect::<Vec<_>>().join("\n");
    assert!(
        notices.contains("2 documents left out, listed in ")
            && notices.contains("a.jsonl: line 2 ")
    );
    let place = Place::new(0);
    fs::write(place.0.path().join("a.jsonl"), lines).unwrap();
    for (budget, text) in [(0, "a.jsonl: line 2 (byte 14): "), (1, "a.jsonl: line 4 (byte 40): ")] {
        let request = Request { bad_budget: budget, ..place.request(Arc::default(), "out") };
        let error = run(&request).unwrap_err();
        assert!(error.exit() == Exit::BadData && error.text().contains(text), "{error}");
        assert!(error.text().contains("--bad-budget"), "{error}");
    }
    let request = Request { bad_budget: 2, ..place.request(Arc::default(), "out") };
    run(&request).unwrap();
    let listed = fs::read_to_string(request.out.join(".tokens/problems.jsonl")).unwrap();
    assert!(listed.lines().count() == 2 && listed.starts_with("{\"document\":1,"), "{listed}");
    assert!(run(&request).unwrap().report.published_before);
}
