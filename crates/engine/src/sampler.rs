//! Choosing the next token from logits.

mod philox;

use std::collections::HashMap;

use crate::error::{Error, Result};

/// How tokens are chosen. Steps apply in the order of the fields: penalties and bias, temperature, top-k,
/// top-p, min-p, draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// Divides positive and multiplies negative logits of tokens seen before (prompt included); 1 is off.
    pub repetition_penalty: f32,
    /// Subtracted from logits of tokens generated before; 0 is off.
    pub presence_penalty: f32,
    /// Subtracted per earlier generation of the token; 0 is off.
    pub frequency_penalty: f32,
    /// Added to the logits of single tokens.
    pub logit_bias: Vec<(u32, f32)>,
    /// 0 is greedy: the largest logit, the lowest id among equals.
    pub temperature: f32,
    /// Keeps the `k` most probable tokens; 0 is off.
    pub top_k: usize,
    /// Keeps the smallest set with at least this probability; 1 is off.
    pub top_p: f32,
    /// Drops tokens less probable than this share of the best one; 0 is off.
    pub min_p: f32,
    /// Same seed, same logits, same tokens: on any backend.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            logit_bias: Vec::new(),
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Greedy decoding.
    pub fn greedy() -> Self {
        Self::default()
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`Error::Input`] naming the parameter, its value and what was expected.
    pub fn validate(&self) -> Result<()> {
        let check = |ok: bool, name: &str, value: f32, expected: &str| {
            if ok {
                Ok(())
            } else {
                Err(Error::Input(format!(
                    "{name} is {value}; expected {expected}"
                )))
            }
        };
        let t = self.temperature;
        check(t.is_finite() && t >= 0.0, "temperature", t, "0 or more")?;
        let p = self.top_p;
        check(p > 0.0 && p <= 1.0, "top_p", p, "more than 0 and at most 1")?;
        let p = self.min_p;
        check((0.0..=1.0).contains(&p), "min_p", p, "0 to 1")?;
        let r = self.repetition_penalty;
        check(
            r.is_finite() && r > 0.0,
            "repetition_penalty",
            r,
            "more than 0",
        )?;
        for (name, v) in [
            ("presence_penalty", self.presence_penalty),
            ("frequency_penalty", self.frequency_penalty),
        ] {
            check(v.is_finite(), name, v, "a finite number")?;
        }
        for (_, v) in &self.logit_bias {
            check(!v.is_nan(), "logit_bias", *v, "a number")?;
        }
        Ok(())
    }

    /// Whether the choice depends on anything but the logits' order.
    pub fn is_plain_greedy(&self) -> bool {
        self.temperature == 0.0 && !self.has_penalties()
    }

    /// Whether logits are changed before the choice.
    pub fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0
            || self.presence_penalty != 0.0
            || self.frequency_penalty != 0.0
            || !self.logit_bias.is_empty()
    }
}

/// [`Sampling`] with the history that penalties need and the counter that seeds need.
#[derive(Debug, Clone)]
pub struct Sampler {
    sampling: Sampling,
    /// Occurrences in the prompt and in what was generated.
    seen: HashMap<u32, Seen>,
    draws: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    generated: u32,
}

impl Sampler {
    /// A sampler for one request whose prompt is `prompt`.
    pub fn new(sampling: Sampling, prompt: &[u32]) -> Self {
        let seen = if sampling.repetition_penalty == 1.0 {
            HashMap::new()
        } else {
            prompt.iter().map(|t| (*t, Seen::default())).collect()
        };
        Self {
            sampling,
            seen,
            draws: 0,
        }
    }

    /// The parameters.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Tokens chosen so far: the counter of the next random number.
    pub fn draws(&self) -> u64 {
        self.draws
    }

    /// The random number of draw `index`, uniform in `[0, 1)`: a function of seed and index alone.
    pub fn uniform(seed: u64, index: u64) -> f64 {
        philox::uniform(seed, index)
    }

    /// Records a token chosen by someone else (a device that samples by itself).
    pub fn record(&mut self, token: u32) {
        self.draws += 1;
        if self.sampling.has_penalties() {
            self.seen.entry(token).or_default().generated += 1;
        }
    }

    /// What penalties look at: each token seen so far and how often it was generated. For a device that
    /// samples by itself.
    pub fn history(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.seen.iter().map(|(t, s)| (*t, s.generated))
    }

    /// Chooses a token from `logits`, which are changed on the way, and records it.
    pub fn choose(&mut self, logits: &mut [f32]) -> u32 {
        let token = self.pick(logits);
        self.record(token);
        token
    }

    /// [`Self::choose`] without the record: for a token that may yet turn out not to count.
    pub fn pick(&self, logits: &mut [f32]) -> u32 {
        self.penalise(logits);
        if self.sampling.temperature == 0.0 {
            argmax(logits)
        } else {
            self.draw(logits)
        }
    }

    fn penalise(&self, logits: &mut [f32]) {
        let s = &self.sampling;
        if !s.has_penalties() {
            return;
        }
        for (token, seen) in &self.seen {
            let Some(l) = logits.get_mut(*token as usize) else {
                continue;
            };
            if s.repetition_penalty != 1.0 {
                *l = if *l > 0.0 {
                    *l / s.repetition_penalty
                } else {
                    *l * s.repetition_penalty
                };
            }
            if seen.generated > 0 {
                *l -= s.presence_penalty + s.frequency_penalty * seen.generated as f32;
            }
        }
        for (token, bias) in &s.logit_bias {
            if let Some(l) = logits.get_mut(*token as usize) {
                *l += bias;
            }
        }
    }

    /// Temperature, truncation and one draw.
    fn draw(&self, logits: &[f32]) -> u32 {
        let s = &self.sampling;
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if !max.is_finite() {
            return argmax(logits);
        }
        // Anything 1e-9 times as probable as the best cannot be drawn: a cheap first cut that keeps the
        // sort short on a large vocabulary.
        let cut = if s.min_p > 0.0 { s.min_p } else { 1e-9 };
        let floor = max + cut.ln() * s.temperature;
        let mut kept: Vec<(u32, f64)> = logits
            .iter()
            .enumerate()
            .filter(|(_, l)| **l >= floor)
            .map(|(t, l)| (t as u32, f64::from((*l - max) / s.temperature).exp()))
            .collect();
        // Sorting a whole vocabulary costs more than a forward pass of a small model: only as much is sorted
        // as a truncation asks for, and nothing without one.
        let best_first = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if s.top_k > 0 && s.top_k < kept.len() {
            kept.select_nth_unstable_by(s.top_k, best_first);
            kept.truncate(s.top_k);
            kept.sort_unstable_by(best_first);
        }
        let mut total: f64 = kept.iter().map(|(_, p)| p).sum();
        if s.top_p < 1.0 {
            let goal = f64::from(s.top_p) * total;
            let mut sorted = 0;
            let mut sum = 0.0;
            let mut keep = kept.len();
            'all: while sorted < kept.len() {
                let end = (4 * sorted + 64).min(kept.len());
                if end < kept.len() {
                    kept[sorted..].select_nth_unstable_by(end - sorted, best_first);
                }
                kept[sorted..end].sort_unstable_by(best_first);
                for (i, (_, p)) in kept[sorted..end].iter().enumerate() {
                    sum += p;
                    if sum >= goal {
                        keep = sorted + i + 1;
                        break 'all;
                    }
                }
                sorted = end;
            }
            kept.truncate(keep);
            total = kept.iter().map(|(_, p)| p).sum();
        }
        let mut u = Self::uniform(s.seed, self.draws) * total;
        for (t, p) in &kept {
            u -= p;
            if u < 0.0 {
                return *t;
            }
        }
        // Rounding left a sliver: the last kept token owns it. `kept` holds at least the maximum.
        kept.last().map_or_else(|| argmax(logits), |(t, _)| *t)
    }
}

/// The largest logit's index, the lowest among equals; NaN never wins.
pub fn argmax(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, l) in logits.iter().enumerate() {
        if *l > best.1 {
            best = (i, *l);
        }
    }
    best.0 as u32
}

/// `ln Σ exp(logits)`.
pub fn log_sum_exp(logits: &[f32]) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|l| f64::from(l - max).exp()).sum();
    max + sum.ln() as f32
}

/// The `k` largest logits as log-probabilities, best first, lower id first among equals.
pub fn top_logprobs(logits: &[f32], k: usize) -> Vec<(u32, f32)> {
    let norm = log_sum_exp(logits);
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(k + 1);
    for (i, l) in logits.iter().enumerate() {
        if best.len() == k && best.last().is_none_or(|(_, worst)| l <= worst) {
            continue;
        }
        let at = best.partition_point(|(_, b)| b >= l);
        best.insert(at, (i as u32, *l));
        best.truncate(k);
    }
    best.into_iter().map(|(t, l)| (t, l - norm)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(f: impl FnOnce(&mut Sampling)) -> Sampler {
        let mut s = Sampling {
            temperature: 1.0,
            ..Sampling::default()
        };
        f(&mut s);
        s.validate().unwrap();
        Sampler::new(s, &[])
    }

    fn histogram(s: &mut Sampler, logits: &[f32], n: usize) -> Vec<f64> {
        let mut h = vec![0.0; logits.len()];
        for _ in 0..n {
            h[s.choose(&mut logits.to_vec()) as usize] += 1.0 / n as f64;
        }
        h
    }

    #[test]
    fn greedy_takes_the_first_of_equals_and_ignores_nan() {
        let mut s = Sampler::new(Sampling::greedy(), &[]);
        assert_eq!(s.choose(&mut [1.0, 3.0, 3.0, f32::NAN]), 1);
    }

    #[test]
    fn draws_follow_the_distribution() {
        let p = [0.5_f32, 0.3, 0.2];
        let logits = p.map(f32::ln);
        let h = histogram(&mut sampler(|s| s.seed = 3), &logits, 20_000);
        for (h, p) in h.iter().zip(p) {
            assert!((h - f64::from(p)).abs() < 0.015, "{h} {p}");
        }
    }

    #[test]
    fn temperature_sharpens() {
        let logits = [0.5_f32, 0.25, 0.25].map(f32::ln);
        let h = histogram(&mut sampler(|s| s.temperature = 0.5), &logits, 20_000);
        assert!((h[0] - 2.0 / 3.0).abs() < 0.015, "{h:?}");
    }

    #[test]
    fn truncations_cut_where_they_say() {
        let logits = [0.4_f32, 0.3, 0.2, 0.1].map(f32::ln);
        let support = |s: &mut Sampler| -> Vec<usize> {
            let h = histogram(s, &logits, 2_000);
            (0..4).filter(|i| h[*i] > 0.0).collect()
        };
        assert_eq!(support(&mut sampler(|s| s.top_k = 2)), [0, 1]);
        assert_eq!(support(&mut sampler(|s| s.top_p = 0.75)), [0, 1, 2]);
        assert_eq!(support(&mut sampler(|s| s.top_p = 0.69)), [0, 1]);
        assert_eq!(support(&mut sampler(|s| s.min_p = 0.45)), [0, 1, 2]);
        assert_eq!(support(&mut sampler(|_| {})), [0, 1, 2, 3]);
    }

    #[test]
    fn penalties_count_prompt_and_generation_apart() {
        let mut s = Sampling {
            repetition_penalty: 2.0,
            ..Sampling::default()
        };
        let mut sampler = Sampler::new(s.clone(), &[0]);
        assert_eq!(
            sampler.choose(&mut [3.0, 2.0, -1.0]),
            1,
            "a prompt token is penalised"
        );
        s = Sampling {
            presence_penalty: 1.5,
            ..Sampling::default()
        };
        sampler = Sampler::new(s, &[0]);
        assert_eq!(
            sampler.choose(&mut [3.0, 2.0]),
            0,
            "presence ignores the prompt"
        );
        assert_eq!(
            sampler.choose(&mut [3.0, 2.0]),
            1,
            "and counts what was generated"
        );
        s = Sampling {
            frequency_penalty: 0.6,
            ..Sampling::default()
        };
        sampler = Sampler::new(s, &[]);
        let picks: Vec<u32> = (0..4).map(|_| sampler.choose(&mut [3.0, 2.0])).collect();
        assert_eq!(picks, [0, 0, 1, 0]);
        s = Sampling {
            logit_bias: vec![(2, 100.0), (9, 5.0)],
            ..Sampling::default()
        };
        assert_eq!(Sampler::new(s, &[]).choose(&mut [3.0, 2.0, 0.0]), 2);
    }

    #[test]
    fn same_seed_same_tokens_and_different_seed_differs() {
        let logits: Vec<f32> = (0..100).map(|i| (i as f32 * 0.37).sin()).collect();
        let run = |seed| {
            let mut s = sampler(|s| s.seed = seed);
            (0..64)
                .map(|_| s.choose(&mut logits.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn infinities_do_not_break_a_draw() {
        let mut s = sampler(|_| {});
        assert_eq!(
            s.choose(&mut [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY]),
            1
        );
        assert_eq!(s.choose(&mut [f32::NEG_INFINITY; 3]), 0);
        assert_eq!(s.choose(&mut [0.0, f32::INFINITY]), 1);
    }

    #[test]
    fn top_logprobs_are_sorted_and_normalised() {
        let t = top_logprobs(&[0.0, 2.0, 1.0, 2.0], 3);
        assert_eq!(t.iter().map(|x| x.0).collect::<Vec<_>>(), [1, 3, 2]);
        let all: f32 = top_logprobs(&[0.0, 2.0, 1.0, 2.0], 4)
            .iter()
            .map(|x| x.1.exp())
            .sum();
        assert!((all - 1.0).abs() < 1e-6);
        assert!(top_logprobs(&[0.0], 0).is_empty());
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let bad = Sampling {
            top_p: 0.0,
            ..Sampling::default()
        };
        assert_eq!(
            bad.validate().unwrap_err().to_string(),
            "top_p is 0; expected more than 0 and at most 1"
        );
        let bad = Sampling {
            temperature: f32::NAN,
            ..Sampling::default()
        };
        assert!(bad.validate().is_err());
    }
}
