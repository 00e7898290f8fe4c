//! No speed without a passed correctness check.
//!
//! Three questions. Does this device, path and precision reproduce the FP32 reference on the built-in model?
//! Are the measured model's logits numbers at all, and do its two phases, decoding token by token and
//! reading a text at once, choose the same tokens? And, where the model is small enough for it, does it
//! agree with its own reference?

use engine::sampler::argmax;
use engine::{Backend, Cancel, Decode, Flow, Sampler, Sampling, Token, Want};
use lfm2::WeightSource;
use lfm2::reference::Reference;

use super::measure::made_up;
use crate::Failure;
use crate::commands::Agreement;
use crate::commands::agreement::{BOUND, CLEAR, deviation, gap};

/// Tokens of the prompt of a check.
const PROMPT: usize = 24;
/// Tokens decoded after it.
const ANSWER: usize = 16;

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
}

impl Evidence {
    /// Decodes a little, then reads the same text at once.
    pub(crate) fn gather<B: Backend>(b: &mut B) -> Result<Self, engine::Error> {
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
        Ok(Self { text, rows, vocab })
    }

    /// Whether the two phases agree and all logits are numbers.
    pub(crate) fn phases(&self) -> Verdict {
        let answer = self.text.get(PROMPT..).unwrap_or_default();
        judge_phases(&self.rows, self.vocab, PROMPT, answer)
    }

    /// Whether the logits are the reference's. Holds the whole model in single precision meanwhile.
    pub(crate) fn reference(&self, source: &dyn WeightSource) -> Result<Verdict, Failure> {
        let reference = Reference::new(source)?;
        let want = reference.forward(&mut reference.state(), &self.text)?;
        Ok(judge_reference(&self.rows, &want, self.vocab))
    }
}

/// `rows` are the logits of the whole text read at once; `answer` is what decoding chose from `prompt` on.
pub(crate) fn judge_phases(rows: &[f32], vocab: usize, prompt: usize, answer: &[u32]) -> Verdict {
    if let Some(i) = rows.iter().position(|v| !v.is_finite()) {
        return Verdict::Failed(format!(
            "the logit of token {} at position {} is {}",
            i % vocab.max(1),
            i / vocab.max(1),
            rows[i]
        ));
    }
    if answer.is_empty() || rows.len() < (prompt + answer.len()) * vocab {
        return Verdict::Failed("the device gave fewer logits than tokens".to_owned());
    }
    for (i, token) in answer.iter().enumerate() {
        let row = &rows[(prompt + i - 1) * vocab..][..vocab];
        let sd = deviation(row);
        if sd == 0.0 {
            return Verdict::Failed(format!(
                "all logits at position {} are equal",
                prompt + i - 1
            ));
        }
        let best = argmax(row);
        let short = row[best as usize] - row[*token as usize];
        let clear = gap(row) > CLEAR * sd;
        if best != *token && (clear || short > BOUND * sd) {
            return Verdict::Failed(format!(
                "at position {} decoding chose token {token}, reading the text at once chooses {best}",
                prompt + i
            ));
        }
    }
    Verdict::Passed(format!(
        "decoding and prefill choose the same {} tokens",
        answer.len()
    ))
}

/// Logits of every position against the reference's.
pub(crate) fn judge_reference(got: &[f32], want: &[f32], vocab: usize) -> Verdict {
    let mut a = Agreement::default();
    for (g, w) in got.chunks_exact(vocab).zip(want.chunks_exact(vocab)) {
        a.add(g, w);
    }
    if got.len() != want.len() || got.is_empty() {
        return Verdict::Failed("the device gave fewer logits than the reference".to_owned());
    }
    // Few positions say little about how many are clear, so coverage is not judged here.
    if a.top1_clear() < 1.0 && a.coverage() > 0.0 {
        return Verdict::Failed(format!(
            "the best token differs from the reference's in {:.0} % of the clear positions",
            100.0 * (1.0 - a.top1_clear())
        ));
    }
    if a.max_error() > BOUND {
        return Verdict::Failed(format!(
            "a logit is {:.2} standard deviations off the reference, more than {BOUND}",
            a.max_error()
        ));
    }
    Verdict::Passed(format!(
        "{} positions against the FP32 reference: KL {:.1e}, worst logit off by {:.3} sd",
        got.len() / vocab,
        a.kl(),
        a.max_error()
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
        assert!(matches!(
            judge_phases(&rows(), 5, 2, &[2, 3]),
            Verdict::Passed(_)
        ));
        assert!(failed(judge_phases(&rows(), 5, 2, &[2, 4])).contains("position 3"));
        assert!(failed(judge_phases(&rows()[..5], 5, 2, &[2, 3])).contains("fewer"));
        assert!(failed(judge_phases(&rows(), 5, 2, &[])).contains("fewer"));
        assert!(failed(judge_phases(&[0.0; 20], 5, 2, &[2, 3])).contains("equal"));
    }

    #[test]
    fn a_logit_that_is_no_number_fails() {
        let mut r = rows();
        r[7] = f32::NAN;
        let why = failed(judge_phases(&r, 5, 2, &[2, 3]));
        assert!(why.contains("token 2 at position 1"), "{why}");
    }

    #[test]
    fn the_reference_is_followed_within_the_bound() {
        assert!(matches!(
            judge_reference(&rows(), &rows(), 5),
            Verdict::Passed(_)
        ));
        let mut off = rows();
        off[0] += 1.0;
        assert!(failed(judge_reference(&off, &rows(), 5)).contains("standard deviations"));
        let mut swapped = rows();
        swapped.swap(1, 2);
        assert!(failed(judge_reference(&swapped, &rows(), 5)).contains("best token"));
        assert!(failed(judge_reference(&rows()[..5], &rows(), 5)).contains("fewer"));
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
