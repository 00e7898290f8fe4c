//! A backend that plays given tokens.

use std::collections::VecDeque;
use std::ops::Range;

use crate::backend::{
    Backend, Capabilities, Control, Decode, DeviceInfo, Finish, Flow, Scores, Token, TokenSink,
    Want,
};
use crate::error::{Error, Result};
use crate::pages::{PAGE, PagePool, PageTable};

/// Plays scripts: each `decode` takes the next script, delivers its tokens one batch at a time, and ends
/// with a stop token when the script is used up. Whatever was fed is remembered and can be inspected.
#[derive(Debug)]
pub struct Scripted {
    device: DeviceInfo,
    vocab: usize,
    context: usize,
    pool: PagePool,
    scripts: VecDeque<Vec<u32>>,
    batch: usize,
    /// Tokens given to `prefill` so far, over all sequences.
    pub prefilled: usize,
}

/// A sequence of [`Scripted`].
#[derive(Debug, Clone)]
pub struct ScriptedState {
    table: PageTable,
    /// Every token appended.
    pub tokens: Vec<u32>,
    pending: bool,
}

impl Scripted {
    /// A backend for `vocab` tokens that plays `scripts` in order.
    pub fn new(vocab: usize, context: usize, scripts: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let pages = 8 * context.div_ceil(PAGE);
        Self {
            device: super::device("scripted"),
            vocab,
            context,
            pool: PagePool::new(pages as u32),
            scripts: scripts.into_iter().collect(),
            batch: 1,
            prefilled: 0,
        }
    }

    /// Delivers tokens in batches of `n`.
    #[must_use]
    pub fn with_batch(mut self, n: usize) -> Self {
        self.batch = n.max(1);
        self
    }

    /// Adds a script to the queue.
    pub fn play(&mut self, script: Vec<u32>) {
        self.scripts.push_back(script);
    }

    fn append(&self, s: &mut ScriptedState, tokens: &[u32]) -> Result<()> {
        let need = s.tokens.len() + tokens.len();
        if need > self.context {
            return Err(Error::Context {
                need,
                have: self.context,
            });
        }
        s.table.reserve(&self.pool, need)?;
        s.tokens.extend(tokens);
        Ok(())
    }
}

impl Backend for Scripted {
    type State = ScriptedState;

    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            masks: false,
            score: false,
            hidden: false,
            export: false,
            ..Capabilities::ALL
        }
    }

    fn context(&self) -> usize {
        self.context
    }

    fn vocab_size(&self) -> usize {
        self.vocab
    }

    fn create(&mut self) -> Result<ScriptedState> {
        Ok(ScriptedState {
            table: PageTable::default(),
            tokens: Vec::new(),
            pending: false,
        })
    }

    fn position(&self, s: &ScriptedState) -> usize {
        s.tokens.len()
    }

    fn prefill(
        &mut self,
        s: &mut ScriptedState,
        tokens: &[u32],
        c: &mut Control<'_>,
    ) -> Result<usize> {
        let mut done = 0;
        while done < tokens.len() {
            if c.cancel.is_cancelled() {
                s.pending = false;
                return Ok(done);
            }
            let n = (PAGE - s.tokens.len() % PAGE).min(tokens.len() - done);
            self.append(s, &tokens[done..done + n])?;
            self.prefilled += n;
            done += n;
            s.pending = true;
            if let Some(p) = c.progress.as_deref_mut() {
                p(done);
            }
        }
        Ok(done)
    }

    fn decode(
        &mut self,
        s: &mut ScriptedState,
        d: &mut Decode<'_>,
        sink: &mut dyn TokenSink,
    ) -> Result<Finish> {
        if !s.pending {
            return Err(Error::NoLogits);
        }
        let script = self.scripts.pop_front().unwrap_or_default();
        let end = script.iter().position(|t| d.stop.contains(t));
        let stop = end.map_or_else(|| d.stop.first().copied().unwrap_or(0), |i| script[i]);
        let play = &script[..end.unwrap_or(script.len())];
        let budget = d.budget.min(self.context - s.tokens.len());
        for batch in play[..play.len().min(budget)].chunks(self.batch) {
            if d.cancel.is_cancelled() {
                s.pending = false;
                return Ok(Finish::Cancelled);
            }
            let tokens: Vec<Token> = batch
                .iter()
                .map(|id| Token {
                    id: *id,
                    logprob: d.top_logprobs.map(|_| 0.0),
                    top: d.top_logprobs.map_or_else(Vec::new, |_| vec![(*id, 0.0)]),
                })
                .collect();
            let flow = sink.push(&tokens);
            let keep = if let Flow::Stop { keep } = flow {
                keep.min(batch.len())
            } else {
                batch.len()
            };
            self.append(s, &batch[..keep])?;
            batch[..keep].iter().for_each(|t| d.sampler.record(*t));
            if flow != Flow::Continue {
                s.pending = false;
                return Ok(Finish::Sink);
            }
        }
        Ok(if play.len() >= budget && budget < play.len() + 1 {
            Finish::Budget
        } else {
            Finish::Stop(stop)
        })
    }

    fn score(&mut self, _: &mut ScriptedState, _: &[u32], _: Want<'_>) -> Result<Scores> {
        Err(Error::Unsupported {
            backend: "scripted",
            what: "score",
        })
    }

    fn hidden(&mut self, _: &mut ScriptedState, _: &[u32]) -> Result<Vec<f32>> {
        Err(Error::Unsupported {
            backend: "scripted",
            what: "hidden",
        })
    }

    fn fork(&mut self, s: &ScriptedState, at: usize) -> Result<ScriptedState> {
        let pages = at.min(s.tokens.len()) / PAGE;
        Ok(ScriptedState {
            table: s.table.share(pages),
            tokens: s.tokens[..pages * PAGE].to_vec(),
            pending: false,
        })
    }

    fn export(&mut self, _: &ScriptedState, _: Range<usize>) -> Result<Vec<u8>> {
        Err(Error::Unsupported {
            backend: "scripted",
            what: "export",
        })
    }

    fn import(&mut self, _: &mut ScriptedState, _: &[u8]) -> Result<()> {
        Err(Error::Unsupported {
            backend: "scripted",
            what: "import",
        })
    }
}
