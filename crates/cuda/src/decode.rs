//! The device's half of decoding: one chain as launches, and what comes back of it.

use cudarc::driver::CudaEvent;
use engine::pages::PagePool;
use engine::sampler::{log_sum_exp, top_logprobs};
use engine::{MaskSource, Result, Sampler, Sampling};
use lfm2::config::Config;

use crate::backend::{Cuda, State};
use crate::chain::{Batch, Chains};
use crate::forward::{Memory, Pass, Scratch};
use crate::gpu::{Arg, Buffer, Gpu, Pinned};
use crate::model::Model;
use crate::source::{LAUNCH, sort_len};

/// Set in a count whose token was seen before (see `kernels/sample.cu`).
const SEEN: u32 = 0x8000_0000;

/// Logit rows there and here, one pair for each slot.
type Rows = ([Buffer<f32>; 2], [Pinned<f32>; 2]);

/// Where chains leave their tokens: two slots on the device and two here.
#[derive(Debug)]
pub(crate) struct Outputs {
    ids: [Buffer<u32>; 2],
    ids_here: [Pinned<u32>; 2],
    /// Behind the last copy into each slot. The wrapper's own event of page-locked memory is recorded only
    /// when it manages several streams; with one stream, reading early gives the chain before.
    arrived: [Option<CudaEvent>; 2],
    /// Logits before each step, only when log-probabilities are asked for.
    rows: Option<Rows>,
    top: Option<usize>,
    work: Buffer<f32>,
    odds: Buffer<f64>,
    order: Buffer<u32>,
}

impl Outputs {
    pub(crate) fn new(gpu: &Gpu, c: &Config) -> Result<Self> {
        Ok(Self {
            ids: [gpu.alloc(LAUNCH)?, gpu.alloc(LAUNCH)?],
            ids_here: [gpu.pinned(LAUNCH)?, gpu.pinned(LAUNCH)?],
            arrived: [None, None],
            rows: None,
            top: None,
            work: gpu.alloc(c.vocab_size)?,
            odds: gpu.alloc(sort_len(c))?,
            order: gpu.alloc(sort_len(c))?,
        })
    }

    /// Makes room for what the next decode brings back.
    pub(crate) fn prepare(&mut self, gpu: &Gpu, c: &Config, top: Option<usize>) -> Result<()> {
        self.top = top;
        if top.is_some() && self.rows.is_none() {
            let n = LAUNCH * c.vocab_size;
            self.rows = Some((
                [gpu.alloc(n)?, gpu.alloc(n)?],
                [gpu.pinned(n)?, gpu.pinned(n)?],
            ));
        }
        Ok(())
    }
}

/// One decode call.
pub(crate) struct Run<'a, 'm> {
    gpu: &'a Gpu,
    model: &'a Model,
    memory: &'a Memory,
    scratch: &'a Scratch,
    pool: &'a PagePool,
    out: &'a mut Outputs,
    state: &'a mut State,
    sampling: Sampling,
    stops: Buffer<u32>,
    stop_count: usize,
    /// Per token how often it was generated, with [`SEEN`]; only under penalties.
    counts: Option<Buffer<u32>>,
    biased: Buffer<u32>,
    bias: Buffer<f32>,
    bias_count: usize,
    mask: Option<&'m mut dyn MaskSource>,
    words: Vec<u32>,
    mask_there: Buffer<u32>,
    /// The position after everything enqueued so far.
    end: usize,
}

impl<'a, 'm> Run<'a, 'm> {
    pub(crate) fn new(
        gpu: &'a Gpu,
        model: &'a Model,
        memory: &'a Memory,
        scratch: &'a Scratch,
        pool: &'a PagePool,
        out: &'a mut Outputs,
        state: &'a mut State,
        sampler: &Sampler,
        stop: &[u32],
        mask: Option<&'m mut dyn MaskSource>,
    ) -> Result<Self> {
        let sampling = sampler.sampling().clone();
        let vocab = model.config.vocab_size;
        let counts = if sampling.has_penalties() {
            let mut counts = vec![0_u32; vocab];
            for (t, generated) in sampler.history() {
                if let Some(c) = counts.get_mut(t as usize) {
                    *c = generated | SEEN;
                }
            }
            Some(gpu.uploaded(&counts)?)
        } else {
            None
        };
        let (biased, bias): (Vec<u32>, Vec<f32>) = sampling
            .logit_bias
            .iter()
            .filter(|(t, _)| (*t as usize) < vocab)
            .copied()
            .unzip();
        let words = vocab.div_ceil(32);
        Ok(Self {
            stops: gpu.uploaded(stop)?,
            stop_count: stop.len(),
            counts,
            biased: gpu.uploaded(&biased)?,
            bias: gpu.uploaded(&bias)?,
            bias_count: bias.len(),
            mask_there: gpu.alloc(if mask.is_some() { words } else { 1 })?,
            words: vec![0; words],
            mask,
            end: state.sequence.position(),
            sampling,
            gpu,
            model,
            memory,
            scratch,
            pool,
            out,
            state,
        })
    }

    fn sample(&self, slot: usize, step: usize, masked: bool) -> Result<()> {
        let s = &self.sampling;
        let cut = if s.min_p > 0.0 { s.min_p } else { 1e-9 };
        let or_null = |has: bool, at: Arg| if has { at } else { Arg::NULL };
        let args = [
            self.scratch.control.start(),
            self.state.logits.start(),
            self.out.work.start(),
            self.out.odds.start(),
            self.out.order.start(),
            self.out.ids[slot].at(step),
            self.stops.start(),
            Arg::I32(self.stop_count as i32),
            or_null(masked, self.mask_there.start()),
            self.counts.as_ref().map_or(Arg::NULL, Buffer::start),
            self.biased.start(),
            self.bias.start(),
            Arg::I32(self.bias_count as i32),
            Arg::F32(s.repetition_penalty),
            Arg::F32(s.presence_penalty),
            Arg::F32(s.frequency_penalty),
            Arg::F32(s.temperature),
            Arg::F32(cut.ln() * s.temperature),
            Arg::I32(s.top_k.min(i32::MAX as usize) as i32),
            Arg::F32(s.top_p),
            Arg::U64(s.seed),
        ];
        self.gpu.launch("sample", [1, 1, 1], 1024, &args)
    }
}

impl Chains for Run<'_, '_> {
    fn enqueue(&mut self, slot: usize, steps: usize) -> Result<()> {
        let masked = match &mut self.mask {
            Some(m) => m.mask(&mut self.words)?,
            None => false,
        };
        if masked {
            self.gpu.upload(&self.words, &mut self.mask_there, 0)?;
        }
        Cuda::reserve(self.gpu, self.pool, self.state, self.end + steps)?;
        let vocab = self.model.config.vocab_size;
        for step in 0..steps {
            if let (Some(_), Some((rows, _))) = (self.out.top, &mut self.out.rows) {
                self.gpu
                    .copy(&self.state.logits, vocab, &mut rows[slot], step * vocab)?;
            }
            self.sample(slot, step, masked)?;
            let pass = Pass {
                gpu: self.gpu,
                model: self.model,
                memory: self.memory,
                scratch: self.scratch,
                ring: self.state.ring.start(),
                pages: self.state.pages.start(),
                tokens: 1,
            };
            pass.trunk(self.scratch.sampled())?;
            pass.hidden()?;
            pass.logits(0, 1, self.state.logits.start())?;
            self.gpu
                .launch("advance", [1, 1, 1], 1, &[self.scratch.control.start()])?;
        }
        self.gpu
            .fetch(&self.out.ids[slot], 0..steps, &mut self.out.ids_here[slot])?;
        if let (Some(_), Some((rows, here))) = (self.out.top, &mut self.out.rows) {
            self.gpu
                .fetch(&rows[slot], 0..steps * vocab, &mut here[slot])?;
        }
        self.out.arrived[slot] = Some(self.gpu.mark()?);
        self.end += steps;
        Ok(())
    }

    fn collect(&mut self, slot: usize, steps: usize) -> Result<Batch> {
        if let Some(mark) = self.out.arrived[slot].take() {
            self.gpu.reach(&mark)?;
        }
        let ids = self.gpu.fetched(&self.out.ids_here[slot])?;
        let mut batch = Batch::read(&ids[..steps]);
        if let (Some(k), Some((_, here))) = (self.out.top, &self.out.rows) {
            let rows = self.gpu.fetched(&here[slot])?;
            for (t, row) in batch
                .tokens
                .iter_mut()
                .zip(rows.chunks_exact(self.model.config.vocab_size))
            {
                t.logprob = Some(row[t.id as usize] - log_sum_exp(row));
                t.top = top_logprobs(row, k);
            }
        }
        if let Some(m) = &mut self.mask
            && let Some(id) = batch.tokens.first().map(|t| t.id).or(batch.stop)
        {
            m.accept(id)?;
        }
        Ok(batch)
    }
}
