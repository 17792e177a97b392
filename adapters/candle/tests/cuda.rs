//! Batches in device memory become candle tensors, on the simulated driver of `fixtures/cuda`. `simulated/run.sh` builds
//! and runs this test. The driver has slow copies and two devices.
#![allow(missing_docs, clippy::unwrap_used)]

use candle_core::{DType, Device, Tensor};
use tarflume::ErrorKind;
use tarflume_adapter_samples::{COLUMNS, SAMPLES, Samples, bytes};
use tarflume_candle::Tensors;

fn words(tensor: &Tensor) -> Vec<u8> {
    let flat = tensor.flatten_all().unwrap();
    match tensor.dtype() {
        DType::U8 => flat.to_vec1::<u8>().unwrap(),
        DType::I64 => flat.to_vec1::<i64>().unwrap().iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::F16 => {
            flat.to_vec1::<half::f16>().unwrap().iter().flat_map(|n| n.to_le_bytes()).collect()
        }
        _ => flat.to_vec1::<f32>().unwrap().iter().flat_map(|n| n.to_le_bytes()).collect(),
    }
}

const NAMES: [&str; 4] = ["u8", "i64", "f16", "f32"];

/// Epochs whose tensors are all kept to the end, so that every slot is used again while they live.
fn epochs(samples: &Samples, slots: usize, device: &Device) {
    let ours = tarflume::Device::cuda(0).unwrap();
    let loader = samples.loader(2).device(ours).device_slots(slots).build().unwrap();
    let mut kept = Vec::new();
    for epoch in 0..4 {
        for batch in loader.epoch(epoch) {
            let batch = batch.unwrap();
            let right = NAMES.map(|name| {
                let column = COLUMNS.into_iter().find(|column| column.name == name).unwrap();
                (
                    [&[batch.host().len()], column.shape].concat(),
                    bytes(column, batch.host().ordinals()),
                )
            });
            kept.push((right, batch.tensors(NAMES, device).unwrap()));
        }
    }
    assert_eq!(kept.len() as u64, 4 * SAMPLES / 2);
    for (right, tensors) in &kept {
        for ((shape, bytes), tensor) in right.iter().zip(tensors) {
            assert!(tensor.device().is_cuda());
            assert_eq!(tensor.dims(), shape);
            assert_eq!(words(tensor), *bytes);
        }
    }
}

#[test]
fn tensors_outlive_their_slots() {
    let samples = Samples::new();
    for slots in [1, 2, 3] {
        epochs(&samples, slots, &Device::new_cuda(0).unwrap());
        epochs(&samples, slots, &Device::new_cuda_with_stream(0).unwrap());
    }
}

#[test]
fn each_thread_has_its_own_default_stream() {
    let samples = Samples::new();
    let device = Device::new_cuda(0).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| epochs(&samples, 2, &device));
        }
    });
}

#[test]
fn a_batch_on_the_device_becomes_tensors_on_the_cpu() {
    let samples = Samples::new();
    let ours = tarflume::Device::cuda(0).unwrap();
    let loader = samples.loader(4).device(ours).device_slots(2).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let right = bytes(COLUMNS[0], batch.host().ordinals());
    let [tensor] = batch.tensors(["u8"], &Device::Cpu).unwrap();
    assert!(tensor.device().is_cpu());
    assert_eq!(words(&tensor), right);
}

#[test]
fn a_batch_of_another_gpu_is_refused() {
    let samples = Samples::new();
    let ours = tarflume::Device::cuda(0).unwrap();
    let loader = samples.loader(4).device(ours).device_slots(2).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    let error = batch.tensors(["u8"], &Device::new_cuda(1).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.text().starts_with("the batch is on cuda:0, and tensors are wanted on cuda:1"));
}

#[test]
fn types_that_candle_lacks_are_errors_and_the_batch_is_returned() {
    let samples = Samples::new();
    let ours = tarflume::Device::cuda(0).unwrap();
    let device = Device::new_cuda(0).unwrap();
    let loader = samples.loader(1).device(ours).device_slots(1).build().unwrap();
    for batch in loader.epoch(0) {
        let error = batch.unwrap().tensors(["u8", "u16"], &device).unwrap_err();
        assert!(error.text().starts_with("column 'u16' holds U16"), "{error}");
    }
}
