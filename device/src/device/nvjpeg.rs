//! `Nvjpeg`: decodes JPEGs on the GPU with libnvjpeg, which is loaded on first use.
//!
//! Floors: `status` (codes and names) < `symbols` (functions) < `library`, `offer` (verified abilities); `context` < `pool`
//! (the library's memory) < `handle` (owned objects) < `params` (decode parameters) < `decoder_states` (the states that a
//! batch uses) < this file, which decides the verdict of each picture of a batch. No picture affects another's verdict.
//!
//! Contains unsafe code: it passes on the caller's contracts. Its own part is that an output has the size that is
//! written there.
#![allow(unsafe_code)]

mod context;
mod decoder_states;
mod handle;
mod library;
mod offer;
mod params;
mod pool;
mod status;
mod symbols;
pub(crate) mod trial;

use std::fmt;
use std::sync::{Arc, Mutex};

use tarflume_formats::message::Message;
use tarflume_formats::{IgnorePoison, message};
pub use tarflume_jpeg::Scale;
use tarflume_jpeg::{Header, Size};
use tarflume_types::{Error, ErrorKind, Result};

pub use self::library::{FoundLibrary, Library};
pub use self::offer::Offer;
pub use self::status::Backend;
use crate::device::room::meter::MemoryMeter;
pub use crate::jpeg_decoder::{Compressed, PixelTarget, Stored, Verdict};
pub use crate::jpeg_support::{Sampling, checked, supported};

use self::context::Context;
use self::decoder_states::{DecoderParts, DecoderStates, Piece};
use self::handle::{DecodeParams, Handle, Parser};
use self::params::ParamsTable;
use self::pool::Pool;
use self::status::{OutputFormat, Status};

/// Backends in order of preference.
const HOST: [Backend; 3] = [Backend::Hardware, Backend::GpuHybrid, Backend::Default];
const STORED: [Backend; 2] = [Backend::HardwareDevice, Backend::GpuHybridDevice];

/// Number of consecutive refusals in one call after which the rest is refused, too: such failures do not depend on the
/// picture.
const PATIENCE: usize = 4;

/// A decoder of JPEGs on a device.
pub struct Nvjpeg {
    about: Message,
    backend: Backend,
    engines: (u32, u32),
    context: Context,
    offer: Offer,
    params: ParamsTable,
    /// Parsers that no thread uses.
    parsers: Mutex<Vec<Parser>>,
    handle: Arc<Handle>,
    states: Mutex<DecoderStates>,
}

impl Nvjpeg {
    /// A decoder in the calling thread's current context, which must outlive the decoder. Uses the hardware JPEG engines if
    /// the chip has any and the driver exposes them, otherwise the GPU's cores; or only the backend `wanted`.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: no driver is installed, the thread has no context, or the library fails.
    pub fn new(library: &Library, wanted: Option<Backend>) -> Result<Nvjpeg> {
        match wanted {
            Some(backend) => Nvjpeg::one_of(library, &[backend]),
            None => Nvjpeg::one_of(library, &HOST),
        }
    }

    /// As [`Nvjpeg::new`], for JPEGs in device memory only.
    ///
    /// # Errors
    /// As [`Nvjpeg::new`].
    pub fn of_stored(library: &Library) -> Result<Nvjpeg> {
        Nvjpeg::one_of(library, &STORED)
    }

    /// As [`Nvjpeg::new`] or, for JPEGs in device memory, [`Nvjpeg::of_stored`]: the best backend that passes `trial`,
    /// limited to what the trial verified. `meter` counts the library's memory.
    ///
    /// # Errors
    /// As [`Nvjpeg::new`]. Returns the trial's error.
    pub fn tried(
        library: &Library,
        stored: bool,
        meter: &Arc<MemoryMeter>,
        mut trial: impl FnMut(&Nvjpeg) -> Result<Offer>,
    ) -> Result<Nvjpeg> {
        let backends = if stored { &STORED[..] } else { &HOST[..] };
        Nvjpeg::first(library, backends, meter, |nvjpeg| {
            let offer = trial(nvjpeg).map_err(|error| error.message().clone())?;
            if !offer.is_of_use() {
                return Err("it decodes pictures wrongly that the CPU decodes".into());
            }
            if let Some(lacks) = offer.lacks(nvjpeg.offer.least()) {
                nvjpeg.about += format!("; {lacks}: it gave wrong results there");
            }
            nvjpeg.offer = offer;
            Ok(())
        })
    }

    fn one_of(library: &Library, backends: &[Backend]) -> Result<Nvjpeg> {
        Nvjpeg::first(library, backends, &Arc::default(), |_| Ok(()))
    }

    /// The first backend that can be created and that `is_right` accepts.
    fn first(
        library: &Library,
        backends: &[Backend],
        meter: &Arc<MemoryMeter>,
        mut is_right: impl FnMut(&mut Nvjpeg) -> Result<(), Message>,
    ) -> Result<Nvjpeg> {
        let context = Context::current()?;
        let mut refusals: Vec<Message> = Vec::new();
        for &backend in backends {
            for &flags in backend.flags(library.version()) {
                let pool = Arc::new(Pool::new(context, meter.clone()));
                let mut made = match Nvjpeg::by(library, backend, flags, pool) {
                    Ok(made) => made,
                    Err(why) => {
                        refusals.push(message!("{backend}: {why}"; why = why));
                        continue;
                    }
                };
                if !backend.has_engines()
                    && let Some(why) = refusals.first()
                {
                    made.about += message!("; not {why}"; why = why);
                }
                match is_right(&mut made) {
                    Ok(()) => return Ok(made),
                    Err(why) => refusals.push(message!("{backend}: {why}"; why = why)),
                }
            }
        }
        Err(library.unusable(refusals))
    }

    fn by(
        library: &Library,
        backend: Backend,
        flags: u32,
        pool: Arc<Pool>,
    ) -> Result<Nvjpeg, Message> {
        const VIDEO: &str = "no JPEG engine can be used: the chip has none, or, in a container, the driver's \
                             video capability is not enabled";
        let hardware = backend.has_engines();
        // ARCH_MISMATCH and IMPLEMENTATION_NOT_SUPPORTED mean that no engine exists.
        let describe = |status: Status| {
            if hardware && matches!(status.0, 7 | 9) {
                Message::words(format!("{VIDEO} ({status})"))
            } else {
                pool.told(status)
            }
        };
        let functions = library.functions;
        let context = pool.context();
        let handle = Handle::new(functions, backend, flags, pool.clone()).map_err(describe)?;
        let engines = handle.engines().unwrap_or((0, 0));
        if hardware && engines.0 == 0 {
            return Err(VIDEO.into());
        }
        let mut about = format!("{library}, {backend}");
        if hardware {
            let interpolating = if flags == 0 { "" } else { ", interpolating" };
            about += &format!(": {} JPEG engines of {} cores{interpolating}", engines.0, engines.1);
        }
        let handle = Arc::new(handle);
        let smallest = if hardware { Scale::Eighth } else { Scale::Full };
        let params = ParamsTable::new(&handle, smallest).map_err(describe)?;
        if let Some((scale, why)) = params.refused() {
            about += &format!("; 1/{} is refused ({why})", 1 << scale as u32);
        }
        let parsers = Mutex::new(vec![Parser::new(&handle).map_err(describe)?]);
        let states = Mutex::new(DecoderStates::new(&handle, hardware).map_err(describe)?);
        let offer = Offer::all(params.least());
        let about = about.into();
        Ok(Nvjpeg { about, backend, engines, context, offer, params, parsers, handle, states })
    }

    /// The backend.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// JPEG engines that the library sees, and cores in each.
    pub fn engines(&self) -> (u32, u32) {
        self.engines
    }

    /// Whether it decodes at reduced scales; otherwise only [`Scale::Full`].
    pub fn has_scales(&self) -> bool {
        self.offer.least() != Scale::Full
    }

    /// The verified abilities.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Library, version and backend in one line, and why no better backend is used.
    pub fn about(&self) -> &Message {
        &self.about
    }

    /// Decodes admitted pictures (see [`Nvjpeg::admit`]) with one library call for each number of channels. Returns a verdict
    /// for each, in order. Refused pictures are retried one by one; after some consecutive refusals all remaining ones are
    /// refused. The pixels are ready when the stream reaches this point. The device may find damage later and does not report
    /// it. Waits for the batch before the previous one, and for the stream if a library call fails.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the current context is not that of [`Nvjpeg::new`], or the device has failed.
    ///
    /// # Safety
    /// - `stream` belongs to this device and is alive.
    /// - No work on the device uses the memory at `to` *when this is called*: the host has synchronized with it. Hardware
    ///   engines write immediately; making the stream wait for an event is not sufficient (others measured this on an H100).
    /// - The bytes stay unchanged until the stream has passed this call.
    pub unsafe fn decode(&self, stream: u64, pictures: &[Compressed<'_>]) -> Result<Vec<Verdict>> {
        // SAFETY: by this function's contract.
        unsafe { self.decode_until(stream, pictures, PATIENCE) }
    }

    /// As [`Nvjpeg::decode`], but every refused picture was tried alone.
    ///
    /// # Errors
    /// As [`Nvjpeg::decode`].
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`].
    pub(super) unsafe fn decode_each(
        &self,
        stream: u64,
        pictures: &[Compressed<'_>],
    ) -> Result<Vec<Verdict>> {
        // SAFETY: by this function's contract.
        unsafe { self.decode_until(stream, pictures, usize::MAX) }
    }

    /// Refuses the remaining pictures after `patience` consecutive refusals.
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`].
    unsafe fn decode_until(
        &self,
        stream: u64,
        pictures: &[Compressed<'_>],
        patience: usize,
    ) -> Result<Vec<Verdict>> {
        self.expect(false)?;
        let pieces = pictures.iter().map(|picture| {
            let Compressed { bytes, target } = *picture;
            let PixelTarget { to, width, scale, channels, .. } = target;
            let format = self.fits(picture)?;
            let at = (bytes.as_ptr() as usize, bytes.len());
            Ok(Piece { format, at, to, width, scale, channels })
        });
        let pieces: Vec<_> = pieces.collect();
        // SAFETY: by this function's contract; `fits` checked the sizes.
        unsafe { self.run(stream, pieces, patience) }
    }

    /// Checks that the output memory has the size of the picture. Returns the output format.
    fn fits(&self, picture: &Compressed<'_>) -> Result<OutputFormat, String> {
        let Compressed { bytes, target } = *picture;
        let PixelTarget { to, width, height, scale, channels } = target;
        let header = Header::parse(bytes).map_err(|error| error.text().to_string())?;
        let format = OutputFormat::of(channels).ok_or("pixels must have 1 or 3 channels")?;
        let Size { width: w, height: h } = scale.of(header.width(), header.height());
        if to == 0 || (width, height) != (w, h) {
            return Err(format!(
                "the output has room for {width}x{height} pixels, but the picture has {w}x{h}"
            ));
        }
        self.params(format, scale).map(|_| format)
    }

    /// Checks whether a JPEG in host memory can be decoded at this scale into this many channels. Backends for device memory
    /// decode it after it is copied there. `header` is the result of [`checked`]. Any thread may call it at any time.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the current context is not that of [`Nvjpeg::new`]. The inner error states why the JPEG
    /// cannot be decoded.
    pub fn admit(
        &self,
        bytes: &[u8],
        header: &Header,
        channels: u8,
        scale: Scale,
    ) -> Result<std::result::Result<(), String>> {
        self.here()?;
        Ok(self.admits(bytes, header, channels, scale))
    }

    fn admits(
        &self,
        bytes: &[u8],
        header: &Header,
        channels: u8,
        scale: Scale,
    ) -> Result<(), String> {
        let format = OutputFormat::of(channels).ok_or("pixels must have 1 or 3 channels")?;
        let params = self.params(format, scale)?;
        self.offer.check(supported(header)?, format, header.width(), header.height())?;
        if self.backend == Backend::GpuHybridDevice && header.has_restarts() {
            return Err("this backend does not support restart intervals".into());
        }
        if !self.backend.has_engines() {
            return Ok(());
        }
        // `checked` validated the whole JPEG; the library knows the engines' own limits.
        let kept = self.parsers.lock().ignore_poison().pop();
        let parser = kept.map_or_else(|| Parser::new(&self.handle), Ok);
        let mut parser = parser.map_err(|status| status.to_string())?;
        let taken = parser.takes(bytes, params);
        self.parsers.lock().ignore_poison().push(parser);
        match taken {
            Ok(true) => Ok(()),
            Ok(false) => Err("the JPEG engines do not support it".into()),
            Err(status) => Err(status.to_string()),
        }
    }

    /// The decode parameters for this format and scale.
    ///
    /// # Errors
    /// Returns the reason if this decoder does not support the scale.
    fn params(&self, format: OutputFormat, scale: Scale) -> Result<&DecodeParams, String> {
        let params =
            self.params.of(format, scale).filter(|_| scale as u32 <= self.offer.least() as u32);
        params.ok_or_else(|| match self.offer.least() {
            Scale::Full => "this device decodes pictures at full scale only".into(),
            least => format!("this device decodes at scales down to 1/{} only", 1 << least as u32),
        })
    }

    /// As [`Nvjpeg::decode`], for JPEGs in device memory. Every refused picture was tried alone.
    ///
    /// # Errors
    /// As [`Nvjpeg::decode`]. Returns an error if this decoder reads host memory.
    ///
    /// # Safety
    /// - As for [`Nvjpeg::decode`].
    /// - `length` bytes at `at` were admitted (see [`Nvjpeg::admit`]) with this number of channels. They are complete
    ///   *when this is called*, because the host has synchronized with the copy, and stay unchanged.
    /// - Width and height are that picture's at its scale.
    pub unsafe fn decode_stored(&self, stream: u64, pictures: &[Stored]) -> Result<Vec<Verdict>> {
        self.expect(true)?;
        let pieces = pictures.iter().map(|picture| {
            let Stored { at, length, target } = *picture;
            let PixelTarget { to, width, scale, channels, .. } = target;
            let format = OutputFormat::of(channels).ok_or("pixels must have 1 or 3 channels")?;
            self.params(format, scale)?;
            let at = (at as usize, length as usize);
            Ok(Piece { format, at, to, width, scale, channels })
        });
        let pieces: Vec<_> = pieces.collect();
        // SAFETY: by this function's contract. No other decoder takes refused pictures, so none is refused untried.
        unsafe { self.run(stream, pieces, usize::MAX) }
    }

    /// # Errors
    /// Returns an error if the current context is not the decoder's.
    fn here(&self) -> Result<()> {
        if Context::current()? == self.context {
            return Ok(());
        }
        let text = "nvJPEG was called in a different context from the one in which it was created";
        Err(Error::new(ErrorKind::Device, text))
    }

    /// # Errors
    /// Returns an error if the current context is not the decoder's, or if this decoder reads the other memory.
    fn expect(&self, stored: bool) -> Result<()> {
        self.here()?;
        if self.backend.reads_device() == stored {
            return Ok(());
        }
        let text = format!("nvJPEG's backend {} does not read this memory", self.backend);
        Err(Error::new(ErrorKind::Device, text))
    }

    /// Decodes the pieces that are not refused yet. A failed call is bisected, because the library does not report
    /// which picture failed. After `patience` consecutive failures of single pictures, the rest is refused.
    ///
    /// # Safety
    /// As for [`Nvjpeg::decode`] or [`Nvjpeg::decode_stored`].
    unsafe fn run(
        &self,
        stream: u64,
        pieces: Vec<std::result::Result<Piece, String>>,
        patience: usize,
    ) -> Result<Vec<Verdict>> {
        let mut states = self.states.lock().ignore_poison();
        let mut verdicts = vec![Verdict::Decoded; pieces.len()];
        let mut groups = OutputFormat::ALL.map(|_| Vec::new());
        for (n, piece) in pieces.into_iter().enumerate() {
            match piece {
                Ok(piece) => groups[piece.format as usize].push((n, piece)),
                Err(why) => verdicts[n] = Verdict::Refused(why.into()),
            }
        }
        let engines = self.backend.has_engines();
        let with = DecoderParts { handle: &self.handle, engines, params: &self.params };
        for (format, pieces) in OutputFormat::ALL.into_iter().zip(&groups) {
            let mut todo = vec![&pieces[..]];
            let mut failed = 0;
            while let Some(part) = todo.pop().filter(|part| !part.is_empty()) {
                // SAFETY: by this function's contract.
                let Err(why) = (unsafe { states.decode(with, part, format, stream) }) else {
                    failed = 0;
                    continue;
                };
                // SAFETY: by this function's contract. Surfaces an error of the device itself, and ensures that
                // the failed call has finished before other work writes there.
                unsafe { self.context.finish(stream) }?;
                states.drop_failed();
                if let [(culprit, _)] = part {
                    failed += 1;
                    verdicts[*culprit] = Verdict::Refused(why.clone());
                } else {
                    let (first, second) = part.split_at(part.len() / 2);
                    todo.extend([second, first]);
                }
                if failed >= patience {
                    let left = todo.drain(..).flatten();
                    left.for_each(|(n, _)| verdicts[*n] = Verdict::Refused(why.clone()));
                }
            }
        }
        Ok(verdicts)
    }
}

impl fmt::Debug for Nvjpeg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nvjpeg({})", self.about.text())
    }
}
