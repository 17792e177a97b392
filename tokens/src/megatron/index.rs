//! `Index`: the `.idx` file, read in pieces; every number in it is checked before it is used.

use std::fs::File;
use std::io;
use std::ops::Range;

use tarflume_formats::files::read_exact_at;
use tarflume_formats::{Error, ErrorKind, Result};

use super::layout::MAGIC;

/// Bytes before the lengths.
const HEAD: u64 = 34;
/// Numbers of a table that are read at once.
const PIECE: u64 = 64 << 10;

/// Bytes that can be read anywhere.
pub trait Bytes {
    /// Returns how many there are.
    ///
    /// # Errors
    /// Returns an error if the operating system does not answer.
    fn length(&self) -> io::Result<u64>;

    /// Fills `into` from byte `at` on.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses or the bytes end before.
    fn read(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

impl Bytes for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        read_exact_at(self, into, at)
    }
}

impl Bytes for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let own = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..into.len()));
        into.copy_from_slice(own.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// The type of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdType {
    /// Code 1.
    U8,
    /// Code 2.
    I8,
    /// Code 3.
    I16,
    /// Code 4.
    I32,
    /// Code 5.
    I64,
    /// Code 8.
    U16,
}

impl IdType {
    /// Returns the type that Megatron-LM uses for a vocabulary of this size.
    pub fn of_vocabulary(size: u64) -> IdType {
        if size < 65_500 { IdType::U16 } else { IdType::I32 }
    }

    /// Returns the code in the index.
    pub fn code(self) -> u8 {
        match self {
            IdType::U8 => 1,
            IdType::I8 => 2,
            IdType::I16 => 3,
            IdType::I32 => 4,
            IdType::I64 => 5,
            IdType::U16 => 8,
        }
    }

    /// Returns the bytes of an id.
    pub fn bytes(self) -> u64 {
        match self {
            IdType::U8 | IdType::I8 => 1,
            IdType::I16 | IdType::U16 => 2,
            IdType::I32 => 4,
            IdType::I64 => 8,
        }
    }

    /// Returns true if ids have a sign.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, IdType::I8 | IdType::I16 | IdType::I32 | IdType::I64)
    }

    fn of(code: u8) -> Result<IdType> {
        Ok(match code {
            1 => IdType::U8,
            2 => IdType::I8,
            3 => IdType::I16,
            4 => IdType::I32,
            5 => IdType::I64,
            8 => IdType::U16,
            6 | 7 => {
                let text = "the elements are floats (code 6 or 7), which are no ids";
                return Err(Error::new(ErrorKind::Unsupported, text).with_byte(17));
            }
            _ => {
                let text = format!("the type has the unknown code {code}");
                return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(17));
            }
        })
    }
}

/// A table of numbers in the index; holds one piece of it.
#[derive(Debug)]
struct Table {
    at: u64,
    width: u64,
    count: u64,
    first: u64,
    piece: Vec<u8>,
}

impl Table {
    fn new(at: u64, width: u64, count: u64) -> Table {
        Table { at, width, count, first: 0, piece: Vec::new() }
    }

    /// Returns a number with its sign, and its byte in the file.
    fn get(&mut self, from: &impl Bytes, number: u64) -> Result<(i64, u64)> {
        let held = self.piece.len() as u64 / self.width;
        if number < self.first || number >= self.first + held {
            let count = PIECE.min(self.count.saturating_sub(number));
            self.piece.resize((count * self.width) as usize, 0);
            self.first = number;
            let at = self.at + number * self.width;
            let read = from.read(&mut self.piece, at);
            if read.is_err() {
                self.piece.clear();
            }
            read.map_err(unread)?;
        }
        let start = ((number - self.first) * self.width) as usize;
        let own = self.piece.get(start..start + self.width as usize).ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("the index has no number {number} here"))
        })?;
        let value = match *own {
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => i64::from_le_bytes(own.try_into().expect("a number has 4 or 8 bytes")),
        };
        Ok((value, self.at + number * self.width))
    }
}

fn unread(error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof => ErrorKind::Truncated,
        _ => ErrorKind::Io,
    };
    Error::new(kind, "cannot read").with_cause(error)
}

/// The place of a sequence in the file of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// Its first byte.
    pub at: u64,
    /// Its number of ids.
    pub count: u64,
}

impl Sequence {
    /// Returns the byte behind it; `None` above `u64::MAX`.
    fn end(self, ids: IdType) -> Option<u64> {
        self.count.checked_mul(ids.bytes()).and_then(|bytes| self.at.checked_add(bytes))
    }
}

/// An index of sequences and documents.
#[derive(Debug)]
pub struct Index<B> {
    from: B,
    /// The type of ids.
    pub kind: IdType,
    /// Number of sequences.
    pub sequences: u64,
    /// Number of documents.
    pub documents: u64,
    /// Bytes of the file of ids.
    data: u64,
    lengths: Table,
    pointers: Table,
    begins: Table,
}

impl<B: Bytes> Index<B> {
    /// Reads the head of an index, for a file of `data` bytes of ids.
    ///
    /// # Errors
    /// Returns an error with the byte if it is no index, if its length does not fit its numbers, or
    /// if reading fails.
    pub fn open(from: B, data: u64) -> Result<Index<B>> {
        let length = from.length().map_err(unread)?;
        if length < HEAD {
            let text = format!("the file has {length} bytes, an index has {HEAD} or more");
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(length));
        }
        let mut head = [0; HEAD as usize];
        from.read(&mut head, 0).map_err(unread)?;
        if !head.starts_with(MAGIC) {
            let text = "this is no Megatron index: it does not begin with MMIDIDX";
            return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(0));
        }
        let version = number_at(&head, 9);
        if version != 1 {
            let text = format!("version {version}; this program reads version 1");
            return Err(Error::new(ErrorKind::Version, text).with_byte(9));
        }
        let kind = IdType::of(head[17])?;
        let sequences = number_at(&head, 18);
        let bounds = number_at(&head, 26);
        let tables = TableBytes::of(sequences, bounds);
        let fits = tables.is_some_and(|TableBytes { end, .. }| {
            length == end || end.checked_add(sequences) == Some(length) // with modes
        });
        let Some(TableBytes { pointers, begins, .. }) = tables.filter(|_| fits && bounds > 0)
        else {
            let text = format!(
                "the file has {length} bytes, which does not fit {sequences} sequences and {bounds} \
                 bounds of documents"
            );
            return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(18));
        };
        let mut index = Index {
            from,
            kind,
            sequences,
            documents: bounds - 1,
            data,
            lengths: Table::new(HEAD, 4, sequences),
            pointers: Table::new(pointers, 8, sequences),
            begins: Table::new(begins, 8, bounds),
        };
        index.check_ends()?;
        Ok(index)
    }

    /// Checks the first and the last bound of documents.
    fn check_ends(&mut self) -> Result<()> {
        for (number, expected) in [(0, 0), (self.documents, self.sequences)] {
            let (found, byte) = self.begins.get(&self.from, number)?;
            if u64::try_from(found) != Ok(expected) {
                let text = format!("the bound {number} of documents is {found}, not {expected}");
                return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(byte));
            }
        }
        Ok(())
    }

    /// Returns the numbers of a document's sequences.
    ///
    /// # Errors
    /// Returns an error with the byte if the bounds decrease or there is no such document.
    pub fn document(&mut self, number: u64) -> Result<Range<u64>> {
        if number >= self.documents {
            let text = format!("there is no document {number}; there are {}", self.documents);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let (begin, _) = self.begins.get(&self.from, number)?;
        let (end, byte) = self.begins.get(&self.from, number + 1)?;
        match (u64::try_from(begin), u64::try_from(end)) {
            (Ok(begin), Ok(end)) if begin <= end && end <= self.sequences => Ok(begin..end),
            _ => {
                let text = format!("document {number} has the sequences {begin} to {end}");
                Err(Error::new(ErrorKind::WrongFormat, text).with_byte(byte))
            }
        }
    }

    /// Returns where a sequence is.
    ///
    /// # Errors
    /// Returns an error with the byte if it is outside the file of ids.
    pub fn sequence(&mut self, number: u64) -> Result<Sequence> {
        let (length, _) = self.lengths.get(&self.from, number)?;
        let (pointer, byte) = self.pointers.get(&self.from, number)?;
        let place = u64::try_from(pointer).ok().zip(u64::try_from(length).ok());
        let place = place.map(|(at, count)| Sequence { at, count });
        let end = place.and_then(|place| place.end(self.kind));
        place.filter(|_| end.is_some_and(|end| end <= self.data)).ok_or_else(|| {
            let text = format!(
                "sequence {number} has {length} ids at byte {pointer}, which is outside the {} bytes \
                 of the .bin file",
                self.data
            );
            Error::new(ErrorKind::WrongFormat, text).with_byte(byte)
        })
    }
}

/// Bytes of an index where its tables begin; that of lengths follows the head.
#[derive(Clone, Copy)]
struct TableBytes {
    pointers: u64,
    begins: u64,
    /// The byte behind the last table.
    end: u64,
}

impl TableBytes {
    fn of(sequences: u64, bounds: u64) -> Option<TableBytes> {
        let pointers = sequences.checked_mul(4)?.checked_add(HEAD)?;
        let begins = sequences.checked_mul(8)?.checked_add(pointers)?;
        let end = bounds.checked_mul(8)?.checked_add(begins)?;
        Some(TableBytes { pointers, begins, end })
    }
}

/// Returns the number at a byte of the head.
fn number_at(head: &[u8; HEAD as usize], at: usize) -> u64 {
    u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"))
}
