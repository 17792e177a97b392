//! Owners of the library's objects, which destroy them on drop: decoder, state, decode parameters, parsed picture.
//!
//! Contains unsafe code: calls of the library's C functions. What they rely on, and why it holds:
//! - each object is created by the library and destroyed once, by its owner here; objects created with a decoder keep
//!   it alive;
//! - nothing is called in a forked child, where the device does not exist;
//! - a decoder may be used by several threads, states and parsers by one at a time: they are `&mut` here;
//! - a state is not used while earlier work with it is pending in a stream: an event is recorded after that work, and
//!   the host waits for it first;
//! - the library reads and writes only the memory that it receives, within the lengths that it receives.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

use tarflume_formats::message::Message;
use tarflume_jpeg::Scale;

use super::context::{Context, DecoderEvent};
use super::pool::Pool;
use super::status::{Backend, OutputFormat, Status};
use super::symbols::{Functions, RawAllocator, RawHandle, RawImage};

/// A decoder of the library, in the context of a device.
#[derive(Debug)]
pub(super) struct Handle {
    functions: Functions,
    raw: usize,
    context: Context,
    process: u32,
    /// The library's memory, which is freed after the decoder. The library has pointers to it and to its functions.
    pool: Arc<Pool>,
    _allocators: Allocators,
}

/// The functions that the library allocates with, at an address that stays.
struct Allocators(Box<[RawAllocator; 2]>);

// SAFETY: pointers to functions and to a pool that any thread may use.
unsafe impl Send for Allocators {}
// SAFETY: as above.
unsafe impl Sync for Allocators {}

impl fmt::Debug for Allocators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocators({})", self.0.len())
    }
}

/// An object created with a decoder.
#[derive(Debug)]
struct OwnedHandle {
    with: Arc<Handle>,
    raw: usize,
    give_back: unsafe extern "C" fn(RawHandle) -> c_int,
}

impl Handle {
    /// Creates a decoder with this backend in the current context, which is that of `pool`.
    pub(super) fn new(
        functions: Functions,
        backend: Backend,
        flags: c_uint,
        pool: Arc<Pool>,
    ) -> Result<Handle, Status> {
        let mut raw = null_mut();
        let mut allocators = Allocators(Box::new(pool.allocators()));
        let [device, pinned] = allocators.0.each_mut().map(std::ptr::from_mut);
        let create = functions.nvjpegCreateExV2;
        // SAFETY: writes one pointer to a local variable; functions and pool live as long as the decoder.
        Status::of(unsafe { create(backend.number(), device, pinned, flags, &mut raw) })?;
        Ok(Handle {
            functions,
            raw: raw as usize,
            context: pool.context(),
            process: std::process::id(),
            pool,
            _allocators: allocators,
        })
    }

    /// A status in words, with the memory that lacked.
    pub(super) fn told(&self, status: Status) -> Message {
        self.pool.told(status)
    }

    /// Number of JPEG engines, and of cores in each.
    pub(super) fn engines(&self) -> Result<(u32, u32), Status> {
        let mut engines = 0;
        let mut cores = 0;
        let ask = self.functions.nvjpegGetHardwareDecoderInfo;
        // SAFETY: a live decoder; writes two numbers to local variables.
        Status::of(unsafe { ask(self.raw(), &mut engines, &mut cores) })?;
        Ok((engines, cores))
    }

    fn raw(&self) -> RawHandle {
        self.raw as RawHandle
    }

    /// Destroys an object in the context of the decoder, except in a forked child.
    fn give_back(&self, raw: usize, give_back: unsafe extern "C" fn(RawHandle) -> c_int) {
        if self.process != std::process::id() {
            return;
        }
        if let Some(_entered) = self.context.enter() {
            // SAFETY: created by the library, destroyed by its only owner.
            let _ = unsafe { give_back(raw as RawHandle) };
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.give_back(self.raw, self.functions.nvjpegDestroy);
    }
}

impl OwnedHandle {
    fn new(
        with: &Arc<Handle>,
        make: unsafe extern "C" fn(RawHandle, *mut RawHandle) -> c_int,
        give_back: unsafe extern "C" fn(RawHandle) -> c_int,
    ) -> Result<OwnedHandle, Status> {
        let mut raw = null_mut();
        // SAFETY: a live decoder; writes one pointer to a local variable.
        Status::of(unsafe { make(with.raw(), &mut raw) })?;
        Ok(OwnedHandle { with: with.clone(), raw: raw as usize, give_back })
    }

    fn raw(&self) -> RawHandle {
        self.raw as RawHandle
    }

    /// The functions and the decoder's handle.
    fn decoder(&self) -> (Functions, RawHandle) {
        (self.with.functions, self.with.raw())
    }
}

impl Drop for OwnedHandle {
    fn drop(&mut self) {
        self.with.give_back(self.raw, self.give_back);
    }
}

/// The decode parameters of a picture.
#[derive(Debug)]
pub(super) struct DecodeParams(OwnedHandle);

impl DecodeParams {
    pub(super) fn new(
        with: &Arc<Handle>,
        format: OutputFormat,
        scale: Scale,
    ) -> Result<DecodeParams, Status> {
        let functions = with.functions;
        let make = functions.nvjpegDecodeParamsCreate;
        let give_back = functions.nvjpegDecodeParamsDestroy;
        let params = DecodeParams(OwnedHandle::new(with, make, give_back)?);
        let set = functions.nvjpegDecodeParamsSetOutputFormat;
        // SAFETY: created above.
        Status::of(unsafe { set(params.0.raw(), format.number()) })?;
        if scale != Scale::Full {
            let set = functions.nvjpegDecodeParamsSetScaleFactor;
            // SAFETY: created above. The scale numbers are 0 to 3, as in nvjpeg.h.
            Status::of(unsafe { set(params.0.raw(), scale as c_int) })?;
        }
        Ok(params)
    }
}

/// A parser, which is reused for picture after picture.
#[derive(Debug)]
pub(super) struct Parser(OwnedHandle);

impl Parser {
    pub(super) fn new(with: &Arc<Handle>) -> Result<Parser, Status> {
        let functions = with.functions;
        let make = functions.nvjpegJpegStreamCreate;
        let give_back = functions.nvjpegJpegStreamDestroy;
        OwnedHandle::new(with, make, give_back).map(Parser)
    }

    /// Whether the decoder supports a picture.
    pub(super) fn takes(&mut self, bytes: &[u8], params: &DecodeParams) -> Result<bool, Status> {
        let (functions, decoder) = self.0.decoder();
        let parse = functions.nvjpegJpegStreamParse;
        let metadata = 0;
        let data = 0; // do not keep copies
        let parser = self.0.raw();
        // SAFETY: decoder and parser are alive and the parser is not shared; the bytes are this slice.
        let parsed = unsafe { parse(decoder, bytes.as_ptr(), bytes.len(), metadata, data, parser) };
        Status::of(parsed)?;
        let mut answer = -1;
        let ask = functions.nvjpegDecodeBatchedSupportedEx;
        // SAFETY: all objects are alive; writes one number to a local variable.
        Status::of(unsafe { ask(decoder, parser, params.0.raw(), &mut answer) })?;
        Ok(answer == 0) // 0 means supported
    }
}

/// A picture of a batch: address and length of the JPEG in the memory that the backend reads, its output, and its
/// parameters.
pub(super) type DecodeTask<'a> = ((usize, usize), RawImage, &'a DecodeParams);

/// The working memory of a decoder. Pending work in a stream writes it, so two batches in flight need two states.
#[derive(Debug)]
pub(super) struct HandleState {
    made: OwnedHandle,
    ready_for: Option<(c_int, OutputFormat)>,
    /// Recorded after the last batch.
    done: DecoderEvent,
}

impl HandleState {
    pub(super) fn new(with: &Arc<Handle>) -> Result<HandleState, Status> {
        let functions = with.functions;
        let make = functions.nvjpegJpegStateCreate;
        let give_back = functions.nvjpegJpegStateDestroy;
        let done = DecoderEvent::new(with.context).ok_or(Status::EXECUTION_FAILED)?;
        Ok(HandleState { made: OwnedHandle::new(with, make, give_back)?, ready_for: None, done })
    }

    /// Makes the hardware path allocate from a pool, whatever size is passed here (according to nvImageCodec's
    /// sources). A failure is harmless.
    pub(super) fn use_pool(&mut self) {
        let (functions, decoder) = self.made.decoder();
        let yuv444 = 0;
        let format = OutputFormat::Rgb.number();
        let allocate = functions.nvjpegDecodeBatchedPreAllocate;
        // SAFETY: decoder and state are alive and the state is not shared.
        let _ = unsafe { allocate(decoder, self.made.raw(), 1, 1, 1, yuv444, format) };
    }

    /// Decodes pictures of one format, after waiting for the last batch of this state. Submits the work to the stream,
    /// except for what a hardware decoder does immediately (see `Nvjpeg::decode`). With `scaled`, each picture uses
    /// its own parameters, otherwise only the format counts.
    ///
    /// # Safety
    /// As for `Nvjpeg::decode`, for each picture. The outputs have room for the pixels.
    pub(super) unsafe fn decode(
        &mut self,
        tasks: &[DecodeTask<'_>],
        format: OutputFormat,
        scaled: bool,
        stream: u64,
    ) -> Result<(), Status> {
        let (functions, decoder) = self.made.decoder();
        self.made.with.pool.begin_turn();
        let state = self.made.raw();
        let count = tasks.len() as c_int;
        if !self.done.wait() {
            return Err(Status::EXECUTION_FAILED);
        }
        if self.ready_for != Some((count, format)) {
            self.ready_for = None;
            let ready = functions.nvjpegDecodeBatchedInitialize;
            let threads = 1;
            // SAFETY: decoder and state are alive and the state is not shared.
            Status::of(unsafe { ready(decoder, state, count, threads, format.number()) })?;
            self.ready_for = Some((count, format));
        }
        let bytes: Vec<*const u8> = tasks.iter().map(|task| task.0.0 as *const u8).collect();
        let lengths: Vec<usize> = tasks.iter().map(|task| task.0.1).collect();
        let mut images: Vec<RawImage> = tasks.iter().map(|task| task.1).collect();
        let mut params: Vec<RawHandle> = tasks.iter().map(|task| task.2.0.raw()).collect();
        let bytes = bytes.as_ptr();
        let lengths = lengths.as_ptr();
        let images = images.as_mut_ptr();
        let params = params.as_mut_ptr();
        let stream = stream as usize as RawHandle;
        let status = if scaled {
            let decode = functions.nvjpegDecodeBatchedEx;
            // SAFETY: as many of each as the state was initialized for; the rest by the caller's contract.
            unsafe { decode(decoder, state, bytes, lengths, images, params, stream) }
        } else {
            let decode = functions.nvjpegDecodeBatched;
            // SAFETY: as above.
            unsafe { decode(decoder, state, bytes, lengths, images, stream) }
        };
        Status::of(status)?;
        // SAFETY: a stream by this function's contract.
        if unsafe { self.done.set(stream as u64) } { Ok(()) } else { Err(Status::EXECUTION_FAILED) }
    }
}
