//! One conversation: which tokens the device has seen, and how little must be computed for the next ones.

mod saved;

use std::time::{Duration, Instant};

use crate::backend::{Backend, Cancel, Control, Decode, Finish, Flow, MaskSource, Token};
use crate::error::{Error, Result};
use crate::sampler::{Sampler, Sampling};

/// A conversation on a backend. History is matched by token ids, never by text.
#[derive(Debug)]
pub struct Session<B: Backend> {
    state: B::State,
    tokens: Vec<u32>,
    pending: bool,
}

/// What to generate.
pub struct Request<'a> {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Tokens that end the answer.
    pub stop: &'a [u32],
    /// Most tokens to generate; `None` is what the context leaves.
    pub max_tokens: Option<usize>,
    /// Restricts each choice.
    pub mask: Option<&'a mut dyn MaskSource>,
    /// See [`Decode::top_logprobs`].
    pub top_logprobs: Option<usize>,
    /// Stops prefill within a chunk and decode within a token.
    pub cancel: Cancel,
    /// Called during prefill with `(done, total)` tokens.
    pub progress: Option<&'a mut dyn FnMut(usize, usize)>,
}

impl Request<'_> {
    /// A request that runs until a token of `stop`.
    pub fn new(sampling: Sampling, stop: &[u32]) -> Request<'_> {
        Request {
            sampling,
            stop,
            max_tokens: None,
            mask: None,
            top_logprobs: None,
            cancel: Cancel::default(),
            progress: None,
        }
    }
}

/// Where the time of one request went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Prompt tokens whose state was already there.
    pub cached_tokens: usize,
    /// Tokens computed by prefill: `prompt − cached`.
    pub prefilled_tokens: usize,
    /// Tokens generated (a stop token is not counted).
    pub generated_tokens: usize,
    /// Time of prefill.
    pub prefill: Duration,
    /// Time of decoding.
    pub decode: Duration,
    /// From the start of the request to the first token.
    pub first_token: Option<Duration>,
}

impl Stats {
    /// Prefilled tokens a second, where any were.
    pub fn prefill_rate(&self) -> Option<f64> {
        rate(self.prefilled_tokens, self.prefill)
    }

    /// Generated tokens a second, where any were.
    pub fn decode_rate(&self) -> Option<f64> {
        rate(self.generated_tokens, self.decode)
    }
}

fn rate(n: usize, time: Duration) -> Option<f64> {
    let s = time.as_secs_f64();
    (n > 0 && s > 0.0).then(|| n as f64 / s)
}

/// The result of a request.
#[derive(Debug, Clone)]
pub struct Generated {
    /// Why it ended.
    pub finish: Finish,
    /// Where the time went.
    pub stats: Stats,
}

impl<B: Backend> Session<B> {
    /// An empty conversation.
    pub fn new(backend: &mut B) -> Result<Self> {
        Ok(Self {
            state: backend.create()?,
            tokens: Vec::new(),
            pending: false,
        })
    }

    /// The tokens the device holds, in order.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The backend's state of this conversation.
    pub fn state(&self) -> &B::State {
        &self.state
    }

    /// Brings the device to exactly `tokens` with logits for the next one, computing only what differs.
    /// Returns how many tokens were already there; after a cancellation the device holds a prefix.
    pub fn sync(
        &mut self,
        backend: &mut B,
        tokens: &[u32],
        cancel: &Cancel,
        mut progress: Option<&mut (dyn FnMut(usize, usize) + '_)>,
    ) -> Result<usize> {
        if tokens.is_empty() {
            return Err(Error::Input("the prompt is empty".to_owned()));
        }
        if tokens.len() > backend.context() {
            return Err(Error::Context {
                need: tokens.len(),
                have: backend.context(),
            });
        }
        let vocab = backend.vocab_size();
        if let Some(bad) = tokens.iter().find(|t| **t as usize >= vocab) {
            return Err(Error::Input(format!(
                "token {bad} is outside the vocabulary of {vocab}"
            )));
        }
        let mut common = self
            .tokens
            .iter()
            .zip(tokens)
            .take_while(|(a, b)| a == b)
            .count();
        if common == tokens.len() {
            if common == self.tokens.len() && self.pending {
                return Ok(common);
            }
            // Logits come only from computing a token: the last one is computed again.
            common -= 1;
        }
        if common < self.tokens.len() {
            self.state = backend.fork(&self.state, common)?;
            self.tokens.truncate(backend.position(&self.state));
            self.pending = false;
        }
        let cached = self.tokens.len();
        let todo = &tokens[cached..];
        let mut report = |done: usize| {
            if let Some(p) = progress.as_deref_mut() {
                p(done, todo.len());
            }
        };
        let mut control = Control {
            cancel: cancel.clone(),
            progress: Some(&mut report),
        };
        let result = backend.prefill(&mut self.state, todo, &mut control);
        let taken = backend.position(&self.state) - cached;
        self.tokens.extend(&todo[..taken]);
        self.pending = result? == todo.len();
        Ok(cached)
    }

    /// Prefills what is missing of `prompt`, then generates; `on_token` sees each token and answers whether
    /// to go on. A token it refuses is part of the conversation.
    pub fn generate(
        &mut self,
        backend: &mut B,
        prompt: &[u32],
        request: &mut Request<'_>,
        on_token: &mut dyn FnMut(&Token) -> bool,
    ) -> Result<Generated> {
        request.sampling.validate()?;
        let start = Instant::now();
        let cached = self.sync(
            backend,
            prompt,
            &request.cancel,
            request.progress.as_deref_mut(),
        )?;
        let mut stats = Stats {
            prompt_tokens: prompt.len(),
            cached_tokens: cached,
            prefilled_tokens: self.tokens.len() - cached,
            prefill: start.elapsed(),
            ..Stats::default()
        };
        if self.tokens.len() < prompt.len() {
            return Ok(Generated {
                finish: Finish::Cancelled,
                stats,
            });
        }
        let room = backend.context() - prompt.len();
        let mut sampler = Sampler::new(request.sampling.clone(), prompt);
        let decode_start = Instant::now();
        let (tokens, first) = (&mut self.tokens, &mut stats.first_token);
        let mut sink = |batch: &[Token]| {
            first.get_or_insert_with(|| start.elapsed());
            for (i, t) in batch.iter().enumerate() {
                tokens.push(t.id);
                if !on_token(t) {
                    return Flow::Stop { keep: i + 1 };
                }
            }
            Flow::Continue
        };
        let mut decode = Decode {
            sampler: &mut sampler,
            stop: request.stop,
            budget: request.max_tokens.unwrap_or(room).min(room),
            mask: match &mut request.mask {
                Some(m) => Some(&mut **m),
                None => None,
            },
            top_logprobs: request.top_logprobs,
            cancel: request.cancel.clone(),
        };
        let result = backend.decode(&mut self.state, &mut decode, &mut sink);
        stats.decode = decode_start.elapsed();
        self.pending = matches!(result, Ok(Finish::Stop(_) | Finish::Budget));
        // After an error the device's own position decides what the conversation holds.
        self.tokens.truncate(backend.position(&self.state));
        stats.generated_tokens = self.tokens.len().saturating_sub(prompt.len());
        Ok(Generated {
            finish: result?,
            stats,
        })
    }
}
