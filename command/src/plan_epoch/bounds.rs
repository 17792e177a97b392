//! What a storage allows, against what the steps of a job need. Arithmetic.

use tarflume::Forecast;

use super::options::{Job, StorageLimits};
use super::report::{Bound, PerPlace};

/// Requests a second that S3 states for a prefix, Google for a new bucket, and Azure for an account.
const STATED: [(&str, f64, &str); 3] = [
    ("s3", 5_500.0, "S3, one prefix"),
    ("gs", 5_000.0, "Google, a new bucket"),
    ("az", 20_000.0, "Azure, one account"),
];

/// What one step needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepNeeds {
    pub(super) requests: PerPlace,
    pub(super) bytes: PerPlace,
}

impl StepNeeds {
    pub(super) fn of(forecast: &Forecast, job: &Job) -> StepNeeds {
        StepNeeds {
            requests: places(forecast.requests, forecast, job),
            bytes: places(forecast.bytes, forecast, job),
        }
    }
}

fn places(sum: u64, forecast: &Forecast, job: &Job) -> PerPlace {
    let world = sum as f64 / forecast.steps.max(1) as f64;
    let rank = world / forecast.ranks.max(1) as f64;
    PerPlace { rank, node: rank * job.ranks_per_node as f64, world }
}

impl PerPlace {
    /// What a step needs as what a second needs, with steps of `seconds`.
    pub(super) fn per_second(self, seconds: f64) -> PerPlace {
        PerPlace {
            rank: self.rank / seconds,
            node: self.node / seconds,
            world: self.world / seconds,
        }
    }
}

/// The bounds for a job, of a data set in a store with this scheme; `None` for a folder, which is planned as for S3.
pub(super) fn bounds(
    forecast: &Forecast,
    needs: &StepNeeds,
    limits: &StorageLimits,
    scheme: Option<&str>,
) -> Vec<Bound> {
    let each = needs.bytes.rank / needs.requests.rank.max(f64::MIN_POSITIVE);
    let took = limits.latency.as_secs_f64() + each / limits.connection as f64;
    let at_once = forecast.at_once as f64;
    let name = format!(
        "{} at once on each rank, {:.0} ms and {:.0} MB/s each",
        forecast.at_once,
        limits.latency.as_secs_f64() * 1e3,
        limits.connection as f64 / 1e6
    );
    let mut all = vec![bound(name, "requests", at_once / took.max(1e-9), needs.requests.rank)];
    let stated = STATED.iter().find(|(name, ..)| *name == scheme.unwrap_or("s3"));
    let prefix = match (limits.requests, stated) {
        (Some(given), _) => Some((given as f64, "as given")),
        (None, Some((_, rate, what))) => Some((*rate, *what)),
        (None, None) => None,
    };
    if let Some((rate, what)) = prefix {
        let name = format!("requests of all ranks ({what})");
        all.push(bound(name, "requests", rate, needs.requests.world));
    }
    if let Some(node) = limits.node {
        let name = "bandwidth of each node".into();
        all.push(bound(name, "bytes", node as f64, needs.bytes.node));
    }
    all
}

fn bound(name: String, unit: &'static str, allowed_per_s: f64, a_step: f64) -> Bound {
    let shortest_step_ms = a_step / allowed_per_s * 1e3;
    Bound {
        name,
        unit,
        allowed_per_s,
        shortest_step_ms,
        needed_per_s: None,
        utilization_percent: None,
    }
}

impl Bound {
    /// With steps of so many milliseconds.
    pub(super) fn used_by(mut self, step_ms: f64) -> Bound {
        let used = self.shortest_step_ms / step_ms;
        self.needed_per_s = Some(used * self.allowed_per_s);
        self.utilization_percent = Some(100.0 * used);
        self
    }
}

/// The shortest step that all bounds allow, in milliseconds.
pub(super) fn shortest(bounds: &[Bound]) -> f64 {
    bounds.iter().map(|bound| bound.shortest_step_ms).fold(0.0, f64::max)
}
