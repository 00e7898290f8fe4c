//! The devices of this machine and what their memories give. A backend adds its device by adding a row.

use cpu::Isa;
use cpu::probe::{Memory, Rates, integer_peak};

use crate::settings::Settings;
use crate::terminal::Progress;

/// Passes over the buffer for one figure.
const PASSES: usize = 7;

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
        name: crate::commands::processor_name(),
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

/// Read bandwidth of the processor with the threads the engine uses (median, GB/s) and the integer peak of
/// its path (median, GOP/s).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) read_gb_s: f64,
    pub(crate) integer_gop_s: f64,
}

impl Limits {
    /// Measures both.
    pub(crate) fn measure(settings: &Settings) -> Self {
        let (threads, isa) = team(settings);
        let memory = Memory::new();
        let read_gb_s = memory.read(isa, threads, PASSES).median();
        drop(memory);
        Self {
            read_gb_s,
            integer_gop_s: Self::integer(settings),
        }
    }

    /// Measures the integer peak alone.
    pub(crate) fn integer(settings: &Settings) -> f64 {
        let (threads, isa) = team(settings);
        integer_peak(isa, threads, PASSES).median()
    }

    /// The higher of two measurements before and after: what the machine could do in these minutes.
    pub(crate) fn highest(self, other: Self) -> Self {
        Self {
            read_gb_s: self.read_gb_s.max(other.read_gb_s),
            integer_gop_s: self.integer_gop_s.max(other.integer_gop_s),
        }
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
    fn the_fastest_number_of_threads_counts() {
        let r = |threads, p: f64| Rates {
            threads,
            passes: vec![p],
        };
        let row = row(Isa::Scalar, vec![r(1, 10.0), r(2, 18.0), r(4, 17.0)]);
        assert_eq!((row.read_gb_s, row.best_gb_s), (18.0, 18.0));
    }
}
