//! Bounds every configuration must satisfy before a byte is allocated for it.

use super::Config;
use crate::error::{Error, Result};

/// Most layers accepted.
pub(super) const MAX_LAYERS: usize = 1024;
/// Largest vocabulary, hidden size or width accepted.
pub(super) const MAX_WIDTH: usize = 1 << 24;

impl Config {
    /// Checks every number against the others; errors name the field as `config.json` spells it.
    pub fn validate(&self, origin: &str) -> Result<()> {
        let check = |ok: bool, field: &str, value: &dyn std::fmt::Display, expected: &str| {
            if ok {
                Ok(())
            } else {
                Err(Error::config(
                    origin,
                    field,
                    format!("is {value}; expected {expected}"),
                ))
            }
        };
        let width = |v: usize| (1..=MAX_WIDTH).contains(&v);
        check(
            width(self.vocab_size),
            "vocab_size",
            &self.vocab_size,
            "1 to 2^24",
        )?;
        check(
            width(self.hidden_size),
            "hidden_size",
            &self.hidden_size,
            "1 to 2^24",
        )?;
        check(
            width(self.ffn_size),
            "intermediate_size",
            &self.ffn_size,
            "1 to 2^24",
        )?;
        check(
            (1..=MAX_LAYERS).contains(&self.layers.len()),
            "num_hidden_layers",
            &self.layers.len(),
            "1 to 1024",
        )?;
        check(
            (1..=1024).contains(&self.heads),
            "num_attention_heads",
            &self.heads,
            "1 to 1024",
        )?;
        check(
            self.head_dim >= 2 && self.head_dim <= 1024 && self.head_dim.is_multiple_of(2),
            "head_dim",
            &self.head_dim,
            "an even number up to 1024",
        )?;
        let attends = self.layers.contains(&super::LayerKind::Attention);
        check(
            if attends {
                self.kv_heads >= 1 && self.heads.is_multiple_of(self.kv_heads)
            } else {
                self.kv_heads <= self.heads
            },
            "num_key_value_heads",
            &self.kv_heads,
            "a divisor of num_attention_heads",
        )?;
        check(
            (2..=16).contains(&self.conv_kernel),
            "conv_L_cache",
            &self.conv_kernel,
            "2 to 16",
        )?;
        check(
            self.norm_eps > 0.0 && self.norm_eps < 1.0,
            "norm_eps",
            &self.norm_eps,
            "between 0 and 1",
        )?;
        check(
            self.rope_theta >= 1.0 && self.rope_theta.is_finite(),
            "rope_theta",
            &self.rope_theta,
            "a finite number of at least 1",
        )?;
        check(
            self.max_positions >= 1,
            "max_position_embeddings",
            &self.max_positions,
            "at least 1",
        )?;
        for (field, id) in [
            ("bos_token_id", self.bos_token),
            ("eos_token_id", self.eos_token),
            ("pad_token_id", self.pad_token),
        ] {
            let below = format!("a token id below vocab_size ({})", self.vocab_size);
            check((id as usize) < self.vocab_size, field, &id, &below)?;
        }
        if let Some(m) = &self.moe {
            check(
                m.dense_layers <= self.layers.len(),
                "num_dense_layers",
                &m.dense_layers,
                "at most num_hidden_layers",
            )?;
            check(
                (1..=4096).contains(&m.experts),
                "num_experts",
                &m.experts,
                "1 to 4096",
            )?;
            check(
                (1..=m.experts.min(64)).contains(&m.experts_per_token),
                "num_experts_per_tok",
                &m.experts_per_token,
                "1 to 64 and at most num_experts",
            )?;
            check(
                width(m.width),
                "moe_intermediate_size",
                &m.width,
                "1 to 2^24",
            )?;
            check(
                m.routed_scaling_factor.is_finite(),
                "routed_scaling_factor",
                &m.routed_scaling_factor,
                "a finite number",
            )?;
        }
        Ok(())
    }
}
