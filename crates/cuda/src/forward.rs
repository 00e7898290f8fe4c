//! The forward pass of up to 64 tokens, as launches.

use engine::{PAGE, Result};
use lfm2::config::{Config, LayerKind};

use crate::gpu::{Arg, Buffer, Gpu};
use crate::model::{Ffn, Layer, Mixer, Model};

/// Activations of one launch, overwritten by the next.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// What steps tell each other: `Control` in `kernels/common.cuh`, as words.
    pub(crate) control: Buffer<u32>,
    /// Token ids of a prefill chunk.
    pub(crate) ids: Buffer<u32>,
    x: Buffer<f32>,
    h: Buffer<f32>,
    wide: Buffer<f32>,
    wide2: Buffer<f32>,
    k: Buffer<f32>,
    v: Buffer<f32>,
    scores: Buffer<f32>,
    chosen: Buffer<u32>,
    weight: Buffer<f32>,
    /// Logits of a whole chunk, for `score`.
    pub(crate) rows: Buffer<f32>,
}

impl Scratch {
    pub(crate) fn new(gpu: &Gpu, c: &Config, context: usize) -> Result<Self> {
        let (experts, chosen, width) = c
            .moe
            .as_ref()
            .map_or((0, 0, 0), |m| (m.experts, m.experts_per_token, m.width));
        let wide = (3 * c.hidden_size)
            .max(c.heads * c.head_dim)
            .max(c.ffn_size)
            .max(chosen * width)
            .max(experts);
        Ok(Self {
            control: gpu.alloc(8)?,
            ids: gpu.alloc(PAGE)?,
            x: gpu.alloc(PAGE * c.hidden_size)?,
            h: gpu.alloc(PAGE * c.hidden_size)?,
            wide: gpu.alloc(PAGE * wide)?,
            wide2: gpu.alloc(PAGE * wide)?,
            k: gpu.alloc(PAGE * c.kv_heads * c.head_dim)?,
            v: gpu.alloc(PAGE * c.kv_heads * c.head_dim)?,
            scores: gpu.alloc(PAGE * c.heads * context.next_multiple_of(PAGE))?,
            chosen: gpu.alloc(PAGE * chosen)?,
            weight: gpu.alloc(PAGE * chosen)?,
            rows: gpu.alloc(PAGE * c.vocab_size)?,
        })
    }

    /// The token sampled last: what the next step of decode embeds.
    pub(crate) fn sampled(&self) -> Arg {
        self.control.at(2)
    }
}

/// The memory behind page ids.
#[derive(Debug)]
pub(crate) struct Memory {
    /// `[pages, attention layers, keys and values, 64, kv_heads · head_dim]`.
    pub(crate) cache: Buffer<f32>,
    /// `[pages, conv layers, taps − 1, hidden]`.
    pub(crate) checkpoints: Buffer<f32>,
    /// Numbers of one page in each.
    pub(crate) page: [usize; 2],
}

impl Memory {
    pub(crate) fn new(gpu: &Gpu, c: &Config, pages: usize) -> Result<Self> {
        let page = [
            c.count_layers(LayerKind::Attention) * 2 * PAGE * c.kv_heads * c.head_dim,
            c.count_layers(LayerKind::Conv) * (c.conv_kernel - 1) * c.hidden_size,
        ];
        Ok(Self {
            cache: gpu.alloc(pages * page[0])?,
            checkpoints: gpu.alloc(pages * page[1])?,
            page,
        })
    }
}

/// One forward pass: where its operands lie.
pub(crate) struct Pass<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) model: &'a Model,
    pub(crate) memory: &'a Memory,
    pub(crate) scratch: &'a Scratch,
    /// The sequence's conv ring.
    pub(crate) ring: Arg,
    /// The sequence's page table.
    pub(crate) pages: Arg,
    /// Tokens in this pass.
    pub(crate) tokens: usize,
}

impl Pass<'_> {
    fn go(&self, kernel: &'static str, grid: [usize; 3], block: u32, args: &[Arg]) -> Result<()> {
        let mut all = vec![self.scratch.control.start()];
        all.extend_from_slice(args);
        self.gpu.launch(kernel, grid, block, &all)
    }

    /// `y (+)= x · wᵀ` of `rows` outputs.
    fn linear(&self, kernel: &'static str, rows: usize, w: Arg, x: Arg, y: Arg) -> Result<()> {
        self.go(kernel, [rows.div_ceil(8), self.tokens, 1], 256, &[w, x, y])
    }

    fn norm(&self, w: Arg) -> Result<()> {
        let s = self.scratch;
        self.go(
            "rms_norm",
            [1, self.tokens, 1],
            256,
            &[w, s.x.start(), s.h.start()],
        )
    }

    /// Everything up to the residual stream after the last layer. `ids` are on the device.
    pub(crate) fn trunk(&self, ids: Arg) -> Result<()> {
        let s = self.scratch;
        self.go(
            "embed",
            [1, self.tokens, 1],
            256,
            &[self.model.embedding, ids, s.x.start()],
        )?;
        let (mut convs, mut attentions) = (0, 0);
        for layer in &self.model.layers {
            self.norm(layer.operator_norm)?;
            match &layer.mixer {
                Mixer::Conv {
                    input,
                    kernel,
                    output,
                } => {
                    self.conv(convs, *input, *kernel, *output)?;
                    convs += 1;
                }
                Mixer::Attention { .. } => {
                    self.attention(attentions, layer)?;
                    attentions += 1;
                }
            }
            self.norm(layer.ffn_norm)?;
            self.ffn(&layer.ffn)?;
        }
        Ok(())
    }

    fn conv(&self, layer: i32, input: Arg, kernel: Arg, output: Arg) -> Result<()> {
        let (s, h) = (self.scratch, self.model.config.hidden_size);
        self.linear("conv_in", 3 * h, input, s.h.start(), s.wide.start())?;
        let args = [
            s.wide.start(),
            kernel,
            self.ring,
            self.memory.checkpoints.start(),
            self.pages,
            s.wide2.start(),
            Arg::I32(layer),
            Arg::I32(self.tokens as i32),
        ];
        self.go("conv", [h.div_ceil(64), 1, 1], 64, &args)?;
        self.linear("conv_out_add", h, output, s.wide2.start(), s.x.start())
    }

    fn attention(&self, index: i32, layer: &Layer) -> Result<()> {
        let Mixer::Attention {
            q,
            k,
            v,
            q_norm,
            k_norm,
            output,
        } = &layer.mixer
        else {
            return Ok(());
        };
        let (s, c) = (self.scratch, &self.model.config);
        let kv = c.kv_heads * c.head_dim;
        self.linear(
            "project_q",
            c.heads * c.head_dim,
            *q,
            s.h.start(),
            s.wide.start(),
        )?;
        self.linear("project_kv", kv, *k, s.h.start(), s.k.start())?;
        self.linear("project_kv", kv, *v, s.h.start(), s.v.start())?;
        let cache = self.memory.cache.start();
        let args = [
            s.wide.start(),
            s.k.start(),
            s.v.start(),
            *q_norm,
            *k_norm,
            cache,
            self.pages,
            Arg::I32(index),
        ];
        self.go("rotate", [c.heads + c.kv_heads, self.tokens, 1], 32, &args)?;
        let args = [
            s.wide.start(),
            cache,
            self.pages,
            s.scores.start(),
            s.wide2.start(),
            Arg::I32(index),
        ];
        self.go("attend", [c.heads, self.tokens, 1], 128, &args)?;
        self.linear(
            "attention_out_add",
            c.hidden_size,
            *output,
            s.wide2.start(),
            s.x.start(),
        )
    }

    fn ffn(&self, ffn: &Ffn) -> Result<()> {
        let (s, c) = (self.scratch, &self.model.config);
        match ffn {
            Ffn::Dense { gate, up, down } => {
                self.linear("ffn_up", c.ffn_size, *gate, s.h.start(), s.wide.start())?;
                self.linear("ffn_up", c.ffn_size, *up, s.h.start(), s.wide2.start())?;
                let grid = [c.ffn_size.div_ceil(256), self.tokens, 1];
                self.go("swiglu", grid, 256, &[s.wide.start(), s.wide2.start()])?;
                self.linear(
                    "ffn_down_add",
                    c.hidden_size,
                    *down,
                    s.wide.start(),
                    s.x.start(),
                )
            }
            Ffn::Moe {
                router,
                bias,
                gate,
                up,
                down,
            } => {
                let (m, chosen, weight) = (c.moe(), s.chosen.start(), s.weight.start());
                self.linear("router", m.experts, *router, s.h.start(), s.wide.start())?;
                self.go(
                    "route",
                    [1, self.tokens, 1],
                    1,
                    &[s.wide.start(), *bias, chosen, weight],
                )?;
                let grid = [m.width.div_ceil(8), m.experts_per_token, self.tokens];
                self.go(
                    "experts_up",
                    grid,
                    256,
                    &[*gate, *up, chosen, s.h.start(), s.wide2.start()],
                )?;
                let args = [*down, chosen, weight, s.wide2.start(), s.x.start()];
                self.go(
                    "experts_down_add",
                    [c.hidden_size.div_ceil(8), self.tokens, 1],
                    256,
                    &args,
                )
            }
        }
    }

    /// The hidden states after the final norm.
    pub(crate) fn hidden(&self) -> Result<&Buffer<f32>> {
        self.norm(self.model.final_norm)?;
        Ok(&self.scratch.h)
    }

    /// The logits of `n` tokens from `first` on, after [`Self::hidden`].
    pub(crate) fn logits(&self, first: usize, n: usize, to: Arg) -> Result<()> {
        let c = &self.model.config;
        let x = self.scratch.h.start().plus(first * c.hidden_size);
        let grid = [c.vocab_size.div_ceil(8), n, 1];
        self.go("head", grid, 256, &[self.model.embedding, x, to])
    }
}
