//! The progress display: a bar on a terminal, lines elsewhere, JSON on request.
//!
//! Everything goes to stderr, so that stdout is free for results. The display reads counters; the
//! working threads do not know it.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tarflume_base::units;
use tarflume_packer::session::BuildCounter;

/// The form of progress reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Mode {
    /// A bar on a terminal, lines elsewhere
    Auto,
    /// A bar
    Bar,
    /// A line every few seconds
    Lines,
    /// A JSON object every second: `--format json`
    #[value(skip)]
    Json,
    /// Nothing
    None,
}

impl Mode {
    /// Resolves `auto` and `--quiet` for this terminal.
    pub(in crate::cli) fn resolved(self, quiet: bool) -> Mode {
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match self {
            _ if quiet => Mode::None,
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

/// Shows the progress of a scan while `work` runs.
pub(in crate::cli) fn during_scan<T>(
    mode: Mode,
    counter: &BuildCounter,
    work: impl FnOnce() -> T,
) -> T {
    let bar = Bar::new(mode);
    let start = Instant::now();
    with_ticks(mode, work, || {
        let names = counter.names();
        match mode {
            Mode::Bar => bar.show(format!("scanning: {} names", units::count(names))),
            Mode::Lines => print_message!("scanning: {} names", units::count(names)),
            Mode::Json => {
                let seconds = start.elapsed().as_secs_f64();
                let event = serde_json::json!({
                    "event": "progress", "phase": "scan", "names": names, "seconds": seconds,
                });
                print_message!("{event}");
            }
            Mode::Auto | Mode::None => {}
        }
    })
}

/// Shows the progress of a run while `work` runs, once its goal is known; `doing` names the work, for
/// example `packing`.
pub(in crate::cli) fn during_run<T>(
    mode: Mode,
    counter: &BuildCounter,
    doing: &str,
    work: impl FnOnce() -> T,
) -> T {
    let bar = Bar::new(mode);
    with_ticks(mode, work, || {
        let Some(now) = counter.now() else { return };
        match mode {
            Mode::Bar => {
                // A wide line also names the work.
                let label = if bar.width() < 60 { String::new() } else { format!("{doing}: ") };
                bar.show(format!("{label}{}", now.bar_line(bar.width() - label.len())));
            }
            Mode::Lines => print_message!("{doing}: {}", now.line()),
            Mode::Json => print_message!("{}", now.json()),
            Mode::Auto | Mode::None => {}
        }
    })
}

/// Shows what `now` returns, as text and as an event, while `work` runs.
pub(in crate::cli) fn during<T>(
    mode: Mode,
    now: impl Fn(Duration) -> (String, serde_json::Value) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let bar = Bar::new(mode);
    let start = Instant::now();
    with_ticks(mode, work, || {
        let (line, event) = now(start.elapsed());
        match mode {
            Mode::Bar => bar.show(line),
            Mode::Lines => print_message!("{line}"),
            Mode::Json => print_message!("{event}"),
            Mode::Auto | Mode::None => {}
        }
    })
}

/// Runs `work` here, and `tick` at intervals in a thread until it is done. Shows nothing if the
/// thread cannot be started.
fn with_ticks<T>(mode: Mode, work: impl FnOnce() -> T, mut tick: impl FnMut() + Send) -> T {
    if matches!(mode, Mode::None | Mode::Auto) {
        return work();
    }
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        // A failure of the display must not fail the work.
        let _ = Builder::new().name("tarflume-show".into()).spawn_scoped(scope, move || {
            while ended.recv_timeout(mode.interval()) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// A line of a terminal that is overwritten and removed at the end.
struct Bar {
    bar: ProgressBar,
    columns: Box<dyn Fn() -> u16 + Send + Sync>,
}

impl Bar {
    /// Creates a bar on stderr; `None` in other modes.
    fn new(mode: Mode) -> Bar {
        let columns = Box::new(|| Term::stderr().size().1);
        match mode {
            Mode::Bar => Bar::on(ProgressDrawTarget::stderr(), columns),
            _ => Bar { bar: ProgressBar::hidden(), columns },
        }
    }

    fn on(target: ProgressDrawTarget, columns: Box<dyn Fn() -> u16 + Send + Sync>) -> Bar {
        let bar = ProgressBar::with_draw_target(None, target);
        // Cut a line that is wider than the terminal; a wrapped line could not be overwritten.
        let style = ProgressStyle::with_template("{wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Bar { bar, columns }
    }

    /// Returns the current width of the terminal in columns.
    fn width(&self) -> usize {
        usize::from((self.columns)())
    }

    fn show(&self, line: String) {
        self.bar.set_message(line);
        self.bar.tick();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use indicatif::InMemoryTerm;
    use tarflume_packer::progress::{Goal, Now};
    use tarflume_packer::run::RunCounter;

    use super::*;

    /// Returns the content of a terminal with this many columns after a few ticks.
    fn shown(columns: u16) -> String {
        let term = InMemoryTerm::new(10, columns);
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let bar = Bar::on(target, Box::new(move || columns));
        let counter = RunCounter::default();
        let goal = Goal { bytes: 123_456_789_012, shards: 1_234 };
        for step in 0..20 {
            counter.bytes.store(step * 5_000_000_000, Ordering::Relaxed);
            counter.samples.store(step * 1_000_000, Ordering::Relaxed);
            counter.problems.store(step, Ordering::Relaxed);
            let now = Now::of(&counter, goal, Instant::now() - Duration::from_secs(9_000));
            bar.show(now.bar_line(bar.width()));
        }
        term.contents()
    }

    #[test]
    fn the_bar_is_one_line_at_any_width() {
        for columns in [5, 10, 20, 40, 60, 80, 100, 200] {
            let shown = shown(columns);
            assert_eq!(shown.lines().count(), 1, "{columns} columns:\n{shown}");
            assert!(shown.contains("76%"), "{columns} columns:\n{shown}");
        }
        assert!(shown(80).starts_with('['), "{}", shown(80));
        assert!(shown(200).contains("19 problems") && shown(200).contains("shards 0/1234"));
    }

    #[test]
    fn the_progress_bar_is_erased_at_the_end() {
        let term = InMemoryTerm::new(10, 80);
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let bar = Bar::on(target, Box::new(|| 80));
        bar.show("scanning: 12 names".into());
        assert_eq!(term.contents(), "scanning: 12 names");
        drop(bar);
        assert_eq!(term.contents(), "");
    }
}
