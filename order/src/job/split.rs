//! `Split`: one rank of a job, and what is distributed over the ranks.
//!
//! Reads the environment in `from_env`, and nothing else.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::job::rank::{self, Rank};
use crate::shuffle::digits;
use crate::words;

/// What the text of a split by shard ends with.
const BY_SHARD: &str = ", by shard";

/// What is distributed over the ranks. As text: `sample` and `shard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum By {
    /// Positions of the order: each batch of the whole job is cut into one piece for each rank. Any rank may read any
    /// shard.
    #[default]
    Position,
    /// Shards: shard i belongs to rank i % world, which orders its own shards' samples. For disks
    /// that hold a part of the data set each.
    Shard,
}

words!(By, "the division", { Position => "sample", Shard => "shard" });

/// This process among those of the job. The default is [`Split::alone`]. As text it is `rank 3 of 8`, and
/// `rank 3 of 8, by shard`; serde has the fields `rank`, `world` and, if it is not the default, `by`.
///
/// ```
/// use tarflume_order::{By, Split};
///
/// let split = Split::new(3, 8)?;
/// assert_eq!((split.rank(), split.world(), split.by()), (3, 8, By::Position));
/// assert_eq!(split.by_shard().by(), By::Shard); // rank 3 reads shards 3, 11, 19, ..
/// # Ok::<(), tarflume_order::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "SplitFields", into = "SplitFields")]
pub struct Split {
    rank: u64,
    world: u64,
    by: By,
}

/// A split as it is written to files, before it is checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SplitFields {
    rank: u64,
    world: u64,
    #[serde(default, skip_serializing_if = "is_by_position")]
    by: By,
}

fn is_by_position(by: &By) -> bool {
    *by == By::Position
}

impl From<Split> for SplitFields {
    fn from(Split { rank, world, by }: Split) -> SplitFields {
        SplitFields { rank, world, by }
    }
}

impl TryFrom<SplitFields> for Split {
    type Error = Error;

    fn try_from(fields: SplitFields) -> Result<Split> {
        Ok(Split { by: fields.by, ..Split::new(fields.rank, fields.world)? })
    }
}

impl Default for Split {
    fn default() -> Split {
        Split::alone()
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.world)?;
        match self.by {
            By::Position => Ok(()),
            By::Shard => f.write_str(BY_SHARD),
        }
    }
}

impl FromStr for Split {
    type Err = Error;

    /// # Errors
    /// The text has another form, or the rank is not below the world size.
    fn from_str(text: &str) -> Result<Split> {
        let position = text.strip_suffix(BY_SHARD);
        let numbers = position.unwrap_or(text).strip_prefix("rank ");
        let numbers = numbers.and_then(|numbers| numbers.split_once(" of "));
        let parsed = numbers.and_then(|(rank, world)| Some((digits(rank)?, digits(world)?)));
        let Some((rank, world)) = parsed else {
            return Err(Error::usage(format!(
                "'{text}' is no split; write 'rank 3 of 8', or 'rank 3 of 8, by shard'"
            )));
        };
        let by = if position.is_some() { By::Shard } else { By::Position };
        Ok(Split { by, ..Split::new(rank, world)? })
    }
}

impl Split {
    /// Rank `rank` (from 0) of `world`, split by position.
    ///
    /// # Errors
    /// The rank is not below the world size.
    pub fn new(rank: u64, world: u64) -> Result<Split> {
        if rank >= world {
            return Err(Error::usage(format!(
                "rank {rank} of {world} does not exist; ranks begin with 0"
            )));
        }
        Ok(Split { rank, world, by: By::Position })
    }

    /// The only process of a job: rank 0 of 1.
    pub fn alone() -> Split {
        Split { rank: 0, world: 1, by: By::Position }
    }

    /// The rank that the launcher has set in the environment: `TARFLUME_RANK` and `TARFLUME_WORLD`, torchrun, MPI, Slurm.
    /// [`Split::alone`] if none of these is set.
    ///
    /// # Errors
    /// Half a pair is set, a value is not a number, the rank is not below the world size, or launchers disagree.
    pub fn from_env() -> Result<Split> {
        Split::from_variables(&rank::variable)
    }

    fn from_variables(env: &dyn Fn(&str) -> Option<String>) -> Result<Split> {
        match rank::find(None, None, env)? {
            Some(Rank { rank, world, .. }) => Split::new(rank, world),
            None => Ok(Split::alone()),
        }
    }

    /// The same rank, split by shard.
    #[must_use]
    pub fn by_shard(self) -> Split {
        Split { by: By::Shard, ..self }
    }

    /// The rank, from 0.
    pub fn rank(&self) -> u64 {
        self.rank
    }

    /// The number of ranks, the world size.
    pub fn world(&self) -> u64 {
        self.world
    }

    /// What is distributed.
    pub fn by(&self) -> By {
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Result<(u64, u64)> {
        let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        Split::from_variables(&env).map(|split| (split.rank(), split.world()))
    }

    #[test]
    fn rank_and_world_size_come_from_the_environment() {
        assert_eq!(with(&[]).unwrap(), (0, 1));
        assert_eq!(with(&[("RANK", "3"), ("WORLD_SIZE", "8")]).unwrap(), (3, 8));
        assert_eq!(with(&[("TARFLUME_RANK", "1"), ("TARFLUME_WORLD", "2")]).unwrap(), (1, 2));
    }

    fn says(vars: &[(&str, &str)]) -> String {
        with(vars).unwrap_err().text().to_string()
    }

    #[test]
    fn doubt_names_what_to_call_instead() {
        let both = [
            ("RANK", "0"),
            ("WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ];
        assert!(says(&both).contains("Split::new(rank, world)"));
        assert!(says(&[("RANK", "3")]).contains("WORLD_SIZE"));
        assert!(says(&[("JOB_COMPLETION_INDEX", "3")]).contains("Split::new"));
        let array = [
            ("SLURM_ARRAY_TASK_ID", "9"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
        ];
        assert!(says(&array).contains("Split::new"));
        assert!(!says(&both).contains("--rank"));
        assert!(Split::new(4, 4).is_err() && Split::new(0, 0).is_err());
    }
}
