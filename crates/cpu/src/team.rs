//! A team of threads that works on one operator at a time.
//!
//! Between operators the workers spin for a moment and then park: during decoding an operator starts
//! within a microsecond, and an idle engine burns nothing. Work is cut the same way whatever the number of
//! threads, so results never depend on it.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Checks of the epoch before a worker parks: a few hundred microseconds.
const SPINS: u32 = 3_000;
/// Checks after which a waiting thread lets others run: on a machine with fewer cores than threads,
/// spinning on would keep the very thread waited for from running.
const SPINS_BEFORE_YIELD: u32 = 2_000;

type Job = *const (dyn Fn(usize) + Sync);

struct Shared {
    epoch: AtomicU64,
    job: UnsafeCell<Option<Job>>,
    running: AtomicUsize,
    sleepers: AtomicUsize,
    gate: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
    panicked: AtomicBool,
}

// SAFETY: `job` is written only by the leader while no worker is running (`running == 0`) and read by
// workers only after they have seen the epoch that was published after the write; the rest is atomic.
unsafe impl Sync for Shared {}
// SAFETY: the raw pointer in `job` refers to a `Sync` closure that outlives every use (see `Team::run`).
unsafe impl Send for Shared {}

/// The threads. The caller is the first of them.
pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held while an operator runs: a team works for one caller at a time.
    turn: Mutex<()>,
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Team({})", self.threads())
    }
}

impl Team {
    /// A team of `threads` (at least one, the caller included). Workers are pinned to one processor each
    /// when the team is as large as the set of processors this process may use.
    pub fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        let shared = Arc::new(Shared {
            epoch: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            running: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            gate: Mutex::new(()),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        });
        let processors = allowed_processors();
        let pin = processors.len() == threads;
        let workers = (1..threads)
            .filter_map(|i| {
                let shared = shared.clone();
                let processor = pin.then(|| processors[i]);
                std::thread::Builder::new()
                    .name(format!("molten-{i}"))
                    .spawn(move || {
                        if let Some(p) = processor {
                            pin_to(p);
                        }
                        work(&shared, i);
                    })
                    .ok()
            })
            .collect();
        Self {
            shared,
            workers,
            turn: Mutex::new(()),
        }
    }

    /// Threads, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `f(i)` on every thread `i` and returns when all are done.
    ///
    /// # Panics
    /// When `f` panicked on any thread.
    pub fn run(&self, f: &(dyn Fn(usize) + Sync)) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.workers.is_empty() {
            f(0);
            return;
        }
        let s = &*self.shared;
        // SAFETY: only the lifetime is erased; workers use the pointer between the epoch below and their
        // decrement of `running`, and this function does not return (or unwind) before that reached 0.
        let job: Job = unsafe {
            std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(f)
        };
        // SAFETY: no worker runs: `running` was 0 when the last call returned, and `turn` is held.
        unsafe { *s.job.get() = Some(job) };
        s.running.store(self.workers.len(), Ordering::Relaxed);
        s.epoch.fetch_add(1, Ordering::SeqCst);
        if s.sleepers.load(Ordering::SeqCst) > 0 {
            // Taking the gate orders this after a worker's last look at the epoch before it sleeps.
            drop(s.gate.lock().unwrap_or_else(PoisonError::into_inner));
            s.wake.notify_all();
        }
        let mine = catch_unwind(AssertUnwindSafe(|| f(0)));
        let mut spins = 0_u32;
        while s.running.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        drop(turn);
        let theirs = s.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = mine {
            std::panic::resume_unwind(panic);
        }
        assert!(!theirs, "a kernel panicked on a worker thread");
    }

    /// Splits `0..n` into one contiguous range per thread.
    pub fn for_ranges(&self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        let t = self.threads();
        self.run(&|i| {
            let range = n * i / t..n * (i + 1) / t;
            if !range.is_empty() {
                f(range);
            }
        });
    }

    /// Calls `f(i, chunk)` for each chunk of `size` elements of `out`, spread over the threads.
    pub fn for_chunks<T: Send>(
        &self,
        out: &mut [T],
        size: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let len = out.len();
        let n = len.div_ceil(size);
        let out = Disjoint::new(out);
        self.for_ranges(n, |range| {
            for i in range {
                // SAFETY: chunks of different indices do not overlap, and each index is visited once.
                let chunk = unsafe { out.slice(i * size..((i + 1) * size).min(len)) };
                f(i, chunk);
            }
        });
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        drop(
            self.shared
                .gate
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.shared.wake.notify_all();
        for w in self.workers.drain(..) {
            let _ = w.join();
        }
    }
}

fn work(s: &Shared, index: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        while s.epoch.load(Ordering::SeqCst) == seen {
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                std::hint::spin_loop();
            } else if spins < SPINS {
                std::thread::yield_now();
            } else {
                let mut gate = s.gate.lock().unwrap_or_else(PoisonError::into_inner);
                s.sleepers.fetch_add(1, Ordering::SeqCst);
                while s.epoch.load(Ordering::SeqCst) == seen {
                    gate = s.wake.wait(gate).unwrap_or_else(PoisonError::into_inner);
                }
                s.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
        seen += 1;
        if s.stop.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: the leader wrote `job` before it published this epoch and does not touch it again before
        // this worker has decremented `running`.
        let job = unsafe { *s.job.get() };
        if let Some(job) = job {
            // SAFETY: the closure outlives this call: the leader waits for `running` to reach 0.
            let f = unsafe { &*job };
            if catch_unwind(AssertUnwindSafe(|| f(index))).is_err() {
                s.panicked.store(true, Ordering::Relaxed);
            }
        }
        s.running.fetch_sub(1, Ordering::Release);
    }
}

/// A slice that several threads write at different places.
#[derive(Debug)]
pub(crate) struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    life: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: handing out overlapping parts is excluded by the contract of `slice`; then sharing the wrapper is
// the same as sending disjoint `&mut [T]`, which `T: Send` allows.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            life: std::marker::PhantomData,
        }
    }

    /// # Safety
    /// No range in use by [`Self::slice`] at the same time may overlap.
    pub(crate) unsafe fn read(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds by the assertion; not written meanwhile by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }

    /// # Safety
    /// No two ranges in use at the same time may overlap.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds by the assertion; exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}

/// Where the threads of [`Team::together`] wait for each other.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

impl Barrier {
    /// Returns once every thread has called it; what any wrote before, all see after.
    ///
    /// # Panics
    /// When another thread panicked and will never come.
    pub(crate) fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0_u32;
        while self.round.load(Ordering::Acquire) == round {
            assert!(
                !self.broken.load(Ordering::Relaxed),
                "another thread of the team panicked"
            );
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Breaks the barrier when its thread unwinds.
struct BreakOnPanic<'a>(&'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

impl Team {
    /// Calls `f(i, barrier)` on every thread `i`; inside, all may meet at the barrier as often as they like, but
    /// equally often.
    pub(crate) fn together(&self, f: &(dyn Fn(usize, &Barrier) + Sync)) {
        let barrier = Barrier {
            threads: self.threads(),
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        };
        self.run(&|i| {
            let guard = BreakOnPanic(&barrier);
            f(i, &barrier);
            drop(guard);
        });
    }
}

/// The pieces of one phase of work, shared between threads: three quarters are dealt out beforehand in long
/// runs, which the memory likes, the rest goes to whoever is first, so that a thread the system held up costs
/// little.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    mine: Range<usize>,
    rest: &'a AtomicUsize,
    dealt: usize,
    all: usize,
}

impl<'a> Pieces<'a> {
    /// Pieces `0..all` for thread `thread` of `threads`; `rest` starts at 0 and is used by this phase only.
    pub(crate) fn new(all: usize, thread: usize, threads: usize, rest: &'a AtomicUsize) -> Self {
        let each = all * 3 / 4 / threads;
        Self {
            mine: thread * each..(thread + 1) * each,
            rest,
            dealt: threads * each,
            all,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.mine.next().or_else(|| {
            let i = self.dealt + self.rest.fetch_add(1, Ordering::Relaxed);
            (i < self.all).then_some(i)
        })
    }
}

/// Processors this process may run on, by number.
pub fn allowed_processors() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `set` is a plain bit set of the size passed, written by the call and read on success.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) == 0 {
                return (0..libc::CPU_SETSIZE as usize)
                    .filter(|i| libc::CPU_ISSET(*i, &set))
                    .collect();
            }
        }
    }
    (0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get)).collect()
}

/// Pins the calling thread. Failure only costs speed.
fn pin_to(processor: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: as above; `processor` came from the allowed set, so it is below `CPU_SETSIZE`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = processor;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_once_whatever_the_team() {
        for threads in [1, 2, 3, 5] {
            let team = Team::new(threads);
            for n in [0, 1, 2, 7, 64, 1000] {
                let mut seen = vec![0_u32; n];
                team.for_chunks(&mut seen, 3, |i, chunk| {
                    for (j, c) in chunk.iter_mut().enumerate() {
                        *c += (3 * i + j) as u32 + 1;
                    }
                });
                assert!(seen.iter().enumerate().all(|(i, v)| *v as usize == i + 1));
            }
        }
    }

    #[test]
    fn thousands_of_regions_with_pauses_to_park() {
        let team = Team::new(3);
        let count = AtomicUsize::new(0);
        for i in 0..5_000 {
            if i % 1_000 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            team.run(&|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
        assert_eq!(count.load(Ordering::Relaxed), 15_000);
    }

    #[test]
    fn threads_meet_and_pieces_are_taken_once() {
        for threads in [1, 2, 3, 4] {
            let team = Team::new(threads);
            for n in [0, 1, 5, 64, 1000] {
                let mut seen = vec![0_u32; n];
                let mut copy = vec![0_u32; n];
                let counters = [AtomicUsize::new(0), AtomicUsize::new(0)];
                {
                    let (seen, copy) = (Disjoint::new(&mut seen), Disjoint::new(&mut copy));
                    team.together(&|t, barrier| {
                        for i in Pieces::new(n, t, threads, &counters[0]) {
                            // SAFETY: a piece is taken once.
                            unsafe { seen.slice(i..i + 1)[0] += i as u32 + 1 };
                        }
                        barrier.wait();
                        for i in Pieces::new(n, t, threads, &counters[1]) {
                            // SAFETY: as above; nobody writes `seen` after the barrier.
                            unsafe { copy.slice(i..i + 1)[0] = seen.read(0..n)[n - 1 - i] };
                        }
                    });
                }
                assert!(seen.iter().enumerate().all(|(i, v)| *v as usize == i + 1));
                assert!(copy.iter().rev().eq(&seen));
            }
        }
    }

    #[test]
    fn a_panic_breaks_the_barrier_instead_of_hanging() {
        let team = Team::new(3);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        for culprit in 0..3 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                team.together(&|i, barrier| {
                    assert!(i != culprit);
                    barrier.wait();
                });
            }));
            assert!(caught.is_err());
        }
        std::panic::set_hook(hook);
        team.together(&|_, barrier| barrier.wait());
    }

    #[test]
    fn a_panic_on_a_worker_reaches_the_caller_and_the_team_lives_on() {
        let team = Team::new(2);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let caught = catch_unwind(AssertUnwindSafe(|| team.run(&|i| assert!(i != 1))));
        std::panic::set_hook(hook);
        assert!(caught.is_err());
        team.run(&|_| {});
    }
}
