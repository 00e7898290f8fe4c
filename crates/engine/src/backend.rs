//! The border between what a user does with a model and the device that computes it.
//!
//! # Contract
//!
//! A backend holds one model. A [`Backend::State`] is one sequence: a page table of keys and values, the
//! conv windows, a position, and possibly *pending logits*, the distribution of the next token.
//!
//! * `prefill` appends tokens and leaves the pending logits of the last one on the device.
//! * `decode` starts from the pending logits, samples, delivers tokens to the sink in order and in
//!   batches of any size, and appends what it delivers. The device need not wait for the sink: when the
//!   sink keeps only part of a batch, the backend rolls the state back to exactly the kept tokens.
//! * A token of the stop set ends decoding. It is neither delivered nor appended.
//! * After `decode` the sampler has recorded exactly the tokens that were appended: not the stop token,
//!   nor what the sink refused. So a call cut in two draws the same random numbers as one call.
//! * After a return by budget or stop token the pending logits are valid. After the sink or a
//!   cancellation ended decoding they are not: the next call must prefill at least one token, and
//!   `decode` before that is [`Error::NoLogits`](crate::Error::NoLogits).
//! * At each absolute multiple of [`PAGE`](crate::PAGE) tokens, prefill and decode leave a *checkpoint*
//!   of the conv windows without the host's help; `fork` starts from one.
//! * Equal token histories computed by the same phase give equal bits, however the calls were cut:
//!   prefill works in chunks that end on absolute multiples of [`PAGE`](crate::PAGE).
//! * An error leaves the state usable at the position it reports.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Result;
use crate::sampler::Sampler;

/// What kind of device a backend drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// The host's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An Apple GPU.
    Metal,
    /// No device: a backend for tests.
    Mock,
}

impl DeviceKind {
    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Metal => "metal",
            Self::Mock => "mock",
        }
    }
}

/// The device behind a backend.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    /// What it is.
    pub kind: DeviceKind,
    /// The vendor's name for it.
    pub name: String,
    /// Instruction set path or compute capability in use.
    pub isa: String,
    /// Threads in use, for processors.
    pub threads: Option<usize>,
}

/// What a backend can do, by name; what it can't is reported by [`Capabilities::missing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Token masks in `decode`.
    pub masks: bool,
    /// Log-probabilities in `decode`.
    pub logprobs: bool,
    /// Repetition, presence and frequency penalties and logit bias.
    pub penalties: bool,
    /// Top-k, top-p and min-p.
    pub truncation: bool,
    /// `score`.
    pub score: bool,
    /// `hidden`.
    pub hidden: bool,
    /// `fork`.
    pub fork: bool,
    /// `export` and `import`.
    pub export: bool,
}

impl Capabilities {
    /// Everything.
    pub const ALL: Self = Self {
        masks: true,
        logprobs: true,
        penalties: true,
        truncation: true,
        score: true,
        hidden: true,
        fork: true,
        export: true,
    };

    /// Names of what is missing.
    pub fn missing(&self) -> Vec<&'static str> {
        [
            (self.masks, "masks"),
            (self.logprobs, "logprobs"),
            (self.penalties, "penalties"),
            (self.truncation, "top-k/top-p/min-p"),
            (self.score, "score"),
            (self.hidden, "hidden"),
            (self.fork, "fork"),
            (self.export, "export"),
        ]
        .into_iter()
        .filter_map(|(has, name)| (!has).then_some(name))
        .collect()
    }
}

/// A flag that stops work from another thread or a signal handler. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the work to stop within one launch of decode (a token, or as many as the device decodes
    /// without the host) or two chunks of prefill (a device may have one more in flight).
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the request back, before the next piece of work.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// How the caller watches and stops a prefill.
#[derive(Default)]
pub struct Control<'a> {
    /// Checked before each chunk is started.
    pub cancel: Cancel,
    /// Called after each chunk with the tokens done so far in this call.
    pub progress: Option<&'a mut dyn FnMut(usize)>,
}

/// A delivered token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Log-probability under the model's own distribution (before temperature and penalties), when
    /// log-probabilities were asked for.
    pub logprob: Option<f32>,
    /// The most probable tokens with their log-probabilities, best first, when asked for.
    pub top: Vec<(u32, f32)>,
}

/// What the sink wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Continue,
    /// Stop; the first `keep` tokens of this batch count, the rest never happened.
    Stop {
        /// At most the length of the batch.
        keep: usize,
    },
}

/// Where decoded tokens go.
pub trait TokenSink {
    /// Takes the next tokens, in order.
    fn push(&mut self, tokens: &[Token]) -> Flow;
}

impl<F: FnMut(&[Token]) -> Flow> TokenSink for F {
    fn push(&mut self, tokens: &[Token]) -> Flow {
        self(tokens)
    }
}

/// A source of token masks: what a grammar allows next.
pub trait MaskSource {
    /// Writes the mask of allowed tokens into `words` (bit `t % 32` of word `t / 32`), or returns `false`
    /// when everything is allowed.
    fn mask(&mut self, words: &mut [u32]) -> Result<bool>;
    /// Tells the source which token was taken.
    fn accept(&mut self, token: u32) -> Result<()>;
}

/// One decode call.
pub struct Decode<'a> {
    /// How to choose tokens; keeps its own history for penalties and its own random counter.
    pub sampler: &'a mut Sampler,
    /// Tokens that end decoding.
    pub stop: &'a [u32],
    /// Most tokens to deliver.
    pub budget: usize,
    /// Restricts each choice. Backends without masks refuse it.
    pub mask: Option<&'a mut dyn MaskSource>,
    /// `None`: no log-probabilities; `Some(k)`: of the chosen token and of the `k` best.
    pub top_logprobs: Option<usize>,
    /// Checked before each token or launch.
    pub cancel: Cancel,
}

/// Why decoding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// A token of the stop set was sampled.
    Stop(u32),
    /// The budget was used up.
    Budget,
    /// The sink asked for it.
    Sink,
    /// It was cancelled.
    Cancelled,
}

/// What [`Backend::score`] returns.
#[derive(Debug, Clone, Copy)]
pub enum Want<'a> {
    /// Log-probability of each token after the first, given those before it.
    LogProbs,
    /// The `k` best next tokens with log-probabilities after each token.
    Top(usize),
    /// Whole logit rows after the tokens at these indices (rising).
    Rows(&'a [usize]),
}

/// Results of [`Backend::score`]; only the part that was asked for is filled.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    /// `tokens.len() − 1` log-probabilities.
    pub logprobs: Vec<f32>,
    /// Per token, best first.
    pub top: Vec<Vec<(u32, f32)>>,
    /// Logit rows, `[indices, vocab]`.
    pub rows: Vec<f32>,
}

/// A device that holds one model and computes it. See the [module's contract](self).
pub trait Backend {
    /// One sequence on this device.
    type State;

    /// The device.
    fn device(&self) -> &DeviceInfo;
    /// What this backend can and cannot do.
    fn capabilities(&self) -> Capabilities;
    /// Most tokens a sequence can hold.
    fn context(&self) -> usize;
    /// Tokens in the vocabulary.
    fn vocab_size(&self) -> usize;
    /// An empty sequence.
    fn create(&mut self) -> Result<Self::State>;
    /// Tokens appended to the sequence so far.
    fn position(&self, s: &Self::State) -> usize;
    /// Appends `tokens`; returns how many were taken, fewer than given only after a cancellation.
    fn prefill(
        &mut self,
        s: &mut Self::State,
        tokens: &[u32],
        c: &mut Control<'_>,
    ) -> Result<usize>;
    /// Samples and appends tokens until something ends it.
    fn decode(
        &mut self,
        s: &mut Self::State,
        d: &mut Decode<'_>,
        sink: &mut dyn TokenSink,
    ) -> Result<Finish>;
    /// Appends `tokens` and reports how the model scores them.
    fn score(&mut self, s: &mut Self::State, tokens: &[u32], want: Want<'_>) -> Result<Scores>;
    /// Appends `tokens` and returns the hidden states after the final norm, `[T, H]`.
    fn hidden(&mut self, s: &mut Self::State, tokens: &[u32]) -> Result<Vec<f32>>;
    /// A new sequence that shares the pages of `s` up to the last checkpoint at or before `at`. Its
    /// position may be up to [`PAGE`](crate::PAGE)` − 1` less than `at`; the caller prefills the rest.
    fn fork(&mut self, s: &Self::State, at: usize) -> Result<Self::State>;
    /// The full pages `pages` of `s` with their checkpoints, as bytes for this model on any machine.
    fn export(&mut self, s: &Self::State, pages: Range<usize>) -> Result<Vec<u8>>;
    /// Appends exported pages to `s`, whose position must be a multiple of [`PAGE`](crate::PAGE).
    fn import(&mut self, s: &mut Self::State, bytes: &[u8]) -> Result<()>;
}
