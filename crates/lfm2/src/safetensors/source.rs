//! A model in one or several safetensors files, Hugging Face's or MLX's.

use std::collections::HashMap;
use std::path::Path;

use super::header::{Dtype, Entry, Header};
use super::names::{Place, places};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::mapped::Mapped;
use crate::quant::{QuantLayout, QuantTensor, WeightData, WeightTensor, Zero};
use crate::tensor::{LayerTensor, TensorId};
use crate::weights::{Format, Location, Missing, TensorEntry, WeightSource};

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

struct Shard {
    file: Mapped,
    header: Header,
}

/// The model. Every tensor was found and its shape checked when it was opened.
pub struct Safetensors {
    config: Config,
    format: Format,
    shards: Vec<Shard>,
    /// Name → shard.
    index: HashMap<String, usize>,
}

impl std::fmt::Debug for Safetensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Safetensors({} files, {} tensors)",
            self.shards.len(),
            self.index.len()
        )
    }
}

impl Safetensors {
    /// Whether `dir` has weights under the names [`Self::open`] looks for.
    pub(crate) fn lies_in(dir: &Path) -> bool {
        dir.join(INDEX).is_file() || dir.join(SINGLE).is_file()
    }

    /// Opens the safetensors files of a model directory that has a `config.json`.
    pub fn open(dir: &Path) -> Result<Self> {
        let config = Config::from_file(&dir.join("config.json"))?;
        let files = files(dir)?
            .iter()
            .map(|p| Mapped::open(p))
            .collect::<Result<_>>()?;
        Self::new(config, files)
    }

    /// A model in memory: `config.json` and one safetensors file. `name` stands for it in errors.
    pub fn from_static(name: &str, config: &[u8], weights: &'static [u8]) -> Result<Self> {
        let config = Config::from_json(config, &format!("{name}/config.json"))?;
        Self::new(
            config,
            vec![Mapped::from_static(
                &format!("{name}/model.safetensors"),
                weights,
            )],
        )
    }

    /// A model in memory, as [`Self::from_static`], of bytes that are not part of the program.
    pub fn from_bytes(name: &str, config: &[u8], weights: Vec<u8>) -> Result<Self> {
        let config = Config::from_json(config, &format!("{name}/config.json"))?;
        Self::new(
            config,
            vec![Mapped::from_vec(
                &format!("{name}/model.safetensors"),
                weights,
            )],
        )
    }

    fn new(config: Config, files: Vec<Mapped>) -> Result<Self> {
        let mut shards = Vec::new();
        let mut index = HashMap::new();
        for file in files {
            let header = Header::parse(&file.path, file.bytes())?;
            for e in &header.entries {
                if let Some(first) = index.insert(e.name.clone(), shards.len()) {
                    let first: &Shard = &shards[first];
                    return Err(Error::tensor(
                        &file.path,
                        &e.name,
                        format!("is also in {}", first.file.path.display()),
                    ));
                }
            }
            shards.push(Shard { file, header });
        }
        let mlx = shards
            .iter()
            .any(|s| s.header.metadata.get("format").is_some_and(|f| f == "mlx"));
        let source = Self {
            format: if mlx || config.quantization.is_some() {
                Format::Mlx
            } else {
                Format::HuggingFace
            },
            config,
            shards,
            index,
        };
        source.check()?;
        Ok(source)
    }

    /// Finds every tensor once, so that later reads cannot fail.
    fn check(&self) -> Result<()> {
        let mut missing = Missing::default();
        for id in TensorId::walk(&self.config) {
            match self.find(id) {
                Ok(_) => {}
                Err(Failure::Missing(name)) => {
                    if missing.add(name) {
                        break;
                    }
                }
                Err(Failure::Wrong(e)) => return Err(e),
            }
        }
        let path = self
            .shards
            .first()
            .map_or(Path::new("model"), |s| &s.file.path);
        missing.report(
            path,
            "the download is incomplete, or config.json belongs to another model",
        )
    }

    fn get(&self, name: &str) -> Option<(&Shard, &Entry)> {
        let shard = &self.shards[*self.index.get(name)?];
        Some((shard, shard.header.get(name)?))
    }

    fn find(&self, id: TensorId) -> Result<WeightTensor<'_>, Failure> {
        let places = places(&self.config, id);
        for place in &places {
            let found = match place {
                Place::Own(module) => self.module(module, id, None),
                Place::Stacked { module, index } => self.module(module, id, Some(*index)),
                Place::Fused { name, index, first } => self.fused(name, id, *index, *first),
            };
            if let Some(t) = found? {
                return Ok(t);
            }
        }
        let name = match &places[0] {
            Place::Own(n) if matches!(id, TensorId::Layer(_, LayerTensor::ExpertBias)) => n.clone(),
            Place::Own(n) | Place::Stacked { module: n, .. } => format!("{n}.weight"),
            Place::Fused { name, .. } => name.clone(),
        };
        Err(Failure::Missing(name))
    }

    /// The tensor of `module`, plain or quantised; `index` picks a slice of a stack.
    fn module(
        &self,
        module: &str,
        id: TensorId,
        index: Option<usize>,
    ) -> Result<Option<WeightTensor<'_>>, Failure> {
        let weight = format!("{module}.weight");
        let bare = matches!(id, TensorId::Layer(_, LayerTensor::ExpertBias));
        let name = if bare { module } else { &weight };
        let Some((shard, e)) = self.get(name) else {
            return Ok(None);
        };
        let [rows, cols] = id.shape(&self.config);
        match e.dtype {
            Dtype::Float(float) => {
                let bytes = self.slice(shard, e, id, index, rows, cols)?;
                Ok(Some(WeightTensor {
                    rows,
                    cols,
                    data: WeightData::Float(float, bytes),
                }))
            }
            Dtype::U32 => self.quantised(module, shard, e, id, index).map(Some),
        }
    }

    /// MLX's three arrays.
    fn quantised(
        &self,
        module: &str,
        shard: &Shard,
        e: &Entry,
        id: TensorId,
        index: Option<usize>,
    ) -> Result<WeightTensor<'_>, Failure> {
        let wrong =
            |name: &str, what: String| Failure::Wrong(Error::tensor(&shard.file.path, name, what));
        let Some(rule) = self
            .config
            .quantization
            .as_ref()
            .and_then(|q| q.for_module(module))
        else {
            return Err(wrong(
                &e.name,
                "holds quantised codes but config.json has no quantization for it".to_owned(),
            ));
        };
        let [rows, cols] = id.shape(&self.config);
        if !cols.is_multiple_of(rule.group) {
            return Err(wrong(
                &e.name,
                format!(
                    "has {cols} inputs, no multiple of its group of {}",
                    rule.group
                ),
            ));
        }
        let (codes_shard, codes_entry) =
            self.get(&e.name).ok_or(Failure::Missing(e.name.clone()))?;
        let codes = self.slice(
            codes_shard,
            codes_entry,
            id,
            index,
            rows,
            cols * rule.bits as usize / 32,
        )?;
        let part = |suffix: &str| -> Result<(crate::quant::FloatType, &[u8]), Failure> {
            let name = format!("{module}.{suffix}");
            let (shard, e) = self.get(&name).ok_or(Failure::Missing(name.clone()))?;
            let Dtype::Float(float) = e.dtype else {
                return Err(wrong(
                    &name,
                    format!("has type {}; expected a float", e.dtype.name()),
                ));
            };
            Ok((
                float,
                self.slice(shard, e, id, index, rows, cols / rule.group)?,
            ))
        };
        let (scale_type, scales) = part("scales")?;
        let (zero_type, zeros) = part("biases")?;
        if zero_type != scale_type {
            return Err(wrong(
                &format!("{module}.biases"),
                "has another type than its scales".to_owned(),
            ));
        }
        let tensor = QuantTensor {
            bits: rule.bits,
            group: rule.group,
            scale_type,
            zero: Zero::Stored(zeros),
            layout: QuantLayout::Separate { codes, scales },
        };
        Ok(WeightTensor {
            rows,
            cols,
            data: WeightData::Quant(tensor),
        })
    }

    /// Rows of `gate_up_proj` or a slice of `down_proj`.
    fn fused(
        &self,
        name: &str,
        id: TensorId,
        index: usize,
        first: usize,
    ) -> Result<Option<WeightTensor<'_>>, Failure> {
        let Some((shard, e)) = self.get(name) else {
            return Ok(None);
        };
        let [rows, cols] = id.shape(&self.config);
        let m = self.config.moe();
        let per = if name.ends_with("gate_up_proj") {
            2 * m.width
        } else {
            rows
        };
        let Dtype::Float(float) = e.dtype else {
            return Err(Failure::Wrong(Error::tensor(
                &shard.file.path,
                name,
                format!("has type {}; expected a float", e.dtype.name()),
            )));
        };
        expect_shape(shard, e, &[m.experts, per, cols])?;
        let at = e.start + (index * per + first) * cols * float.size();
        let bytes = &shard.file.bytes()[at..at + rows * cols * float.size()];
        Ok(Some(WeightTensor {
            rows,
            cols,
            data: WeightData::Float(float, bytes),
        }))
    }

    /// The bytes of `e` as `[rows, cols]` (in its own elements), or of slice `index` of a stack of them.
    fn slice<'a>(
        &self,
        shard: &'a Shard,
        e: &Entry,
        id: TensorId,
        index: Option<usize>,
        rows: usize,
        cols: usize,
    ) -> Result<&'a [u8], Failure> {
        let size = e.dtype.size();
        match (index, id) {
            (Some(i), _) => {
                expect_shape(shard, e, &[self.config.moe().experts, rows, cols])?;
                let at = e.start + i * rows * cols * size;
                Ok(&shard.file.bytes()[at..at + rows * cols * size])
            }
            (None, TensorId::Layer(_, LayerTensor::ConvKernel)) => {
                // Hugging Face stores [H, 1, L], MLX [H, L, 1]: the same bytes.
                let ok = e.shape == [rows, 1, cols] || e.shape == [rows, cols, 1];
                if !ok {
                    expect_shape(shard, e, &[rows, 1, cols])?;
                }
                Ok(&shard.file.bytes()[e.start..e.end])
            }
            (None, _) => {
                let flat = [cols];
                let full = [rows, cols];
                expect_shape(shard, e, if id.is_vector() { &flat } else { &full })?;
                Ok(&shard.file.bytes()[e.start..e.end])
            }
        }
    }
}

enum Failure {
    Missing(String),
    Wrong(Error),
}

fn expect_shape(shard: &Shard, e: &Entry, want: &[usize]) -> Result<(), Failure> {
    if e.shape == want {
        return Ok(());
    }
    Err(Failure::Wrong(Error::tensor(
        &shard.file.path,
        &e.name,
        format!(
            "has shape {:?}; config.json asks for {want:?} (at byte {})",
            e.shape, e.start
        ),
    )))
}

impl WeightSource for Safetensors {
    fn locate(&self, id: TensorId) -> Option<Location> {
        let t = self.find(id).ok()?;
        self.shards
            .iter()
            .find_map(|s| Location::of(&t, s.file.bytes(), &s.file.path, |at| s.header.at(at)))
    }

    fn format(&self) -> Format {
        self.format
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn tensor(&self, id: TensorId) -> Result<WeightTensor<'_>> {
        self.find(id).map_err(|f| match f {
            Failure::Wrong(e) => e,
            Failure::Missing(name) => {
                Error::tensor(Path::new("model"), name, "is missing".to_owned())
            }
        })
    }

    fn entries(&self) -> Vec<TensorEntry> {
        self.shards
            .iter()
            .flat_map(|s| {
                s.header.entries.iter().map(|e| TensorEntry {
                    name: e.name.clone(),
                    shape: e.shape.iter().map(|d| *d as u64).collect(),
                    dtype: e.dtype.name().to_owned(),
                    bytes: (e.end - e.start) as u64,
                    file: s.file.path.clone(),
                    offset: e.start as u64,
                })
            })
            .collect()
    }
}

/// The weight files of a directory: those an index names, or the single file.
fn files(dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let index = dir.join(INDEX);
    if index.is_file() {
        let text = std::fs::read(&index).map_err(|e| Error::io(&index, "cannot read", e))?;
        let json: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|e| Error::file(&index, format!("is not JSON: {e}")))?;
        let map = json
            .get("weight_map")
            .and_then(serde_json::Value::as_object)
            .ok_or_else(|| Error::file(&index, "has no weight_map object"))?;
        let mut names: Vec<&str> = Vec::new();
        for v in map.values() {
            let name = v.as_str().unwrap_or("");
            // A shard lies beside its index: a path that leads elsewhere is not followed.
            if name.is_empty() || Path::new(name).components().count() != 1 || name == ".." {
                return Err(Error::file(
                    &index,
                    format!("names {v} as a file; expected a file name"),
                ));
            }
            names.push(name);
        }
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(Error::file(&index, "names no files"));
        }
        return Ok(names.into_iter().map(|n| dir.join(n)).collect());
    }
    let single = dir.join(SINGLE);
    if single.is_file() {
        return Ok(vec![single]);
    }
    Err(Error::file(
        dir,
        "has a config.json but neither model.safetensors nor model.safetensors.index.json",
    ))
}
