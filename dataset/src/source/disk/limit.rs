//! The number of files that this process may open. Raises the soft limit, which is usually 1,024, because an
//! exact shuffle reads from every shard of a data set in turn.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit is raised to this if the hard limit allows: four shelves of 4,096 files each.
const WANTED: u64 = 16_384;

/// The number of files that this process may open. The first call raises the soft limit.
pub(crate) fn open_files() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let now = getrlimit(Resource::Nofile);
        let soft = now.current.unwrap_or(u64::MAX);
        let raised = raised(soft, now.maximum);
        if raised > soft {
            let limit = Rlimit { current: Some(raised), maximum: now.maximum };
            // If refused, the limit is unchanged and fewer files stay open.
            if setrlimit(Resource::Nofile, limit).is_ok() {
                return raised;
            }
        }
        soft
    })
}

/// The soft limit to request, given the maximum `hard`.
fn raised(soft: u64, hard: Option<u64>) -> u64 {
    soft.max(WANTED.min(hard.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_rises_to_what_is_allowed_and_never_falls() {
        assert_eq!(raised(1024, Some(4096)), 4096);
        assert_eq!(raised(1024, Some(1 << 20)), WANTED);
        assert_eq!(raised(1024, None), WANTED);
        assert_eq!(raised(1 << 20, Some(1 << 20)), 1 << 20);
        assert_eq!(raised(256, Some(256)), 256);
    }

    #[test]
    fn the_limit_is_raised_in_this_process() {
        let hard = getrlimit(Resource::Nofile).maximum;
        let files = open_files();
        assert!(files >= WANTED.min(hard.unwrap_or(u64::MAX)), "{files} of {hard:?}");
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), files);
    }
}
