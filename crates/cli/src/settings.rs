//! Where a setting comes from: a flag, then the environment, then the config file, then a default.

use std::path::PathBuf;

use serde::Deserialize;

use crate::Failure;
use crate::args::ModelArgs;

/// The config file's contents.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigFile {
    pub(crate) model: Option<String>,
    pub(crate) device: Option<String>,
    pub(crate) context: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) isa: Option<String>,
    pub(crate) precision: Option<String>,
    pub(crate) temperature: Option<f32>,
    pub(crate) model_dir: Option<PathBuf>,
}

/// A value and where it was set.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: &'static str,
}

/// The plan.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) model: Setting<Option<String>>,
    pub(crate) device: Setting<Device>,
    pub(crate) context: Setting<Option<usize>>,
    pub(crate) threads: Setting<Option<usize>>,
    pub(crate) isa: Setting<Option<cpu::Isa>>,
    pub(crate) precision: Setting<cpu::Precision>,
    pub(crate) temperature: Setting<Option<f32>>,
    pub(crate) model_dir: Setting<PathBuf>,
    pub(crate) config_path: Option<PathBuf>,
    pub(crate) config_found: bool,
}

/// Where to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    /// The best there is.
    Auto,
    /// The processor.
    Cpu,
}

/// Where the config file lies on this system.
fn config_path() -> Option<PathBuf> {
    if let Some(p) = std::env::var_os("MOLTEN_CONFIG") {
        return Some(p.into());
    }
    use etcetera::BaseStrategy as _;
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("molten").join("config.toml"))
}

/// The folder for data such as models and history.
pub(crate) fn data_dir() -> PathBuf {
    use etcetera::BaseStrategy as _;
    etcetera::choose_base_strategy().map_or_else(
        |_| PathBuf::from(".molten"),
        |b| b.data_dir().join("molten"),
    )
}

impl Settings {
    /// Merges what was typed with the environment (already in `args`, by clap) and the config file.
    pub(crate) fn new(args: &ModelArgs) -> Result<Self, Failure> {
        let path = config_path();
        let (file, found) = match &path {
            None => (ConfigFile::default(), false),
            Some(p) => match std::fs::read_to_string(p) {
                Ok(text) => {
                    let file = toml::from_str(&text).map_err(|e| {
                        let line = e
                            .span()
                            .map_or(0, |s| text[..s.start].matches('\n').count() + 1);
                        Failure::Usage(format!("{}: line {line}: {}", p.display(), e.message()))
                    })?;
                    (file, true)
                }
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    (ConfigFile::default(), false)
                }
                Err(e) => return Err(Failure::Usage(format!("{}: cannot read: {e}", p.display()))),
            },
        };
        let ConfigFile {
            model,
            device,
            context,
            threads,
            isa,
            precision,
            temperature,
            model_dir,
        } = file;
        let device = pick(args.device.clone(), "MOLTEN_DEVICE", device);
        let isa = pick(args.isa.clone(), "MOLTEN_ISA", isa);
        let precision = pick(args.precision.clone(), "MOLTEN_PRECISION", precision);
        let env_dir = std::env::var_os("MOLTEN_MODEL_DIR").map(PathBuf::from);
        let threads = pick(args.threads, "MOLTEN_THREADS", threads);
        if threads.value == Some(0) {
            return Err(Failure::Usage(
                "--threads is 0; expected at least 1".to_owned(),
            ));
        }
        let context = pick(args.context, "MOLTEN_CONTEXT", context);
        if context.value == Some(0) {
            return Err(Failure::Usage(
                "--context is 0; expected at least 1".to_owned(),
            ));
        }
        Ok(Self {
            model: pick(args.model.clone(), "MOLTEN_MODEL", model),
            device: Setting {
                value: parse_device(device.value.as_deref())?,
                origin: device.origin,
            },
            context,
            threads,
            isa: Setting {
                value: parse_isa(isa.value.as_deref())?,
                origin: isa.origin,
            },
            precision: Setting {
                value: parse_precision(precision.value.as_deref())?,
                origin: precision.origin,
            },
            temperature: pick(None, "MOLTEN_TEMPERATURE", temperature),
            model_dir: match (env_dir, model_dir) {
                (Some(d), _) => Setting {
                    value: d,
                    origin: "environment",
                },
                (None, Some(d)) => Setting {
                    value: d,
                    origin: "config file",
                },
                (None, None) => Setting {
                    value: data_dir().join("models"),
                    origin: "default",
                },
            },
            config_path: path,
            config_found: found,
        })
    }
}

/// clap merges flag and environment into `typed`; which of the two it was shows in the environment.
fn pick<T>(typed: Option<T>, variable: &str, file: Option<T>) -> Setting<Option<T>> {
    let flag = |v: &str| std::env::args().any(|a| a.starts_with(v));
    let name = format!(
        "--{}",
        variable.trim_start_matches("MOLTEN_").to_lowercase()
    );
    let short = format!("-{}", &name[2..3]);
    match (typed, file) {
        (Some(v), _) => {
            let by_env = std::env::var_os(variable).is_some() && !flag(&name) && !flag(&short);
            Setting {
                value: Some(v),
                origin: if by_env { "environment" } else { "flag" },
            }
        }
        (None, Some(v)) => Setting {
            value: Some(v),
            origin: "config file",
        },
        (None, None) => Setting {
            value: None,
            origin: "default",
        },
    }
}

fn parse_device(name: Option<&str>) -> Result<Device, Failure> {
    match name {
        None | Some("auto") => Ok(Device::Auto),
        Some("cpu") => Ok(Device::Cpu),
        Some(other) => Err(Failure::Usage(format!(
            "--device is {other:?}; this build has auto and cpu (cuda and metal are on the way)"
        ))),
    }
}

fn parse_isa(name: Option<&str>) -> Result<Option<cpu::Isa>, Failure> {
    let Some(name) = name else { return Ok(None) };
    let isa = cpu::Isa::from_name(name).filter(|i| i.is_available());
    isa.map(Some).ok_or_else(|| {
        let here: Vec<&str> = cpu::Isa::available().iter().map(|i| i.name()).collect();
        Failure::Usage(format!(
            "--isa is {name:?}; this processor has {}",
            here.join(", ")
        ))
    })
}

fn parse_precision(name: Option<&str>) -> Result<cpu::Precision, Failure> {
    let Some(name) = name else {
        return Ok(cpu::Precision::default());
    };
    cpu::Precision::from_name(name)
        .ok_or_else(|| Failure::Usage(format!("--precision is {name:?}; expected int16 or int8")))
}
