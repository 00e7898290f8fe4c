//! The state of the machine during a measurement: other work, clocks, heat, power.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Other work above this share of all processors makes a measurement suspect.
const BUSY: f64 = 0.03;
/// So does time the hypervisor gave to others.
const STOLEN: f64 = 0.01;

/// What could be read; what could not is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    /// Of one, five and fifteen minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load_average: Option<[f64; 3]>,
    /// Share of all processors that others used in the moment before the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) other_work: Option<f64>,
    /// Share of time the hypervisor gave to others during the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) steal: Option<f64>,
    /// Frequency governor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) governor: Option<String>,
    /// Clock of the first processor, in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mhz: Option<f64>,
    /// Hottest thermal zone, in °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature_c: Option<f64>,
    /// Whether the mains are plugged in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_mains: Option<bool>,
    /// What makes the measurement suspect.
    pub(crate) notes: Vec<String>,
}

/// Processor time since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

impl Ticks {
    /// Reads the counters, where the system has them.
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// `cpu  user nice system idle iowait irq softirq steal …`
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().next()?.strip_prefix("cpu ")?;
        let v: Vec<u64> = line
            .split_whitespace()
            .map_while(|n| n.parse().ok())
            .collect();
        (v.len() >= 8).then(|| Self {
            total: v[..8].iter().sum(),
            idle: v[3] + v[4],
            steal: v[7],
        })
    }

    /// Shares of time that was not idle, and that was stolen, since `earlier`.
    fn since(&self, earlier: &Self) -> Option<(f64, f64)> {
        let total = self.total.checked_sub(earlier.total).filter(|t| *t > 0)? as f64;
        let idle = self.idle.saturating_sub(earlier.idle) as f64;
        let steal = self.steal.saturating_sub(earlier.steal) as f64;
        Some(((1.0 - idle / total).max(0.0), steal / total))
    }
}

impl State {
    /// Watches for a moment, while this process does nothing, and reads what there is.
    pub(crate) fn before() -> (Self, Option<Ticks>) {
        let first = Ticks::now();
        std::thread::sleep(Duration::from_millis(300));
        let second = Ticks::now();
        let busy = first.zip(second).and_then(|(a, b)| b.since(&a));
        let mut s = Self {
            load_average: load_average(),
            other_work: busy.map(|(b, _)| b),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            mhz: mhz(),
            temperature_c: temperature(),
            on_mains: on_mains(),
            ..Self::default()
        };
        if let Some(b) = s.other_work.filter(|b| *b > BUSY) {
            s.notes.push(format!(
                "the machine is busy: others use {:.0} % of its processors",
                100.0 * b
            ));
        }
        if s.on_mains == Some(false) {
            s.notes
                .push("on battery: the clocks may be held down".to_owned());
        }
        if s.governor.as_deref() == Some("powersave") && !has_active_pstate() {
            s.notes
                .push("the frequency governor is powersave".to_owned());
        }
        (s, second)
    }

    /// Adds what happened since `start`.
    pub(crate) fn after(&mut self, start: Option<Ticks>) {
        self.steal = start
            .zip(Ticks::now())
            .and_then(|(a, b)| b.since(&a))
            .map(|(_, s)| s);
        if let Some(s) = self.steal.filter(|s| *s > STOLEN) {
            self.notes.push(format!(
                "the hypervisor gave {:.1} % of the time to others",
                100.0 * s
            ));
        }
        self.temperature_c = temperature().or(self.temperature_c);
        self.mhz = mhz().or(self.mhz);
    }
}

fn line(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn load_average() -> Option<[f64; 3]> {
    let text = line("/proc/loadavg")?;
    let mut v = text.split_whitespace().map_while(|n| n.parse().ok());
    Some([v.next()?, v.next()?, v.next()?])
}

fn mhz() -> Option<f64> {
    if let Some(khz) = line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq") {
        return Some(khz.parse::<f64>().ok()? / 1e3);
    }
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    info.lines().find_map(|l| {
        l.strip_prefix("cpu MHz")?
            .split_once(':')?
            .1
            .trim()
            .parse()
            .ok()
    })
}

/// Intel's own governor calls its normal mode powersave.
fn has_active_pstate() -> bool {
    line("/sys/devices/system/cpu/intel_pstate/status").is_some_and(|s| s == "active")
        || line("/sys/devices/system/cpu/amd_pstate/status").is_some_and(|s| s == "active")
}

fn entries(dir: &str) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|e| Some(e.ok()?.path()))
}

fn temperature() -> Option<f64> {
    entries("/sys/class/thermal")
        .filter_map(|p| line(p.join("temp"))?.parse::<f64>().ok())
        .map(|milli| milli / 1e3)
        .filter(|c| (1.0..150.0).contains(c))
        .reduce(f64::max)
}

fn on_mains() -> Option<bool> {
    entries("/sys/class/power_supply")
        .filter(|p| line(p.join("type")).is_some_and(|t| t == "Mains"))
        .find_map(|p| Some(line(p.join("online"))? == "1"))
}

/// The operating system's name and version.
pub(crate) fn system() -> String {
    match line("/proc/sys/kernel/osrelease") {
        Some(v) => format!("{} {v}", std::env::consts::OS),
        None => std::env::consts::OS.to_owned(),
    }
}

/// Bytes of the largest cache of the first processor.
pub(crate) fn last_level_cache() -> Option<u64> {
    entries("/sys/devices/system/cpu/cpu0/cache")
        .filter_map(|p| cache_size(&line(p.join("size"))?))
        .max()
}

/// `32768K`, `32M`.
fn cache_size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(n) => (n, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Most memory this process has had, in bytes.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kb = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(1024 * kb.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}

/// Starts the count of [`peak_memory`] again from what the process holds now; false where the system does
/// not allow it.
pub(crate) fn reset_peak_memory() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_and_compared() {
        let a = Ticks::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 …").unwrap();
        let b = Ticks::parse("cpu  130 0 60 850 50 0 0 10 0 0\n").unwrap();
        let (busy, steal) = b.since(&a).unwrap();
        assert!((busy - 0.5).abs() < 1e-9 && (steal - 0.1).abs() < 1e-9);
        assert_eq!(a.since(&a), None);
        assert_eq!(
            (cache_size("32768K"), cache_size("x")),
            (Some(32 << 20), None)
        );
        assert_eq!(Ticks::parse("intr 1 2 3"), None);
        assert_eq!(Ticks::parse("cpu  1 2 3"), None);
    }
}
