//! The rank of this process and the number of ranks, from explicit flags or from a launcher's environment.
//!
//! [`find`] is pure: the caller passes the environment, [`variable`] that of the process. Launchers that disagree are an error, never a guess.
//!
//! ```
//! use tarflume_order::rank::find;
//!
//! let torchrun = |name: &str| match name {
//!     "RANK" => Some("3".to_string()),
//!     "WORLD_SIZE" => Some("8".to_string()),
//!     _ => None,
//! };
//! let rank = find(None, None, &torchrun)?.unwrap();
//! assert_eq!((rank.rank, rank.world), (3, 8));
//! # Ok::<(), tarflume_order::Error>(())
//! ```

use crate::error::{Advice, Error, Result};

/// The rank of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank {
    /// The rank, from 0.
    pub rank: u64,
    /// The number of ranks.
    pub world: u64,
    /// The variables that provided it; `None` if the caller gave it.
    pub source: Option<String>,
}

/// Pairs of variables that provide rank and world size.
const PAIRS: [(&str, &str); 4] = [
    ("TARFLUME_RANK", "TARFLUME_WORLD"),
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
];

/// Finds the rank: from `rank` and `of` if given, otherwise from the environment; `None` if neither
/// provides one.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage): one half of a pair is missing, if a value is not a number, if the rank is not
/// below the world size, or if launchers disagree.
pub fn find(
    rank: Option<u64>,
    of: Option<u64>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Rank>> {
    if let Some(rank) = rank {
        let Some(world) = of else {
            let error = Error::usage("").advise(Advice::Rank).and(" needs ");
            let error = error.advise(Advice::WorldSize).and("; pass both, such as ");
            return Err(error.advise(Advice::RanksExample));
        };
        return checked(rank, world, None).map(Some);
    }
    let mut found = Vec::new();
    for (rank_name, world_name) in PAIRS {
        found.extend(pair(rank_name, world_name, env)?);
    }
    // Inside sbatch, without srun, SLURM_PROCID is 0 in every process.
    if env("SLURM_STEP_ID").is_some() && number("SLURM_NTASKS", env)?.is_some_and(|n| n > 1) {
        found.extend(pair("SLURM_PROCID", "SLURM_NTASKS", env)?);
    }
    found.extend(slurm_array(env)?);
    for scheduler in &ARRAYS {
        found.extend(array(scheduler, of, env)?);
    }
    for pair in found.windows(2) {
        if (pair[0].rank, pair[0].world) != (pair[1].rank, pair[1].world) {
            let text =
                format!("{}, but {}; choose with ", described(&pair[0]), described(&pair[1]));
            return Err(Error::usage(text).advise(Advice::Ranks));
        }
    }
    let found = found.into_iter().next();
    if found.is_none()
        && let Some((present, missing)) = half(env)
    {
        let text =
            format!("the environment has {present}, but not {missing}; set both or none, or pass ");
        return Err(Error::usage(text).advise(Advice::Ranks));
    }
    match (of, &found) {
        (Some(of), None) => {
            let error = Error::usage("").advise(Advice::WorldSize).and(&format!(" {of} needs "));
            Err(error.advise(Advice::Rank).and(": nothing in the environment gives one"))
        }
        (Some(of), Some(found)) if of != found.world => {
            let text = format!(" {of}, but {} gives {}; pass ", found.name(), found.world);
            let error = Error::usage("").advise(Advice::WorldSize).and(&text);
            Err(error.advise(Advice::Rank).and(", too"))
        }
        _ => Ok(found),
    }
}

impl Rank {
    /// Returns the variables that provided the rank.
    fn name(&self) -> &str {
        self.source.as_deref().unwrap_or("the caller")
    }
}

fn described(rank: &Rank) -> String {
    format!("{} gives rank {} of {}", rank.name(), rank.rank, rank.world)
}

/// Returns a variable of the environment of this process, for [`find`]; `None` also for one that is not UTF-8.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn checked(rank: u64, world: u64, source: Option<String>) -> Result<Rank> {
    if rank >= world {
        let error = match &source {
            Some(names) => Error::usage(names.clone()),
            None => Error::usage("").advise(Advice::Rank),
        };
        let text = format!(": rank {rank} of {world} does not exist; ranks begin with 0");
        return Err(error.and(&text));
    }
    Ok(Rank { rank, world, source })
}

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

fn number(name: &str, env: Env<'_>) -> Result<Option<u64>> {
    match env(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(n) => Ok(Some(n)),
            Err(_) => {
                let text = format!("the environment's {name} is '{text}', which is not a number");
                Err(Error::usage(text))
            }
        },
    }
}

fn pair(rank_name: &str, world_name: &str, env: Env<'_>) -> Result<Option<Rank>> {
    match (number(rank_name, env)?, number(world_name, env)?) {
        (Some(rank), Some(world)) => {
            checked(rank, world, Some(format!("{rank_name}/{world_name}"))).map(Some)
        }
        _ => Ok(None),
    }
}

/// A variable of a pair that is set without the other: (present, missing).
fn half(env: Env<'_>) -> Option<(&'static str, &'static str)> {
    PAIRS.into_iter().find_map(|(rank, world)| {
        let has_rank = is_set(rank, env);
        if has_rank == is_set(world, env) {
            None
        } else if has_rank {
            Some((rank, world))
        } else {
            Some((world, rank))
        }
    })
}

fn is_set(name: &str, env: Env<'_>) -> bool {
    env(name).is_some_and(|text| !text.is_empty())
}

fn slurm_array(env: Env<'_>) -> Result<Option<Rank>> {
    let Some(id) = number("SLURM_ARRAY_TASK_ID", env)? else { return Ok(None) };
    let Some(count) = number("SLURM_ARRAY_TASK_COUNT", env)? else { return Ok(None) };
    let min = number("SLURM_ARRAY_TASK_MIN", env)?.unwrap_or(0);
    let step = number("SLURM_ARRAY_TASK_STEP", env)?.unwrap_or(1).max(1);
    let Some(offset) = id.checked_sub(min) else {
        return Err(Error::usage("SLURM_ARRAY_TASK_ID is below its minimum"));
    };
    if offset % step != 0 || offset / step >= count {
        let text = format!(
            "task {id} of a Slurm array of {count} is outside its range: a part of the array was \
             submitted again; pass "
        );
        let error = Error::usage(text).advise(Advice::Ranks);
        return Err(error.and(" with the numbers of the first submission"));
    }
    checked(offset / step, count, Some("SLURM_ARRAY_TASK_ID".into())).map(Some)
}

/// A scheduler of arrays of jobs that numbers them in the environment.
struct Array {
    scheduler: &'static str,
    index: &'static str,
    /// The number of the first job.
    first: u64,
    /// The number of jobs, if the scheduler tells it.
    size: Option<&'static str>,
}

const ARRAYS: [Array; 4] = [
    Array { scheduler: "Kubernetes", index: "JOB_COMPLETION_INDEX", first: 0, size: None },
    Array {
        scheduler: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        first: 0,
        size: Some("AWS_BATCH_JOB_ARRAY_SIZE"),
    },
    Array { scheduler: "PBS", index: "PBS_ARRAY_INDEX", first: 0, size: None },
    // Arrays of LSF begin with 1; a job that is in no array has the index 0.
    Array { scheduler: "LSF", index: "LSB_JOBINDEX", first: 1, size: Some("LSB_JOBINDEX_END") },
];

fn array(array: &Array, of: Option<u64>, env: Env<'_>) -> Result<Option<Rank>> {
    let Array { scheduler, index, first, size } = array;
    let Some(rank) = number(index, env)?.and_then(|number| number.checked_sub(*first)) else {
        return Ok(None);
    };
    let told = size.map(|size| number(size, env)).transpose()?.flatten();
    let Some(world) = of.or(told) else {
        let text = format!(
            "{index} gives the rank, but {scheduler} does not provide the world size; pass "
        );
        let error = Error::usage(text).advise(Advice::JobCount);
        return Err(error.and(" with the number of jobs (Kubernetes: the job's completions)"));
    };
    checked(rank, world, Some((*index).into())).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorPart;

    fn with(vars: &[(&str, &str)], of: Option<u64>) -> Result<Option<(u64, u64)>, String> {
        let env =
            |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
        let found = find(None, of, &env).map_err(|error| error.to_string())?;
        Ok(found.map(|found| (found.rank, found.world)))
    }

    #[test]
    fn launchers_are_understood() {
        assert_eq!(with(&[], None), Ok(None));
        assert_eq!(with(&[("RANK", "3"), ("WORLD_SIZE", "8")], None), Ok(Some((3, 8))));
        assert_eq!(
            with(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")], None),
            Ok(Some((1, 2)))
        );
        let step = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
        assert_eq!(with(&step, None), Ok(Some((1, 4))));
        assert_eq!(with(&step[..2], None), Ok(None), "inside sbatch, without srun");
        let array = [
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "5"),
        ];
        assert_eq!(with(&array, None), Ok(Some((2, 5))));
        assert_eq!(with(&[("JOB_COMPLETION_INDEX", "7")], Some(9)), Ok(Some((7, 9))));
        assert_eq!(with(&[("PBS_ARRAY_INDEX", "7")], Some(9)), Ok(Some((7, 9))));
        let batch = [("AWS_BATCH_JOB_ARRAY_INDEX", "0"), ("AWS_BATCH_JOB_ARRAY_SIZE", "4")];
        assert_eq!(with(&batch, None), Ok(Some((0, 4))));
        let lsf = [("LSB_JOBINDEX", "16"), ("LSB_JOBINDEX_END", "16")];
        assert_eq!(with(&lsf, None), Ok(Some((15, 16))));
        assert_eq!(with(&[("LSB_JOBINDEX", "0")], None), Ok(None), "no array");
    }

    #[test]
    fn doubt_is_an_error() {
        let both = [
            ("RANK", "0"),
            ("WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
        ];
        assert!(with(&both, None).unwrap_err().contains("but"));
        assert!(with(&[("RANK", "4"), ("WORLD_SIZE", "4")], None).is_err());
        assert!(
            with(&[("RANK", "x"), ("WORLD_SIZE", "4")], None).unwrap_err().contains("not a number")
        );
        assert!(with(&[("JOB_COMPLETION_INDEX", "7")], None).unwrap_err().contains("Split::new"));
        assert!(with(&[], Some(4)).unwrap_err().contains("needs a rank"));
        let cut = [
            ("SLURM_ARRAY_TASK_ID", "9"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
        ];
        assert!(with(&cut, None).is_err());
        for (rank, world) in PAIRS {
            for (present, missing) in [(rank, world), (world, rank)] {
                let text = with(&[(present, "1")], None).unwrap_err();
                let words = format!("has {present}, but not {missing}");
                assert!(
                    text.contains(&words) && text.ends_with("Split::new(rank, world)"),
                    "{text}"
                );
            }
        }
        let alone = find(Some(2), None, &|_| None).unwrap_err();
        assert_eq!(alone.text(), "a rank needs a world size; pass both, such as Split::new(0, 8)");
        let outside = find(Some(2), Some(2), &|_| None).unwrap_err();
        assert_eq!(outside.parts()[1], ErrorPart::Advice(Advice::Rank));
    }
}
