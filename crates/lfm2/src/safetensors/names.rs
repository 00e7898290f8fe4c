//! What the tensors are called in Hugging Face's and MLX's files.

use crate::config::Config;
use crate::tensor::{FfnPart, LayerTensor, TensorId};

/// How a role is stored.
pub(super) enum Place {
    /// As a tensor of its own, under this name without `.weight`.
    Own(String),
    /// As the slice `index` of a tensor with a leading expert axis.
    Stacked {
        /// The stack's module path.
        module: String,
        /// The expert.
        index: usize,
    },
    /// As rows `first..first + rows` of slice `index` of a stack (`gate_up_proj` of transformers 5).
    Fused {
        /// The stack's name.
        name: String,
        /// The expert.
        index: usize,
        /// First row within the slice.
        first: usize,
    },
}

/// The places where `id` may lie, most usual first.
pub(super) fn places(c: &Config, id: TensorId) -> Vec<Place> {
    let own = |s: &str| vec![Place::Own(format!("model.{s}"))];
    let (i, t) = match id {
        TensorId::Embedding => return own("embed_tokens"),
        TensorId::FinalNorm => return own("embedding_norm"),
        TensorId::Layer(i, t) => (i, t),
    };
    let own = |s: &str| own(&format!("layers.{i}.{s}"));
    match t {
        LayerTensor::OperatorNorm => own("operator_norm"),
        LayerTensor::FfnNorm => own("ffn_norm"),
        LayerTensor::ConvIn => own("conv.in_proj"),
        LayerTensor::ConvKernel => own("conv.conv"),
        LayerTensor::ConvOut => own("conv.out_proj"),
        LayerTensor::Query => own("self_attn.q_proj"),
        LayerTensor::Key => own("self_attn.k_proj"),
        LayerTensor::Value => own("self_attn.v_proj"),
        LayerTensor::AttnOut => own("self_attn.out_proj"),
        LayerTensor::QueryNorm => own("self_attn.q_layernorm"),
        LayerTensor::KeyNorm => own("self_attn.k_layernorm"),
        LayerTensor::Router => own("feed_forward.gate"),
        LayerTensor::ExpertBias => vec![Place::Own(format!(
            "model.layers.{i}.feed_forward.expert_bias"
        ))],
        LayerTensor::Dense(p) => {
            let (hf, mlx) = part(p);
            let mut v = own(&format!("feed_forward.{hf}"));
            v.extend(own(&format!("feed_forward.{mlx}")));
            v
        }
        LayerTensor::Expert(p, e) => {
            let (hf, mlx) = part(p);
            let ffn = format!("model.layers.{i}.feed_forward");
            let width = c.moe().width;
            let (name, first) = match p {
                FfnPart::Gate => ("gate_up_proj", 0),
                FfnPart::Up => ("gate_up_proj", width),
                FfnPart::Down => ("down_proj", 0),
            };
            vec![
                Place::Own(format!("{ffn}.experts.{e}.{hf}")),
                Place::Stacked {
                    module: format!("{ffn}.switch_mlp.{mlx}"),
                    index: e,
                },
                Place::Fused {
                    name: format!("{ffn}.experts.{name}"),
                    index: e,
                    first,
                },
            ]
        }
    }
}

fn part(p: FfnPart) -> (&'static str, &'static str) {
    match p {
        FfnPart::Gate => ("w1", "gate_proj"),
        FfnPart::Up => ("w3", "up_proj"),
        FfnPart::Down => ("w2", "down_proj"),
    }
}

/// The module path under which our own files store `id`, and whether that is a stack of experts. MLX
/// keeps `w1`, `w2`, `w3` in dense models and renames them in mixtures of experts.
pub(crate) fn module_names(c: &Config, id: TensorId, mlx: bool) -> (String, bool) {
    let renamed = mlx && c.moe.is_some();
    let places = places(c, id);
    let wanted = match id {
        TensorId::Layer(_, LayerTensor::Dense(_) | LayerTensor::Expert(..)) if renamed => 1,
        _ => 0,
    };
    match places.into_iter().nth(wanted) {
        Some(Place::Own(name)) => (name, false),
        Some(Place::Stacked { module, .. }) => (module, true),
        Some(Place::Fused { name, .. }) => (name, true),
        None => unreachable!("dense and expert matrices have two names"),
    }
}
