//! From a path to a model.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::gguf::Gguf;
use crate::safetensors::Safetensors;
use crate::weights::WeightSource;

/// An opened model of either container.
#[derive(Debug)]
pub enum Opened {
    /// Hugging Face or MLX safetensors.
    Safetensors(Safetensors),
    /// GGUF.
    Gguf(Gguf),
}

impl Opened {
    /// The weights.
    pub fn weights(&self) -> &dyn WeightSource {
        match self {
            Self::Safetensors(s) => s,
            Self::Gguf(g) => g,
        }
    }
}

/// Opens a `.gguf` file, a directory with `config.json` and safetensors, or a directory that holds exactly
/// one `.gguf` file.
pub fn open(path: &Path) -> Result<Opened> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io(path, "cannot open", e))?;
    if !meta.is_dir() {
        let ending = path
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or("")
            .to_ascii_lowercase();
        if ending == "safetensors" {
            return Err(Error::file(
                path,
                "is one file of a model: give the directory that holds it and its config.json",
            ));
        }
        return Ok(Opened::Gguf(Gguf::open(path)?));
    }
    // A directory of GGUF files may keep the original config.json beside them.
    let has_config = path.join("config.json").exists();
    if has_config && Safetensors::lies_in(path) {
        return Ok(Opened::Safetensors(Safetensors::open(path)?));
    }
    let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, "cannot list", e))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| {
            p.extension()
                .is_some_and(|e| e.eq_ignore_ascii_case("gguf"))
        })
        .collect();
    files.sort();
    match &files[..] {
        [one] => Ok(Opened::Gguf(Gguf::open(one)?)),
        [] if has_config => Err(Error::file(
            path,
            "has a config.json but neither model.safetensors, model.safetensors.index.json nor a .gguf file",
        )),
        [] if Safetensors::lies_in(path) => Err(Error::file(
            path,
            "has safetensors but no config.json: download it too",
        )),
        [] => Err(Error::file(
            path,
            "holds neither a config.json nor a .gguf file: it is no model directory",
        )),
        [first, ..] => Err(Error::file(
            path,
            format!(
                "holds {} .gguf files: name one, such as {}",
                files.len(),
                first.display()
            ),
        )),
    }
}

/// Opens a safetensors model in memory: `config.json` and one file. `name` stands for it in errors.
pub fn open_safetensors_bytes(name: &str, config: &[u8], weights: &[u8]) -> Result<Safetensors> {
    Safetensors::from_bytes(name, config, weights.to_vec())
}

/// Opens a GGUF file in memory. `name` stands for it in errors.
pub fn open_gguf_bytes(name: &str, bytes: &[u8]) -> Result<Gguf> {
    Gguf::from_bytes(name, bytes.to_vec())
}
