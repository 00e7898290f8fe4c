//! `molten doctor`: what is here, what was set, and by whom.

use std::io::Write as _;

use cpu::Isa;
use cpu::fit::available_memory;
use serde_json::json;

use crate::Outcome;
use crate::args::Doctor;
use crate::settings::{Device, Settings};

pub(crate) fn run(args: &Doctor) -> Outcome {
    let s = Settings::new(&args.model)?;
    let threads = cpu::team::allowed_processors().len();
    let best = Isa::detect();
    let paths: Vec<&str> = Isa::available().iter().map(|i| i.name()).collect();
    let memory = available_memory();
    let show = |v: Option<String>, default: &str| v.unwrap_or_else(|| default.to_owned());
    let settings = [
        (
            "model",
            show(s.model.value.clone(), "spark (embedded)"),
            s.model.origin,
        ),
        (
            "device",
            match s.device.value {
                Device::Auto => "auto (cpu: the only one in this build)".to_owned(),
                Device::Cpu => "cpu".to_owned(),
            },
            s.device.origin,
        ),
        (
            "context",
            show(
                s.context.value.map(|v| v.to_string()),
                "8192, or the model's own limit",
            ),
            s.context.origin,
        ),
        (
            "threads",
            show(
                s.threads.value.map(|v| v.to_string()),
                &format!("{threads}, one for each processor allowed"),
            ),
            s.threads.origin,
        ),
        (
            "isa",
            show(
                s.isa.value.map(|v| v.name().to_owned()),
                &format!("{}, the best here", best.name()),
            ),
            s.isa.origin,
        ),
        (
            "precision",
            s.precision.value.name().to_owned(),
            s.precision.origin,
        ),
        (
            "temperature",
            show(s.temperature.value.map(|v| v.to_string()), "the model's"),
            s.temperature.origin,
        ),
        (
            "model_dir",
            s.model_dir.value.display().to_string(),
            s.model_dir.origin,
        ),
    ];
    let config = s
        .config_path
        .as_ref()
        .map_or_else(String::new, |p| p.display().to_string());
    let caches = caches();
    let out = if args.json {
        let rows: serde_json::Map<_, _> = settings
            .iter()
            .map(|(k, v, o)| ((*k).to_owned(), json!({"value": v, "origin": o})))
            .collect();
        let v = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "cpu": {"name": cpu::processor_name(), "threads": threads, "isa": paths, "chosen": best.name(), "caches": caches},
            "memory_available_bytes": memory,
            "config_file": config, "config_found": s.config_found,
            "settings": rows,
        });
        format!("{v:#}\n")
    } else {
        let mut t = format!(
            "molten {}\n\ncpu         {}\n",
            env!("CARGO_PKG_VERSION"),
            cpu::processor_name()
        );
        t += &format!("threads     {threads} allowed\n");
        t += &format!("vector      {} (best: {})\n", paths.join(", "), best.name());
        if !caches.is_empty() {
            t += &format!("caches      {}\n", caches.join(", "));
        }
        if let Some(m) = memory {
            t += &format!("memory      {:.1} GB can be had\n", m as f64 / 1e9);
        }
        t += "cuda        not in this build\nmetal       not in this build\n\n";
        let found = if s.config_found { "" } else { " (not there)" };
        t += &format!("config file {config}{found}\n");
        for (k, v, o) in &settings {
            t += &format!("{k:<11} {v}  [{o}]\n");
        }
        t
    };
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

/// Cache sizes of the first processor, as the system lists them.
fn caches() -> Vec<String> {
    let base = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache");
    let read = |i: usize, f: &str| {
        std::fs::read_to_string(base.join(format!("index{i}/{f}")))
            .ok()
            .map(|s| s.trim().to_owned())
    };
    (0..8)
        .filter_map(|i| {
            Some(format!(
                "L{} {} {}",
                read(i, "level")?,
                read(i, "type")?,
                read(i, "size")?
            ))
        })
        .collect()
}
