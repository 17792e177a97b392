//! Arrow's C data and C stream interfaces (arrow.apache.org/docs/format/CDataInterface.html), out and in, and
//! the PyCapsules that carry them.
//!
//! Contains unsafe code. Contract:
//! - the structures below have the layout of Arrow's abi.h; dropping one calls its `release` unless another
//!   owner took it, which a null `release` marks;
//! - what is exported owns its buffers by [`Memory`] until its `release`, which any thread may call once, with
//!   or without the interpreter lock. Buffers are never written to;
//! - of what is imported, the producer vouches for the sizes of buffers, which the interface does not contain.
//!   Lengths, offsets, indices and numbers of buffers are checked before they are used.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::buffers::memory::Memory;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";
/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;
/// "Input/output error" in Linux: the code of an error whose text follows.
const EIO: c_int = 5;

/// `ArrowSchema`.
#[repr(C)]
pub(crate) struct CSchema {
    pub(crate) format: *const c_char,
    pub(crate) name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    pub(crate) n_children: i64,
    pub(crate) children: *mut *mut CSchema,
    pub(crate) dictionary: *mut CSchema,
    release: Option<unsafe extern "C" fn(*mut CSchema)>,
    private: *mut c_void,
}

/// `ArrowArray`.
#[repr(C)]
pub(crate) struct CArray {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) n_buffers: i64,
    pub(crate) n_children: i64,
    pub(crate) buffers: *mut *const c_void,
    pub(crate) children: *mut *mut CArray,
    pub(crate) dictionary: *mut CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private: *mut c_void,
}

/// `ArrowArrayStream`.
#[repr(C)]
pub(crate) struct CStream {
    get_schema: Option<unsafe extern "C" fn(*mut CStream, *mut CSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut CStream, *mut CArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut CStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut CStream)>,
    private: *mut c_void,
}

macro_rules! released_on_drop {
    ($($class:ident),*) => {
        $(impl Drop for $class {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: not null, so this value still owns what the producer made.
                    unsafe { release(self) };
                }
            }
        })*
    };
}
released_on_drop!(CSchema, CArray, CStream);

// SAFETY: the interface lets any thread use and release these structures, one thread at a time.
unsafe impl Send for CSchema {}
// SAFETY: as above.
unsafe impl Send for CArray {}
// SAFETY: as above.
unsafe impl Send for CStream {}

/// A column or a row type to export.
#[derive(Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Arrow's format string.
    pub(crate) format: String,
    pub(crate) nullable: bool,
    pub(crate) children: Vec<Field>,
}

impl Field {
    pub(crate) fn new(name: impl Into<String>, format: impl Into<String>) -> Field {
        Field { name: name.into(), format: format.into(), nullable: false, children: Vec::new() }
    }

    pub(crate) fn nullable(self) -> Field {
        Field { nullable: true, ..self }
    }

    pub(crate) fn of(self, children: Vec<Field>) -> Field {
        Field { children, ..self }
    }
}

/// Rows to export.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) length: usize,
    pub(crate) nulls: usize,
    /// As the format demands; `None` is a null pointer, such as for rows that are all valid.
    pub(crate) buffers: Vec<Option<Arc<dyn Memory>>>,
    pub(crate) children: Vec<Rows>,
}

struct SchemaHeld {
    format: CString,
    name: CString,
    children: Vec<*mut CSchema>,
}

struct RowsHeld {
    _memory: Vec<Option<Arc<dyn Memory>>>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut CArray>,
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).expect("zero bytes were replaced")
}

fn schema_of(field: &Field) -> CSchema {
    let format = c_text(&field.format);
    let name = c_text(&field.name);
    let children = field.children.iter().map(|child| Box::into_raw(Box::new(schema_of(child))));
    // A box and the heap memory of its parts do not move.
    let mut held = Box::new(SchemaHeld { format, name, children: children.collect() });
    CSchema {
        format: held.format.as_ptr(),
        name: held.name.as_ptr(),
        metadata: null(),
        flags: if field.nullable { NULLABLE } else { 0 },
        n_children: held.children.len() as i64,
        children: held.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private: Box::into_raw(held).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut CSchema) {
    // SAFETY: the caller owns the structure, which `schema_of` made.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: from `Box::into_raw` in `schema_of`; `release` is null from here on.
    let held = unsafe { Box::from_raw(schema.private.cast::<SchemaHeld>()) };
    for &child in &held.children {
        // SAFETY: from `Box::into_raw`; a consumer that moved the child out left a null `release`.
        drop(unsafe { Box::from_raw(child) });
    }
}

fn array_of(rows: Rows) -> CArray {
    let buffers = rows.buffers.iter().map(address_of).collect();
    let children = rows.children.into_iter().map(|child| Box::into_raw(Box::new(array_of(child))));
    let children = children.collect();
    let mut held = Box::new(RowsHeld { _memory: rows.buffers, buffers, children });
    CArray {
        length: rows.length as i64,
        null_count: rows.nulls as i64,
        offset: 0,
        n_buffers: held.buffers.len() as i64,
        n_children: held.children.len() as i64,
        buffers: held.buffers.as_mut_ptr(),
        children: held.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private: Box::into_raw(held).cast(),
    }
}

fn address_of(memory: &Option<Arc<dyn Memory>>) -> *const c_void {
    match memory {
        Some(memory) => memory.bytes().as_ptr().cast::<c_void>(),
        None => null(),
    }
}

unsafe extern "C" fn release_array(array: *mut CArray) {
    // SAFETY: the caller owns the structure, which `array_of` made.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: from `Box::into_raw` in `array_of`; `release` is null from here on.
    let held = unsafe { Box::from_raw(array.private.cast::<RowsHeld>()) };
    for &child in &held.children {
        // SAFETY: from `Box::into_raw`; a consumer that moved the child out left a null `release`.
        drop(unsafe { Box::from_raw(child) });
    }
}

/// The next rows of a stream; `None` at its end. An error is its text.
pub(crate) type Next = Box<dyn FnMut() -> Result<Option<Rows>, String> + Send>;

struct StreamHeld {
    field: Field,
    next: Next,
    error: CString,
}

/// What is behind a stream of `stream_capsule`.
///
/// # Safety
/// The stream is live, and no other thread uses it.
unsafe fn held_by<'a>(stream: *mut CStream) -> &'a mut StreamHeld {
    // SAFETY: the caller vouches for the stream.
    let held = unsafe { (*stream).private }.cast::<StreamHeld>();
    // SAFETY: from `Box::into_raw` in `stream_capsule`, until `release`.
    unsafe { &mut *held }
}

unsafe extern "C" fn stream_schema(stream: *mut CStream, into: *mut CSchema) -> c_int {
    // SAFETY: a live stream of `stream_capsule`, used by one thread at a time.
    let held = unsafe { held_by(stream) };
    // SAFETY: the consumer's memory, which holds nothing yet.
    unsafe { into.write(schema_of(&held.field)) };
    0
}

unsafe extern "C" fn stream_next(stream: *mut CStream, into: *mut CArray) -> c_int {
    // SAFETY: a live stream of `stream_capsule`, used by one thread at a time.
    let held = unsafe { held_by(stream) };
    let next = catch_unwind(AssertUnwindSafe(|| (held.next)()));
    let next = next.unwrap_or_else(|_| Err("a bug of tarflume: please report it".into()));
    let array = match next {
        Ok(rows) => rows.map_or_else(nothing, array_of),
        Err(text) => {
            held.error = c_text(&text);
            return EIO;
        }
    };
    // SAFETY: the consumer's memory, which holds nothing yet.
    unsafe { into.write(array) };
    0
}

unsafe extern "C" fn stream_error(stream: *mut CStream) -> *const c_char {
    // SAFETY: a live stream of `stream_capsule`; the text lives until the next call.
    unsafe { held_by(stream) }.error.as_ptr()
}

unsafe extern "C" fn release_stream(stream: *mut CStream) {
    // SAFETY: the caller owns the structure, which `stream_capsule` made.
    let stream = unsafe { &mut *stream };
    stream.release = None;
    // SAFETY: from `Box::into_raw` in `stream_capsule`; `release` is null from here on.
    drop(unsafe { Box::from_raw(stream.private.cast::<StreamHeld>()) });
}

/// An array that was released: the end of a stream, and room for the next one.
fn nothing() -> CArray {
    CArray {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: null_mut(),
        children: null_mut(),
        dictionary: null_mut(),
        release: None,
        private: null_mut(),
    }
}

unsafe extern "C" fn drop_capsule<T, const KIND: usize>(capsule: *mut ffi::PyObject) {
    let name = [SCHEMA, ARRAY, STREAM][KIND];
    // SAFETY: the interpreter passes a live capsule, made by `capsule` under this name.
    let held = unsafe { ffi::PyCapsule_GetPointer(capsule, name.as_ptr()) };
    if !held.is_null() {
        // SAFETY: from `Box::into_raw` in `capsule`. What a consumer took is not released again.
        drop(unsafe { Box::from_raw(held.cast::<T>()) });
    }
}

fn capsule<T, const KIND: usize>(py: Python<'_>, value: T) -> PyResult<Bound<'_, PyAny>> {
    let held = Box::into_raw(Box::new(value));
    let name = [SCHEMA, ARRAY, STREAM][KIND];
    // SAFETY: name and destructor are static, the pointer is not null.
    let made =
        unsafe { ffi::PyCapsule_New(held.cast(), name.as_ptr(), Some(drop_capsule::<T, KIND>)) };
    if made.is_null() {
        // SAFETY: this function still owns it.
        drop(unsafe { Box::from_raw(held) });
    }
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// A field as a capsule.
///
/// # Errors
/// The interpreter cannot allocate the capsule.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyAny>> {
    capsule::<_, 0>(py, schema_of(field))
}

/// Rows as a capsule.
///
/// # Errors
/// The interpreter cannot allocate the capsule.
pub(crate) fn array_capsule(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyAny>> {
    capsule::<_, 1>(py, array_of(rows))
}

/// A stream of rows as a capsule.
///
/// # Errors
/// The interpreter cannot allocate the capsule.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    field: Field,
    next: Next,
) -> PyResult<Bound<'_, PyAny>> {
    let held = Box::new(StreamHeld { field, next, error: CString::default() });
    let stream = CStream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private: Box::into_raw(held).cast(),
    };
    capsule::<_, 2>(py, stream)
}

/// Rows of another library.
pub(crate) struct Incoming {
    pub(crate) schema: CSchema,
    rows: IncomingRows,
}

enum IncomingRows {
    Stream(CStream),
    /// One array, until it was taken.
    Array(Option<CArray>),
}

impl Incoming {
    /// What `object` exports: its stream, or one array. `None` if it exports neither.
    ///
    /// # Errors
    /// The exception of its method, or a capsule of another kind.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Result<Incoming, String>>> {
        if object.hasattr("__arrow_c_stream__")? {
            let capsule = object.call_method0("__arrow_c_stream__")?;
            let mut stream: CStream = taken(&capsule, STREAM, |stream: &mut CStream| {
                stream.release = None;
            })?;
            let mut schema = no_schema();
            let Some(get) = stream.get_schema else {
                return Ok(Some(Err("an empty stream".into())));
            };
            // SAFETY: a live stream, and room for a schema.
            let code = unsafe { get(&mut stream, &mut schema) };
            if code != 0 {
                return Ok(Some(Err(last_error(&mut stream, code))));
            }
            return Ok(Some(Ok(Incoming { schema, rows: IncomingRows::Stream(stream) })));
        }
        if object.hasattr("__arrow_c_array__")? {
            let pair = object.call_method0("__arrow_c_array__")?;
            let schema = taken(&pair.get_item(0)?, SCHEMA, |schema: &mut CSchema| {
                schema.release = None;
            })?;
            let array =
                taken(&pair.get_item(1)?, ARRAY, |array: &mut CArray| array.release = None)?;
            return Ok(Some(Ok(Incoming { schema, rows: IncomingRows::Array(Some(array)) })));
        }
        Ok(None)
    }

    /// The schema, and the next rows; `None` at the end. May wait for the interpreter lock: call it without.
    ///
    /// # Errors
    /// The text of the producer's error.
    pub(crate) fn next(&mut self) -> Result<Option<CArray>, String> {
        let stream = match &mut self.rows {
            IncomingRows::Array(array) => return Ok(array.take()),
            IncomingRows::Stream(stream) => stream,
        };
        let mut array = nothing();
        let get = stream.get_next.ok_or("an empty stream")?;
        // SAFETY: a live stream, and room for an array.
        let code = unsafe { get(stream, &mut array) };
        match code {
            0 => Ok(array.release.is_some().then_some(array)),
            code => Err(last_error(stream, code)),
        }
    }
}

fn no_schema() -> CSchema {
    CSchema {
        format: null(),
        name: null(),
        metadata: null(),
        flags: 0,
        n_children: 0,
        children: null_mut(),
        dictionary: null_mut(),
        release: None,
        private: null_mut(),
    }
}

/// Moves the structure out of a capsule; `leave` marks it as taken.
fn taken<T>(capsule: &Bound<'_, PyAny>, name: &CStr, leave: fn(&mut T)) -> PyResult<T> {
    // SAFETY: a live object; anything but a capsule of this name sets an exception.
    let held = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
    if held.is_null() {
        return Err(PyErr::fetch(capsule.py()));
    }
    let held = held.cast::<T>();
    // SAFETY: the protocol lets the consumer move the structure, if it marks what is left as released.
    let value = unsafe { held.read() };
    // SAFETY: as above; the capsule's structure is live.
    leave(unsafe { &mut *held });
    Ok(value)
}

fn last_error(stream: &mut CStream, code: c_int) -> String {
    let text = stream.get_last_error.map_or(null(), |get| {
        // SAFETY: a live stream.
        unsafe { get(stream) }
    });
    if text.is_null() {
        return std::io::Error::from_raw_os_error(code).to_string();
    }
    // SAFETY: a text that ends with zero and lives until the next call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
