//! `Nvjpeg`: JPEGs decoded by the GPU, by a libnvjpeg that is found when it is asked for.
//!
//! Floors: `status` (its words and numbers) < `symbols` (its functions) < `library`, `offer` (what it does right);
//! `context` < `handle` (its things) < `wishes` (what may be asked of it) < `hands` (what one batch at a time uses) <
//! this file, which decides what becomes of each picture of a batch: no picture has an effect on another.
//!
//! A room with unsafe code: it hands on promises of the caller's, and gives none of its own but that
//! an image is as large as what is written there.
#![allow(unsafe_code)]

mod context;
mod handle;
mod hands;
mod library;
mod offer;
mod status;
mod symbols;
pub(crate) mod trial;
mod wishes;

use std::fmt;
use std::sync::{Arc, Mutex};

use tarflume_formats::poison::IgnorePoison;
use tarflume_jpeg::Header;
pub use tarflume_jpeg::Scale;

pub use self::library::{Found, Library};
pub use self::offer::Offer;
pub use self::status::Backend;
pub use crate::decode::hybrid::jpeg_decoder::{Compressed, PixelTarget, Stored, Verdict};
pub use crate::decode::hybrid::support::{Fit, checked, takes};

use self::context::Context;
use self::handle::{Handle, Parser, Wish};
use self::hands::{Hands, Piece, With};
use self::status::{Format, Status};
use self::wishes::Wishes;
use crate::error::{Error, ErrorKind, Result};

/// Colors between samples are interpolated, as our own decoder does it. Known from 12.1 on.
const INTERPOLATE: u32 = 1 << 5;

/// The best first.
const HOST: [Backend; 3] = [Backend::Hardware, Backend::GpuHybrid, Backend::Default];
const STORED: [Backend; 2] = [Backend::HardwareDevice, Backend::GpuHybridDevice];

/// Pictures of one call that are refused one after the other before the rest of them is, too: what fails so often fails
/// whatever the picture.
const PATIENCE: usize = 4;

/// A decoder of JPEGs on a device.
pub struct Nvjpeg {
    about: String,
    backend: Backend,
    engines: (u32, u32),
    context: Context,
    offer: Offer,
    wishes: Wishes,
    /// Those that no thread parses with.
    parsers: Mutex<Vec<Parser>>,
    handle: Arc<Handle>,
    hands: Mutex<Hands>,
}

impl Nvjpeg {
    /// A decoder in the calling thread's current context, which must stay as long as the decoder. By the
    /// JPEG engines if the chip has any and the driver lets them be used, else by the cores of the GPU;
    /// or by no other backend than `wanted`.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: there is no driver; the thread has no context; the library refused.
    pub fn new(library: &Library, wanted: Option<Backend>) -> Result<Nvjpeg> {
        match wanted {
            Some(backend) => Nvjpeg::one_of(library, &[backend]),
            None => Nvjpeg::one_of(library, &HOST),
        }
    }

    /// As [`Nvjpeg::new`], one that decodes JPEGs in the device's memory, and no others.
    ///
    /// # Errors
    /// As [`Nvjpeg::new`].
    pub fn of_stored(library: &Library) -> Result<Nvjpeg> {
        Nvjpeg::one_of(library, &STORED)
    }

    /// As [`Nvjpeg::new`] or, for JPEGs in the device's memory, [`Nvjpeg::of_stored`]: the best one that `trial` finds
    /// to be of use, asked for nothing but what it was seen to do right.
    ///
    /// # Errors
    /// As [`Nvjpeg::new`]; the trial's.
    pub fn tried(
        library: &Library,
        stored: bool,
        mut trial: impl FnMut(&Nvjpeg) -> Result<Offer>,
    ) -> Result<Nvjpeg> {
        let backends = if stored { &STORED[..] } else { &HOST[..] };
        Nvjpeg::first(library, backends, |nvjpeg| {
            let offer = trial(nvjpeg).map_err(|error| error.to_string())?;
            if !offer.is_of_use() {
                return Err("it decodes pictures wrongly that the CPU decodes".into());
            }
            if let Some(lacks) = offer.lacks(nvjpeg.offer.least()) {
                nvjpeg.about += &format!("; {lacks}: it was seen to be wrong there");
            }
            nvjpeg.offer = offer;
            Ok(())
        })
    }

    fn one_of(library: &Library, backends: &[Backend]) -> Result<Nvjpeg> {
        Nvjpeg::first(library, backends, |_| Ok(()))
    }

    /// The first one that can be had and that is right.
    fn first(
        library: &Library,
        backends: &[Backend],
        mut is_right: impl FnMut(&mut Nvjpeg) -> Result<(), String>,
    ) -> Result<Nvjpeg> {
        let context = Context::current()?;
        let mut refusals: Vec<String> = Vec::new();
        for &backend in backends {
            let made = Nvjpeg::by(library, backend, context).and_then(|mut made| {
                if !backend.has_engines()
                    && let Some(why) = refusals.first()
                {
                    made.about += &format!("; not {why}");
                }
                is_right(&mut made).map(|()| made)
            });
            match made {
                Ok(made) => return Ok(made),
                Err(why) => refusals.push(format!("{backend}: {why}")),
            }
        }
        let text = format!("{library} can't be used: {}", refusals.join("; "));
        Err(Error::new(ErrorKind::Device, text))
    }

    fn by(library: &Library, backend: Backend, context: Context) -> Result<Nvjpeg, String> {
        const VIDEO: &str = "no JPEG engine can be used: the chip has none, or, in a container, the driver's \
                             video capability was not asked for";
        let hardware = backend.has_engines();
        // ARCH_MISMATCH and IMPLEMENTATION_NOT_SUPPORTED: there is nothing that could fail.
        let said = |status: Status| match (hardware, status.0) {
            (true, 7 | 9) => format!("{VIDEO} ({status})"),
            _ => status.to_string(),
        };
        let flags = if library.version() >= [12, 1, 0] { INTERPOLATE } else { 0 };
        let functions = library.functions;
        let handle = Handle::new(functions, backend, flags, context)
            .or_else(|_| Handle::new(functions, backend, 0, context))
            .map_err(said)?;
        let engines = handle.engines().unwrap_or((0, 0));
        if hardware && engines.0 == 0 {
            return Err(VIDEO.into());
        }
        let mut about = format!("{library}, {backend}");
        if hardware {
            about += &format!(": {} JPEG engines of {} cores", engines.0, engines.1);
        }
        let handle = Arc::new(handle);
        let smallest = if hardware { Scale::Eighth } else { Scale::Full };
        let wishes = Wishes::new(&handle, smallest).map_err(said)?;
        if let Some((scale, why)) = wishes.refused() {
            about += &format!("; 1/{} is refused ({why})", 1 << scale as u32);
        }
        let parsers = Mutex::new(vec![Parser::new(&handle).map_err(said)?]);
        let hands = Mutex::new(Hands::new(&handle, hardware).map_err(said)?);
        let offer = Offer::all(wishes.least());
        Ok(Nvjpeg { about, backend, engines, context, offer, wishes, parsers, handle, hands })
    }

    /// Which of the library's decoders it is.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// JPEG engines of the chip that the library sees, and cores of each.
    pub fn engines(&self) -> (u32, u32) {
        self.engines
    }

    /// Whether it makes pictures smaller while it decodes them; else it takes [`Scale::Full`] alone.
    pub fn has_scales(&self) -> bool {
        self.offer.least() != Scale::Full
    }

    /// What it is asked for.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Library, version and backend in one line; and why it is no better one.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Decodes pictures that were admitted, see [`Nvjpeg::admit`], in one call of the library for each number of
    /// channels, and says what became of each, in their order: what is refused is refused one by one, but after some
    /// in a row with all that are left. Pixels are there when the stream has come so far; a picture may be found
    /// damaged later by the device, which then says nothing. Waits for the last batch but one, and for the stream where
    /// a call of the library failed.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the thread's context is another than that of [`Nvjpeg::new`]; the device
    /// does nothing any more.
    ///
    /// # Safety
    /// - `stream` is one of this device and alive.
    /// - Nothing on the device uses the memory at `to` any more, *when this is called*: by a wait of the
    ///   host's. Engines write at once; that the stream waits for an event does not help (measured
    ///   by others on an H100).
    /// - The bytes stay as they are until the stream has come behind this call.
    pub unsafe fn decode(&self, stream: u64, pictures: &[Compressed<'_>]) -> Result<Vec<Verdict>> {
        // SAFETY: by this function's promise.
        unsafe { self.decode_until(stream, pictures, PATIENCE) }
    }

    /// As [`Nvjpeg::decode`]; but each that is refused was tried alone.
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
        // SAFETY: by this function's promise.
        unsafe { self.decode_until(stream, pictures, usize::MAX) }
    }

    /// Pictures are given up untried after so many refusals in a row.
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
        // SAFETY: by this function's promise; sizes are those of the pictures, see `fits`.
        unsafe { self.run(stream, pieces, patience) }
    }

    /// Whether a picture has the size that there is memory for, and in which format it is decoded.
    fn fits(&self, picture: &Compressed<'_>) -> Result<Format, String> {
        let Compressed { bytes, target } = *picture;
        let PixelTarget { to, width, height, scale, channels } = target;
        let header = Header::parse(bytes).map_err(|error| error.text().to_string())?;
        let format = Format::of(channels).ok_or("pixels have 1 or 3 channels")?;
        let (w, h) = scale.of(header.width(), header.height());
        if to == 0 || (width, height) != (w, h) {
            return Err(format!("there is memory for {width}x{height} pixels, and it has {w}x{h}"));
        }
        self.wish(format, scale).map(|_| format)
    }

    /// Whether a JPEG, here in the host's memory, may be decoded at this scale into so many channels; for some
    /// backends, out of the device's memory when it is there. `header` is what [`checked`] said of it. Any thread may
    /// ask while others do, and while another decodes.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: the thread's context is another than that of [`Nvjpeg::new`]. Within: it may not, and why.
    pub fn admit(
        &self,
        (bytes, header): (&[u8], &Header),
        channels: u8,
        scale: Scale,
    ) -> Result<std::result::Result<(), String>> {
        self.here()?;
        Ok(self.admits((bytes, header), channels, scale))
    }

    fn admits(
        &self,
        (bytes, header): (&[u8], &Header),
        channels: u8,
        scale: Scale,
    ) -> Result<(), String> {
        let format = Format::of(channels).ok_or("pixels have 1 or 3 channels")?;
        let wish = self.wish(format, scale)?;
        self.offer.check((takes(header)?, format), (header.width(), header.height()))?;
        if self.backend == Backend::GpuHybridDevice && header.has_restarts() {
            return Err("this backend takes none with restart intervals".into());
        }
        if !self.backend.has_engines() {
            return Ok(());
        }
        // What follows the header was found whole; the engines' own limits are the library's matter.
        let held = || self.parsers.lock().ignore_poison();
        let kept = held().pop();
        let parser = kept.map_or_else(|| Parser::new(&self.handle), Ok);
        let mut parser = parser.map_err(|status| status.to_string())?;
        let taken = parser.takes(bytes, wish);
        held().push(parser);
        match taken {
            Ok(true) => Ok(()),
            Ok(false) => Err("the JPEG engines don't take it".into()),
            Err(status) => Err(status.to_string()),
        }
    }

    /// What is asked of the library for pictures in this format and at this scale.
    ///
    /// # Errors
    /// This decoder has no such scale.
    fn wish(&self, format: Format, scale: Scale) -> Result<&Wish, String> {
        let wish =
            self.wishes.of(format, scale).filter(|_| scale as u32 <= self.offer.least() as u32);
        wish.ok_or_else(|| match self.offer.least() {
            Scale::Full => "this device decodes pictures as large as they are stored alone".into(),
            least => format!("this device makes no pictures smaller than 1/{}", 1 << least as u32),
        })
    }

    /// As [`Nvjpeg::decode`], of JPEGs that are in the device's memory. Each that is refused was tried alone.
    ///
    /// # Errors
    /// As [`Nvjpeg::decode`]; this decoder reads the host's memory.
    ///
    /// # Safety
    /// - As of [`Nvjpeg::decode`].
    /// - At `at` stand `length` bytes that were admitted, see [`Nvjpeg::admit`], in so many channels;
    ///   they are there *when this is called*, by a wait of the host's, and stay.
    /// - Width and height are that picture's at its scale.
    pub unsafe fn decode_stored(&self, stream: u64, pictures: &[Stored]) -> Result<Vec<Verdict>> {
        self.expect(true)?;
        let pieces = pictures.iter().map(|picture| {
            let Stored { at, length, target } = *picture;
            let PixelTarget { to, width, scale, channels, .. } = target;
            let format = Format::of(channels).ok_or("pixels have 1 or 3 channels")?;
            self.wish(format, scale)?;
            let at = (at as usize, length as usize);
            Ok(Piece { format, at, to, width, scale, channels })
        });
        let pieces: Vec<_> = pieces.collect();
        // SAFETY: by this function's promise. Nobody else decodes what is refused: none is given up untried.
        unsafe { self.run(stream, pieces, usize::MAX) }
    }

    /// # Errors
    /// The calling thread's context is another one.
    fn here(&self) -> Result<()> {
        if Context::current()? == self.context {
            return Ok(());
        }
        let text = "nvJPEG was called in another context than the one that it was made in";
        Err(Error::new(ErrorKind::Device, text))
    }

    /// # Errors
    /// The calling thread's context is another one; this decoder reads other memory.
    fn expect(&self, stored: bool) -> Result<()> {
        self.here()?;
        if self.backend.reads_device() == stored {
            return Ok(());
        }
        let text = format!("nvJPEG's backend {} reads other memory than that", self.backend);
        Err(Error::new(ErrorKind::Device, text))
    }

    /// Decodes what was not refused; where so many in a row fail alone, the rest is refused.
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`] or [`Nvjpeg::decode_stored`].
    unsafe fn run(
        &self,
        stream: u64,
        pieces: Vec<std::result::Result<Piece, String>>,
        patience: usize,
    ) -> Result<Vec<Verdict>> {
        let mut hands = self.hands.lock().ignore_poison();
        let mut verdicts = vec![Verdict::Decoded; pieces.len()];
        let mut groups = Format::ALL.map(|_| Vec::new());
        for (n, piece) in pieces.into_iter().enumerate() {
            match piece {
                Ok(piece) => groups[piece.format as usize].push((n, piece)),
                Err(why) => verdicts[n] = Verdict::Refused(why),
            }
        }
        let engines = self.backend.has_engines();
        let with = With { handle: &self.handle, engines, wishes: &self.wishes };
        for (format, pieces) in Format::ALL.into_iter().zip(&groups) {
            let mut todo = vec![&pieces[..]];
            let mut failed = 0;
            while let Some(part) = todo.pop().filter(|part| !part.is_empty()) {
                // SAFETY: by this function's promise.
                let Err(why) = (unsafe { hands.decode(with, part, format, stream) }) else {
                    failed = 0;
                    continue;
                };
                // SAFETY: by this function's promise. An error that is the device's comes out here; and
                // what the failed call has begun is over before others write there.
                unsafe { self.context.finish(stream) }?;
                hands.let_go();
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
        write!(f, "Nvjpeg({})", self.about)
    }
}
