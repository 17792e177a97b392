//! Who among how many takes part, and by what the work is dealt.

use std::env;

use crate::error::{Error, Result};
use crate::rank::{self, Rank};

/// What is dealt to ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// Positions of the order: each batch of the whole job is cut into one piece a rank. Any rank
    /// may read any shard.
    Position,
    /// Shards: shard i belongs to rank i % world, which orders its own shards' samples. For disks
    /// that hold a part of the data set each.
    Shard,
}

/// This process among those of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Split {
    rank: u64,
    world: u64,
    by: By,
}

impl Split {
    /// Rank `rank`, from 0, of `world`; positions are dealt.
    ///
    /// # Errors
    /// The rank is not below the world.
    pub fn new(rank: u64, world: u64) -> Result<Split> {
        if rank >= world {
            return Err(Error::usage(format!(
                "rank {rank} of {world} does not exist; ranks begin with 0"
            )));
        }
        Ok(Split { rank, world, by: By::Position })
    }

    /// The only process.
    pub fn alone() -> Split {
        Split { rank: 0, world: 1, by: By::Position }
    }

    /// What the launcher says in the environment: `TARFLUME_RANK` and `TARFLUME_WORLD`, torchrun,
    /// MPI, Slurm. Alone if nothing is there.
    ///
    /// # Errors
    /// Half a pair, no number, a rank past the world, launchers that disagree.
    pub fn from_env() -> Result<Split> {
        Split::from_variables(&|name| env::var(name).ok())
    }

    fn from_variables(env: &dyn Fn(&str) -> Option<String>) -> Result<Split> {
        match rank::find(None, None, &rank::LIBRARY, env).map_err(Error::usage)? {
            Some(Rank { rank, world, .. }) => Split::new(rank, world),
            None => Ok(Split::alone()),
        }
    }

    /// The same with shards dealt instead of positions.
    #[must_use]
    pub fn by_shard(self) -> Split {
        Split { by: By::Shard, ..self }
    }

    /// From 0.
    pub fn rank(&self) -> u64 {
        self.rank
    }

    /// How many ranks there are.
    pub fn world(&self) -> u64 {
        self.world
    }

    /// What is dealt.
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
    fn the_environment_says_who_this_is() {
        assert_eq!(with(&[]).unwrap(), (0, 1));
        assert_eq!(with(&[("RANK", "3"), ("WORLD_SIZE", "8")]).unwrap(), (3, 8));
        assert_eq!(with(&[("TARFLUME_RANK", "1"), ("TARFLUME_WORLD", "2")]).unwrap(), (1, 2));
    }

    #[test]
    fn doubt_names_what_to_call_instead() {
        let both = [
            ("RANK", "0"),
            ("WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ];
        let says = |vars: &[(&str, &str)]| with(vars).unwrap_err().text().to_string();
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
