//! `Index`: the `.idx` file, read in pieces; every number in it is checked before it is used.

use std::fs::File;
use std::io;

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
pub enum Kind {
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

impl Kind {
    /// Returns the type that Megatron-LM uses for a vocabulary of this size.
    pub fn of_vocabulary(size: u64) -> Kind {
        if size < 65_500 { Kind::U16 } else { Kind::I32 }
    }

    /// Returns the code in the index.
    pub fn code(self) -> u8 {
        match self {
            Kind::U8 => 1,
            Kind::I8 => 2,
            Kind::I16 => 3,
            Kind::I32 => 4,
            Kind::I64 => 5,
            Kind::U16 => 8,
        }
    }

    /// Returns the bytes of an id.
    pub fn bytes(self) -> u64 {
        match self {
            Kind::U8 | Kind::I8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 => 4,
            Kind::I64 => 8,
        }
    }

    /// Returns true if ids have a sign.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64)
    }

    fn of(code: u8) -> Result<Kind> {
        Ok(match code {
            1 => Kind::U8,
            2 => Kind::I8,
            3 => Kind::I16,
            4 => Kind::I32,
            5 => Kind::I64,
            8 => Kind::U16,
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

/// An index of sequences and documents.
#[derive(Debug)]
pub struct Index<B> {
    from: B,
    /// The type of ids.
    pub kind: Kind,
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
        let number = |at: usize| {
            head[at..at + 8].iter().rev().fold(0u64, |all, &byte| all << 8 | u64::from(byte))
        };
        if number(9) != 1 {
            let text = format!("version {}; this program reads version 1", number(9));
            return Err(Error::new(ErrorKind::Version, text).with_byte(9));
        }
        let kind = Kind::of(head[17])?;
        let (sequences, bounds) = (number(18), number(26));
        let tables = tables(sequences, bounds);
        let fits = tables.is_some_and(|(.., end)| {
            length == end || end.checked_add(sequences) == Some(length) // with modes
        });
        let Some((pointers, begins, _)) = tables.filter(|_| fits && bounds > 0) else {
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

    /// Returns the first sequence of a document, and the first one behind it.
    ///
    /// # Errors
    /// Returns an error with the byte if the bounds decrease or there is no such document.
    pub fn document(&mut self, number: u64) -> Result<(u64, u64)> {
        if number >= self.documents {
            let text = format!("there is no document {number}; there are {}", self.documents);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let (begin, _) = self.begins.get(&self.from, number)?;
        let (end, byte) = self.begins.get(&self.from, number + 1)?;
        match (u64::try_from(begin), u64::try_from(end)) {
            (Ok(begin), Ok(end)) if begin <= end && end <= self.sequences => Ok((begin, end)),
            _ => {
                let text = format!("document {number} has the sequences {begin} to {end}");
                Err(Error::new(ErrorKind::WrongFormat, text).with_byte(byte))
            }
        }
    }

    /// Returns the first byte of a sequence in the file of ids, and its number of ids.
    ///
    /// # Errors
    /// Returns an error with the byte if it is outside the file of ids.
    pub fn sequence(&mut self, number: u64) -> Result<(u64, u64)> {
        let (length, _) = self.lengths.get(&self.from, number)?;
        let (pointer, byte) = self.pointers.get(&self.from, number)?;
        let place = u64::try_from(pointer).ok().zip(u64::try_from(length).ok());
        let bytes = self.kind.bytes();
        let inside = |&(at, count): &(u64, u64)| {
            let end = count.checked_mul(bytes).and_then(|size| at.checked_add(size));
            end.is_some_and(|end| end <= self.data)
        };
        place.filter(inside).ok_or_else(|| {
            let text = format!(
                "sequence {number} has {length} ids at byte {pointer}, which is outside the {} bytes \
                 of the .bin file",
                self.data
            );
            Error::new(ErrorKind::WrongFormat, text).with_byte(byte)
        })
    }
}

/// Returns where pointers and bounds begin and bounds end.
fn tables(sequences: u64, bounds: u64) -> Option<(u64, u64, u64)> {
    let pointers = sequences.checked_mul(4)?.checked_add(HEAD)?;
    let begins = sequences.checked_mul(8)?.checked_add(pointers)?;
    let end = bounds.checked_mul(8)?.checked_add(begins)?;
    Some((pointers, begins, end))
}
