//! The devices of this machine and what their memories give. A backend adds its device by adding a row.

use cpu::Isa;
use cpu::probe::{Memory, Rates, integer_peak};

use super::stats::median;
use crate::settings::Settings;
use crate::terminal::Progress;

/// Passes over the buffer for one figure.
const PASSES: usize = 7;

/// Change of bandwidth during a run, as a logarithm, that is worth a warning.
const MOVED: f64 = 0.1;

/// One device with its memory's read bandwidth.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// `cpu`, `cuda`, `metal`, or `given` when the bandwidth was typed.
    pub(crate) kind: &'static str,
    pub(crate) isa: Option<String>,
    /// Median, of the number of threads that reads fastest; GB/s.
    pub(crate) read_gb_s: f64,
    /// Best pass.
    pub(crate) best_gb_s: f64,
    /// The figures by number of threads, for processors.
    pub(crate) by_threads: Vec<Rates>,
}

/// The devices here; `bandwidth` (GB/s) stands in for all of them.
pub(crate) fn rows(settings: &Settings, bandwidth: Option<f64>) -> Vec<Row> {
    match bandwidth {
        Some(gb_s) => vec![Row {
            name: format!("a device that reads {gb_s} GB/s"),
            kind: "given",
            isa: None,
            read_gb_s: gb_s,
            best_gb_s: gb_s,
            by_threads: Vec::new(),
        }],
        None => vec![processor(settings)],
    }
}

/// Threads and path the settings lead to.
pub(crate) fn team(settings: &Settings) -> (usize, Isa) {
    let allowed = cpu::team::allowed_processors().len().max(1);
    (
        settings.threads.value.unwrap_or(allowed),
        settings.isa.value.unwrap_or_else(Isa::detect),
    )
}

fn processor(settings: &Settings) -> Row {
    let (threads, isa) = team(settings);
    let memory = Memory::new();
    let counts = counts(threads);
    let mut bar = Progress::new("reading memory");
    let mut by_threads = Vec::new();
    for (i, n) in counts.iter().enumerate() {
        bar.update(i as u64, counts.len() as u64);
        by_threads.push(memory.read(isa, *n, PASSES));
    }
    row(isa, by_threads)
}

fn row(isa: Isa, by_threads: Vec<Rates>) -> Row {
    let best = by_threads
        .iter()
        .max_by(|a, b| a.median().total_cmp(&b.median()));
    Row {
        name: cpu::processor_name(),
        kind: "cpu",
        isa: Some(isa.name().to_owned()),
        read_gb_s: best.map_or(0.0, Rates::median),
        best_gb_s: best.map_or(0.0, Rates::best),
        by_threads,
    }
}

/// 1, 2, 4, … and `threads` itself.
fn counts(threads: usize) -> Vec<usize> {
    let mut v: Vec<usize> = std::iter::successors(Some(1_usize), |n| n.checked_mul(2))
        .take_while(|n| *n < threads)
        .collect();
    v.push(threads);
    v
}

/// What the processor allows the threads and the path the engine uses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// GB/s of each pass over the buffer.
    read: Vec<f64>,
    /// GOP/s of each pass of the integer loop.
    integer: Vec<f64>,
}

impl Limits {
    /// Measures; `bandwidth` (GB/s) stands in for the memory's.
    pub(crate) fn measure(settings: &Settings, bandwidth: Option<f64>) -> Self {
        let (threads, isa) = team(settings);
        Self {
            read: match bandwidth {
                Some(gb_s) => vec![gb_s],
                None => Memory::new().read(isa, threads, PASSES).passes,
            },
            integer: integer_peak(isa, threads, PASSES).passes,
        }
    }

    /// Median read bandwidth, GB/s.
    pub(crate) fn read_gb_s(&self) -> f64 {
        median(&self.read)
    }

    /// Median integer peak, GOP/s.
    pub(crate) fn integer_gop_s(&self) -> f64 {
        median(&self.integer)
    }

    /// Measurements before and after a run as one, and a warning when they differ much: on a shared machine
    /// a neighbour's work decides what is left.
    pub(crate) fn with_later(mut self, later: Self) -> (Self, Option<String>) {
        let (before, after) = (self.read_gb_s(), later.read_gb_s());
        let moved = (after / before.max(1e-9)).ln().abs() > MOVED;
        self.read.extend(later.read);
        self.integer.extend(later.integer);
        let warning = moved.then(|| {
            format!("memory read {before:.1} GB/s before and {after:.1} after the run: shares are uncertain")
        });
        (self, warning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_double_up_to_all() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn passes_before_and_after_are_pooled() {
        let l = |read: &[f64]| Limits {
            read: read.to_vec(),
            integer: vec![100.0],
        };
        let (both, warning) = l(&[30.0, 31.0]).with_later(l(&[29.0, 30.5]));
        assert_eq!(
            (both.read_gb_s(), both.integer_gop_s(), warning),
            (30.25, 100.0, None)
        );
        let (_, warning) = l(&[30.0]).with_later(l(&[60.0]));
        assert!(warning.unwrap().contains("30.0 GB/s before and 60.0 after"));
    }

    #[test]
    fn the_fastest_number_of_threads_counts() {
        let r = |threads, p: f64| Rates {
            threads,
            passes: vec![p],
        };
        let row = row(Isa::Scalar, vec![r(1, 10.0), r(2, 18.0), r(4, 17.0)]);
        assert_eq!((row.read_gb_s, row.best_gb_s), (18.0, 18.0));
    }
}
