//! Columns out of JSON: what is taken, what is refused and how.

use super::*;

const TEXT: &str = r#"{"class": 207, "name": "golden retriever", "skip": {"deep": [1, {"class": 5}]},
 "score": 0.25, "ok": true, "none": null, "box": [1, 2.5, -3, 4], "boxes": [[1, 2], [3, 4]],
 "a/b": {"~": [10, 20, 30]}, "digits": "12", "empty": []}"#;

fn row(json: &Json, text: &str) -> Result<Vec<u8>> {
    json.validate().unwrap();
    let parts = [("json", text.as_bytes())];
    let sample = Sample { key: b"a", ordinal: 0, seed: 0, parts: &parts, ..Sample::default() };
    let mut scratch = Scratch::default();
    match json.shape().bytes() {
        Some(bytes) => {
            let mut row = vec![0xaa; bytes];
            json.decode(&sample, Row::fixed(&mut row), &mut scratch)?;
            Ok(row)
        }
        None => {
            let mut row = vec![0xaa; json.room(&[text.len() as u64]) as usize];
            let mut used = 0;
            json.decode(&sample, Row::variable(&mut row, &mut used), &mut scratch)?;
            row.truncate(used);
            Ok(row)
        }
    }
}

fn values<T: bytemuck::Pod>(json: &Json) -> Vec<T> {
    bytemuck::pod_collect_to_vec(&row(json, TEXT).unwrap())
}

fn refusal(json: &Json) -> String {
    row(json, TEXT).unwrap_err().text().to_string()
}

#[test]
fn numbers_are_found_by_their_pointer() {
    assert_eq!(values::<i64>(&Json::new("json", "/class")), [207]);
    assert_eq!(values::<u8>(&Json::new("json", "/class").dtype(DType::U8)), [207]);
    assert_eq!(values::<f32>(&Json::new("json", "/score").dtype(DType::F32)), [0.25]);
    assert_eq!(values::<i64>(&Json::new("json", "/ok")), [1]);
    assert_eq!(values::<i64>(&Json::new("json", "/skip/deep/1/class")), [5]);
    assert_eq!(values::<i64>(&Json::new("json", "/a~1b/~0/2")), [30]);
    assert_eq!(row(&Json::new("json", ""), " 17 ").unwrap(), 17i64.to_ne_bytes());
    let twice = row(&Json::new("json", "/a"), r#"{"a": 1, "a": 2}"#).unwrap();
    assert_eq!(twice, 2i64.to_ne_bytes(), "as in Python, the last counts");
}

#[test]
fn arrays_have_their_shape_or_any_length() {
    let four = Json::new("json", "/box").dtype(DType::F64);
    assert_eq!(values::<f64>(&four.clone().shape([4])), [1.0, 2.5, -3.0, 4.0]);
    assert_eq!(values::<f64>(&four.clone().variable()), [1.0, 2.5, -3.0, 4.0]);
    let nested = Json::new("json", "/boxes").dtype(DType::I32).shape([2, 2]);
    assert_eq!(values::<i32>(&nested), [1, 2, 3, 4]);
    assert!(values::<i64>(&Json::new("json", "/empty").variable()).is_empty());
    assert!(refusal(&four.clone().shape([3])).contains("expected an array of 3, found more"));
    assert!(refusal(&four.clone().shape([5])).contains("expected an array of 5, found fewer"));
    assert!(refusal(&four).contains("expected a single value"));
    assert!(refusal(&Json::new("json", "/boxes").variable()).contains("single value"));
    let boxes = Json::new("json", "/boxes").variable_of([2]);
    assert_eq!(values::<i64>(&boxes), [1, 2, 3, 4]);
    assert!(values::<i64>(&Json::new("json", "/empty").variable_of([4])).is_empty());
    let three = refusal(&Json::new("json", "/boxes").variable_of([3]));
    assert!(three.contains("expected an array of 3, found fewer"));
    assert!(refusal(&four.clone().variable_of([4])).contains("expected an array of 4"));
    assert!(refusal(&Json::new("json", "/class").shape([1])).contains("expected an array of 1"));
}

#[test]
fn texts_and_labels() {
    let name = Json::new("json", "/name");
    assert_eq!(row(&name.clone().text(), TEXT).unwrap(), b"golden retriever");
    assert_eq!(values::<i64>(&name.clone().labels(["cat", "golden retriever"])), [1]);
    let numbered = name.clone().dtype(DType::U16).label_numbers([("golden retriever", 900)]);
    assert_eq!(values::<u16>(&numbered), [900]);
    assert!(
        refusal(&name.labels(["cat"])).contains("\"golden retriever\" is not one of the labels")
    );
    assert!(
        refusal(&Json::new("json", "/digits")).contains("expected a number, found the text \"12\"")
    );
    assert!(refusal(&Json::new("json", "/class").text()).contains("expected a text"));
    assert!(refusal(&Json::new("json", "/class").labels(["207"])).contains("expected a text"));
    let escaped = row(&Json::new("json", "/t").text(), r#"{"t": "a\"\u00e9\n"}"#).unwrap();
    assert_eq!(escaped, "a\"é\n".as_bytes());
}

#[test]
fn an_absent_value_has_its_default_or_is_an_error() {
    for pointer in ["/none", "/no", "/class/deeper", "/box/9", "/skip/no", "/box/name"] {
        let json = Json::new("json", pointer);
        let text = refusal(&json);
        assert!(text.contains(pointer) && text.contains("default"), "{text}");
        assert_eq!(values::<i64>(&json.clone().default(-1)), [-1]);
        assert_eq!(values::<i64>(&json.clone().shape([3]).default(7)), [7, 7, 7]);
        assert_eq!(values::<i64>(&json.clone().variable().default(vec![1, 2])), [1, 2]);
        assert!(values::<i64>(&json.clone().variable().default(Vec::<i64>::new())).is_empty());
        assert_eq!(row(&json.clone().text().default("?"), TEXT).unwrap(), b"?");
        assert_eq!(values::<i64>(&json.labels(["a", "b"]).default("b")), [1]);
    }
    assert_eq!(values::<i64>(&Json::new("json", "/class").default(-1)), [207]);
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let class = Json::new("json", "/class");
    assert!(refusal(&class.clone().dtype(DType::I8)).contains("207 is outside the range of int8"));
    assert!(refusal(&class.dtype(DType::Bool)).contains("207 is outside the range of bool"));
    assert!(refusal(&Json::new("json", "/score")).contains("0.25 is outside the range of int64"));
    assert!(row(&Json::new("json", "/a"), r#"{"a": 18446744073709551616}"#).is_err());
    let most = row(&Json::new("json", "/a").dtype(DType::U64), r#"{"a": 18446744073709551615}"#);
    assert_eq!(most.unwrap(), u64::MAX.to_ne_bytes());
}

#[test]
fn broken_json_is_an_error_with_its_byte() {
    let class = Json::new("json", "/class");
    let text = "{\"class\": 1,\n \"b\": }";
    let error = row(&class, text).unwrap_err();
    assert!(error.text().contains("at byte 19 of the part"), "{error}");
    for length in 0..TEXT.len() {
        assert!(row(&class, &TEXT[..length]).is_err(), "cut to {length}");
    }
    assert!(row(&class, "{\"class\": 1} more").is_err());
    assert!(row(&class, &"[".repeat(100_000)).is_err(), "no overflow of the stack");
    assert!(row(&Json::new("json", "/a").text(), "{\"a\": \"\u{fffd}\"}").is_ok());
}

#[test]
fn invalid_options_are_refused_before_anything_is_read() {
    let class = Json::new("json", "/class");
    let bad = [
        Json::new("json", "class"),
        class.clone().dtype(DType::U8).default(300),
        class.clone().default("text"),
        class.clone().text().default(1),
        class.clone().text().dtype(DType::I32),
        class.clone().shape([3]).default(vec![1, 2]),
    ];
    for json in bad {
        assert_eq!(json.validate().unwrap_err().kind(), ErrorKind::Usage, "{json:?}");
    }
}
