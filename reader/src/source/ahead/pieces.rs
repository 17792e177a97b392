//! `Pieces`: which ranges of shards are on their way or here, within a budget. Pure: no I/O, no
//! clock, no thread. Answers come in as arguments; their type is the caller's, so a forecast of requests runs
//! the same rules without bytes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The most requests to a store at the same time.
pub(crate) const AT_ONCE: usize = 256;
/// A longer range is fetched as several pieces: one connection brings some 90 MB a second.
pub(crate) const MOST: u64 = 8 << 20;

/// A piece: number of its shard, first byte.
pub(crate) type PieceId = (u64, u64);

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
    /// True if a reader has taken bytes of it.
    touched: bool,
    /// The order of planning, for the choice of what is dropped.
    age: u64,
}

/// The pieces of all shards of a data set, whose answers are of type `A`.
#[derive(Debug)]
pub(crate) struct Pieces<A> {
    pieces: BTreeMap<PieceId, Piece<A>>,
    queue: VecDeque<PieceId>,
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
    pub(crate) fn new(budget: u64, at_once: usize) -> Pieces<A> {
        let (pieces, queue, by_age) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Pieces { pieces, queue, by_age, bytes: 0, budget, sent: 0, at_once, ages: 0 }
    }

    /// The piece that has byte `at`, and its end.
    pub(crate) fn with_byte(&self, shard: u64, at: u64) -> Option<(PieceId, u64)> {
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

    /// Plans to fetch a range, in pieces of at most [`MOST`] bytes, which end at multiples of `grain`.
    pub(crate) fn advise(&mut self, shard: u64, range: Range<u64>, grain: u64) {
        let mut start = range.start;
        while start < range.end {
            let end = ((start + MOST) / grain * grain).min(range.end);
            self.plan(shard, start, end - start);
            start = end;
        }
    }

    /// Plans to fetch what no piece has of a range, as far as there is room: advice is a hint. Pieces that were
    /// read from give way, the oldest first. Those that have a part of the range count as new.
    pub(crate) fn plan(&mut self, shard: u64, at: u64, length: u64) {
        let (mut from, end) = (at, at + length);
        while from < end {
            if let Some((id, piece_end)) = self.with_byte(shard, from) {
                self.renew(id);
                from = piece_end;
                continue;
            }
            let stop = self.next_start(shard, from).map_or(end, |next| next.min(end));
            if !self.make_room(stop - from) {
                return;
            }
            self.add((shard, from), stop);
            from = stop;
        }
    }

    fn add(&mut self, id: PieceId, end: u64) {
        self.ages += 1;
        let piece = Piece { end, state: PieceState::Queued, touched: false, age: self.ages };
        self.pieces.insert(id, piece);
        self.by_age.insert(self.ages, id);
        self.queue.push_back(id);
        self.bytes += end - id.1;
    }

    fn renew(&mut self, id: PieceId) {
        self.ages += 1;
        if let Some(piece) = self.pieces.get_mut(&id) {
            self.by_age.remove(&piece.age);
            piece.age = self.ages;
            self.by_age.insert(self.ages, id);
        }
    }

    /// Drops pieces that were read from until `length` more bytes fit; false if they do not. Samples of a
    /// piece are read in any order and with bytes between them, so only its age says that it is done.
    fn make_room(&mut self, length: u64) -> bool {
        while self.bytes + length > self.budget {
            let is_used = |id: &&PieceId| {
                let piece = self.pieces.get(id);
                piece.is_some_and(|p| p.touched && matches!(p.state, PieceState::Here(_)))
            };
            let Some(id) = self.by_age.values().find(is_used).copied() else { return false };
            self.remove(id);
        }
        true
    }

    /// Takes the next piece to be requested, with its end, if a connection is free.
    pub(crate) fn next(&mut self) -> Option<(PieceId, u64)> {
        while self.sent < self.at_once {
            let id = self.queue.pop_front()?;
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
    pub(crate) fn arrived(&mut self, id: PieceId, length: Option<u64>, answer: A) -> bool {
        let fits = |piece: &Piece<A>| length.is_none_or(|length| length == piece.end - id.1);
        match self.pieces.get_mut(&id) {
            Some(piece) if matches!(piece.state, PieceState::Sent) && fits(piece) => {
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
    pub(crate) fn released(&mut self) {
        self.sent -= 1;
    }

    /// `length` bytes of a piece were read, from byte `at` on. A piece that was read at once is dropped.
    pub(crate) fn used(&mut self, id: PieceId, at: u64, length: u64) {
        match self.pieces.get_mut(&id) {
            Some(piece) if at != id.1 || at + length != piece.end => piece.touched = true,
            Some(_) => self.remove(id),
            None => {}
        }
    }

    /// Of `length` bytes from `at` on, where no piece is, how many a reader asks for: up to the next piece.
    pub(crate) fn lacking(&self, shard: u64, at: u64, length: u64) -> u64 {
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
        (self.bytes, self.queue) = (0, VecDeque::new());
        self.pieces.clear();
        self.by_age.clear();
    }

    /// Drops the pieces of a shard that was closed.
    pub(crate) fn forget(&mut self, shard: u64) {
        let of_shard: Vec<_> =
            self.pieces.range((shard, 0)..=(shard, u64::MAX)).map(|(id, _)| *id).collect();
        of_shard.into_iter().for_each(|id| self.remove(id));
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pieces = super::Pieces<()>;

    fn here(pieces: &mut Pieces, id: PieceId) {
        let length = pieces.pieces[&id].end - id.1;
        assert!(pieces.arrived(id, Some(length), ()));
        pieces.released();
    }

    #[test]
    fn a_range_is_fetched_once() {
        let mut pieces = Pieces::new(1000, 4);
        pieces.plan(7, 100, 50);
        pieces.plan(7, 100, 50);
        pieces.plan(7, 120, 10);
        assert_eq!(pieces.next(), Some(((7, 100), 150)));
        assert_eq!(pieces.next(), None);
        pieces.plan(7, 90, 70);
        assert_eq!(pieces.next(), Some(((7, 90), 100)), "what is before it");
        assert_eq!(pieces.next(), Some(((7, 150), 160)), "and behind it");
        assert_eq!(pieces.next(), None);
        pieces.remove((7, 90));
        pieces.remove((7, 150));
        assert_eq!(pieces.with_byte(7, 149), Some(((7, 100), 150)));
        assert_eq!(pieces.with_byte(7, 150), None);
        assert_eq!(pieces.with_byte(8, 110), None);
        assert_eq!((pieces.next_start(7, 0), pieces.next_start(7, 101)), (Some(100), None));
        here(&mut pieces, (7, 100));
        pieces.remove((7, 100));
        assert_eq!((pieces.bytes(), pieces.with_byte(7, 110)), (0, None));
    }

    #[test]
    fn the_budget_and_the_connections_are_bounds() {
        let mut pieces = Pieces::new(100, 2);
        for n in 0..5 {
            pieces.plan(0, n * 30, 30);
        }
        assert_eq!(pieces.bytes(), 90, "the other two were not planned");
        assert!(pieces.next().is_some() && pieces.next().is_some());
        assert_eq!(pieces.next(), None, "two requests at once");
        here(&mut pieces, (0, 0));
        assert_eq!(pieces.next(), Some(((0, 60), 90)));
        pieces.plan(1, 0, 30);
        assert_eq!(pieces.with_byte(1, 0), None, "no piece was read from, so none gives way");
        pieces.used((0, 0), 0, 5);
        pieces.plan(1, 0, 30);
        assert_eq!(pieces.with_byte(1, 0), Some(((1, 0), 30)), "what was read from gave way");
        assert_eq!(pieces.with_byte(0, 10), None);
    }

    #[test]
    fn late_and_double_answers_change_nothing() {
        let mut pieces = Pieces::new(100, 2);
        pieces.plan(0, 0, 10);
        pieces.next();
        here(&mut pieces, (0, 0));
        assert!(!pieces.arrived((0, 0), None, ()));
        pieces.forget(0);
        assert!(!pieces.arrived((0, 0), None, ()));
        assert_eq!(pieces.bytes(), 0);
    }

    #[test]
    fn an_answer_for_an_earlier_piece_is_ignored() {
        let mut pieces = Pieces::new(1000, 4);
        pieces.plan(0, 0, 10);
        pieces.next();
        pieces.clear(); // the next epoch
        pieces.plan(0, 0, 30);
        pieces.next();
        assert!(!pieces.arrived((0, 0), Some(10), ()), "it would be read past its end");
        assert!(pieces.arrived((0, 0), Some(30), ()));
    }

    #[test]
    fn what_somebody_waits_for_is_requested_next() {
        let mut pieces = Pieces::new(100, 1);
        for n in 0..3 {
            pieces.plan(0, n * 10, 10);
        }
        pieces.hurry((0, 20));
        assert_eq!(pieces.next(), Some(((0, 20), 30)));
    }

    #[test]
    fn long_ranges_are_divided_and_pieces_that_were_read_at_once_are_dropped() {
        let mut pieces = Pieces::new(100 << 20, 4);
        pieces.advise(0, 100..101 + 2 * MOST, 1);
        assert_eq!(pieces.next(), Some(((0, 100), 100 + MOST)));
        assert_eq!(pieces.next(), Some(((0, 100 + MOST), 100 + 2 * MOST)));
        assert_eq!(pieces.next(), Some(((0, 100 + 2 * MOST), 101 + 2 * MOST)));
        here(&mut pieces, (0, 100));
        pieces.used((0, 100), 200, 50);
        assert!(pieces.with_byte(0, 100).is_some(), "a part of it was read");
        pieces.used((0, 100), 100, MOST);
        assert_eq!(pieces.with_byte(0, 100), None);
        assert_eq!((pieces.lacking(0, 90, 5), pieces.lacking(0, 90, 2 * MOST)), (5, MOST + 10));
    }
}
