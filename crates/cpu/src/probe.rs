//! What this machine allows: read bandwidth of its memory and the integer peak of an instruction set path.
//!
//! Both are measured with the threads and the instructions the engine itself uses, so that a speed can be
//! given as a share of what was possible in the same minutes. A pass is one region of a [`Team`]; its time is
//! that of the slowest thread.

mod kernels;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::Isa;
use crate::fit::available_memory;
use crate::pack::Bytes;
use crate::team::{Team, allowed_processors};

/// Bytes of the buffer where memory is plenty: far more than any last-level cache of a desktop or a slice
/// of a server.
const BUFFER: usize = 1 << 30;
/// Below this the caches answer, not the memory.
const SMALLEST: usize = 64 << 20;
/// The buffer is whole pieces of this.
const PIECE: usize = 2 << 20;

/// The median; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    match v.len() {
        0 => 0.0,
        n if n % 2 == 1 => v[n / 2],
        n => f64::midpoint(v[n / 2 - 1], v[n / 2]),
    }
}

/// Rates of several passes, in 10⁹ units (bytes or operations) a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Threads that took part.
    pub threads: usize,
    /// One rate a pass, in the order measured.
    pub passes: Vec<f64>,
}

impl Rates {
    /// The middle rate.
    pub fn median(&self) -> f64 {
        median(&self.passes)
    }

    /// The best rate.
    pub fn best(&self) -> f64 {
        self.passes.iter().copied().fold(0.0, f64::max)
    }
}

/// A buffer to read, placed and written once. Keeping it between measurements saves the time of touching
/// every page again.
#[derive(Debug)]
pub struct Memory {
    bytes: Bytes,
}

impl Memory {
    /// One GiB, or an eighth of the memory that can be had where that is less.
    pub fn new() -> Self {
        let have =
            available_memory().map_or(usize::MAX, |b| usize::try_from(b).unwrap_or(usize::MAX));
        Self::with_bytes(BUFFER.min(have / 8).max(SMALLEST))
    }

    /// A buffer of `bytes`, rounded down to whole pieces of 2 MiB (at least one).
    pub fn with_bytes(bytes: usize) -> Self {
        let mut bytes = Bytes::zeroed((bytes / PIECE).max(1) * PIECE);
        // All-zero pages may be one page of the system: every page is written.
        let team = Team::new(allowed_processors().len());
        team.for_chunks(bytes.as_mut_slice(), PIECE, |i, piece| {
            piece.fill(i as u8 | 1);
        });
        Self { bytes }
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes.as_slice().len()
    }

    fn words(&self) -> &[u64] {
        // SAFETY: any bytes are valid words; the buffer begins on a cache line and is whole lines.
        unsafe { self.bytes.as_slice().align_to::<u64>().1 }
    }

    /// Reads the buffer `passes` times with `threads` threads, each its own contiguous part, and returns
    /// GB/s. One more pass before them warms up.
    pub fn read(&self, isa: Isa, threads: usize, passes: usize) -> Rates {
        let threads = threads.max(1);
        let block = kernels::READ_BLOCK;
        let words = self.words();
        let share = words.len() / threads / block * block;
        let bytes = (8 * share * threads) as f64;
        let times = timed(threads, passes, &|i| {
            kernels::read(isa, &words[i * share..][..share])
        });
        Rates {
            threads,
            passes: times.into_iter().map(|t| bytes / t / 1e9).collect(),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// The integer peak of `isa` with `threads` threads, in GOP/s: products of eight-bit numbers added up in 32
/// bits, from registers only; a multiplication and an addition count one operation each.
pub fn integer_peak(isa: Isa, threads: usize, passes: usize) -> Rates {
    let threads = threads.max(1);
    // A pass of about 50 ms: long enough for the clock to settle, short enough to repeat.
    let mut rounds = 1 << 12;
    loop {
        let t = timed(1, 1, &|_| kernels::multiply_add(isa, rounds).1);
        let t = t.first().copied().unwrap_or(1.0);
        if t > 0.02 || rounds >= 1 << 30 {
            rounds = (rounds as f64 * (0.05 / t.max(1e-9)).clamp(0.1, 4.0)) as usize;
            break;
        }
        rounds *= 4;
    }
    let per_thread = AtomicU64::new(0);
    let times = timed(threads, passes, &|_| {
        let (ops, sum) = kernels::multiply_add(isa, rounds.max(1));
        per_thread.store(ops, Ordering::Relaxed);
        sum
    });
    let ops = (per_thread.into_inner() * threads as u64) as f64;
    Rates {
        threads,
        passes: times.into_iter().map(|t| ops / t / 1e9).collect(),
    }
}

/// Seconds of each of `passes` passes of `f(thread)`, after one that is not counted.
fn timed(threads: usize, passes: usize, f: &(dyn Fn(usize) -> u64 + Sync)) -> Vec<f64> {
    let team = Team::new(threads);
    let sink = AtomicU64::new(0);
    let pass = |_| {
        let start = Instant::now();
        team.run(&|i| {
            sink.fetch_add(f(i), Ordering::Relaxed);
        });
        start.elapsed().as_secs_f64().max(1e-9)
    };
    (0..=passes).map(pass).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_bests() {
        let r = |p: &[f64]| Rates {
            threads: 1,
            passes: p.to_vec(),
        };
        assert_eq!(r(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(r(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!((r(&[]).median(), r(&[1.0, 7.0, 2.0]).best()), (0.0, 7.0));
    }

    #[test]
    fn every_path_reads_every_word() {
        // 0 + 1 + … + n−1 of each chunk plus what the threads wrote: compare with a plain sum.
        let m = Memory::with_bytes(4 << 20);
        let n = m.words().len() / kernels::READ_BLOCK * kernels::READ_BLOCK;
        let want = m.words()[..n].iter().fold(0_u64, |a, w| a.wrapping_add(*w));
        for isa in Isa::available() {
            assert_eq!(kernels::read(isa, &m.words()[..n]), want, "{}", isa.name());
        }
    }

    #[test]
    fn every_path_measures_something() {
        let m = Memory::with_bytes(4 << 20);
        for isa in Isa::available() {
            let r = m.read(isa, 2, 3);
            assert_eq!((r.threads, r.passes.len()), (2, 3));
            assert!(r.passes.iter().all(|p| p.is_finite() && *p > 0.0));
            let (ops, sum) = kernels::multiply_add(isa, 10);
            assert!(ops > 0 && sum > 0, "{}", isa.name());
        }
    }
}
