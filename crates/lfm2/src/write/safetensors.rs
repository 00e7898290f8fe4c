//! Safetensors files, Hugging Face's and MLX's.

use serde_json::{Value as Json, json};

use super::Target;
use super::plan::{Group, Plan, PlannedFile, group};
use super::storage::Storage;
use crate::config::Config;
use crate::quant::FloatType;
use crate::safetensors::module_names;
use crate::tensor::{LayerTensor, TensorId};

pub(super) const SINGLE: &str = "model.safetensors";
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// One stored array.
struct Array {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    bytes: u64,
    /// Index of its group, and which part of it.
    group: usize,
    part: usize,
}

pub(super) fn plan(config: &Config, target: &Target) -> Plan {
    let mlx = matches!(target, Target::Mlx { .. });
    let groups = group(
        TensorId::walk(config),
        |id| module_names(config, id, mlx),
        |id| target.storage(config, id),
        |id| id.shape(config),
    );
    let arrays: Vec<Array> = groups
        .iter()
        .enumerate()
        .flat_map(|(i, g)| arrays(g, i, mlx))
        .collect();
    let limit = match target {
        Target::HuggingFace {
            shard_bytes: Some(n),
            ..
        } => *n,
        _ => u64::MAX,
    };
    let mut shards: Vec<Vec<Array>> = Vec::new();
    let mut size = u64::MAX;
    for a in arrays {
        if size.saturating_add(a.bytes) > limit && size > 0 || shards.is_empty() {
            shards.push(Vec::new());
            size = 0;
        }
        size += a.bytes;
        if let Some(last) = shards.last_mut() {
            last.push(a);
        }
    }
    let mut plan = Plan::default();
    let mut at = vec![[(0_usize, 0_u64); 3]; groups.len()];
    let n = shards.len();
    let sharded = limit != u64::MAX;
    for (file, arrays) in shards.iter().enumerate() {
        let name = if sharded {
            format!("model-{:05}-of-{n:05}.safetensors", file + 1)
        } else {
            SINGLE.to_owned()
        };
        let header = header(arrays, if mlx { "mlx" } else { "pt" });
        let mut end = header.len() as u64;
        for a in arrays {
            at[a.group][a.part] = (file, end);
            end += a.bytes;
        }
        plan.files.push(PlannedFile {
            name,
            header,
            bytes: end,
            arrays: arrays.iter().map(|a| a.name.clone()).collect(),
        });
    }
    for (g, at) in groups.iter().zip(at) {
        g.place(at, &mut plan.pieces);
    }
    plan
}

fn arrays(g: &Group, index: usize, mlx: bool) -> Vec<Array> {
    let name = |suffix: &str| match g.ids[0] {
        TensorId::Layer(_, LayerTensor::ExpertBias) => g.name.clone(),
        _ => format!("{}.{suffix}", g.name),
    };
    let shape = |cols: usize| -> Vec<usize> {
        match g.ids[0] {
            TensorId::Layer(_, LayerTensor::ConvKernel) if mlx => vec![g.rows, cols, 1],
            TensorId::Layer(_, LayerTensor::ConvKernel) => vec![g.rows, 1, cols],
            _ if g.stacked => vec![g.ids.len(), g.rows, cols],
            id if id.is_vector() => vec![cols],
            _ => vec![g.rows, cols],
        }
    };
    let array = |part: usize, suffix: &str, dtype: &'static str, cols: usize| Array {
        name: name(suffix),
        dtype,
        shape: shape(cols),
        bytes: g.bytes(part),
        group: index,
        part,
    };
    match g.storage {
        Storage::Affine { bits, group, float } => vec![
            array(0, "weight", "U32", g.cols * bits as usize / 32),
            array(1, "scales", dtype(float), g.cols / group),
            array(2, "biases", dtype(float), g.cols / group),
        ],
        Storage::Float(float) => vec![array(0, "weight", dtype(float), g.cols)],
        Storage::Q4_0 | Storage::Q8_0 | Storage::K(_) => {
            unreachable!("mixes of safetensors targets hold no GGUF blocks")
        }
    }
}

fn dtype(float: FloatType) -> &'static str {
    match float {
        FloatType::F32 => "F32",
        FloatType::F16 => "F16",
        FloatType::Bf16 => "BF16",
    }
}

/// Length, JSON, and spaces up to a multiple of 64 bytes.
fn header(arrays: &[Array], format: &str) -> Vec<u8> {
    let mut map = serde_json::Map::new();
    map.insert("__metadata__".into(), json!({"format": format}));
    let mut start = 0;
    for a in arrays {
        let end = start + a.bytes;
        map.insert(
            a.name.clone(),
            json!({"dtype": a.dtype, "shape": a.shape, "data_offsets": [start, end]}),
        );
        start = end;
    }
    let mut text = Json::Object(map).to_string().into_bytes();
    text.resize((text.len() + 8).next_multiple_of(64) - 8, b' ');
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    out.extend(text);
    out
}

/// The index of a model in several files.
pub(super) fn index(plan: &Plan) -> Option<Json> {
    if plan.files.iter().any(|f| f.name == SINGLE) {
        return None;
    }
    let mut map = serde_json::Map::new();
    let mut total = 0;
    for f in &plan.files {
        total += f.bytes - f.header.len() as u64;
        for name in &f.arrays {
            map.insert(name.clone(), json!(f.name));
        }
    }
    Some(json!({"metadata": {"total_size": total}, "weight_map": map}))
}
