//! `Nvjpeg`: JPEGs decoded by the GPU, by a libnvjpeg that is found when it is asked for.
//!
//! Floors: `status` (its words and numbers) < `symbols` (its functions) < `library`; `context` < `handle` (its
//! things) < this file, which decides what becomes of each picture of a batch: no picture has an effect on
//! another.
//!
//! A room with unsafe code: it hands on promises of the caller's, and gives none of its own but that
//! an image is as large as what is written there.
#![allow(unsafe_code)]

mod context;
mod handle;
mod library;
mod status;
mod symbols;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use tarflume_jpeg::Scale;

pub use self::library::{Found, Library};
pub use self::status::Backend;
pub use super::decoder::{Compressed, Stored, Verdict};
pub use super::fit::{Fit, takes};

use self::context::Context;
use self::handle::{Handle, Parser, State, Task, Wish};
use self::status::{Format, Status};
use self::symbols::Image;
use super::fit::checked;
use crate::error::{Error, ErrorKind, Result};

/// Colours between samples are interpolated, as our own decoder does it. Known from 12.1 on.
const INTERPOLATE: u32 = 1 << 5;

/// A decoder of JPEGs on a device.
pub struct Nvjpeg {
    about: String,
    backend: Backend,
    engines: (u32, u32),
    context: Context,
    hands: Mutex<Hands>,
}

/// A picture that was admitted.
struct Piece {
    format: Format,
    /// Address and length of the JPEG, in the memory that the backend reads.
    at: (usize, usize),
    to: u64,
    width: u32,
    scale: Scale,
    channels: u8,
}

/// What one batch at a time uses.
struct Hands {
    handle: Arc<Handle>,
    /// None after an error.
    state: Option<State>,
    parser: Parser,
    /// Whether the chip's engines do it.
    engines: bool,
    /// By format and scale; of one scale where there are no others.
    wishes: [Vec<Wish>; 2],
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
            None => {
                Nvjpeg::one_of(library, &[Backend::Hardware, Backend::GpuHybrid, Backend::Default])
            }
        }
    }

    /// As [`Nvjpeg::new`], one that decodes JPEGs in the device's memory, and no others.
    ///
    /// # Errors
    /// As [`Nvjpeg::new`].
    pub fn of_stored(library: &Library) -> Result<Nvjpeg> {
        Nvjpeg::one_of(library, &[Backend::HardwareDevice, Backend::GpuHybridDevice])
    }

    fn one_of(library: &Library, backends: &[Backend]) -> Result<Nvjpeg> {
        let context = Context::current()?;
        let mut refusals = Vec::new();
        for &backend in backends {
            match Nvjpeg::by(library, backend, context) {
                Ok((hands, engines)) => {
                    let mut about = format!("{library}, {backend}");
                    if backend.has_engines() {
                        about += &format!(": {} JPEG engines of {} cores", engines.0, engines.1);
                    } else if let Some(why) = refusals.first() {
                        about += &format!("; not {why}");
                    }
                    let hands = Mutex::new(hands);
                    return Ok(Nvjpeg { about, backend, engines, context, hands });
                }
                Err(why) => refusals.push(format!("{backend}: {why}")),
            }
        }
        let text = format!("{library} can't be used: {}", refusals.join("; "));
        Err(Error::new(ErrorKind::Device, text))
    }

    fn by(
        library: &Library,
        backend: Backend,
        context: Context,
    ) -> Result<(Hands, (u32, u32)), String> {
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
        Hands::new(Arc::new(handle), hardware).map(|hands| (hands, engines)).map_err(said)
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
        self.backend.has_engines()
    }

    /// Library, version and backend in one line; and why it is no better one.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Decodes pictures, in one call of the library for each number of channels, and says what became of
    /// each, in their order: damaged pictures and those of other kinds are refused, one by one. Pixels
    /// are there when the stream has come so far; a picture may be found damaged later by the device,
    /// which then says nothing. Waits for the stream only where a call of the library failed.
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
        let mut hands = self.hands(false)?;
        let pieces = pictures.iter().map(|picture| {
            let format = hands.admits(picture)?;
            let Compressed { bytes, to, width, scale, channels, .. } = *picture;
            let at = (bytes.as_ptr() as usize, bytes.len());
            Ok(Piece { format, at, to, width, scale, channels })
        });
        let pieces: Vec<_> = pieces.collect();
        // SAFETY: by this function's promise; sizes are those of the pictures, see `admits`.
        unsafe { self.run(&mut hands, stream, pieces) }
    }

    /// Whether a JPEG, here in the host's memory, may be decoded out of the device's when it is there; into so
    /// many channels.
    ///
    /// # Errors
    /// As [`Nvjpeg::decode_stored`]; within: it may not, and why.
    pub fn admit(&self, bytes: &[u8], channels: u8) -> Result<std::result::Result<(), String>> {
        let mut hands = self.hands(true)?;
        Ok(checked(bytes).and_then(|header| {
            if self.backend == Backend::GpuHybridDevice && header.has_restarts() {
                return Err("this backend takes none with restart intervals".into());
            }
            let (width, height) = (header.width(), header.height());
            let (to, scale) = (1, Scale::Full); // nothing is written
            hands.admits(&Compressed { bytes, to, width, height, scale, channels }).map(|_| ())
        }))
    }

    /// As [`Nvjpeg::decode`], of JPEGs that are in the device's memory.
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
        let mut hands = self.hands(true)?;
        let pieces = pictures.iter().map(|picture| {
            let Stored { at, length, to, width, scale, channels, .. } = *picture;
            let format = Format::of(channels).ok_or("pixels have 1 or 3 channels")?;
            hands.wish(format, scale)?;
            let at = (at as usize, length as usize);
            Ok(Piece { format, at, to, width, scale, channels })
        });
        let pieces: Vec<_> = pieces.collect();
        // SAFETY: by this function's promise.
        unsafe { self.run(&mut hands, stream, pieces) }
    }

    /// What a batch needs, in the right context and of a decoder that reads the right memory.
    fn hands(&self, stored: bool) -> Result<MutexGuard<'_, Hands>> {
        if Context::current()? != self.context {
            let text = "nvJPEG was called in another context than the one that it was made in";
            return Err(Error::new(ErrorKind::Device, text));
        }
        if self.backend.reads_device() != stored {
            let text = format!("nvJPEG's backend {} reads other memory than that", self.backend);
            return Err(Error::new(ErrorKind::Device, text));
        }
        Ok(self.hands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decodes what was not refused.
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`] or [`Nvjpeg::decode_stored`].
    unsafe fn run(
        &self,
        hands: &mut Hands,
        stream: u64,
        pieces: Vec<std::result::Result<Piece, String>>,
    ) -> Result<Vec<Verdict>> {
        let mut verdicts = vec![Verdict::Decoded; pieces.len()];
        let mut groups = Format::ALL.map(|_| Vec::new());
        for (n, piece) in pieces.into_iter().enumerate() {
            match piece {
                Ok(piece) => groups[piece.format as usize].push((n, piece)),
                Err(why) => verdicts[n] = Verdict::Refused(why),
            }
        }
        for (format, pieces) in Format::ALL.into_iter().zip(&groups) {
            let mut todo = vec![&pieces[..]];
            while let Some(part) = todo.pop().filter(|part| !part.is_empty()) {
                // SAFETY: by this function's promise.
                let Err(why) = (unsafe { hands.decode(part, format, stream) }) else {
                    continue;
                };
                // SAFETY: by this function's promise. An error that is the device's comes out here; and
                // what the failed call has begun is over before others write there.
                unsafe { self.context.finish(stream) }?;
                if let [(culprit, _)] = part {
                    verdicts[*culprit] = Verdict::Refused(why);
                } else {
                    let (first, second) = part.split_at(part.len() / 2);
                    todo.extend([second, first]);
                }
            }
        }
        Ok(verdicts)
    }
}

impl Hands {
    fn new(handle: Arc<Handle>, engines: bool) -> Result<Hands, Status> {
        let scales = if engines { &Scale::ALL[..] } else { &[Scale::Full] };
        let all = |format| -> Result<Vec<Wish>, Status> {
            scales.iter().map(|&scale| Wish::new(&handle, format, scale)).collect()
        };
        let wishes = [all(Format::Grey)?, all(Format::Rgb)?];
        let parser = Parser::new(&handle)?;
        let mut hands = Hands { handle, state: None, parser, engines, wishes };
        hands.state()?;
        Ok(hands)
    }

    /// The state, a new one after an error.
    fn state(&mut self) -> Result<&mut State, Status> {
        if self.state.is_none() {
            let mut state = State::new(&self.handle)?;
            if self.engines {
                state.use_pool();
            }
            self.state = Some(state);
        }
        self.state.as_mut().ok_or(Status(1))
    }

    /// Whether a picture may come before the library, and in which format.
    ///
    /// # Errors
    /// It may not: why.
    fn admits(&mut self, picture: &Compressed<'_>) -> Result<Format, String> {
        let header = checked(picture.bytes)?;
        let Compressed { width, height, scale, channels, .. } = *picture;
        let format = Format::of(channels).ok_or("pixels have 1 or 3 channels")?;
        if picture.to == 0 || (width, height) != scale.of(header.width(), header.height()) {
            let (w, h) = scale.of(header.width(), header.height());
            return Err(format!("there is memory for {width}x{height} pixels, and it has {w}x{h}"));
        }
        self.wish(format, scale)?;
        let wish = &self.wishes[format as usize][scale as usize];
        if self.engines {
            // What follows the header was found whole; the engines' own limits are the library's matter.
            match self.parser.takes(picture.bytes, wish) {
                Ok(true) => {}
                Ok(false) => return Err("the JPEG engines don't take it".into()),
                Err(status) => return Err(status.to_string()),
            }
        }
        Ok(format)
    }

    /// What is asked of the library for pictures in this format and at this scale.
    ///
    /// # Errors
    /// This decoder has no such scale.
    fn wish(&self, format: Format, scale: Scale) -> std::result::Result<&Wish, String> {
        let wish = self.wishes[format as usize].get(scale as usize);
        wish.ok_or("this device decodes pictures as large as they are stored alone".into())
    }

    /// Decodes pictures.
    ///
    /// # Errors
    /// The call failed, and nobody knows why; the state is gone.
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`] or [`Nvjpeg::decode_stored`]; the pictures were admitted in this format.
    unsafe fn decode(
        &mut self,
        pieces: &[(usize, Piece)],
        format: Format,
        stream: u64,
    ) -> std::result::Result<(), String> {
        self.state().map_err(|status| format!("no new state: {status}"))?;
        let wishes = &self.wishes[format as usize];
        let task = |(_, piece): &(usize, Piece)| -> Option<Task<'_>> {
            let pitch = piece.width as usize * usize::from(piece.channels);
            let image = Image { channel: [piece.to, 0, 0, 0], pitch: [pitch, 0, 0, 0] };
            Some((piece.at, image, wishes.get(piece.scale as usize)?))
        };
        let tasks: Vec<Task<'_>> = pieces.iter().filter_map(task).collect();
        let scaled = pieces.iter().any(|(_, piece)| piece.scale != Scale::Full);
        let Some(state) = &mut self.state else { return Err("no state".into()) };
        // SAFETY: by this function's promise; an image has as many rows as the picture, see `admits`.
        let done = unsafe { state.decode(&tasks, format, scaled, stream) };
        if done.is_err() {
            self.state = None; // what it still holds of the failed batch is not to meet the next
        }
        done.map_err(|status| status.to_string())
    }
}

impl fmt::Debug for Nvjpeg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nvjpeg({})", self.about)
    }
}
