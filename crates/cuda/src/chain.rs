//! The host's half of decoding: which launch chains are in flight, what of them counts, and where the
//! sequence stands in the end. It knows no device, so its tests need none.
//!
//! ```text
//! device  |chain 0     |chain 1     |chain 2 …
//! host    | enqueue 0,1 | wait 0, enqueue 2, sink 0 | wait 1, enqueue 3, sink 1 …
//! ```
//!
//! A chain is up to [`LAUNCH`] steps that follow each other on the device without the host. Two chains
//! are kept in flight: while the sink reads one batch the device computes the next. Nothing of a chain
//! counts before the sink has kept it; what doesn't count is undone by setting the position back, which
//! the conv ring makes exact (see `kernels/conv.cu`), as the keys and values beyond a position are never
//! read before they are written again.

use std::collections::VecDeque;

use engine::{Cancel, Finish, Flow, Result, Sampler, Token, TokenSink};

use crate::source::LAUNCH;

/// Set in a step's output when its token is of the stop set.
const STOP: u32 = 0x8000_0000;
/// The output of a step after a stop.
const NONE: u32 = u32::MAX;

/// What came back of a chain.
#[derive(Debug, Default)]
pub struct Batch {
    /// The tokens before the stop token, if one was sampled.
    pub tokens: Vec<Token>,
    /// The stop token.
    pub stop: Option<u32>,
}

impl Batch {
    /// Reads the words the sampling kernel left.
    pub fn read(words: &[u32]) -> Self {
        let ended = words.iter().position(|w| w & STOP != 0);
        Self {
            tokens: words[..ended.unwrap_or(words.len())]
                .iter()
                .map(|id| Token {
                    id: *id,
                    logprob: None,
                    top: Vec::new(),
                })
                .collect(),
            stop: ended
                .map(|i| words[i])
                .filter(|w| *w != NONE)
                .map(|w| w & !STOP),
        }
    }
}

/// A device that runs chains in the order they were enqueued.
pub trait Chains {
    /// Starts `steps` steps of decode without waiting; `slot` (0 or 1) is where their tokens go.
    fn enqueue(&mut self, slot: usize, steps: usize) -> Result<()>;
    /// Waits for the chain in `slot`.
    fn collect(&mut self, slot: usize, steps: usize) -> Result<Batch>;
}

/// How far a decode may go.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most tokens to deliver.
    pub budget: usize,
    /// Steps of a chain, at most [`LAUNCH`].
    pub launch: usize,
    /// Chains in flight: 1 or 2.
    pub depth: usize,
}

impl Limits {
    /// Full chains, two in flight.
    pub fn new(budget: usize) -> Self {
        Self {
            budget,
            launch: LAUNCH,
            depth: 2,
        }
    }
}

/// How a decode ended.
#[derive(Debug)]
pub struct Ended {
    /// Tokens that count: the sequence is this much longer.
    pub kept: usize,
    /// Why, or what failed.
    pub finish: Result<Finish>,
    /// Whether the device's logits are those after the last kept token.
    pub pending: bool,
}

/// The chains that were started and not yet read, oldest first.
#[derive(Debug, Default)]
struct Flight {
    /// Slot and steps of each.
    chains: VecDeque<(usize, usize)>,
    /// Steps started in all.
    started: usize,
    next: usize,
}

impl Flight {
    /// Starts chains until `depth` are in flight or the budget is spoken for.
    fn fill(&mut self, device: &mut dyn Chains, limits: Limits) -> Result<()> {
        while self.chains.len() < limits.depth && self.started < limits.budget {
            let steps = limits.launch.min(limits.budget - self.started);
            device.enqueue(self.next, steps)?;
            self.chains.push_back((self.next, steps));
            self.started += steps;
            self.next ^= 1;
        }
        Ok(())
    }
}

/// Runs chains until something ends the decode. `sampler` records exactly the kept tokens.
pub fn run(
    device: &mut dyn Chains,
    limits: Limits,
    sampler: &mut Sampler,
    cancel: &Cancel,
    sink: &mut dyn TokenSink,
) -> Ended {
    let mut kept = 0;
    let (finish, pending) = match deliver(device, limits, sampler, cancel, sink, &mut kept) {
        Ok(f) => (Ok(f), matches!(f, Finish::Stop(_) | Finish::Budget)),
        Err(e) => (Err(e), false),
    };
    Ended {
        kept,
        finish,
        pending,
    }
}

fn deliver(
    device: &mut dyn Chains,
    limits: Limits,
    sampler: &mut Sampler,
    cancel: &Cancel,
    sink: &mut dyn TokenSink,
    kept: &mut usize,
) -> Result<Finish> {
    let mut flight = Flight::default();
    while *kept < limits.budget {
        if cancel.is_cancelled() {
            return Ok(Finish::Cancelled);
        }
        flight.fill(device, limits)?;
        let Some((slot, steps)) = flight.chains.pop_front() else {
            break;
        };
        let batch = device.collect(slot, steps)?;
        // The slot is read, so the device gets its next chain before the sink gets this one.
        if limits.depth > 1 && batch.stop.is_none() && !cancel.is_cancelled() {
            flight.fill(device, limits)?;
        }
        let flow = if batch.tokens.is_empty() {
            Flow::Continue
        } else {
            sink.push(&batch.tokens)
        };
        let keep = match flow {
            Flow::Continue => batch.tokens.len(),
            Flow::Stop { keep } => keep.min(batch.tokens.len()),
        };
        for t in &batch.tokens[..keep] {
            sampler.record(t.id);
        }
        *kept += keep;
        if flow != Flow::Continue {
            return Ok(Finish::Sink);
        }
        if let Some(stop) = batch.stop {
            return Ok(Finish::Stop(stop));
        }
    }
    Ok(Finish::Budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Sampling;

    /// A device whose token is its position, and which notes what the host asks of it.
    struct Counter {
        position: usize,
        stop_at: Option<usize>,
        done: bool,
        slots: [Vec<u32>; 2],
        log: Vec<String>,
        fail_at: Option<usize>,
    }

    impl Counter {
        fn new(stop_at: Option<usize>) -> Self {
            Self {
                position: 0,
                stop_at,
                done: false,
                slots: [Vec::new(), Vec::new()],
                log: Vec::new(),
                fail_at: None,
            }
        }
    }

    impl Chains for Counter {
        fn enqueue(&mut self, slot: usize, steps: usize) -> Result<()> {
            assert!(
                self.slots[slot].is_empty(),
                "a slot is never overwritten unread"
            );
            self.log.push(format!("enqueue {steps}"));
            for _ in 0..steps {
                let word = if self.done {
                    NONE
                } else if self.stop_at == Some(self.position) {
                    self.done = true;
                    7 | STOP
                } else {
                    self.position += 1;
                    self.position as u32 - 1
                };
                self.slots[slot].push(word);
            }
            Ok(())
        }

        fn collect(&mut self, slot: usize, steps: usize) -> Result<Batch> {
            self.log.push("collect".to_owned());
            let words = std::mem::take(&mut self.slots[slot]);
            assert_eq!(words.len(), steps);
            if self.fail_at.is_some_and(|f| words.contains(&(f as u32))) {
                return Err(engine::Error::Input("device lost".to_owned()));
            }
            Ok(Batch::read(&words))
        }
    }

    fn go(
        device: &mut Counter,
        limits: Limits,
        cancel: &Cancel,
        mut sink: impl FnMut(&[Token]) -> Flow,
    ) -> (Ended, u64) {
        let mut sampler = Sampler::new(Sampling::greedy(), &[]);
        let ended = run(device, limits, &mut sampler, cancel, &mut sink);
        (ended, sampler.draws())
    }

    #[test]
    fn a_budget_is_delivered_whole_and_in_order() {
        for budget in [0, 1, 31, 32, 33, 64, 65, 200] {
            let mut out = Vec::new();
            let mut d = Counter::new(None);
            let (e, draws) = go(&mut d, Limits::new(budget), &Cancel::default(), |b| {
                out.extend(b.iter().map(|t| t.id as usize));
                Flow::Continue
            });
            assert_eq!(out, (0..budget).collect::<Vec<_>>());
            assert_eq!(
                (e.kept, e.finish.unwrap(), e.pending),
                (budget, Finish::Budget, true)
            );
            assert_eq!(draws, budget as u64);
            assert_eq!(d.position, budget, "the device does no step too many");
        }
    }

    #[test]
    fn the_next_chain_is_in_flight_while_the_sink_works() {
        let mut d = Counter::new(None);
        let (_, _) = go(&mut d, Limits::new(96), &Cancel::default(), |_| {
            Flow::Continue
        });
        assert_eq!(
            d.log,
            [
                "enqueue 32",
                "enqueue 32",
                "collect",
                "enqueue 32",
                "collect",
                "collect"
            ]
        );
    }

    #[test]
    fn a_stop_token_ends_at_its_place_and_is_not_recorded() {
        for at in [0, 1, 31, 32, 40, 63, 64, 100] {
            let mut seen = 0;
            let mut d = Counter::new(Some(at));
            let (e, draws) = go(&mut d, Limits::new(1000), &Cancel::default(), |b| {
                assert!(!b.is_empty());
                seen += b.len();
                Flow::Continue
            });
            assert_eq!(
                (e.kept, e.finish.unwrap(), e.pending),
                (at, Finish::Stop(7), true)
            );
            assert_eq!((seen, draws), (at, at as u64));
            assert_eq!(d.position, at, "steps after a stop write nothing");
        }
    }

    #[test]
    fn what_the_sink_refuses_never_happened() {
        for (batch, keep) in [(0, 0), (0, 5), (0, 32), (1, 0), (2, 31), (1, 99)] {
            let mut n = 0;
            let mut d = Counter::new(None);
            let (e, draws) = go(&mut d, Limits::new(1000), &Cancel::default(), |_| {
                n += 1;
                if n > batch {
                    Flow::Stop { keep }
                } else {
                    Flow::Continue
                }
            });
            let want = batch * 32 + keep.min(32);
            assert_eq!(
                (e.kept, e.finish.unwrap(), e.pending),
                (want, Finish::Sink, false)
            );
            assert_eq!(draws, want as u64);
            assert!(d.position - want <= 3 * LAUNCH, "the ring can undo it");
        }
    }

    #[test]
    fn cancelling_ends_between_chains() {
        let cancel = Cancel::default();
        let mut d = Counter::new(None);
        let (e, draws) = go(&mut d, Limits::new(1000), &cancel, |_| {
            cancel.cancel();
            Flow::Continue
        });
        assert_eq!(
            (e.kept, e.finish.unwrap(), e.pending),
            (32, Finish::Cancelled, false)
        );
        assert_eq!(draws, 32);
        let (e, _) = go(&mut Counter::new(None), Limits::new(9), &cancel, |_| {
            Flow::Continue
        });
        assert_eq!((e.kept, e.finish.unwrap()), (0, Finish::Cancelled));
    }

    #[test]
    fn a_failure_keeps_what_was_delivered() {
        let mut d = Counter::new(None);
        d.fail_at = Some(70);
        let (e, draws) = go(&mut d, Limits::new(1000), &Cancel::default(), |_| {
            Flow::Continue
        });
        assert!(e.finish.is_err() && !e.pending);
        assert_eq!((e.kept, draws), (64, 64));
    }

    #[test]
    fn one_step_at_a_time_waits_for_the_sink() {
        let mut d = Counter::new(Some(2));
        let limits = Limits {
            budget: 9,
            launch: 1,
            depth: 1,
        };
        let (e, _) = go(&mut d, limits, &Cancel::default(), |_| Flow::Continue);
        assert_eq!(e.kept, 2);
        assert_eq!(
            d.log,
            [
                "enqueue 1",
                "collect",
                "enqueue 1",
                "collect",
                "enqueue 1",
                "collect"
            ]
        );
    }
}
