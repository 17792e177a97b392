//! Batches become burn's data and tensors, byte for byte, and their memory returns when these are dropped.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use burn_std::{BoolStore, DType as Burn, TensorData};
use burn_tensor::{Device, Int, Tensor};
use tarflume::{Batch, ErrorKind};
use tarflume_adapter_samples::{BOOL, COLUMNS, SAMPLES, Samples, bytes};
use tarflume_burn::Data;

const NAMES: [&str; 12] =
    ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64", "bool"];
const TYPES: [Burn; 12] = [
    Burn::U8,
    Burn::I8,
    Burn::U16,
    Burn::I16,
    Burn::U32,
    Burn::I32,
    Burn::U64,
    Burn::I64,
    Burn::F16,
    Burn::F32,
    Burn::F64,
    Burn::Bool(BoolStore::Native),
];

fn compare(batch: &Batch, made: &[TensorData; 12]) {
    for ((column, dtype), data) in COLUMNS.into_iter().chain([BOOL]).zip(TYPES).zip(made) {
        assert_eq!(data.dtype(), dtype);
        assert_eq!(
            data.shape().as_slice(),
            [&[batch.len()], column.shape].concat(),
            "{}",
            column.name
        );
        assert_eq!(data.as_bytes(), bytes(column, batch.ordinals()), "{}", column.name);
    }
}

#[test]
fn tensor_data_equals_the_columns() {
    let samples = Samples::new();
    for rows in [1, 4, SAMPLES] {
        let mut seen = 0;
        for batch in samples.loader(rows).build().unwrap().epoch(0) {
            let batch = Arc::new(batch.unwrap());
            compare(&batch, &batch.data(NAMES).unwrap());
            compare(&batch, &Batch::data(&batch, NAMES).unwrap());
            seen += batch.len() as u64;
        }
        assert_eq!(seen, SAMPLES);
    }
}

#[test]
fn a_shared_column_borrows_the_memory_of_the_batch_and_keeps_it_alive() {
    let samples = Samples::new();
    let loader = samples.loader(4).build().unwrap();
    let batch = Arc::new(loader.epoch(0).next().unwrap().unwrap());
    let weak = Arc::downgrade(&batch);
    let [shared, other] = batch.data(["f32", "u8"]).unwrap();
    assert_eq!(shared.as_bytes().as_ptr(), batch.column("f32").unwrap().bytes().as_ptr());
    let copied = Batch::data(&batch, ["f32"]).unwrap();
    drop(batch);
    drop(other);
    assert!(weak.upgrade().is_some(), "data live, and their memory is the loader's again");
    drop(shared);
    assert!(weak.upgrade().is_none(), "no data live, and the loader has not got its memory");
    assert_eq!(copied[0].as_bytes().len(), 4 * 4 * 4);
}

#[test]
fn tensors_equal_the_columns_while_the_loader_continues() {
    let samples = Samples::new();
    let loader = samples.loader(2).build().unwrap();
    let device = Device::flex();
    let mut kept = Vec::new();
    for epoch in 0..3 {
        for batch in loader.epoch(epoch) {
            let batch = Arc::new(batch.unwrap());
            let [images, labels, floats] = batch.data(["u8", "i64", "f32"]).unwrap();
            let right: Vec<_> = [0, 7, 9].map(|n| bytes(COLUMNS[n], batch.ordinals())).into();
            kept.push((
                right,
                Tensor::<4, Int>::from_data(images, (&device, Burn::U8)),
                Tensor::<1, Int>::from_data(labels, (&device, Burn::I64)),
                Tensor::<3>::from_data(floats, (&device, Burn::F32)),
            ));
        }
    }
    assert_eq!(kept.len(), 15);
    for (right, images, labels, floats) in kept {
        assert_eq!(images.dims(), [2, 2, 3, 3]);
        let made = [images.into_data(), labels.into_data(), floats.into_data()];
        assert_eq!(made.map(|data| data.as_bytes().to_vec()).to_vec(), right);
    }
}

#[test]
fn a_batch_without_rows_is_data_without_rows() {
    let batch = Arc::new(Samples::new().empty());
    for made in [batch.data(["late"]).unwrap(), Batch::data(&batch, ["late"]).unwrap()] {
        assert_eq!((made[0].shape().as_slice(), made[0].dtype()), (&[0, 2][..], Burn::F32));
    }
}

#[test]
fn types_without_a_burn_equivalent_are_errors_with_a_remedy() {
    let samples = Samples::new();
    let loader = samples.loader(4).build().unwrap();
    let batch = Arc::new(loader.epoch(0).next().unwrap().unwrap());
    let untrue = samples.untrue().build().unwrap();
    let untrue = Arc::new(untrue.epoch(0).next().unwrap().unwrap());
    for (batch, name, text) in [
        (&batch, "txt", "the rows of column 'txt' have different lengths: take batch.column"),
        (&batch, "nought", "no column 'nought'; the columns are: u8, i8"),
        (&untrue, "u8", "column 'u8' of Bool holds bytes that are neither 0 nor 1: read it as U8"),
    ] {
        let error = batch.data([name]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.text().starts_with(text), "{error}");
    }
}
