//! The forward pass: chunks of a prompt here, single decoded tokens in `step`.

mod activations;
mod attention;
mod conv;
mod ffn;
mod matmul;
pub(crate) mod step;

use engine::{Cancel, Result};
use lfm2::config::Config;

use crate::Isa;
use crate::kernels::rows;
use crate::model::{Layer, Mixer, Model};
use crate::state::{Memory, State};
use crate::team::Team;
use activations::Activations;
use matmul::{Job, matmul};

/// Most tokens of a chunk: enough that each of 64 experts meets 32 of them, few enough that the scratch of the
/// 24B stays below 200 MB.
pub(crate) const CHUNK: usize = 512;

/// What every operator needs.
pub(crate) struct Context<'a> {
    pub(crate) team: &'a Team,
    pub(crate) isa: Isa,
    pub(crate) precision: Precision,
}

/// How activations meet quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Eight bits per activation, a scale per 32: as llama.cpp does.
    Eight,
    /// Fifteen bits and a sign in two eight-bit terms: products as good as in half precision.
    #[default]
    Sixteen,
}

impl Precision {
    /// Eight-bit terms per activation.
    pub(crate) fn terms(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
        }
    }

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eight => "int8",
            Self::Sixteen => "int16",
        }
    }

    /// The precision called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Eight, Self::Sixteen]
            .into_iter()
            .find(|p| p.name() == name)
    }
}

/// Buffers kept between calls. `T` is the chunk's length.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Residual stream `[T, hidden]`.
    x: Vec<f32>,
    /// The operator's input, with its quantised form.
    input: Activations,
    /// A second one, for the inner product of a block.
    inner: Activations,
    /// Results of the first product of a block.
    wide: Vec<f32>,
    /// More of them (`up`, keys).
    wide2: Vec<f32>,
    /// More of them (values).
    wide3: Vec<f32>,
    /// Results of the last product of a block.
    narrow: Vec<f32>,
    /// Conv windows with the chunk's gated inputs behind them.
    gated: Vec<f32>,
    /// Conv windows after each of `marks`, committed only when the whole chunk is done.
    windows: Vec<Vec<f32>>,
    /// Tokens of the chunk after which windows are kept: where a page ends, and at the end.
    marks: Vec<usize>,
    /// cos and sin, `[T, head_dim / 2]` each.
    rope: (Vec<f32>, Vec<f32>),
    routing: ffn::Routing,
    buffers: matmul::Buffers,
    /// Those of single tokens.
    pub(crate) step: step::Buffers,
}

/// Which logits a chunk should leave.
pub(crate) enum Wanted<'a> {
    /// None: more prefill follows.
    Nothing,
    /// Of the tokens at these indices of the chunk.
    Rows(&'a [usize]),
    /// The final hidden states of all tokens instead of logits.
    Hidden,
}

/// Resizes without caring for the contents.
fn fit(v: &mut Vec<f32>, len: usize) -> &mut [f32] {
    v.resize(len, 0.0);
    v
}

/// Feeds `tokens` (one to [`CHUNK`], not crossing a multiple of it) and advances `state`. Returns `None`, with
/// `state` unchanged, when `cancel` came up between two layers; else the wanted rows.
pub(crate) fn chunk(
    cx: &Context<'_>,
    model: &Model,
    memory: &mut Memory,
    state: &mut State,
    s: &mut Scratch,
    tokens: &[u32],
    wanted: &Wanted<'_>,
    cancel: &Cancel,
) -> Result<Option<Vec<f32>>> {
    let c = &model.config;
    let t = tokens.len();
    memory.reserve(state, state.position + t)?;
    fit(&mut s.x, t * c.hidden_size);
    cx.team.for_chunks(&mut s.x, c.hidden_size, |i, row| {
        model.embedding.row_f32(tokens[i] as usize, row);
    });
    attention::rope_table(c, state.position, t, &mut s.rope);
    s.marks.clear();
    s.marks
        .extend((1..=t).filter(|i| *i == t || (state.position + i).is_multiple_of(engine::PAGE)));
    s.windows.resize_with(s.marks.len(), Vec::new);
    s.windows.iter_mut().for_each(Vec::clear);
    let mut mixers = (0, 0);
    for layer in &model.layers {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        block(cx, c, memory, state, s, layer, t, &mut mixers);
    }
    let first = state.position;
    for (mark, windows) in s.marks.iter().zip(&s.windows) {
        state.windows.copy_from_slice(windows);
        state.position = first + mark;
        if state.position.is_multiple_of(engine::PAGE) {
            memory.checkpoint(state);
        }
    }
    Ok(Some(finish(cx, model, s, wanted)))
}

/// One layer; `mixers` counts the conv and attention layers so far.
fn block(
    cx: &Context<'_>,
    c: &Config,
    memory: &mut Memory,
    state: &State,
    s: &mut Scratch,
    layer: &Layer,
    t: usize,
    mixers: &mut (usize, usize),
) {
    s.input.norm(cx, &s.x, &layer.operator_norm, c.norm_eps);
    match &layer.mixer {
        Mixer::Conv {
            input,
            taps,
            output,
        } => {
            conv::forward(cx, c, s, state, mixers.0, input, taps, output, t);
            mixers.0 += 1;
        }
        Mixer::Attention {
            q,
            k,
            v,
            q_norm,
            k_norm,
            output,
        } => {
            let w = attention::Weights {
                q,
                k,
                v,
                q_norm,
                k_norm,
                output,
            };
            attention::forward(cx, c, s, memory, state, mixers.1, &w, t);
            mixers.1 += 1;
        }
    }
    add(cx, &mut s.x, &s.narrow);
    s.input.norm(cx, &s.x, &layer.ffn_norm, c.norm_eps);
    ffn::forward(cx, c, s, &layer.ffn, t);
}

/// `x += y`.
fn add(cx: &Context<'_>, x: &mut [f32], y: &[f32]) {
    cx.team.for_chunks(x, 1024, |i, x| {
        for (x, y) in x.iter_mut().zip(&y[i * 1024..]) {
            *x += y;
        }
    });
}

fn finish(cx: &Context<'_>, model: &Model, s: &mut Scratch, wanted: &Wanted<'_>) -> Vec<f32> {
    let h = model.config.hidden_size;
    let eps = model.config.norm_eps;
    match wanted {
        Wanted::Nothing => Vec::new(),
        Wanted::Hidden => {
            let mut out = vec![0.0; s.x.len()];
            for (o, x) in out.chunks_exact_mut(h).zip(s.x.chunks_exact(h)) {
                rows::rms(cx.isa, x, &model.final_norm, eps, o);
            }
            out
        }
        Wanted::Rows(at) => {
            let x: Vec<f32> = at
                .iter()
                .flat_map(|i| &s.x[i * h..][..h])
                .copied()
                .collect();
            s.input.norm(cx, &x, &model.final_norm, eps);
            let mut logits = vec![0.0; at.len() * model.config.vocab_size];
            matmul(
                cx,
                &mut s.buffers,
                &mut [Job::all(&model.embedding, &s.input, &mut logits)],
            );
            logits
        }
    }
}
