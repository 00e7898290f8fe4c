//! Does it fit? Weights, keys and values, conv state and scratch against what the machine and the control
//! group allow, before anything is loaded.

use engine::PAGE;
use lfm2::config::{Config, LayerKind};
use lfm2::tensor::{LayerTensor, TensorId};
use lfm2::weights::WeightSource;

/// What a model with a context needs, and what there is; bytes.
#[derive(Debug, Clone, Copy)]
pub struct Fit {
    /// Packed weights.
    pub weights: u64,
    /// Keys and values of one full context.
    pub kv: u64,
    /// Conv windows: live, and one checkpoint a page.
    pub state: u64,
    /// Activations of a chunk.
    pub scratch: u64,
    /// Memory that can be had, if the system says.
    pub available: Option<u64>,
    /// The context asked for.
    pub context: usize,
    /// The largest context that fits, if any does.
    pub largest: Option<usize>,
}

impl Fit {
    /// Everything together.
    pub fn total(&self) -> u64 {
        self.weights + self.kv + self.state + self.scratch
    }

    /// Whether it fits, as far as the system says.
    pub fn fits(&self) -> bool {
        self.available.is_none_or(|a| self.total() <= a)
    }

    /// Computes the table for `source` with `context` tokens on `threads` threads.
    pub fn new(source: &dyn WeightSource, context: usize) -> Self {
        let c = source.config();
        let weights = weight_bytes(source);
        let scratch = scratch_bytes(c);
        let available = available_memory();
        let (kv, state) = sequence_bytes(c, context);
        let page: u64 = {
            let (kv, state) = sequence_bytes(c, PAGE);
            kv + state
        };
        let largest = available.map_or(Some(c.max_positions), |a| {
            let left = a.checked_sub(weights + scratch)?;
            let pages = (left / page.max(1)) as usize;
            (pages > 0).then(|| pages.saturating_mul(PAGE).min(c.max_positions))
        });
        Self {
            weights,
            kv,
            state,
            scratch,
            available,
            context,
            largest,
        }
    }

    /// The table, one line a part, for a terminal.
    pub fn table(&self) -> String {
        let line =
            |name: &str, bytes: u64| format!("  {name:<22}{:>10.1} MB\n", bytes as f64 / 1e6);
        let mut s = String::new();
        s += &line("weights", self.weights);
        s += &line(&format!("KV, {} tokens", self.context), self.kv);
        s += &line("conv state", self.state);
        s += &line("scratch", self.scratch);
        s += &line("together", self.total());
        if let Some(a) = self.available {
            s += &line("available", a);
        }
        s
    }
}

/// Bytes of the weights once packed: as stored, but routers, norms and kernels in single precision, and
/// super-block scales spread out (see [`crate::pack`]).
fn weight_bytes(source: &dyn WeightSource) -> u64 {
    let c = source.config();
    TensorId::all(c)
        .into_iter()
        .map(|id| {
            let [rows, cols] = id.shape(c);
            let n = (rows * cols) as u64;
            let plain = !id.is_matrix() || matches!(id, TensorId::Layer(_, LayerTensor::Router));
            if plain {
                return 4 * n;
            }
            match source.tensor(id) {
                Ok(t) => crate::pack::packed_bytes(&t) as u64,
                Err(_) => 4 * n,
            }
        })
        .sum()
}

/// Keys and values, and conv windows with checkpoints, of `tokens` tokens.
fn sequence_bytes(c: &Config, tokens: usize) -> (u64, u64) {
    let pages = tokens.div_ceil(PAGE);
    let kv = c.kv_bytes_per_position(2) as u64 * (pages * PAGE) as u64;
    let state = c.conv_state_bytes(4) as u64 * (pages as u64 + 2);
    (kv, state)
}

fn scratch_bytes(c: &Config) -> u64 {
    let (width, per_token) = match &c.moe {
        Some(m) => (
            m.width.max(c.ffn_size / m.experts_per_token),
            m.experts_per_token,
        ),
        None => (c.ffn_size, 1),
    };
    let attends = c.layers.contains(&LayerKind::Attention);
    let row = 3 * c.hidden_size
        + per_token * (3 * width + 2 * c.hidden_size)
        + if attends { 2 * c.hidden_size } else { 0 };
    // Single precision, codes in two terms, and the same once more in groups for the kernels.
    (crate::forward::CHUNK * row * 8 + 2 * 4 * c.vocab_size) as u64
}

/// Memory this process can still have: what the system calls available, and what its control groups leave.
pub fn available_memory() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let system = meminfo.lines().find_map(|l| {
        let kb: u64 = l
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse()
            .ok()?;
        Some(kb * 1024)
    })?;
    Some(cgroup_left().map_or(system, |left| left.min(system)))
}

/// The tightest limit of this process's control groups (version 2) minus what it uses without the file
/// cache, which the kernel gives back under pressure.
fn cgroup_left() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|l| l.strip_prefix("0::"))?;
    let mut dir = std::path::PathBuf::from("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let mut left: Option<u64> = None;
    while dir.starts_with("/sys/fs/cgroup") {
        let number = |name: &str| -> Option<u64> {
            std::fs::read_to_string(dir.join(name))
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        if let (Some(max), Some(used)) = (number("memory.max"), number("memory.current")) {
            let stat = std::fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
            let cache: u64 = stat
                .lines()
                .find_map(|l| l.strip_prefix("file ")?.parse().ok())
                .unwrap_or(0);
            let here = max.saturating_sub(used.saturating_sub(cache));
            left = Some(left.map_or(here, |l| l.min(here)));
        }
        if !dir.pop() {
            break;
        }
    }
    left
}
