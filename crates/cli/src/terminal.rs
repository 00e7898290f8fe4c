//! What goes to the terminal beside answers: errors, notes, progress.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Whether standard error may be coloured.
fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// One line of error.
pub(crate) fn error(what: &str) {
    let mut e = std::io::stderr();
    let _ = if colour() {
        writeln!(e, "\x1b[31merror:\x1b[0m {what}")
    } else {
        writeln!(e, "error: {what}")
    };
}

/// A line beside the answer.
pub(crate) fn note(what: &str) {
    let mut e = std::io::stderr();
    let _ = if colour() {
        writeln!(e, "\x1b[2m{what}\x1b[0m")
    } else {
        writeln!(e, "{what}")
    };
}

/// A progress line that is redrawn on a terminal and silent elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    label: String,
    shown: bool,
    start: Instant,
    last: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            shown: false,
            start: Instant::now(),
            last: None,
        }
    }

    /// Shows `done` of `total`, at most ten times a second and not before half a second has passed: what is
    /// quick needs no bar.
    pub(crate) fn update(&mut self, done: u64, total: u64) {
        let now = Instant::now();
        let early = now - self.start < Duration::from_millis(500);
        let soon = self
            .last
            .is_some_and(|l| now - l < Duration::from_millis(100));
        if !std::io::stderr().is_terminal() || early || soon || total == 0 {
            return;
        }
        self.last = Some(now);
        self.shown = true;
        let share = done as f64 / total as f64;
        let left = (now - self.start).as_secs_f64() * (1.0 - share) / share.max(1e-6);
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K{} {:>3.0} % ({left:.0} s left)",
            self.label,
            share * 100.0
        );
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
