//! The loader's three streams: copies do not wait for kernels, no slot is overwritten under its kernels, and streams of
//! other contexts are refused.
#![allow(missing_docs, clippy::unwrap_used)]

use cudarc::driver::sys;
use tarflume::{Device, DeviceStream};

use crate::gpu::cuda_finish::{builder, shards};
use crate::gpu::simulated::{
    Consumer, Gate, alone, assert_same, lines, log, stream_of, with_log, word,
};
use crate::patience::until;

/// Operations of this name that the simulated device has executed.
fn ran(name: &str) -> usize {
    lines(&log(), &format!("ran {name}")).len()
}

/// All columns of a batch as the consumer's stream sees them are those of the host.
fn compare(consumer: &Consumer, right: &tarflume::Batch, batch: &tarflume::DeviceBatch) {
    assert_eq!(assert_same(consumer, right, batch), right.columns().count());
}

#[test]
#[ignore = "a child of the test below"]
fn child_copies_beside_kernels() {
    let dir = shards();
    let host = builder(&dir).build().unwrap();
    let ours = builder(&dir).device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap();
    let consumer = Consumer::new();
    let launched = lines(&log(), "cuLaunchKernel");
    let gate = Gate::close(stream_of(&launched[0]));
    let before = ran("cuLaunchKernel");
    let mut batches = ours.epoch(0);
    // No kernel of the first batch has run, and the next ones are copied.
    until("three batches are copied", || ran("cuMemcpyHtoDAsync_v2") == 3);
    // Three batches that no stream used are returned, and the copies into their slots submitted. They must wait.
    (0..3).for_each(|_| drop(batches.next().unwrap().unwrap()));
    until("another copy is submitted", || lines(&log(), "cuMemcpyHtoDAsync_v2").len() > 3);
    assert_eq!((ran("cuMemcpyHtoDAsync_v2"), ran("cuLaunchKernel")), (3, before));
    gate.open();
    for (right, batch) in host.epoch(0).skip(3).zip(&mut batches) {
        compare(&consumer, &right.unwrap(), &batch.unwrap());
    }
    // Whole epochs, in which every other batch is returned unused.
    for epoch in 1..3 {
        for (n, (right, batch)) in host.epoch(epoch).zip(ours.epoch(epoch)).enumerate() {
            let batch = batch.unwrap();
            if n % 2 == 0 {
                compare(&consumer, &right.unwrap(), &batch);
            }
        }
    }
}

#[test]
fn the_next_copy_does_not_wait_for_kernels_and_no_slot_is_overwritten_under_them() {
    for delay in ["0", "20-900"] {
        let (_folder, log) = with_log();
        let words = [("FAKECUDA_LOG", log.as_str()), ("FAKECUDA_DELAY_US", delay)];
        alone("gpu::own_streams::child_copies_beside_kernels", &words);
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_green() {
    let dir = shards();
    let host = builder(&dir).build().unwrap();
    let ours = builder(&dir).device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap();
    let consumer = Consumer::new();
    let mut green = std::ptr::null_mut();
    let mut stream = std::ptr::null_mut();
    // SAFETY: writes to variables here; the simulated driver needs no resources.
    unsafe { sys::cuGreenCtxCreate(&mut green, std::ptr::null_mut(), 0, 1) }.result().unwrap();
    // SAFETY: as above.
    unsafe { sys::cuGreenCtxStreamCreate(&mut stream, green, 1, 0) }.result().unwrap();
    // SAFETY: a stream of this device, which lives longer than any batch.
    let stream = unsafe { DeviceStream::raw(stream as u64) };
    let mut batches = ours.epoch(0);
    let batch = batches.next().unwrap().unwrap();
    let error = batch.ready_on(stream).unwrap_err();
    assert_eq!(error.kind(), tarflume::ErrorKind::Device);
    assert!(error.text().contains("of a green context"), "{error}");
    // The refusal leaves the batch as it was.
    compare(&consumer, &host.epoch(0).next().unwrap().unwrap(), &batch);
    // One that used a batch without a question is refused where an event would be recorded.
    batch.used_on(stream);
    let error = batch.release(&[]).unwrap_err();
    assert!(error.text().contains("of a green context"), "{error}");
    let error = batches.find_map(Result::err).unwrap();
    assert!(error.text().contains("of a green context"), "{error}");
    // Another epoch takes other slots.
    assert_eq!(ours.epoch(1).map(Result::unwrap).count(), 6);
}

#[test]
fn a_stream_of_a_green_context_is_refused_in_words() {
    alone("gpu::own_streams::child_green", &[]);
}

/// How often this thread has entered the context.
fn entered() -> usize {
    let own = word(&lines(&log(), "cuDevicePrimaryCtxRetain")[0], "thread").to_string();
    let entered = lines(&log(), "cuCtxPushCurrent_v2");
    entered.iter().filter(|line| word(line, "thread") == own).count()
}

#[test]
#[ignore = "a child of the test below"]
fn child_entered() {
    let dir = shards();
    let ours = builder(&dir).device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap();
    let consumer = Consumer::new();
    let batch = ours.epoch(0).next().unwrap().unwrap();
    let before = entered();
    batch.ready_on(consumer.stream()).unwrap();
    assert_eq!(entered() - before, 2);
}

/// Once to ask about the stream, once to make it wait.
#[test]
fn the_context_is_entered_once_for_each_thing_that_is_done_in_it() {
    let (_folder, log) = with_log();
    alone("gpu::own_streams::child_entered", &[("FAKECUDA_LOG", &log)]);
}
