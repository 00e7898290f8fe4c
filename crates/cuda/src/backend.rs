//! The engine's border, on this device.

use std::ops::Range;

use engine::pages::PagePool;
use engine::sampler::{log_sum_exp, top_logprobs};
use engine::{
    Backend, Cancel, Capabilities, Control, Decode, DeviceInfo, DeviceKind, Error, Finish, PAGE,
    Result, Scores, TokenSink, Want,
};
use lfm2::config::LayerKind;
use lfm2::weights::WeightSource;

use crate::chain::{self, Limits};
use crate::decode::{Outputs, Run};
use crate::forward::{Memory, Pass, Scratch};
use crate::gpu::{Arg, Buffer, Gpu};
use crate::model::Model;
use crate::nvrtc::Nvrtc;
use crate::sequence::{Sequence, chunks};
use crate::source::{self, RING};

/// How to set the backend up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which device.
    pub ordinal: usize,
    /// Most tokens of a sequence.
    pub context: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ordinal: 0,
            context: 4096,
        }
    }
}

/// One sequence: pages, position, and on the device its page table, conv ring and pending logits.
#[derive(Debug)]
pub struct State {
    pub(crate) sequence: Sequence,
    /// `[conv layers, RING, hidden]`.
    pub(crate) ring: Buffer<f32>,
    /// Page ids.
    pub(crate) pages: Buffer<u32>,
    /// `[vocab]`.
    pub(crate) logits: Buffer<f32>,
}

/// A model on an NVIDIA GPU.
#[derive(Debug)]
pub struct Cuda {
    device: DeviceInfo,
    pub(crate) gpu: Gpu,
    pub(crate) model: Model,
    pub(crate) memory: Memory,
    pub(crate) pool: PagePool,
    pub(crate) scratch: Scratch,
    outputs: Outputs,
    context: usize,
}

/// What a chunk leaves for the host.
enum Leave<'a> {
    /// Nothing.
    Nothing,
    /// Logits of these tokens (by index in the call).
    Rows(&'a dyn Fn(usize) -> bool, &'a mut dyn FnMut(usize, &[f32])),
    /// Hidden states of all tokens.
    Hidden(&'a mut Vec<f32>),
}

impl Cuda {
    /// Compiles the kernels for this model and device, and uploads the weights.
    ///
    /// # Errors
    /// When the driver, a device or NVRTC is missing (saying where they were looked for), when the model is
    /// too large for this edition, or when its weights cannot be read.
    pub fn new(
        source: &dyn WeightSource,
        options: &Options,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let (c, context) = (source.config(), options.context);
        if context == 0 {
            return Err(Error::Input(
                "a context of 0 tokens holds nothing; give at least 1".to_owned(),
            ));
        }
        let programs = source::sources(c, context)?;
        Model::check(c)?;
        let mut gpu = Gpu::open(options.ordinal)?;
        gpu.load(&Nvrtc::find()?, &programs)?;
        // Room for the sequence in use and for a fork of it.
        let pages = 2 * context.div_ceil(PAGE) + 1;
        Ok(Self {
            device: DeviceInfo {
                kind: DeviceKind::Cuda,
                name: gpu.name().to_owned(),
                isa: format!("sm_{}", gpu.arch()),
                threads: None,
            },
            model: Model::load(source, &gpu, progress)?,
            memory: Memory::new(&gpu, c, pages)?,
            pool: PagePool::new(pages as u32),
            scratch: Scratch::new(&gpu, c, context)?,
            outputs: Outputs::new(&gpu, c)?,
            gpu,
            context,
        })
    }

    fn state(&self, sequence: Sequence) -> Result<State> {
        let c = &self.model.config;
        Ok(State {
            sequence,
            ring: self
                .gpu
                .alloc(c.count_layers(LayerKind::Conv) * RING * c.hidden_size)?,
            pages: self.gpu.alloc(self.context.div_ceil(PAGE))?,
            logits: self.gpu.alloc(c.vocab_size)?,
        })
    }

    /// Takes pages for positions below `end` and tells the device.
    pub(crate) fn reserve(gpu: &Gpu, pool: &PagePool, s: &mut State, end: usize) -> Result<()> {
        s.sequence.reserve(pool, end)?;
        let (first, ids) = s.sequence.news();
        gpu.upload(&ids, &mut s.pages, first)
    }

    fn check(&self, s: &State, tokens: &[u32]) -> Result<()> {
        let need = s.sequence.position() + tokens.len();
        if need > self.context {
            return Err(Error::Context {
                need,
                have: self.context,
            });
        }
        let vocab = self.model.config.vocab_size;
        match tokens.iter().find(|t| **t as usize >= vocab) {
            Some(t) => Err(Error::Input(format!(
                "token {t} is outside the vocabulary of {vocab}"
            ))),
            None => Ok(()),
        }
    }

    /// Feeds `tokens` chunk by chunk, the device one chunk ahead of the host, and leaves the last one's
    /// logits pending. Returns the tokens taken.
    fn feed(
        &mut self,
        s: &mut State,
        tokens: &[u32],
        cancel: &Cancel,
        leave: &mut Leave<'_>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<usize> {
        self.check(s, tokens)?;
        let start = s.sequence.position();
        let mut done = 0;
        let mut running = None;
        for part in chunks(start, tokens.len()) {
            if cancel.is_cancelled() {
                break;
            }
            let (end, last) = (part.end, part.end == tokens.len());
            let result = self.chunk(s, start, tokens, part, last, leave);
            if let Err(e) = result {
                s.sequence.settle(start + done, false);
                return Err(e);
            }
            done = end;
            s.sequence.settle(start + done, last);
            if let Some((mark, before)) = running.replace((self.gpu.mark()?, done)) {
                self.gpu.reach(&mark)?;
                progress(before);
            }
        }
        // Waiting here keeps a failure and the time of prefill with the call that caused them.
        if let Some((mark, before)) = running {
            self.gpu.reach(&mark)?;
            progress(before);
        }
        if done < tokens.len() {
            s.sequence.pending = false;
        }
        Ok(done)
    }

    fn chunk(
        &mut self,
        s: &mut State,
        start: usize,
        tokens: &[u32],
        part: Range<usize>,
        last: bool,
        leave: &mut Leave<'_>,
    ) -> Result<()> {
        let n = part.len();
        Self::reserve(&self.gpu, &self.pool, s, start + part.end)?;
        self.gpu
            .upload(&tokens[part.clone()], &mut self.scratch.ids, 0)?;
        self.begin(start + part.start, 0)?;
        let pass = Pass {
            gpu: &self.gpu,
            model: &self.model,
            memory: &self.memory,
            scratch: &self.scratch,
            ring: s.ring.start(),
            pages: s.pages.start(),
            tokens: n,
        };
        pass.trunk(self.scratch.ids.start())?;
        let c = &self.model.config;
        let any = match leave {
            Leave::Nothing => false,
            Leave::Rows(want, _) => part.clone().any(*want),
            Leave::Hidden(_) => true,
        };
        if !last && !any {
            return Ok(());
        }
        let hidden = pass.hidden()?;
        if last {
            pass.logits(n - 1, 1, s.logits.start())?;
        }
        match leave {
            Leave::Rows(want, to) if any => {
                pass.logits(0, n, self.scratch.rows.start())?;
                let rows = self.gpu.download(&self.scratch.rows, 0..n * c.vocab_size)?;
                for (i, row) in part.zip(rows.chunks_exact(c.vocab_size)) {
                    if want(i) {
                        to(i, row);
                    }
                }
            }
            Leave::Hidden(to) => to.extend(self.gpu.download(hidden, 0..n * c.hidden_size)?),
            _ => {}
        }
        Ok(())
    }

    /// Sets what the steps to come know of their place.
    pub(crate) fn begin(&self, position: usize, draws: u64) -> Result<()> {
        let args = [
            self.scratch.control.start(),
            Arg::I32(position as i32),
            Arg::U64(draws),
        ];
        self.gpu.launch("begin", [1, 1, 1], 1, &args)
    }

    /// Sets the conv ring of `s` to the checkpoint of its last page.
    fn restore(&self, s: &State) -> Result<()> {
        let end = s.sequence.position();
        let c = &self.model.config;
        let layers = c.count_layers(LayerKind::Conv);
        let Some(page) = end.checked_sub(1).and_then(|p| s.sequence.page(p)) else {
            return Ok(());
        };
        if layers == 0 || c.conv_kernel < 2 {
            return Ok(());
        }
        let args = [
            s.ring.start(),
            self.memory.checkpoints.start(),
            Arg::U32(page),
            Arg::I32(end as i32),
        ];
        self.gpu
            .launch("restore", [layers, c.conv_kernel - 1, 1], 256, &args)
    }
}

impl Backend for Cuda {
    type State = State;

    fn device(&self) -> &DeviceInfo {
        &self.device
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn context(&self) -> usize {
        self.context
    }

    fn vocab_size(&self) -> usize {
        self.model.config.vocab_size
    }

    fn create(&mut self) -> Result<State> {
        self.state(Sequence::default())
    }

    fn position(&self, s: &State) -> usize {
        s.sequence.position()
    }

    fn prefill(&mut self, s: &mut State, tokens: &[u32], c: &mut Control<'_>) -> Result<usize> {
        let mut ignore = |_| {};
        let progress: &mut dyn FnMut(usize) = match &mut c.progress {
            Some(p) => &mut **p,
            None => &mut ignore,
        };
        self.feed(s, tokens, &c.cancel, &mut Leave::Nothing, progress)
    }

    fn decode(
        &mut self,
        s: &mut State,
        d: &mut Decode<'_>,
        sink: &mut dyn TokenSink,
    ) -> Result<Finish> {
        if !s.sequence.pending {
            return Err(Error::NoLogits);
        }
        let start = s.sequence.position();
        let mut limits = Limits::new(d.budget.min(self.context - start));
        if d.mask.is_some() {
            // The next mask depends on the token before: the host must see each.
            limits.launch = 1;
            limits.depth = 1;
        }
        self.begin(start, d.sampler.draws())?;
        let mask: Option<&mut dyn engine::MaskSource> = match &mut d.mask {
            Some(m) => Some(&mut **m),
            None => None,
        };
        self.outputs
            .prepare(&self.gpu, &self.model.config, d.top_logprobs)?;
        let mut run = Run::new(
            &self.gpu,
            &self.model,
            &self.memory,
            &self.scratch,
            &self.pool,
            &mut self.outputs,
            s,
            d.sampler,
            d.stop,
            mask,
        )?;
        let ended = chain::run(&mut run, limits, d.sampler, &d.cancel, sink);
        s.sequence.settle(start + ended.kept, ended.pending);
        ended.finish
    }

    fn score(&mut self, s: &mut State, tokens: &[u32], want: Want<'_>) -> Result<Scores> {
        let mut scores = Scores::default();
        let wanted = |i: usize| match want {
            Want::Rows(at) => at.contains(&i),
            Want::LogProbs => i + 1 < tokens.len(),
            Want::Top(_) => true,
        };
        let mut take = |i: usize, row: &[f32]| match want {
            Want::LogProbs => {
                if let Some(t) = tokens.get(i + 1) {
                    scores.logprobs.push(row[*t as usize] - log_sum_exp(row));
                }
            }
            Want::Top(k) => scores.top.push(top_logprobs(row, k)),
            Want::Rows(_) => scores.rows.extend_from_slice(row),
        };
        let mut leave = Leave::Rows(&wanted, &mut take);
        self.feed(s, tokens, &Cancel::default(), &mut leave, &mut |_| {})?;
        Ok(scores)
    }

    fn hidden(&mut self, s: &mut State, tokens: &[u32]) -> Result<Vec<f32>> {
        let mut out = Vec::new();
        self.feed(
            s,
            tokens,
            &Cancel::default(),
            &mut Leave::Hidden(&mut out),
            &mut |_| {},
        )?;
        Ok(out)
    }

    fn fork(&mut self, s: &State, at: usize) -> Result<State> {
        let mut new = self.state(s.sequence.fork(at))?;
        let end = new.sequence.position();
        Self::reserve(&self.gpu, &self.pool, &mut new, end)?;
        self.restore(&new)?;
        Ok(new)
    }

    fn export(&mut self, s: &State, pages: Range<usize>) -> Result<Vec<u8>> {
        let [cache, checkpoint] = self.memory.page;
        let mut out = Vec::new();
        for id in s.sequence.full(pages)? {
            let id = id as usize;
            for (from, len) in [
                (&self.memory.cache, cache),
                (&self.memory.checkpoints, checkpoint),
            ] {
                let values = self.gpu.download(from, id * len..(id + 1) * len)?;
                values.iter().for_each(|v| out.extend(v.to_le_bytes()));
            }
        }
        Ok(out)
    }

    fn import(&mut self, s: &mut State, bytes: &[u8]) -> Result<()> {
        let [cache, checkpoint] = self.memory.page;
        let len = 4 * (cache + checkpoint);
        let start = s.sequence.position();
        if !start.is_multiple_of(PAGE) || len == 0 || !bytes.len().is_multiple_of(len) {
            return Err(Error::Input(
                "saved pages do not fit this model or sequence".to_owned(),
            ));
        }
        let end = start + bytes.len() / len * PAGE;
        if end > self.context {
            return Err(Error::Input(
                "the saved session is longer than this context".to_owned(),
            ));
        }
        if let Err(e) = Self::reserve(&self.gpu, &self.pool, s, end) {
            s.sequence.settle(start, false);
            return Err(e);
        }
        for (i, page) in bytes.chunks_exact(len).enumerate() {
            let Some(id) = s.sequence.page(start + i * PAGE) else {
                break;
            };
            let values: Vec<f32> = page
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            let (kv, windows) = values.split_at(cache);
            self.gpu
                .upload(kv, &mut self.memory.cache, id as usize * cache)?;
            self.gpu.upload(
                windows,
                &mut self.memory.checkpoints,
                id as usize * checkpoint,
            )?;
        }
        s.sequence.settle(end, false);
        self.restore(s)
    }
}
