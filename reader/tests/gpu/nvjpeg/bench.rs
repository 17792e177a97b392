//! Test fixtures: the simulated libraries, a device with a stream, the same pictures decoded by the CPU.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, result};
use tarflume::Libraries;
use tarflume::internal::nvjpeg::{
    Backend, Compressed, FoundLibrary, Library, Nvjpeg, PixelTarget, Scale, Verdict, checked,
};
use tarflume_jpeg::{Color, Decoder, Header, Job, Size};

pub(crate) use crate::gpu::simulated::{alone as child, libraries as simulated};

pub(crate) fn library() -> Library {
    match Library::find(&Libraries::default()).unwrap() {
        FoundLibrary::Here(library) => library,
        FoundLibrary::Nowhere(where_) => panic!("{where_}"),
    }
}

/// A device with a stream of ours.
pub(crate) struct Bench {
    _context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) nvjpeg: Nvjpeg,
}

/// A request: the JPEG, the scale, and the number of channels.
pub(crate) type Order<'a> = (&'a [u8], Scale, u8);

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::by(None)
    }

    pub(crate) fn by(wanted: Option<Backend>) -> Bench {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        context.bind_to_thread().unwrap();
        let nvjpeg = Nvjpeg::new(&library(), wanted).unwrap();
        Bench { _context: context, stream, nvjpeg }
    }

    /// Whether the decoder admits a picture, or the reason.
    pub(crate) fn admits(&self, &(bytes, scale, channels): &Order<'_>) -> Result<(), String> {
        let header = checked(bytes)?;
        self.nvjpeg.admit(bytes, &header, channels, scale).unwrap()
    }

    /// Decodes a batch into one block of memory, where the pictures lie end to end; gives the pixels of
    /// each, and what became of it. What is not admitted does not come before the decoder.
    pub(crate) fn decode(&self, orders: &[Order<'_>]) -> Vec<(Vec<u8>, Verdict)> {
        let sizes: Vec<_> = orders.iter().map(size).collect();
        let lengths: Vec<usize> =
            sizes.iter().zip(orders).map(|(s, o)| (s.0 * s.1) as usize * o.2 as usize).collect();
        let all: usize = lengths.iter().sum();
        // SAFETY: a number.
        let memory = unsafe { result::malloc_sync(all) }.unwrap();
        let refusals: Vec<_> = orders.iter().map(|order| self.admits(order).err()).collect();
        let mut to = memory;
        let mut pictures = Vec::new();
        for (((&(bytes, scale, channels), &(width, height)), &length), refusal) in
            orders.iter().zip(&sizes).zip(&lengths).zip(&refusals)
        {
            if refusal.is_none() {
                let target = PixelTarget { to, width, height, scale, channels };
                pictures.push(Compressed { bytes, target });
            }
            to += length as u64;
        }
        // SAFETY: the stream is ours; the memory was made just now; the bytes stay to the end.
        let verdicts =
            unsafe { self.nvjpeg.decode(self.stream.cu_stream() as u64, &pictures) }.unwrap();
        self.stream.synchronize().unwrap();
        let mut verdicts = verdicts.into_iter();
        let verdicts = refusals.into_iter().map(|refusal| match refusal {
            Some(why) => Verdict::Refused(why.into()),
            None => verdicts.next().unwrap(),
        });
        let mut copy = vec![0; all];
        // SAFETY: as long as the memory.
        unsafe { result::memcpy_dtoh_sync(&mut copy, memory) }.unwrap();
        // SAFETY: nothing uses it any more.
        unsafe { result::free_sync(memory) }.unwrap();
        let mut rest = &copy[..];
        let mut cut = |length: usize| {
            let (pixels, more) = rest.split_at(length);
            rest = more;
            pixels.to_vec()
        };
        lengths.iter().map(|&length| cut(length)).zip(verdicts).collect()
    }
}

/// The size of a picture at its scale; of one that has none, of a pixel.
pub(crate) fn size(&(bytes, scale, _): &Order<'_>) -> (u32, u32) {
    Header::parse(bytes).map_or((1, 1), |header| {
        let Size { width, height } = scale.of(header.width(), header.height());
        (width, height)
    })
}

/// The same by our own decoder.
pub(crate) fn on_cpu(order: &Order<'_>) -> Vec<u8> {
    let &(bytes, scale, channels) = order;
    let header = Header::parse(bytes).unwrap();
    let (width, height) = size(order);
    let mut output = vec![0; (width * height) as usize * channels as usize];
    let color = if channels == 1 { Color::Gray } else { Color::Rgb };
    let job = Job::new(bytes, &header, &mut output);
    Decoder::new()
        .decode(Job { scale, color, stride: width as usize * channels as usize, ..job })
        .unwrap();
    output
}

/// Both decoders round in another way, once for samples and once for colors: 4 at most, hardly ever 1.
pub(crate) fn assert_alike(order: &Order<'_>, found: &[u8]) {
    let right = on_cpu(order);
    assert_eq!(right.len(), found.len());
    let differences = right.iter().zip(found).map(|(a, b)| u64::from(a.abs_diff(*b)));
    let (most, sum) = differences.fold((0, 0), |(most, sum), d| (d.max(most), sum + d));
    let (_, scale, channels) = order;
    let mean = sum as f64 / right.len() as f64;
    let (w, h) = size(order);
    assert!(most <= 4 && mean < 0.2, "{w}x{h} {scale:?} x{channels}: {most}, mean {mean:.3}");
}
