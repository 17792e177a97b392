//! Pieces and offers, without a store.

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
    pieces.advise(7, 100..150, 1);
    pieces.advise(7, 100..150, 1);
    pieces.advise(7, 120..130, 1);
    assert_eq!(pieces.next_request(), Some(((7, 100), 150)));
    assert_eq!(pieces.next_request(), None);
    pieces.advise(7, 90..160, 1);
    assert_eq!(pieces.next_request(), Some(((7, 90), 100)), "what is before it");
    assert_eq!(pieces.next_request(), Some(((7, 150), 160)), "and behind it");
    assert_eq!(pieces.next_request(), None);
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
        pieces.advise(0, n * 30..n * 30 + 30, 1);
    }
    assert_eq!(pieces.bytes(), 90, "the other two were not planned");
    assert!(pieces.next_request().is_some() && pieces.next_request().is_some());
    assert_eq!(pieces.next_request(), None, "two requests at once");
    here(&mut pieces, (0, 0));
    assert_eq!(pieces.next_request(), Some(((0, 60), 90)));
    pieces.advise(1, 0..30, 1);
    assert_eq!(pieces.with_byte(1, 0), None, "no piece was read from, so none gives way");
    pieces.used((0, 0), 0, 5);
    pieces.advise(1, 0..30, 1);
    assert_eq!(pieces.with_byte(1, 0), Some(((1, 0), 30)), "what was read from gave way");
    assert_eq!(pieces.with_byte(0, 10), None);
}

#[test]
fn late_and_double_answers_change_nothing() {
    let mut pieces = Pieces::new(100, 2);
    pieces.advise(0, 0..10, 1);
    pieces.next_request();
    here(&mut pieces, (0, 0));
    assert!(!pieces.arrived((0, 0), None, ()));
    pieces.forget(0);
    assert!(!pieces.arrived((0, 0), None, ()));
    assert_eq!(pieces.bytes(), 0);
}

#[test]
fn an_answer_for_an_earlier_piece_is_ignored() {
    let mut pieces = Pieces::new(1000, 4);
    pieces.advise(0, 0..10, 1);
    pieces.next_request();
    pieces.clear(); // the next epoch
    pieces.advise(0, 0..30, 1);
    pieces.next_request();
    assert!(!pieces.arrived((0, 0), Some(10), ()), "it would be read past its end");
    assert!(pieces.arrived((0, 0), Some(30), ()));
}

#[test]
fn what_somebody_waits_for_is_requested_next() {
    let mut pieces = Pieces::new(100, 1);
    for n in 0..3 {
        pieces.advise(0, n * 10..n * 10 + 10, 1);
    }
    pieces.hurry((0, 20));
    assert_eq!(pieces.next_request(), Some(((0, 20), 30)));
}

#[test]
fn long_ranges_are_divided_and_pieces_that_were_read_at_once_are_dropped() {
    let mut pieces = Pieces::new(100 << 20, 4);
    pieces.advise(0, 100..101 + 2 * MOST, 1);
    assert_eq!(pieces.next_request(), Some(((0, 100), 100 + MOST)));
    assert_eq!(pieces.next_request(), Some(((0, 100 + MOST), 100 + 2 * MOST)));
    assert_eq!(pieces.next_request(), Some(((0, 100 + 2 * MOST), 101 + 2 * MOST)));
    here(&mut pieces, (0, 100));
    pieces.used((0, 100), 200, 50);
    assert!(pieces.with_byte(0, 100).is_some(), "a part of it was read");
    pieces.used((0, 100), 100, MOST);
    assert_eq!(pieces.with_byte(0, 100), None);
    assert_eq!((pieces.lacking(0, 90, 5), pieces.lacking(0, 90, 2 * MOST)), (5, MOST + 10));
}

/// An offer of samples of ten bytes.
fn samples(shard: u64, range: Range<u64>) -> Offer {
    Offer { shard, starts: range.clone().step_by(10).collect(), range }
}

fn take_offers(pieces: &mut Pieces) -> usize {
    let mut taken = 0;
    while let Some(offer) = pieces.take_offer() {
        pieces.plan_offer(&offer, offer.range.clone(), 1);
        taken += 1;
    }
    taken
}

#[test]
fn an_offer_waits_until_the_samples_before_it_were_read() {
    let mut pieces = Pieces::new(100, 4);
    pieces.offer(samples(0, 0..80));
    pieces.offer(samples(0, 100..150));
    assert_eq!((take_offers(&mut pieces), pieces.bytes()), (1, 80));
    assert_eq!(pieces.next_request(), Some(((0, 0), 80)));
    here(&mut pieces, (0, 0));
    pieces.used((0, 0), 20, 60);
    assert_eq!(take_offers(&mut pieces), 0, "two samples were not read");
    assert_eq!(pieces.with_byte(0, 5), Some(((0, 0), 80)));
    pieces.used((0, 0), 10, 10);
    pieces.used((0, 0), 0, 10);
    assert_eq!(pieces.with_byte(0, 5), None, "a piece whose samples were all read is dropped");
    assert_eq!((take_offers(&mut pieces), pieces.bytes()), (1, 50));
}

#[test]
fn a_reader_gets_an_offer_without_room() {
    let mut pieces = Pieces::new(100, 4);
    pieces.offer(samples(0, 0..80));
    pieces.offer(samples(0, 100..150));
    pieces.offer(samples(0, 200..250));
    assert_eq!(take_offers(&mut pieces), 1);
    pieces.next_request();
    here(&mut pieces, (0, 0));
    pieces.advise(0, 90..140, 1); // of a batch: left to the offer, without room for the rest
    assert_eq!((pieces.bytes(), pieces.next_request()), (90, Some(((0, 90), 100))));
    let offer = pieces.demand(0, 120).unwrap();
    pieces.plan_offer(&offer, offer.range.clone(), 1);
    assert_eq!(pieces.with_byte(0, 149), Some(((0, 100), 150)));
    assert_eq!(pieces.bytes(), 140, "nothing was read from, so nothing gives way");
    pieces.used((0, 0), 0, 10);
    assert!(pieces.demand(0, 120).is_none());
    let offer = pieces.demand(0, 200).unwrap();
    pieces.plan_offer(&offer, offer.range.clone(), 1);
    assert_eq!((pieces.bytes(), pieces.with_byte(0, 5)), (110, None), "the oldest gave way");
    pieces.offer(samples(0, 0..101));
    assert!(!pieces.has_offers(), "it would never have room");
}

#[test]
fn offers_that_overlap_are_fetched_once() {
    let mut pieces = Pieces::new(1000, 4);
    pieces.offer(Offer { shard: 0, range: 0..100, starts: vec![0, 90] });
    pieces.offer(Offer { shard: 0, range: 50..150, starts: vec![50, 140] });
    assert_eq!((take_offers(&mut pieces), pieces.bytes()), (2, 150));
    pieces.next_request();
    here(&mut pieces, (0, 0));
    pieces.used((0, 0), 0, 10);
    pieces.used((0, 0), 90, 10);
    pieces.make_room(900);
    assert!(pieces.with_byte(0, 50).is_some(), "a later offer has a sample in it");
    pieces.used((0, 0), 50, 10);
    pieces.make_room(900);
    assert_eq!(pieces.with_byte(0, 50), None);
}
