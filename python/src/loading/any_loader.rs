//! `AnyLoader`: a loader of the library, for host memory or for device memory.

use std::fmt;
use std::path::Path;

use tarflume::{
    BadSample, DeviceLoader, Error, Ledger, Loader, LoaderState, Order, ResidentSize, Stats,
};
use tarflume_formats::message::Face;

use crate::loading::epoch::Running;

pub(crate) enum AnyLoader {
    Host(Loader),
    Device(DeviceLoader),
}

/// Methods of both kinds.
macro_rules! both {
    ($(fn $name:ident(&self $(, $argument:ident: $of:ty)?) -> $result:ty;)*) => {
        $(pub(crate) fn $name(&self $(, $argument: $of)?) -> $result {
            match self {
                AnyLoader::Host(loader) => loader.$name($($argument)?),
                AnyLoader::Device(loader) => loader.$name($($argument)?),
            }
        })*
    };
}

impl AnyLoader {
    both! {
        fn bad_samples_in(&self, face: Face) -> Vec<BadSample>;
        fn current_epoch(&self) -> u64;
        fn expected(&self, epoch: u64) -> Result<Ledger, Error>;
        fn ledger(&self) -> Ledger;
        fn order(&self) -> &Order;
        fn state(&self) -> LoaderState;
        fn stats(&self) -> Stats;
        fn steps(&self) -> Result<u64, Error>;
        fn steps_of(&self, epoch: u64) -> Result<u64, Error>;
        fn write_bad_samples(&self, path: &Path) -> Result<(), Error>;
    }

    /// The batches of an epoch.
    pub(crate) fn epoch(&self, epoch: u64) -> Running {
        match self {
            AnyLoader::Host(loader) => Running::Host(loader.epoch(epoch)),
            AnyLoader::Device(loader) => Running::Device(loader.epoch(epoch)),
        }
    }

    /// The size of the resident data set, if there is one.
    pub(crate) fn resident(&self) -> Option<&ResidentSize> {
        match self {
            AnyLoader::Host(_) => None,
            AnyLoader::Device(loader) => loader.resident(),
        }
    }

    /// Preloads the resident data set, if there is one.
    pub(crate) fn preload(&self, goes_on: impl FnMut(u64) -> bool) -> Result<bool, Error> {
        match self {
            AnyLoader::Host(_) => Ok(true),
            AnyLoader::Device(loader) => loader.preload(goes_on),
        }
    }
}

impl fmt::Debug for AnyLoader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyLoader::Host(loader) => loader.fmt(f),
            AnyLoader::Device(loader) => loader.fmt(f),
        }
    }
}
