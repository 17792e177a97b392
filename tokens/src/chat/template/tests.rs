//! Templates beside Jinja2 with the settings of transformers: `fixtures/chat/snippets.json`.

use std::path::PathBuf;

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::Value as Json;

use super::generation::{Marks, as_filters};
use super::*;

fn template(source: &str) -> Result<Template, TemplateFault> {
    let day = NaiveDate::from_ymd_opt(2026, 11, 29).unwrap();
    Template::parse(source, Moment(day.into()))
}

fn render(source: &str) -> Result<Rendered, TemplateFault> {
    let variables = crate::chat::json::parse(r#"{"messages":[{"role":"user","content":" hi "}]}"#);
    template(source)?.render(&variables.unwrap())
}

#[test]
fn snippets_are_rendered_as_by_transformers() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/chat/snippets.json");
    let snippets: Vec<Json> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(snippets.len() > 60);
    for snippet in snippets {
        let source = snippet["source"].as_str().unwrap();
        let found = render(source);
        let Some(text) = snippet["text"].as_str() else {
            assert!(found.is_err(), "{source}: {found:?}, and Python refuses it");
            continue;
        };
        let generated = serde_json::from_value(snippet["spans"].clone()).unwrap();
        assert_eq!(found, Ok(Rendered { text: text.into(), generated }), "{source}");
    }
}

#[test]
fn what_is_not_known_is_an_error_and_no_other_text() {
    for (source, expected) in [
        ("{{ '%s' % 'a' }}", "line 1 of the template"),
        ("{{ 'a'|wordcount }}", "unknown filter"),
        ("{{ 'a'.zfill(3) }}", "zfill"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ strftime_now('%Q') }}", "does not know the format"),
        (
            "{% for x in range(100000) %}{% for y in range(100000) %}{% endfor %}{% endfor %}",
            "more steps",
        ),
        (
            "{% generation %}a{% endgeneration %}{% filter upper %}{% generation %}ß{% endgeneration %}{% endfilter %}",
            "",
        ),
    ] {
        let told = render(source).map(|own| own.text);
        match told {
            Err(told) => assert!(told.0.contains(expected), "{source}: {told}"),
            Ok(text) => assert!(expected.is_empty(), "{source}: {text}"),
        }
    }
    assert_eq!(render("{{ raise_exception('as it is') }}"), Err(TemplateFault("as it is".into())));
    assert!(template("{% if %}").is_err());
    assert!(template("{% generation %}").is_err());
}

#[test]
fn a_filter_that_sees_the_marks_is_an_error() {
    let source =
        "{% set caption %}{% generation %}a{% endgeneration %}{% endset %}{{ caption|length }}";
    let told = render(source).unwrap_err();
    assert!(told.0.contains("a filter changes the text of a block"), "{told}");
}

#[test]
fn ends_of_lines_and_marks_in_texts_stay() {
    assert_eq!(render("a\r\nb\rc").unwrap().text, "a\nb\nc");
    let source = "{{ '\u{fdd0}' }}{% generation %}\u{fdd1}{% endgeneration %}";
    let found = render(source).unwrap();
    assert_eq!(found, Rendered { text: "\u{fdd0}\u{fdd1}".into(), generated: vec![(3, 6)] });
    let all: String = ('\u{fdd0}'..='\u{fdef}').collect();
    assert!(render(&format!("{all}{{% generation %}}{{% endgeneration %}}")).is_err());
}

#[test]
fn tags_of_generation_become_filters_with_their_signs() {
    for (source, made) in [
        ("{% generation %}", "{% filter __generation %}{% with %}"),
        ("{%- generation -%}", "{%- filter __generation %}{% with -%}"),
        ("{%+endgeneration+%}", "{%+ endwith %}{% endfilter +%}"),
        ("{% if generation %}{% generations %}{%", "{% if generation %}{% generations %}{%"),
    ] {
        assert_eq!(as_filters(source), made);
    }
}

proptest! {
    #[test]
    fn marks_are_found_again(pieces in proptest::collection::vec("[a-cé\u{fdd0}-\u{fdd3}]{0,5}", 1..8)) {
        let plain: String = pieces.concat();
        let marks = Marks::not_in(&plain).unwrap();
        let value = marks.value();
        let mut signs = value.as_str().unwrap().chars();
        let [begin, end] = [signs.next().unwrap(), signs.next().unwrap()];
        let mut marked = String::new();
        let mut expected = Vec::new();
        let mut at = 0;
        for (number, piece) in pieces.iter().enumerate() {
            if number % 2 == 1 {
                marked.extend([begin]);
                expected.push((at, at + piece.len()));
            }
            marked.push_str(piece);
            if number % 2 == 1 {
                marked.extend([end]);
            }
            at += piece.len();
        }
        let found = marks.take(&marked).unwrap();
        prop_assert_eq!(found, Rendered { text: plain, generated: expected });
        prop_assert_eq!(marks.take(&format!("{marked}{end}")), None);
        prop_assert_eq!(marks.take(&format!("{marked}{begin}")), None);
    }

    #[test]
    fn floats_are_written_as_python_writes_them(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        let text = python::float(number);
        prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits());
        prop_assert!(text.contains('.') || text.contains('e'), "{}", text);
    }
}
