//! The trial of a decoder before the first picture, and decoders that fail a part of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cudarc::driver::{CudaContext, sys};
use tarflume::{Device, DeviceLoader, Libraries};

use crate::gpu::device_decoder::bench::{Consumer, builder, child, shards};
use crate::gpu::device_decoder::compressed::{columns, stays};
use crate::gpu::device_decoder::shared::Capture;
use crate::gpu::device_decoder::{on, share};

/// What is said of one that does less than it might.
const WRONG: &str = "gave wrong results";

fn about(loader: &DeviceLoader) -> String {
    loader.stats().decoder.unwrap().about.text()
}

/// The backend that is the best one here.
fn best() -> &'static str {
    if std::env::var_os("FAKENVJPEG_ENGINES").is_some() { "GPU_HYBRID" } else { "HARDWARE" }
}

#[test]
#[ignore = "a child of the test below"]
fn child_does_all() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = about(&on(&consumer, builder(&dir, &share())));
    assert!(host.contains(&format!(", {}", best())) && !host.contains(WRONG), "{host}");
    let stored = about(&stays(&consumer, columns(dir.path(), None)));
    assert!(stored.contains(&format!(", {}_DEVICE", best())), "{stored}");
    assert!(!stored.contains(WRONG), "{stored}");
}

/// A plain copy is over before its bytes are on the device, and no stream of ours waits for it.
#[test]
fn a_decoder_trial_waits_for_its_uploads() {
    let staged = ("FAKECUDA_STAGED_US", "50000");
    child("gpu::device_decoder::trial::child_does_all", &[staged]);
    child("gpu::device_decoder::trial::child_does_all", &[staged, ("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_is_tried_in_a_capture() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let context = CudaContext::new(0).unwrap();
    context.bind_to_thread().unwrap();
    let mut blocking = std::ptr::null_mut();
    // SAFETY: writes to a variable here.
    unsafe { sys::cuStreamCreate(&mut blocking, 0) }.result().unwrap();
    let capture = Capture::begin(blocking);
    let host = about(&on(&consumer, builder(&dir, &share())));
    let stored = about(&stays(&consumer, columns(dir.path(), None)));
    capture.end();
    assert!(host.contains(", HARDWARE") && !host.contains(WRONG), "{host}");
    assert!(stored.contains(", HARDWARE_DEVICE") && !stored.contains(WRONG), "{stored}");
}

/// The legacy stream would wait for the captured one.
#[test]
fn a_decoder_is_tried_while_a_blocking_stream_is_captured() {
    child("gpu::device_decoder::trial::child_is_tried_in_a_capture", &[]);
}

#[test]
#[ignore = "a child of the tests below"]
fn child_goes_without() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &share()).build().unwrap();
    let ours = on(&consumer, builder(&dir, &share()));
    consumer.compare_epochs(&host, &ours, 0..1, Duration::ZERO);
    let decoder = ours.stats().decoder.unwrap();
    for says in std::env::var("SAYS").unwrap().split('+') {
        assert!(decoder.about.text().contains(says), "{says}: {decoder:?}");
    }
    let never = std::env::var("NEVER").unwrap();
    assert!(!decoder.about.text().contains(&never), "{never}: {decoder:?}");
    assert!(decoder.decoded > 0 && decoder.refused == 0, "{decoder:?}");
}

fn goes_without(knob: &str, value: &str, says: &str, never: &str) {
    let full = ("FAKENVJPEG_TRIED", "1");
    let words = [("SHARE", "1000"), (knob, value), ("SAYS", says), ("NEVER", never), full];
    child("gpu::device_decoder::trial::child_goes_without", &words);
}

#[test]
fn an_unsupported_scale_disables_smaller_scales_and_not_the_engines() {
    let knob = "FAKENVJPEG_SCALES_UNKNOWN";
    goes_without(knob, "8", ", HARDWARE+1/8 is refused", WRONG);
    goes_without(knob, "2", ", HARDWARE+1/2 is refused", WRONG);
}

#[test]
fn a_subsampling_is_tried_although_earlier_ones_are_refused() {
    goes_without(
        "FAKENVJPEG_NO_LUMA",
        "3",
        ", HARDWARE+of 4:2:0+gave wrong results",
        "one component",
    );
}

/// Chroma that is repeated differs from the CPU's by more than the bound.
#[test]
fn engines_are_asked_to_interpolate_only_if_they_do_not() {
    goes_without("FAKENVJPEG_NEAREST", "0", ", HARDWARE+engines of 1 cores", "interpolating");
    goes_without("FAKENVJPEG_NEAREST", "3", ", HARDWARE+1 cores, interpolating", WRONG);
}

/// Copies of the simulated library, in folders like those of wheels of two CUDA versions.
fn wheels() -> (tempfile::TempDir, [PathBuf; 2]) {
    let site = tempfile::tempdir().unwrap();
    let copied = ["cu13", "cu12"].map(|wheel| {
        let folder = site.path().join("nvidia").join(wheel).join("lib");
        std::fs::create_dir_all(&folder).unwrap();
        let to = folder.join("libnvjpeg.so.13");
        std::fs::copy(crate::gpu::simulated::libraries().join("libnvjpeg.so.13"), &to).unwrap();
        to
    });
    (site, copied)
}

fn beside(site: &Path) -> Device {
    Device::cuda_with(0, Libraries::beside([site.to_path_buf()])).unwrap()
}

#[test]
#[ignore = "a child of the test below"]
fn child_has_two_libraries() {
    let dir = shards(&[]);
    let (site, [newest, other]) = wheels();
    let ours = builder(&dir, &share()).device(beside(site.path())).device_slots(3).build().unwrap();
    let stays = columns(dir.path(), None).device(beside(site.path())).device_slots(2);
    let stays = stays.resident(crate::gpu::device_decoder::compressed::jpegs()).build();
    if std::env::var("FAKENVJPEG_NEWER").unwrap() == "cu13" {
        for about in [about(&ours), about(&stays.unwrap())] {
            assert!(about.contains(other.to_str().unwrap()), "{about}");
        }
    } else {
        // The report names the problem of the best one.
        let warning = ours.stats().warning.unwrap().to_string();
        let error = stays.unwrap_err().to_string();
        for text in [warning, error] {
            assert!(text.contains(newest.to_str().unwrap()), "{text}");
            assert!(!text.contains(other.to_str().unwrap()), "{text}");
        }
    }
}

#[test]
fn a_library_newer_than_the_driver_is_skipped_for_the_next_one() {
    for newer in ["cu13", "libnvjpeg"] {
        child(
            "gpu::device_decoder::trial::child_has_two_libraries",
            &[("FAKENVJPEG_NEWER", newer)],
        );
    }
}
