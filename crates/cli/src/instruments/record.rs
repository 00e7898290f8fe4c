//! The result of `molten bench`: schema 1, one JSON object. Peers' results come in the same form, with what
//! they cannot say left out.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::machine;
use super::stats::{median, spread};
use crate::Failure;

/// The schema this build writes and reads.
pub(crate) const SCHEMA: u32 = 1;

/// One sitting on one device with one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) schema: u32,
    /// What was measured: `molten`, or a peer's name and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) engine: Option<String>,
    pub(crate) commit: Option<String>,
    /// UTC, RFC 3339.
    pub(crate) date: String,
    pub(crate) device: Device,
    pub(crate) model: Model,
    pub(crate) precision: Option<String>,
    /// Read bandwidth measured in the same run (median), or given.
    pub(crate) bandwidth_gb_s: Option<f64>,
    /// Integer peak of the path in use, measured in the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) integer_gop_s: Option<f64>,
    /// The correctness check: a record with `false` is never written by Molten.
    pub(crate) correct: Option<bool>,
    /// What the check compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<String>,
    pub(crate) binary_sha256: Option<String>,
    pub(crate) driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) machine: Option<machine::State>,
    pub(crate) runs: Vec<Run>,
    pub(crate) peak_rss_bytes: Option<u64>,
}

/// Where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) threads: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) isa: Option<String>,
}

/// What.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) format: String,
    /// Stored bits a weight, all tensors together.
    pub(crate) bits: Option<f64>,
    /// At depth 0.
    pub(crate) bytes_per_token: Option<f64>,
    /// Tells one set of weights from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<String>,
}

/// One figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Run {
    /// `decode`, `prefill`, `ttft`, `start`, `sustained` or `drift`.
    pub(crate) kind: String,
    /// Tokens in the sequence before the measured work.
    pub(crate) depth: usize,
    /// Tokens the measured work took in or gave out.
    pub(crate) tokens: usize,
    /// `tokens / seconds`.
    pub(crate) tok_s: f64,
    /// Median.
    pub(crate) seconds: f64,
    /// Seconds of each repeat, in order.
    pub(crate) repeats: Vec<f64>,
    /// How many repeats.
    pub(crate) median_of: usize,
    /// Slowest minus fastest repeat, as a share of the median.
    pub(crate) spread: f64,
    pub(crate) ceiling_tok_s: Option<f64>,
    pub(crate) share_of_ceiling: Option<f64>,
    /// What sets the ceiling: `memory` or `compute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bound: Option<String>,
    /// Seconds since the start and tok/s, for what was watched over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) series: Vec<[f64; 2]>,
    /// What the reader should know about this figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Run {
    /// A figure from the seconds of its repeats.
    pub(crate) fn new(kind: &str, depth: usize, tokens: usize, repeats: Vec<f64>) -> Self {
        let seconds = median(&repeats);
        Self {
            kind: kind.to_owned(),
            depth,
            tokens,
            tok_s: if seconds > 0.0 {
                tokens as f64 / seconds
            } else {
                0.0
            },
            seconds,
            median_of: repeats.len(),
            spread: spread(&repeats),
            repeats,
            ..Self::default()
        }
    }

    /// Adds the ceiling (tok/s) and what sets it.
    pub(crate) fn under(mut self, ceiling: f64, bound: &str) -> Self {
        self.ceiling_tok_s = Some(ceiling);
        self.share_of_ceiling = Some(self.tok_s / ceiling);
        self.bound = Some(bound.to_owned());
        self
    }
}

impl Record {
    /// The JSON text.
    pub(crate) fn to_json(&self) -> Result<String, Failure> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// Reads a result, our own or a peer's.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::Usage(format!("{}: cannot read: {e}", path.display())))?;
        Self::parse(&text).map_err(|e| {
            Failure::Usage(format!(
                "{}: {e}: give a file that `molten bench --json` or --record wrote",
                path.display()
            ))
        })
    }

    /// Reads the JSON text; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // A list would be read as the fields in order.
        if !text.trim_start().starts_with('{') {
            return Err("is no result of bench (it is no JSON object)".to_owned());
        }
        let r: Self =
            serde_json::from_str(text).map_err(|e| format!("is no result of bench ({e})"))?;
        match r.schema {
            SCHEMA => {}
            0 => return Err("is no result of bench (it has no \"schema\")".to_owned()),
            n => return Err(format!("has schema {n}; this build reads {SCHEMA}")),
        }
        if r.runs.is_empty() {
            return Err("has no runs".to_owned());
        }
        match r
            .runs
            .iter()
            .find(|r| !r.tok_s.is_finite() || r.tok_s < 0.0)
        {
            Some(bad) => Err(format!("has a {} of {} tok/s", bad.kind, bad.tok_s)),
            None => Ok(r),
        }
    }

    /// The run of a kind at a depth.
    pub(crate) fn find(&self, kind: &str, depth: usize) -> Option<&Run> {
        self.runs
            .iter()
            .find(|r| r.kind == kind && r.depth == depth)
    }

    /// Engine, for titles.
    pub(crate) fn engine(&self) -> &str {
        self.engine.as_deref().unwrap_or("molten")
    }

    /// Writes it into `dir` under a name made of date, device and model; never over another.
    pub(crate) fn keep(&self, dir: &Path) -> Result<PathBuf, Failure> {
        let date = self.date.get(..10).unwrap_or("undated");
        let device = format!("{}-{}", self.device.kind, self.device.name);
        let path = dir.join(format!(
            "{date}-{}-{}.json",
            slug(&device),
            slug(&self.model.name)
        ));
        write_new(&path, self.to_json()?.as_bytes())?;
        Ok(path)
    }
}

/// Writes a new file whole or not at all; an existing one is an error.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let taken = || {
        Failure::Work(
            format!(
                "{}: exists already: move it away or record elsewhere",
                path.display()
            )
            .into(),
        )
    };
    if path.exists() {
        return Err(taken());
    }
    let temp = temporary(path, bytes)?;
    // A link, unlike a rename, fails when the name was taken meanwhile.
    let linked = std::fs::hard_link(&temp, path);
    let _ = std::fs::remove_file(&temp);
    match linked {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(taken()),
        Err(e) => Err(cannot_write(path, &e)),
    }
}

/// Writes a file whole or not at all, over an earlier one if there is one.
pub(crate) fn write_over(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let temp = temporary(path, bytes)?;
    std::fs::rename(&temp, path).map_err(|e| {
        let _ = std::fs::remove_file(&temp);
        cannot_write(path, &e)
    })
}

fn temporary(path: &Path, bytes: &[u8]) -> Result<PathBuf, Failure> {
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        std::fs::create_dir_all(dir).map_err(|e| cannot_write(path, &e))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temp = path.with_file_name(name);
    std::fs::write(&temp, bytes).map_err(|e| {
        let _ = std::fs::remove_file(&temp);
        cannot_write(path, &e)
    })?;
    Ok(temp)
}

fn cannot_write(path: &Path, e: &std::io::Error) -> Failure {
    Failure::Work(format!("{}: cannot write: {e}", path.display()).into())
}

/// Lower-case letters and digits with single dashes between.
fn slug(name: &str) -> String {
    let mut s = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '.' {
            s.push(c.to_ascii_lowercase());
        } else if !s.ends_with('-') && !s.is_empty() {
            s.push('-');
        }
    }
    s.trim_end_matches('-').to_owned()
}

/// The time, UTC, RFC 3339.
pub(crate) fn now() -> String {
    let s = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    stamp(s)
}

/// Days since 1970 become a date by counting in eras of 400 years that begin in March.
fn stamp(seconds: u64) -> String {
    let (day, s) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, in_era) = (day / 146_097, day % 146_097);
    let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * in_year + 2) / 153;
    let d = in_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let (h, min, sec) = (s / 3600, s / 60 % 60, s % 60);
    format!("{year:04}-{month:02}-{d:02}T{h:02}:{min:02}:{sec:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        Record {
            schema: SCHEMA,
            date: "2026-12-01T00:00:00Z".into(),
            device: Device {
                name: "AMD EPYC (tm)".into(),
                kind: "cpu".into(),
                threads: Some(2),
                isa: Some("avx2".into()),
            },
            model: Model {
                name: "LFM2 x".into(),
                ..Model::default()
            },
            correct: Some(true),
            runs: vec![Run::new("decode", 256, 64, vec![2.0, 1.0, 4.0]).under(64.0, "memory")],
            ..Record::default()
        }
    }

    #[test]
    fn a_figure_is_the_median_of_its_repeats() {
        let r = &sample().runs[0];
        assert_eq!(
            (r.seconds, r.tok_s, r.median_of, r.spread),
            (2.0, 32.0, 3, 1.5)
        );
        assert_eq!(
            (r.ceiling_tok_s, r.share_of_ceiling),
            (Some(64.0), Some(0.5))
        );
    }

    #[test]
    fn json_goes_round() {
        let r = sample();
        assert_eq!(Record::parse(&r.to_json().unwrap()).unwrap(), r);
    }

    #[test]
    fn a_peer_may_leave_out_what_it_does_not_know() {
        let text = r#"{"schema":1,"engine":"peer 1.0","commit":null,"runs":[{"kind":"decode","depth":0,"tok_s":9.5}],"more":1}"#;
        let r = Record::parse(text).unwrap();
        assert_eq!((r.engine(), r.runs[0].tok_s), ("peer 1.0", 9.5));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        for (text, why) in [
            ("[1]", "no result"),
            ("{}", "no \"schema\""),
            (r#"{"schema":2}"#, "schema 2"),
            (r#"{"schema":1}"#, "no runs"),
            (
                r#"{"schema":1,"runs":[{"kind":"decode","tok_s":-1}]}"#,
                "-1 tok/s",
            ),
        ] {
            assert!(Record::parse(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn dates_are_the_calendars() {
        assert_eq!(stamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(stamp(1_796_099_445), "2026-12-01T04:30:45Z");
    }

    #[test]
    fn a_record_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = sample().keep(dir.path()).unwrap();
        assert!(
            path.ends_with("2026-12-01-cpu-amd-epyc-tm-lfm2-x.json"),
            "{path:?}"
        );
        assert_eq!(Record::read(&path).unwrap(), sample());
        let Err(Failure::Work(e)) = sample().keep(dir.path()) else {
            panic!("overwritten")
        };
        assert!(e.to_string().contains("exists already"), "{e}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        write_over(&path, b"x").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
    }
}
