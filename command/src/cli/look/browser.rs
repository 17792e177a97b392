//! Opens an address in the browser of a desktop.

use std::env;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

/// The program of the desktop that opens addresses.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Where this process runs.
#[derive(Debug, Clone, Copy)]
struct Surroundings {
    /// A person reads what is printed.
    is_terminal: bool,
    /// The terminal is at another machine, whose browser does not reach this one.
    is_remote: bool,
    /// A desktop can show windows.
    has_screen: bool,
}

impl Surroundings {
    fn here() -> Surroundings {
        Surroundings {
            is_terminal: io::stdout().is_terminal() && io::stdin().is_terminal(),
            is_remote: ["SSH_CONNECTION", "SSH_TTY"].iter().any(is_set),
            has_screen: cfg!(target_os = "macos")
                || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set),
        }
    }

    fn has_browser(self) -> bool {
        self.is_terminal && self.has_screen && !self.is_remote
    }
}

fn is_set(name: &&str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Opens `address` if a person at a desktop has started this process. Returns true if a browser was started.
pub(in crate::cli) fn open(address: &str) -> bool {
    Surroundings::here().has_browser() && start(address)
}

fn start(address: &str) -> bool {
    let started = Command::new(OPENER)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0) // Ctrl-C ends the server, not the browser
        .spawn();
    let Ok(mut opener) = started else { return false };
    // Without its thread the ended opener stays a zombie until this process ends, which does no harm.
    let _ = thread::Builder::new().spawn(move || opener.wait());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_opens_for_a_person_at_a_desktop_only() {
        for n in 0..8 {
            let [is_terminal, is_remote, has_screen] = [n & 1 > 0, n & 2 > 0, n & 4 > 0];
            let here = Surroundings { is_terminal, is_remote, has_screen };
            let expected = n == 0b101;
            assert_eq!(here.has_browser(), expected, "{here:?}");
        }
    }
}
