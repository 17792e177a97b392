//! What a training is required to reach: figures, each with a limit.

/// A figure of a watch that can be required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Sm,
    GpuMemory,
    BatchP50,
    BatchP95,
    BatchP99,
    WorkerCpu,
    Disk,
    Cache,
    Epoch,
}

impl Figure {
    /// All figures, in the order of reports.
    pub(crate) const ALL: [Figure; 9] = [
        Figure::Sm,
        Figure::GpuMemory,
        Figure::BatchP50,
        Figure::BatchP95,
        Figure::BatchP99,
        Figure::WorkerCpu,
        Figure::Disk,
        Figure::Cache,
        Figure::Epoch,
    ];

    /// Returns its name in `--require`, which never changes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Figure::Sm => "sm",
            Figure::GpuMemory => "gpu-memory",
            Figure::BatchP50 => "batch-p50",
            Figure::BatchP95 => "batch-p95",
            Figure::BatchP99 => "batch-p99",
            Figure::WorkerCpu => "worker-cpu",
            Figure::Disk => "disk",
            Figure::Cache => "cache",
            Figure::Epoch => "epoch",
        }
    }

    /// Returns what it is, for people.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Figure::Sm => "GPU busy (SM)",
            Figure::GpuMemory => "GPU memory in use",
            Figure::BatchP50 => "wait for a batch, p50",
            Figure::BatchP95 => "wait for a batch, p95",
            Figure::BatchP99 => "wait for a batch, p99",
            Figure::WorkerCpu => "processors in use",
            Figure::Disk => "busiest disk",
            Figure::Cache => "reads from memory",
            Figure::Epoch => "time of an epoch",
        }
    }

    /// Returns the unit of its numbers.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Figure::BatchP50 | Figure::BatchP95 | Figure::BatchP99 => "ms",
            Figure::Epoch => "s",
            _ => "%",
        }
    }

    /// Returns true if the figure must be at least its limit, not at most.
    pub(crate) fn at_least(self) -> bool {
        matches!(self, Figure::Sm | Figure::GpuMemory | Figure::Cache)
    }

    /// Returns the limit that `all` stands for; no figure but the time of an epoch is without one.
    pub(crate) fn usual(self) -> Option<f64> {
        match self {
            Figure::Sm | Figure::WorkerCpu => Some(80.0),
            Figure::GpuMemory => Some(60.0),
            Figure::BatchP50 | Figure::BatchP95 | Figure::BatchP99 => Some(50.0),
            Figure::Disk => Some(70.0),
            Figure::Cache => Some(95.0),
            Figure::Epoch => None,
        }
    }

    /// Parses a number with or without a unit.
    fn number(self, text: &str) -> Option<f64> {
        let units: &[(&str, f64)] = match self.unit() {
            "ms" => &[("ms", 1.0), ("s", 1e3), ("", 1.0)],
            "s" => &[("h", 3600.0), ("min", 60.0), ("m", 60.0), ("s", 1.0), ("", 1.0)],
            _ => &[("%", 1.0), ("", 1.0)],
        };
        let number = units.iter().find_map(|(unit, factor)| {
            let number = text.strip_suffix(unit)?.trim().parse::<f64>().ok()?;
            Some(number * factor)
        });
        let most = if self.unit() == "%" { 100.0 } else { f64::MAX };
        number.filter(|number| number.is_finite() && (0.0..=most).contains(number))
    }
}

/// A figure and its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Requirement {
    pub(crate) figure: Figure,
    pub(crate) limit: f64,
    /// True if it was required by its name, false if by `all`.
    pub(crate) named: bool,
}

/// What one word of `--require` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Asked {
    /// All figures with a usual limit.
    All,
    /// One of them.
    One(Requirement),
}

/// Parses `all`, `sm=80` or `batch-p99=50ms`; also `sm>=80`, with the sign that the figure has.
///
/// # Errors
/// Returns what is wrong with the word, and what to write.
pub(crate) fn parse(word: &str) -> Result<Asked, String> {
    if word == "all" {
        return Ok(Asked::All);
    }
    let end = word.find(['<', '>', '=']).unwrap_or(word.len());
    let name = word[..end].trim();
    let Some(figure) = Figure::ALL.into_iter().find(|figure| figure.name() == name) else {
        let names: Vec<_> = Figure::ALL.iter().map(|figure| figure.name()).collect();
        return Err(format!(
            "there is no figure {name:?}: take all, or one of {}",
            names.join(", ")
        ));
    };
    let example =
        format!("{name}={}", figure.usual().map_or("9h".into(), |usual| usual.to_string()));
    let sign = if figure.at_least() { ">=" } else { "<=" };
    let rest = &word[end..];
    if rest.is_empty() {
        return Err(format!("{name} has no limit: write {example}"));
    }
    let number = rest.strip_prefix(sign).or(rest.strip_prefix('='));
    let Some(number) = number else {
        return Err(format!("{name} is required to be {sign} its limit: write {example}"));
    };
    match figure.number(number.trim()) {
        Some(limit) => Ok(Asked::One(Requirement { figure, limit, named: true })),
        None => Err(format!("{number:?} is no limit of {name}: write {example}")),
    }
}

/// Returns the requirements of all words, in the order of reports; the last word about a figure counts, and a named
/// limit precedes that of `all`.
pub(crate) fn requirements(asked: &[Asked]) -> Vec<Requirement> {
    fn of(asked: &[Asked], figure: Figure) -> Option<Requirement> {
        let named = asked.iter().rev().find_map(|asked| match asked {
            Asked::One(one) if one.figure == figure => Some(*one),
            _ => None,
        });
        let all = asked.contains(&Asked::All).then(|| figure.usual()).flatten();
        named.or(all.map(|limit| Requirement { figure, limit, named: false }))
    }

    Figure::ALL.into_iter().filter_map(|figure| of(asked, figure)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(word: &str) -> Requirement {
        match parse(word) {
            Ok(Asked::One(requirement)) => requirement,
            other => panic!("{word}: {other:?}"),
        }
    }

    #[test]
    fn a_limit_has_a_unit_or_the_usual_one() {
        let table = [
            ("sm=80", Figure::Sm, 80.0),
            ("sm>=80%", Figure::Sm, 80.0),
            ("gpu-memory=62.5", Figure::GpuMemory, 62.5),
            ("batch-p99<=50ms", Figure::BatchP99, 50.0),
            ("batch-p50=0.2s", Figure::BatchP50, 200.0),
            ("disk<=70 %", Figure::Disk, 70.0),
            ("epoch=9h", Figure::Epoch, 32_400.0),
            ("epoch=90min", Figure::Epoch, 5400.0),
            ("epoch<=45", Figure::Epoch, 45.0),
        ];
        for (word, figure, limit) in table {
            assert_eq!(one(word), Requirement { figure, limit, named: true }, "{word}");
        }
    }

    #[test]
    fn a_word_without_sense_is_refused_with_what_to_write() {
        for (word, said) in [
            // What a shell leaves of an unquoted sm>=90.
            ("sm", "write sm=80"),
            ("sm<=80", ">= its limit"),
            ("disk>=70", "<= its limit"),
            ("sm=eighty", "is no limit of sm"),
            ("sm=120", "is no limit of sm"),
            ("epoch=", "write epoch=9h"),
            ("batch-p99=nan", "is no limit"),
            ("gpu=80", "one of sm, gpu-memory"),
            ("", "there is no figure"),
        ] {
            let error = parse(word).unwrap_err();
            assert!(error.contains(said), "{word}: {error}");
        }
    }

    #[test]
    fn a_named_limit_precedes_the_usual_one() {
        let all = requirements(&[Asked::All]);
        assert_eq!(all.len(), 8, "an epoch has no usual time");
        assert!(all.iter().all(|requirement| !requirement.named));
        let both = requirements(&[parse("sm=90").unwrap(), Asked::All, parse("sm=95").unwrap()]);
        assert_eq!((both.len(), both[0].limit, both[0].named), (8, 95.0, true));
        assert_eq!(requirements(&[]), []);
    }
}
