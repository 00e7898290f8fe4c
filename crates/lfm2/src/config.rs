//! The model's configuration, from `config.json` (both generations of field names) or GGUF metadata.

pub mod gguf;
pub(crate) mod json;
mod validate;

/// What mixes tokens in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// Gated short convolution.
    Conv,
    /// Grouped-query attention.
    Attention,
}

/// What follows the mixer in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FfnKind {
    /// One SwiGLU block.
    Dense,
    /// Routed experts.
    Moe,
}

/// The mixture-of-experts part of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct MoeConfig {
    /// Layers `0..dense_layers` have a dense feed-forward block.
    pub dense_layers: usize,
    /// Experts per MoE layer.
    pub experts: usize,
    /// Experts each token visits.
    pub experts_per_token: usize,
    /// Width of each expert.
    pub width: usize,
    /// Whether a selection bias is stored.
    pub use_expert_bias: bool,
    /// Whether the chosen experts' weights are divided by their sum (+ 1e-6).
    pub norm_topk_prob: bool,
    /// Factor on the weights after normalisation.
    pub routed_scaling_factor: f32,
}

/// MLX quantisation of one module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantization {
    /// 4 or 8.
    pub bits: u32,
    /// 32, 64 or 128.
    pub group: usize,
}

/// The `quantization` object of an MLX `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizationConfig {
    /// Applies to modules without an entry of their own.
    pub default: Quantization,
    /// Per-module entries by path; `None` marks a module left unquantised.
    pub modules: Vec<(String, Option<Quantization>)>,
}

impl QuantizationConfig {
    /// The rule for the module at `path` (the tensor's name without `.weight`).
    pub fn for_module(&self, path: &str) -> Option<Quantization> {
        self.modules
            .iter()
            .find(|(p, _)| p == path)
            .map_or(Some(self.default), |(_, q)| *q)
    }
}

/// Everything the mathematics of a member of the family depends on. Validated whole when read.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Tokens in the vocabulary (rows of the embedding).
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// The mixer of each layer, in order: read from the file, never assumed.
    pub layers: Vec<LayerKind>,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Size of a head (64 in every released member).
    pub head_dim: usize,
    /// Final width of the dense feed-forward blocks, after the adjustment rule.
    pub ffn_size: usize,
    /// Taps of the short convolution (`conv_L_cache`, 3 in every released member).
    pub conv_kernel: usize,
    /// ε of every RMS norm.
    pub norm_eps: f32,
    /// Base of the rotary embedding.
    pub rope_theta: f64,
    /// Longest context the file claims.
    pub max_positions: usize,
    /// Beginning-of-sequence token.
    pub bos_token: u32,
    /// End-of-turn token.
    pub eos_token: u32,
    /// Padding token.
    pub pad_token: u32,
    /// Present in mixture-of-experts members.
    pub moe: Option<MoeConfig>,
    /// Present in MLX-quantised files.
    pub quantization: Option<QuantizationConfig>,
}

impl Config {
    /// The feed-forward kind of layer `i`.
    pub fn ffn_kind(&self, i: usize) -> FfnKind {
        match &self.moe {
            Some(m) if i >= m.dense_layers => FfnKind::Moe,
            _ => FfnKind::Dense,
        }
    }

    /// The MoE part; only called for layers whose [`Self::ffn_kind`] is [`FfnKind::Moe`].
    ///
    /// # Panics
    /// When the model is dense: a fault of the caller, not of the input.
    pub fn moe(&self) -> &MoeConfig {
        self.moe
            .as_ref()
            .expect("only MoE layers ask for the MoE part")
    }
}
