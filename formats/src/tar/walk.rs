//! The walk over a tar's members: a state machine that requests bytes, takes them, and returns
//! members.
//!
//! It reads nothing itself and holds one member at a time, so a tar of any size, valid or not,
//! takes little memory. Each step requests bytes after the last ones, so the walk always ends.

use crate::errors::error::{Error, ErrorKind, Result};
use crate::message;
use crate::message::Name;
use crate::parts::content::Content;
use crate::tar::header::{
    BLOCK, Header, MemberKind, check_sum, has_no_data, is_zero_block, padded, shown, stored_name,
    stored_size,
};
use crate::tar::member::Member;
use crate::tar::number::{SIZE_MAX, until_zero};
use crate::tar::pax::Records;

/// Limit on the bytes of a long name or pax header.
pub const EXTRA_MAX: u64 = 1 << 20;

/// The result of a step of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next member. Whether the tar is long enough for its data shows at the next step.
    Member(Member),
    /// The end marker. The walk is over, unless [`Walk::read_on`] continues it behind the marker.
    End {
        /// Where the marker's first block of zeros starts.
        offset: u64,
    },
}

/// A walk over a tar's members that leaves reading to its caller.
///
/// ```text
/// let mut walk = Walk::new();
/// loop {
///     let (offset, len) = walk.want();
///     if offset + len as u64 > tar_len {
///         return Err(walk.eof(tar_len));
///     }
///     match walk.step(read(offset, len)?)? {
///         Some(Event::Member(member)) => ..,
///         Some(Event::End { .. }) => break,
///         None => {}
///     }
/// }
/// ```
///
/// Bytes behind the marker are for the caller to examine: zeros are padding, and anything else is an
/// error ([`behind_end`](crate::tar::behind_end)) or another tar, with which [`Walk::read_on`] continues.
///
/// If the whole tar is in memory or mapped, [`Walk::step_in`] combines `want` and `step`. After an
/// error a walk must not be used again.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Where the wanted bytes start.
    at: u64,
    state: State,
    pending: Pending,
    /// True after a pax header: bsdtar then honors the size of a hard link.
    pax: bool,
    /// A lone block of zeros before this byte is passed over.
    zeros_until: u64,
    last: Option<Last>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A header, or the end marker's first block.
    Header,
    /// The data, with its padding, of a header that describes the next member.
    Extra { typeflag: u8, header: u64, size: usize, padded: usize },
    /// The end marker's second block.
    SecondZero,
    /// Nothing: the end marker was at `end`.
    Over { end: u64 },
}

/// What headers before a member's own declare about it.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// The position of the first of them.
    first: Option<u64>,
    name: Option<Vec<u8>>,
    size: Option<u64>,
    /// As in the pax records.
    sparse: Option<Vec<u8>>,
}

/// The previous member, to name it if the tar ends inside it.
#[derive(Debug, Clone, Default)]
struct Last {
    name: Vec<u8>,
    first: u64,
    /// The end of its data without padding.
    data_end: u64,
}

impl Default for Walk {
    fn default() -> Self {
        Walk::new()
    }
}

impl Walk {
    /// Creates a walk from the start of a tar.
    pub fn new() -> Self {
        Walk::at(0)
    }

    /// Creates a walk from `offset`, which must be a member's first header block or the end marker.
    pub fn at(offset: u64) -> Self {
        Walk {
            at: offset,
            state: State::Header,
            pending: Pending::default(),
            pax: false,
            zeros_until: 0,
            last: None,
        }
    }

    /// Passes over lone blocks of zeros before byte `until`, as `tar --ignore-zeros` does. Without
    /// this they are errors.
    #[must_use]
    pub fn ignoring_zeros(self, until: u64) -> Walk {
        Walk { zeros_until: until, ..self }
    }

    /// Continues behind an end marker at `offset`, where the first block of another tar is.
    pub fn read_on(&mut self, offset: u64) {
        let last = self.last.take();
        *self = Walk { last, ..Walk::at(offset).ignoring_zeros(self.zeros_until) };
    }

    /// Returns position and number of the bytes that the next step needs: at most [`EXTRA_MAX`],
    /// and none once the walk is over.
    pub fn want(&self) -> (u64, usize) {
        let len = match self.state {
            State::Header | State::SecondZero => BLOCK as usize,
            State::Extra { padded, .. } => padded,
            State::Over { .. } => 0,
        };
        (self.at, len)
    }

    /// Takes the bytes that [`Walk::want`] requested; ignores bytes after them. Returns `None` if
    /// more bytes are needed for the next member or the end marker.
    ///
    /// Fewer bytes mean that the tar ends after them. If it may end before them, inside the last
    /// member's data, call [`Walk::eof`] instead, which takes the tar's length.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadHeader`] for an invalid header or one that readers interpret
    /// differently, [`ErrorKind::Unsupported`] for sparse files, parts of other volumes and pax
    /// headers that rename every member, [`ErrorKind::Limit`] for a long name or pax header over
    /// [`EXTRA_MAX`], [`ErrorKind::WrongFormat`] for compressed tars, and the errors of
    /// [`Walk::eof`].
    pub fn step(&mut self, bytes: &[u8]) -> Result<Option<Event>> {
        let (at, len) = self.want();
        let Some(bytes) = bytes.get(..len) else {
            let packed = if at == 0 { packed(bytes) } else { None };
            return Err(packed.unwrap_or_else(|| self.eof(at.saturating_add(bytes.len() as u64))));
        };
        match (self.state, bytes.first_chunk()) {
            (State::Header, Some(block)) => self.header(block),
            (State::SecondZero, Some(block)) => self.second_zero(block),
            (State::Extra { typeflag, header, size, .. }, _) => {
                let taken = self.extra(typeflag, &bytes[..size]);
                taken.map_err(|e| e.with_byte(header))?;
                self.at += len as u64;
                self.state = State::Header;
                Ok(None)
            }
            (State::Over { end }, _) => Ok(Some(Event::End { offset: end })),
            // `want` requested a block.
            (_, None) => Err(self.eof(at)),
        }
    }

    /// Takes the next step in a tar that is completely in memory.
    ///
    /// # Errors
    /// Returns the errors of [`Walk::step`].
    pub fn step_in(&mut self, tar: &[u8]) -> Result<Option<Event>> {
        match usize::try_from(self.at).ok().and_then(|at| tar.get(at..)) {
            Some(bytes) => self.step(bytes),
            None => Err(self.eof(tar.len() as u64)),
        }
    }

    fn header(&mut self, block: &[u8; 512]) -> Result<Option<Event>> {
        if is_zero_block(block) {
            return self.first_zero();
        }
        let header = match Header::parse(block) {
            Ok(header) => header,
            Err(error) => return Err(self.no_header(error, block)),
        };
        match header.typeflag {
            b'x' | b'X' | b'g' | b'L' | b'K' => self.start_extra(header).map(|()| None),
            b'1' if self.pax && stored_size(block)? > 0 => {
                let text = "a hard link in a pax archive has a size: some readers of tars skip that \
                            many bytes, others none";
                Err(self.no_header(Error::new(ErrorKind::BadHeader, text), block))
            }
            _ => self.member(header).map(|member| Some(Event::Member(member))),
        }
    }

    /// Adds the context to a header's error.
    fn no_header(&self, error: Error, block: &[u8; 512]) -> Error {
        if self.at == 0
            && let Some(error) = packed(block)
        {
            return error;
        }
        let error = error.with_byte(self.at);
        // Without a matching checksum the name is not trustworthy.
        if check_sum(block).is_ok() {
            let name = self.pending.name.clone().unwrap_or_else(|| stored_name(block));
            return error.with_key(shown(&name));
        }
        error
    }

    fn first_zero(&mut self) -> Result<Option<Event>> {
        if let Some(first) = self.pending.first {
            let text = "a long name or pax header has no member: the end marker follows it";
            return Err(Error::new(ErrorKind::BadHeader, text).with_byte(first));
        }
        self.at = self.checked_end(self.at, 0)?;
        self.state = State::SecondZero;
        Ok(None)
    }

    fn second_zero(&mut self, block: &[u8; 512]) -> Result<Option<Event>> {
        let end = self.at - BLOCK;
        if !is_zero_block(block) {
            if end < self.zeros_until {
                self.state = State::Header;
                return self.header(block);
            }
            let text = message!(
                "a lone block of zeros is not an end marker, and readers disagree about what follows it: read on \
                 with {ignore_zeros}";
                ignore_zeros = Name::IgnoreZeros.on()
            );
            return Err(Error::new(ErrorKind::BadHeader, text).with_byte(end));
        }
        self.at = self.checked_end(self.at, 0)?;
        self.state = State::Over { end };
        Ok(Some(Event::End { offset: end }))
    }

    /// Returns the end of a header at `header` and its `size` bytes of data, padded.
    fn checked_end(&self, header: u64, size: u64) -> Result<u64> {
        let data = header.checked_add(BLOCK);
        let end = data.and_then(|data| data.checked_add(padded(size)?));
        end.filter(|&end| end <= SIZE_MAX).ok_or_else(|| {
            let text = format!("the header says {size} bytes follow, which no file can hold");
            Error::new(ErrorKind::BadHeader, text).with_byte(header)
        })
    }

    /// Prepares to take the data of a header that describes the next member.
    fn start_extra(&mut self, header: Header) -> Result<()> {
        let at = self.at;
        if header.size > EXTRA_MAX {
            let text = format!(
                "a long name or pax header of {} bytes is more than the {EXTRA_MAX} we take",
                header.size
            );
            return Err(Error::new(ErrorKind::Limit, text).with_byte(at));
        }
        let end = self.checked_end(at, header.size)?;
        self.at = at + BLOCK;
        self.pax |= matches!(header.typeflag, b'x' | b'X' | b'g');
        // A global header describes no single member, so no member begins at it.
        if header.typeflag != b'g' {
            self.pending.first.get_or_insert(at);
        }
        self.state = State::Extra {
            typeflag: header.typeflag,
            header: at,
            size: header.size as usize,
            padded: (end - self.at) as usize,
        };
        Ok(())
    }

    fn extra(&mut self, typeflag: u8, data: &[u8]) -> Result<()> {
        match typeflag {
            // A link's target does not matter to shards.
            b'K' => Ok(()),
            b'L' => match until_zero(data) {
                b"" => Err(Error::new(ErrorKind::BadHeader, "a long name is empty")),
                name => self.pending.set_name(name.to_vec()),
            },
            b'g' => refuse_global(&Records::parse(data)?),
            _ => {
                let Records { path, size, sparse } = Records::parse(data)?;
                self.pending.sparse = sparse.or(self.pending.sparse.take());
                if let Some(name) = path {
                    self.pending.set_name(name)?;
                }
                size.map_or(Ok(()), |size| self.pending.set_size(size))
            }
        }
    }

    fn member(&mut self, header: Header) -> Result<Member> {
        let at = self.at;
        let pending = std::mem::take(&mut self.pending);
        let name = pending.name.unwrap_or(header.name);
        // A member begins at the first header that describes it, so that copying from there on keeps its
        // name and size.
        let first = pending.first.unwrap_or(at);
        let size = match pending.size {
            Some(_) if header.typeflag == b'V' => {
                let text = "a pax header gives a size to a volume label: bsdtar gives it to the next \
                            member; pack the samples again, or remove the label";
                return Err(Error::new(ErrorKind::BadHeader, text)
                    .with_byte(first)
                    .with_key(shown(&name)));
            }
            Some(size) if has_no_data(header.typeflag) => {
                no_data(size).map_err(|e| e.with_byte(first).with_key(shown(&name)))?
            }
            Some(size) => size,
            None => header.size,
        };
        let kind = MemberKind::of(header.typeflag, &name, size);
        if let Some(true_name) = pending.sparse {
            let key = if true_name.is_empty() { &name } else { &true_name };
            return Err(unsupported(MemberKind::Sparse).with_byte(first).with_key(shown(key)));
        }
        // 'N' is a long name of the oldest GNU tars, which no current reader supports.
        if matches!(kind, MemberKind::Sparse | MemberKind::Multivolume | MemberKind::Other(b'N')) {
            return Err(unsupported(kind).with_byte(first).with_key(shown(&name)));
        }
        let end =
            self.checked_end(at, size).map_err(|e| e.with_byte(first).with_key(shown(&name)))?;
        let data = at + BLOCK;
        self.at = end;
        self.state = State::Header;
        let last = self.last.get_or_insert_default();
        last.name.clone_from(&name);
        last.first = first;
        last.data_end = data + size;
        Ok(Member { name, kind, first, data, size })
    }
}

impl Pending {
    /// Takes a name. Readers disagree which of two headers wins, so both must agree.
    fn set_name(&mut self, name: Vec<u8>) -> Result<()> {
        match &self.name {
            Some(earlier) if *earlier != name => {
                let text = "two headers before this member give it different names";
                Err(Error::new(ErrorKind::BadHeader, text).with_key(shown(earlier)))
            }
            _ => {
                self.name = Some(name);
                Ok(())
            }
        }
    }

    fn set_size(&mut self, size: u64) -> Result<()> {
        match self.size {
            Some(earlier) if earlier != size => Err(Error::new(
                ErrorKind::BadHeader,
                "two headers before this member give it different sizes",
            )),
            _ => {
                self.size = Some(size);
                Ok(())
            }
        }
    }
}

/// Refuses a global pax header that sets name, size or sparse map of every member: some readers
/// obey it and others ignore it. Other keys in use (git's comment, times, owners) do not matter.
fn refuse_global(records: &Records) -> Result<()> {
    if *records == Records::default() {
        return Ok(());
    }
    let text = "a global pax header gives every member after it one name, size or sparse map: \
                readers disagree about it";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Checks the pax size of a member that has no data.
fn no_data(size: u64) -> Result<u64> {
    if size == 0 {
        return Ok(0);
    }
    let text = format!(
        "a pax header gives {size} bytes to a member that has no data: some readers of tars skip that \
         many bytes, others none"
    );
    Err(Error::new(ErrorKind::BadHeader, text))
}

fn unsupported(kind: MemberKind) -> Error {
    let text = format!("this member is {kind}, which readers of shards can't read");
    Error::new(ErrorKind::Unsupported, text)
}

/// Returns the error for a tar that starts with `bytes` if they are those of a compressed tar or of
/// another file type.
fn packed(bytes: &[u8]) -> Option<Error> {
    let found = Content::of(bytes)?;
    let what = found.name;
    let text = if found.is_compressed() {
        format!("this is {what}, no plain tar: decompress it first, or stream it as it is")
    } else if bytes.first_chunk().is_some_and(|block| check_sum(block).is_ok()) {
        return None; // a member whose name looks like that
    } else {
        format!("this is not a tar but {what}")
    };
    Some(Error::new(ErrorKind::WrongFormat, text).with_byte(0))
}

mod ends;
#[cfg(test)]
mod tests;
