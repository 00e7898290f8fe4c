//! How large the weights of each tensor are. The reasons are in `docs/synth.md`.

use super::rng::Stream;
use crate::config::Config;
use crate::tensor::{FfnPart, LayerTensor, TensorId};

/// What a synthetic model is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Names the model among those of its configuration.
    pub seed: u64,
    /// Spread of the lengths of embedding rows (of their logarithm): more makes the gap between the best
    /// two logits wider.
    pub row_spread: f64,
    /// Standard deviation of the experts' selection bias: more makes routing more skewed.
    pub expert_skew: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 0,
            row_spread: 0.35,
            expert_skew: 0.2,
        }
    }
}

/// Standard deviation of `q − 8` where codes 1 to 15 have one chance in 16 and code 8 two.
const CODE_DEVIATION: f64 = 4.183_300_132_670_378;

/// Standard deviation of the weights of a matrix.
fn deviation(c: &Config, id: TensorId) -> f64 {
    let [_, fan_in] = id.shape(c);
    let unit = 1.0 / (fan_in as f64).sqrt();
    // Each of the 2n branches adds so much that together they have unit size.
    let branch = unit / (2.0 * c.layers.len() as f64).sqrt();
    let TensorId::Layer(_, t) = id else {
        // Logits of standard deviation about 1.5; far smaller than the branches, whose work decides them.
        return 1.5 * unit;
    };
    match t {
        LayerTensor::ConvOut => branch,
        // Attention averages its values, and experts are averaged too; this undoes it, roughly.
        LayerTensor::AttnOut => 2.0 * branch,
        LayerTensor::Dense(FfnPart::Down) => branch / 0.6,
        LayerTensor::Expert(FfnPart::Down, _) => 2.0 * branch / 0.6,
        LayerTensor::Router => 1.5 * unit,
        _ => unit,
    }
}

/// A row's scales: `s = 2^exponent · (16 to 31)`, one per group of [`GROUP`] columns.
pub(super) struct RowScale {
    pub(super) exponent: i32,
    /// The wanted scale divided by `2^exponent`, between 16 and 32.
    mantissa: f64,
    jitter: Stream,
    first: u64,
}

/// Columns that share a scale. Every format's groups divide it, or share its exponent (super-blocks).
pub(super) const GROUP: usize = 128;

impl RowScale {
    /// The scale of columns `GROUP·g..`, in units of `2^exponent`; it wavers by up to two around the row's.
    pub(super) fn units(&self, g: usize) -> u32 {
        let waver = 4.0 * self.jitter.uniform(self.first + g as u64) - 1.5;
        ((self.mantissa + waver).floor() as u32).clamp(16, 31)
    }
}

/// Scales of the rows of one matrix.
pub(super) struct MatrixScale {
    scale: f64,
    spread: f64,
    lengths: Stream,
    jitter: Stream,
    groups: u64,
}

impl MatrixScale {
    pub(super) fn new(c: &Config, recipe: &Recipe, id: TensorId) -> Self {
        let name = name(id);
        Self {
            scale: deviation(c, id) / CODE_DEVIATION,
            spread: if id == TensorId::Embedding {
                recipe.row_spread
            } else {
                0.0
            },
            lengths: Stream::new(recipe.seed, name + LENGTHS),
            jitter: Stream::new(recipe.seed, name + JITTER),
            groups: id.shape(c)[1].div_ceil(GROUP) as u64,
        }
    }

    pub(super) fn row(&self, r: usize) -> RowScale {
        let mut s = self.scale;
        if self.spread > 0.0 {
            s *= super::rng::exp(self.spread * self.lengths.normal(r as u64));
        }
        // Below 2^-18 the smallest of the formats' 16-bit floats would round.
        let mut exponent = -18;
        while s >= exact_power(exponent) * 32.0 {
            exponent += 1;
        }
        RowScale {
            exponent,
            mantissa: s / exact_power(exponent),
            jitter: self.jitter,
            first: r as u64 * self.groups,
        }
    }
}

/// `2^e`, exact.
pub(super) fn exact_power(e: i32) -> f64 {
    if e < 0 {
        1.0 / (1_u64 << -e) as f64
    } else {
        (1_u64 << e) as f64
    }
}

/// Streams of one tensor, by offset from its [`name`].
pub(super) const CODES: u64 = 0;
const LENGTHS: u64 = 1;
const JITTER: u64 = 2;
const VECTOR: u64 = 3;

/// A number for each tensor of any model, with room for four streams.
pub(super) fn name(id: TensorId) -> u64 {
    let part = |p: FfnPart| match p {
        FfnPart::Gate => 0,
        FfnPart::Up => 1,
        FfnPart::Down => 2,
    };
    let (layer, role, expert) = match id {
        TensorId::Embedding => (0, 0, 0),
        TensorId::FinalNorm => (0, 1, 0),
        TensorId::Layer(i, t) => {
            let (role, expert) = match t {
                LayerTensor::OperatorNorm => (2, 0),
                LayerTensor::FfnNorm => (3, 0),
                LayerTensor::ConvIn => (4, 0),
                LayerTensor::ConvKernel => (5, 0),
                LayerTensor::ConvOut => (6, 0),
                LayerTensor::Query => (7, 0),
                LayerTensor::Key => (8, 0),
                LayerTensor::Value => (9, 0),
                LayerTensor::AttnOut => (10, 0),
                LayerTensor::QueryNorm => (11, 0),
                LayerTensor::KeyNorm => (12, 0),
                LayerTensor::Router => (13, 0),
                LayerTensor::ExpertBias => (14, 0),
                LayerTensor::Dense(p) => (16 + part(p), 0),
                LayerTensor::Expert(p, e) => (20 + part(p), e as u64),
            };
            (i as u64 + 1, role, expert)
        }
    };
    (layer << 40 | role << 32 | expert << 8) + CODES
}

/// Element `i` of a vector or of a conv kernel: a multiple of 1/128 below 2, so exact in every float type
/// (the selection bias, always F32, in steps of 1/4096).
pub(super) fn element(recipe: &Recipe, id: TensorId, i: usize) -> f32 {
    let stream = Stream::new(recipe.seed, name(id) + VECTOR);
    let n = stream.normal(i as u64);
    let around = |mean: f64| mean * (1.0 + 0.1 * n);
    let v = match id {
        // Random signs untie the head from the embedding: else the token just read would win.
        TensorId::FinalNorm if stream.word(u64::MAX / 2 + i as u64) & 1 == 1 => -around(1.0),
        TensorId::Layer(_, LayerTensor::QueryNorm) => around(1.6),
        TensorId::Layer(_, LayerTensor::KeyNorm) => around(1.2),
        TensorId::Layer(_, LayerTensor::ConvKernel) => n * 0.577,
        TensorId::Layer(_, LayerTensor::ExpertBias) => {
            return ((n * recipe.expert_skew * 4096.0).round() / 4096.0) as f32;
        }
        _ => around(1.0),
    };
    ((v * 128.0).round().clamp(-255.0, 255.0) / 128.0) as f32
}
