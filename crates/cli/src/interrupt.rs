//! Ctrl-C and termination: work that can stop is asked to; anything else ends at once, with a line that says so.

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;

use engine::Cancel;

use crate::terminal;

/// What the first signal stops, once there is something that can be stopped.
static STOPS: OnceLock<Cancel> = OnceLock::new();

/// The exit code of a program that a signal ended.
const EXIT: i32 = 130;

/// From here on a signal is answered. Without a handler the system's own way of ending remains.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        match STOPS.get() {
            Some(work) if !work.is_cancelled() => return work.cancel(),
            _ => {}
        }
        let mut e = std::io::stderr();
        if e.is_terminal() {
            // Takes the place of a progress line.
            let _ = write!(e, "\r\x1b[K");
        }
        terminal::error("interrupted");
        std::process::exit(EXIT);
    });
}

/// The first signal from here on cancels what is returned; a second one ends the program.
pub(crate) fn stops_work() -> Cancel {
    STOPS.get_or_init(Cancel::default).clone()
}
