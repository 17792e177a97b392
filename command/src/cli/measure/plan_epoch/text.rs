//! The report of `pack plan-epoch` as lines for people.

use std::io::{self, Write};

use tarflume_base::units;

use crate::plan_epoch::report::{
    Bound, Classes, CostReport, Packs, PerPlace, Rate, Report, Suggestion,
};

/// Writes the report. `settings` are the options that reproduce it.
pub(super) fn write(to: &mut impl Write, report: &Report, settings: &str) -> io::Result<()> {
    writeln!(
        to,
        "{}: {} in {}, {}",
        report.path,
        units::counted(report.samples, "sample", "samples"),
        units::counted(report.shards, "shard", "shards"),
        units::bytes(report.bytes)
    )?;
    writeln!(to, "{settings}")?;
    for note in &report.notes {
        writeln!(to, "note: {note}")?;
    }
    writeln!(to)?;
    if let Some(packs) = &report.packs {
        packed(to, packs)?;
    }
    volume(to, report)?;
    machine(to, report)?;
    if let Some(cost) = &report.cost {
        expense(to, cost, report.job.epochs)?;
    } else {
        line(to, "cost", "the price of this store is not known; give --price or --request-price")?;
    }
    if let Some(rate) = &report.rate {
        rates(to, rate)?;
    }
    if let Some(classes) = &report.classes {
        mixing(to, classes, report.job.batch_size)?;
    }
    writeln!(to)?;
    table(to, &report.judged.bounds)?;
    verdict(to, report)?;
    match &report.classes {
        Some(classes) if !classes.better.is_empty() => poor(to, classes),
        _ => Ok(()),
    }
}

fn line(to: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(to, "{name:<11}{value}")
}

/// What an epoch of packed samples becomes.
fn packed(to: &mut impl Write, packs: &Packs) -> io::Result<()> {
    let count = units::counted(packs.packs, "pack", "packs");
    let steps = units::counted(packs.steps, "step", "steps");
    let samples = units::counted(packs.samples, "sample", "samples");
    let text = format!(
        "{count} of {} tokens, {:.2} % filled; {samples}; {steps} of each rank",
        units::count(packs.max_tokens),
        100.0 * packs.filled
    );
    line(to, "packs", &text)?;
    match packs.too_long {
        0 => Ok(()),
        long => {
            let long = units::counted(long, "sample is", "samples are");
            line(to, "", &format!("{long} longer than a pack, and left out here"))
        }
    }
}

/// Steps, requests and bytes.
fn volume(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let epoch = &report.epoch;
    let steps = units::counted(epoch.steps, "step", "steps");
    let samples = units::counted(epoch.samples, "sample", "samples");
    let dropped = match epoch.dropped {
        0 => String::new(),
        dropped => format!(", {} dropped", units::count(dropped)),
    };
    line(to, "epoch", &format!("{steps} of each rank; {samples}{dropped}"))?;
    let requests = epoch.requests;
    let each = epoch.bytes / epoch.requests.max(1);
    let per_rank = match report.job.world_size {
        1 => String::new(),
        _ => format!(", {} of each rank", units::count(epoch.requests_per_rank)),
    };
    let text =
        format!("{} an epoch{per_rank}; {} each", units::count(requests), units::bytes(each));
    line(to, "requests", &text)?;
    let times = epoch.bytes as f64 / epoch.part_bytes.max(1) as f64;
    let text = format!("{} an epoch, {times:.2} times the parts", units::bytes(epoch.bytes));
    line(to, "bytes", &text)?;
    let of = &report.looked_up;
    let text = match of.uncertainty_percent {
        None => "every sample of the epoch".to_string(),
        Some(percent) => format!(
            "{} of {} samples, in batches spread over the epoch, of {} of {} shards: requests ± {percent:.1} %",
            units::count(of.samples),
            units::count(epoch.samples),
            units::count(of.shards),
            units::count(report.shards)
        ),
    };
    line(to, "looked up", &text)
}

/// What each node needs.
fn machine(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let opening = &report.opening;
    let requests = units::counted(opening.requests_per_node, "request", "requests");
    let bytes = units::bytes(opening.bytes_per_node);
    line(to, "opening", &format!("{requests}, {bytes} of sidecars, once on each node"))?;
    let ahead = &report.readahead;
    let rank = units::bytes(ahead.bytes_per_rank);
    let node = units::bytes(ahead.bytes_per_node);
    let limit = units::bytes(ahead.limit);
    line(to, "memory", &format!("{rank} ahead on each rank (limit {limit}), {node} on each node"))?;
    let cache = &report.node_cache;
    let slots = units::count(cache.slots);
    let text = format!(
        "{} on a node hold the data set ({slots} slots of 1 MiB)",
        units::bytes(cache.bytes)
    );
    line(to, "cache", &text)
}

fn expense(to: &mut impl Write, cost: &CostReport, epochs: u64) -> io::Result<()> {
    let text = format!("{} USD an epoch for requests; {}", usd(cost.usd_per_epoch), cost.source);
    line(to, "cost", &text)?;
    let egress = if cost.usd_per_gb_egress > 0.0 {
        format!(
            "transfer within the region is free; to the Internet, {} USD an epoch more",
            usd(cost.egress_usd_per_epoch)
        )
    } else {
        "transfer is free".to_string()
    };
    line(to, "", &egress)?;
    if epochs > 1 {
        let more = if cost.usd_per_gb_egress > 0.0 {
            format!("; to the Internet, {} USD more", usd(cost.egress_usd))
        } else {
            String::new()
        };
        let epochs = units::counted(epochs, "epoch", "epochs");
        line(to, "", &format!("{epochs} and opening: {} USD{more}", usd(cost.usd)))?;
    }
    Ok(())
}

/// Cents from a dollar up, and three digits below.
fn usd(usd: f64) -> String {
    match usd {
        usd if usd >= 1.0 || usd == 0.0 => format!("{usd:.2}"),
        usd => {
            let digits = (2.0 - usd.log10().floor()).clamp(2.0, 9.0) as usize;
            format!("{usd:.digits$}")
        }
    }
}

fn rates(to: &mut impl Write, rate: &Rate) -> io::Result<()> {
    let text = format!(
        "an epoch takes {} s with steps of {} ms: {} samples a second",
        number(rate.epoch_seconds),
        rate.step_ms,
        units::count(rate.samples_per_s.round() as u64)
    );
    line(to, "rate", &text)?;
    line(to, "", &format!("requests a second: {}", each_place(rate.requests_per_s, number)))?;
    line(to, "", &format!("bytes a second: {}", each_place(rate.bytes_per_s, bytes)))
}

fn each_place(of: PerPlace, show: fn(f64) -> String) -> String {
    format!("{} a rank, {} a node, {} in all", show(of.rank), show(of.node), show(of.world))
}

fn number(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { units::count(value.round() as u64) }
}

fn bytes(value: f64) -> String {
    units::bytes(value.round() as u64)
}

fn table(to: &mut impl Write, bounds: &[Bound]) -> io::Result<()> {
    let head = ["bound", "allows", "needed", "used", "shortest step"];
    writeln!(to, "{:<50}{:>12}{:>12}{:>9}{:>15}", head[0], head[1], head[2], head[3], head[4])?;
    for bound in bounds {
        let show = if bound.unit == "bytes" { bytes } else { number };
        let allowed = format!("{}/s", show(bound.allowed_per_s));
        let needed = bound.needed_per_s.map_or("-".into(), |needed| format!("{}/s", show(needed)));
        let used = bound.utilization_percent.map_or("-".into(), |used| format!("{used:.1} %"));
        let step = format!("{:.1} ms", bound.shortest_step_ms);
        writeln!(to, "{:<50}{allowed:>12}{needed:>12}{used:>9}{step:>15}", bound.name)?;
    }
    Ok(())
}

fn verdict(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let shortest = report.judged.shortest_step_ms;
    writeln!(to)?;
    match (report.judged.feeds, &report.judged.suggestion) {
        (None, _) => {
            writeln!(
                to,
                "This storage feeds steps of {shortest:.1} ms and more; --step-ms compares that."
            )
        }
        (Some(true), _) => {
            let used = report.judged.bounds.iter().filter_map(|bound| bound.utilization_percent);
            let used = used.fold(0.0, f64::max);
            writeln!(to, "This storage feeds the job, at {used:.1} % of what it allows.")
        }
        (Some(false), found) => {
            writeln!(
                to,
                "This storage does not feed the job: steps take {shortest:.1} ms or more."
            )?;
            writeln!(to, "{}", remedy(report, found))
        }
    }
}

/// How well batches mix the classes.
fn mixing(to: &mut impl Write, of: &Classes, batch: u64) -> io::Result<()> {
    let text = format!(
        "{} ({}); by classes, a batch of {batch} is worth {} independent samples ({} read)",
        units::counted(of.count, "class", "classes"),
        of.place,
        number(of.batch_is_worth),
        units::counted(of.batches, "batch", "batches")
    );
    line(to, "classes", &text)
}

/// What would mix them.
fn poor(to: &mut impl Write, of: &Classes) -> io::Result<()> {
    let better: Vec<String> = of
        .better
        .iter()
        .map(|shuffle| {
            format!("{} makes it worth {}", shuffle.options, number(shuffle.batch_is_worth))
        })
        .collect();
    writeln!(
        to,
        "This shuffle does not mix the classes: one class has {:.0} % of a batch. {}.",
        of.most_frequent_percent,
        better.join("; ")
    )
}

/// What would feed the job.
fn remedy(report: &Report, found: &Option<Suggestion>) -> String {
    match found {
        Some(found) => {
            let Suggestion { block_size, window, split, requests, utilization_percent, .. } = found;
            format!(
                "--shuffle blocks --block-size {block_size} --window {window} --split {split} needs {} an epoch, \
                 {utilization_percent:.1} % of what it allows.",
                units::counted(*requests, "request", "requests")
            )
        }
        None if report.judged.bandwidth_is_too_low => {
            "The parts alone need more than the bandwidth, whatever the shuffle: more nodes help, fewer --parts, \
             or a copy on the nodes."
                .into()
        }
        None => "No blocks that have room in the readahead change that: give more --readahead, or read a copy on \
                 the nodes."
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_keep_three_digits() {
        for (amount, text) in [
            (0.0, "0.00"),
            (12.604, "12.60"),
            (0.5125, "0.512"),
            (0.00004, "0.0000400"),
            (1.0, "1.00"),
        ] {
            assert_eq!(usd(amount), text);
        }
    }
}
