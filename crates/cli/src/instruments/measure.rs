//! Prefill, decoding and time to first token at several depths, on any backend.
//!
//! A depth is reached once, from nothing, by prefilling made-up tokens; each repeat starts from a fork of
//! that state, so that all repeats do the same work. Decoding is greedy and nothing stops it.

use std::time::{Duration, Instant};

use engine::{Backend, Cancel, Control, Decode, Finish, Flow, Result, Sampler, Sampling, Token};

use super::record::Run;
use crate::terminal::Progress;

/// Tokens of the shortest prompt a time to first token is measured with.
pub(crate) const SHORT_PROMPT: usize = 16;
/// Fewest repeats, even when a figure takes long.
const FEWEST: usize = 3;
/// A figure is not repeated beyond [`FEWEST`] once it has taken this long.
const PATIENCE: Duration = Duration::from_mins(1);
/// A cold prompt is not read again once this long was spent on it.
const COLD_PATIENCE: Duration = Duration::from_secs(10);

/// Kinds of figures, as `--only` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Tokens decoded one by one.
    Decode,
    /// A prompt read on top of what is there.
    Prefill,
    /// From an empty state to the first token of the answer.
    Ttft,
    /// From the start of a process to its first token.
    Start,
}

impl Kind {
    /// The name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Prefill => "prefill",
            Self::Ttft => "ttft",
            Self::Start => "start",
        }
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Tokens in the sequence before the work.
    pub(crate) depths: Vec<usize>,
    /// Tokens to decode.
    pub(crate) tokens: usize,
    /// Tokens of a prompt.
    pub(crate) prompt_tokens: usize,
    pub(crate) repeats: usize,
    pub(crate) kinds: Vec<Kind>,
}

impl Plan {
    /// Positions a sequence needs beyond a depth.
    pub(crate) fn beyond(&self) -> usize {
        let prompt = if self.kinds.contains(&Kind::Prefill) {
            self.prompt_tokens
        } else {
            0
        };
        prompt.max(self.tokens).max(SHORT_PROMPT) + 1
    }
}

/// Token ids without meaning: seeded, away from both ends of the vocabulary, where special tokens lie.
pub(crate) fn made_up(vocab: usize, n: usize) -> Vec<u32> {
    let (low, high) = (vocab / 8, vocab - vocab / 16);
    (0..n as u64)
        .map(|i| (low as f64 + Sampler::uniform(17, i) * (high - low) as f64) as u32)
        .collect()
}

/// Appends `tokens`; the seconds it took.
fn prefill<B: Backend>(b: &mut B, s: &mut B::State, tokens: &[u32]) -> Result<f64> {
    let start = Instant::now();
    b.prefill(s, tokens, &mut Control::default())?;
    Ok(start.elapsed().as_secs_f64())
}

/// Decodes `n` tokens; the seconds until the first was delivered and until the end.
pub(crate) fn decode<B: Backend>(b: &mut B, s: &mut B::State, n: usize) -> Result<(f64, f64)> {
    let mut sampler = Sampler::new(Sampling::greedy(), &[]);
    let mut d = Decode {
        sampler: &mut sampler,
        stop: &[],
        budget: n,
        mask: None,
        top_logprobs: None,
        cancel: Cancel::default(),
    };
    let start = Instant::now();
    let mut first = None;
    let mut count = 0;
    let finish = b.decode(s, &mut d, &mut |t: &[Token]| {
        first.get_or_insert_with(|| start.elapsed().as_secs_f64());
        count += t.len();
        Flow::Continue
    })?;
    let all = start.elapsed().as_secs_f64();
    if count < n || finish != Finish::Budget {
        return Err(engine::Error::Input(format!(
            "decoding ended after {count} of {n} tokens: give fewer --tokens or smaller --depths"
        )));
    }
    Ok((first.unwrap_or(all), all))
}

/// A sequence at a depth, from which repeats start.
pub(crate) struct Ground<'a, S> {
    state: Option<S>,
    tokens: &'a [u32],
}

impl<'a, S> Ground<'a, S> {
    /// Reaches the depth `tokens.len()`, which must not be 0.
    pub(crate) fn reach<B: Backend<State = S>>(b: &mut B, tokens: &'a [u32]) -> Result<Self> {
        let mut state = None;
        if b.capabilities().fork {
            let mut s = b.create()?;
            prefill(b, &mut s, tokens)?;
            state = Some(s);
        }
        Ok(Self { state, tokens })
    }

    /// A state at the depth with pending logits: a fork, or from nothing where a backend cannot fork.
    pub(crate) fn again<B: Backend<State = S>>(&self, b: &mut B) -> Result<S> {
        let mut s = match &self.state {
            // One token at least must be fed for logits to be pending.
            Some(base) => b.fork(base, self.tokens.len().saturating_sub(1))?,
            None => b.create()?,
        };
        let at = b.position(&s);
        prefill(b, &mut s, &self.tokens[at..])?;
        Ok(s)
    }
}

/// Everything in the plan that needs a loaded model, one run a figure.
pub(crate) fn measure<B: Backend>(b: &mut B, plan: &Plan) -> Result<Vec<Run>> {
    let vocab = b.vocab_size();
    let deepest = plan.depths.iter().copied().max().unwrap_or(0);
    let text = made_up(vocab, deepest.max(SHORT_PROMPT) + plan.prompt_tokens + 1);
    let mut bar = Progress::new("measuring");
    let steps = (plan.depths.len() * (plan.kinds.len() + 1)) as u64;
    let mut step = 0;
    let mut next = || {
        bar.update(step, steps);
        step += 1;
    };
    warm_up(b, &text)?;
    let mut runs = Vec::new();
    for &depth in &plan.depths {
        next();
        if plan.kinds.contains(&Kind::Ttft) {
            let n = if depth == 0 { SHORT_PROMPT } else { depth };
            let seconds = repeated(plan.repeats, 1, COLD_PATIENCE, || {
                let mut s = b.create()?;
                let read = prefill(b, &mut s, &text[..n])?;
                Ok(read + decode(b, &mut s, 1)?.0)
            })?;
            runs.push(Run::new(Kind::Ttft.name(), depth, n, seconds));
        }
        // A sequence must hold a token before anything can be decoded.
        let ground = Ground::reach(b, &text[..depth.max(1)])?;
        if plan.kinds.contains(&Kind::Prefill) {
            next();
            let part = &text[depth..depth + plan.prompt_tokens];
            let seconds = repeated(plan.repeats, FEWEST, PATIENCE, || {
                let mut s = if depth == 0 {
                    b.create()?
                } else {
                    ground.again(b)?
                };
                prefill(b, &mut s, part)
            })?;
            runs.push(Run::new(
                Kind::Prefill.name(),
                depth,
                plan.prompt_tokens,
                seconds,
            ));
        }
        if plan.kinds.contains(&Kind::Decode) {
            next();
            let seconds = repeated(plan.repeats, FEWEST, PATIENCE, || {
                let mut s = ground.again(b)?;
                Ok(decode(b, &mut s, plan.tokens)?.1)
            })?;
            runs.push(Run::new(Kind::Decode.name(), depth, plan.tokens, seconds));
        }
    }
    Ok(runs)
}

/// Touches weights, scratch and threads before anything counts.
fn warm_up<B: Backend>(b: &mut B, text: &[u32]) -> Result<()> {
    let mut s = b.create()?;
    prefill(b, &mut s, &text[..SHORT_PROMPT])?;
    decode(b, &mut s, 4.min(b.context().saturating_sub(SHORT_PROMPT)))?;
    Ok(())
}

fn repeated(
    repeats: usize,
    fewest: usize,
    patience: Duration,
    mut f: impl FnMut() -> Result<f64>,
) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut seconds = Vec::new();
    while seconds.len() < repeats && (seconds.len() < fewest || start.elapsed() < patience) {
        seconds.push(f()?);
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_tokens_keep_away_from_special_ones() {
        for vocab in [16, 4096, 65_536, 128_000] {
            let t = made_up(vocab, 5000);
            assert!(
                t.iter()
                    .all(|t| (vocab / 8..vocab - vocab / 16).contains(&(*t as usize)))
            );
        }
        assert_eq!(made_up(65_536, 9), made_up(65_536, 12)[..9]);
        assert_ne!(made_up(65_536, 2)[0], made_up(65_536, 2)[1]);
    }

    #[test]
    fn repeats_end_by_number_or_by_patience() {
        let mut n = 0.0;
        let mut f = || {
            n += 1.0;
            Ok(n)
        };
        assert_eq!(
            repeated(4, 3, PATIENCE, &mut f).unwrap(),
            [1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(repeated(9, 3, Duration::ZERO, &mut f).unwrap().len(), 3);
        assert_eq!(repeated(1, 3, Duration::ZERO, &mut f).unwrap().len(), 1);
    }

    #[test]
    fn a_plan_needs_room_for_its_largest_work() {
        let mut p = Plan {
            depths: vec![0],
            tokens: 64,
            prompt_tokens: 512,
            repeats: 1,
            kinds: vec![Kind::Decode, Kind::Prefill],
        };
        assert_eq!(p.beyond(), 513);
        p.kinds.pop();
        assert_eq!(p.beyond(), 65);
    }
}
