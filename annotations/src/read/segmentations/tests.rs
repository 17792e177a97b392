//! Segmentations, and any text for all readers.

use proptest::prelude::*;
use tarflume_formats::json::JsonRules;

use super::*;
use crate::boxes::BoxFormat;
use crate::mask::plane::MaskPainter;
use crate::read::{BoxForm, Points, boxes, points, values};

const ON: ImageSize = ImageSize { width: 3, height: 2 };

fn read(text: &str, relative: bool) -> Result<Segmentations, Fault> {
    let part = Part { bytes: text.as_bytes(), rules: JsonRules::Strict, on: ON };
    let mut found = Segmentations::default();
    segmentations(&Field::parse("/s").unwrap(), part, relative, &mut found)?;
    Ok(found)
}

fn polygons_of(found: &Segmentations, object: usize) -> Vec<Vec<f64>> {
    let Segmentation::Polygons { of, numbers } = found.get(object) else { panic!("runs") };
    of.iter().map(|at| numbers[at.clone()].to_vec()).collect()
}

#[test]
fn polygons_and_run_lengths_are_read() {
    let text = r#"{"s": [
        [[0, 0, 1, 0, 1, 1], [2, 2, 3, 2, 3, 3, 2, 3]],
        [0.5, 0, 1, 0, 1, 1],
        {"counts": [1, 2, 3], "size": [2, 3]},
        {"size": [2, 3], "counts": "123"},
        null, []
    ]}"#;
    let found = read(text, false).unwrap();
    assert_eq!(found.len(), 6);
    let second = vec![2.0, 2.0, 3.0, 2.0, 3.0, 3.0, 2.0, 3.0];
    assert_eq!(polygons_of(&found, 0), [vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0], second]);
    assert_eq!(polygons_of(&found, 1), [[0.5, 0.0, 1.0, 0.0, 1.0, 1.0]]);
    assert_eq!(found.get(2), Segmentation::Runs(&[1, 2, 3]));
    assert_eq!(found.get(3), Segmentation::Runs(&[1, 2, 3]));
    assert!(polygons_of(&found, 4).is_empty() && polygons_of(&found, 5).is_empty());
    let relative = read(r#"{"s": [[0, 0, 1, 0.5, 1, 1]]}"#, true).unwrap();
    assert_eq!(polygons_of(&relative, 0), [[0.0, 0.0, 3.0, 1.0, 3.0, 2.0]]);
}

#[test]
fn what_is_no_segmentation_is_refused() {
    let cases = [
        (r#"[[0, 0, 1, 1]]"#, "a polygon has 4 numbers"),
        (r#"[[0, 0, 1, 1, 2, 2, 3]]"#, "a polygon has 7 numbers"),
        (r#"[0, 0, 1]"#, "a polygon has 3 numbers"),
        (r#"[[0, 0, 1, 0, 1, 1], 4]"#, "polygons alone"),
        (r#"[4, [0, 0, 1, 0, 1, 1]]"#, "polygons alone"),
        (r#"[[0, 0, 1, 0, 1, 1e999]]"#, "not finite"),
        (r#"[["a"]]"#, "expected a number, found a text"),
        (r#""abc""#, "found a text"),
        (r#"{"size": [2, 3]}"#, "run lengths have"),
        (r#"{"counts": [6]}"#, "run lengths have"),
        (r#"{"size": [3, 2], "counts": [6]}"#, "the mask is 2 x 3, and the picture is 3 x 2"),
        (r#"{"size": [2, 3], "counts": [5]}"#, "do not add up to the 6 pixels"),
        (r#"{"size": [2, 3], "counts": [7]}"#, "do not add up"),
        (r#"{"size": [2, 3], "counts": [-1, 7]}"#, "a whole number"),
        (r#"{"size": [2, 3, 1], "counts": [6]}"#, "expected a height and a width, found 3"),
        (r#"{"size": [2, 3], "counts": "6 "}"#, "character 1 of the counts"),
        (r#"{"size": [2, 3], "counts": "9"}"#, "character 0 of the counts"),
    ];
    for (object, text) in cases {
        let error = read(&format!(r#"{{"s": [null, {object}]}}"#), false).unwrap_err();
        assert_eq!(error.object, Some(1), "{object}");
        assert!(error.to_string().contains(text), "{object}: {error}");
    }
}

/// Gives a text to each reader, and paints what is read.
fn read_all(text: &str) {
    let rules = JsonRules::Python;
    let part = Part { bytes: text.as_bytes(), rules, on: ON };
    for pointer in ["/s", "/s/*/a", ""] {
        let field = Field::parse(pointer).unwrap();
        let form = BoxForm { format: BoxFormat::Cxcywh, relative: true };
        _ = boxes(&field, part, form, &mut Vec::new());
        _ = values(&field, part, None, &mut Vec::new());
        let mut places = Vec::new();
        if let Ok(count) = points(&field, part, Points { count: 2, relative: true }, &mut places) {
            assert_eq!(places.len() as u64, 2 * count);
        }
        let mut found = Segmentations::default();
        if let Ok(count) = segmentations(&field, part, true, &mut found) {
            assert_eq!(found.len() as u64, count);
            let mut plane = [7; 6];
            for object in 0..found.len() {
                MaskPainter::default().paint(found.get(object), ON, 1, &mut plane);
                assert!(plane.iter().all(|&pixel| pixel < 2));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_list_is_read_or_refused(items in proptest::collection::vec(item(), 0..4)) {
        read_all(&format!(r#"{{"s": [{}]}}"#, items.join(", ")));
    }

    #[test]
    fn any_text_is_read_or_refused(text in r#"[\[\]{}":,0-9a-z .-]{0,60}"#) {
        read_all(&format!(r#"{{"s": [{text}]}}"#));
        read_all(&text);
    }
}

/// A value that an object may have, or nearly.
fn item() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (-20i64..20).prop_map(|number| number.to_string()),
        (-9.0..9.0f64).prop_map(|number| number.to_string()),
        Just("1e999".to_string()),
        Just("NaN".to_string()),
        Just("-1e300".to_string()),
    ];
    let list = proptest::collection::vec(number.clone(), 0..9)
        .prop_map(|list| format!("[{}]", list.join(",")));
    let nested = proptest::collection::vec(list.clone(), 0..4)
        .prop_map(|list| format!("[{}]", list.join(",")));
    let runs = list
        .clone()
        .prop_map(|list| format!(r#"{{"size": [2, 3], "counts": {list}, "a": {list}}}"#));
    let text =
        r#"[0-9a-o]{0,6}"#.prop_map(|text| format!(r#"{{"counts": "{text}", "size": [2, 3]}}"#));
    prop_oneof![number, list, nested, runs, text, Just("null".to_string())]
}
