//! JPEGs decoded by the simulated libnvjpeg of `fixtures/cuda`, into the memory of its simulated driver.
//!
//! Both are loaded on first use. Therefore each test runs this program again as a child, with the simulated
//! libraries first in the search path and their parameters set.
#![allow(missing_docs, clippy::unwrap_used)]

pub(crate) mod bench;
mod device_memory;
mod library_search;

use std::sync::Arc;

use cudarc::driver::result;
use tarflume::ErrorKind;
use tarflume::internal::nvjpeg::{
    Backend, Compressed, Nvjpeg, PixelTarget, Scale, Verdict, supported,
};
use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};
use tarflume_jpeg::Header;

use crate::gpu::nvjpeg::bench::{Bench, Order, assert_alike, child, library};
use crate::gpu::simulated::Gate;

fn photo(kind: PhotoKind, width: u16, height: u16) -> Vec<u8> {
    Photo::new(width, height, kind).encode(5).unwrap()
}

/// Sizes that are no multiples of anything, and tiny ones.
fn pictures() -> Vec<Vec<u8>> {
    let kinds = [PhotoKind::Yuv420, PhotoKind::Yuv422, PhotoKind::Yuv444, PhotoKind::Gray];
    let sizes = [(97, 61), (16, 16), (1, 1), (33, 250)];
    let mut all: Vec<_> = kinds.iter().flat_map(|&k| sizes.map(|(w, h)| photo(k, w, h))).collect();
    let photographs: Vec<_> = PHOTOS
        .iter()
        .map(|photo| photo.jpeg)
        .filter(|jpeg| supported(&Header::parse(jpeg).unwrap()).is_ok())
        .collect();
    assert!(photographs.len() > 4);
    all.extend(photographs.into_iter().take(4).map(<[u8]>::to_vec));
    all.push(photo(PhotoKind::Exif(6), 40, 30));
    all
}

/// A JPEG whose header is right, and whose codes lead nowhere.
fn damaged() -> Vec<u8> {
    let mut jpeg = photo(PhotoKind::Yuv420, 80, 80);
    let start = jpeg.len() / 2;
    let end = jpeg.len() - 2;
    // An end of the image that is followed by another: the data stop too early.
    jpeg[start..end].fill(0);
    jpeg.splice(start..start + 2, [0xff, 0xd9]);
    jpeg
}

#[test]
#[ignore = "a child of the tests below"]
fn child_decodes_all_scales() {
    let bench = Bench::new();
    let jpegs = pictures();
    let scales = if bench.nvjpeg.has_scales() { &Scale::ALL[..] } else { &[Scale::Full] };
    // All of them in one batch: scales and channels mixed.
    let mut orders: Vec<Order<'_>> = Vec::new();
    for (n, jpeg) in jpegs.iter().enumerate() {
        let gray = Header::parse(jpeg).unwrap().channels() == 1;
        let channels = if gray || n % 5 == 0 { 1 } else { 3 };
        orders.extend(scales.iter().map(|&scale| (&jpeg[..], scale, channels)));
    }
    // Slowly or fast, and again with the state of the batch before.
    for _ in 0..2 {
        for (order, (pixels, verdict)) in orders.iter().zip(bench.decode(&orders)) {
            assert_eq!(verdict, Verdict::Decoded);
            assert_alike(order, &pixels);
        }
    }
}

#[test]
fn pictures_are_those_of_our_decoder_at_all_scales() {
    child("gpu::nvjpeg::child_decodes_all_scales", &[]);
    child("gpu::nvjpeg::child_decodes_all_scales", &[("FAKECUDA_DELAY_US", "20")]);
    // An older library, with nothing to ask about upsampling.
    child("gpu::nvjpeg::child_decodes_all_scales", &[("FAKENVJPEG_VERSION", "12.0.0")]);
    child("gpu::nvjpeg::child_decodes_all_scales", &[("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the tests below"]
fn child_backends() {
    let bench = Bench::new();
    let engines = std::env::var("FAKENVJPEG_ENGINES").map_or(7, |n| n.parse().unwrap());
    assert_eq!(bench.nvjpeg.engines(), (engines, u32::from(engines > 0)));
    let about = bench.nvjpeg.about().text();
    assert_eq!(format!("{:?}", bench.nvjpeg), format!("Nvjpeg({about})"));
    assert!(about.starts_with("nvJPEG 13.3.2 (") && about.contains("libnvjpeg.so.13"), "{about}");
    let jpeg = photo(PhotoKind::Yuv420, 40, 40);
    let [half] = &bench.decode(&[(&jpeg, Scale::Half, 3)])[..] else { panic!() };
    if engines > 0 {
        assert_eq!(bench.nvjpeg.backend(), Backend::Hardware);
        assert!(about.contains("7 JPEG engines of 1 cores"), "{about}");
        assert_eq!(half.1, Verdict::Decoded);
        let hybrid = Bench::by(Some(Backend::GpuHybrid));
        assert!(!hybrid.nvjpeg.has_scales());
        assert_eq!(hybrid.decode(&[(&jpeg, Scale::Full, 3)])[0].1, Verdict::Decoded);
    } else {
        assert_eq!(bench.nvjpeg.backend(), Backend::GpuHybrid);
        assert!(about.contains("no JPEG engine can be used"), "{about}");
        assert!(
            matches!(&half.1, Verdict::Refused(why) if why.text().contains("at full scale only"))
        );
        let error = Nvjpeg::new(&library(), Some(Backend::Hardware)).unwrap_err();
        assert!(error.to_string().contains("video capability"), "{error}");
    }
}

#[test]
fn available_engines_are_used_and_reported() {
    child("gpu::nvjpeg::child_backends", &[]);
    child("gpu::nvjpeg::child_backends", &[("FAKENVJPEG_ENGINES", "0")]);
}

fn refusal(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Decoded => "decoded".to_string(),
        Verdict::Refused(why) => why.text(),
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_refuses_some() {
    let good = photo(PhotoKind::Yuv420, 64, 48);
    let progressive = photo(PhotoKind::Progressive, 64, 48);
    let cmyk = photo(PhotoKind::Cmyk, 64, 48);
    let cut = &good[..good.len() - 30];
    let refused = photo(PhotoKind::Yuv444, 77, 33);
    let orders: Vec<Order<'_>> = [&good, &progressive, &cmyk, cut, b"no JPEG", &refused, &good]
        .map(|bytes| (bytes, Scale::Full, 3))
        .into();
    for bench in [Bench::new(), Bench::by(Some(Backend::GpuHybrid))] {
        let found = bench.decode(&orders);
        let said: Vec<String> = found.iter().map(|(_, verdict)| refusal(verdict)).collect();
        assert!(said[0] == "decoded" && said[6] == "decoded", "{said:?}");
        assert!(said[1].contains("progressive"), "{said:?}");
        assert!(said[2].contains("four components"), "{said:?}");
        assert!(said[3].contains("damaged at byte"), "{said:?}");
        assert!(said[4].contains("damaged at byte 0"), "{said:?}");
        let engines = bench.nvjpeg.has_scales();
        let last = if engines { "the JPEG engines do not support it" } else { "decoded" };
        assert_eq!(said[5], last);
        assert_alike(&orders[0], &found[0].0);
        assert_alike(&orders[6], &found[6].0);
        assert!(found[1].0.iter().all(|&byte| byte == 0xcb), "what is refused is not touched");
    }
}

#[test]
fn a_batch_returns_with_the_pictures_that_no_device_accepts_refused() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let knobs = [("FAKENVJPEG_REFUSE", "77x33"), ("FAKENVJPEG_LOG", log.to_str().unwrap())];
    child("gpu::nvjpeg::child_refuses_some", &knobs);
    // None of them came before the library, or it would have failed the batch.
    let log = std::fs::read_to_string(log).unwrap();
    let decoded: Vec<_> = log.lines().filter(|l| l.starts_with("nvjpegDecodeBatched ")).collect();
    assert_eq!(decoded.len(), 2, "{log}");
    // Two for each number of channels, so that two batches may be under way.
    assert_eq!(log.matches("StateCreate").count(), 2 * 4, "{log}");
    assert_eq!(log.matches("nvjpegJpegStateDestroy").count(), 2 * 4, "{log}");
    assert_eq!(log.matches("nvjpegDestroy").count(), 2, "{log}");
    assert_eq!(log.matches("ParamsCreate").count(), log.matches("ParamsDestroy").count());
}

#[test]
#[ignore = "a child of the tests below"]
fn child_finds_culprits() {
    let bench = Bench::new();
    let good: Vec<_> = (0..9).map(|n| photo(PhotoKind::Yuv422, 40 + n, 30)).collect();
    let bad = damaged();
    for culprits in [vec![0], vec![4, 8], vec![8], (0..9).collect()] {
        let orders: Vec<Order<'_>> = (0..9)
            .map(|n| {
                if culprits.contains(&n) {
                    (&bad[..], Scale::Half, 3)
                } else {
                    (&good[n][..], Scale::Half, 3)
                }
            })
            .collect();
        for (n, (pixels, verdict)) in bench.decode(&orders).iter().enumerate() {
            let refusal = refusal(verdict);
            if culprits.contains(&n) {
                assert!(refusal.contains("EXECUTION_FAILED"), "{n}: {refusal}");
            } else {
                assert_eq!(refusal, "decoded", "{n} of {culprits:?}");
                assert_alike(&orders[n], pixels);
            }
        }
    }
}

#[test]
fn a_picture_that_fails_the_whole_batch_is_found_and_the_others_are_decoded() {
    child("gpu::nvjpeg::child_finds_culprits", &[]);
    child("gpu::nvjpeg::child_finds_culprits", &[("FAKECUDA_DELAY_US", "10")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_fails_always() {
    let bench = Bench::new();
    let jpegs: Vec<_> = (0..256).map(|n| photo(PhotoKind::Yuv420, 40 + n % 7, 30)).collect();
    let orders: Vec<Order<'_>> = jpegs.iter().map(|jpeg| (&jpeg[..], Scale::Half, 3)).collect();
    let found = bench.decode(&orders);
    assert!(found.iter().all(|(_, verdict)| refusal(verdict).contains("INVALID_PARAMETER")));
    // A batch without failures resets the count: the next batch is tried completely.
    let full: Vec<Order<'_>> = jpegs.iter().map(|jpeg| (&jpeg[..], Scale::Full, 3)).collect();
    assert!(bench.decode(&full).iter().all(|(_, verdict)| refusal(verdict) == "decoded"));
}

#[test]
fn a_failure_of_every_picture_is_not_retried_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let knobs = [("FAKENVJPEG_SCALES_REFUSED", "2"), ("FAKENVJPEG_LOG", log.to_str().unwrap())];
    child("gpu::nvjpeg::child_fails_always", &knobs);
    let log = std::fs::read_to_string(log).unwrap();
    let calls = log.lines().filter(|line| line.starts_with("nvjpegDecodeBatchedEx ")).count();
    assert!(calls < 20, "{calls} calls for 256 pictures");
}

#[test]
#[ignore = "a child of the test below"]
fn child_all_decoded() {
    let bench = Bench::new();
    let jpegs = pictures();
    let orders: Vec<Order<'_>> = jpegs.iter().map(|jpeg| (&jpeg[..], Scale::Full, 1)).collect();
    for (order, (pixels, verdict)) in orders.iter().zip(bench.decode(&orders)) {
        assert_eq!(refusal(&verdict), "decoded");
        assert_alike(order, &pixels);
    }
}

#[test]
fn one_transient_failure_of_a_call_loses_no_picture() {
    for fail in ["nvjpegDecodeBatched:1:6", "nvjpegDecodeBatchedInitialize:1:5"] {
        child("gpu::nvjpeg::child_all_decoded", &[("FAKENVJPEG_FAIL", fail)]);
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_lost_device() {
    let bench = Bench::new();
    let jpeg = photo(PhotoKind::Yuv420, 64, 48);
    let width = 64;
    let height = 48;
    let scale = Scale::Full;
    let channels = 3;
    let to = 1 << 60; // on the device, and no memory of anybody's
    let target = PixelTarget { to, width, height, scale, channels };
    let picture = Compressed { bytes: &jpeg, target };
    // SAFETY: the simulated driver validates the address and rejects it.
    let error = unsafe { bench.nvjpeg.decode(bench.stream.cu_stream() as u64, &[picture; 3]) };
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.to_string().contains("while it decoded JPEGs"), "{error}");
    assert!(error.to_string().contains("illegal memory access"), "{error}");
}

#[test]
fn a_device_that_is_lost_is_an_error_and_no_refusal() {
    child("gpu::nvjpeg::child_lost_device", &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_wrong_use() {
    fn target(width: u32, channels: u8) -> PixelTarget {
        let to = 1 << 60;
        PixelTarget { to, width, height: 24, scale: Scale::Half, channels }
    }

    let library = library();
    let error = Nvjpeg::new(&library, None).unwrap_err();
    assert!(error.to_string().contains("without a current CUDA context"), "{error}");
    let bench = Bench::new();
    let jpeg = photo(PhotoKind::Yuv420, 64, 48);
    let order = |width, channels| Compressed { bytes: &jpeg, target: target(width, channels) };
    // Output memory for another size would be overrun, so the size is checked before the library is called.
    // SAFETY: nothing is written.
    let said = unsafe {
        bench.nvjpeg.decode(bench.stream.cu_stream() as u64, &[order(64, 3), order(32, 4)])
    };
    let said = said.unwrap();
    let said: Vec<String> = said.iter().map(refusal).collect();
    assert!(said[0].contains("64x24") && said[0].contains("32x24"), "{said:?}");
    assert!(said[1].contains("1 or 3 channels"), "{said:?}");
    let thread = std::thread::scope(|scope| {
        // SAFETY: as above.
        scope.spawn(|| unsafe { bench.nvjpeg.decode(2, &[order(64, 3)]) }).join().unwrap()
    });
    assert!(thread.unwrap_err().to_string().contains("without a current CUDA context"));
}

#[test]
fn wrong_sizes_and_contexts_are_errors() {
    child("gpu::nvjpeg::child_wrong_use", &[]);
}

/// The order of streams does not hold engines back: whoever decodes into memory that is still in use must
/// see it in tests. Here it is done wrongly on purpose.
#[test]
#[ignore = "a child of the test below"]
fn child_writes_at_once() {
    for (backend, early) in [(Backend::Hardware, true), (Backend::GpuHybrid, false)] {
        let bench = Bench::by(Some(backend));
        let jpeg = photo(PhotoKind::Yuv420, 32, 32);
        let length = 32 * 32 * 3;
        // SAFETY: a number.
        let to = unsafe { result::malloc_sync(length) }.unwrap();
        let mut seen = vec![0u8; length];
        let pinned = Arc::new(vec![7u8; length]);
        let stream = bench.stream.cu_stream();
        // SAFETY: memory of that length.
        unsafe { result::memcpy_htod_async(to, &pinned, stream) }.unwrap();
        // SAFETY: a number.
        let other = unsafe { result::malloc_sync(length) }.unwrap();
        bench.stream.synchronize().unwrap();
        // The stream is held up, then it would read, and behind that it would decode.
        let gate = Gate::close(stream);
        // SAFETY: both have that length; device to device.
        unsafe { result::memcpy_dtod_async(other, to, length, stream) }.unwrap();
        let target = PixelTarget { to, width: 32, height: 32, scale: Scale::Full, channels: 3 };
        let picture = Compressed { bytes: &jpeg, target };
        // SAFETY: the promise is broken on purpose: the copy may not have read yet.
        let verdicts = unsafe { bench.nvjpeg.decode(stream as u64, &[picture]) }.unwrap();
        assert_eq!(verdicts, [Verdict::Decoded]);
        gate.open();
        bench.stream.synchronize().unwrap();
        // SAFETY: of that length.
        unsafe { result::memcpy_dtoh_sync(&mut seen, other) }.unwrap();
        assert_eq!(seen.iter().any(|&byte| byte != 7), early, "{backend}");
    }
}

#[test]
fn simulated_engines_write_early() {
    child("gpu::nvjpeg::child_writes_at_once", &[]);
}
