//! A model in a GGUF file.

use std::collections::HashMap;
use std::path::Path;

use super::metadata::Metadata;
use super::reader::{GgmlType, TensorInfo, parse};
use crate::config::Config;
use crate::config::gguf::TensorFacts;
use crate::error::{Error, Result};
use crate::mapped::Mapped;
use crate::quant::{FloatType, KQuant, QuantLayout, QuantTensor, WeightData, WeightTensor, Zero};
use crate::tensor::{FfnPart, LayerTensor, TensorId};
use crate::weights::{Format, Location, Missing, TensorEntry, WeightSource};

/// The model. Every tensor was found and its shape checked when it was opened.
#[derive(Debug)]
pub struct Gguf {
    config: Config,
    file: Mapped,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
}

impl Gguf {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Mapped::open(path)?)
    }

    /// A file's contents in memory; `name` stands for it in errors.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self> {
        Self::new(Mapped::from_vec(name, bytes))
    }

    fn new(file: Mapped) -> Result<Self> {
        let parsed = parse(&file.path, file.bytes())?;
        let index: HashMap<String, usize> = parsed
            .tensors
            .iter()
            .enumerate()
            .map(|(i, t)| (t.name.clone(), i))
            .collect();
        let rows = |name: &str| Some(*parsed.tensors[*index.get(name)?].shape.first()?);
        let facts = TensorFacts {
            vocab_size: rows("token_embd.weight"),
            ffn_size: rows("blk.0.ffn_gate.weight"),
        };
        let mut config = Config::from_gguf(&parsed.metadata, facts)?;
        if index.contains_key("output.weight") {
            return Err(Error::tensor(
                &file.path,
                "output.weight",
                "is present: an output head apart from the embedding is not supported (no released member has one)",
            ));
        }
        if let Some(m) = &mut config.moe {
            let first = format!("blk.{}.exp_probs_b.bias", m.dense_layers);
            m.use_expert_bias = index.contains_key(&first);
        }
        let source = Self {
            config,
            metadata: parsed.metadata,
            tensors: parsed.tensors,
            index,
            file,
        };
        source.check()?;
        Ok(source)
    }

    /// The file's metadata: tokenizer and chat template live there.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn check(&self) -> Result<()> {
        let mut missing = Missing::default();
        for id in TensorId::walk(&self.config) {
            let (name, expert) = name(id);
            if self.index.contains_key(&name) {
                self.tensor(id)?;
            } else if expert.unwrap_or(0) == 0 && missing.add(name) {
                break;
            }
        }
        missing.report(&self.file.path, "convert the model again")
    }
}

/// The tensor that holds `id`, and the expert within it.
pub(crate) fn name(id: TensorId) -> (String, Option<usize>) {
    let (i, t) = match id {
        TensorId::Embedding => return ("token_embd.weight".to_owned(), None),
        TensorId::FinalNorm => return ("token_embd_norm.weight".to_owned(), None),
        TensorId::Layer(i, t) => (i, t),
    };
    let part = |p: FfnPart| match p {
        FfnPart::Gate => "gate",
        FfnPart::Up => "up",
        FfnPart::Down => "down",
    };
    let (suffix, expert) = match t {
        LayerTensor::OperatorNorm => ("attn_norm.weight".to_owned(), None),
        LayerTensor::FfnNorm => ("ffn_norm.weight".to_owned(), None),
        LayerTensor::ConvIn => ("shortconv.in_proj.weight".to_owned(), None),
        LayerTensor::ConvKernel => ("shortconv.conv.weight".to_owned(), None),
        LayerTensor::ConvOut => ("shortconv.out_proj.weight".to_owned(), None),
        LayerTensor::Query => ("attn_q.weight".to_owned(), None),
        LayerTensor::Key => ("attn_k.weight".to_owned(), None),
        LayerTensor::Value => ("attn_v.weight".to_owned(), None),
        LayerTensor::AttnOut => ("attn_output.weight".to_owned(), None),
        LayerTensor::QueryNorm => ("attn_q_norm.weight".to_owned(), None),
        LayerTensor::KeyNorm => ("attn_k_norm.weight".to_owned(), None),
        LayerTensor::Dense(p) => (format!("ffn_{}.weight", part(p)), None),
        LayerTensor::Router => ("ffn_gate_inp.weight".to_owned(), None),
        LayerTensor::ExpertBias => ("exp_probs_b.bias".to_owned(), None),
        LayerTensor::Expert(p, e) => (format!("ffn_{}_exps.weight", part(p)), Some(e)),
    };
    (format!("blk.{i}.{suffix}"), expert)
}

impl WeightSource for Gguf {
    fn locate(&self, id: TensorId) -> Option<Location> {
        let t = self.tensor(id).ok()?;
        let (name, _) = name(id);
        Location::of(&t, self.file.bytes(), &self.file.path, |_| Some(&name))
    }

    fn format(&self) -> Format {
        Format::Gguf
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn tensor(&self, id: TensorId) -> Result<WeightTensor<'_>> {
        let (name, expert) = name(id);
        let t = self
            .index
            .get(&name)
            .map(|i| &self.tensors[*i])
            .ok_or_else(|| Error::tensor(&self.file.path, &name, "is missing"))?;
        let [rows, cols] = id.shape(&self.config);
        let want = match expert {
            Some(_) => vec![self.config.moe().experts, rows, cols],
            None if id.is_vector() => vec![cols],
            None => vec![rows, cols],
        };
        // The conv kernel is [H, L]; a file may keep a middle axis of 1.
        let squeezed: Vec<usize> = t.shape.iter().copied().filter(|d| *d != 1).collect();
        if t.shape != want && squeezed != want {
            return Err(Error::tensor(
                &self.file.path,
                &name,
                format!(
                    "has shape {:?}; the metadata asks for {want:?} (at byte {})",
                    t.shape, t.start
                ),
            ));
        }
        let (per, size) = t.ty.block();
        let bytes = &self.file.bytes()[t.start..t.end];
        let slice = rows * cols / per * size;
        let bytes = &bytes[expert.unwrap_or(0) * slice..][..slice];
        let blocks = |bits, zero| {
            WeightData::Quant(QuantTensor {
                bits,
                group: 32,
                scale_type: FloatType::F16,
                zero,
                layout: QuantLayout::Blocks(bytes),
            })
        };
        let data = match t.ty {
            GgmlType::F32 => WeightData::Float(FloatType::F32, bytes),
            GgmlType::F16 => WeightData::Float(FloatType::F16, bytes),
            GgmlType::Bf16 => WeightData::Float(FloatType::Bf16, bytes),
            GgmlType::Q4_0 => blocks(4, Zero::Implied),
            GgmlType::Q8_0 => blocks(8, Zero::None),
            GgmlType::Q4K => WeightData::K(KQuant::Q4K, bytes),
            GgmlType::Q5K => WeightData::K(KQuant::Q5K, bytes),
            GgmlType::Q6K => WeightData::K(KQuant::Q6K, bytes),
        };
        Ok(WeightTensor { rows, cols, data })
    }

    fn entries(&self) -> Vec<TensorEntry> {
        self.tensors
            .iter()
            .map(|t| TensorEntry {
                name: t.name.clone(),
                shape: t.shape.iter().map(|d| *d as u64).collect(),
                dtype: t.ty.name().to_owned(),
                bytes: (t.end - t.start) as u64,
                file: self.file.path.clone(),
                offset: t.start as u64,
            })
            .collect()
    }
}
