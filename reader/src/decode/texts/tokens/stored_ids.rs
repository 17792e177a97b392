//! The parts of a block of tokens: ids, where documents begin, and the runs of ids with loss. Each is checked before it is used.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Header, MAX_DIMS};
use tarflume_types::{Error, ErrorKind, Result};

/// Whole numbers in an npy file of one dimension.
pub(super) struct Numbers<'a> {
    data: &'a [u8],
    width: usize,
    signed: bool,
}

impl<'a> Numbers<'a> {
    pub(super) fn parse(bytes: &'a [u8], ext: &str) -> Result<Numbers<'a>> {
        let head = Header::parse(bytes).map_err(|e| {
            let at = e.place().byte.unwrap_or(0);
            fault(ext, message!("{told}, at byte {at} of the part"; told = e.message()))
        })?;
        let data = &bytes[head.data as usize..];
        let width = head.dtype.size as usize;
        let known = matches!(head.dtype.kind, 'u' | 'i') && head.dtype.little;
        if !known || head.shape().len() != 1 || width > 8 {
            let dtype = head.dtype;
            let shape = &head.shape()[..head.shape().len().min(MAX_DIMS)];
            let text = format!(
                "expected little-endian integers of one dimension, found {dtype} {shape:?}"
            );
            return Err(fault(ext, text.into()));
        }
        if head.data_bytes() != data.len() as u64 {
            let declared = head.data_bytes();
            let found = data.len();
            let text = message!("its header declares {declared} bytes of data, {found} follow");
            return Err(fault(ext, text));
        }
        Ok(Numbers { data, width, signed: head.dtype.kind == 'i' })
    }

    pub(super) fn len(&self) -> usize {
        self.data.len() / self.width
    }

    /// Returns a number; one of `u64` that `i64` cannot hold becomes negative.
    pub(super) fn get(&self, at: usize) -> i64 {
        let bytes = &self.data[at * self.width..(at + 1) * self.width];
        let value = bytes.iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte));
        let spare = 64 - 8 * self.width as u32;
        if self.signed { (value << spare).cast_signed() >> spare } else { value.cast_signed() }
    }
}

/// The error about a part with this extension.
pub(super) fn fault(ext: &str, text: Message) -> Error {
    Error::new(ErrorKind::Decode, message!("{ext}: {text}"; text = text))
}

/// The runs of ids with loss.
pub(super) struct Runs<'a> {
    /// A begin and an end for each; `None` if all ids have loss.
    bounds: Option<Numbers<'a>>,
}

impl<'a> Runs<'a> {
    /// Checks that the runs are in order and stay inside `ids`.
    pub(super) fn of(bounds: Option<Numbers<'a>>, ids: usize, ext: &str) -> Result<Runs<'a>> {
        let Some(numbers) = bounds else { return Ok(Runs { bounds: None }) };
        let mut last = 0;
        for at in 0..numbers.len() {
            let bound = numbers.get(at);
            if bound < last || bound > ids as i64 {
                let text = format!(
                    "{ext}: element {at} is {bound}; the places of loss do not decrease and are at most {ids}"
                );
                return Err(Error::new(ErrorKind::Decode, text));
            }
            last = bound;
        }
        if numbers.len() % 2 == 1 {
            let text = format!("{ext}: {} elements, and each run of loss has two", numbers.len());
            return Err(Error::new(ErrorKind::Decode, text));
        }
        Ok(Runs { bounds: Some(numbers) })
    }

    /// Returns whether an id has loss. `passed` is the number of bounds before it, which grows.
    pub(super) fn have(&self, at: usize, passed: &mut usize) -> bool {
        let Some(bounds) = &self.bounds else { return true };
        while *passed < bounds.len() && bounds.get(*passed) <= at as i64 {
            *passed += 1;
        }
        *passed % 2 == 1
    }
}

/// Where documents begin and end in a block.
pub(super) struct Bounds<'a> {
    numbers: Option<Numbers<'a>>,
    /// The number of ids without padding.
    pub(super) used: usize,
}

impl<'a> Bounds<'a> {
    /// Checks that the bounds begin at 0, do not decrease and stay inside `ids`.
    pub(super) fn of(numbers: Option<Numbers<'a>>, ids: usize, ext: &str) -> Result<Bounds<'a>> {
        let Some(numbers) = numbers else { return Ok(Bounds { numbers: None, used: ids }) };
        let mut last = 0;
        for at in 0..numbers.len() {
            let bound = numbers.get(at);
            if bound < last || bound > ids as i64 || (at == 0 && bound != 0) {
                let text = format!(
                    "{ext}: element {at} is {bound}; bounds begin at 0, do not decrease and are at most {ids}"
                );
                return Err(Error::new(ErrorKind::Decode, text));
            }
            last = bound;
        }
        Ok(Bounds { numbers: Some(numbers), used: last as usize })
    }

    /// Returns the end of document `number`.
    pub(super) fn end(&self, number: usize) -> usize {
        match &self.numbers {
            Some(numbers) if number + 1 < numbers.len() => numbers.get(number + 1) as usize,
            _ => self.used,
        }
    }
}
