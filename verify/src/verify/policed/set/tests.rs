//! Shares, and the names of classes.

use super::*;

#[test]
fn shares_are_compared_without_rounding() {
    assert!(!is_below(995, 1000, 99.5) && is_below(994, 1000, 99.5));
    assert!(!is_below(7_600_000, 7_600_000, 100.0) && is_below(7_599_999, 7_600_000, 100.0));
    assert!(!is_above(400, 1000, 40.0) && is_above(401, 1000, 40.0));
    assert_eq!(percent(7_599_999, 7_600_000), "99.99%", "never shown as all");
    assert_eq!(percent(1, 7_600_000), "0.01%", "never shown as none");
    assert_eq!([percent(3, 3), percent(0, 3)], ["100%", "0%"]);
}

#[test]
fn a_class_of_the_table_without_samples_has_none() {
    let table = ClassTable {
        pointer: "/class".into(),
        names: vec!["cat".into(), "dog".into()],
        ids: vec![3, 7],
        ..ClassTable::default()
    };
    let counts = BTreeMap::from([("3".to_string(), 5), ("9".into(), 1), (NO_CLASS.into(), 2)]);
    let found = named(&counts, Some(&table));
    let expected = [("9".to_string(), 1), ("cat".into(), 5), ("dog".into(), 0)];
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn long_lists_are_counted() {
    let list: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    assert_eq!(first(&list), "0, 1, 2, 3, 4 and 4 more");
    assert_eq!(first(&list[..2]), "0, 1");
}
