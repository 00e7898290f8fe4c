//! A model ready to answer: weights on a device, tokenizer, template, defaults.

use std::path::Path;

use cpu::fit::Fit;
use cpu::{Cpu, Options};
use engine::{Backend as _, Sampling};
use lfm2::chat::ChatTemplate;
use lfm2::{Config, Opened, Tokenizer};
use serde::Deserialize;

use crate::Failure;
use crate::args::SamplingArgs;
use crate::model_path::{Place, find};
use crate::settings::Settings;
use crate::terminal::{Progress, note};

/// Context taken when nobody says how much: enough for a long chat, small enough for any machine.
const DEFAULT_CONTEXT: usize = 8192;

/// `generation_config.json`, as far as it says how to sample.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct GenerationConfig {
    do_sample: Option<bool>,
    temperature: Option<f32>,
    top_k: Option<usize>,
    top_p: Option<f32>,
    min_p: Option<f32>,
    repetition_penalty: Option<f32>,
    eos_token_id: Option<serde_json::Value>,
}

/// A model's files, opened but not loaded.
pub(crate) struct Files {
    pub(crate) name: String,
    pub(crate) opened: Opened,
    place: Place,
}

impl Files {
    pub(crate) fn open(name: Option<&str>, settings: &Settings) -> Result<Self, Failure> {
        let place = find(name, settings)?;
        let (name, opened) = match &place {
            #[cfg(feature = "spark")]
            Place::Embedded => {
                let s = lfm2::safetensors::Safetensors::from_static(
                    "spark",
                    crate::spark::CONFIG,
                    crate::spark::WEIGHTS,
                )?;
                ("spark".to_owned(), Opened::Safetensors(s))
            }
            #[cfg(not(feature = "spark"))]
            Place::Embedded => unreachable!("this build embeds nothing"),
            Place::Path(p) => (short_name(p), lfm2::open(p)?),
        };
        Ok(Self {
            name,
            opened,
            place,
        })
    }

    /// Where they lie; `None` for the embedded model.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Embedded => None,
            Place::Path(p) => Some(p),
        }
    }

    pub(crate) fn config(&self) -> &Config {
        self.opened.weights().config()
    }

    /// Tokenizer, template and sampling defaults.
    pub(crate) fn text(&self) -> Result<(Tokenizer, ChatTemplate, GenerationConfig), Failure> {
        let (mut tokenizer, template, generation) = match (&self.opened, &self.place) {
            #[cfg(feature = "spark")]
            (_, Place::Embedded) => {
                let t = Tokenizer::from_json(crate::spark::TOKENIZER, "spark/tokenizer.json")?;
                let template = ChatTemplate::new(crate::spark::TEMPLATE, &t)?;
                (
                    t,
                    template,
                    generation(crate::spark::GENERATION, "spark/generation_config.json")?,
                )
            }
            #[cfg(not(feature = "spark"))]
            (_, Place::Embedded) => unreachable!("this build embeds nothing"),
            (Opened::Gguf(g), _) => {
                let t = Tokenizer::from_gguf(g.metadata())?;
                let template = ChatTemplate::from_gguf(g.metadata(), &t)?;
                (t, template, GenerationConfig::default())
            }
            (Opened::Safetensors(_), Place::Path(dir)) => {
                let t = Tokenizer::from_dir(dir)?;
                let template = ChatTemplate::from_dir(dir, &t)?;
                let path = dir.join("generation_config.json");
                let generation = match std::fs::read(&path) {
                    Ok(bytes) => generation(&bytes, &path.display().to_string())?,
                    Err(_) => GenerationConfig::default(),
                };
                (t, template, generation)
            }
        };
        let more = match &generation.eos_token_id {
            Some(serde_json::Value::Array(ids)) => {
                ids.iter().filter_map(serde_json::Value::as_u64).collect()
            }
            Some(v) => v.as_u64().into_iter().collect::<Vec<_>>(),
            None => Vec::new(),
        };
        tokenizer.add_ends(
            more.into_iter()
                .map(|t| t as u32)
                .chain([self.config().eos_token]),
        );
        if tokenizer.vocab_size() > self.config().vocab_size {
            return Err(lfm2::Error::Tokenizer {
                origin: self.name.clone(),
                what: format!(
                    "has {} tokens but the model {}: they belong to different models",
                    tokenizer.vocab_size(),
                    self.config().vocab_size
                ),
            }
            .into());
        }
        Ok((tokenizer, template, generation))
    }

    /// Checks that the model fits and loads it.
    pub(crate) fn load(&self, settings: &Settings) -> Result<Cpu, Failure> {
        let limit = self.config().max_positions;
        let context = settings.context.value.unwrap_or(DEFAULT_CONTEXT.min(limit));
        if context > limit {
            return Err(Failure::Usage(format!(
                "--context is {context}; {} was made for at most {limit}",
                self.name
            )));
        }
        let fit = Fit::new(self.opened.weights(), context);
        if !fit.fits() {
            note(fit.table().trim_end());
            let todo = match fit.largest {
                Some(n) => format!("the largest context that fits is {n}: give --context {n}"),
                None => {
                    "the weights alone do not fit: take a smaller model or fewer bits".to_owned()
                }
            };
            return Err(engine::Error::Memory {
                what: self.name.clone(),
                todo,
            }
            .into());
        }
        let mut progress = Progress::new(format!("loading {}", self.name));
        let options = Options {
            threads: settings.threads.value,
            isa: settings.isa.value,
            context,
            precision: settings.precision.value,
        };
        let backend = Cpu::new(self.opened.weights(), &options, &mut |done, total| {
            progress.update(done as u64, total as u64);
        })?;
        Ok(backend)
    }
}

/// Everything a conversation needs.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) template: ChatTemplate,
    pub(crate) backend: Cpu,
    generation: GenerationConfig,
    temperature: Option<f32>,
    /// Names the weights for saved sessions.
    pub(crate) fingerprint: String,
}

impl Loaded {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Failure> {
        let files = Files::open(settings.model.value.as_deref(), settings)?;
        let (tokenizer, template, generation) = files.text()?;
        let fingerprint = fingerprint(&files);
        let backend = files.load(settings)?;
        Ok(Self {
            name: files.name,
            tokenizer,
            template,
            generation,
            temperature: settings.temperature.value,
            fingerprint: format!("{fingerprint} cpu {}", backend.device().isa),
            backend,
        })
    }

    /// What was typed, else what the model asks for, else what LiquidAI recommends for the family.
    pub(crate) fn sampling(&self, args: &SamplingArgs) -> Result<Sampling, Failure> {
        let g = &self.generation;
        let own = g.temperature.is_some() || g.do_sample.is_some();
        let greedy = g.do_sample == Some(false);
        let model_temperature = if greedy { Some(0.0) } else { g.temperature };
        let s = Sampling {
            temperature: args
                .temperature
                .or(self.temperature)
                .or(model_temperature)
                .unwrap_or(if own { 1.0 } else { 0.3 }),
            top_k: args.top_k.or(g.top_k).unwrap_or(0),
            top_p: args.top_p.or(g.top_p).unwrap_or(1.0),
            min_p: args
                .min_p
                .or(g.min_p)
                .unwrap_or(if own { 0.0 } else { 0.15 }),
            repetition_penalty: args
                .repetition_penalty
                .or(g.repetition_penalty)
                .unwrap_or(if own { 1.0 } else { 1.05 }),
            presence_penalty: args.presence_penalty.unwrap_or(0.0),
            frequency_penalty: args.frequency_penalty.unwrap_or(0.0),
            logit_bias: args.logit_bias.clone(),
            seed: args.seed.unwrap_or_else(clock_seed),
        };
        s.validate().map_err(|e| Failure::Usage(e.to_string()))?;
        Ok(s)
    }
}

fn clock_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |d| d.as_nanos() as u64)
}

fn generation(bytes: &[u8], origin: &str) -> Result<GenerationConfig, Failure> {
    serde_json::from_slice(bytes).map_err(|e| {
        lfm2::Error::config(origin, "(whole file)", format!("is not as expected: {e}")).into()
    })
}

fn short_name(p: &Path) -> String {
    let p = p.canonicalize().unwrap_or_else(|_| p.to_owned());
    p.file_name().map_or_else(
        || p.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    )
}

/// Name, shapes and sizes of all tensors, and a few bytes of each, hashed: tells one set of weights from
/// another without reading gigabytes.
pub(crate) fn fingerprint(files: &Files) -> String {
    let source = files.opened.weights();
    let mut h: u64 = 0xcbf2_9ce4_8422_2325;
    let mut eat = |b: &[u8]| {
        for b in b {
            h = (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for e in source.entries() {
        eat(e.name.as_bytes());
        eat(e.dtype.as_bytes());
        eat(&e.bytes.to_le_bytes());
    }
    for id in lfm2::TensorId::all(source.config()) {
        if let Ok(t) = source.tensor(id) {
            let mut row = vec![0.0; t.cols];
            t.row_f32(t.rows / 2, &mut row);
            row.iter()
                .step_by(1 + t.cols / 16)
                .for_each(|v| eat(&v.to_le_bytes()));
        }
    }
    format!("{h:016x}")
}
