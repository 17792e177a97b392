//! `Grouping`: groups adjacent members with the same key into samples.
//!
//! FORMAT.md has the rule. A sample is returned only after the next member or the end marker proves it complete: a
//! tar that is truncated between two members never yields a partial sample.

use std::path::Path;
use std::sync::Arc;

use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Repeat, name};
use tarflume_types::{Error, ErrorKind, Result};

use super::buffers::{Body, BufferPool, Span};
use super::input::tar::Tar;
use super::memory_limits::MemoryLimits;
use super::sample::StreamSample;

/// The next entry of a shard.
#[derive(Debug)]
pub(super) enum Entry {
    /// A sample.
    Sample(StreamSample),
    /// A bad sample, by its row. Later ones can be read.
    Bad(u64, Error),
}

/// The samples of one shard.
pub(super) struct Grouping {
    tar: Tar,
    shard: Arc<Path>,
    number: u64,
    pool: Arc<BufferPool>,
    /// Maximum bytes of memory of one sample.
    most: u64,
    /// The member that ended the previous sample and begins the next one.
    pending: Option<Member>,
    open: Option<OpenSample>,
    /// Finds repeated parts of the open sample.
    repeat: Repeat,
    /// The key of a bad sample, whose remaining members are skipped.
    bad: Option<Vec<u8>>,
    row: u64,
    members: u64,
}

struct OpenSample {
    body: Body,
    first: u64,
}

impl Grouping {
    /// The samples of `tar`, which is shard number `number` of its stream, named `shard`. A sample may
    /// use `most` bytes of the pool.
    pub(super) fn new(
        tar: Tar,
        shard: Arc<Path>,
        number: u64,
        pool: Arc<BufferPool>,
        most: u64,
    ) -> Grouping {
        Grouping {
            tar,
            shard,
            number,
            pool,
            most,
            pending: None,
            open: None,
            repeat: Repeat::new(),
            bad: None,
            row: 0,
            members: 0,
        }
    }

    /// The next sample; `None` at the end of the shard.
    ///
    /// # Errors
    /// Returns an error if the rest of the shard cannot be read: see [`Tar::next_member`]. The open sample
    /// is lost.
    pub(super) fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            let member = match self.pending.take() {
                Some(member) => member,
                None => match self.tar.next_member() {
                    Ok(Some(member)) => member,
                    Ok(None) => return self.end(),
                    Err(error) => return Err(self.lost(error)),
                },
            };
            self.members += 1;
            if member.kind != MemberKind::File {
                continue;
            }
            let Some((key, ext)) = name::split(&member.name) else { continue };
            if self.bad.as_deref() == Some(key) {
                continue;
            }
            if self.open.as_ref().is_some_and(|open| open.body.names[..open.body.key] != *key) {
                self.members -= 1;
                self.pending = Some(member);
                return Ok(self.close().map(Entry::Sample));
            }
            let mut open = self.open.take().unwrap_or_else(|| self.begin(key, member.first));
            let added = self.add(&mut open.body, &member, &name::lower(ext));
            match added {
                Ok(None) => self.open = Some(open),
                Ok(Some(bad)) => {
                    self.bad = Some(key.to_vec());
                    self.row += 1;
                    self.pool.put(open.body, 0);
                    return Ok(Some(Entry::Bad(self.row - 1, self.placed(bad, &member))));
                }
                Err(error) => {
                    self.open = Some(open);
                    return Err(self.lost(error));
                }
            }
        }
    }

    /// At the end marker: returns the last sample, and at the next call checks what follows the marker.
    fn end(&mut self) -> Result<Option<Entry>> {
        if let Some(last) = self.close() {
            return Ok(Some(Entry::Sample(last)));
        }
        self.tar.finish().map(|()| None).map_err(|e| e.with_path(&self.shard))
    }

    /// Number of samples found, including bad ones, and number of members seen.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.row, self.members)
    }

    fn begin(&mut self, key: &[u8], first: u64) -> OpenSample {
        self.bad = None;
        self.repeat.clear();
        let mut body = self.pool.body();
        body.names.extend_from_slice(key);
        body.key = key.len();
        OpenSample { body, first }
    }

    /// Reads the member's data into `body`. Returns `Some` if it makes the sample bad.
    fn add(&mut self, body: &mut Body, member: &Member, ext: &[u8]) -> Result<Option<Error>> {
        let earlier = body.parts.iter().map(|p| &body.names[p.ext.0..p.ext.1]);
        if self.repeat.has(ext, earlier) {
            let text = format!(
                "the part '{}' is in this sample twice, and readers disagree which one counts",
                name::shown(ext)
            );
            return Ok(Some(Error::new(ErrorKind::Damaged, text)));
        }
        let cost = body.cost_with(ext.len(), member.size);
        if cost > self.most {
            let text = format!(
                "this sample has at least {} bytes, which with their buffer exceed the {} bytes that \
                 the stream's memory allows for one sample: raise its memory to {} bytes",
                (body.used as u64).saturating_add(member.size),
                self.most,
                MemoryLimits::memory_for(cost)
            );
            return Ok(Some(Error::new(ErrorKind::Limit, text)));
        }
        let size = member.size as usize;
        self.pool.grow(body, size);
        let data = (body.used, body.used + size);
        self.tar.data(member, &mut body.data[data.0..data.1])?;
        body.used = data.1;
        let start = body.names.len();
        body.names.extend_from_slice(ext);
        body.parts.push(Span { ext: (start, start + ext.len()), data, at: member.data });
        Ok(None)
    }

    /// Closes the open sample, which is complete.
    fn close(&mut self) -> Option<StreamSample> {
        let OpenSample { body, first } = self.open.take()?;
        let row = self.row;
        self.row += 1;
        Some(StreamSample {
            shard: Arc::clone(&self.shard),
            shard_number: self.number,
            row,
            first,
            body,
            pool: Arc::clone(&self.pool),
            charged: 0,
        })
    }

    /// Adds path, byte and key.
    fn placed(&self, error: Error, member: &Member) -> Error {
        let key = name::split(&member.name).map_or(&member.name[..], |(key, _)| key);
        error.with_path(&self.shard).with_byte(member.first).with_key(name::shown(key))
    }

    /// Closes the open sample, which is lost with the rest of the shard, and names it in the error unless
    /// that names another one.
    fn lost(&mut self, error: Error) -> Error {
        let error = error.with_path(&self.shard);
        match self.open.take() {
            Some(OpenSample { body, first }) => {
                let key = name::shown(&body.names[..body.key]);
                self.pool.put(body, 0);
                error.with_byte(first).with_key(key)
            }
            None => error,
        }
    }
}
