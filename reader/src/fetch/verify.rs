//! `Verify`: selects the samples whose parts are compared with their checksums. Compares nothing.

use tarflume_order::words;
use tarflume_types::Error;

/// The share of parts whose checksums are compared. From a store, only the bytes that a crop needs of a JPEG are fetched
/// and compared; from files, selected parts are read and compared whole. So are the parts that values of typed columns were
/// copied from. Parts of a tar that may have been changed after its sidecar was made are compared in any case, once.
///
/// ```
/// use tarflume::{Loader, Verify};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("jpg").verify(Verify::All).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Verify {
    /// None.
    #[default]
    Off,
    /// The parts of about one sample in 64, chosen by a hash of the ordinal and the pass.
    Sampled,
    /// All.
    All,
}

words!(Verify, "verify", { Off => "off", Sampled => "sampled", All => "all" });

impl Verify {
    /// True if the parts of sample `ordinal` are compared in this pass. Each pass selects different
    /// samples.
    pub fn picks(self, ordinal: u64, pass: u64) -> bool {
        match self {
            Verify::Off => false,
            Verify::Sampled => spread(ordinal ^ spread(pass)).is_multiple_of(64),
            Verify::All => true,
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): adjacent ordinals get unrelated hashes.
fn spread(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
