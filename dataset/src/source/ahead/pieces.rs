//! `Pieces`: which ranges of shards are on their way or here, within a budget. Pure: no I/O, no
//! clock, no thread. Answers come in as arguments; their type is the caller's, so a forecast of requests runs
//! the same rules without bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::source::ahead::offers::{Offer, Offers, PieceId};

/// The most requests to a store at the same time.
pub const AT_ONCE: usize = 256;
/// A longer range is fetched as several pieces: one connection brings some 90 MB a second.
pub(crate) const MOST: u64 = 8 << 20;

/// What became of a piece.
#[derive(Debug, Clone)]
pub(crate) enum PieceState<A> {
    /// Waits for a free connection.
    Queued,
    /// Its request was sent.
    Sent,
    /// The answer.
    Here(A),
}

#[derive(Debug)]
struct Piece<A> {
    end: u64,
    state: PieceState<A>,
    /// Bytes that readers have taken.
    used: u64,
    /// First bytes of the samples that will be read from it, ascending; how many of them were not read yet.
    starts: Vec<u64>,
    left: usize,
    /// The order of planning, for the choice of what is dropped.
    age: u64,
}

/// The pieces of all shards of a data set, whose answers are of type `A`.
#[derive(Debug)]
pub struct Pieces<A> {
    pieces: BTreeMap<PieceId, Piece<A>>,
    queue: VecDeque<PieceId>,
    /// What has no room yet.
    offers: Offers,
    /// The pieces in the order of planning.
    by_age: BTreeMap<u64, PieceId>,
    /// Bytes of all pieces.
    bytes: u64,
    budget: u64,
    sent: usize,
    at_once: usize,
    ages: u64,
}

impl<A: Clone> Pieces<A> {
    /// At most `budget` bytes of pieces, and `at_once` requests at the same time.
    pub fn new(budget: u64, at_once: usize) -> Pieces<A> {
        Pieces {
            pieces: BTreeMap::new(),
            queue: VecDeque::new(),
            offers: Offers::default(),
            by_age: BTreeMap::new(),
            bytes: 0,
            budget,
            sent: 0,
            at_once,
            ages: 0,
        }
    }

    /// The piece that has byte `at`, and its end.
    pub fn with_byte(&self, shard: u64, at: u64) -> Option<(PieceId, u64)> {
        let (id, piece) = self.pieces.range(..=(shard, at)).next_back()?;
        (id.0 == shard && at < piece.end).then_some((*id, piece.end))
    }

    /// The first byte of the next piece of a shard behind `at`.
    pub(crate) fn next_start(&self, shard: u64, at: u64) -> Option<u64> {
        let (id, _) = self.pieces.range((shard, at)..).next()?;
        (id.0 == shard).then_some(id.1)
    }

    pub(crate) fn state(&self, id: PieceId) -> Option<PieceState<A>> {
        self.pieces.get(&id).map(|piece| piece.state.clone())
    }

    /// Announces a range that will be read. It is planned once it has room; see [`Pieces::take_offer`].
    pub fn offer(&mut self, offer: Offer) {
        if offer.length() <= self.budget {
            self.offers.push(offer);
        }
    }

    /// Takes the next offer, if there is room for it now: plan it with [`Pieces::plan_offer`].
    pub fn take_offer(&mut self) -> Option<Offer> {
        let length = self.offers.first()?.length();
        if !self.make_room(length) {
            return None;
        }
        self.offers.pop()
    }

    /// Takes the offer that has byte `at`, because a reader waits for it. The oldest pieces that were read from give way;
    /// without such a piece, its bytes are held beyond the budget.
    pub fn demand(&mut self, shard: u64, at: u64) -> Option<Offer> {
        let offer = self.offers.take(shard, at)?;
        while self.bytes + offer.length() > self.budget && self.drop_oldest(|piece| piece.used > 0)
        {
        }
        Some(offer)
    }

    /// Plans a range of an offer that was taken, in pieces of at most `MOST` bytes, which end at multiples of `grain`.
    pub fn plan_offer(&mut self, offer: &Offer, range: Range<u64>, grain: u64) {
        let mut start = range.start;
        while start < range.end {
            // The blocks of a cache are written whole, so a block must not be divided between two requests.
            let end = ((start + MOST) / grain * grain).min(range.end);
            self.plan(offer.shard, start..end, Some(&offer.starts));
            start = end;
        }
    }

    /// Plans to fetch a range, as [`Pieces::plan_offer`], as far as there is room: advice is a hint. Ranges that wait for
    /// room are left to their offers.
    pub fn advise(&mut self, shard: u64, range: Range<u64>, grain: u64) {
        let mut start = range.start;
        while start < range.end {
            let end = ((start + MOST) / grain * grain).min(range.end);
            self.plan(shard, start..end, None);
            start = end;
        }
    }

    /// Plans to fetch what no piece has of a range. Pieces that have a part of it count as new. `starts`: of an offer,
    /// which has room.
    fn plan(&mut self, shard: u64, range: Range<u64>, starts: Option<&[u64]>) {
        let mut from = range.start;
        let end = range.end;
        while from < end {
            if let Some((id, piece_end)) = self.with_byte(shard, from) {
                self.renew(id, starts.unwrap_or_default());
                from = piece_end;
                continue;
            }
            if let Some(offer) = self.offers.with_byte(shard, from).filter(|_| starts.is_none()) {
                from = offer.range.end;
                continue;
            }
            let mut stop = self.next_start(shard, from).map_or(end, |next| next.min(end));
            if starts.is_none() {
                stop = self.offers.next_start(shard, from).map_or(stop, |next| next.min(stop));
                if !self.make_room(stop - from) {
                    return;
                }
            }
            self.add((shard, from), stop, starts.unwrap_or_default());
            from = stop;
        }
    }

    fn add(&mut self, id: PieceId, end: u64, starts: &[u64]) {
        self.ages += 1;
        let starts = starts_in(starts, id.1..end).to_vec();
        let state = PieceState::Queued;
        let left = starts.len();
        self.pieces.insert(id, Piece { end, state, used: 0, starts, left, age: self.ages });
        self.by_age.insert(self.ages, id);
        self.queue.push_back(id);
        self.bytes += end - id.1;
    }

    fn renew(&mut self, id: PieceId, starts: &[u64]) {
        self.ages += 1;
        if let Some(piece) = self.pieces.get_mut(&id) {
            self.by_age.remove(&piece.age);
            piece.age = self.ages;
            self.by_age.insert(self.ages, id);
            let more = starts_in(starts, id.1..piece.end);
            if !more.is_empty() {
                piece.starts.extend(more);
                piece.starts.sort_unstable();
                piece.left += more.len();
            }
        }
    }

    /// Drops pieces until `length` more bytes fit; false if they do not. Pieces give way whose samples were all read; of
    /// pieces without known samples, those that were read from.
    fn make_room(&mut self, length: u64) -> bool {
        while self.bytes + length > self.budget {
            if !self.drop_oldest(|piece| piece.used > 0 && piece.left == 0) {
                return false;
            }
        }
        true
    }

    /// Drops the oldest piece that is here and for which `gives_way` is true; false if there is none.
    fn drop_oldest(&mut self, gives_way: impl Fn(&Piece<A>) -> bool) -> bool {
        // Dropping one that is on its way would free no memory: its bytes arrive in any case.
        let found = self.by_age.values().copied().find(|id| {
            self.pieces
                .get(id)
                .is_some_and(|piece| matches!(piece.state, PieceState::Here(_)) && gives_way(piece))
        });
        found.map(|id| self.remove(id)).is_some()
    }

    /// Takes the next piece to be requested, with its end, if a connection is free.
    pub fn next_request(&mut self) -> Option<(PieceId, u64)> {
        while self.sent < self.at_once {
            let id = self.queue.pop_front()?;
            // A piece that was dropped meanwhile is still in the queue.
            if let Some(piece) = self.pieces.get_mut(&id) {
                piece.state = PieceState::Sent;
                self.sent += 1;
                return Some((id, piece.end));
            }
        }
        None
    }

    /// Moves a queued piece to the front of the queue, because a reader waits for it.
    pub(crate) fn hurry(&mut self, id: PieceId) {
        if let Some(at) = self.queue.iter().position(|queued| *queued == id) {
            self.queue.remove(at);
            self.queue.push_front(id);
        }
    }

    /// A request has ended, with so many bytes unless it failed. Returns true if it was the first answer for the piece.
    /// Bytes of another length answer a request for an earlier piece that began at the same byte: they are ignored.
    pub fn arrived(&mut self, id: PieceId, length: Option<u64>, answer: A) -> bool {
        match self.pieces.get_mut(&id) {
            Some(piece)
                if matches!(piece.state, PieceState::Sent)
                    && length.is_none_or(|length| length == piece.end - id.1) =>
            {
                piece.state = PieceState::Here(answer);
                true
            }
            _ => false,
        }
    }

    /// True if pieces wait for a free connection.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Changes the number of requests at the same time.
    pub(crate) fn allow(&mut self, at_once: usize) {
        self.at_once = at_once;
    }

    /// A connection is free again.
    pub fn released(&mut self) {
        self.sent -= 1;
    }

    /// `length` bytes of a piece were read, from byte `at` on. A piece that was read at once is dropped, and one whose
    /// samples were all read, unless many of its bytes were not: later samples may need them.
    pub fn used(&mut self, id: PieceId, at: u64, length: u64) {
        let Some(piece) = self.pieces.get_mut(&id) else { return };
        let samples = starts_in(&piece.starts, at..at + length).len();
        piece.left = piece.left.saturating_sub(samples);
        piece.used += length;
        let all = piece.end - id.1;
        let is_done = !piece.starts.is_empty() && piece.left == 0 && piece.used >= all - all / 8;
        if is_done || (at == id.1 && length == all) {
            self.remove(id);
        }
    }

    /// Of `length` bytes from `at` on, where no piece is, how many a reader asks for: up to the next piece.
    pub fn lacking(&self, shard: u64, at: u64, length: u64) -> u64 {
        self.next_start(shard, at + 1).map_or(length, |next| length.min(next - at))
    }

    pub(crate) fn remove(&mut self, id: PieceId) {
        if let Some(piece) = self.pieces.remove(&id) {
            self.bytes -= piece.end - id.1;
            self.by_age.remove(&piece.age);
        }
    }

    /// Drops all pieces, because the epoch that they were planned for has ended. Requests that were sent end by
    /// themselves.
    pub(crate) fn clear(&mut self) {
        // `sent` stays: each request that is under way still calls `released`.
        (self.bytes, self.queue) = (0, VecDeque::new());
        self.pieces.clear();
        self.by_age.clear();
        self.offers.clear();
    }

    /// Drops the pieces of a shard that was closed.
    pub(crate) fn forget(&mut self, shard: u64) {
        let of_shard: Vec<_> =
            self.pieces.range((shard, 0)..=(shard, u64::MAX)).map(|(id, _)| *id).collect();
        of_shard.into_iter().for_each(|id| self.remove(id));
        self.offers.forget(shard);
    }

    /// True if ranges wait for room.
    pub(crate) fn has_offers(&self) -> bool {
        !self.offers.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The starts that are in a range.
fn starts_in(starts: &[u64], range: Range<u64>) -> &[u64] {
    &starts[starts.partition_point(|start| *start < range.start)
        ..starts.partition_point(|start| *start < range.end)]
}

#[cfg(test)]
mod tests;
