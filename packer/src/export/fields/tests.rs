//! Types over samples that agree, and samples that do not.

use super::*;
use crate::export::json::object;

/// The types of the fields of these samples, or the error.
fn infer(samples: &[&str]) -> Result<Vec<(String, Kind)>, String> {
    let mut all = Found::new();
    for (n, text) in samples.iter().enumerate() {
        let object = object(text.as_bytes()).unwrap();
        let place = || format!("'s{n}'");
        add_all(&mut all, &object, n as u64, &place).map_err(|failure| failure.text)?;
    }
    check_objects(&all).map_err(|failure| failure.text)?;
    Ok(all.into_iter().map(|(name, seen)| (name, settled(seen.kind))).collect())
}

#[test]
fn a_type_holds_over_all_samples() {
    for (samples, want) in [
        (vec![r#"{"a": 1}"#, r#"{"a": null}"#, "{}"], Kind::Int),
        (vec![r#"{"a": null}"#, r#"{"a": 1.5}"#, r#"{"a": 2}"#], Kind::Float),
        (vec![r#"{"a": null}"#], Kind::Null),
        (vec![r#"{"a": []}"#, r#"{"a": [1]}"#, r#"{"a": [0.5]}"#], Kind::List(Item::Float)),
        (vec![r#"{"a": []}"#], Kind::Json),
        (vec![r#"{"a": [1]}"#, r#"{"a": [[1]]}"#], Kind::Json),
        (vec![r#"{"a": [1, "x"]}"#], Kind::Json),
        (vec![r#"{"a": [null]}"#], Kind::Json),
        (vec![r#"{"a": 9007199254740993}"#], Kind::Int),
    ] {
        assert_eq!(infer(&samples).unwrap(), [("a".to_string(), want)], "{samples:?}");
    }
    let two = infer(&[r#"{"a": {"b": 1}}"#, r#"{"a": {"c": "x"}}"#]).unwrap();
    assert_eq!(two, [("a.b".to_string(), Kind::Int), ("a.c".to_string(), Kind::Text)]);
}

#[test]
fn samples_that_disagree_are_both_named() {
    for samples in [
        [r#"{"a": 1}"#, r#"{"a": "1"}"#],
        [r#"{"a": true}"#, r#"{"a": 1}"#],
        [r#"{"a": [1]}"#, r#"{"a": 1}"#],
        [r#"{"a": ["x"]}"#, r#"{"a": [1]}"#],
        [r#"{"a": 1}"#, r#"{"a": {"b": 1}}"#],
        [r#"{"a": {"b": {"c": 1}}}"#, r#"{"a": 2}"#],
        [r#"{"a.b": 1}"#, r#"{"a": {"b": 1}}"#],
    ] {
        let text = infer(&samples).unwrap_err();
        assert!(text.contains("'s0'") && text.contains("'s1'"), "{text}");
        assert!(text.contains("--json text"), "{text}");
    }
}

#[test]
fn a_name_with_a_dot_is_not_the_field_of_an_object() {
    let text = infer(&[r#"{"a.b": 1, "a": {"b": 1}}"#]).unwrap_err();
    assert!(text.contains("'a.b' appears twice") && text.contains("'s0'"), "{text}");
}

#[test]
fn numbers_that_would_change_are_refused() {
    for samples in [
        [r#"{"a": 9007199254740993}"#, r#"{"a": 0.5}"#],
        [r#"{"a": 0.5}"#, r#"{"a": 9007199254740993}"#],
        [r#"{"a": [0.5]}"#, r#"{"a": [-9007199254740993]}"#],
    ] {
        let text = infer(&samples).unwrap_err();
        assert!(text.contains("no float of 64 bits equals"), "{text}");
    }
    let text = infer(&[r#"{"a": 9223372036854775808}"#]).unwrap_err();
    assert!(text.contains("more than 63 bits") && text.contains("'s0'"), "{text}");
}
