//! Braces, compared with what the Python package braceexpand 0.1.7 makes of them.

use super::*;

/// Pattern, and what braceexpand gives, with `|` between the names.
const CASES: [(&str, &str); 53] = [
    ("a", "a"),
    ("", ""),
    ("{000..003}", "000|001|002|003"),
    ("{8..11}", "8|9|10|11"),
    ("{08..11}", "08|09|10|11"),
    ("{8..011}", "008|009|010|011"),
    ("{1..10..3}", "1|4|7|10"),
    ("{10..1..3}", "10|7|4|1"),
    ("{10..1..-4}", "10|6|2"),
    ("{5..5}", "5"),
    ("{-2..2}", "-2|-1|0|1|2"),
    ("{-02..1}", "-02|-01|000|001"),
    ("{3..-1}", "3|2|1|0|-1"),
    ("{0..10..5}", "0|5|10"),
    ("{00..2}", "00|01|02"),
    ("{a..e}", "a|b|c|d|e"),
    ("{e..a}", "e|d|c|b|a"),
    ("{Y..b}", "Y|Z|a|b"),
    ("{c..a..2}", "c|a"),
    ("{a..c..-2}", "a|c"),
    ("{a,b}", "a|b"),
    ("{a,b{1..2}}", "a|b1|b2"),
    ("{a,{b,c}d}e", "ae|bde|cde"),
    ("{}", "{}"),
    ("{1}", "{1}"),
    ("x{}y", "x{}y"),
    ("x{1}y{a,b}", "x{1}ya|x{1}yb"),
    ("{a,}", "a|"),
    ("{,}", "|"),
    ("{{a,b}}", "{a}|{b}"),
    ("{{a,b},c}", "a|b|c"),
    ("a{1..2}b{x,y}c", "a1bxc|a1byc|a2bxc|a2byc"),
    ("\\{a,b\\}", "{a,b}"),
    ("{a\\,b,c}", "a,b|c"),
    ("a\\\\b", "a\\b"),
    ("{a,b\\}}", "a|b}"),
    ("{1..3}{1..2}", "11|12|21|22|31|32"),
    ("{1..a}", "{1..a}"),
    ("{aa..b}", "{aa..b}"),
    ("{1..2..}", "{1..2..}"),
    ("{1..2..0}", "1|2"),
    ("{a..c}{A..B}", "aA|aB|bA|bB|cA|cB"),
    ("{1...3}", "{1...3}"),
    ("{ 1..2}", "{ 1..2}"),
    ("{é,ü}/x", "é/x|ü/x"),
    ("{1..2,3}", "1..2|3"),
    ("{-0..2}", "0|1|2"),
    ("{0..-0}", "0"),
    ("{2..-002}", "0002|0001|0000|-001|-002"),
    ("{1..3..2}\\{", "1{|3{"),
    ("{0..3..2..1}", "{0..3..2..1}"),
    ("{..}", "{..}"),
    ("{1..}", "{1..}"),
];

#[test]
fn braces_expand_as_in_webdataset() {
    for (pattern, names) in CASES {
        assert_eq!(expand(pattern).unwrap().join("|"), names, "{pattern}");
    }
}

#[test]
fn a_brace_without_partner_is_an_error() {
    for pattern in ["{a,b", "a}b", "{{a}", "}{", "{a,b}}", "x{1..3", "{a,{b}"] {
        let error = expand(pattern).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{pattern}");
        assert!(error.text().contains(pattern), "{error}");
    }
}

#[test]
fn an_absurdly_large_range_is_refused_without_allocation() {
    for pattern in [
        "{0..99999999999}",
        "{-9223372036854775808..9223372036854775807}",
        "{1..99999999999999999999}",
        "{0..9999}{0..9999}",
        "{{0..3000},{0..9999}}{0..999}",
    ] {
        assert_eq!(expand(pattern).unwrap_err().kind(), ErrorKind::Limit, "{pattern}");
    }
    let deep = format!("{}a,b{}", "{".repeat(100_000), "}".repeat(100_000));
    assert_eq!(expand(&deep).unwrap_err().kind(), ErrorKind::Limit);
    let far = expand("{0..9223372036854775807..9223372036854775807}").unwrap();
    assert_eq!(far, ["0", "9223372036854775807"]);
    assert_eq!(expand("{1..3..99999999999999999999999}").unwrap(), ["1"]);
}
