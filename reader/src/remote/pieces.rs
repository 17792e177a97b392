//! `Pieces`: which ranges of shards are on their way or here, within a budget. Pure: no I/O, no
//! clock, no thread; bytes come in as arguments.

use std::collections::{BTreeMap, VecDeque};

use tarflume_store::{Bytes, Error};

/// A piece: number of its shard, first byte.
pub(crate) type PieceId = (u64, u64);

/// What became of a piece.
#[derive(Debug, Clone)]
pub(crate) enum PieceState {
    /// Waits for a free connection.
    Queued,
    /// Its request was sent.
    Sent,
    /// Its bytes, or why there are none.
    Here(Result<Bytes, Error>),
}

#[derive(Debug)]
struct Piece {
    end: u64,
    state: PieceState,
    /// Bytes that were not read yet. Gaps between samples are never read.
    unread: u64,
    /// The order of making, for the choice of what is dropped.
    age: u64,
}

/// The pieces of all shards of a data set.
#[derive(Debug)]
pub(crate) struct Pieces {
    pieces: BTreeMap<PieceId, Piece>,
    queue: VecDeque<PieceId>,
    /// Bytes of all pieces.
    bytes: u64,
    budget: u64,
    sent: usize,
    at_once: usize,
    ages: u64,
}

impl Pieces {
    /// At most `budget` bytes of pieces, and `at_once` requests at the same time.
    pub(crate) fn new(budget: u64, at_once: usize) -> Pieces {
        let (pieces, queue) = (BTreeMap::new(), VecDeque::new());
        Pieces { pieces, queue, bytes: 0, budget, sent: 0, at_once, ages: 0 }
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

    pub(crate) fn state(&self, id: PieceId) -> Option<PieceState> {
        self.pieces.get(&id).map(|piece| piece.state.clone())
    }

    /// Plans to fetch a range, unless it overlaps a piece or there is no room: advice is a hint.
    /// Pieces that are here give way, the oldest first.
    pub(crate) fn plan(&mut self, shard: u64, at: u64, length: u64) {
        let end = at + length;
        let before = self.pieces.range(..(shard, end)).next_back();
        let overlaps = before.is_some_and(|(id, piece)| id.0 == shard && piece.end > at);
        if length == 0 || overlaps || !self.make_room(length) {
            return;
        }
        self.ages += 1;
        let piece = Piece { end, state: PieceState::Queued, unread: length, age: self.ages };
        self.pieces.insert((shard, at), piece);
        self.queue.push_back((shard, at));
        self.bytes += length;
    }

    /// Drops pieces that are here until `length` more bytes fit; false if they do not.
    fn make_room(&mut self, length: u64) -> bool {
        while self.bytes + length > self.budget {
            let here = self.pieces.iter().filter(|(_, p)| matches!(p.state, PieceState::Here(_)));
            let partly = here.filter(|(id, piece)| piece.unread < piece.end - id.1);
            let Some(id) = partly.min_by_key(|(_, piece)| piece.age).map(|(id, _)| *id) else {
                return false;
            };
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

    /// Moves a queued piece to the front: somebody waits for it.
    pub(crate) fn hurry(&mut self, id: PieceId) {
        if let Some(at) = self.queue.iter().position(|queued| *queued == id) {
            self.queue.remove(at);
            self.queue.push_front(id);
        }
    }

    /// A request has ended. Returns true if it was the first answer for the piece.
    pub(crate) fn arrived(&mut self, id: PieceId, result: Result<Bytes, Error>) -> bool {
        match self.pieces.get_mut(&id) {
            Some(piece) if matches!(piece.state, PieceState::Sent) => {
                piece.state = PieceState::Here(result);
                true
            }
            _ => false,
        }
    }

    /// A connection is free again.
    pub(crate) fn released(&mut self) {
        self.sent -= 1;
    }

    /// Bytes of a piece were used. A piece without unread bytes is dropped.
    pub(crate) fn used(&mut self, id: PieceId, length: u64) {
        let Some(piece) = self.pieces.get_mut(&id) else { return };
        piece.unread = piece.unread.saturating_sub(length);
        if piece.unread == 0 {
            self.remove(id);
        }
    }

    pub(crate) fn remove(&mut self, id: PieceId) {
        if let Some(piece) = self.pieces.remove(&id) {
            self.bytes -= piece.end - id.1;
        }
    }

    /// Drops what nobody will read: pieces of an epoch that has ended. Requests that were sent end by
    /// themselves.
    pub(crate) fn clear(&mut self) {
        (self.bytes, self.queue) = (0, VecDeque::new());
        self.pieces.clear();
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

    fn here(pieces: &mut Pieces, id: PieceId) {
        let length = (pieces.pieces[&id].end - id.1) as usize;
        assert!(pieces.arrived(id, Ok(vec![0; length].into())));
        pieces.released();
    }

    #[test]
    fn a_range_is_fetched_once_and_dropped_when_it_was_read() {
        let mut pieces = Pieces::new(1000, 4);
        pieces.plan(7, 100, 50);
        pieces.plan(7, 100, 50);
        pieces.plan(7, 120, 10);
        pieces.plan(7, 90, 20);
        assert_eq!(pieces.next(), Some(((7, 100), 150)));
        assert_eq!(pieces.next(), None);
        assert_eq!(pieces.with_byte(7, 149), Some(((7, 100), 150)));
        assert_eq!(pieces.with_byte(7, 150), None);
        assert_eq!(pieces.with_byte(8, 110), None);
        assert_eq!((pieces.next_start(7, 0), pieces.next_start(7, 101)), (Some(100), None));
        here(&mut pieces, (7, 100));
        pieces.used((7, 100), 20);
        assert_eq!(pieces.bytes(), 50);
        pieces.used((7, 100), 30);
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
        assert_eq!(pieces.with_byte(1, 0), None, "nobody has begun to read what is here");
        pieces.used((0, 0), 10);
        pieces.plan(1, 0, 30);
        assert_eq!(pieces.with_byte(1, 0), Some(((1, 0), 30)), "what was read in part gave way");
        assert_eq!(pieces.with_byte(0, 10), None);
    }

    #[test]
    fn late_and_double_answers_change_nothing() {
        let mut pieces = Pieces::new(100, 2);
        pieces.plan(0, 0, 10);
        pieces.next();
        here(&mut pieces, (0, 0));
        assert!(!pieces.arrived((0, 0), Ok(Bytes::new())));
        pieces.forget(0);
        assert!(!pieces.arrived((0, 0), Ok(Bytes::new())));
        assert_eq!(pieces.bytes(), 0);
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
}
