//! Pictures converted on the device: bit-identical to those converted on the host. Runs on the simulated CUDA
//! driver of `fixtures/cuda`, which executes the kernel on the CPU.
//!
//! Libraries are loaded when a program starts. Therefore each test runs this program again as a child.
#![allow(missing_docs, clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tarflume::internal::row_header::RowHeader;
use tarflume::{
    Channels, DType, Device, DeviceShare, Image, ImageSize, Json, Layout, Libraries, Loader,
    LoaderBuilder, Normalize, RandomResizedCrop, Remainder, Resize, Shuffle,
};

use crate::gpu::simulated::shards::{of_jpegs, sized};
use crate::gpu::simulated::{Consumer, assert_same, child};

const SAMPLES: u32 = 23;

/// One shard of pictures of several sizes, each with a class.
pub(crate) fn shards() -> tempfile::TempDir {
    of_jpegs(SAMPLES, sized)
}

/// Columns of every element type, layout and number of channels, and one that is not converted.
pub(crate) fn builder(dir: &tempfile::TempDir) -> LoaderBuilder {
    fn crop() -> Image {
        Image::new("jpg", RandomResizedCrop::new(24).flip(0.5))
    }

    let by = Normalize::imagenet();
    Loader::builder(dir.path())
        .column("plain", crop())
        .column("f32", crop().to_f32(by).layout(Layout::Chw))
        .column("label", Json::new("json", "/class"))
        .column("f16", crop().to_f16(by))
        .column("bf16", crop().to_bf16(by).layout(Layout::Chw))
        .column("bytes", crop().layout(Layout::Chw))
        .column(
            "gray",
            Image::new("jpg", Resize::exact((7, 9))).channels(Channels::Gray).to_f32(by),
        )
        .column("rgba", Image::new("jpg", Resize::exact(5)).channels(Channels::Rgba).to_f16(by))
        .shuffle(Shuffle::Full { seed: 4 })
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

#[test]
#[ignore = "a child of the tests below"]
fn child_equal() {
    let dir = shards();
    let libraries = Libraries::beside(std::env::var_os("SITE").map(PathBuf::from));
    let device = Device::cuda_with(0, libraries).unwrap();
    let host = builder(&dir).build().unwrap();
    let ours = builder(&dir).device(device).device_slots(3).build().unwrap();
    let consumer = Consumer::new();
    for epoch in 0..2 {
        let right = host.epoch(epoch);
        let mut rows = Vec::new();
        for (right, batch) in right.zip(ours.epoch(epoch)) {
            let right = right.unwrap();
            let batch = batch.unwrap();
            assert_eq!(batch.columns().count(), 8);
            assert_eq!(assert_same(&consumer, &right, &batch), 8);
            rows.push(right.len());
        }
        assert_eq!(rows, [4, 4, 4, 4, 4, 3]);
    }
    let stats = ours.stats();
    match std::env::var("WARNS") {
        Ok(says) => assert!(stats.warning.as_ref().unwrap().as_str().contains(&says), "{stats:?}"),
        Err(_) => assert_eq!(stats.warning, None),
    }
    // Where the device finishes pictures, bytes cross: a quarter or half of what they become.
    let crossed = ours.epoch(2).next().unwrap().unwrap();
    let dtype = crossed.host().column("f32").unwrap().dtype();
    assert_eq!(dtype == DType::U8, std::env::var("WARNS").is_err());
}

#[test]
fn finished_on_the_device_is_to_the_bit_what_the_host_makes() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_finish::child_equal", cache.path(), &[("FAKECUDA_DELAY_US", "20-400")]);
}

#[test]
fn compiled_kernels_are_cached_for_the_next_process() {
    let cache = tempfile::tempdir().unwrap();
    let none = [("TARFLUME_NVRTC", "/nowhere/libnvrtc.so")];
    let warns = [none[0], ("WARNS", "NVRTC, the compiler of CUDA, was not found")];
    child("gpu::cuda_finish::child_equal", cache.path(), &warns);
    child("gpu::cuda_finish::child_equal", cache.path(), &[]);
    child("gpu::cuda_finish::child_equal", cache.path(), &none);
    // A truncated file is ignored.
    let made: Vec<_> =
        std::fs::read_dir(cache.path().join("tarflume")).unwrap().flatten().collect();
    assert_eq!(made.len(), 1);
    let bytes = std::fs::read(made[0].path()).unwrap();
    std::fs::write(made[0].path(), &bytes[..bytes.len() / 2]).unwrap();
    child("gpu::cuda_finish::child_equal", cache.path(), &warns);
    child("gpu::cuda_finish::child_equal", cache.path(), &[]);
}

#[test]
fn a_device_without_kernels_leaves_the_work_to_the_host() {
    let cache = tempfile::tempdir().unwrap();
    let fail = (1..=4).map(|n| format!("cuModuleLoadDataEx:{n}:222")).collect::<Vec<_>>().join(",");
    // With what the driver's compiler says.
    let warns = "loading kernels failed: ptxas fatal   : simulated refusal with 222";
    let refused = [("FAKECUDA_FAIL", fail.as_str()), ("WARNS", warns)];
    child("gpu::cuda_finish::child_equal", cache.path(), &refused);
    // One that only an older target serves.
    child(
        "gpu::cuda_finish::child_equal",
        cache.path(),
        &[("FAKECUDA_FAIL", "cuModuleLoadDataEx:1:222")],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_refused() {
    let dir = shards();
    let ours = builder(&dir).device(Device::cuda(0).unwrap()).device_slots(2).build().unwrap();
    let error = ours.epoch(0).find_map(Result::err).unwrap();
    assert_eq!(error.kind(), tarflume::ErrorKind::Device);
    assert!(error.text().contains("tarflume_finish failed"), "{error}");
}

#[test]
fn a_failed_kernel_launch_ends_the_epoch() {
    let cache = tempfile::tempdir().unwrap();
    child(
        "gpu::cuda_finish::child_refused",
        cache.path(),
        &[("FAKECUDA_FAIL", "cuLaunchKernel:9:719")],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_resized() {
    fn crop() -> Image {
        Image::new("jpg", RandomResizedCrop::new(24).flip(0.5)).to_f32(Normalize::unit())
    }

    let dir = shards();
    let plain = Loader::builder(dir.path()).shuffle(Shuffle::Full { seed: 4 }).batch(4).threads(2);
    let host = plain.clone().column("image", crop());
    let host = host.column("gray", crop().channels(Channels::Gray)).build().unwrap();
    // Of some pictures more pixels are needed than 40 x 40: the host resizes them.
    let ours = crop().layout(Layout::Chw).resize_on_device(40);
    let gray = crop().channels(Channels::Gray).resize_on_device(64);
    let ours = plain.column("image", ours).column("gray", gray);
    let ours = ours.device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap();
    let consumer = Consumer::new();
    let mut decoded = 0;
    let mut ready = 0;
    for (right, batch) in host.epoch(1).zip(ours.epoch(1)) {
        let right = right.unwrap();
        let batch = batch.unwrap();
        batch.ready_on(consumer.stream()).unwrap();
        for (name, planes) in [("image", 3), ("gray", 1)] {
            let there = batch.column(name).unwrap();
            let bytes = consumer.read(there.pointer, there.shape.iter().product::<usize>() * 4);
            let made: Vec<f32> =
                bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
            let right = right.column(name).unwrap();
            for (n, &value) in right.elements::<f32>().unwrap().iter().enumerate() {
                let row = n / planes / 576;
                let pixel = n / planes % 576;
                let channel = n % planes;
                let there = made[(row * planes + channel) * 576 + pixel];
                assert_eq!(there.to_bits(), value.to_bits(), "{name} in row {row}");
            }
        }
        let rows = batch.host().column("image").unwrap();
        for head in (0..right.len()).map(|row| &rows.row(row)[..64]) {
            let head: RowHeader = bytemuck::pod_read_unaligned(head);
            let whole = head.picture().unwrap().size == ImageSize::new(24, 24);
            *(if whole { &mut ready } else { &mut decoded }) += 1;
        }
    }
    assert!(decoded > 0 && ready > 0, "{decoded} were resized by the device, {ready} by the host");
    let both = crop().resize_on_device(40).device_decoder(DeviceShare::fixed(1000));
    let error = Loader::builder(dir.path()).column("image", both).build().unwrap_err();
    assert!(error.text().contains("cannot be combined"), "{error}");
}

#[test]
fn a_device_cuts_and_resizes_what_the_host_decoded() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_finish::child_resized", cache.path(), &[]);
}

/// A folder of Python packages with two compilers.
fn two_compilers() -> tempfile::TempDir {
    let site = tempfile::tempdir().unwrap();
    for name in ["nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13"] {
        let path = site.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(crate::gpu::simulated::libraries().join("libnvrtc.so"), path).unwrap();
    }
    site
}

#[test]
#[ignore = "a child of the test below"]
fn child_loads_one() {
    let dir = shards();
    let libraries = Libraries::beside(std::env::var_os("SITE").map(PathBuf::from));
    let device = Device::cuda_with(0, libraries).unwrap();
    let ours = builder(&dir).device(device).device_slots(2).build().unwrap();
    assert_eq!(ours.stats().warning, None);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let loaded: Vec<bool> = ["12", "13"].map(|n| maps.contains(&format!("libnvrtc.so.{n}"))).into();
    let expected = std::env::var("LOADED").unwrap();
    assert_eq!(format!("{loaded:?}"), expected);
}

/// Cached PTX would be compiled by the driver at each start.
#[test]
fn a_compiler_that_makes_machine_code_is_used_although_ptx_is_cached() {
    let site = two_compilers();
    let cache = tempfile::tempdir().unwrap();
    for (machine, loaded, kept) in [
        ("0", "[true, true]", "ptx"),         // both were asked for machine code
        ("0", "[true, true]", "ptx"),         // and are asked again, as they may be new
        ("1", "[false, true]", "cubin ptx"),  // the newest is enough
        ("0", "[false, false]", "cubin ptx"), // machine code needs no compiler
    ] {
        let site = ("SITE", site.path().to_str().unwrap());
        let words = [site, ("FAKENVRTC_CUBIN", machine), ("LOADED", loaded)];
        child("gpu::cuda_finish::child_loads_one", cache.path(), &words);
        let files = std::fs::read_dir(cache.path().join("tarflume")).unwrap().flatten();
        let mut kinds: Vec<_> =
            files.map(|file| file.path().extension().unwrap().to_owned()).collect();
        kinds.sort();
        assert_eq!(kinds.join(std::ffi::OsStr::new(" ")), kept);
    }
}

/// NVRTC 12 does not know the GPU that NVRTC 13 knows, and both are installed; or the other way round.
#[test]
fn the_newest_compiler_is_tried_first_and_then_the_next() {
    let site = two_compilers();
    for old in ["12", "13"] {
        let cache = tempfile::tempdir().unwrap();
        let words = [("SITE", site.path().to_str().unwrap()), ("FAKENVRTC_OLD", old)];
        child("gpu::cuda_finish::child_equal", cache.path(), &words);
    }
}

#[test]
fn a_cache_writable_by_others_is_not_used_and_statistics_report_it() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("tarflume");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    child(
        "gpu::cuda_finish::child_compiles",
        cache.path(),
        &[("WARNS", "is writable by other users")],
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    child(
        "gpu::cuda_finish::child_compiles",
        Path::new("relative"),
        &[("WARNS", "not an absolute path")],
    );
    assert!(!Path::new("relative").try_exists().unwrap());
}

#[test]
#[ignore = "a child of the test above"]
fn child_compiles() {
    let dir = shards();
    let ours = builder(&dir).device(Device::cuda(0).unwrap()).device_slots(3).build().unwrap();
    let batch = ours.epoch(0).next().unwrap().unwrap();
    assert_eq!(batch.host().column("f32").unwrap().dtype(), DType::U8, "finished on the device");
    let warning = ours.stats().warning.unwrap();
    assert!(warning.as_str().contains(&std::env::var("WARNS").unwrap()), "{warning}");
}
