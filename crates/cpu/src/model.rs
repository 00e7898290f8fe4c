//! The whole model in this backend's layout.

use engine::{Error, Result};
use lfm2::config::{Config, FfnKind, LayerKind};
use lfm2::tensor::{FfnPart, LayerTensor, TensorId};
use lfm2::weights::WeightSource;

use crate::pack::Matrix;
use crate::team::Team;

/// A SwiGLU block.
#[derive(Debug)]
pub struct Swiglu {
    /// `[width, hidden]`.
    pub gate: Matrix,
    /// `[width, hidden]`.
    pub up: Matrix,
    /// `[hidden, width]`.
    pub down: Matrix,
}

/// What mixes tokens.
#[derive(Debug)]
pub enum Mixer {
    /// Gated short convolution.
    Conv {
        /// `[3·hidden, hidden]`.
        input: Matrix,
        /// `[kernel, hidden]`: transposed, so that channels lie side by side.
        taps: Vec<f32>,
        /// `[hidden, hidden]`.
        output: Matrix,
    },
    /// Grouped-query attention.
    Attention {
        /// Query projection.
        q: Matrix,
        /// Key projection.
        k: Matrix,
        /// Value projection.
        v: Matrix,
        /// `[head_dim]`.
        q_norm: Vec<f32>,
        /// `[head_dim]`.
        k_norm: Vec<f32>,
        /// Output projection.
        output: Matrix,
    },
}

/// What follows the mixer.
#[derive(Debug)]
pub enum Ffn {
    /// One block for all tokens.
    Dense(Swiglu),
    /// Routed blocks.
    Moe {
        /// `[experts, hidden]`, single precision.
        router: Matrix,
        /// Selection bias, `[experts]`.
        bias: Option<Vec<f32>>,
        /// The blocks.
        experts: Vec<Swiglu>,
    },
}

/// One layer.
#[derive(Debug)]
pub struct Layer {
    /// RMS weight before the mixer.
    pub operator_norm: Vec<f32>,
    /// The mixer.
    pub mixer: Mixer,
    /// RMS weight before the feed-forward block.
    pub ffn_norm: Vec<f32>,
    /// The feed-forward block.
    pub ffn: Ffn,
}

/// The model.
#[derive(Debug)]
pub struct Model {
    /// Its configuration.
    pub config: Config,
    /// Embedding and output head.
    pub embedding: Matrix,
    /// The layers.
    pub layers: Vec<Layer>,
    /// Final RMS weight.
    pub final_norm: Vec<f32>,
}

impl Model {
    /// Packs every tensor of `source`; `progress` hears how many layers of how many are done.
    ///
    /// # Errors
    /// When a tensor cannot be read or holds unusable scales.
    pub fn load(
        source: &dyn WeightSource,
        team: &Team,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let config = source.config().clone();
        check(&config)?;
        let n = config.layers.len();
        let load = Loader { source, team };
        let embedding = load.matrix(TensorId::Embedding)?;
        let mut layers = Vec::with_capacity(n);
        for i in 0..n {
            progress(i, n);
            layers.push(load.layer(&config, i)?);
        }
        progress(n, n);
        Ok(Self {
            embedding,
            layers,
            final_norm: load.vector(TensorId::FinalNorm)?,
            config,
        })
    }

    /// Bytes of all matrices.
    pub fn bytes(&self) -> usize {
        let swiglu = |s: &Swiglu| s.gate.bytes() + s.up.bytes() + s.down.bytes();
        let layer = |l: &Layer| {
            (match &l.mixer {
                Mixer::Conv { input, output, .. } => input.bytes() + output.bytes(),
                Mixer::Attention {
                    q, k, v, output, ..
                } => q.bytes() + k.bytes() + v.bytes() + output.bytes(),
            }) + match &l.ffn {
                Ffn::Dense(s) => swiglu(s),
                Ffn::Moe {
                    router, experts, ..
                } => router.bytes() + experts.iter().map(swiglu).sum::<usize>(),
            }
        };
        self.embedding.bytes() + self.layers.iter().map(layer).sum::<usize>()
    }
}

/// What the kernels ask of a configuration beyond what the model crate checks.
fn check(c: &Config) -> Result<()> {
    if c.head_dim > 256 {
        return Err(Error::Input(format!(
            "head_dim is {}; the cpu backend runs up to 256",
            c.head_dim
        )));
    }
    let group = c.heads / c.kv_heads;
    if group > 64 {
        return Err(Error::Input(format!(
            "{group} query heads share a key/value head; the cpu backend runs up to 64"
        )));
    }
    Ok(())
}

struct Loader<'a> {
    source: &'a dyn WeightSource,
    team: &'a Team,
}

impl Loader<'_> {
    fn vector(&self, id: TensorId) -> Result<Vec<f32>> {
        Ok(self.source.checked(id)?.to_f32())
    }

    fn matrix(&self, id: TensorId) -> Result<Matrix> {
        let t = self.source.checked(id)?;
        Ok(Matrix::pack(&t, self.team))
    }

    fn layer(&self, c: &Config, i: usize) -> Result<Layer> {
        use LayerTensor as T;
        let id = |t: T| TensorId::Layer(i, t);
        let swiglu = |of: &dyn Fn(FfnPart) -> T| -> Result<Swiglu> {
            Ok(Swiglu {
                gate: self.matrix(id(of(FfnPart::Gate)))?,
                up: self.matrix(id(of(FfnPart::Up)))?,
                down: self.matrix(id(of(FfnPart::Down)))?,
            })
        };
        Ok(Layer {
            operator_norm: self.vector(id(T::OperatorNorm))?,
            mixer: match c.layers[i] {
                LayerKind::Conv => {
                    let k = self.vector(id(T::ConvKernel))?;
                    let taps = (0..c.conv_kernel)
                        .flat_map(|j| k.iter().skip(j).step_by(c.conv_kernel).copied())
                        .collect();
                    Mixer::Conv {
                        input: self.matrix(id(T::ConvIn))?,
                        taps,
                        output: self.matrix(id(T::ConvOut))?,
                    }
                }
                LayerKind::Attention => Mixer::Attention {
                    q: self.matrix(id(T::Query))?,
                    k: self.matrix(id(T::Key))?,
                    v: self.matrix(id(T::Value))?,
                    q_norm: self.vector(id(T::QueryNorm))?,
                    k_norm: self.vector(id(T::KeyNorm))?,
                    output: self.matrix(id(T::AttnOut))?,
                },
            },
            ffn_norm: self.vector(id(T::FfnNorm))?,
            ffn: match c.ffn_kind(i) {
                FfnKind::Dense => Ffn::Dense(swiglu(&T::Dense)?),
                FfnKind::Moe => Ffn::Moe {
                    router: Matrix::exact(&self.source.checked(id(T::Router))?),
                    bias: if c.moe().use_expert_bias {
                        Some(self.vector(id(T::ExpertBias))?)
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
}
