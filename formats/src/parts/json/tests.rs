//! Texts that are JSON and texts that are not, by both rules; values as serde gives them.

use super::*;

fn verdict(text: &str, rules: JsonRules) -> Result<(), JsonFault> {
    let checked = check(text.as_bytes(), rules);
    let parsed = parse(text.as_bytes(), rules).map(drop);
    let found = find(text.as_bytes(), &Pointer::parse("/a/0").unwrap(), rules).map(drop);
    assert_eq!((&checked, &checked), (&parsed, &found), "{text}");
    checked
}

#[test]
fn check_parse_and_find_agree_and_name_the_byte() {
    fn deep(n: usize) -> String {
        format!("{}{}", "[".repeat(n), "]".repeat(n))
    }
    for good in [
        "{}",
        " {\"a\": [1, 2, {\"b\": null}]}\n",
        "{\"ä\": \"\\u00e4\\ud83d\\ude00\"}",
        "1e400",
        "0.1000000000000000055",
        "123456789012345678901234567890",
        "-0",
        &deep(128),
    ] {
        assert_eq!(verdict(good, JsonRules::Strict), Ok(()), "{good}");
    }
    for (bad, byte, what) in [
        ("", 0, "the text ends"),
        ("{\"a\": 1", 7, "the text ends"),
        ("{\"a\": 1,}", 8, "trailing comma"),
        ("[1, ]", 4, "trailing comma"),
        ("{} x", 3, "unexpected text"),
        ("{}{}", 2, "unexpected text"),
        ("\u{feff}{}", 0, "byte order mark"),
        ("{\"a\": nul}", 6, "expected a JSON value"),
        ("{'a': 1}", 1, "expected '\"'"),
        ("[01]", 2, "expected ','"),
        ("[+1]", 1, "expected a JSON value"),
        ("[1.]", 3, "expected a digit"),
        ("[.5]", 1, "expected a JSON value"),
        ("[1e]", 3, "expected a digit"),
        ("[-]", 2, "expected a digit"),
        ("[nan]", 1, "expected a JSON value"),
        ("[-NaN]", 2, "expected a JSON value"),
        ("[\"a\nb\"]", 3, "control character"),
        ("[\"\\x\"]", 2, "escape"),
        ("[\"\\u12g4\"]", 2, "escape"),
        ("[/* */ 1]", 1, "expected a JSON value"),
        (&deep(129), 129, "nested too deeply"),
    ] {
        for rules in JsonRules::ALL {
            let fault = verdict(bad, *rules).unwrap_err();
            assert!(fault.what.contains(what) && !fault.is_python, "{bad}: {fault}");
            assert_eq!(fault.byte, byte, "{bad}: {fault}");
        }
    }
    assert_eq!(check(b"[\"\xff\"]", JsonRules::Python).unwrap_err().byte, 2);
    for (packed, name) in
        [(&b"\x1f\x8b\x08"[..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh9", "bzip2")]
    {
        assert!(check(packed, JsonRules::Strict).unwrap_err().what.contains(name), "{name}");
    }
}

#[test]
fn what_only_python_accepts_is_refused_unless_its_rules_are_asked_for() {
    for (text, byte, what) in [
        ("{\"a\": [NaN]}", 7, "'NaN' is not a number of JSON"),
        ("[Infinity]", 1, "'Infinity'"),
        ("[1, -Infinity]", 4, "'-Infinity'"),
        ("{\"a\": \"x\\ud83d\"}", 8, "'\\ud83d' is half of a character"),
        ("[\"\\ude00\"]", 2, "half"),
        ("[\"\\ud83d\\n\"]", 2, "half"),
        ("[\"\\ud83d\\ud83d\\ude00\"]", 2, "half"),
        ("{\"\\udc00\": 1}", 2, "half"),
    ] {
        let fault = verdict(text, JsonRules::Strict).unwrap_err();
        assert!(fault.what.contains(what) && fault.is_python, "{fault}");
        assert_eq!(fault.byte, byte, "{text}");
        assert_eq!(fault.advised("give it").text(), format!("{}; give it", fault.what));
        assert_eq!(verdict(text, JsonRules::Python), Ok(()), "{text}");
    }
    let value = parse(br#"["\ud83d!", "\ud83d\ude00", -Infinity]"#, JsonRules::Python).unwrap();
    let list = value.as_array().unwrap();
    assert_eq!((list[0].as_str(), list[1].as_str()), (Some("\u{fffd}!"), Some("\u{1f600}")));
    assert_eq!(list[2].as_number().unwrap().real(), Some(f64::NEG_INFINITY));
}

#[test]
fn a_repeated_name_is_refused_unless_pythons_rules_are_asked_for() {
    let many: Vec<String> = (0..40).map(|n| format!("\"n{n}\": {n}")).collect();
    let many = format!("{{{}, \"n7\": 0}}", many.join(", "));
    for (text, byte, name) in [
        (r#"{"a": 1, "a": [2]}"#, 9, "'a'"),
        (r#"{"a": 1, "\u0061": [2]}"#, 9, "'a'"),
        (r#"{"x": [{"b": {"y": 1, "y": 1}}]}"#, 22, "'y'"),
        (many.as_str(), many.len() - 8, "'n7'"),
    ] {
        let parsed = parse(text.as_bytes(), JsonRules::Strict).unwrap_err();
        assert_eq!(check(text.as_bytes(), JsonRules::Strict).unwrap_err(), parsed);
        assert_eq!((parsed.byte, parsed.is_python, parsed.is_repeated_name), (byte, true, true));
        assert!(parsed.what.starts_with(&format!("{name} occurs twice")), "{parsed}");
        assert_eq!(verdict(text, JsonRules::Python), Ok(()), "{text}");
        let whole = find(text.as_bytes(), &Pointer::parse("").unwrap(), JsonRules::Strict);
        assert_eq!(whole, Ok(Some(0..text.len())), "samples packed earlier stay readable");
    }
    let same_in_others = r#"{"a": {"a": [{"a": 1}, {"a": 2}]}, "A": 1, "a ": 2}"#;
    assert_eq!(verdict(same_in_others, JsonRules::Strict), Ok(()));
    let last = parse(br#"{"a": 1, "a": 2}"#, JsonRules::Python).unwrap();
    assert_eq!(last.to_string(), r#"{"a":2}"#);
}

#[test]
fn strict_rules_accept_the_texts_of_serde_and_give_its_values() {
    let good =
        br#"{"a": [1, -2.5e+3, {"b\n\u00e9": "c\"d"}], "t": true, "n": null, "e": {}, "z": [[]] }"#;
    let alphabet = b"{}[]\",:\\u0123abe+-. tfn\n\xc3\x01";
    let mut both = 0;
    let mut neither = 0;
    let change = |text: &mut Vec<u8>, at: usize, with: usize| text[at] = alphabet[with];
    for (first, second) in (0..good.len()).flat_map(|at| (0..alphabet.len()).map(move |c| (at, c)))
    {
        let mut text = good.to_vec();
        change(&mut text, first, second);
        if second % 2 == 1 {
            let at = (first * 31 + second * 7) % good.len();
            change(&mut text, at, (first + second) % alphabet.len());
        }
        let serde = serde_json::from_slice::<serde_json::Value>(&text);
        let ours = parse(&text, JsonRules::Strict);
        let shown = String::from_utf8_lossy(&text);
        match (ours, serde) {
            (Ok(ours), Ok(serde)) => {
                assert_eq!(ours.to_string(), serde.to_string());
                both += 1;
            }
            (Err(_), Err(_)) => neither += 1,
            // serde takes the last value.
            (Err(fault), Ok(_)) => assert!(fault.is_repeated_name, "{shown}: {fault}"),
            (Ok(_), Err(error)) => panic!("{shown}: {error}"),
        }
    }
    assert!(both > 100 && neither > 1000, "{both} {neither}");
}

#[test]
fn a_pointer_finds_the_same_value_everywhere() {
    let text =
        r#"{"a": [10, {"b": [true, " x"]}], "": 1, "0": 2, "k\u0065y": {"~/": 3}, "a": [4, 5]}"#;
    let serde: serde_json::Value = serde_json::from_str(text).unwrap();
    let ours = parse(text.as_bytes(), JsonRules::Python).unwrap();
    for path in
        ["", "/a", "/a/1", "/a/01", "/a/+1", "/a/2", "/a/1/b", "/", "/0", "/key/~0~1", "/none/a"]
    {
        let pointer = Pointer::parse(path).unwrap();
        let found = find(text.as_bytes(), &pointer, JsonRules::Strict).unwrap();
        let found = found.map(|at| parse(text[at].as_bytes(), JsonRules::Python).unwrap());
        assert_eq!(found.as_ref(), ours.pointer(path), "{path}");
        let serde = serde.pointer(path).map(ToString::to_string);
        assert_eq!(found.map(|value| value.to_string()), serde, "{path}");
    }
    assert!(Pointer::parse("a").unwrap_err().contains("\"/a\""));
}

#[test]
fn a_value_is_written_with_all_digits() {
    let text = r#"{"z":[18446744073709551616,1.50,0.1000000000000000055],"a":"\"\n"}"#;
    let value = parse(text.as_bytes(), JsonRules::Strict).unwrap();
    assert_eq!(
        value.to_string(),
        r#"{"a":"\"\n","z":[18446744073709551616,1.5,0.1000000000000000055]}"#
    );
    let near = value.approximate().to_string();
    assert_eq!(near, r#"{"a":"\"\n","z":[1.8446744073709552e+19,1.5,0.1]}"#);
}

#[test]
fn rules_have_their_words() {
    for rules in JsonRules::ALL {
        assert_eq!(JsonRules::from_word(rules.word()), Some(*rules));
    }
    assert_eq!(JsonRules::from_word("lax"), None);
}
