//! `Grouping`: neighbors with the same key become a sample.
//!
//! FORMAT.md has the rule. A sample is given only once what follows it shows that it is whole: a tar
//! that is cut between two members never gives half a sample.

use std::path::Path;
use std::sync::Arc;

use tarflume_formats::name;
use tarflume_formats::repeat::Repeat;
use tarflume_formats::tar::{Member, MemberKind};

use super::pool::{Body, Pool, Span};
use super::sample::StreamSample;
use super::shares::Shares;
use super::tar::Tar;
use crate::error::{Error, ErrorKind, Result};

/// What stands next in a shard.
#[derive(Debug)]
pub(super) enum Found {
    /// A sample.
    Sample(StreamSample),
    /// A sample that can't be taken, by its row; those behind it can.
    Bad(u64, Error),
}

/// The samples of one shard.
pub(super) struct Grouping {
    tar: Tar,
    shard: Arc<Path>,
    number: u64,
    pool: Arc<Pool>,
    /// Bytes of memory that one sample may take.
    most: u64,
    /// The member that ended the sample before it.
    pending: Option<Member>,
    open: Option<Open>,
    /// Of the open sample.
    repeat: Repeat,
    /// The key whose members are passed over, for their sample is bad.
    bad: Option<Vec<u8>>,
    row: u64,
    members: u64,
}

struct Open {
    body: Body,
    first: u64,
}

impl Grouping {
    /// The samples of `tar`, which is `shard`, the `number`th of its stream. A sample may take `most`
    /// bytes of the pool.
    pub(super) fn new(
        tar: Tar,
        shard: Arc<Path>,
        number: u64,
        pool: Arc<Pool>,
        most: u64,
    ) -> Grouping {
        let (pending, open, bad, repeat) = (None, None, None, Repeat::new());
        Grouping { tar, shard, number, pool, most, pending, open, repeat, bad, row: 0, members: 0 }
    }

    /// The next sample; `None` at the end of the shard.
    ///
    /// # Errors
    /// The shard can't be read on: see [`Tar::next_member`]. The sample that was open is lost.
    pub(super) fn next(&mut self) -> Result<Option<Found>> {
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
                return Ok(self.close().map(Found::Sample));
            }
            let mut open = self.open.take().unwrap_or_else(|| self.begin(key, member.first));
            let added = self.add(&mut open.body, &member, &name::lower(ext));
            match added {
                Ok(None) => self.open = Some(open),
                Ok(Some(bad)) => {
                    self.bad = Some(key.to_vec());
                    self.row += 1;
                    self.pool.put(open.body, 0);
                    return Ok(Some(Found::Bad(self.row - 1, self.placed(bad, &member))));
                }
                Err(error) => {
                    self.open = Some(open);
                    return Err(self.lost(error));
                }
            }
        }
    }

    /// At the end marker: the last sample, then what stands behind the marker.
    fn end(&mut self) -> Result<Option<Found>> {
        if let Some(last) = self.close() {
            return Ok(Some(Found::Sample(last)));
        }
        self.tar.finish().map(|()| None).map_err(|e| e.with_path(&self.shard))
    }

    /// Samples that were found, bad ones too, and members looked at.
    pub(super) fn counted(&self) -> (u64, u64) {
        (self.row, self.members)
    }

    fn begin(&mut self, key: &[u8], first: u64) -> Open {
        self.bad = None;
        self.repeat.clear();
        let mut body = self.pool.body();
        body.names.extend_from_slice(key);
        body.key = key.len();
        Open { body, first }
    }

    /// Reads the member's data into `body`; `Some` if the sample is bad for it.
    fn add(&mut self, body: &mut Body, member: &Member, ext: &[u8]) -> Result<Option<Error>> {
        let earlier = body.parts.iter().map(|p| &body.names[p.ext.0..p.ext.1]);
        if self.repeat.has(ext, earlier) {
            let text = format!(
                "the part '{}' stands twice in this sample: readers disagree which one counts",
                name::shown(ext)
            );
            return Ok(Some(Error::new(ErrorKind::Damaged, text)));
        }
        let cost = body.cost_with(ext.len(), member.size);
        if cost > self.most {
            let text = format!(
                "this sample has {} bytes and more, which with their buffer are over the {} that \
                 the stream's memory leaves for one: raise its memory to {} bytes",
                (body.used as u64).saturating_add(member.size),
                self.most,
                Shares::memory_for(cost)
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

    /// The open sample, which is whole.
    fn close(&mut self) -> Option<StreamSample> {
        let Open { body, first } = self.open.take()?;
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

    fn placed(&self, error: Error, member: &Member) -> Error {
        let key = name::split(&member.name).map_or(&member.name[..], |(key, _)| key);
        error.with_path(&self.shard).with_byte(member.first).with_key(name::shown(key))
    }

    /// Names the sample that is lost with the rest of the shard, if the error names no other.
    fn lost(&mut self, error: Error) -> Error {
        let error = error.with_path(&self.shard);
        match self.open.take() {
            Some(Open { body, first }) => {
                let key = name::shown(&body.names[..body.key]);
                self.pool.put(body, 0);
                error.with_byte(first).with_key(key)
            }
            None => error,
        }
    }
}
