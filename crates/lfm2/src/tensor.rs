//! Which tensors a model has, by role, and the shape each must have.

use crate::config::{Config, FfnKind, LayerKind};

/// One of the three matrices of a SwiGLU block, `down(silu(gate·h) ⊙ (up·h))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FfnPart {
    /// `w1`, shape `[width, hidden]`.
    Gate,
    /// `w3`, shape `[width, hidden]`.
    Up,
    /// `w2`, shape `[hidden, width]`.
    Down,
}

impl FfnPart {
    /// All three, in the order they are stored in our own files.
    pub const ALL: [Self; 3] = [Self::Gate, Self::Up, Self::Down];
}

/// A tensor of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayerTensor {
    /// RMS weight before the mixer, `[1, hidden]`.
    OperatorNorm,
    /// RMS weight before the feed-forward block, `[1, hidden]`.
    FfnNorm,
    /// Conv mixer input projection, `[3·hidden, hidden]`, rows in the order B, C, x.
    ConvIn,
    /// Depthwise kernel, `[hidden, kernel]`: one row per channel, oldest tap first.
    ConvKernel,
    /// Conv mixer output projection, `[hidden, hidden]`.
    ConvOut,
    /// Query projection, `[heads·head_dim, hidden]`.
    Query,
    /// Key projection, `[kv_heads·head_dim, hidden]`.
    Key,
    /// Value projection, `[kv_heads·head_dim, hidden]`.
    Value,
    /// Attention output projection, `[hidden, heads·head_dim]`.
    AttnOut,
    /// Per-head RMS weight of the queries, `[1, head_dim]`.
    QueryNorm,
    /// Per-head RMS weight of the keys, `[1, head_dim]`.
    KeyNorm,
    /// A matrix of the dense feed-forward block.
    Dense(FfnPart),
    /// Router, `[experts, hidden]`.
    Router,
    /// Selection bias of the router, `[1, experts]`.
    ExpertBias,
    /// A matrix of one expert.
    Expert(FfnPart, usize),
}

/// A tensor of the model, by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TensorId {
    /// Token embedding, tied with the output head, `[vocab, hidden]`.
    Embedding,
    /// The final RMS weight (`embedding_norm` in the checkpoints), `[1, hidden]`.
    FinalNorm,
    /// A tensor of layer `.0`.
    Layer(usize, LayerTensor),
}

impl TensorId {
    /// The `[rows, cols]` this tensor must have in a model of this configuration. Vectors have one row.
    pub fn shape(self, c: &Config) -> [usize; 2] {
        let h = c.hidden_size;
        let ffn = |part: FfnPart, width: usize| match part {
            FfnPart::Gate | FfnPart::Up => [width, h],
            FfnPart::Down => [h, width],
        };
        match self {
            Self::Embedding => [c.vocab_size, h],
            Self::FinalNorm => [1, h],
            Self::Layer(_, t) => match t {
                LayerTensor::OperatorNorm | LayerTensor::FfnNorm => [1, h],
                LayerTensor::ConvIn => [3 * h, h],
                LayerTensor::ConvKernel => [h, c.conv_kernel],
                LayerTensor::ConvOut => [h, h],
                LayerTensor::Query => [c.heads * c.head_dim, h],
                LayerTensor::Key | LayerTensor::Value => [c.kv_heads * c.head_dim, h],
                LayerTensor::AttnOut => [h, c.heads * c.head_dim],
                LayerTensor::QueryNorm | LayerTensor::KeyNorm => [1, c.head_dim],
                LayerTensor::Dense(p) => ffn(p, c.ffn_size),
                LayerTensor::Router => [c.moe().experts, h],
                LayerTensor::ExpertBias => [1, c.moe().experts],
                LayerTensor::Expert(p, _) => ffn(p, c.moe().width),
            },
        }
    }

    /// Every tensor a model of this configuration has, in a fixed order.
    pub fn all(c: &Config) -> Vec<Self> {
        Self::walk(c).collect()
    }

    /// [`Self::all`] one layer at a time: a small hostile `config.json` may claim millions of experts.
    pub fn walk(c: &Config) -> impl Iterator<Item = Self> + '_ {
        std::iter::once(Self::Embedding)
            .chain((0..c.layers.len()).flat_map(|i| Self::of_layer(c, i)))
            .chain(std::iter::once(Self::FinalNorm))
    }

    /// Every tensor of layer `i`, mixer first, then the feed-forward block.
    pub fn of_layer(c: &Config, i: usize) -> Vec<Self> {
        use LayerTensor as T;
        let mut t = vec![T::OperatorNorm];
        match c.layers[i] {
            LayerKind::Conv => t.extend([T::ConvIn, T::ConvKernel, T::ConvOut]),
            LayerKind::Attention => t.extend([
                T::Query,
                T::Key,
                T::Value,
                T::QueryNorm,
                T::KeyNorm,
                T::AttnOut,
            ]),
        }
        t.push(T::FfnNorm);
        match c.ffn_kind(i) {
            FfnKind::Dense => t.extend(FfnPart::ALL.map(T::Dense)),
            FfnKind::Moe => {
                t.push(T::Router);
                if c.moe().use_expert_bias {
                    t.push(T::ExpertBias);
                }
                for e in 0..c.moe().experts {
                    t.extend(FfnPart::ALL.map(|p| T::Expert(p, e)));
                }
            }
        }
        t.into_iter().map(|t| Self::Layer(i, t)).collect()
    }

    /// Whether this is a matrix that quantisers compress (as opposed to norms, kernels and biases).
    pub fn is_matrix(self) -> bool {
        !matches!(
            self,
            Self::FinalNorm
                | Self::Layer(
                    _,
                    LayerTensor::OperatorNorm
                        | LayerTensor::FfnNorm
                        | LayerTensor::ConvKernel
                        | LayerTensor::QueryNorm
                        | LayerTensor::KeyNorm
                        | LayerTensor::ExpertBias
                )
        )
    }
}

impl TensorId {
    /// Whether files store this as a one-dimensional array.
    pub fn is_vector(self) -> bool {
        !self.is_matrix() && !matches!(self, Self::Layer(_, LayerTensor::ConvKernel))
    }
}
