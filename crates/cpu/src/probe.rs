//! What this machine allows: read bandwidth of its memory and the integer peak of an instruction set path.
//!
//! Both are measured with the threads and the instructions the engine itself uses, so that a speed can be
//! given as a share of what was possible in the same minutes. A pass is one barrier-to-barrier run of all
//! threads; its time is that of the slowest.

mod kernels;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::Isa;
use crate::fit::available_memory;
use crate::team::allowed_processors;

/// Bytes of the buffer where memory is plenty: far more than any last-level cache of a desktop or a slice
/// of a server.
const BUFFER: usize = 1 << 30;
/// Below this the caches answer, not the memory.
const SMALLEST: usize = 64 << 20;
/// Huge pages begin at multiples of this.
const HUGE: usize = 2 << 20;

/// Rates of several passes, in 10⁹ units (bytes or operations) a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Threads that took part.
    pub threads: usize,
    /// One rate a pass, in the order measured.
    pub passes: Vec<f64>,
}

impl Rates {
    /// The middle rate (the lower of two middles' mean is not taken: an even number is averaged).
    pub fn median(&self) -> f64 {
        let mut v = self.passes.clone();
        v.sort_by(f64::total_cmp);
        match v.len() {
            0 => 0.0,
            n if n % 2 == 1 => v[n / 2],
            n => f64::midpoint(v[n / 2 - 1], v[n / 2]),
        }
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
    words: Vec<u64>,
}

impl Memory {
    /// One GiB, or an eighth of the memory that can be had where that is less.
    pub fn new() -> Self {
        let have =
            available_memory().map_or(usize::MAX, |b| usize::try_from(b).unwrap_or(usize::MAX));
        Self::with_bytes(BUFFER.min(have / 8).max(SMALLEST))
    }

    /// A buffer of `bytes`, rounded down to whole huge pages (at least one).
    pub fn with_bytes(bytes: usize) -> Self {
        let bytes = (bytes / HUGE).max(1) * HUGE;
        let mut words = vec![0_u64; bytes / 8];
        advise_huge(&mut words);
        // All-zero pages may be one page of the system: every page is written.
        let threads = allowed_processors().len().max(1);
        let share = words.len().div_ceil(threads);
        std::thread::scope(|s| {
            for part in words.chunks_mut(share) {
                s.spawn(|| part.iter_mut().zip(1_u64..).for_each(|(w, i)| *w = i));
            }
        });
        Self { words }
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// Reads the buffer `passes` times with `threads` threads, each its own contiguous part, and returns
    /// GB/s. One more pass before them warms up.
    pub fn read(&self, isa: Isa, threads: usize, passes: usize) -> Rates {
        let threads = threads.max(1);
        let block = kernels::READ_BLOCK;
        let share = self.words.len() / threads / block * block;
        let bytes = (8 * share * threads) as f64;
        let times = timed(threads, passes, &|i| {
            kernels::read(isa, &self.words[i * share..][..share])
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

/// Seconds of each of `passes` passes of `f(thread)` on pinned threads, after one that is not counted.
fn timed(threads: usize, passes: usize, f: &(dyn Fn(usize) -> u64 + Sync)) -> Vec<f64> {
    let processors = allowed_processors();
    let barrier = Barrier::new(threads);
    let sink = AtomicU64::new(0);
    let work = |i: usize| {
        if threads <= processors.len() {
            pin_to(processors[i]);
        }
        let mut times = Vec::with_capacity(passes);
        for pass in 0..=passes {
            barrier.wait();
            let start = Instant::now();
            sink.fetch_add(f(i), Ordering::Relaxed);
            barrier.wait();
            if pass > 0 {
                times.push(start.elapsed().as_secs_f64().max(1e-9));
            }
        }
        times
    };
    std::thread::scope(|s| {
        let work = &work;
        let team: Vec<_> = (0..threads).map(|i| s.spawn(move || work(i))).collect();
        // A barrier lets all go at once, so any member's times are the team's; the longest are taken.
        team.into_iter()
            .filter_map(|t| t.join().ok())
            .reduce(|a, b| a.iter().zip(&b).map(|(x, y)| x.max(*y)).collect())
            .unwrap_or_default()
    })
}

/// Pins the calling thread. Failure only costs accuracy.
fn pin_to(processor: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: the set is a plain bit set of the size passed; `processor` came from the allowed set, so it
    // is below `CPU_SETSIZE`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processor;
}

/// Asks for huge pages before the first write. Failure only costs accuracy.
fn advise_huge(words: &mut [u64]) {
    #[cfg(target_os = "linux")]
    {
        let start = words.as_mut_ptr() as usize;
        let first = start.next_multiple_of(HUGE);
        let len = (start + size_of_val(words)).saturating_sub(first);
        if len >= HUGE {
            // SAFETY: the range lies inside `words`, which this function borrows alone; the advice changes
            // no content.
            unsafe {
                libc::madvise(first as *mut libc::c_void, len, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = words;
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
        let n = m.words.len() / kernels::READ_BLOCK * kernels::READ_BLOCK;
        let want = m.words[..n].iter().fold(0_u64, |a, w| a.wrapping_add(*w));
        for isa in Isa::available() {
            assert_eq!(kernels::read(isa, &m.words[..n]), want, "{}", isa.name());
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
