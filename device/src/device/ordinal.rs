//! Chooses the device of a process that names no ordinal. Arithmetic only.

/// The variables in which launchers pass a process's local rank: torchrun, Slurm, Open MPI, Intel MPI and MVAPICH.
const LOCAL_RANKS: [&str; 4] =
    ["LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"];

/// The ordinal of the device, given the number of visible devices, and why it was chosen. `word` reads the environment.
///
/// If a launcher shows each process only its own device, that is ordinal 0 whatever the local rank.
pub(super) fn chosen(visible: usize, word: impl Fn(&str) -> Option<String>) -> (usize, String) {
    if visible <= 1 {
        return (0, "the only device that this process sees".into());
    }
    let known = LOCAL_RANKS.iter().find_map(|&name| {
        let rank: usize = word(name)?.trim().parse().ok()?;
        Some((rank % visible, format!("{name} is {rank}, and this process sees {visible} devices")))
    });
    known.unwrap_or_else(|| {
        let names = LOCAL_RANKS.join(", ");
        (0, format!("the first of {visible}: none of {names} gives the local rank of this process"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(visible: usize, words: &[(&str, &str)]) -> (usize, String) {
        chosen(visible, |name| {
            words.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
        })
    }

    #[test]
    fn a_process_uses_the_visible_device_of_its_local_rank() {
        assert_eq!(of(1, &[("LOCAL_RANK", "3")]).0, 0, "each process sees only its own");
        assert_eq!(of(0, &[]).0, 0, "opening it reports the error");
        assert_eq!(of(8, &[("LOCAL_RANK", "3")]).0, 3);
        assert_eq!(of(4, &[("LOCAL_RANK", "5")]).0, 1);
        assert_eq!(of(4, &[("SLURM_LOCALID", "2")]).0, 2);
        assert_eq!(of(4, &[("SLURM_LOCALID", "2"), ("LOCAL_RANK", "1")]).0, 1);
        assert_eq!(of(4, &[("LOCAL_RANK", ""), ("OMPI_COMM_WORLD_LOCAL_RANK", "2")]).0, 2);
        assert_eq!(of(2, &[("MPI_LOCALRANKID", "1")]).0, 1);
        assert_eq!(of(2, &[]).0, 0);
    }

    #[test]
    fn refusals_have_a_reason() {
        let (_, why) = of(4, &[("SLURM_LOCALID", "5")]);
        assert_eq!(why, "SLURM_LOCALID is 5, and this process sees 4 devices");
        assert!(of(2, &[]).1.contains("none of LOCAL_RANK"));
    }
}
