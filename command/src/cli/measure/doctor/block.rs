//! A sample, or the means of a watch, as a block of lines of at most the width of a terminal. A function of the look.

use tarflume_base::units;
use tarflume_formats::shown;

use crate::doctor::watch::causes::duration;
use crate::doctor::watch::loader_look::LoaderLook;
use crate::doctor::watch::look::{Disk, Look, Memory};
use crate::doctor::watch::training::Training;

/// Columns of the names at the left.
const NAME: usize = 10;
/// Disks, interfaces and loaders that are listed: the busiest.
const LISTED: usize = 8;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Draw bars with the block elements of Unicode, not with `#`.
    pub(super) unicode: bool,
}

/// Returns the lines.
pub(super) fn lines(look: &Look, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    gpus(&mut lines, look, style);
    cpu(&mut lines, look, style);
    if let Some(of) = &look.training {
        training(&mut lines, of, look);
    }
    if let Some(of) = &look.memory {
        memory(&mut lines, of);
    }
    disks(&mut lines, look, style);
    network(&mut lines, look);
    for loader in look.loaders.iter().take(LISTED) {
        of_loader(&mut lines, loader, style);
    }
    if look.loaders.len() > LISTED {
        lines.push(named("", &format!("and {} more loaders", look.loaders.len() - LISTED)));
    }
    lines.iter().flat_map(|line| folded(line, style.width)).collect()
}

/// Returns a line without controls as lines of at most `width` characters, which begin below its text. Breaks it at
/// spaces; a word without one is cut.
fn folded(line: &str, width: usize) -> Vec<String> {
    let line = shown::text(line);
    let mut lines = Vec::new();
    let mut rest: Vec<char> = line.trim_end().chars().collect();
    while rest.len() > width && width > 2 * NAME {
        let end = (NAME + 2..=width).rev().find(|end| rest[*end] == ' ').unwrap_or(width);
        lines.push(rest[..end].iter().collect::<String>());
        let indent = " ".repeat(NAME + 1);
        let more: String = rest[end..].iter().collect();
        rest = format!("{indent}{}", more.trim_start()).chars().collect();
    }
    lines.push(cut(&rest.iter().collect::<String>(), width));
    lines
}

/// Returns a line without controls and of at most `width` characters; the last one tells that more follows.
pub(super) fn cut(line: &str, width: usize) -> String {
    let line = shown::text(line);
    let line = line.trim_end();
    if line.chars().count() <= width {
        return line.to_string();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}>")
}

fn named(name: &str, text: &str) -> String {
    format!("{name:<NAME$} {text}")
}

/// Returns a bar of `cells` columns that is full at 100 percent.
fn bar(percent: f64, cells: usize, style: Style) -> String {
    let share = (percent / 100.0).clamp(0.0, 1.0);
    if !style.unicode {
        let full = (share * cells as f64).round() as usize;
        return format!("[{}{}]", "#".repeat(full), " ".repeat(cells - full));
    }
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * 8.0 * cells as f64).round() as usize;
    let full = eighths / 8;
    let rest = EIGHTHS[eighths % 8];
    let empty = cells - full - usize::from(!rest.is_empty());
    format!("{}{rest}{}", "█".repeat(full), "·".repeat(empty))
}

/// Returns the columns of a bar: more on a wide terminal.
fn cells(style: Style) -> usize {
    (style.width / 8).clamp(8, 24)
}

/// Returns a percentage in five columns.
fn share(percent: Option<f64>) -> String {
    percent.map_or("  - %".into(), |percent| format!("{percent:>3.0} %"))
}

fn gpus(lines: &mut Vec<String>, look: &Look, style: Style) {
    for gpu in &look.gpus {
        let sm = gpu.sm_percent;
        let bar = bar(sm.unwrap_or(0.0), cells(style), style);
        let memory = share(gpu.memory_used_percent);
        let controller = share(gpu.memory_controller_percent);
        let from = rate(gpu.from_host_mb_per_s);
        let to = rate(gpu.to_host_mb_per_s);
        let text = format!(
            "SM {} {bar}  memory {memory} used, {controller} busy  link {from} in, {to} out",
            share(sm)
        );
        lines.push(named(&format!("GPU {}", gpu.gpu), &text));
    }
}

/// Returns a rate with its unit.
fn rate(mb_per_s: Option<f64>) -> String {
    match mb_per_s {
        None => "-".into(),
        Some(rate) if rate >= 1000.0 => format!("{:.1} GB/s", rate / 1000.0),
        Some(rate) if rate >= 100.0 => format!("{rate:.0} MB/s"),
        Some(rate) => format!("{rate:.1} MB/s"),
    }
}

fn cpu(lines: &mut Vec<String>, look: &Look, style: Style) {
    let cpu = &look.cpu;
    let text = format!(
        "{} {}  user {:.0}, system {:.0}, waits for disk {:.0}, stolen {:.0}; {} running, {} blocked",
        share(Some(cpu.busy_percent)),
        bar(cpu.busy_percent, cells(style), style),
        cpu.user_percent,
        cpu.system_percent,
        cpu.waiting_for_disk_percent,
        cpu.stolen_percent,
        cpu.running_threads,
        cpu.blocked_processes
    );
    lines.push(named("CPU", &text));
    let each: Vec<String> = cpu.each_busy_percent.iter().map(|busy| column(*busy, style)).collect();
    let room = style.width.saturating_sub(NAME + 1).max(8);
    for part in each.chunks(room) {
        lines.push(named("  each", &part.concat()));
    }
}

/// Returns a column of one character: the tenths or eighths that a processor was busy.
fn column(percent: f64, style: Style) -> String {
    let share = (percent / 100.0).clamp(0.0, 1.0);
    if style.unicode {
        const HEIGHTS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        HEIGHTS[(share * 8.0).round() as usize].to_string()
    } else {
        ((share * 9.0).round() as u32).to_string()
    }
}

fn training(lines: &mut Vec<String>, of: &Training, look: &Look) {
    let read = of
        .disk_mb_per_s
        .map_or(String::new(), |read| format!("; reads {} from disks", rate(Some(read))));
    let text = format!(
        "{:.1} of {:.1} processors; {}, {}, {}{read}",
        of.cores,
        look.usable(),
        units::counted(of.processes, "process", "processes"),
        units::counted(of.threads, "thread", "threads"),
        units::bytes(of.memory_bytes)
    );
    lines.push(named("training", &text));
    let busiest = of.busiest.iter().filter(|worker| worker.cores >= 0.005);
    let workers: Vec<String> = busiest
        .map(|worker| format!("{} {} {:.2}", worker.name, worker.pid, worker.cores))
        .collect();
    if of.processes > 1 && !workers.is_empty() {
        lines.push(named("  busiest", &workers.join(", ")));
    }
}

fn memory(lines: &mut Vec<String>, of: &Memory) {
    let used = of.total_bytes.saturating_sub(of.available_bytes);
    let mut text = format!(
        "{} of {} used, page cache {}, {} not on disk yet",
        units::bytes(used),
        units::bytes(of.total_bytes),
        units::bytes(of.page_cache_bytes),
        units::bytes(of.dirty_bytes)
    );
    if let Some((limit, used)) = of.cgroup_limit_bytes.zip(of.cgroup_used_bytes) {
        text += &format!("; cgroup {} of {}", units::bytes(used), units::bytes(limit));
    }
    lines.push(named("memory", &text));
    let moving = [
        (of.swapped_in_pages_per_s, "pages/s from swap"),
        (of.swapped_out_pages_per_s, "pages/s to swap"),
        (of.major_faults_per_s, "faults/s wait for a disk"),
        (of.file_refaults_per_s, "pages/s of files read again"),
    ];
    let moving: Vec<String> = moving
        .iter()
        .filter(|(rate, _)| *rate >= 0.5)
        .map(|(rate, what)| format!("{rate:.0} {what}"))
        .collect();
    if !moving.is_empty() {
        lines.push(named("", &moving.join(", ")));
    }
}

fn disks(lines: &mut Vec<String>, look: &Look, style: Style) {
    let mut disks: Vec<&Disk> = look.disks.iter().collect();
    disks.sort_by(|a, b| b.busy_percent.total_cmp(&a.busy_percent));
    for disk in disks.iter().take(LISTED) {
        let mut text = format!(
            "{} {}  reads {}, writes {}, queue {:.1}",
            share(Some(disk.busy_percent)),
            bar(disk.busy_percent, cells(style), style),
            rate(Some(disk.read_mb_per_s)),
            rate(Some(disk.write_mb_per_s)),
            disk.queue
        );
        if let Some((size, time)) = disk.read_size_bytes.zip(disk.read_ms) {
            text += &format!(
                "; {:.0} reads/s of {}, {time:.1} ms each",
                disk.reads_per_s,
                units::bytes(size as u64)
            );
        }
        lines.push(named(&disk.name, &text));
    }
}

fn network(lines: &mut Vec<String>, look: &Look) {
    for one in look.network.iter().take(LISTED) {
        let received = rate(Some(one.received_mb_per_s));
        let sent = rate(Some(one.sent_mb_per_s));
        lines.push(named(&one.name, &format!("{received} in, {sent} out")));
    }
}

fn of_loader(lines: &mut Vec<String>, of: &LoaderLook, style: Style) {
    let mut head = match (of.rank, of.world_size) {
        (Some(rank), Some(world)) if world > 1 => format!("rank {rank} of {world}, "),
        _ => String::new(),
    };
    head += &format!("process {}", of.pid);
    if let Some(epoch) = of.epoch {
        head += &format!("; epoch {epoch}");
    }
    if let Some(percent) = of.epoch_percent {
        head += &format!(" at {percent:.0} %");
    }
    head += &format!("; {:.1} batches/s, {:.0} samples/s", of.batches_per_s, of.samples_per_s);
    if let Some(seconds) = of.epoch_s {
        head += &format!("; an epoch takes {}", duration(seconds));
    }
    if of.ended {
        head += "; ended";
    }
    lines.push(named(&format!("loader {}", of.loader), &head));
    let waits = share(of.waited_percent);
    let bar = bar(of.waited_percent.unwrap_or(0.0), cells(style), style);
    let mut text = format!("{waits} {bar}");
    if let Some(wait) = of.batch_wait_ms {
        text += &format!(
            "  p50 {:.1}, p95 {:.1}, p99 {:.1}, most {:.1} ms",
            wait.p50, wait.p95, wait.p99, wait.max
        );
    }
    if of.waiting_s >= 0.1 {
        text += &format!("; waiting now for {}", duration(of.waiting_s));
    }
    lines.push(named("  waits", &text));
    let busy = of.stages.iter().filter(|(_, threads)| **threads >= 0.005);
    let mut stages: Vec<String> =
        busy.map(|(name, threads)| format!("{name} {threads:.2}")).collect();
    if let Some((ready, prepared)) = of.ready_batches.zip(of.prepared_batches) {
        stages.insert(0, format!("{ready:.1} of {prepared:.0} batches ready"));
    }
    if let Some(fetched) = of.fetched_mb_per_s {
        stages.push(format!("from the store {}", rate(Some(fetched))));
    }
    if let Some(hits) = of.cache_hit_percent {
        stages.push(format!("cache answers {hits:.0} %"));
    }
    if let Some(word) = &of.bottleneck {
        stages.push(format!("bottleneck: {word}"));
    }
    lines.push(named("  threads", &stages.join(", ")));
    if let Some(warning) = &of.warning {
        lines.push(named("  warning", warning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::gpus::Sample;
    use crate::doctor::watch::look::Cpu;
    use crate::doctor::watch::training::Worker;

    fn busy() -> Look {
        let gpu = Sample {
            sm_percent: Some(87.0),
            memory_used_percent: Some(100.0),
            ..Sample::default()
        };
        let cpu = Cpu {
            processors: 192,
            busy_percent: 50.0,
            each_busy_percent: vec![50.0; 192],
            ..Cpu::default()
        };
        let worker = Worker {
            pid: 4_194_303,
            name: "\u{1b}[2Jpython\n".into(),
            cores: 1.25,
            memory_bytes: 7,
        };
        let training = Training {
            processes: 40,
            cores: 50.0,
            busiest: vec![worker; 16],
            ..Training::default()
        };
        let disk = Disk {
            name: "nvme0n1".into(),
            read_size_bytes: Some(4096.0),
            read_ms: Some(0.1),
            ..Disk::default()
        };
        let loader = LoaderLook {
            epoch: Some(3),
            epoch_s: Some(9e9),
            waiting_s: 4.0,
            ..LoaderLook::default()
        };
        Look {
            gpus: vec![gpu; 8],
            cpu,
            memory: Some(Memory { file_refaults_per_s: 9e6, ..Memory::default() }),
            disks: vec![disk; 3],
            training: Some(training),
            loaders: vec![loader; 12],
            ..Look::default()
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_has_controls() {
        for width in [1, 20, 21, 40, 80, 200, 1000] {
            for unicode in [false, true] {
                let lines = lines(&busy(), Style { width, unicode });
                assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
                let text = lines.concat();
                assert!(!text.contains(['\u{1b}', '\n']) && (unicode || text.is_ascii()), "{text}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_goes_on_below_its_text() {
        let lines = lines(&busy(), Style { width: 80, unicode: false });
        let first = "GPU 0      SM  87 % [######### ]  memory 100 % used,   - % busy  link - in, -";
        assert_eq!(lines[..2], [first, "           out"]);
        assert!(lines.iter().any(|line| line.contains("and 4 more loaders")));
        let whole = super::lines(&busy(), Style { width: 1000, unicode: false });
        assert!(whole.len() < lines.len());
        // The first bars differ in width, and nothing else.
        for word in [
            "0 reads/s of 4.1 kB",
            "9000000 pages/s of files read again",
            "104,166 days",
            "waiting now for 4.0 s",
        ] {
            assert!(unfolded(&lines).contains(word), "{word}: {lines:#?}");
            assert!(unfolded(&whole).contains(word), "{word}: {whole:#?}");
        }
    }

    /// The lines as one text.
    fn unfolded(lines: &[String]) -> String {
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
        words.join(" ")
    }

    #[test]
    fn bars_are_full_at_all_and_empty_at_nothing() {
        let ascii = Style { width: 80, unicode: false };
        assert_eq!(
            [0.0, 50.0, 100.0, 400.0].map(|of| bar(of, 4, ascii)),
            ["[    ]", "[##  ]", "[####]", "[####]"]
        );
        let blocks = Style { width: 80, unicode: true };
        assert_eq!([0.0, 53.0, 100.0].map(|of| bar(of, 4, blocks)), ["····", "██▏·", "████"]);
        assert_eq!([0.0, 50.0, 100.0].map(|of| column(of, ascii)), ["0", "5", "9"]);
        assert_eq!([0.0, 50.0, 100.0].map(|of| column(of, blocks)), ["·", "▄", "█"]);
    }
}
