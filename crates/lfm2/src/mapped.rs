//! Files as bytes: mapped read-only, or given by the caller (the embedded model).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

/// The bytes of a file.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    pub(crate) path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    Map(Arc<memmap2::Mmap>),
    Static(&'static [u8]),
    Owned(Arc<[u8]>),
}

impl Mapped {
    /// Maps `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, "cannot open", e))?;
        let meta = file
            .metadata()
            .map_err(|e| Error::io(path, "cannot read its size", e))?;
        if !meta.is_file() {
            return Err(Error::file(path, "is not a file"));
        }
        if meta.len() == 0 {
            return Err(Error::file(path, "is empty (0 bytes): download it again"));
        }
        // SAFETY: the map is read-only and shared. Should another process shorten the file while it is
        // mapped, access past its new end raises SIGBUS; every engine that maps weights accepts that.
        let map =
            unsafe { memmap2::Mmap::map(&file) }.map_err(|e| Error::io(path, "cannot map", e))?;
        Ok(Self {
            path: path.to_owned(),
            bytes: Bytes::Map(Arc::new(map)),
        })
    }

    /// Bytes that live as long as the program; `name` stands for them in errors.
    pub(crate) fn from_static(name: &str, bytes: &'static [u8]) -> Self {
        Self {
            path: PathBuf::from(name),
            bytes: Bytes::Static(bytes),
        }
    }

    /// Bytes read or made elsewhere; `name` stands for them in errors.
    pub(crate) fn from_vec(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            path: PathBuf::from(name),
            bytes: Bytes::Owned(bytes.into()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Map(m) => m,
            Bytes::Static(b) => b,
            Bytes::Owned(b) => b,
        }
    }
}
