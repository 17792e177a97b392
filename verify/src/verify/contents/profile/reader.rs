//! The readers whose behavior is known.

use tarflume_base::Choice;

/// A reader of shards whose behavior is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// webdataset 1.0.
    Webdataset,
    /// DALI's webdataset reader.
    Dali,
    /// Megatron Energon 7.
    Energon,
    /// Hugging Face datasets 5.
    Hf,
    /// Ray Data 2.60.
    Ray,
    /// wids 0.1.
    Wids,
    /// datago.
    Datago,
    /// The `iter_tarfile` of SPDL 0.8, and what groups its files.
    Spdl,
}

impl Choice for Profile {
    const ALL: &'static [Profile] = &[
        Profile::Webdataset,
        Profile::Dali,
        Profile::Energon,
        Profile::Hf,
        Profile::Ray,
        Profile::Wids,
        Profile::Datago,
        Profile::Spdl,
    ];

    fn word(self) -> &'static str {
        match self {
            Profile::Webdataset => "webdataset",
            Profile::Dali => "dali",
            Profile::Energon => "energon",
            Profile::Hf => "hf",
            Profile::Ray => "ray",
            Profile::Wids => "wids",
            Profile::Datago => "datago",
            Profile::Spdl => "spdl",
        }
    }
}
