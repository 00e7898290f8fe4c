//! The plain forward pass, written to be read: the oracle every kernel is held against.
//!
//! One token stream, no batching, no cache layout, no reordering of sums beyond what the formulas say.
//! `T` is the number of tokens given, `H` the hidden size, `V` the vocabulary. Activations are rows.
//!
//! ```text
//! x = E[ids]
//! for each layer:  x += mixer(rms(x, operator_norm));  x += ffn(rms(x, ffn_norm))
//! logits = rms(x, final_norm) · Eᵀ
//! ```
//!
//! Source of the mathematics: the `lfm2` and `lfm2_moe` models of transformers 5.24; of the rounding
//! points of [`Numerics::MlxBf16`]: mlx-lm 0.32.2.

mod attention;
mod conv;
mod ffn;
mod numerics;
mod ops;
mod state;

pub use ffn::route;
pub use numerics::Numerics;
pub use state::State;

use crate::config::{Config, FfnKind, LayerKind};
use crate::error::{Error, Result};
use crate::tensor::{FfnPart, LayerTensor, TensorId};
use crate::weights::WeightSource;

/// A row-major `[rows, cols]` matrix in single precision.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// Outputs.
    pub rows: usize,
    /// Inputs.
    pub cols: usize,
    /// `rows · cols` values.
    pub data: Vec<f32>,
}

impl Matrix {
    /// Row `r`.
    pub fn row(&self, r: usize) -> &[f32] {
        &self.data[r * self.cols..][..self.cols]
    }

    fn load(source: &dyn WeightSource, id: TensorId) -> Result<Self> {
        let t = source.checked(id)?;
        Ok(Self {
            rows: t.rows,
            cols: t.cols,
            data: t.to_f32(),
        })
    }
}

/// A SwiGLU block's three matrices.
#[derive(Debug, Clone)]
struct Swiglu {
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

#[derive(Debug, Clone)]
enum Mixer {
    Conv {
        input: Matrix,
        kernel: Matrix,
        output: Matrix,
    },
    Attention {
        q: Matrix,
        k: Matrix,
        v: Matrix,
        q_norm: Matrix,
        k_norm: Matrix,
        output: Matrix,
    },
}

#[derive(Debug, Clone)]
enum Ffn {
    Dense(Swiglu),
    Moe {
        router: Matrix,
        bias: Option<Matrix>,
        experts: Vec<Swiglu>,
    },
}

#[derive(Debug, Clone)]
struct Layer {
    operator_norm: Matrix,
    mixer: Mixer,
    ffn_norm: Matrix,
    ffn: Ffn,
}

/// What a forward pass saw on its way, for tests that look inside.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Residual stream after the embedding and after each layer, `[T, H]` each.
    pub hidden: Vec<Vec<f32>>,
    /// Per MoE layer and token: the chosen experts, best score first, with their weights.
    pub routes: Vec<Vec<Vec<(usize, f32)>>>,
}

/// A whole model in single precision. Meant for models of up to about 100 M parameters: it keeps four
/// bytes a weight. Larger ones go through [`crate::oracle`].
#[derive(Debug, Clone)]
pub struct Reference {
    config: Config,
    numerics: Numerics,
    embedding: Matrix,
    layers: Vec<Layer>,
    final_norm: Matrix,
}

impl Reference {
    /// Dequantises every tensor of `source`.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn new(source: &dyn WeightSource) -> Result<Self> {
        let config = source.config().clone();
        let layers = (0..config.layers.len())
            .map(|i| layer(source, i))
            .collect::<Result<_>>()?;
        Ok(Self {
            numerics: Numerics::F32,
            embedding: Matrix::load(source, TensorId::Embedding)?,
            final_norm: Matrix::load(source, TensorId::FinalNorm)?,
            layers,
            config,
        })
    }

    /// The same model with other rounding points.
    #[must_use]
    pub fn with_numerics(mut self, numerics: Numerics) -> Self {
        self.numerics = numerics;
        self
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// An empty state.
    pub fn state(&self) -> State {
        State::new(&self.config)
    }

    /// Feeds `tokens` and returns their logits, `[T, V]`. Any split of a sequence into calls gives the
    /// same result.
    ///
    /// # Errors
    /// When a token is not in the vocabulary.
    pub fn forward(&self, state: &mut State, tokens: &[u32]) -> Result<Vec<f32>> {
        self.run(state, tokens, None)
    }

    /// [`Self::forward`] that also records the residual stream and the routes.
    ///
    /// # Errors
    /// When a token is not in the vocabulary.
    pub fn forward_traced(
        &self,
        state: &mut State,
        tokens: &[u32],
        trace: &mut Trace,
    ) -> Result<Vec<f32>> {
        self.run(state, tokens, Some(trace))
    }

    /// The final hidden states after the last norm, `[T, H]`.
    ///
    /// # Errors
    /// When a token is not in the vocabulary.
    pub fn hidden(&self, state: &mut State, tokens: &[u32]) -> Result<Vec<f32>> {
        let x = self.trunk(state, tokens, None)?;
        Ok(ops::rms_rows(
            self.numerics,
            &x,
            &self.final_norm,
            self.config.norm_eps,
        ))
    }

    fn run(
        &self,
        state: &mut State,
        tokens: &[u32],
        trace: Option<&mut Trace>,
    ) -> Result<Vec<f32>> {
        let x = self.trunk(state, tokens, trace)?;
        let h = ops::rms_rows(self.numerics, &x, &self.final_norm, self.config.norm_eps);
        Ok(ops::linear(self.numerics, &h, &self.embedding))
    }

    fn trunk(
        &self,
        state: &mut State,
        tokens: &[u32],
        mut trace: Option<&mut Trace>,
    ) -> Result<Vec<f32>> {
        let c = &self.config;
        let n = self.numerics;
        if let Some(bad) = tokens.iter().find(|t| **t as usize >= c.vocab_size) {
            return Err(Error::Input(format!(
                "token {bad} is outside the vocabulary of {} tokens",
                c.vocab_size
            )));
        }
        let mut x: Vec<f32> = tokens
            .iter()
            .flat_map(|t| self.embedding.row(*t as usize).iter().map(|v| n.round(*v)))
            .collect();
        if let Some(t) = trace.as_deref_mut() {
            t.hidden.push(x.clone());
        }
        for (i, layer) in self.layers.iter().enumerate() {
            let h = ops::rms_rows(n, &x, &layer.operator_norm, c.norm_eps);
            let y = match &layer.mixer {
                Mixer::Conv {
                    input,
                    kernel,
                    output,
                } => conv::forward(n, &h, input, kernel, output, &mut state.conv[i]),
                Mixer::Attention {
                    q,
                    k,
                    v,
                    q_norm,
                    k_norm,
                    output,
                } => attention::forward(
                    n,
                    c,
                    &h,
                    &attention::Weights {
                        q,
                        k,
                        v,
                        q_norm,
                        k_norm,
                        output,
                    },
                    state.position,
                    &mut state.kv[i],
                ),
            };
            ops::add(n, &mut x, &y);
            let h = ops::rms_rows(n, &x, &layer.ffn_norm, c.norm_eps);
            let y = match &layer.ffn {
                Ffn::Dense(block) => ffn::dense(n, &h, block),
                Ffn::Moe {
                    router,
                    bias,
                    experts,
                } => {
                    let (y, routes) = ffn::moe(
                        n,
                        c.moe(),
                        &h,
                        router,
                        bias.as_ref().map(|b| &b.data[..]),
                        experts,
                    );
                    if let Some(t) = trace.as_deref_mut() {
                        t.routes.push(routes);
                    }
                    y
                }
            };
            ops::add(n, &mut x, &y);
            if let Some(t) = trace.as_deref_mut() {
                t.hidden.push(x.clone());
            }
        }
        state.position += tokens.len();
        Ok(x)
    }
}

fn layer(source: &dyn WeightSource, i: usize) -> Result<Layer> {
    use LayerTensor as T;
    let c = source.config();
    let load = |t: T| Matrix::load(source, TensorId::Layer(i, t));
    let swiglu = |of: &dyn Fn(FfnPart) -> T| -> Result<Swiglu> {
        Ok(Swiglu {
            gate: load(of(FfnPart::Gate))?,
            up: load(of(FfnPart::Up))?,
            down: load(of(FfnPart::Down))?,
        })
    };
    Ok(Layer {
        operator_norm: load(T::OperatorNorm)?,
        mixer: match c.layers[i] {
            LayerKind::Conv => Mixer::Conv {
                input: load(T::ConvIn)?,
                kernel: load(T::ConvKernel)?,
                output: load(T::ConvOut)?,
            },
            LayerKind::Attention => Mixer::Attention {
                q: load(T::Query)?,
                k: load(T::Key)?,
                v: load(T::Value)?,
                q_norm: load(T::QueryNorm)?,
                k_norm: load(T::KeyNorm)?,
                output: load(T::AttnOut)?,
            },
        },
        ffn_norm: load(T::FfnNorm)?,
        ffn: match c.ffn_kind(i) {
            FfnKind::Dense => Ffn::Dense(swiglu(&T::Dense)?),
            FfnKind::Moe => Ffn::Moe {
                router: load(T::Router)?,
                bias: if c.moe().use_expert_bias {
                    Some(load(T::ExpertBias)?)
                } else {
                    None
                },
                experts: (0..c.moe().experts)
                    .map(|e| swiglu(&|p| T::Expert(p, e)))
                    .collect::<Result<_>>()?,
            },
        },
    })
}
