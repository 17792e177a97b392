//! The fetcher under many schedules of its threads: `shuttle` decides at each lock which thread runs next, and
//! reports a deadlock or a failed assertion with the schedule that led to it.

use std::sync::atomic::AtomicUsize;

use tarflume_fixtures::scheduled::{explore, thread};

use crate::source::ahead::Done;
use crate::source::ahead::fetcher::*;

const SCHEDULES: usize = 3_000;
const SAMPLE: u64 = 10;
const SAMPLES: u64 = 8;
/// Bytes of an offer: two samples.
const OFFER: u64 = 2 * SAMPLE;
/// Room for two offers.
const ROOM: u64 = 2 * OFFER;
const AT_ONCE: usize = 2;
const READERS: u64 = 2;

fn byte(at: u64) -> u8 {
    at as u8 ^ 0x5a
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Failed,
    /// Nobody ever answers, and whoever should is gone.
    Dropped,
}

/// Answers each request in a thread of its own.
#[derive(Debug)]
struct Server {
    /// The request that begins at this byte of the file has `fate`; all others are answered.
    special: u64,
    fate: Fate,
    under_way: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn answer(at: u64, length: u64) -> Bytes {
        (at..at + length).map(byte).collect::<Vec<u8>>().into()
    }
}

impl Background for Server {
    fn read(&self, at: u64, length: u64) -> Result<Bytes> {
        thread::yield_now();
        Ok(Server::answer(at, length))
    }

    fn begin(&self, at: u64, length: u64, done: Done) {
        let under_way = self.under_way.clone();
        let fate = if self.special == at { self.fate } else { Fate::Answered };
        self.requests.fetch_add(1, Ordering::SeqCst);
        assert!(under_way.fetch_add(1, Ordering::SeqCst) < AT_ONCE, "too many requests at once");
        thread::spawn(move || {
            under_way.fetch_sub(1, Ordering::SeqCst);
            match fate {
                Fate::Answered => done(Some(Server::answer(at, length))),
                Fate::Failed => done(None),
                Fate::Dropped => drop(done),
            }
        });
    }
}

struct Setting {
    fetcher: Arc<Fetcher>,
    file: Arc<AheadFile>,
    requests: Arc<AtomicUsize>,
}

/// A fetcher of a file whose server gives `fate` to the request that begins at byte `special`.
fn setting(special: u64, fate: Fate) -> Setting {
    let limits = Limits { at_once: AT_ONCE, hedged: 0, patience: None };
    let fetcher = Arc::new(Fetcher::new(ROOM, limits));
    let requests = Arc::new(AtomicUsize::new(0));
    let server = Server { special, fate, under_way: Arc::default(), requests: requests.clone() };
    let file = Arc::new(AheadFile { number: 7, reads: Box::new(server), blocks: None });
    fetcher.open(&file);
    Setting { fetcher, file, requests }
}

impl Setting {
    fn offer_all(&self) {
        for start in (0..SAMPLES * SAMPLE).step_by(OFFER as usize) {
            self.fetcher.expect(&self.file, start..start + OFFER, &[start, start + SAMPLE]);
        }
    }

    /// Threads that read every sample once, in the order of the offers or in the reverse one.
    fn readers(&self, reversed: bool) -> Vec<thread::JoinHandle<()>> {
        (0..READERS)
            .map(|number| {
                let fetcher = self.fetcher.clone();
                let file = self.file.clone();
                thread::spawn(move || {
                    for sample in (number..SAMPLES).step_by(READERS as usize) {
                        let sample = if reversed { SAMPLES - 1 - sample } else { sample };
                        let mut bytes = [0; SAMPLE as usize];
                        fetcher.read(&file, sample * SAMPLE, &mut bytes).unwrap();
                        let place = sample * SAMPLE..(sample + 1) * SAMPLE;
                        assert!(bytes.into_iter().eq(place.map(byte)), "sample {sample}");
                        let held = fetcher.pieces.lock().unwrap().bytes();
                        assert!(held <= ROOM + READERS * OFFER, "{held} bytes are held");
                    }
                })
            })
            .collect()
    }
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn every_offer_is_one_request_and_every_sample_is_read() {
    explore(SCHEDULES, || {
        let set = setting(0, Fate::Answered);
        set.offer_all();
        join(set.readers(false));
        assert_eq!(set.requests.load(Ordering::SeqCst) as u64, SAMPLES * SAMPLE / OFFER);
        let pieces = set.fetcher.pieces.lock().unwrap();
        assert_eq!((pieces.bytes(), pieces.has_offers()), (0, false), "all were read and dropped");
    });
}

#[test]
fn readers_that_come_out_of_order_wait_for_nothing_that_has_no_room() {
    explore(SCHEDULES, || {
        let set = setting(0, Fate::Answered);
        set.offer_all();
        join(set.readers(true));
    });
}

#[test]
fn readers_that_come_before_their_offers_read_by_themselves() {
    explore(SCHEDULES, || {
        let set = setting(0, Fate::Answered);
        let readers = set.readers(false);
        set.offer_all();
        join(readers);
    });
}

#[test]
fn requests_that_fail_or_are_lost_stop_no_reader() {
    for fate in [Fate::Failed, Fate::Dropped] {
        explore(SCHEDULES, move || {
            let set = setting(OFFER, fate);
            set.offer_all();
            join(set.readers(false));
        });
    }
}

#[test]
fn a_new_epoch_and_a_closed_file_stop_no_reader() {
    explore(SCHEDULES, || {
        let set = setting(0, Fate::Answered);
        set.offer_all();
        let readers = set.readers(false);
        set.fetcher.clear();
        set.offer_all();
        set.fetcher.forget(set.file.number);
        join(readers);
    });
}
