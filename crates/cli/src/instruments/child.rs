//! The same binary, or another, as a child process: what only a fresh process can show.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::Failure;

/// What a child says once its first token is out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FirstToken {
    /// Its peak memory then, in bytes.
    pub(crate) peak_rss_bytes: Option<u64>,
}

/// Runs `exe args`; returns the seconds from before the process exists to its first line, and what the
/// line says.
pub(crate) fn first_token(exe: &Path, args: &[String]) -> Result<(f64, FirstToken), Failure> {
    let start = Instant::now();
    let mut child = Command::new(exe)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(exe, &format!("cannot start: {e}")))?;
    let mut line = String::new();
    let mut seconds = 0.0;
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
        seconds = start.elapsed().as_secs_f64();
    }
    let mut complaint = String::new();
    if let Some(mut err) = child.stderr.take() {
        err.read_to_string(&mut complaint)?;
    }
    child.wait()?;
    let said = serde_json::from_str(&line).map_err(|_| failed(exe, complaint_line(&complaint)))?;
    Ok((seconds, said))
}

/// Runs `exe args` to its end and returns what it printed.
pub(crate) fn said(exe: &Path, args: &[String]) -> Result<String, Failure> {
    let out = Command::new(exe)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed(exe, &format!("cannot start: {e}")))?;
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    if out.status.success() && !text.is_empty() {
        return Ok(text);
    }
    let complaint = String::from_utf8_lossy(&out.stderr);
    Err(Failure::Work(complaint_line(&complaint).into()))
}

/// Runs `exe bench args --json` and reads the result.
pub(crate) fn bench(exe: &Path, args: &[String]) -> Result<Record, Failure> {
    let out = Command::new(exe)
        .arg("bench")
        .args(args)
        .arg("--json")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed(exe, &format!("cannot start: {e}")))?;
    if !out.status.success() {
        let complaint = String::from_utf8_lossy(&out.stderr);
        return Err(failed(exe, complaint_line(&complaint)));
    }
    Record::parse(&String::from_utf8_lossy(&out.stdout)).map_err(|e| failed(exe, &e))
}

/// The line that says what went wrong: the error's, else the last.
fn complaint_line(complaint: &str) -> &str {
    let mut lines = complaint.lines().rev().filter(|l| !l.trim().is_empty());
    let last = lines.clone().next();
    lines
        .find_map(|l| l.strip_prefix("error: "))
        .or(last)
        .unwrap_or("ended without a word")
}

fn failed(exe: &Path, why: &str) -> Failure {
    Failure::Work(format!("{}: {why}", exe.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_what_went_wrong() {
        let c = "note\nerror: no such command\n\nFor more information, try it\n";
        assert_eq!(complaint_line(c), "no such command");
        assert_eq!(complaint_line("killed\n"), "killed");
        assert_eq!(complaint_line(""), "ended without a word");
    }

    #[test]
    fn a_binary_that_is_none_is_named() {
        let e = bench(Path::new("/nonexistent/molten"), &[]);
        let Err(Failure::Work(e)) = e else {
            panic!("started")
        };
        assert!(
            e.to_string()
                .starts_with("/nonexistent/molten: cannot start")
        );
    }
}
