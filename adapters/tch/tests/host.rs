//! Batches in host memory become tch's tensors on the CPU, byte for byte.
#![allow(missing_docs, clippy::unwrap_used)]

use tarflume::ErrorKind;
use tarflume_adapter_samples::{BOOL, COLUMNS, SAMPLES, Samples, bytes};
use tarflume_tch::Tensors;
use tch::{Device, Kind, Tensor};

const NAMES: [&str; 9] = ["u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bool"];
const KINDS: [Kind; 9] = [
    Kind::Uint8,
    Kind::Int8,
    Kind::Int16,
    Kind::Int,
    Kind::Int64,
    Kind::Half,
    Kind::Float,
    Kind::Double,
    Kind::Bool,
];

/// The elements of a tensor, as bytes.
fn content(tensor: &Tensor) -> Vec<u8> {
    let elements = tensor.numel();
    let size = tensor.kind().elt_size_in_bytes();
    let mut bytes = vec![0; elements * size];
    tensor.f_copy_data_u8(&mut bytes, elements).unwrap();
    bytes
}

#[test]
fn tensors_equal_the_columns() {
    let samples = Samples::new();
    for rows in [1, 4, SAMPLES] {
        let mut seen = 0;
        for batch in samples.loader(rows).build().unwrap().epoch(0) {
            let batch = batch.unwrap();
            let tensors = (&batch).tensors(NAMES, Device::Cpu).unwrap();
            for ((name, kind), tensor) in NAMES.iter().zip(KINDS).zip(&tensors) {
                let mut columns = COLUMNS.into_iter().chain([BOOL]);
                let column = columns.find(|column| column.name == *name).unwrap();
                let shape = [&[batch.len()], column.shape].concat();
                assert_eq!(tensor.size(), shape.iter().map(|&n| n as i64).collect::<Vec<_>>());
                assert_eq!(tensor.kind(), kind, "{name}");
                assert_eq!(content(tensor), bytes(column, batch.ordinals()), "{name}");
            }
            seen += batch.len() as u64;
        }
        assert_eq!(seen, SAMPLES);
    }
}

#[test]
fn tensors_stay_when_the_loader_writes_the_next_batches() {
    let samples = Samples::new();
    let loader = samples.loader(2).build().unwrap();
    let all: Vec<(Vec<u8>, Tensor)> = (0..3)
        .flat_map(|epoch| loader.epoch(epoch).collect::<Vec<_>>())
        .map(|batch| {
            let batch = batch.unwrap();
            let right = bytes(COLUMNS[0], batch.ordinals());
            let [tensor] = batch.tensors(["u8"], Device::Cpu).unwrap();
            (right, tensor)
        })
        .collect();
    assert_eq!(all.len(), 15);
    assert!(all.iter().all(|(right, tensor)| content(tensor) == *right));
}

#[test]
fn a_batch_without_rows_is_a_tensor_without_rows() {
    let [tensor] = Samples::new().empty().tensors(["late"], Device::Cpu).unwrap();
    assert_eq!((tensor.size(), tensor.kind()), (vec![0, 2], Kind::Float));
}

#[test]
fn types_without_a_tch_tensor_are_errors_with_a_remedy() {
    let samples = Samples::new();
    let loader = samples.loader(4).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let untrue = samples.untrue().build().unwrap();
    let untrue = untrue.epoch(0).next().unwrap().unwrap();
    for (batch, name, text) in [
        (&batch, "u16", "column 'u16' holds U16, and tch has no such type: store it as one of U8,"),
        (&batch, "u32", "column 'u32' holds U32, and"),
        (&batch, "u64", "column 'u64' holds U64, and"),
        (&batch, "txt", "the rows of column 'txt' have different lengths: take batch.column"),
        (&batch, "nought", "no column 'nought'; the columns are: u8, i8"),
        (&untrue, "u8", "column 'u8' of Bool holds bytes that are neither 0 nor 1: read it as U8"),
    ] {
        let error = batch.tensors([name], Device::Cpu).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().starts_with(text), "{error}");
    }
}
