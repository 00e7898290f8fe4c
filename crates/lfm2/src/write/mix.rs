//! Which tensor is stored how.

use super::Target;
use super::storage::Storage;
use crate::config::{Config, FfnKind, LayerKind, Quantization, QuantizationConfig};
use crate::quant::{FloatType, KQuant};
use crate::safetensors::module_names;
use crate::tensor::{FfnPart, LayerTensor, TensorId};

/// GGUF file types, with llama.cpp's choice of type per tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Everything F32.
    F32,
    /// Matrices F16.
    F16,
    /// Matrices BF16.
    Bf16,
    /// Matrices Q4_0, embedding Q6_K.
    Q4_0,
    /// Matrices Q8_0.
    Q8_0,
    /// Matrices Q4_K; embedding and part of `ffn_down` and `attn_v` Q6_K.
    Q4KM,
    /// Matrices Q5_K; embedding and part of `ffn_down` and `attn_v` Q6_K.
    Q5KM,
    /// Matrices Q6_K.
    Q6K,
}

impl Mix {
    /// Every mix.
    pub const ALL: [Self; 8] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4_0,
        Self::Q8_0,
        Self::Q4KM,
        Self::Q5KM,
        Self::Q6K,
    ];

    /// The name users know.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q8_0 => "Q8_0",
            Self::Q4KM => "Q4_K_M",
            Self::Q5KM => "Q5_K_M",
            Self::Q6K => "Q6_K",
        }
    }

    /// The mix called `name`, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|m| m.name().eq_ignore_ascii_case(name))
    }

    /// `general.file_type`.
    pub(super) fn file_type(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q8_0 => 7,
            Self::Q4KM => 15,
            Self::Q5KM => 17,
            Self::Q6K => 18,
            Self::Bf16 => 32,
        }
    }
}

/// The rules mlx-lm's converter writes: `default` everywhere, routers at 8 bits in groups of 64.
pub fn mlx_rules(config: &Config, default: Quantization) -> QuantizationConfig {
    let router = Quantization { bits: 8, group: 64 };
    let modules = (0..config.layers.len())
        .filter(|i| config.ffn_kind(*i) == FfnKind::Moe)
        .map(|i| (format!("model.layers.{i}.feed_forward.gate"), Some(router)))
        .collect();
    QuantizationConfig { default, modules }
}

pub(super) fn storage(target: &Target, config: &Config, id: TensorId) -> Storage {
    let is_bias = matches!(id, TensorId::Layer(_, LayerTensor::ExpertBias));
    let cols = id.shape(config)[1];
    match target {
        _ if is_bias => Storage::Float(FloatType::F32),
        Target::HuggingFace { float, .. } => Storage::Float(*float),
        Target::Mlx {
            quantization,
            float,
        } => {
            let (module, _) = module_names(config, id, true);
            match quantization.for_module(&module) {
                Some(q) if id.is_matrix() && cols.is_multiple_of(q.group) => Storage::Affine {
                    bits: q.bits,
                    group: q.group,
                    float: *float,
                },
                _ => Storage::Float(*float),
            }
        }
        Target::Gguf(mix) => gguf(*mix, config, id, cols),
    }
}

fn gguf(mix: Mix, config: &Config, id: TensorId, cols: usize) -> Storage {
    let f32 = Storage::Float(FloatType::F32);
    if !id.is_matrix() || matches!(id, TensorId::Layer(_, LayerTensor::Router)) {
        return f32;
    }
    let want = match mix {
        Mix::F32 => return f32,
        Mix::F16 => return Storage::Float(FloatType::F16),
        Mix::Bf16 => return Storage::Float(FloatType::Bf16),
        Mix::Q8_0 => Storage::Q8_0,
        _ if id == TensorId::Embedding => Storage::K(KQuant::Q6K),
        Mix::Q4_0 => Storage::Q4_0,
        Mix::Q6K => Storage::K(KQuant::Q6K),
        Mix::Q4KM | Mix::Q5KM if gets_more(config, id) => Storage::K(KQuant::Q6K),
        Mix::Q4KM => Storage::K(KQuant::Q4K),
        Mix::Q5KM => Storage::K(KQuant::Q5K),
    };
    // Rows that do not fill super-blocks (no released member has any) get the next type that fits.
    match want {
        s if cols.is_multiple_of(s.block()) => s,
        _ if cols.is_multiple_of(32) => Storage::Q8_0,
        _ => Storage::Float(FloatType::F16),
    }
}

/// Tensors that the "M" mixes store at 6 bits: the down projections and values of the first and last
/// eighth of the layers and of every third between. Values count attention layers only.
fn gets_more(config: &Config, id: TensorId) -> bool {
    let TensorId::Layer(layer, t) = id else {
        return false;
    };
    let attention = |l: &[LayerKind]| l.iter().filter(|k| **k == LayerKind::Attention).count();
    let (i, n) = match t {
        LayerTensor::Dense(FfnPart::Down) | LayerTensor::Expert(FfnPart::Down, _) => {
            (layer, config.layers.len())
        }
        LayerTensor::Value => (
            attention(&config.layers[..layer]),
            attention(&config.layers),
        ),
        _ => return false,
    };
    i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2
}
