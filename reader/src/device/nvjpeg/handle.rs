//! The library's own things, each given back when it is dropped: a decoder, its state, what is wanted of a
//! picture, a picture that was parsed.
//!
//! A room with unsafe code: calls of the library's C functions. What they rely on, and why it holds:
//! - each thing was made by the library and is given back once, by its owner here; what was made with a
//!   decoder keeps that decoder;
//! - nothing is called in a process that was forked: there is no device;
//! - a decoder may be used by several threads, states and parsers by one at a time: they are `&mut` here;
//! - a state is not touched while work that was put into a stream with it is under way: it has a mark behind
//!   that, which the host waits for first;
//! - the library reads and writes only what it is given, by lengths that it is told.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use std::sync::Arc;

use tarflume_jpeg::Scale;

use super::context::{Context, Event};
use super::status::{Backend, Format, Status};
use super::symbols::{Functions, Image, Raw};

/// A decoder of the library's, in the context of a device.
#[derive(Debug)]
pub(super) struct Handle {
    functions: Functions,
    raw: usize,
    context: Context,
    process: u32,
}

/// A thing made with a decoder.
#[derive(Debug)]
struct Made {
    with: Arc<Handle>,
    raw: usize,
    give_back: unsafe extern "C" fn(Raw) -> c_int,
}

impl Handle {
    /// A decoder by this backend in the current context, which is `context`.
    pub(super) fn new(
        functions: Functions,
        backend: Backend,
        flags: c_uint,
        context: Context,
    ) -> Result<Handle, Status> {
        let mut raw = null_mut();
        let (device, pinned) = (null_mut(), null_mut()); // its own ways to ask for memory
        let create = functions.nvjpegCreateEx;
        // SAFETY: writes one pointer to a variable here.
        Status::of(unsafe { create(backend.number(), device, pinned, flags, &mut raw) })?;
        Ok(Handle { functions, raw: raw as usize, context, process: std::process::id() })
    }

    /// The chip's JPEG engines, and the cores of each.
    pub(super) fn engines(&self) -> Result<(u32, u32), Status> {
        let (mut engines, mut cores) = (0, 0);
        let ask = self.functions.nvjpegGetHardwareDecoderInfo;
        // SAFETY: a decoder that is alive; writes two numbers to variables here.
        Status::of(unsafe { ask(self.raw(), &mut engines, &mut cores) })?;
        Ok((engines, cores))
    }

    fn raw(&self) -> Raw {
        self.raw as Raw
    }

    /// Gives something back in the context of the decoder, unless this is another process.
    fn give_back(&self, raw: usize, give_back: unsafe extern "C" fn(Raw) -> c_int) {
        if self.process != std::process::id() {
            return;
        }
        if let Some(_entered) = self.context.enter() {
            // SAFETY: made by the library, given back by its one owner.
            let _ = unsafe { give_back(raw as Raw) };
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.give_back(self.raw, self.functions.nvjpegDestroy);
    }
}

impl Made {
    fn new(
        with: &Arc<Handle>,
        make: unsafe extern "C" fn(Raw, *mut Raw) -> c_int,
        give_back: unsafe extern "C" fn(Raw) -> c_int,
    ) -> Result<Made, Status> {
        let mut raw = null_mut();
        // SAFETY: a decoder that is alive; writes one pointer to a variable here.
        Status::of(unsafe { make(with.raw(), &mut raw) })?;
        Ok(Made { with: with.clone(), raw: raw as usize, give_back })
    }

    fn raw(&self) -> Raw {
        self.raw as Raw
    }

    /// The decoder, to be called with.
    fn decoder(&self) -> (Functions, Raw) {
        (self.with.functions, self.with.raw())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.with.give_back(self.raw, self.give_back);
    }
}

/// What is wanted of a picture.
#[derive(Debug)]
pub(super) struct Wish(Made);

impl Wish {
    pub(super) fn new(with: &Arc<Handle>, format: Format, scale: Scale) -> Result<Wish, Status> {
        let functions = with.functions;
        let (make, give_back) =
            (functions.nvjpegDecodeParamsCreate, functions.nvjpegDecodeParamsDestroy);
        let wish = Wish(Made::new(with, make, give_back)?);
        let set = functions.nvjpegDecodeParamsSetOutputFormat;
        // SAFETY: made above.
        Status::of(unsafe { set(wish.0.raw(), format.number()) })?;
        if scale != Scale::Full {
            let set = functions.nvjpegDecodeParamsSetScaleFactor;
            // SAFETY: made above. The numbers of scales are ours: 0 to 3.
            Status::of(unsafe { set(wish.0.raw(), scale as c_int) })?;
        }
        Ok(wish)
    }
}

/// A picture that the library has parsed, and then another.
#[derive(Debug)]
pub(super) struct Parser(Made);

impl Parser {
    pub(super) fn new(with: &Arc<Handle>) -> Result<Parser, Status> {
        let functions = with.functions;
        let (make, give_back) =
            (functions.nvjpegJpegStreamCreate, functions.nvjpegJpegStreamDestroy);
        Made::new(with, make, give_back).map(Parser)
    }

    /// Whether the decoder takes a picture.
    pub(super) fn takes(&mut self, bytes: &[u8], wish: &Wish) -> Result<bool, Status> {
        let (functions, decoder) = self.0.decoder();
        let parse = functions.nvjpegJpegStreamParse;
        let (metadata, data) = (0, 0); // not kept
        let parser = self.0.raw();
        // SAFETY: decoder and parser are alive, and nobody else uses the parser; the bytes are these.
        let parsed = unsafe { parse(decoder, bytes.as_ptr(), bytes.len(), metadata, data, parser) };
        Status::of(parsed)?;
        let mut answer = -1;
        let ask = functions.nvjpegDecodeBatchedSupportedEx;
        // SAFETY: all of them are alive; writes one number to a variable here.
        Status::of(unsafe { ask(decoder, parser, wish.0.raw(), &mut answer) })?;
        Ok(answer == 0) // 0 is yes
    }
}

/// A picture for a batch: address and length of the JPEG, in the memory that the backend reads, and where its
/// pixels go.
pub(super) type Task<'a> = ((usize, usize), Image, &'a Wish);

/// What a decoder keeps from picture to picture. Its memory is written by work that stands in a stream, so two batches
/// under way need two of them.
#[derive(Debug)]
pub(super) struct State {
    made: Made,
    ready_for: Option<(c_int, Format)>,
    /// Behind the last batch.
    done: Event,
}

impl State {
    pub(super) fn new(with: &Arc<Handle>) -> Result<State, Status> {
        let functions = with.functions;
        let (make, give_back) = (functions.nvjpegJpegStateCreate, functions.nvjpegJpegStateDestroy);
        let done = Event::new(with.context).ok_or(Status::EXECUTION_FAILED)?;
        Ok(State { made: Made::new(with, make, give_back)?, ready_for: None, done })
    }

    /// Has the hardware's path take memory from a pool, whatever the size that is named here (as
    /// nvImageCodec's sources say of it). No matter if it does not.
    pub(super) fn use_pool(&mut self) {
        let (functions, decoder) = self.made.decoder();
        let (yuv444, format) = (0, Format::Rgb.number());
        let allocate = functions.nvjpegDecodeBatchedPreAllocate;
        // SAFETY: decoder and state are alive, and nobody else uses the state.
        let _ = unsafe { allocate(decoder, self.made.raw(), 1, 1, 1, yuv444, format) };
    }

    /// Decodes pictures of one format, when the last batch of this state is over: waits for that. The work is put
    /// into the stream, but for what is not (see `Nvjpeg::decode`). `scaled`: each by its own wish, else by the format alone.
    ///
    /// # Safety
    /// As of `Nvjpeg::decode`, of each picture; the images have room for what is written there.
    pub(super) unsafe fn decode(
        &mut self,
        tasks: &[Task<'_>],
        format: Format,
        scaled: bool,
        stream: u64,
    ) -> Result<(), Status> {
        let (functions, decoder) = self.made.decoder();
        let state = self.made.raw();
        let count = tasks.len() as c_int;
        if !self.done.wait() {
            return Err(Status::EXECUTION_FAILED);
        }
        if self.ready_for != Some((count, format)) {
            self.ready_for = None;
            let ready = functions.nvjpegDecodeBatchedInitialize;
            let threads = 1;
            // SAFETY: decoder and state are alive, and nobody else uses the state.
            Status::of(unsafe { ready(decoder, state, count, threads, format.number()) })?;
            self.ready_for = Some((count, format));
        }
        let bytes: Vec<*const u8> = tasks.iter().map(|task| task.0.0 as *const u8).collect();
        let lengths: Vec<usize> = tasks.iter().map(|task| task.0.1).collect();
        let mut images: Vec<Image> = tasks.iter().map(|task| task.1).collect();
        let mut wishes: Vec<Raw> = tasks.iter().map(|task| task.2.0.raw()).collect();
        let (bytes, lengths) = (bytes.as_ptr(), lengths.as_ptr());
        let (images, wishes) = (images.as_mut_ptr(), wishes.as_mut_ptr());
        let stream = stream as usize as Raw;
        let status = if scaled {
            let decode = functions.nvjpegDecodeBatchedEx;
            // SAFETY: as many of each as the state was made ready for; the rest by the caller's promise.
            unsafe { decode(decoder, state, bytes, lengths, images, wishes, stream) }
        } else {
            let decode = functions.nvjpegDecodeBatched;
            // SAFETY: as above.
            unsafe { decode(decoder, state, bytes, lengths, images, stream) }
        };
        Status::of(status)?;
        // SAFETY: a stream by this function's promise.
        if unsafe { self.done.set(stream as u64) } { Ok(()) } else { Err(Status::EXECUTION_FAILED) }
    }
}
