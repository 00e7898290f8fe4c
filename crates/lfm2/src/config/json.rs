//! `config.json`, in the field names of transformers 4 and 5 and of mlx-lm.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Config, LayerKind, MoeConfig, Quantization, QuantizationConfig};
use crate::error::{Error, Result};

/// Typed access to one JSON object, with errors that name the field, its value and what was expected.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    origin: &'a str,
}

impl Fields<'_> {
    fn get(&self, field: &str) -> Option<&Value> {
        self.map.get(field).filter(|v| !v.is_null())
    }

    fn error(&self, field: &str, expected: &str) -> Error {
        let what = match self.map.get(field) {
            None => format!("missing; expected {expected}"),
            Some(v) => format!("is {}; expected {expected}", brief(v)),
        };
        Error::config(self.origin, field, what)
    }

    fn size(&self, field: &str) -> Result<usize> {
        self.get(field)
            .and_then(Value::as_u64)
            .and_then(|v| usize::try_from(v).ok())
            .ok_or_else(|| self.error(field, "a non-negative integer"))
    }

    fn size_or(&self, field: &str, default: usize) -> Result<usize> {
        match self.get(field) {
            None => Ok(default),
            Some(_) => self.size(field),
        }
    }

    fn float_or(&self, field: &str, default: f64) -> Result<f64> {
        match self.get(field) {
            None => Ok(default),
            Some(v) => v.as_f64().ok_or_else(|| self.error(field, "a number")),
        }
    }

    fn bool_or(&self, field: &str, default: bool) -> Result<bool> {
        match self.get(field) {
            None => Ok(default),
            Some(v) => v
                .as_bool()
                .ok_or_else(|| self.error(field, "true or false")),
        }
    }

    /// A token id; a list of them stands for its first element (the others come from the tokenizer).
    fn token_or(&self, field: &str, default: u32) -> Result<u32> {
        let value = match self.get(field) {
            None => return Ok(default),
            Some(Value::Array(ids)) => ids.first().and_then(Value::as_u64),
            Some(v) => v.as_u64(),
        };
        value
            .and_then(|v| u32::try_from(v).ok())
            .ok_or_else(|| self.error(field, "a token id, or a list of them"))
    }
}

/// A value short enough for a one-line message.
fn brief(v: &Value) -> String {
    let text = v.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl Config {
    /// Reads `config.json` at `path`.
    pub fn from_file(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, "cannot read", e))?;
        Self::from_json(&bytes, &path.display().to_string())
    }

    /// Parses `config.json`; `origin` names it in errors.
    pub fn from_json(bytes: &[u8], origin: &str) -> Result<Self> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|e| Error::config(origin, "(whole file)", format!("is not JSON: {e}")))?;
        let map = value.as_object().ok_or_else(|| {
            Error::config(
                origin,
                "(whole file)",
                "is JSON but not an object".to_owned(),
            )
        })?;
        let f = Fields { map, origin };

        let moe = match f.get("model_type").and_then(Value::as_str) {
            Some("lfm2") => None,
            Some("lfm2_moe") => Some(moe(&f)?),
            _ => {
                return Err(f.error(
                    "model_type",
                    "\"lfm2\" or \"lfm2_moe\" (this engine runs the LFM2 family only)",
                ));
            }
        };
        require(&f, "conv_bias", false, false)?;
        // The old name wins where both are present, as in transformers.
        let tie = if f.get("tie_embedding").is_some() {
            "tie_embedding"
        } else {
            "tie_word_embeddings"
        };
        require(&f, tie, true, true)?;

        let hidden_size = f.size("hidden_size")?;
        let heads = f.size("num_attention_heads")?;
        if heads == 0 || hidden_size % heads != 0 {
            return Err(f.error("num_attention_heads", "a divisor of hidden_size"));
        }
        let head_dim = f.size_or("head_dim", hidden_size / heads)?;
        let config = Self {
            vocab_size: f.size("vocab_size")?,
            hidden_size,
            layers: layers(&f)?,
            heads,
            kv_heads: f.size("num_key_value_heads")?,
            head_dim,
            ffn_size: ffn_size(&f, moe.is_some())?,
            conv_kernel: f.size("conv_L_cache")?,
            norm_eps: norm_eps(&f)?,
            rope_theta: rope_theta(&f)?,
            max_positions: f.size("max_position_embeddings")?,
            bos_token: f.token_or("bos_token_id", 1)?,
            eos_token: f.token_or("eos_token_id", 7)?,
            pad_token: f.token_or("pad_token_id", 0)?,
            moe,
            quantization: quantization(&f)?,
        };
        config.validate(origin)?;
        Ok(config)
    }

    /// The configuration as a `config.json` that transformers and mlx-lm load.
    pub fn to_json(&self) -> Value {
        let kinds: Vec<&str> = self
            .layers
            .iter()
            .map(|k| match k {
                LayerKind::Conv => "conv",
                LayerKind::Attention => "full_attention",
            })
            .collect();
        let class = if self.moe.is_some() {
            "Lfm2MoeForCausalLM"
        } else {
            "Lfm2ForCausalLM"
        };
        let mut v = json!({
            "architectures": [class],
            "model_type": if self.moe.is_some() { "lfm2_moe" } else { "lfm2" },
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "block_dim": self.hidden_size,
            "num_hidden_layers": self.layers.len(),
            "layer_types": kinds,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "intermediate_size": self.ffn_size,
            "conv_L_cache": self.conv_kernel,
            "conv_bias": false,
            "norm_eps": null,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "rope_theta": self.rope_theta,
            "max_position_embeddings": self.max_positions,
            "tie_word_embeddings": true,
            "bos_token_id": self.bos_token,
            "eos_token_id": self.eos_token,
            "pad_token_id": self.pad_token,
            "dtype": "bfloat16",
            "use_cache": true,
        });
        // Print 1e-5 as 1e-05, not as the nearest double of the nearest single.
        v["norm_eps"] =
            serde_json::from_str(&format!("{:e}", self.norm_eps)).unwrap_or(json!(1e-5));
        let o = v.as_object_mut().expect("an object was just built");
        match &self.moe {
            None => {
                o.insert("block_auto_adjust_ff_dim".into(), json!(false));
                o.insert("block_multiple_of".into(), json!(256));
                o.insert("block_ffn_dim_multiplier".into(), json!(1.0));
            }
            Some(m) => {
                o.insert("num_dense_layers".into(), json!(m.dense_layers));
                o.insert("num_experts".into(), json!(m.experts));
                o.insert("num_experts_per_tok".into(), json!(m.experts_per_token));
                o.insert("moe_intermediate_size".into(), json!(m.width));
                o.insert("use_expert_bias".into(), json!(m.use_expert_bias));
                o.insert("norm_topk_prob".into(), json!(m.norm_topk_prob));
                o.insert(
                    "routed_scaling_factor".into(),
                    json!(m.routed_scaling_factor),
                );
            }
        }
        if let Some(q) = &self.quantization {
            let entry = |q: Quantization| json!({"group_size": q.group, "bits": q.bits});
            let mut all = entry(q.default);
            all["mode"] = json!("affine");
            for (path, rule) in &q.modules {
                all[path.as_str()] = rule.map_or(json!(false), entry);
            }
            o.insert("quantization".into(), all.clone());
            o.insert("quantization_config".into(), all);
        }
        v
    }
}

/// Refuses a switch that no released member turns, instead of computing something else silently.
fn require(f: &Fields<'_>, field: &str, wanted: bool, default: bool) -> Result<()> {
    if f.bool_or(field, default)? == wanted {
        Ok(())
    } else {
        Err(f.error(
            field,
            &format!("{wanted} (as in every released member of the family)"),
        ))
    }
}

fn moe(f: &Fields<'_>) -> Result<MoeConfig> {
    Ok(MoeConfig {
        dense_layers: f.size("num_dense_layers")?,
        experts: f.size("num_experts")?,
        experts_per_token: f.size("num_experts_per_tok")?,
        width: f.size("moe_intermediate_size")?,
        use_expert_bias: f.bool_or("use_expert_bias", true)?,
        norm_topk_prob: f.bool_or("norm_topk_prob", true)?,
        routed_scaling_factor: f.float_or("routed_scaling_factor", 1.0)? as f32,
    })
}

fn layers(f: &Fields<'_>) -> Result<Vec<LayerKind>> {
    let n = f.size("num_hidden_layers")?;
    if n == 0 || n > super::validate::MAX_LAYERS {
        return Err(f.error("num_hidden_layers", "1 to 1024"));
    }
    if let Some(kinds) = f.get("layer_types") {
        let expected = "a list of \"conv\" or \"full_attention\", one per layer";
        let list = kinds
            .as_array()
            .ok_or_else(|| f.error("layer_types", expected))?;
        if list.len() != n {
            return Err(Error::config(
                f.origin,
                "layer_types",
                format!("has {} entries; num_hidden_layers is {n}", list.len()),
            ));
        }
        return list
            .iter()
            .map(|k| match k.as_str() {
                Some("conv") => Ok(LayerKind::Conv),
                Some("full_attention") => Ok(LayerKind::Attention),
                _ => Err(Error::config(
                    f.origin,
                    "layer_types",
                    format!("contains {}; expected {expected}", brief(k)),
                )),
            })
            .collect();
    }
    let expected = "layer_types, or a list of layer indices as older files have";
    let list = f
        .get("full_attn_idxs")
        .and_then(Value::as_array)
        .ok_or_else(|| f.error("full_attn_idxs", expected))?;
    let mut kinds = vec![LayerKind::Conv; n];
    for i in list {
        let slot = i.as_u64().and_then(|i| usize::try_from(i).ok());
        match slot.and_then(|i| kinds.get_mut(i)) {
            Some(k) => *k = LayerKind::Attention,
            None => {
                return Err(Error::config(
                    f.origin,
                    "full_attn_idxs",
                    format!("contains {}; expected layer indices below {n}", brief(i)),
                ));
            }
        }
    }
    Ok(kinds)
}

/// The dense width. Dense models shrink and round the configured size; MoE models take it as it is.
fn ffn_size(f: &Fields<'_>, is_moe: bool) -> Result<usize> {
    if is_moe {
        return f.size("intermediate_size");
    }
    let field = if f.get("block_ff_dim").is_some() {
        "block_ff_dim"
    } else {
        "intermediate_size"
    };
    let mut size = f.size(field)?;
    if size > super::validate::MAX_WIDTH {
        return Err(f.error(field, "at most 2^24"));
    }
    if f.bool_or("block_auto_adjust_ff_dim", true)? {
        size = 2 * size / 3;
        if f.get("block_ffn_dim_multiplier").is_some() {
            let m = f.float_or("block_ffn_dim_multiplier", 1.0)?;
            if !(m > 0.0 && m < 1024.0) {
                return Err(f.error("block_ffn_dim_multiplier", "a positive number"));
            }
            size = (m * size as f64).floor() as usize;
        }
        let multiple = f.size_or("block_multiple_of", 256)?;
        if multiple == 0 || multiple > super::validate::MAX_WIDTH {
            return Err(f.error("block_multiple_of", "1 to 2^24"));
        }
        size = size.div_ceil(multiple) * multiple;
    }
    Ok(size)
}

fn norm_eps(f: &Fields<'_>) -> Result<f32> {
    let field = if f.get("norm_eps").is_some() {
        "norm_eps"
    } else {
        "block_norm_eps"
    };
    Ok(f.float_or(field, 1e-5)? as f32)
}

/// Nested (transformers 5) wins over flat (transformers 4); absent means 1e6.
fn rope_theta(f: &Fields<'_>) -> Result<f64> {
    if let Some(nested) = f.get("rope_parameters") {
        let map = nested
            .as_object()
            .ok_or_else(|| f.error("rope_parameters", "an object"))?;
        let origin = format!("{}: rope_parameters", f.origin);
        let inner = Fields {
            map,
            origin: &origin,
        };
        match inner.get("rope_type").map(|t| t.as_str().unwrap_or("?")) {
            None | Some("default") => {}
            Some(_) => return Err(inner.error("rope_type", "\"default\" (no scaling)")),
        }
        if inner.get("rope_theta").is_some() {
            return inner.float_or("rope_theta", 1e6);
        }
    }
    if let Some(scaling) = f.get("rope_scaling") {
        let kind = scaling.get("rope_type").or_else(|| scaling.get("type"));
        if kind.and_then(Value::as_str) != Some("default") {
            return Err(f.error("rope_scaling", "null or type \"default\" (no scaling)"));
        }
    }
    f.float_or("rope_theta", 1e6)
}

fn quantization(f: &Fields<'_>) -> Result<Option<QuantizationConfig>> {
    let field = if f.get("quantization").is_some() {
        "quantization"
    } else {
        "quantization_config"
    };
    let Some(value) = f.get(field) else {
        return Ok(None);
    };
    let map = value
        .as_object()
        .ok_or_else(|| f.error(field, "an object"))?;
    let origin = format!("{}: {field}", f.origin);
    let default = rule(&Fields {
        map,
        origin: &origin,
    })?;
    let mut modules = Vec::new();
    for (path, v) in map {
        match v {
            Value::Object(entry) => {
                let origin = format!("{origin}: {path}");
                let q = rule(&Fields {
                    map: entry,
                    origin: &origin,
                })?;
                modules.push((path.clone(), Some(q)));
            }
            Value::Bool(false) => modules.push((path.clone(), None)),
            Value::Bool(true) => modules.push((path.clone(), Some(default))),
            _ => {}
        }
    }
    Ok(Some(QuantizationConfig { default, modules }))
}

fn rule(f: &Fields<'_>) -> Result<Quantization> {
    if let Some(mode) = f.get("mode")
        && mode.as_str() != Some("affine")
    {
        return Err(f.error("mode", "\"affine\" (other modes are not supported)"));
    }
    if f.get("quant_method").is_some() && f.get("bits").is_none() {
        return Err(f.error(
            "quant_method",
            "an MLX quantisation with bits and group_size",
        ));
    }
    let bits = f.size("bits")?;
    if bits != 4 && bits != 8 {
        return Err(f.error("bits", "4 or 8"));
    }
    let group = f.size("group_size")?;
    if ![32, 64, 128].contains(&group) {
        return Err(f.error("group_size", "32, 64 or 128"));
    }
    Ok(Quantization {
        bits: bits as u32,
        group,
    })
}
