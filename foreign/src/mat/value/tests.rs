//! Arrays of each class, and lengths that do not agree.

use super::*;

/// Returns an element with its tag.
fn element(kind: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

/// Returns what comes before the values of an array.
fn head(class: u32, dims: &[u32], name: &str) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
    let flags = [class.to_le_bytes(), [0; 4]].concat();
    [element(6, &flags), element(5, &dims), element(1, name.as_bytes())].concat()
}

fn numbers(dims: &[u32], bytes: &[u8]) -> Vec<u8> {
    [head(9, dims, "x"), element(2, bytes)].concat()
}

fn parsed(bytes: &[u8]) -> Result<Value> {
    Value::parse(bytes, Order::Little)
}

#[test]
fn numbers_texts_cells_and_structs_are_read() {
    let found = Variable::parse(&numbers(&[2, 1], &[3, 4]), Order::Little).unwrap();
    assert_eq!((found.name.as_str(), found.dims.as_slice()), ("x", &[2, 1][..]));
    let Value::Numbers(found) = parsed(&numbers(&[2, 1], &[3, 4])).unwrap() else { panic!() };
    assert_eq!((found.kind.name(), found.bytes.as_slice()), ("uint8", &[3, 4][..]));
    let text = [head(4, &[1, 2], ""), element(16, b"ab")].concat();
    assert_eq!(parsed(&text).unwrap(), Value::Texts(vec!["ab".into()]));
    let cells = [head(1, &[1, 2], "c"), element(MATRIX, &text), element(MATRIX, &[])].concat();
    let Value::Cells(found) = parsed(&cells).unwrap() else { panic!() };
    assert_eq!(found[0], Value::Texts(vec!["ab".into()]));
    assert!(matches!(&found[1], Value::Numbers(empty) if empty.dims == [0, 0]));
    let one = element(MATRIX, &numbers(&[1, 1], &[7]));
    let structs = [
        head(2, &[1, 2], "s"),
        element(5, &3u32.to_le_bytes()),
        element(1, b"a\0\0b\0\0"),
        one.clone(),
        element(MATRIX, &text),
        one,
        element(MATRIX, &text),
    ]
    .concat();
    let Value::Structs(found) = parsed(&structs).unwrap() else { panic!() };
    assert_eq!(found.fields, ["a", "b"]);
    assert_eq!(found.rows.len(), 2);
    assert_eq!(found.rows[1][1], Value::Texts(vec!["ab".into()]));
    let sparse = head(5, &[1, 2], "");
    assert_eq!(parsed(&sparse).unwrap(), Value::Unread("a sparse matrix"));
    let complex = [head(6 | COMPLEX, &[1, 1], ""), element(2, &[1]), element(2, &[1])].concat();
    assert_eq!(parsed(&complex).unwrap(), Value::Unread("an array of complex numbers"));
}

#[test]
fn lengths_that_do_not_agree_are_errors() {
    for wrong in [
        numbers(&[2, 1], &[3]),
        numbers(&[u32::MAX, 1], &[3]),
        numbers(&[1 << 30, 1 << 30, 1 << 30], &[3]),
        [head(1, &[1 << 30, 1], "c"), element(MATRIX, &[])].concat(),
        [head(2, &[1 << 30, 1], "s"), element(5, &3u32.to_le_bytes()), element(1, b"ab\0")]
            .concat(),
        [head(2, &[1, 1], "s"), element(5, &2u32.to_le_bytes()), element(1, b"ab\0")].concat(),
        head(9, &[1, 1], "x"),
        head(9, &[], "x"),
        element(6, &[9, 0, 0, 0]),
    ] {
        assert!(parsed(&wrong).is_err(), "{wrong:?}");
        for end in 0..wrong.len() {
            drop(parsed(&wrong[..end]));
        }
    }
    let mut deep = numbers(&[1, 1], &[3]);
    for _ in 0..DEPTH + 1 {
        deep = [head(1, &[1, 1], ""), element(MATRIX, &deep)].concat();
    }
    assert!(parsed(&deep).unwrap_err().to_string().contains("in more than 16 others"));
}
