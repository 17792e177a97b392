//! Types over samples that agree, and samples that do not.

use tarflume_formats::json::JsonRules;

use super::*;
use crate::export::values::json::object;

/// The types of the fields of these samples, or the error.
fn infer(samples: &[&str]) -> Result<Vec<(String, FieldKind)>, String> {
    infer_as(samples, Floats::Double, Numbers::Exact)
}

fn infer_as(
    samples: &[&str],
    floats: Floats,
    numbers: Numbers,
) -> Result<Vec<(String, FieldKind)>, String> {
    let mut all = SeenFields::new();
    for (n, text) in samples.iter().enumerate() {
        let object = object(text.as_bytes(), JsonRules::Strict).unwrap();
        let added = add_all(&mut all, &object, n as u64, floats, &|| format!("'s{n}'"));
        added.map_err(|failure| failure.text())?;
    }
    check_objects(&all).map_err(|failure| failure.text())?;
    let mut kinds = Vec::new();
    for (name, seen) in all {
        let kind = settled(&name, seen, numbers).map_err(|failure| failure.text())?;
        kinds.push((name, kind));
    }
    Ok(kinds)
}

#[test]
fn a_type_holds_over_all_samples() {
    for (samples, want) in [
        (vec![r#"{"a": 1}"#, r#"{"a": null}"#, "{}"], FieldKind::Int),
        (vec![r#"{"a": null}"#, r#"{"a": 1.5}"#, r#"{"a": 2}"#], FieldKind::Float),
        (vec![r#"{"a": null}"#], FieldKind::Null),
        (vec![r#"{"a": []}"#, r#"{"a": [1]}"#, r#"{"a": [0.5]}"#], FieldKind::List(Item::Float)),
        (vec![r#"{"a": []}"#], FieldKind::Json),
        (vec![r#"{"a": [1]}"#, r#"{"a": [[1]]}"#], FieldKind::Json),
        (vec![r#"{"a": [1, "x"]}"#], FieldKind::Json),
        (vec![r#"{"a": [null]}"#], FieldKind::Json),
        (vec![r#"{"a": 9007199254740993}"#], FieldKind::Int),
    ] {
        assert_eq!(infer(&samples).unwrap(), [("a".to_string(), want)], "{samples:?}");
    }
    let two = infer(&[r#"{"a": {"b": 1}}"#, r#"{"a": {"c": "x"}}"#]).unwrap();
    assert_eq!(two, [("a.b".to_string(), FieldKind::Int), ("a.c".to_string(), FieldKind::Text)]);
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
    for (samples, number) in [
        (vec![r#"{"a": 9007199254740993}"#, r#"{"a": 0.5}"#], "9007199254740993"),
        (vec![r#"{"a": 0.5}"#, r#"{"a": 9007199254740993}"#], "9007199254740993"),
        (vec![r#"{"a": [0.5]}"#, r#"{"a": [-9007199254740993]}"#], "-9007199254740993"),
        (vec![r#"{"a": [0.5, 9007199254740993]}"#], "9007199254740993"),
        (vec![r#"{"a": 1}"#, r#"{"a": 9223372036854775808}"#], "9223372036854775808"),
        (vec![r#"{"a": null}"#, r#"{"a": 1e400}"#], "1e400"),
        (vec![r#"{"a": 0.1000000000000000055}"#], "0.1000000000000000055"),
    ] {
        let text = infer(&samples).unwrap_err();
        let last = format!("'s{}'", samples.len() - 1);
        let is_named = text.contains(&last) || text.contains("'s0'");
        let is_beyond = number == "1e400";
        let why = if is_beyond { "is outside the range" } else { "would be rounded" };
        assert!(is_named && text.contains(&format!("is {number}, which {why}")), "{text}");
        assert!(text.contains("--numbers text"), "{text}");
        let kind = |numbers| infer_as(&samples, Floats::Double, numbers).unwrap()[0].1;
        let is_list = samples[0].contains('[');
        let expected = if is_list { FieldKind::List(Item::Text) } else { FieldKind::Text };
        assert_eq!(kind(Numbers::Text), expected, "{samples:?}");
        if is_beyond {
            let nearest = infer_as(&samples, Floats::Double, Numbers::Nearest).unwrap_err();
            assert!(nearest.contains("outside the range"), "no number becomes infinite: {nearest}");
        } else {
            assert!(kind(Numbers::Nearest).is_float(), "{samples:?}");
        }
    }
    // What is written as JSON keeps every number.
    assert_eq!(infer(&[r#"{"a": [18446744073709551616, "x"]}"#]).unwrap()[0].1, FieldKind::Json);
}

fn single(text: &str) -> Result<Vec<(String, FieldKind)>, String> {
    infer_as(&[text], Floats::Single, Numbers::Exact)
}

#[test]
fn floats_of_32_bits_hold_less() {
    for text in [r#"{"a": 0.1}"#, r#"{"a": [0.5, 16777216]}"#, r#"{"a": 16777217}"#] {
        single(text).unwrap();
    }
    for text in [r#"{"a": 0.30000000000000004}"#, r#"{"a": [0.5, 16777217]}"#] {
        assert!(single(text).unwrap_err().contains("would be rounded"), "{text}");
    }
    // Equal to a float of 32 bits by its digits; through 64 bits the nearest is another one.
    single(r#"{"a": 7.038531e-26}"#).unwrap();
}

#[test]
fn no_number_becomes_infinite() {
    for text in
        [r#"{"a": 1e39}"#, r#"{"a": [0.5, -3.5e38]}"#, r#"{"a": [1e39, 0.30000000000000004]}"#]
    {
        for numbers in [Numbers::Exact, Numbers::Nearest] {
            let refused = infer_as(&[r#"{"a": null}"#, text], Floats::Single, numbers).unwrap_err();
            assert!(refused.contains("'s1'") && refused.contains("outside the range"), "{refused}");
        }
        assert!(infer_as(&[text], Floats::Single, Numbers::Text).is_ok(), "{text}");
        assert!(infer_as(&[text], Floats::Double, Numbers::Nearest).is_ok(), "{text}");
    }
    // The largest float of 32 bits, and what is nearer to it than to the next one.
    for text in ["3.4028235e38", "3.40282356e38"] {
        infer_as(&[&format!("{{\"a\": {text}}}")], Floats::Single, Numbers::Nearest).unwrap();
    }
}
