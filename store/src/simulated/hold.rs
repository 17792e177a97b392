//! `Holds`: answers of a simulated server that wait until a test lets them go.

use std::collections::HashSet;
use std::time::Duration;

/// How often a held answer is decided about again.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

/// A request whose answer may be held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The name of the object, or the prefix of a listing.
    pub name: String,
    /// First byte and end of the range, if it has one.
    pub range: Option<(u64, u64)>,
    /// The most requests that were in progress at the same time.
    pub most_at_once: usize,
    /// How many requests have begun.
    pub requests: usize,
    /// How many of them asked for bytes of an object that an earlier one had asked for, by the same range.
    pub repeated: usize,
}

/// Decides whether an answer waits.
pub(crate) type Hold = Box<dyn FnMut(&Held) -> bool + Send>;

/// The requests of a server that have begun, and what holds their answers back.
#[derive(Default)]
pub(crate) struct Holds {
    pub(crate) hold: Option<Hold>,
    /// Names and ranges of the requests.
    pub(crate) begun: Vec<(String, Option<(u64, u64)>)>,
    active: usize,
    /// The most requests that were in progress at the same time.
    pub(crate) most_at_once: usize,
}

impl Holds {
    /// Counts a request.
    pub(crate) fn begin(&mut self, name: &str, range: Option<(u64, u64)>) {
        self.begun.push((name.into(), range));
        self.active += 1;
        self.most_at_once = self.most_at_once.max(self.active);
    }

    /// Counts the answer of a request.
    pub(crate) fn end(&mut self) {
        self.active -= 1;
    }

    /// True if the answer of a request waits.
    pub(crate) fn is_held(&mut self, name: &str, range: Option<(u64, u64)>) -> bool {
        let Some(hold) = &mut self.hold else { return false };
        let requests = self.begun.len();
        let distinct = self.begun.iter().collect::<HashSet<_>>().len();
        let most_at_once = self.most_at_once;
        hold(&Held {
            name: name.into(),
            range,
            most_at_once,
            requests,
            repeated: requests - distinct,
        })
    }
}
