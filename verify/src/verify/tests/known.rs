//! A baseline of random damage: what it has is known, and damage of another file is new.

use super::*;
use crate::policy::{Baseline, Rules};

fn flip(rng: &mut SplitMix64, path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = rng.below(bytes.len() as u32) as usize;
    bytes[at] ^= 1 << rng.below(8);
    fs::write(path, bytes).unwrap();
}

fn with(dir: &Path, baseline: &Path) -> Report {
    let baseline = Some(Baseline::read(baseline).unwrap());
    let rules = Rules::new(None, Vec::new(), Vec::new(), baseline);
    let options = Options { rules, ..options(Level::Full) };
    verify(&[dir.to_path_buf()], &options, &|_| {}).unwrap()
}

#[test]
fn a_baseline_of_one_damage_hides_no_other() {
    let mut rng = SplitMix64::new(11);
    let files = ["a.tar", "b.tar", "a.index", "b.index"];
    for round in 0..60 {
        let dir = set();
        let first = rng.below(4) as usize;
        flip(&mut rng, &dir.path().join(files[first]));
        let known = report(dir.path(), Level::Full);
        assert!(!known.problems.is_empty(), "round {round}: {known}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let baseline = Baseline::of(&known.problems, Level::Full, file.path()).unwrap();
        fs::write(file.path(), baseline.to_text()).unwrap();
        let again = with(dir.path(), file.path());
        assert!(again.is_passed(), "round {round}: {again}");
        let second = (first + 1 + rng.below(3) as usize) % 4;
        flip(&mut rng, &dir.path().join(files[second]));
        let new = with(dir.path(), file.path());
        assert!(!new.problems.is_empty(), "round {round}: {} then {}", files[first], files[second]);
    }
}
