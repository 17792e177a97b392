//! What is shown while a command works: a bar on a terminal, lines elsewhere, JSON on request.
//!
//! Everything goes to stderr, so that stdout stays for results. The display reads counters; the
//! threads that work know nothing of it.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{Goal, Now};
use crate::running::RunCounter;
use crate::scan::ScanCounter;
use crate::units;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Mode {
    /// A bar on a terminal, lines elsewhere.
    Auto,
    /// A bar.
    Bar,
    /// A line every few seconds.
    Lines,
    /// A JSON object every second.
    Json,
    /// Nothing.
    None,
}

impl Mode {
    /// What `auto` means here, and `--quiet`.
    pub(super) fn resolved(self, quiet: bool) -> Mode {
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match self {
            _ if quiet && self != Mode::Json => Mode::None,
            Mode::Auto if std::io::stderr().is_terminal() && !dumb => Mode::Bar,
            Mode::Auto => Mode::Lines,
            mode => mode,
        }
    }

    fn interval(self) -> Duration {
        match self {
            Mode::Bar => Duration::from_millis(100),
            Mode::Json => Duration::from_secs(1),
            _ => Duration::from_secs(5),
        }
    }
}

/// Shows a scan while `work` runs.
pub(super) fn during_scan<T: Send>(
    mode: Mode,
    counter: &ScanCounter,
    work: impl FnOnce() -> T + Send,
) -> T {
    let bar = bar(mode, "{spinner} scanning: {msg}", None);
    let start = Instant::now();
    with_ticks(mode, work, || {
        let names = counter.names();
        match mode {
            Mode::Bar => {
                bar.set_message(format!("{} names", units::count(names)));
                bar.tick();
            }
            Mode::Lines => tell!("scanning: {} names", units::count(names)),
            Mode::Json => {
                let seconds = start.elapsed().as_secs_f64();
                let event = serde_json::json!({
                    "event": "progress", "phase": "scan", "names": names, "seconds": seconds,
                });
                tell!("{event}");
            }
            Mode::Auto | Mode::None => {}
        }
    })
}

/// Shows a run while `work` runs.
pub(super) fn during_run<T: Send>(
    mode: Mode,
    counter: &RunCounter,
    goal: Goal,
    work: impl FnOnce() -> T + Send,
) -> T {
    let bar = bar(mode, "{bar:30} {percent:>3}%  {msg}", Some(goal.bytes));
    let start = Instant::now();
    with_ticks(mode, work, || {
        let now = Now::of(counter, goal, start);
        match mode {
            Mode::Bar => {
                bar.set_position(now.bytes.min(goal.bytes));
                bar.set_message(now.line());
            }
            Mode::Lines => tell!("packing: {}", now.line()),
            Mode::Json => tell!("{}", now.json()),
            Mode::Auto | Mode::None => {}
        }
    })
}

/// Runs `work` in a thread of its own and `tick` here, now and then, until it is done.
fn with_ticks<T: Send>(mode: Mode, work: impl FnOnce() -> T + Send, mut tick: impl FnMut()) -> T {
    if matches!(mode, Mode::None | Mode::Auto) {
        return work();
    }
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = work();
            drop(done);
            result
        });
        while ended.recv_timeout(mode.interval()) == Err(RecvTimeoutError::Timeout) {
            tick();
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn bar(mode: Mode, template: &str, length: Option<u64>) -> ProgressBar {
    if mode != Mode::Bar {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar
}
