//! The walk over a tar's members: asks for bytes, is given them, says what it found.
//!
//! It reads nothing itself and remembers one member at a time, so a tar of any size, honest or
//! not, takes little memory. Each step asks for bytes farther on than the last: it always ends.

use crate::content::Content;
use crate::error::{Error, ErrorKind, Result};
use crate::tar::header::{
    BLOCK, Header, MemberKind, check_sum, has_no_data, is_zero_block, padded, shown, stored_name,
    stored_size,
};
use crate::tar::number::{SIZE_MAX, until_zero};
use crate::tar::pax::Records;

/// The most bytes that a long name or a pax header may have.
pub const EXTRA_MAX: u64 = 1 << 20;

/// A member as it lies in the tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The whole name, from whichever header holds it; any bytes but zero.
    pub name: Vec<u8>,
    /// What it is; never a kind that no reader of shards handles (sparse, several volumes).
    pub kind: MemberKind,
    /// Where its first header block starts, long names and pax headers included.
    pub first: u64,
    /// Where its data starts.
    pub data: u64,
    /// Bytes of data, without the padding.
    pub size: u64,
}

impl Member {
    /// Where the block after the data and its padding starts.
    pub fn end(&self) -> u64 {
        padded(self.size).map_or(u64::MAX, |len| self.data.saturating_add(len))
    }
}

/// What a step of the walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The next member. That the tar is long enough to hold its data shows at the next step.
    Member(Member),
    /// The end marker; the walk is over, and bytes after the marker are not looked at.
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
/// Where the whole tar is in memory or mapped, [`Walk::step_in`] does the first half of that.
/// After an error a walk has nothing more to say and must not be used.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Where the wanted bytes start.
    at: u64,
    state: State,
    pending: Pending,
    /// True once a pax header was met: from then on bsdtar believes the size of a hard link.
    pax: bool,
    last: Option<Last>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// A header, or the end marker's first block.
    Header,
    /// The data of a header that speaks of the next member, with its padding.
    Extra { typeflag: u8, header: u64, size: usize, padded: usize },
    /// The end marker's second block.
    SecondZero,
    /// Nothing: the end marker stood at `end`.
    Over { end: u64 },
}

/// What headers before a member's own have said about it.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// Where the first of them stands.
    first: Option<u64>,
    name: Option<Vec<u8>>,
    size: Option<u64>,
    /// As in the pax records.
    sparse: Option<Vec<u8>>,
}

/// The member before, kept to be named should the tar end inside it.
#[derive(Debug, Clone, Default)]
struct Last {
    name: Vec<u8>,
    first: u64,
    /// Where its data ends, padding left out.
    data_end: u64,
}

impl Default for Walk {
    fn default() -> Self {
        Walk::new()
    }
}

impl Walk {
    /// A walk from the start of a tar.
    pub fn new() -> Self {
        Walk::at(0)
    }

    /// A walk from `offset`, where some member's first header block or the end marker stands.
    pub fn at(offset: u64) -> Self {
        let pending = Pending::default();
        Walk { at: offset, state: State::Header, pending, pax: false, last: None }
    }

    /// The bytes of the tar that the next step takes: where they start and how many. At most
    /// [`EXTRA_MAX`] of them, and none once the walk is over.
    pub fn want(&self) -> (u64, usize) {
        let len = match self.state {
            State::Header | State::SecondZero => BLOCK as usize,
            State::Extra { padded, .. } => padded,
            State::Over { .. } => 0,
        };
        (self.at, len)
    }

    /// Takes the bytes that [`Walk::want`] asked for; more may follow them and are not looked at.
    /// `None` means that a member or the end marker takes further bytes to tell.
    ///
    /// Fewer bytes say that the tar ends after them. If it may have ended before them, inside the
    /// last member's data, call [`Walk::eof`] instead, for only the tar's length tells.
    ///
    /// # Errors
    /// [`ErrorKind::BadHeader`] for what is no header, or lies, or means different things to
    /// different readers; [`ErrorKind::Unsupported`] for sparse files, parts of other volumes and
    /// pax headers that rename every member; [`ErrorKind::Limit`] for a long name or pax header
    /// over [`EXTRA_MAX`]; [`ErrorKind::WrongFormat`] for compressed tars; and those of
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
            // `want` asked for a block.
            (_, None) => Err(self.eof(at)),
        }
    }

    /// Takes the next step in a tar that is in memory, from its first byte to its last.
    ///
    /// # Errors
    /// Those of [`Walk::step`].
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
                let text = "a hard link in a pax archive has a size: some readers of tars skip so \
                            many bytes, others none";
                Err(self.no_header(Error::new(ErrorKind::BadHeader, text), block))
            }
            _ => self.member(header).map(|member| Some(Event::Member(member))),
        }
    }

    /// Adds to a header's error what is known around it.
    fn no_header(&self, error: Error, block: &[u8; 512]) -> Error {
        if self.at == 0
            && let Some(error) = packed(block)
        {
            return error;
        }
        let error = error.with_byte(self.at);
        // Where the checksum is wrong there is no name to believe.
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
            let text = "a lone block of zeros stands here, and no end marker: readers disagree \
                        about what follows it";
            return Err(Error::new(ErrorKind::BadHeader, text).with_byte(end));
        }
        self.at = self.checked_end(self.at, 0)?;
        self.state = State::Over { end };
        Ok(Some(Event::End { offset: end }))
    }

    /// The end of a header at `header` and its `size` bytes of data, padded.
    fn checked_end(&self, header: u64, size: u64) -> Result<u64> {
        let data = header.checked_add(BLOCK);
        let end = data.and_then(|data| data.checked_add(padded(size)?));
        end.filter(|&end| end <= SIZE_MAX).ok_or_else(|| {
            let text = format!("the header says {size} bytes follow, which no file can hold");
            Error::new(ErrorKind::BadHeader, text).with_byte(header)
        })
    }

    /// Makes ready to take the data of a header that speaks of the next member.
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
        // A global header belongs to no one member.
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
            // Where a link leads is nothing to us.
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
        let first = pending.first.unwrap_or(at);
        let size = match pending.size {
            Some(_) if header.typeflag == b'V' => {
                let text = "a pax header gives a size to a volume label: bsdtar gives it to the member \
                            behind; pack the samples again, or remove the label";
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
        let placed = |e: Error| e.with_byte(first).with_key(shown(&name));
        if let Some(true_name) = pending.sparse {
            let key = if true_name.is_empty() { &name } else { &true_name };
            return Err(unsupported(MemberKind::Sparse).with_byte(first).with_key(shown(key)));
        }
        // 'N' is a long name of the oldest GNU tars, which no reader in use understands.
        if matches!(kind, MemberKind::Sparse | MemberKind::Multivolume | MemberKind::Other(b'N')) {
            return Err(placed(unsupported(kind)));
        }
        let end = self.checked_end(at, size).map_err(placed)?;
        let data = at + BLOCK;
        self.at = end;
        self.state = State::Header;
        let last = self.last.get_or_insert_default();
        last.name.clone_from(&name);
        (last.first, last.data_end) = (first, data + size);
        Ok(Member { name, kind, first, data, size })
    }
}

impl Pending {
    /// Takes a name. Which of two headers wins differs between readers, so they must agree.
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

/// A global pax header that named, sized or holed every member would be obeyed by some readers and
/// passed over by others. What is in use (git's comment, times, owners) is nothing to us.
fn refuse_global(records: &Records) -> Result<()> {
    if *records == Records::default() {
        return Ok(());
    }
    let text = "a global pax header gives every member after it one name, size or sparse map: \
                readers disagree about it";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// The pax size of a member that has no data.
fn no_data(size: u64) -> Result<u64> {
    if size == 0 {
        return Ok(0);
    }
    let text = format!(
        "a pax header gives {size} bytes to a member that has no data: some readers of tars skip so \
         many bytes, others none"
    );
    Err(Error::new(ErrorKind::BadHeader, text))
}

fn unsupported(kind: MemberKind) -> Error {
    let text = format!("this member is {kind}, which readers of shards can't read");
    Error::new(ErrorKind::Unsupported, text)
}

/// The error for a tar that starts with `bytes`, should they be those of a packed one or of a file of
/// another kind.
fn packed(bytes: &[u8]) -> Option<Error> {
    let found = Content::of(bytes)?;
    let what = found.name;
    let text = if found.is_compressed() {
        format!("this is {what}, no plain tar: decompress it first, or stream it as it is")
    } else if bytes.first_chunk().is_some_and(|block| check_sum(block).is_ok()) {
        return None; // a member whose name looks like that
    } else {
        format!("this is no tar, but {what}")
    };
    Some(Error::new(ErrorKind::WrongFormat, text).with_byte(0))
}

mod ends;
#[cfg(test)]
mod tests;
