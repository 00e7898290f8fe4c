//! GGUF files, version 3.

use super::Extras;
use super::mix::{Mix, storage};
use super::plan::{Group, Plan, PlannedFile, group};
use super::storage::Storage;
use super::tokenizer::GgufTokenizer;
use super::{Target, plan};
use crate::config::{Config, LayerKind};
use crate::error::Result;
use crate::gguf::{GgmlType, stored_name};
use crate::quant::{FloatType, KQuant};
use crate::tensor::TensorId;

/// Bytes to which every tensor is aligned (the format's default, so no key says it).
const ALIGNMENT: u64 = 32;

/// Value types of the container.
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Key–value pairs, encoded as they come.
#[derive(Default)]
struct Pairs {
    bytes: Vec<u8>,
    count: u64,
}

impl Pairs {
    fn key(&mut self, key: &str, ty: u32) {
        self.count += 1;
        put_string(key, &mut self.bytes);
        self.raw_u32(ty);
    }

    fn raw_u32(&mut self, v: u32) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    fn u32(&mut self, key: &str, v: usize) {
        self.key(key, U32);
        self.raw_u32(u32::try_from(v).unwrap_or(u32::MAX));
    }

    fn f32(&mut self, key: &str, v: f32) {
        self.key(key, F32);
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    fn bool(&mut self, key: &str, v: bool) {
        self.key(key, BOOL);
        self.bytes.push(v.into());
    }

    fn string(&mut self, key: &str, v: &str) {
        self.key(key, STRING);
        put_string(v, &mut self.bytes);
    }

    fn array(&mut self, key: &str, element: u32, n: usize) {
        self.key(key, ARRAY);
        self.raw_u32(element);
        self.bytes.extend_from_slice(&(n as u64).to_le_bytes());
    }

    fn integers(&mut self, key: &str, v: impl ExactSizeIterator<Item = i32>) {
        self.array(key, I32, v.len());
        v.for_each(|v| self.bytes.extend_from_slice(&v.to_le_bytes()));
    }

    fn strings(&mut self, key: &str, v: &[String]) {
        self.array(key, STRING, v.len());
        v.iter().for_each(|v| put_string(v, &mut self.bytes));
    }
}

fn put_string(s: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(s.len() as u64).to_le_bytes());
    out.extend_from_slice(s.as_bytes());
}

pub(super) fn plan(config: &Config, mix: Mix, file: &str, extras: &Extras) -> Result<Plan> {
    let target = Target::Gguf(mix);
    let groups = group(
        TensorId::walk(config),
        |id| {
            let (name, expert) = stored_name(id);
            (name, expert.is_some())
        },
        |id| storage(&target, config, id),
        |id| id.shape(config),
    );
    let mut pairs = Pairs::default();
    metadata(config, mix, extras, &mut pairs)?;

    let mut header = b"GGUF".to_vec();
    header.extend_from_slice(&3_u32.to_le_bytes());
    header.extend_from_slice(&(groups.len() as u64).to_le_bytes());
    header.extend_from_slice(&pairs.count.to_le_bytes());
    header.append(&mut pairs.bytes);
    let mut end = 0;
    let mut starts = Vec::new();
    for g in &groups {
        starts.push(end);
        info(g, end, &mut header);
        end = (end + g.bytes(0)).next_multiple_of(ALIGNMENT);
    }
    header.resize(header.len().next_multiple_of(ALIGNMENT as usize), 0);

    let mut plan = plan::Plan::default();
    let data = header.len() as u64;
    for (g, start) in groups.iter().zip(starts) {
        g.place([(0, data + start); 3], &mut plan.pieces);
    }
    plan.files.push(PlannedFile {
        name: file.to_owned(),
        bytes: data + end,
        header,
        arrays: groups.into_iter().map(|g| g.name).collect(),
    });
    Ok(plan)
}

/// A tensor's entry: name, dimensions (fastest first), type, offset.
fn info(g: &Group, offset: u64, out: &mut Vec<u8>) {
    put_string(&g.name, out);
    let mut dims = vec![g.cols];
    if !g.ids[0].is_vector() {
        dims.push(g.rows);
    }
    if g.stacked {
        dims.push(g.ids.len());
    }
    out.extend_from_slice(&(dims.len() as u32).to_le_bytes());
    for d in dims {
        out.extend_from_slice(&(d as u64).to_le_bytes());
    }
    out.extend_from_slice(&ggml(g.storage).id().to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
}

fn ggml(s: Storage) -> GgmlType {
    match s {
        Storage::Float(FloatType::F32) => GgmlType::F32,
        Storage::Float(FloatType::F16) => GgmlType::F16,
        Storage::Float(FloatType::Bf16) => GgmlType::Bf16,
        Storage::Q4_0 => GgmlType::Q4_0,
        Storage::Q8_0 => GgmlType::Q8_0,
        Storage::K(KQuant::Q4K) => GgmlType::Q4K,
        Storage::K(KQuant::Q5K) => GgmlType::Q5K,
        Storage::K(KQuant::Q6K) => GgmlType::Q6K,
        Storage::Affine { .. } => unreachable!("mixes of GGUF targets hold no MLX arrays"),
    }
}

fn metadata(c: &Config, mix: Mix, extras: &Extras, p: &mut Pairs) -> Result<()> {
    let arch = if c.moe.is_some() { "lfm2moe" } else { "lfm2" };
    let key = |s: &str| format!("{arch}.{s}");
    p.string("general.architecture", arch);
    p.string("general.type", "model");
    if let Some(name) = &extras.name {
        p.string("general.name", name);
    }
    p.u32("general.file_type", mix.file_type() as usize);
    p.u32("general.quantization_version", 2);
    p.u32(&key("block_count"), c.layers.len());
    p.u32(&key("context_length"), c.max_positions);
    p.u32(&key("embedding_length"), c.hidden_size);
    p.u32(&key("feed_forward_length"), c.ffn_size);
    p.u32(&key("attention.head_count"), c.heads);
    let kv = c.layers.iter().map(|k| match k {
        LayerKind::Conv => 0,
        LayerKind::Attention => c.kv_heads as i32,
    });
    p.integers(&key("attention.head_count_kv"), kv);
    p.u32(&key("attention.key_length"), c.head_dim);
    p.u32(&key("attention.value_length"), c.head_dim);
    p.f32(&key("attention.layer_norm_rms_epsilon"), c.norm_eps);
    p.f32(&key("rope.freq_base"), c.rope_theta as f32);
    p.u32(&key("vocab_size"), c.vocab_size);
    p.u32(&key("shortconv.l_cache"), c.conv_kernel);
    if let Some(m) = &c.moe {
        p.u32(&key("expert_count"), m.experts);
        p.u32(&key("expert_used_count"), m.experts_per_token);
        p.u32(&key("expert_feed_forward_length"), m.width);
        p.u32(&key("leading_dense_block_count"), m.dense_layers);
        p.u32(&key("expert_gating_func"), 2);
    }
    if let Some(json) = &extras.tokenizer_json {
        let t = GgufTokenizer::from_json(json, c.vocab_size)?;
        p.string("tokenizer.ggml.model", "gpt2");
        p.string("tokenizer.ggml.pre", "lfm2");
        p.strings("tokenizer.ggml.tokens", &t.tokens);
        p.integers("tokenizer.ggml.token_type", t.types.iter().copied());
        p.strings("tokenizer.ggml.merges", &t.merges);
        p.bool("tokenizer.ggml.add_bos_token", true);
        p.bool("tokenizer.ggml.add_eos_token", false);
    }
    p.u32("tokenizer.ggml.bos_token_id", c.bos_token as usize);
    p.u32("tokenizer.ggml.eos_token_id", c.eos_token as usize);
    p.u32("tokenizer.ggml.padding_token_id", c.pad_token as usize);
    if let Some(template) = &extras.chat_template {
        p.string("tokenizer.chat_template", template);
    }
    Ok(())
}
