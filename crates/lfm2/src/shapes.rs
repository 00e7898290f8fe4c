//! The numbers derived from a configuration: parameter counts and bytes per decoded token. They are
//! derived here and nowhere else.

use crate::config::{Config, FfnKind, LayerKind};
use crate::tensor::{LayerTensor, TensorId};

/// Bits a stored weight costs, by tensor: what turns a configuration into bytes.
pub trait Storage {
    /// Stored bytes of the whole tensor `id` of shape `[rows, cols]`.
    fn bytes(&self, id: TensorId, rows: usize, cols: usize) -> f64;
}

/// A nominal storage scheme, for arithmetic without a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scheme {
    /// MLX affine: `bits + 32/group` bits per matrix weight (two 16-bit numbers a group), routers at
    /// 8 bits group 64, everything else bf16 but the F32 selection bias.
    Mlx {
        /// 4 or 8.
        bits: u32,
        /// 32, 64 or 128.
        group: usize,
    },
    /// bf16 throughout, but the F32 selection bias.
    Bf16,
    /// F32 throughout.
    F32,
    /// GGUF Q4_0 as llama.cpp makes it: Q6_K embedding, F32 routers, norms and kernels.
    Q4_0,
    /// GGUF Q8_0: Q8_0 embedding, F32 routers, norms and kernels.
    Q8_0,
}

impl Storage for Scheme {
    fn bytes(&self, id: TensorId, rows: usize, cols: usize) -> f64 {
        let n = rows as f64 * cols as f64;
        let bits = match (self, id) {
            (Self::F32, _) | (_, TensorId::Layer(_, LayerTensor::ExpertBias)) => 32.0,
            (Self::Bf16, _) => 16.0,
            (Self::Mlx { .. }, id) if !id.is_matrix() => 16.0,
            (Self::Mlx { .. }, TensorId::Layer(_, LayerTensor::Router)) => 8.5,
            (Self::Mlx { bits, group }, _) => f64::from(*bits) + 32.0 / *group as f64,
            (Self::Q4_0 | Self::Q8_0, id)
                if !id.is_matrix() || matches!(id, TensorId::Layer(_, LayerTensor::Router)) =>
            {
                32.0
            }
            (Self::Q4_0, TensorId::Embedding) => 6.5625,
            (Self::Q4_0, _) => 4.5,
            (Self::Q8_0, _) => 8.5,
        };
        n * bits / 8.0
    }
}

/// Bytes one decoded token must move, part by part: the logical minimum of the stored format.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenBytes {
    /// Conv mixer projections.
    pub conv: f64,
    /// Attention projections.
    pub attention: f64,
    /// Dense feed-forward blocks.
    pub dense: f64,
    /// The selected experts.
    pub experts: f64,
    /// Routers.
    pub router: f64,
    /// The output head (the tied embedding, read whole).
    pub head: f64,
    /// Norms, conv kernels, selection biases and one embedding row.
    pub small: f64,
    /// Conv windows, read and written, in bf16.
    pub state: f64,
    /// Keys and values of all earlier positions, in 16 bits.
    pub kv: f64,
}

impl TokenBytes {
    /// Weights and conv state: what is read whatever the context.
    pub fn fixed(&self) -> f64 {
        self.conv
            + self.attention
            + self.dense
            + self.experts
            + self.router
            + self.head
            + self.small
            + self.state
    }

    /// Everything.
    pub fn total(&self) -> f64 {
        self.fixed() + self.kv
    }

    /// Name and bytes of each part, in reading order.
    pub fn parts(&self) -> [(&'static str, f64); 9] {
        [
            ("conv", self.conv),
            ("attention", self.attention),
            ("dense", self.dense),
            ("experts", self.experts),
            ("router", self.router),
            ("head", self.head),
            ("small", self.small),
            ("state", self.state),
            ("kv", self.kv),
        ]
    }
}

impl Config {
    /// All parameters, the tied embedding counted once.
    pub fn parameters(&self) -> u64 {
        self.count(|_| true)
    }

    /// Parameters one token touches: everything but the experts that are not chosen.
    pub fn active_parameters(&self) -> u64 {
        let k = self.moe.as_ref().map_or(0, |m| m.experts_per_token);
        self.count(|id| !matches!(id, TensorId::Layer(_, LayerTensor::Expert(_, e)) if e >= k))
    }

    fn count(&self, keep: impl Fn(TensorId) -> bool) -> u64 {
        TensorId::all(self)
            .into_iter()
            .filter(|id| keep(*id))
            .map(|id| {
                let [r, c] = id.shape(self);
                r as u64 * c as u64
            })
            .sum()
    }

    /// Layers of a kind.
    pub fn count_layers(&self, kind: LayerKind) -> usize {
        self.layers.iter().filter(|k| **k == kind).count()
    }

    /// Bytes of keys and values one position adds, at `element` bytes a number.
    pub fn kv_bytes_per_position(&self, element: usize) -> usize {
        2 * self.kv_heads * self.head_dim * self.count_layers(LayerKind::Attention) * element
    }

    /// Bytes of all conv windows (the last `kernel − 1` gated inputs per channel), at `element` bytes a number.
    pub fn conv_state_bytes(&self, element: usize) -> usize {
        (self.conv_kernel - 1) * self.hidden_size * self.count_layers(LayerKind::Conv) * element
    }

    /// Operations of a prompt of `tokens` tokens after `depth` earlier ones: a multiplication and an addition
    /// for every weight of a projection and every product of attention, causal; the output head once, for
    /// the last token.
    pub fn prefill_operations(&self, tokens: usize, depth: usize) -> f64 {
        let k = self.moe.as_ref().map_or(0, |m| m.experts_per_token);
        let per_token = self.count(|id| match id {
            TensorId::Embedding => false,
            TensorId::Layer(_, LayerTensor::Expert(_, e)) => e < k,
            id => id.is_matrix(),
        });
        let (n, d) = (tokens as f64, depth as f64);
        let pairs = n * d + n * (n + 1.0) / 2.0;
        let width = (self.heads * self.head_dim * self.count_layers(LayerKind::Attention)) as f64;
        let head = (self.vocab_size * self.hidden_size) as f64;
        2.0 * (n * per_token as f64 + 2.0 * pairs * width + head)
    }

    /// Stored bytes of all weights.
    pub fn weight_bytes(&self, storage: &dyn Storage) -> f64 {
        self.sum_bytes(storage, |_| 1.0)
    }

    /// Bytes a prompt of `tokens` tokens after `depth` earlier ones must move when nothing is read twice:
    /// all weights but the experts nobody chose (as many as an even router leaves out), and the keys and
    /// values of the earlier positions.
    pub fn prefill_bytes(&self, storage: &dyn Storage, tokens: usize, depth: usize) -> f64 {
        let reached = self.moe.as_ref().map_or(1.0, |m| {
            let share = m.experts_per_token as f64 / m.experts as f64;
            1.0 - (1.0 - share).powf(tokens as f64)
        });
        let weights = self.sum_bytes(storage, |id| match id {
            TensorId::Layer(_, LayerTensor::Expert(..)) => reached,
            _ => 1.0,
        });
        weights + (self.kv_bytes_per_position(2) * depth) as f64
    }

    fn sum_bytes(&self, storage: &dyn Storage, share: impl Fn(TensorId) -> f64) -> f64 {
        TensorId::all(self)
            .into_iter()
            .map(|id| {
                let [rows, cols] = id.shape(self);
                share(id) * storage.bytes(id, rows, cols)
            })
            .sum()
    }

    /// Bytes one decoded token moves at batch 1 with `context` earlier positions.
    ///
    /// Chosen experts are counted at the mean size of a layer's experts, so a file with mixed types is
    /// counted as an even router would read it.
    pub fn bytes_per_token(&self, storage: &dyn Storage, context: usize) -> TokenBytes {
        let mut b = TokenBytes::default();
        for id in TensorId::all(self) {
            let [rows, cols] = id.shape(self);
            let n = storage.bytes(id, rows, cols);
            match id {
                TensorId::Embedding => {
                    b.head += n;
                    b.small += n / rows as f64;
                }
                TensorId::FinalNorm => b.small += n,
                TensorId::Layer(i, t) => match t {
                    LayerTensor::ConvIn | LayerTensor::ConvOut => b.conv += n,
                    LayerTensor::Query
                    | LayerTensor::Key
                    | LayerTensor::Value
                    | LayerTensor::AttnOut => b.attention += n,
                    LayerTensor::Dense(_) => b.dense += n,
                    LayerTensor::Router => b.router += n,
                    LayerTensor::Expert(..) => {
                        debug_assert_eq!(self.ffn_kind(i), FfnKind::Moe);
                        let m = self.moe();
                        b.experts += n * m.experts_per_token as f64 / m.experts as f64;
                    }
                    _ => b.small += n,
                },
            }
        }
        b.state = 2.0 * self.conv_state_bytes(2) as f64;
        b.kv = (self.kv_bytes_per_position(2) * context) as f64;
        b
    }
}
