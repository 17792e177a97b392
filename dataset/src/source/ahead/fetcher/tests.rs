//! Claims of blocks, by a store that fails at once.

use tarflume_types::{Error, ErrorKind};

use crate::source::ahead::fetcher::*;
use crate::source::ahead::{Done, Keep};

const BLOCK: u64 = 100;

/// Every request fails before `begin` returns.
#[derive(Debug)]
struct Failing;

impl Background for Failing {
    fn read(&self, _: u64, _: u64) -> Result<Bytes> {
        Err(Error::new(ErrorKind::Machine, "the store is gone"))
    }

    fn begin(&self, _: u64, _: u64, done: Done) {
        done(None);
    }
}

/// Blocks that are all missing: each is claimed once, until it is given back.
#[derive(Debug, Default, Clone)]
struct Claims(Arc<Mutex<Vec<u64>>>);

impl Claims {
    fn held(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }
}

impl Blocks for Claims {
    fn grain(&self) -> u64 {
        BLOCK
    }

    fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut claimed = self.0.lock().unwrap();
        let starts = (range.start..range.end).step_by(BLOCK as usize);
        let new: Vec<u64> = starts.filter(|start| !claimed.contains(start)).collect();
        claimed.extend(&new);
        new.into_iter().map(|start| start..start + BLOCK).collect()
    }

    fn release(&self, range: Range<u64>, is_planned: &dyn Fn(Range<u64>) -> bool) {
        self.0
            .lock()
            .unwrap()
            .retain(|start: &u64| !range.contains(start) || is_planned(*start..start + BLOCK));
    }

    fn arrived(&self, _: u64, _: &Bytes) {}

    fn read(&self, _: u64, _: &mut [u8]) -> Kept {
        Kept::No
    }

    fn claim(&self, _: u64) -> Option<(Range<u64>, Keep)> {
        None
    }

    fn forget(&self, _: Range<u64>) {}
}

/// Whoever reads the block waits for its claim, so a claim that no request answers costs every reader a timeout.
#[test]
fn a_block_whose_request_has_failed_is_not_claimed_again() {
    let limits = Limits { at_once: 4, hedged: 0, patience: None };
    let fetcher = Arc::new(Fetcher::new(10_000, limits));
    let claims = Claims::default();
    let blocks = Some(Box::new(claims.clone()) as Box<dyn Blocks>);
    let file = Arc::new(AheadFile { number: 1, reads: Box::new(Failing), blocks });
    fetcher.open(&file);
    fetcher.advise(&file, 0, BLOCK);
    assert!(claims.held().is_empty(), "the request has failed");
    // Its piece is still there, for the reader that will get the error.
    fetcher.advise(&file, 0, BLOCK);
    assert!(claims.held().is_empty(), "no request will write the block");
}
