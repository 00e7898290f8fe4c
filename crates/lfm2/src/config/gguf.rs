//! The configuration in GGUF metadata.

use super::{Config, LayerKind, MoeConfig};
use crate::error::{Error, Result};
use crate::gguf::{Metadata, Value};

/// What the tensors themselves say; it wins over the metadata, which re-converted files get wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct TensorFacts {
    /// Rows of `token_embd.weight`.
    pub vocab_size: Option<usize>,
    /// Rows of the first dense `ffn_gate.weight`.
    pub ffn_size: Option<usize>,
}

impl Config {
    /// Reads the configuration from GGUF metadata.
    pub fn from_gguf(m: &Metadata, facts: TensorFacts) -> Result<Self> {
        let arch = m.string("general.architecture")?;
        if arch != "lfm2" && arch != "lfm2moe" {
            return Err(Error::config(
                &m.origin,
                "general.architecture",
                format!(
                    "is \"{arch}\"; expected \"lfm2\" or \"lfm2moe\" (this engine runs the LFM2 family only)"
                ),
            ));
        }
        let key = |name: &str| format!("{arch}.{name}");
        let size = |name: &str| -> Result<usize> {
            let key = key(name);
            usize::try_from(m.unsigned(&key)?)
                .map_err(|_| Error::config(&m.origin, &key, "does not fit this machine"))
        };
        let blocks = size("block_count")?;
        let (layers, kv_heads) = layers(m, &key("attention.head_count_kv"), blocks)?;
        let hidden_size = size("embedding_length")?;
        let heads = size("attention.head_count")?;
        if heads == 0 || hidden_size % heads != 0 {
            return Err(Error::config(
                &m.origin,
                &key("attention.head_count"),
                format!("is {heads}; expected a divisor of embedding_length ({hidden_size})"),
            ));
        }
        let head_dim = match m.get(&key("attention.key_length")) {
            Some(_) => size("attention.key_length")?,
            None => hidden_size / heads,
        };
        let moe = if arch == "lfm2moe" {
            Some(moe(m, &key)?)
        } else {
            None
        };
        let token = |name: &str, default: u32| -> Result<u32> {
            let key = format!("tokenizer.ggml.{name}");
            match m.get(&key) {
                None => Ok(default),
                Some(_) => u32::try_from(m.unsigned(&key)?)
                    .map_err(|_| Error::config(&m.origin, &key, "is no token id")),
            }
        };
        let vocab_size = match (facts.vocab_size, m.get(&key("vocab_size"))) {
            (Some(v), _) => v,
            (None, Some(_)) => size("vocab_size")?,
            (None, None) => m.strings("tokenizer.ggml.tokens")?.len(),
        };
        let config = Self {
            vocab_size,
            hidden_size,
            layers,
            heads,
            kv_heads,
            head_dim,
            ffn_size: match facts.ffn_size {
                Some(v) => v,
                None => size("feed_forward_length")?,
            },
            conv_kernel: size("shortconv.l_cache")?,
            norm_eps: m.float(&key("attention.layer_norm_rms_epsilon"))? as f32,
            rope_theta: m.float(&key("rope.freq_base"))?,
            max_positions: size("context_length")?,
            bos_token: token("bos_token_id", 1)?,
            eos_token: token("eos_token_id", 7)?,
            pad_token: token("padding_token_id", 0)?,
            moe,
            quantization: None,
        };
        config.validate(&m.origin)?;
        Ok(config)
    }
}

/// `head_count_kv` is an array: 0 marks a conv layer, anything else the key/value heads of attention.
fn layers(m: &Metadata, key: &str, blocks: usize) -> Result<(Vec<LayerKind>, usize)> {
    let wrong = |what: String| Err(Error::config(&m.origin, key, what));
    let Some(Value::Integers(counts)) = m.get(key) else {
        return wrong("expected an array with 0 for each conv layer".to_owned());
    };
    if counts.len() != blocks {
        return wrong(format!(
            "has {} entries; block_count is {blocks}",
            counts.len()
        ));
    }
    let mut kv_heads = 0;
    let mut layers = Vec::with_capacity(counts.len());
    for &n in counts {
        match usize::try_from(n) {
            Ok(0) => layers.push(LayerKind::Conv),
            Ok(n) if kv_heads == 0 || kv_heads == n => {
                kv_heads = n;
                layers.push(LayerKind::Attention);
            }
            _ => return wrong(format!("contains {n}; expected 0 or one common head count")),
        }
    }
    Ok((layers, kv_heads))
}

fn moe(m: &Metadata, key: &dyn Fn(&str) -> String) -> Result<MoeConfig> {
    let size = |name: &str| -> Result<usize> { Ok(m.unsigned(&key(name))? as usize) };
    // 2 is the sigmoid; absent in early files, which are sigmoid as well.
    let gating = key("expert_gating_func");
    if m.get(&gating).is_some() && m.unsigned(&gating)? != 2 {
        return Err(Error::config(
            &m.origin,
            &gating,
            format!("is {}; expected 2 (sigmoid)", m.unsigned(&gating)?),
        ));
    }
    Ok(MoeConfig {
        dense_layers: size("leading_dense_block_count")?,
        experts: size("expert_count")?,
        experts_per_token: size("expert_used_count")?,
        width: size("expert_feed_forward_length")?,
        use_expert_bias: true,
        norm_topk_prob: true,
        routed_scaling_factor: 1.0,
    })
}
