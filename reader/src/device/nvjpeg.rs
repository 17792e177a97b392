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
use std::sync::{Arc, Mutex, PoisonError};

pub use tarflume_jpeg::Scale;

pub use self::library::{Found, Library};
pub use self::status::Backend;
pub use super::decoder::{Compressed, Verdict};
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
        let context = Context::current()?;
        let all = [Backend::Hardware, Backend::GpuHybrid, Backend::Default];
        let mut refusals = Vec::new();
        for backend in all.into_iter().filter(|&backend| wanted.is_none_or(|w| w == backend)) {
            match Nvjpeg::by(library, backend, context) {
                Ok((hands, engines)) => {
                    let mut about = format!("{library}, {backend}");
                    if backend == Backend::Hardware {
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
        let hardware = backend == Backend::Hardware;
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
        self.backend == Backend::Hardware
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
        if Context::current()? != self.context {
            let text = "nvJPEG was called in another context than the one that it was made in";
            return Err(Error::new(ErrorKind::Device, text));
        }
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        let mut verdicts = vec![Verdict::Decoded; pictures.len()];
        let mut groups = Format::ALL.map(|_| Vec::new());
        for (n, picture) in pictures.iter().enumerate() {
            match hands.admits(picture) {
                Ok(format) => groups[format as usize].push(n),
                Err(why) => verdicts[n] = Verdict::Refused(why),
            }
        }
        for (format, numbers) in Format::ALL.into_iter().zip(&groups) {
            let mut todo = vec![&numbers[..]];
            while let Some(part) = todo.pop().filter(|part| !part.is_empty()) {
                // SAFETY: by this function's promise; sizes are those of the pictures, see `admits`.
                let Err(why) = (unsafe { hands.decode(part, pictures, format, stream) }) else {
                    continue;
                };
                // SAFETY: by this function's promise. An error that is the device's comes out here; and
                // what the failed call has begun is over before others write there.
                unsafe { self.context.finish(stream) }?;
                if let [culprit] = *part {
                    verdicts[culprit] = Verdict::Refused(why);
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
        let wish = self.wishes[format as usize].get(scale as usize);
        let wish = wish.ok_or("this device decodes pictures as large as they are stored alone")?;
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

    /// Decodes the pictures of these numbers.
    ///
    /// # Errors
    /// The call failed, and nobody knows why; the state is gone.
    ///
    /// # Safety
    /// As of [`Nvjpeg::decode`]; the pictures were admitted in this format.
    unsafe fn decode(
        &mut self,
        numbers: &[usize],
        pictures: &[Compressed<'_>],
        format: Format,
        stream: u64,
    ) -> Result<(), String> {
        self.state().map_err(|status| format!("no new state: {status}"))?;
        let wishes = &self.wishes[format as usize];
        let task = |&n: &usize| -> Option<Task<'_>> {
            let Compressed { bytes, to, width, scale, channels, .. } = *pictures.get(n)?;
            let pitch = width as usize * usize::from(channels);
            let image = Image { channel: [to, 0, 0, 0], pitch: [pitch, 0, 0, 0] };
            Some((bytes, image, wishes.get(scale as usize)?))
        };
        let tasks: Vec<Task<'_>> = numbers.iter().filter_map(task).collect();
        let scaled = numbers.iter().any(|&n| pictures[n].scale != Scale::Full);
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
