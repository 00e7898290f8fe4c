//! The weights on the device, in single precision, in one piece of memory.

use engine::{Error, Result};
use lfm2::config::{Config, FfnKind, LayerKind};
use lfm2::tensor::{FfnPart, LayerTensor, TensorId};
use lfm2::weights::WeightSource;

use crate::gpu::{Arg, Buffer, Gpu};

/// Most bytes of weights this edition takes.
const MOST: usize = 2 << 30;

/// What mixes tokens: addresses of its weights.
#[derive(Debug)]
pub(crate) enum Mixer {
    Conv {
        input: Arg,
        kernel: Arg,
        output: Arg,
    },
    Attention {
        q: Arg,
        k: Arg,
        v: Arg,
        q_norm: Arg,
        k_norm: Arg,
        output: Arg,
    },
}

/// What follows the mixer. Experts lie one behind the other.
#[derive(Debug)]
pub(crate) enum Ffn {
    Dense {
        gate: Arg,
        up: Arg,
        down: Arg,
    },
    Moe {
        router: Arg,
        bias: Arg,
        gate: Arg,
        up: Arg,
        down: Arg,
    },
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) operator_norm: Arg,
    pub(crate) mixer: Mixer,
    pub(crate) ffn_norm: Arg,
    pub(crate) ffn: Ffn,
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) config: Config,
    pub(crate) embedding: Arg,
    pub(crate) final_norm: Arg,
    pub(crate) layers: Vec<Layer>,
    // Keeps the addresses above alive.
    _memory: Buffer<f32>,
}

/// Weights of the model, counted layer by layer so that a hostile configuration cannot make us list more
/// than we would take.
fn count(c: &Config) -> Result<usize> {
    let mut n = 0_usize;
    for id in TensorId::walk(c) {
        let [rows, cols] = id.shape(c);
        n = n.saturating_add(rows.saturating_mul(cols));
        if n > MOST / 4 {
            return Err(Error::Input(format!(
                "the model needs more than {} GB in single precision, which is what this edition of the cuda \
                 backend takes: use --device cpu",
                MOST >> 30
            )));
        }
    }
    Ok(n)
}

struct Loader<'a> {
    source: &'a dyn WeightSource,
    gpu: &'a Gpu,
    memory: Buffer<f32>,
    used: usize,
}

impl Loader<'_> {
    fn put(&mut self, id: TensorId) -> Result<Arg> {
        let values = self.source.checked(id)?.to_f32();
        let at = self.used;
        self.gpu.upload(&values, &mut self.memory, at)?;
        self.used += values.len();
        Ok(self.memory.at(at))
    }

    fn layer(&mut self, c: &Config, i: usize) -> Result<Layer> {
        use LayerTensor as T;
        let id = |t: T| TensorId::Layer(i, t);
        Ok(Layer {
            operator_norm: self.put(id(T::OperatorNorm))?,
            mixer: match c.layers[i] {
                LayerKind::Conv => Mixer::Conv {
                    input: self.put(id(T::ConvIn))?,
                    kernel: self.put(id(T::ConvKernel))?,
                    output: self.put(id(T::ConvOut))?,
                },
                LayerKind::Attention => Mixer::Attention {
                    q: self.put(id(T::Query))?,
                    k: self.put(id(T::Key))?,
                    v: self.put(id(T::Value))?,
                    q_norm: self.put(id(T::QueryNorm))?,
                    k_norm: self.put(id(T::KeyNorm))?,
                    output: self.put(id(T::AttnOut))?,
                },
            },
            ffn_norm: self.put(id(T::FfnNorm))?,
            ffn: match c.ffn_kind(i) {
                FfnKind::Dense => Ffn::Dense {
                    gate: self.put(id(T::Dense(FfnPart::Gate)))?,
                    up: self.put(id(T::Dense(FfnPart::Up)))?,
                    down: self.put(id(T::Dense(FfnPart::Down)))?,
                },
                FfnKind::Moe => Ffn::Moe {
                    router: self.put(id(T::Router))?,
                    bias: if c.moe().use_expert_bias {
                        self.put(id(T::ExpertBias))?
                    } else {
                        Arg::NULL
                    },
                    gate: self.experts(c, i, FfnPart::Gate)?,
                    up: self.experts(c, i, FfnPart::Up)?,
                    down: self.experts(c, i, FfnPart::Down)?,
                },
            },
        })
    }

    fn experts(&mut self, c: &Config, i: usize, part: FfnPart) -> Result<Arg> {
        let first = self.used;
        for e in 0..c.moe().experts {
            self.put(TensorId::Layer(i, LayerTensor::Expert(part, e)))?;
        }
        Ok(self.memory.at(first))
    }
}

impl Model {
    /// Checks that the model fits this edition.
    pub(crate) fn check(c: &Config) -> Result<()> {
        count(c).map(|_| ())
    }

    /// Uploads every tensor; `progress` hears how many layers of how many are done.
    pub(crate) fn load(
        source: &dyn WeightSource,
        gpu: &Gpu,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self> {
        let config = source.config().clone();
        let mut load = Loader {
            source,
            gpu,
            memory: gpu.alloc(count(&config)?)?,
            used: 0,
        };
        let embedding = load.put(TensorId::Embedding)?;
        let n = config.layers.len();
        let mut layers = Vec::with_capacity(n);
        for i in 0..n {
            progress(i, n);
            layers.push(load.layer(&config, i)?);
        }
        let final_norm = load.put(TensorId::FinalNorm)?;
        gpu.wait()?;
        progress(n, n);
        Ok(Self {
            config,
            embedding,
            final_norm,
            layers,
            _memory: load.memory,
        })
    }
}
