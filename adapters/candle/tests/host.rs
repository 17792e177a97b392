//! Batches in host memory become candle tensors on the CPU, byte for byte.
#![allow(missing_docs, clippy::unwrap_used)]

use candle_core::{DType, Device, Tensor};
use tarflume::ErrorKind;
use tarflume_adapter_samples::{BOOL, COLUMNS, SAMPLES, Samples, bytes};
use tarflume_candle::Tensors;

/// The elements of a tensor, as bytes.
fn content(tensor: &Tensor) -> Vec<u8> {
    macro_rules! bytes {
        ($($dtype:ident => $rust:ty),*) => {
            match tensor.dtype() {
                $(DType::$dtype => {
                    let flat = tensor.flatten_all().unwrap().to_vec1::<$rust>().unwrap();
                    flat.iter().flat_map(|element| element.to_le_bytes()).collect()
                })*
                other => panic!("{other:?} is of no column"),
            }
        };
    }
    bytes!(U8 => u8, I16 => i16, U32 => u32, I32 => i32, I64 => i64, F16 => half::f16, F32 => f32, F64 => f64)
}

const NAMES: [&str; 8] = ["u8", "i16", "u32", "i32", "i64", "f16", "f32", "f64"];
const TYPES: [DType; 8] =
    [DType::U8, DType::I16, DType::U32, DType::I32, DType::I64, DType::F16, DType::F32, DType::F64];

#[test]
fn tensors_equal_the_columns() {
    let samples = Samples::new();
    for rows in [1, 4, SAMPLES] {
        let mut seen = 0;
        for batch in samples.loader(rows).build().unwrap().epoch(0) {
            let batch = batch.unwrap();
            let tensors = (&batch).tensors(NAMES, &Device::Cpu).unwrap();
            for ((name, dtype), tensor) in NAMES.iter().zip(TYPES).zip(&tensors) {
                let column = COLUMNS.into_iter().find(|column| column.name == *name).unwrap();
                assert_eq!(tensor.dims(), [&[batch.len()], column.shape].concat(), "{name}");
                assert_eq!(tensor.dtype(), dtype, "{name}");
                assert_eq!(content(tensor), bytes(column, batch.ordinals()), "{name}");
            }
            seen += batch.len() as u64;
        }
        assert_eq!(seen, SAMPLES);
    }
}

#[test]
fn truths_are_bytes() {
    let samples = Samples::new();
    let loader = samples.loader(4).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let right = bytes(BOOL, batch.ordinals());
    let [truths] = batch.tensors(["bool"], &Device::Cpu).unwrap();
    assert_eq!((truths.dtype(), truths.dims(), content(&truths)), (DType::U8, &[4, 6][..], right));
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
            let [tensor] = batch.tensors(["u8"], &Device::Cpu).unwrap();
            (right, tensor)
        })
        .collect();
    assert_eq!(all.len(), 15);
    assert!(all.iter().all(|(right, tensor)| content(tensor) == *right));
}

#[test]
fn a_batch_without_rows_is_a_tensor_without_rows() {
    let samples = Samples::new();
    let [tensor] = samples.empty().tensors(["late"], &Device::Cpu).unwrap();
    assert_eq!((tensor.dims(), tensor.dtype()), (&[0, 2][..], DType::F32));
}

#[test]
fn types_without_a_candle_tensor_are_errors_with_a_remedy() {
    let samples = Samples::new();
    let loader = samples.loader(4).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    for (name, text) in [
        ("u16", "column 'u16' holds U16, and candle has no such type: store it as one of U8, I16,"),
        ("i8", "column 'i8' holds I8, and"),
        ("u64", "column 'u64' holds U64, and"),
        (
            "txt",
            "the rows of column 'txt' have different lengths: take batch.column(\"txt\")?.padded(value)?",
        ),
        ("nought", "no column 'nought'; the columns are: u8, i8"),
    ] {
        let error = (&batch).tensors(["u8", name], &Device::Cpu).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().starts_with(text), "{error}");
    }
}
