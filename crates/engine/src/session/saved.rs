//! Sessions on disk.
//!
//! ```text
//! "MOLTENS1"  u32 length, fingerprint  u64 count, u32 tokens  u64 length, pages  u32 CRC-32 of all before
//! ```
//! Little-endian. The fingerprint names model, quantisation and device layout; a file with another one is
//! refused. Only whole pages are stored: the rest is prefilled when the conversation goes on.

use std::io::Write;
use std::path::Path;

use super::Session;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::pages::PAGE;

const MAGIC: &[u8; 8] = b"MOLTENS1";

impl<B: Backend> Session<B> {
    /// Writes the conversation to `path` (through a temporary file, so an old one is never half replaced).
    pub fn save(&self, backend: &mut B, fingerprint: &str, path: &Path) -> Result<()> {
        let pages = backend.export(&self.state, 0..self.tokens.len() / PAGE)?;
        let mut bytes = Vec::with_capacity(pages.len() + 4 * self.tokens.len() + 64);
        bytes.extend(MAGIC);
        bytes.extend((fingerprint.len() as u32).to_le_bytes());
        bytes.extend(fingerprint.as_bytes());
        bytes.extend((self.tokens.len() as u64).to_le_bytes());
        self.tokens
            .iter()
            .for_each(|t| bytes.extend(t.to_le_bytes()));
        bytes.extend((pages.len() as u64).to_le_bytes());
        bytes.extend(pages);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        write_atomically(path, &bytes)
            .map_err(|e| saved(path, format!("cannot save the session: {e}")))
    }

    /// Reads a conversation written by [`Self::save`]. Returns it with all its tokens; the device holds
    /// those of whole pages.
    pub fn load(backend: &mut B, fingerprint: &str, path: &Path) -> Result<(Self, Vec<u32>)> {
        let bytes = std::fs::read(path).map_err(|e| saved(path, format!("cannot read: {e}")))?;
        let damaged = || {
            saved(
                path,
                "is damaged or not a saved session; delete it".to_owned(),
            )
        };
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        if !body.starts_with(MAGIC) || crc32fast::hash(body) != u32::from_le_bytes(*crc) {
            return Err(damaged());
        }
        let mut rest = &body[MAGIC.len()..];
        let n = u32::from_le_bytes(*take(&mut rest).ok_or_else(damaged)?) as usize;
        let stored = rest.split_off(..n).ok_or_else(damaged)?;
        if stored != fingerprint.as_bytes() {
            return Err(saved(
                path,
                format!(
                    "was saved with another model ({}); this one is {fingerprint}",
                    String::from_utf8_lossy(stored)
                ),
            ));
        }
        let n = u64::from_le_bytes(*take(&mut rest).ok_or_else(damaged)?);
        let n = usize::try_from(n)
            .ok()
            .and_then(|n| n.checked_mul(4))
            .ok_or_else(damaged)?;
        let tokens: Vec<u32> = rest
            .split_off(..n)
            .ok_or_else(damaged)?
            .chunks_exact(4)
            .map(|t| u32::from_le_bytes([t[0], t[1], t[2], t[3]]))
            .collect();
        take::<8>(&mut rest).ok_or_else(damaged)?;
        let mut session = Self::new(backend)?;
        backend.import(&mut session.state, rest)?;
        let held = backend.position(&session.state);
        session.tokens = tokens.get(..held).ok_or_else(damaged)?.to_vec();
        Ok((session, tokens))
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(head)
}

fn saved(path: &Path, what: String) -> Error {
    Error::Saved {
        path: path.to_owned(),
        what,
    }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut f = std::fs::File::create(&temporary)?;
        f.write_all(bytes)?;
        f.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}
