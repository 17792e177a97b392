//! `Phrase`: words that each face writes its own way and that are no setting with a value. The one table of them.

use serde::{Deserialize, Serialize};

use super::face::Face;

macro_rules! phrases {
    ($($(#[$doc:meta])* $phrase:ident $command:literal $python:literal $rust:literal;)*) => {
        /// Words that a shell, Python and Rust write differently.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Phrase {
            $($(#[$doc])* $phrase,)*
        }

        impl Phrase {
            /// Returns the phrase as one face writes it.
            pub fn in_face(self, face: Face) -> &'static str {
                let [command, python, rust] = match self {
                    $(Phrase::$phrase => [$command, $python, $rust],)*
                };
                match face {
                    Face::Command => command,
                    Face::Python => python,
                    Face::Rust => rust,
                }
            }
        }
    };
}

phrases! {
    /// A shuffle over the whole data set.
    FullShuffle "--shuffle full" "shuffle=\"full\"" "Shuffle::Full";
    /// A shuffle of blocks in a window.
    BlockShuffle "--shuffle blocks" "shuffle=\"blocks\"" "Shuffle::Blocks";
    /// A shuffle of shards.
    ShardShuffle "--shuffle shards" "shuffle=\"shards\"" "Shuffle::Shards";
    /// A shuffle of blocks of a usual size.
    UsualBlocks "--shuffle blocks" "block_size=64, window=16" "Blocks { block: 64, window: 16, .. }";
    /// What divides samples among ranks by their position.
    SplitByPosition "split by position" "give divide=\"sample\"" "split by position";
    /// What divides shards among ranks.
    SplitByShard "split by shard" "give divide=\"shard\"" "add by_shard() to the split";
    /// What no longer divides shards among ranks.
    NoSplitByShard "split by position" "leave out divide=\"shard\"" "leave out by_shard()";
    /// What sets the rank and the number of ranks.
    Ranks "--rank R --of N" "rank= and world_size=" "Split::new(rank, world)";
    /// A rank and the number of ranks, as an example.
    RanksExample "--rank 0 --of 8" "rank=0, world_size=8" "Split::new(0, 8)";
    /// What sets the rank alone.
    Rank "--rank" "rank=" "a rank";
    /// What sets the number of ranks.
    WorldSize "--of" "world_size=" "a world size";
    /// What sets the number of the jobs of an array, whose launcher provides the rank alone.
    JobCount "--of" "rank= and world_size=" "Split::new(rank, world)";
    /// What puts batches on a device.
    OnDevice "a GPU" "device=\"cuda\"" ".device(..)";
    /// What selects samples.
    Select "a selection" "select=" ".select()";
    /// What names a column.
    NamedColumn "a column" "columns=" ".column(name, ..)";
    /// What gives pictures the sizes of buckets.
    AspectBuckets "a loader with buckets" "bucket=tarflume.Buckets.aspect(), max_pixels=16 << 20"
        ".buckets(Bucketing::aspect(..))";
    /// What leaves out or cuts samples that are longer than a pack.
    LeaveOrCutLong "leave such samples out" "pack=tarflume.Pack(..., too_long=\"skip\") (or \"cut\")"
        "Packing::too_long(TooLong::Skip) (or Cut)";
    /// What leaves pictures as they are stored.
    IgnoreOrientation "no orientation" "tarflume.Image(..., orientation=False)" ".orientation(false)";
    /// What keeps the draws of recipes.
    KeepTransforms "keep_transforms" "keep_transforms=True" ".keep_transforms()";
    /// What makes a column of the bytes of a part.
    BytesColumn "a column" "columns={\"jpg\": tarflume.Raw(\"jpg\")}" ".bytes(\"jpg\")";
    /// What gives memory of a device back.
    FreeDeviceMemory "end other programs that use the device"
        "call torch.cuda.empty_cache(), which gives back what PyTorch keeps unused"
        "free what this program or others keep on the device";
    /// What makes batches on a device need less memory.
    SmallerDeviceBatches "a smaller batch or fewer device slots" "a smaller batch_size= or fewer device_slots="
        "a smaller .batch(..) or fewer .device_slots(..)";
    /// What makes arrays of rows that differ in length.
    Padded "padded()" "padded()" ".padded()";
}
