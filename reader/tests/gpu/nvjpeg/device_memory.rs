//! JPEGs decoded out of device memory.

use cudarc::driver::result;
use tarflume::ErrorKind;
use tarflume::internal::nvjpeg::{Backend, Nvjpeg, PixelTarget, Scale, Stored, Verdict};
use tarflume_fixtures::PhotoKind;
use tarflume_jpeg::Header;

use crate::gpu::nvjpeg::bench::{Bench, Order, assert_alike, child, library, size};
use crate::gpu::nvjpeg::{damaged, photo};

impl Bench {
    /// Decodes JPEGs that were brought to the device before.
    fn decode_stored(&self, orders: &[Order<'_>]) -> Vec<(Vec<u8>, Verdict)> {
        let mut stored = Vec::new();
        let mut kept = Vec::new();
        for order in orders {
            let &(bytes, scale, channels) = order;
            let (width, height) = size(order);
            let room = width as usize * height as usize * usize::from(channels);
            // SAFETY: numbers.
            let [at, to] = [bytes.len(), room].map(|n| unsafe { result::malloc_sync(n) }.unwrap());
            // SAFETY: as long as the memory.
            unsafe { result::memcpy_htod_async(at, bytes, self.stream.cu_stream()) }.unwrap();
            self.stream.synchronize().unwrap();
            let length = bytes.len() as u64;
            let target = PixelTarget { to, width, height, scale, channels };
            stored.push(Stored { at, length, target });
            kept.push((at, to, room));
        }
        let stream = self.stream.cu_stream() as u64;
        // SAFETY: the stream is owned here; the memory was allocated above, the bytes are complete and unchanged.
        let verdicts = unsafe { self.nvjpeg.decode_stored(stream, &stored) }.unwrap();
        self.stream.synchronize().unwrap();
        let read = |(at, to, room)| {
            let mut copy = vec![0; room];
            // SAFETY: as long as the memory.
            unsafe { result::memcpy_dtoh_sync(&mut copy, to) }.unwrap();
            for memory in [at, to] {
                // SAFETY: nothing uses it any more.
                unsafe { result::free_sync(memory) }.unwrap();
            }
            copy
        };
        kept.into_iter().map(read).zip(verdicts).collect()
    }
}

/// By whichever backend there is.
fn bench() -> Bench {
    let engines = std::env::var("FAKENVJPEG_ENGINES").is_err();
    Bench::by(Some(if engines { Backend::HardwareDevice } else { Backend::GpuHybridDevice }))
}

#[test]
#[ignore = "a child of the test below"]
fn child_alike() {
    let wanted = match std::env::var("FAKENVJPEG_ENGINES") {
        Ok(_) => Backend::GpuHybridDevice,
        Err(_) => Backend::HardwareDevice,
    };
    let bench = Bench::by(Some(wanted));
    assert_eq!(Nvjpeg::of_stored(&library()).unwrap().backend(), wanted);
    let scales = if bench.nvjpeg.has_scales() { &Scale::ALL[..] } else { &[Scale::Full] };
    let jpegs = crate::gpu::nvjpeg::pictures();
    let mut orders: Vec<Order<'_>> = Vec::new();
    for (n, jpeg) in jpegs.iter().enumerate() {
        let gray = Header::parse(jpeg).unwrap().channels() == 1;
        let channels = if gray || n % 5 == 0 { 1 } else { 3 };
        if bench.admits(&(jpeg, Scale::Full, channels)).is_ok() {
            orders.extend(scales.iter().map(|&scale| (&jpeg[..], scale, channels)));
        }
    }
    assert!(orders.len() > 12 * scales.len(), "{}", orders.len());
    for _ in 0..2 {
        for (order, (pixels, verdict)) in orders.iter().zip(bench.decode_stored(&orders)) {
            assert_eq!(verdict, Verdict::Decoded);
            assert_alike(order, &pixels);
        }
    }
}

#[test]
fn jpegs_of_the_devices_memory_are_those_of_our_decoder() {
    child("gpu::nvjpeg::device_memory::child_alike", &[]);
    child("gpu::nvjpeg::device_memory::child_alike", &[("FAKECUDA_DELAY_US", "20")]);
    child("gpu::nvjpeg::device_memory::child_alike", &[("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_refuses() {
    let bench = bench();
    let good = photo(PhotoKind::Yuv420, 64, 48);
    let engines = bench.nvjpeg.has_scales();
    let admit = |jpeg: &[u8]| bench.admits(&(jpeg, Scale::Full, 3));
    assert_eq!(admit(&good), Ok(()));
    assert!(admit(&photo(PhotoKind::Progressive, 64, 48)).unwrap_err().contains("progressive"));
    assert!(admit(&good[..good.len() - 30]).unwrap_err().contains("damaged at byte"));
    let odd = admit(&photo(PhotoKind::Yuv444, 77, 33));
    assert_eq!(odd.is_err(), engines, "{odd:?}");
    // A restart interval of 8 MCUs before the frame header: what follows needs no more than the header.
    let mut restarts = good.clone();
    let at = good.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    restarts.splice(at..at, [0xff, 0xdd, 0, 4, 0, 8]);
    let refused = admit(&restarts).is_err_and(|why| why.contains("restart intervals"));
    assert_eq!(refused, !engines);
    // One that is damaged among its codes fails alone.
    let damaged = damaged();
    let orders: Vec<Order<'_>> =
        [&good, &damaged, &good].map(|jpeg| (&jpeg[..], Scale::Full, 3)).into();
    let found = bench.decode_stored(&orders);
    assert_eq!((&found[0].1, &found[2].1), (&Verdict::Decoded, &Verdict::Decoded));
    assert!(matches!(&found[1].1, Verdict::Refused(_)));
    assert_alike(&orders[0], &found[0].0);
    assert_alike(&orders[2], &found[2].0);
    // No decoder is handed what is in the other memory.
    for (decoder, stored) in [(&bench.nvjpeg, false), (&Bench::new().nvjpeg, true)] {
        let stream = bench.stream.cu_stream() as u64;
        let found = if stored {
            // SAFETY: no pictures.
            unsafe { decoder.decode_stored(stream, &[]) }
        } else {
            // SAFETY: no pictures.
            unsafe { decoder.decode(stream, &[]) }
        };
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(error.text().contains("does not read this memory"), "{error}");
    }
}

#[test]
fn pictures_that_no_device_decodes_are_refused_before_the_upload() {
    let refuse = ("FAKENVJPEG_REFUSE", "77x33");
    child("gpu::nvjpeg::device_memory::child_refuses", &[refuse]);
    child("gpu::nvjpeg::device_memory::child_refuses", &[refuse, ("FAKENVJPEG_ENGINES", "0")]);
}
