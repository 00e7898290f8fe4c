//! No speed without a passed correctness check.
//!
//! Three questions. Does this device, path and precision reproduce the FP32 reference on the built-in model?
//! Are the measured model's logits numbers at all, and do its two phases, decoding token by token and
//! reading a text at once, choose the same tokens? And, where the model is small enough for it, does it
//! agree with its own reference?
//!
//! A mixture of experts with random weights has routers whose choices are near ties; the last bit of an
//! activation then decides which expert works, and one position's logits differ by much while all others
//! agree. A few such positions are let pass (and told); a wrong kernel is wrong everywhere.

use engine::sampler::argmax;
use engine::{Backend, Cancel, Decode, Flow, Sampler, Sampling, Token, Want};
use lfm2::reference::Reference;
use lfm2::{Config, WeightSource};

use super::measure::made_up;
use crate::Failure;
use crate::commands::Agreement;
use crate::commands::agreement::{BOUND, CLEAR, deviation, gap};

/// Tokens of the prompt of a check.
const PROMPT: usize = 24;
/// Tokens decoded after it.
const ANSWER: usize = 16;

/// Share of positions of a mixture of experts that may be off.
const TIES: f64 = 0.2;

/// Tokens a backend needs room for.
pub(crate) const ROOM: usize = PROMPT + ANSWER;

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// All well; what was compared.
    Passed(String),
    /// What is wrong.
    Failed(String),
}

impl Verdict {
    /// The text of a pass, or the error that stands in place of a speed.
    pub(crate) fn or_refuse(self, model: &str) -> Result<String, Failure> {
        match self {
            Self::Passed(what) => Ok(what),
            Self::Failed(why) => Err(Failure::Work(
                format!("{model}: no speed is given, for the correctness check failed: {why}; `molten verify` shows more")
                    .into(),
            )),
        }
    }
}

/// What a backend made of the text of a check.
pub(crate) struct Evidence {
    text: Vec<u32>,
    /// Logits at every position, the text read at once.
    rows: Vec<f32>,
    vocab: usize,
    /// Share of positions that may be off.
    ties: f64,
}

impl Evidence {
    /// Decodes a little, then reads the same text at once.
    pub(crate) fn gather<B: Backend>(b: &mut B, config: &Config) -> Result<Self, engine::Error> {
        let vocab = b.vocab_size();
        let mut text = made_up(vocab, PROMPT);
        let mut s = b.create()?;
        b.prefill(&mut s, &text, &mut engine::Control::default())?;
        let mut sampler = Sampler::new(Sampling::greedy(), &text);
        let mut d = Decode {
            sampler: &mut sampler,
            stop: &[],
            budget: ANSWER,
            mask: None,
            top_logprobs: None,
            cancel: Cancel::default(),
        };
        b.decode(&mut s, &mut d, &mut |t: &[Token]| {
            text.extend(t.iter().map(|t| t.id));
            Flow::Continue
        })?;
        let all: Vec<usize> = (0..text.len()).collect();
        let mut s = b.create()?;
        let rows = b.score(&mut s, &text, Want::Rows(&all))?.rows;
        let ties = if config.moe.is_some() { TIES } else { 0.0 };
        Ok(Self {
            text,
            rows,
            vocab,
            ties,
        })
    }

    /// Whether the two phases agree and all logits are numbers.
    pub(crate) fn phases(&self) -> Verdict {
        let answer = self.text.get(PROMPT..).unwrap_or_default();
        judge_phases(&self.rows, self.vocab, PROMPT, answer, self.ties)
    }

    /// Whether the logits are the reference's. Holds the whole model in single precision meanwhile.
    pub(crate) fn reference(&self, source: &dyn WeightSource) -> Result<Verdict, Failure> {
        let reference = Reference::new(source)?;
        let want = reference.forward(&mut reference.state(), &self.text)?;
        Ok(judge_reference(&self.rows, &want, self.vocab, self.ties))
    }
}

/// `rows` are the logits of the whole text read at once; `answer` is what decoding chose from `prompt` on.
pub(crate) fn judge_phases(
    rows: &[f32],
    vocab: usize,
    prompt: usize,
    answer: &[u32],
    ties: f64,
) -> Verdict {
    if let Some(i) = rows.iter().position(|v| !v.is_finite()) {
        return Verdict::Failed(format!(
            "the logit of token {} at position {} is {}",
            i % vocab.max(1),
            i / vocab.max(1),
            rows[i]
        ));
    }
    if answer.is_empty() || prompt == 0 || rows.len() < (prompt + answer.len()) * vocab {
        return Verdict::Failed("the device gave fewer logits than tokens".to_owned());
    }
    let mut different = Vec::new();
    for (at, token) in (prompt..).zip(answer) {
        let row = &rows[(at - 1) * vocab..][..vocab];
        let sd = deviation(row);
        if sd == 0.0 {
            return Verdict::Failed(format!("all logits at position {} are equal", at - 1));
        }
        let best = argmax(row);
        let chosen = row.get(*token as usize).copied();
        let short = row[best as usize] - chosen.unwrap_or(f32::NEG_INFINITY);
        let clear = gap(row) > CLEAR * sd;
        if best != *token && (clear || short > BOUND * sd) {
            different.push((at, *token, best));
        }
    }
    if let Some((at, token, best)) = different.first()
        && different.len() as f64 > ties * answer.len() as f64
    {
        return Verdict::Failed(format!(
            "at position {at} decoding chose token {token}, reading the text at once chooses {best}"
        ));
    }
    let same = answer.len() - different.len();
    Verdict::Passed(format!(
        "decoding and prefill agree in {same} of {} tokens",
        answer.len()
    ))
}

/// Logits of every position against the reference's.
pub(crate) fn judge_reference(got: &[f32], want: &[f32], vocab: usize, ties: f64) -> Verdict {
    if got.len() != want.len() || got.is_empty() {
        return Verdict::Failed("the device gave fewer logits than the reference".to_owned());
    }
    let positions = got.len() / vocab;
    let (mut good, mut worst) = (Agreement::default(), 0.0_f32);
    let mut bad = Vec::new();
    for (p, (g, w)) in got
        .chunks_exact(vocab)
        .zip(want.chunks_exact(vocab))
        .enumerate()
    {
        let mut one = Agreement::default();
        one.add(g, w);
        worst = worst.max(one.max_error());
        // Few positions say little about how many are clear, so coverage is not judged here.
        let clear = one.coverage() > 0.0;
        if one.max_error() > BOUND || (clear && one.top1() < 1.0) {
            bad.push(p);
        } else {
            good.add(g, w);
        }
    }
    if let Some(first) = bad.first()
        && bad.len() as f64 > ties * positions as f64
    {
        return Verdict::Failed(format!(
            "{} of {positions} positions differ from the FP32 reference, the first at {first}, the worst by \
             {worst:.2} standard deviations (at most {BOUND})",
            bad.len()
        ));
    }
    let left = match bad.len() {
        0 => String::new(),
        n => format!(" ({n} with another expert)"),
    };
    Verdict::Passed(format!(
        "{positions} positions against the FP32 reference{left}: KL {:.1e}, worst logit off by {:.3} sd",
        good.kl(),
        good.max_error()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(v: Verdict) -> String {
        match v {
            Verdict::Failed(why) => why,
            Verdict::Passed(what) => panic!("passed: {what}"),
        }
    }

    /// Four positions of five tokens; position p favours token p + 1.
    fn rows() -> Vec<f32> {
        (0..4)
            .flat_map(|p| (0..5).map(move |t| if t == p + 1 { 3.0 } else { 0.1 * t as f32 }))
            .collect()
    }

    #[test]
    fn equal_phases_pass_and_different_ones_do_not() {
        let judge = |rows: &[f32], answer: &[u32], ties| judge_phases(rows, 5, 2, answer, ties);
        assert!(matches!(judge(&rows(), &[2, 3], 0.0), Verdict::Passed(_)));
        assert!(failed(judge(&rows(), &[2, 4], 0.0)).contains("position 3"));
        assert!(failed(judge(&rows(), &[2, 99], 0.2)).contains("token 99"));
        assert!(matches!(judge(&rows(), &[2, 4], 0.5), Verdict::Passed(_)));
        assert!(failed(judge(&rows(), &[4, 4], 0.5)).contains("position 2"));
        assert!(failed(judge(&rows()[..5], &[2, 3], 0.0)).contains("fewer"));
        assert!(failed(judge(&rows(), &[], 0.0)).contains("fewer"));
        assert!(failed(judge(&[0.0; 20], &[2, 3], 0.0)).contains("equal"));
    }

    #[test]
    fn a_logit_that_is_no_number_fails_whatever_the_ties() {
        let mut r = rows();
        r[7] = f32::NAN;
        let why = failed(judge_phases(&r, 5, 2, &[2, 3], 1.0));
        assert!(why.contains("token 2 at position 1"), "{why}");
    }

    #[test]
    fn the_reference_is_followed_within_the_bound() {
        let judge = |got: &[f32], ties| judge_reference(got, &rows(), 5, ties);
        assert!(matches!(judge(&rows(), 0.0), Verdict::Passed(_)));
        let mut off = rows();
        off[0] += 1.0;
        assert!(failed(judge(&off, 0.0)).contains("1 of 4 positions"));
        assert!(matches!(judge(&off, 0.25), Verdict::Passed(w) if w.contains("(1 with another")));
        assert!(failed(judge(&off, 0.2)).contains("standard deviations"));
        let mut swapped = rows();
        swapped.swap(1, 2);
        assert!(failed(judge(&swapped, 0.0)).contains("first at 0"));
        assert!(failed(judge(&rows()[..5], 0.0)).contains("fewer"));
    }

    #[test]
    fn a_failure_takes_the_place_of_a_speed() {
        let Err(Failure::Work(e)) = Verdict::Failed("why".into()).or_refuse("m") else {
            panic!("no error")
        };
        assert!(e.to_string().starts_with("m: no speed is given"));
        assert_eq!(Verdict::Passed("ok".into()).or_refuse("m").unwrap(), "ok");
    }
}
