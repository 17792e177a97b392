//! A device shared with other code: neither may disturb the other.

use std::time::Duration;

use cudarc::driver::sys;
use tarflume::{DeviceBatch, DeviceStream};

use crate::gpu::device_decoder::bench::{Consumer, builder, child, shards};
use crate::gpu::device_decoder::{on, share};
use crate::gpu::simulated::{lines, log, stream_of, with_log, word};
use crate::patience::until;

/// A capture of a stream into a graph, in the mode that `torch.cuda.graph` uses.
pub(crate) struct Capture(sys::CUstream);

impl Capture {
    pub(crate) fn begin(stream: sys::CUstream) -> Capture {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: a stream of the consumer's, which lives longer.
        unsafe { sys::cuStreamBeginCapture_v2(stream, mode) }.result().unwrap();
        Capture(stream)
    }

    /// Panics if any call has invalidated it.
    pub(crate) fn end(self) {
        let mut graph = std::ptr::null_mut();
        // SAFETY: as above; writes to a variable here.
        unsafe { sys::cuStreamEndCapture(self.0, &mut graph) }.result().unwrap();
        // SAFETY: made just now.
        unsafe { sys::cuGraphDestroy(graph) }.result().unwrap();
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_captures() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let stream = consumer.another_stream();
    let host = builder(&dir, &share()).build().unwrap();
    let ours = on(&consumer, builder(&dir, &share()));
    let mut earlier = ours.epoch(7);
    let held = earlier.next().unwrap().unwrap();
    let capture = Capture::begin(stream);
    // All that a loader does: begins, decodes, copies, grows, ends.
    let batches: Vec<DeviceBatch> = ours.epoch(0).map(Result::unwrap).collect();
    drop((held, earlier));
    capture.end();
    for (right, batch) in host.epoch(0).zip(&batches) {
        consumer.compare(&right.unwrap(), batch);
    }
    let capture = Capture::begin(stream);
    drop((batches, ours));
    capture.end();
}

#[test]
fn a_stream_may_be_captured_into_a_graph_while_a_loader_runs() {
    child(
        "gpu::device_decoder::shared::child_captures",
        &[("SHARE", "500"), ("FAKECUDA_DELAY_US", "200")],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_takes_in_a_capture() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let raw = consumer.another_stream();
    // SAFETY: a stream of this device, which lives longer than any batch.
    let stream = unsafe { DeviceStream::raw(raw as u64) };
    let ours = on(&consumer, builder(&dir, &share()));
    let mut epoch = ours.epoch(0);
    let first = epoch.next().unwrap().unwrap();
    let second = epoch.next().unwrap().unwrap();
    first.ready_on(stream).unwrap();
    let capture = Capture::begin(raw);
    let error = second.ready_on(stream).unwrap_err();
    assert!(error.text().contains("captured into a CUDA graph"), "{error}");
    let error = first.release(&[]).unwrap_err();
    assert!(error.text().contains("captured into a CUDA graph"), "{error}");
    capture.end();
}

#[test]
fn calls_that_would_enter_a_capture_are_refused_without_harm() {
    child("gpu::device_decoder::shared::child_takes_in_a_capture", &[("SHARE", "0")]);
}

fn current() -> Option<sys::CUcontext> {
    let mut context = std::ptr::null_mut();
    // SAFETY: writes to a local variable; returns an error before the driver is initialized.
    let code = unsafe { sys::cuCtxGetCurrent(&mut context) };
    (code == sys::CUresult::CUDA_SUCCESS && !context.is_null()).then_some(context)
}

#[test]
#[ignore = "a child of the test below"]
fn child_current_context() {
    let dir = shards(&[]);
    let before = tarflume::Device::cuda(1).unwrap();
    assert_eq!(current(), None, "this thread has entered no device");
    let consumer = Consumer::new();
    let own = current();
    assert!(own.is_some());
    let device = tarflume::Device::cuda(1).unwrap();
    assert_eq!(current(), own, "after opening");
    let loader = builder(&dir, &share()).device(device.clone()).device_slots(3).build().unwrap();
    assert_eq!(current(), own, "after building");
    let batches: Vec<_> = loader.epoch(0).map(Result::unwrap).collect();
    assert_eq!(current(), own, "after an epoch");
    drop((batches, loader, device, before));
    assert_eq!(current(), own, "after the last drop");
    drop(consumer);
}

#[test]
fn the_current_device_of_the_thread_is_restored() {
    child(
        "gpu::device_decoder::shared::child_current_context",
        &[("SHARE", "500"), ("FAKECUDA_DEVICES", "2")],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_idle() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let ours = on(&consumer, builder(&dir, &share()));
    let mut epoch = ours.epoch(0);
    let held = epoch.next().unwrap().unwrap();
    // No batch is taken and no statistics are requested: completed copies are detected all the same.
    until("all copies are timed", || {
        let log = log();
        let timed =
            lines(&log, "cuEventElapsedTime_v2").len() + lines(&log, "cuEventElapsedTime").len();
        timed >= 3
    });
    drop(held);
}

#[test]
fn host_memory_is_returned_while_the_consumer_is_busy() {
    let (_folder, log) = with_log();
    child(
        "gpu::device_decoder::shared::child_idle",
        &[("SHARE", "0"), ("FAKECUDA_LOG", &log), ("FAKECUDA_DELAY_US", "5000")],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_abandons() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let ours = on(&consumer, builder(&dir, &share()));
    drop(ours.epoch(0).next());
    let first = lines(&log(), "cuMemHostAlloc").len();
    for epoch in 1..20 {
        drop(ours.epoch(epoch).next());
    }
    let pinned = lines(&log(), "cuMemHostAlloc").len();
    let freed = lines(&log(), "cuMemFreeHost");
    assert_eq!((pinned, freed.len()), (first, 0), "each epoch that was left pinned memory anew");
    let allocated = lines(&log(), "cuMemAlloc_v2").len();
    assert_eq!(ours.epoch(20).map(Result::unwrap).count(), 8);
    assert_eq!(lines(&log(), "cuMemHostAlloc").len(), first, "an epoch pins nothing");
    assert_eq!(lines(&log(), "cuMemAlloc_v2").len(), allocated, "and allocates nothing");
}

#[test]
fn memory_is_pinned_before_the_first_batch_and_kept_when_epochs_are_left() {
    let (_folder, log) = with_log();
    child(
        "gpu::device_decoder::shared::child_abandons",
        &[("SHARE", "500"), ("FAKECUDA_LOG", &log)],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_streams() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let ours = on(&consumer, builder(&dir, &share()));
    let launched_before = lines(&log(), "cuLaunchKernel").len();
    assert!(launched_before >= 3, "no kernel was launched before the first batch");
    assert_eq!(ours.epoch(0).map(Result::unwrap).count(), 8);
    let log = log();
    // Batches are pinned; the output of the simulated decoder is pageable.
    let copies = lines(&log, "cuMemcpyHtoDAsync_v2");
    let [copying, decoding] = ["pinned", "pageable"].map(|note| {
        let noted = copies.iter().filter(|line| word(line, "note") == note);
        let mut streams: Vec<&str> = noted.map(|line| word(line, "stream")).collect();
        streams.sort();
        streams.dedup();
        streams
    });
    assert_eq!((copying.len(), decoding.len()), (1, 1), "{copying:?} {decoding:?}");
    assert_ne!(copying, decoding, "decoding waits for copies");
    let launches = lines(&log, "cuLaunchKernel");
    let computing = word(&launches[0], "stream");
    assert!(launches.iter().all(|line| word(line, "stream") == computing), "{launches:?}");
    assert!(computing != copying[0] && computing != decoding[0], "the next copy waits for kernels");
    let mut least = 0;
    let mut greatest = 0;
    // SAFETY: writes to variables here.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }.result().unwrap();
    for own in ["pinned", "pageable"].map(|note| copies.iter().find(|l| word(l, "note") == note)) {
        assert_eq!(priority(stream_of(own.unwrap())), greatest);
    }
    assert_eq!(priority(stream_of(&launches[0])), greatest);
}

/// The priority of a stream of the loader, which is alive.
fn priority(stream: sys::CUstream) -> i32 {
    let mut priority = 0;
    // SAFETY: by this function's contract; writes to a variable here.
    unsafe { sys::cuStreamGetPriority(stream, &mut priority) }.result().unwrap();
    priority
}

#[test]
fn copies_kernels_and_decoding_have_streams_of_their_own_which_come_first() {
    let (_folder, log) = with_log();
    child(
        "gpu::device_decoder::shared::child_streams",
        &[("SHARE", "1000"), ("FAKECUDA_LOG", &log)],
    );
}

/// The threads of the calls of these functions.
fn threads<'a>(log: &'a str, names: &[&str]) -> Vec<&'a str> {
    let lines = log.lines().filter(|line| names.contains(&line.split(' ').next().unwrap()));
    lines.map(|line| word(line, "thread")).collect()
}

#[test]
#[ignore = "a child of the test below"]
fn child_parses() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let ours = on(&consumer, builder(&dir, &share()));
    let log = std::path::PathBuf::from(std::env::var_os("FAKENVJPEG_LOG").unwrap());
    let made = std::fs::read_to_string(&log).unwrap().len();
    assert_eq!(ours.epoch(0).map(Result::unwrap).count(), 8);
    let text = std::fs::read_to_string(&log).unwrap()[made..].to_string();
    let parsing = threads(&text, &["nvjpegJpegStreamParse"]);
    let decoding = threads(&text, &["nvjpegDecodeBatched", "nvjpegDecodeBatchedEx"]);
    assert!(parsing.len() >= 30 && !decoding.is_empty(), "{text}");
    assert!(parsing.iter().all(|thread| !decoding.contains(thread)), "{text}");
}

#[test]
fn jpegs_are_parsed_by_the_threads_that_read_them_and_not_by_the_one_that_copies() {
    let (_folder, log) = with_log();
    child(
        "gpu::device_decoder::shared::child_parses",
        &[("SHARE", "1000"), ("FAKENVJPEG_LOG", &log)],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_withdrawn() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &share()).build().unwrap();
    let ours = on(&consumer, builder(&dir, &share()));
    consumer.compare_epochs(&host, &ours, 0..2, Duration::ZERO);
    let decoder = ours.stats().decoder.unwrap();
    assert!(decoder.about.text().contains(&std::env::var("SAYS").unwrap()), "{decoder:?}");
    assert!(decoder.decoded > 0 && decoder.refused == 0, "{decoder:?}");
}

/// Nothing of this is in NVIDIA's documents, so it is tried before the first picture.
#[test]
fn a_decoder_with_wrong_output_is_disabled_before_the_first_batch() {
    for (knob, value, says) in [
        ("FAKENVJPEG_SCALES_REFUSED", "2,4,8", "HARDWARE"),
        ("FAKENVJPEG_SCALES_REFUSED", "2,4,8", "not at 1/2, 1/4, 1/8"),
        ("FAKENVJPEG_SCALES_WRONG", "8", "not at 1/8"),
        ("FAKENVJPEG_BLIND", "3", "GPU_HYBRID"),
        ("FAKENVJPEG_SCALES_WRONG", "1", "GPU_HYBRID"),
    ] {
        let knobs = [("SHARE", "1000"), (knob, value), ("SAYS", says), ("FAKENVJPEG_TRIED", "1")];
        child("gpu::device_decoder::shared::child_withdrawn", &knobs);
    }
}
