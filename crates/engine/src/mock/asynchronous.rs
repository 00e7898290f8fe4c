//! A backend that behaves like an asynchronous device: it decodes a whole launch of tokens before the
//! host sees the first, keeps state on "its" side in pages, and rolls back what the host did not want.
//!
//! Its model is a toy whose next-token logits are a hash of *all* earlier tokens, folded through a window
//! that, like a conv window, cannot be computed backwards: any error in paging, forking, roll-back or
//! checkpointing changes every later token.

use std::ops::Range;

use crate::backend::{
    Backend, Capabilities, Control, Decode, DeviceInfo, Finish, Flow, Scores, Token, TokenSink,
    Want,
};
use crate::error::{Error, Result};
use crate::pages::{PAGE, PagePool, PageTable};
use crate::sampler::{log_sum_exp, top_logprobs};

/// The device's memory behind one page: its tokens ("keys and values") and the window after its end.
#[derive(Debug, Clone, Default)]
struct PageMemory {
    tokens: Vec<u32>,
    checkpoint: Option<u64>,
}

/// A device that decodes ahead of the host; the head of this file says how.
#[derive(Debug)]
pub struct Asynchronous {
    device: DeviceInfo,
    vocab: usize,
    context: usize,
    launch: usize,
    pool: PagePool,
    memory: Vec<PageMemory>,
    /// Tokens given to `prefill` so far.
    pub prefilled: usize,
    /// Tokens computed and then rolled back so far.
    pub rolled_back: usize,
}

/// A sequence of [`Asynchronous`].
#[derive(Debug)]
pub struct AsyncState {
    table: PageTable,
    position: usize,
    /// Running hash: the toy's conv window.
    window: u64,
    pending: bool,
}

fn mix(window: u64, token: u32) -> u64 {
    let mut x = window ^ (u64::from(token) + 0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Asynchronous {
    /// A device that decodes `launch` tokens before the host sees any.
    pub fn new(vocab: usize, context: usize, launch: usize) -> Self {
        let pages = 4 * context.div_ceil(PAGE) + 4;
        Self {
            device: super::device("asynchronous"),
            vocab,
            context,
            launch: launch.max(1),
            pool: PagePool::new(pages as u32),
            memory: vec![PageMemory::default(); pages],
            prefilled: 0,
            rolled_back: 0,
        }
    }

    /// The toy's logits after the tokens that led to `window`.
    fn logits(&self, window: u64) -> Vec<f32> {
        (0..self.vocab as u32)
            .map(|t| (mix(window, t) >> 40) as f32 / 2.0_f32.powi(22))
            .collect()
    }

    fn append(&mut self, s: &mut AsyncState, token: u32) -> Result<()> {
        if s.position >= self.context {
            return Err(Error::Context {
                need: s.position + 1,
                have: self.context,
            });
        }
        s.table.reserve(&self.pool, s.position + 1)?;
        let page = &s.table.pages()[s.position / PAGE];
        assert!(!page.is_shared(), "a shared page is never written");
        let memory = &mut self.memory[page.id() as usize];
        memory.tokens.truncate(s.position % PAGE);
        memory.tokens.push(token);
        s.window = mix(s.window, token);
        s.position += 1;
        memory.checkpoint = s.position.is_multiple_of(PAGE).then_some(s.window);
        Ok(())
    }

    /// Goes back to position `to` by replaying from the last checkpoint: the window has no inverse.
    fn roll_back(&mut self, s: &mut AsyncState, to: usize) -> Result<()> {
        self.rolled_back += s.position - to;
        let base = to / PAGE;
        let replay = if to.is_multiple_of(PAGE) {
            Vec::new()
        } else {
            self.memory[s.table.pages()[base].id() as usize].tokens[..to % PAGE].to_vec()
        };
        s.table.truncate(to);
        self.restore(s, base);
        for t in replay {
            self.append(s, t)?;
        }
        Ok(())
    }

    /// Sets `s` to the end of its first `pages` pages.
    fn restore(&self, s: &mut AsyncState, pages: usize) {
        s.position = pages * PAGE;
        s.window = match pages.checked_sub(1) {
            None => 0,
            Some(last) => self.memory[s.table.pages()[last].id() as usize]
                .checkpoint
                .expect("a full page has a checkpoint"),
        };
    }
}

impl Backend for Asynchronous {
    type State = AsyncState;

    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            masks: false,
            hidden: false,
            ..Capabilities::ALL
        }
    }

    fn context(&self) -> usize {
        self.context
    }

    fn vocab_size(&self) -> usize {
        self.vocab
    }

    fn create(&mut self) -> Result<AsyncState> {
        Ok(AsyncState {
            table: PageTable::default(),
            position: 0,
            window: 0,
            pending: false,
        })
    }

    fn position(&self, s: &AsyncState) -> usize {
        s.position
    }

    fn prefill(
        &mut self,
        s: &mut AsyncState,
        tokens: &[u32],
        c: &mut Control<'_>,
    ) -> Result<usize> {
        for (i, t) in tokens.iter().enumerate() {
            if s.position.is_multiple_of(PAGE) || i == 0 {
                if c.cancel.is_cancelled() {
                    s.pending = false;
                    return Ok(i);
                }
                if let Some(p) = c.progress.as_deref_mut() {
                    p(i);
                }
            }
            self.append(s, *t)?;
            self.prefilled += 1;
            s.pending = true;
        }
        Ok(tokens.len())
    }

    fn decode(
        &mut self,
        s: &mut AsyncState,
        d: &mut Decode<'_>,
        sink: &mut dyn TokenSink,
    ) -> Result<Finish> {
        if d.mask.is_some() {
            return Err(Error::Unsupported {
                backend: "asynchronous",
                what: "masks",
            });
        }
        if !s.pending {
            return Err(Error::NoLogits);
        }
        let mut left = d.budget.min(self.context - s.position);
        while left > 0 {
            if d.cancel.is_cancelled() {
                s.pending = false;
                return Ok(Finish::Cancelled);
            }
            // One launch: the device samples and appends without asking anyone, past a stop token too.
            let start = s.position;
            let before = d.sampler.clone();
            let mut batch = Vec::new();
            let mut stop = None;
            for _ in 0..self.launch.min(left) {
                let raw = self.logits(s.window);
                let id = d.sampler.choose(&mut raw.clone());
                if stop.is_none() {
                    if d.stop.contains(&id) {
                        stop = Some(id);
                    } else {
                        batch.push(Token {
                            id,
                            logprob: d.top_logprobs.map(|_| raw[id as usize] - log_sum_exp(&raw)),
                            top: d
                                .top_logprobs
                                .map_or_else(Vec::new, |k| top_logprobs(&raw, k)),
                        });
                    }
                }
                self.append(s, id)?;
            }
            let flow = if batch.is_empty() {
                Flow::Continue
            } else {
                sink.push(&batch)
            };
            let keep = if let Flow::Stop { keep } = flow {
                keep.min(batch.len())
            } else {
                batch.len()
            };
            if s.position > start + keep {
                self.roll_back(s, start + keep)?;
                *d.sampler = before;
                batch[..keep].iter().for_each(|t| d.sampler.record(t.id));
            }
            left -= keep;
            if flow != Flow::Continue {
                s.pending = false;
                return Ok(Finish::Sink);
            }
            if let Some(id) = stop {
                return Ok(Finish::Stop(id));
            }
        }
        Ok(Finish::Budget)
    }

    fn score(&mut self, s: &mut AsyncState, tokens: &[u32], want: Want<'_>) -> Result<Scores> {
        let mut scores = Scores::default();
        for (i, t) in tokens.iter().enumerate() {
            if i > 0 && matches!(want, Want::LogProbs) {
                let l = self.logits(s.window);
                scores.logprobs.push(l[*t as usize] - log_sum_exp(&l));
            }
            self.append(s, *t)?;
            s.pending = true;
            match want {
                Want::Top(k) => scores.top.push(top_logprobs(&self.logits(s.window), k)),
                Want::Rows(at) if at.contains(&i) => scores.rows.extend(self.logits(s.window)),
                Want::LogProbs | Want::Rows(_) => {}
            }
        }
        Ok(scores)
    }

    fn hidden(&mut self, _: &mut AsyncState, _: &[u32]) -> Result<Vec<f32>> {
        Err(Error::Unsupported {
            backend: "asynchronous",
            what: "hidden",
        })
    }

    fn fork(&mut self, s: &AsyncState, at: usize) -> Result<AsyncState> {
        let pages = at.min(s.position) / PAGE;
        let mut new = AsyncState {
            table: s.table.share(pages),
            position: 0,
            window: 0,
            pending: false,
        };
        self.restore(&mut new, pages);
        Ok(new)
    }

    fn export(&mut self, s: &AsyncState, pages: Range<usize>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for p in &s.table.pages()[pages] {
            let m = &self.memory[p.id() as usize];
            m.tokens.iter().for_each(|t| bytes.extend(t.to_le_bytes()));
            bytes.extend(
                m.checkpoint
                    .expect("only full pages are exported")
                    .to_le_bytes(),
            );
        }
        Ok(bytes)
    }

    fn import(&mut self, s: &mut AsyncState, bytes: &[u8]) -> Result<()> {
        if !s.position.is_multiple_of(PAGE) || !bytes.len().is_multiple_of(4 * PAGE + 8) {
            return Err(Error::Input(
                "saved pages do not fit this sequence".to_owned(),
            ));
        }
        for page in bytes.chunks_exact(4 * PAGE + 8) {
            for t in page[..4 * PAGE].chunks_exact(4) {
                self.append(s, u32::from_le_bytes([t[0], t[1], t[2], t[3]]))?;
            }
            s.pending = false;
        }
        Ok(())
    }
}
