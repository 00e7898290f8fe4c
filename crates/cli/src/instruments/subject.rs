//! What is measured or reckoned with: a model's configuration and the bytes its weights take, with files
//! behind them or without.

use std::path::{Path, PathBuf};

use cpu::Cpu;
use lfm2::shapes::{Scheme, Storage, TokenBytes};
use lfm2::synth::{self, Recipe};
use lfm2::write::{Target, WriteOptions};
use lfm2::{Config, TensorId, family};

use crate::Failure;
use crate::args::SynthFormat;
use crate::commands::{stored_types, synth_config, synth_target};
use crate::loaded::{Files, fingerprint};
use crate::model_path::find;
use crate::settings::Settings;
use crate::terminal::Progress;

/// A model, as far as speeds and ceilings need it.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// Container and main storage type, or the nominal scheme.
    pub(crate) format: String,
    pub(crate) config: Config,
    weights: Weights,
    /// Removed when the files in it, made only for this, are closed: it stands last.
    _scratch: Option<Scratch>,
}

enum Weights {
    /// Files.
    Files(Box<Files>),
    /// Arithmetic only.
    Nominal(Scheme),
}

/// A directory that goes when it is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Bytes as stored.
struct Stored<'a>(&'a Weights);

impl Storage for Stored<'_> {
    fn bytes(&self, id: TensorId, rows: usize, cols: usize) -> f64 {
        match self.0 {
            Weights::Nominal(s) => s.bytes(id, rows, cols),
            Weights::Files(f) => crate::commands::Stored(f.opened.weights()).bytes(id, rows, cols),
        }
    }
}

impl Subject {
    /// A model with files, or built in.
    pub(crate) fn open(name: Option<&str>, settings: &Settings) -> Result<Self, Failure> {
        Ok(Self::from_files(Files::open(name, settings)?, None))
    }

    fn from_files(files: Files, scratch: Option<Scratch>) -> Self {
        let source = files.opened.weights();
        let main = stored_types(source)
            .ok()
            .and_then(|t| Some(t.into_iter().next()?.0));
        let container = source.format().name();
        Self {
            name: files.name.clone(),
            format: main.map_or_else(|| container.to_owned(), |m| format!("{container} {m}")),
            config: files.config().clone(),
            weights: Weights::Files(Box::new(files)),
            _scratch: scratch,
        }
    }

    /// For arithmetic: a model with files, or a member of the family without. `scheme` replaces what the
    /// files store.
    pub(crate) fn for_arithmetic(
        name: Option<&str>,
        scheme: Option<Scheme>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let here = find(name, settings);
        if let (Err(_), Some(name)) = (&here, name)
            && let Some(config) = family::preset(name)
        {
            let scheme = scheme.unwrap_or(Scheme::Mlx { bits: 4, group: 64 });
            return Ok(Self::nominal(name.to_ascii_lowercase(), config, scheme));
        }
        if let (Err(Failure::Usage(_)), Some(name)) = (&here, name) {
            return Err(Failure::Usage(format!(
                "{name:?}: no such file or directory, nothing of that name in {}, and no member of the \
                 family ({})",
                settings.model_dir.value.display(),
                family::NAMES.join(", ")
            )));
        }
        let found = Self::open(name, settings)?;
        Ok(match scheme {
            Some(s) => Self::nominal(found.name, found.config, s),
            None => found,
        })
    }

    fn nominal(name: String, config: Config, scheme: Scheme) -> Self {
        Self {
            name,
            format: scheme_name(scheme),
            config,
            weights: Weights::Nominal(scheme),
            _scratch: None,
        }
    }

    /// A model of random weights, made for this run and gone after it.
    ///
    /// The one place to change when a backend can fill its own layout: until then the weights pass through
    /// files in the temporary directory.
    pub(crate) fn synthetic(
        name: &str,
        format: SynthFormat,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let config = synth_config(name)?;
        let target = synth_target(&config, format, false);
        let scratch =
            Scratch(std::env::temp_dir().join(format!("molten-bench-{}", std::process::id())));
        let short = Path::new(name)
            .file_name()
            .map_or_else(|| name.to_owned(), |n| n.to_string_lossy().into_owned());
        let ending = if matches!(target, Target::Gguf(_)) {
            ".gguf"
        } else {
            ""
        };
        let path = scratch.0.join(format!("synthetic-{short}{ending}"));
        let bar = std::sync::Mutex::new(Progress::new("making random weights"));
        let progress = |done: u64, total: u64| {
            if let Ok(mut bar) = bar.lock() {
                bar.update(done, total);
            }
            true
        };
        let options = WriteOptions {
            threads: cpu::team::allowed_processors().len(),
            progress: &progress,
        };
        synth::write(&path, &config, &target, Recipe::default(), name, options)?;
        let files = Files::open(path.to_str(), settings)?;
        let mut s = Self::from_files(files, Some(scratch));
        s.name = format!("synthetic-{short}");
        Ok(s)
    }

    /// Bytes one decoded token moves after `context` earlier positions.
    pub(crate) fn token_bytes(&self, context: usize) -> TokenBytes {
        self.config.bytes_per_token(&Stored(&self.weights), context)
    }

    /// Bytes a prompt moves at least.
    pub(crate) fn prefill_bytes(&self, tokens: usize, depth: usize) -> f64 {
        self.config
            .prefill_bytes(&Stored(&self.weights), tokens, depth)
    }

    /// Stored bits a weight, all tensors together.
    pub(crate) fn bits(&self) -> f64 {
        8.0 * self.config.weight_bytes(&Stored(&self.weights)) / self.config.parameters() as f64
    }

    /// Tells one set of weights from another; only where there are weights.
    pub(crate) fn hash(&self) -> Option<String> {
        self.files().map(fingerprint)
    }

    /// The files, where there are any.
    pub(crate) fn files(&self) -> Option<&Files> {
        match &self.weights {
            Weights::Files(f) => Some(f),
            Weights::Nominal(_) => None,
        }
    }

    /// What `--model` must be for another process to open the same model; `None` is the built-in one.
    pub(crate) fn reopen(&self) -> Option<&Path> {
        self.files().and_then(Files::path)
    }

    /// Loads it onto the device.
    pub(crate) fn load(&self, settings: &Settings) -> Result<Cpu, Failure> {
        match self.files() {
            Some(f) => f.load(settings),
            None => Err(Failure::Usage(format!("{} has no weights here", self.name))),
        }
    }
}

/// How a nominal scheme is called.
pub(crate) fn scheme_name(s: Scheme) -> String {
    match s {
        Scheme::Mlx { bits, group } => format!("mlx {bits} bits, group {group} (nominal)"),
        Scheme::Bf16 => "bf16 (nominal)".to_owned(),
        Scheme::F32 => "f32 (nominal)".to_owned(),
        Scheme::Q4_0 => "gguf Q4_0 (nominal)".to_owned(),
        Scheme::Q8_0 => "gguf Q8_0 (nominal)".to_owned(),
    }
}
