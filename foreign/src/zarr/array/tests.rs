//! Metadata, blocks and shards: what they give, and claims that are refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::zarr::faults::Unread;

/// Metadata of an array of 5 x 4 numbers in chunks of 2 x 3.
fn metadata() -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [5, 4], "data_type": "int16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

fn parsed(change: Value) -> Result<ZarrArray, ArrayFault> {
    let mut object = metadata();
    for (name, value) in change.as_object().unwrap() {
        object[name] = value.clone();
    }
    ZarrArray::of_v3(object.to_string().as_bytes())
}

fn shards(inner: u64, place: &str) -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let configuration = json!({
        "chunk_shape": [1, inner], "codecs": [bytes], "index_codecs": [bytes, "crc32c"], "index_location": place,
    });
    json!({"codecs": [{"name": "sharding_indexed", "configuration": configuration}]})
}

#[test]
fn a_block_is_put_together_from_its_chunks() {
    let array = parsed(json!({})).unwrap();
    assert_eq!((array.block_rows(), array.files(), array.row_bytes()), (2, Some(6), 8));
    let keys: Vec<String> = array.keys().collect();
    assert_eq!(keys, ["c/0/0", "c/0/1", "c/1/0", "c/1/1", "c/2/0", "c/2/1"]);
    let pieces: Vec<PiecePlace> = array.pieces(4).collect();
    assert_eq!(pieces.iter().map(|piece| piece.file).collect::<Vec<u64>>(), [4, 5]);
    assert_eq!(pieces[1].key, "c/2/1");
    // The last block has one row, the last chunk of it one number.
    let mut rows = [0; 8];
    let stored = (1..=6i16).flat_map(i16::to_le_bytes).collect();
    array.put(&pieces[0], Some(stored), 4, &mut rows).unwrap();
    array.put(&pieces[1], None, 4, &mut rows).unwrap();
    assert_eq!(rows, [1, 0, 2, 0, 3, 0, 7, 0]);
    let fault = array.put(&pieces[0], Some(vec![0; 11]), 4, &mut rows).unwrap_err();
    let ChunkFault::Damaged { why, .. } = fault else { panic!("{fault:?}") };
    assert_eq!(why, "it has 11 bytes after decoding, and the metadata declares 12");
}

#[test]
fn an_inner_chunk_has_a_place_in_its_shard() {
    for place in ["start", "end"] {
        let array = parsed(shards(3, place)).unwrap();
        let pieces: Vec<PiecePlace> = array.pieces(3).collect();
        let found: Vec<(u64, Option<usize>)> =
            pieces.iter().map(|piece| (piece.file, piece.inner)).collect();
        assert_eq!(found, [(2, Some(1)), (3, Some(1))]);
        let range = array.index_place(100).unwrap().unwrap();
        assert_eq!(range, if place == "start" { 0..36 } else { 64..100 });
        assert!(array.index_place(35).unwrap().is_err());
        let entries = [u64::MAX, u64::MAX, 40, 6].map(u64::to_le_bytes).concat();
        let sum = tarflume_formats::crc32c(&entries).to_le_bytes();
        let index = [&entries[..], &sum].concat();
        assert_eq!(array.parse_index(index.clone(), 100).unwrap(), [None, Some(40..46)]);
        assert!(array.parse_index(index.clone(), 45).is_err(), "it ends after the end");
        let mut flipped = index;
        flipped[20] ^= 1;
        let fault = array.parse_index(flipped, 100).unwrap_err();
        assert!(matches!(fault, ChunkFault::Damaged { byte: Some(32), .. }), "{fault:?}");
    }
    assert!(parsed(shards(2, "end")).is_err(), "inner chunks do not divide the shard");
    assert!(parsed(shards(0, "end")).is_err());
    assert!(parsed(shards(3, "middle")).is_err());
}

fn grid(shape: [u64; 2]) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": shape}})
}

fn codecs(codecs: Value) -> Value {
    json!({ "codecs": codecs })
}

#[test]
fn claims_beyond_memory_are_refused_before_anything_is_allocated() {
    for change in [
        json!({"shape": [u64::MAX, u64::MAX]}),
        json!({"shape": [1u64 << 62, 1]}),
        json!({"chunk_grid": grid([1 << 40, 1])}),
        json!({"chunk_grid": grid([u64::MAX, u64::MAX])}),
    ] {
        let fault = parsed(change.clone()).unwrap_err();
        assert!(matches!(fault, ArrayFault::TooLarge { .. }), "{change}: {fault:?}");
    }
    let mut many = shards(1, "end");
    many["chunk_grid"] = grid([1 << 20, 1 << 10]);
    let fault = parsed(many).unwrap_err();
    assert!(matches!(fault, ArrayFault::TooLarge { what: "indexes of shards", .. }), "{fault:?}");
}

#[test]
fn what_is_not_read_and_what_is_damaged_are_told_apart() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    for (change, part) in [
        (codecs(json!([bytes, "numcodecs.bz2"])), Some(Unread::Codec)),
        (
            codecs(json!([bytes, {"name": "blosc", "configuration": {"cname": "snappy"}}])),
            Some(Unread::Codec),
        ),
        (json!({"data_type": "complex64"}), Some(Unread::Type)),
        (json!({"data_type": {"name": "numpy.datetime64"}}), Some(Unread::Type)),
        (json!({"chunk_grid": {"name": "rectilinear"}}), Some(Unread::Grid)),
        (json!({"chunk_key_encoding": {"name": "odd"}}), Some(Unread::Keys)),
        (json!({"storage_transformers": [{"name": "x"}]}), Some(Unread::Extension)),
        (json!({"novel": 3}), Some(Unread::Extension)),
        (json!({"novel": {"must_understand": false}, "shape": []}), None),
        (json!({"shape": [5]}), None),
        (json!({"shape": [5, -4]}), None),
        (json!({"shape": [5, 0]}), None),
        (json!({"zarr_format": 2}), None),
        (json!({"node_type": "group"}), None),
        (json!({"fill_value": null}), None),
        (codecs(json!([])), None),
        (codecs(json!(["bytes"])), None),
        (codecs(json!(["gzip", bytes])), None),
        (codecs(json!([bytes, bytes])), None),
        (codecs(json!([{"name": "transpose", "configuration": {"order": [0, 0]}}, bytes])), None),
        (codecs(json!([{"name": "transpose", "configuration": {"order": [0]}}, bytes])), None),
    ] {
        let found = match parsed(change.clone()).unwrap_err() {
            ArrayFault::Unread { part, .. } => Some(part),
            _ => None,
        };
        assert_eq!(found, part, "{change}");
    }
}

/// A value of JSON that metadata may have at any place.
fn anything() -> impl Strategy<Value = Value> {
    let number = prop_oneof![0u64..6, Just(1 << 31), Just(u64::MAX), any::<u64>()];
    let leaf = prop_oneof![
        number.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            "bytes",
            "transpose",
            "sharding_indexed",
            "regular",
            "C",
            "/",
            "NaN",
            "0x",
            ""
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let names = prop::sample::select(vec![
            "name",
            "configuration",
            "chunk_shape",
            "codecs",
            "index_codecs",
            "order",
            "endian",
            "separator",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..4).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_metadata_is_an_array_or_an_error(
        member in prop::sample::select(vec![
            "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "storage_transformers",
        ]),
        value in anything(),
        stored in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let Ok(array) = parsed(json!({ member: value })) else { return Ok(()) };
        prop_assert!(array.piece_bytes() <= CHUNK_MAX);
        let rows = array.block_rows().min(array.shape()[0]);
        let Some(bytes) = rows.checked_mul(array.row_bytes()).filter(|&bytes| bytes < 1 << 20) else { return Ok(()) };
        if array.piece_bytes() > 1 << 20 || rows == 0 {
            return Ok(());
        }
        let mut space = vec![0; bytes as usize];
        for place in array.pieces(0).take(9) {
            let _ = array.put(&place, Some(stored.clone()), 0, &mut space);
            array.put(&place, None, 0, &mut space).unwrap();
        }
    }
}
