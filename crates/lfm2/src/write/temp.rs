//! Files that appear whole or not at all, and the disk they need.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::{Error, Result};

/// A file under a temporary name; dropped unfinished, it is removed.
#[derive(Debug)]
pub(super) struct TempFile {
    path: PathBuf,
    temporary: PathBuf,
    file: Mutex<File>,
    /// What the whole model needs, for messages.
    needed: u64,
    finished: bool,
}

impl TempFile {
    pub(super) fn create(dir: &Path, name: &str, bytes: u64, needed: u64) -> Result<Self> {
        let path = dir.join(name);
        let temporary = dir.join(format!("{name}.part"));
        let file = File::create(&temporary)
            .map_err(|e| Error::io(&temporary, "cannot make the file", e))?;
        let this = Self {
            path,
            temporary,
            file: Mutex::new(file),
            needed,
            finished: false,
        };
        this.on_file(|f| f.set_len(bytes))?;
        Ok(this)
    }

    fn on_file<T>(&self, f: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        // A thread that panicked while writing leaves no state that matters: every write seeks first.
        let mut file = self
            .file
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        f(&mut file).map_err(|e| match e.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::io(
                &self.path,
                format!(
                    "the disk is full; the model needs {}",
                    gigabytes(self.needed)
                ),
                e,
            ),
            _ => Error::io(&self.path, "cannot write", e),
        })
    }

    /// Writes `bytes` at byte `at`.
    pub(super) fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.on_file(|f| {
            f.seek(SeekFrom::Start(at))?;
            f.write_all(bytes)
        })
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.on_file(std::io::Write::flush)?;
        std::fs::rename(&self.temporary, &self.path)
            .map_err(|e| Error::io(&self.path, "cannot rename the finished file", e))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing sensible to do where this fails too.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// A small file, whole or not at all.
pub(super) fn write_small(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let file = TempFile::create(dir, name, 0, bytes.len() as u64)?;
    file.write_at(0, bytes)?;
    file.finish()
}

/// Refuses a model that the disk under `dir` has no room for.
pub(super) fn check_space(dir: &Path, needed: u64) -> Result<()> {
    let Some(free) = free_space(dir) else {
        return Ok(());
    };
    if needed <= free {
        return Ok(());
    }
    Err(Error::file(
        dir,
        format!(
            "needs {} but only {} are free there: make room or choose another disk",
            gigabytes(needed),
            gigabytes(free)
        ),
    ))
}

#[cfg(unix)]
fn free_space(dir: &Path) -> Option<u64> {
    let s = rustix::fs::statvfs(dir).ok()?;
    s.f_bavail.checked_mul(s.f_frsize)
}

/// Elsewhere the write itself tells.
#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}

fn gigabytes(n: u64) -> String {
    if n < 1_000_000_000 {
        format!("{:.1} MB", n as f64 / 1e6)
    } else {
        format!("{:.1} GB", n as f64 / 1e9)
    }
}
