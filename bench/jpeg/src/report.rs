//! The tables, as Markdown on stdout.

use crate::quality::Quality;
use crate::rounds::{Pass, Passes};
use crate::work::Data;

/// Rates of all competitors, each beside the rival `against`.
pub(crate) fn rates(title: &str, data: &Data, threads: usize, measured: &[Passes], against: &str) {
    let images = data.items.len() as f64;
    println!(
        "### {title}: {}, {threads} thread{}\n",
        data.name,
        if threads == 1 { "" } else { "s" }
    );
    println!(
        "| decoder | images/s, median (min-max) | MB/s | CPU us an image | speed against {against} | the same in CPU time |"
    );
    println!("|---|---|---|---|---|---|");
    let rival = measured.iter().find(|r| r.name == against);
    for own in measured {
        let rate = spread(own.passes.iter().map(|p| images / p.seconds), |x| format!("{x:.0}"));
        let seconds = median(own.passes.iter().map(|p| p.seconds));
        let cpu = median(own.passes.iter().map(|p| p.cpu_seconds / images * 1e6));
        let [wall_ratio, cpu_ratio] = match rival {
            Some(rival) if rival.name != own.name => {
                [ratio(own, rival, |p| p.seconds), ratio(own, rival, |p| p.cpu_seconds)]
            }
            _ => [String::new(), String::new()],
        };
        let rate_mb = data.bytes() as f64 / 1e6 / seconds;
        println!(
            "| {} | {rate} | {rate_mb:.0} | {cpu:.0} | {wall_ratio} | {cpu_ratio} |",
            own.name
        );
    }
    println!();
}

/// How near the pixels are to those of the reference.
pub(crate) fn qualities(title: &str, data: &Data, reference: &str, rows: &[(&str, Quality)]) {
    println!("### {title}: {}, pixels beside {reference}\n", data.name);
    println!("| decoder | equal images | mean difference | largest | PSNR, dB |");
    println!("|---|---|---|---|---|");
    for (name, q) in rows {
        println!(
            "| {name} | {} of {} | {:.4} | {} | {:.1} |",
            q.equal,
            q.images,
            q.mean(),
            q.largest,
            q.psnr()
        );
    }
    println!();
}

/// How many times the rival's time: of medians, then the range over paired rounds.
fn ratio(own: &Passes, rival: &Passes, of: fn(&Pass) -> f64) -> String {
    let [ours, theirs] = [own, rival].map(|of_one| median(of_one.passes.iter().map(of)));
    let pairs = own.passes.iter().zip(&rival.passes).map(|(a, b)| of(b) / of(a));
    let (low, high) = pairs.fold((f64::MAX, 0.0_f64), |(l, h), x| (l.min(x), h.max(x)));
    format!("{:.2}x ({low:.2}-{high:.2})", theirs / ours)
}

fn spread(values: impl Iterator<Item = f64>, show: fn(f64) -> String) -> String {
    let values: Vec<f64> = values.collect();
    let low = values.iter().copied().fold(f64::MAX, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{} ({}-{})", show(median(values.into_iter())), show(low), show(high))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}
