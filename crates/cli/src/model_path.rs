//! From what `--model` says to a place on disk.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::settings::Settings;

/// Where a model is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Compiled into this binary.
    #[cfg_attr(not(feature = "spark"), allow(dead_code))]
    Embedded,
    /// A directory or file.
    Path(PathBuf),
}

/// Finds the model `name`: a path as it stands (`~` expanded), else an entry of the model directory.
pub(crate) fn find(name: Option<&str>, settings: &Settings) -> Result<Place, Failure> {
    let Some(name) = name else {
        #[cfg(feature = "spark")]
        return Ok(Place::Embedded);
        #[cfg(not(feature = "spark"))]
        return Err(Failure::Usage(
            "this build has no embedded model: give one with --model".to_owned(),
        ));
    };
    #[cfg(feature = "spark")]
    if name == "spark" {
        return Ok(Place::Embedded);
    }
    let path = expand(name);
    if path.exists() {
        return Ok(Place::Path(path));
    }
    let dir = &settings.model_dir.value;
    for candidate in [dir.join(name), dir.join(format!("{name}.gguf"))] {
        if candidate.exists() {
            return Ok(Place::Path(candidate));
        }
    }
    Err(Failure::Usage(format!(
        "--model {name:?}: no such file or directory, and {} has no model of that name",
        dir.display()
    )))
}

fn expand(name: &str) -> PathBuf {
    match name
        .strip_prefix("~/")
        .and_then(|rest| Some(Path::new(&std::env::var_os("HOME")?).join(rest)))
    {
        Some(p) => p,
        None => PathBuf::from(name),
    }
}
