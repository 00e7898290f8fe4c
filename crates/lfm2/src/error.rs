//! The one error type of this crate: a single line that names what, where and what to do.

use std::path::{Path, PathBuf};

/// What can go wrong while a model is read. `Display` is one line; causes come through `source()`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be opened, mapped, read or written.
    #[error("{}: {what}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted, and what to do about it.
        what: String,
        /// The operating system's word.
        #[source]
        source: Option<std::io::Error>,
    },
    /// A container (safetensors, GGUF) is malformed.
    #[error("{}: {what} (at byte {offset})", path.display())]
    Container {
        /// The file.
        path: PathBuf,
        /// Byte offset in the file where reading failed.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A tensor is missing, misplaced, or has the wrong shape, type or content.
    #[error("{}: tensor {tensor}: {what}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name as the file spells it (or would spell it).
        tensor: String,
        /// What is wrong, with the byte offset where one exists.
        what: String,
    },
    /// A configuration field is missing or has a value this crate refuses.
    #[error("{origin}: field {field}: {what}")]
    Config {
        /// Where the field was read: a path, or `GGUF metadata of PATH`.
        origin: String,
        /// The field's name as the file spells it.
        field: String,
        /// Its value and what was expected.
        what: String,
    },
    /// A tokenizer could not be built.
    #[error("{origin}: tokenizer: {what}")]
    Tokenizer {
        /// Where the tokenizer was read.
        origin: String,
        /// What is wrong.
        what: String,
    },
    /// A chat template could not be compiled or rendered.
    #[error("chat template: {what}")]
    Template {
        /// What is wrong, with the template's line where known.
        what: String,
    },
    /// The caller's input does not fit the model.
    #[error("{0}")]
    Input(String),
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An [`Error::Io`] with its cause.
    pub fn io(path: &Path, what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            what: format!("{}: {source}", what.into()),
            source: Some(source),
        }
    }

    /// An [`Error::Io`] without a cause from the operating system.
    pub fn file(path: &Path, what: impl Into<String>) -> Self {
        Self::Io {
            path: path.to_owned(),
            what: what.into(),
            source: None,
        }
    }

    /// An [`Error::Container`].
    pub fn container(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Self::Container {
            path: path.to_owned(),
            offset,
            what: what.into(),
        }
    }

    /// An [`Error::Tensor`].
    pub fn tensor(path: &Path, tensor: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Tensor {
            path: path.to_owned(),
            tensor: tensor.into(),
            what: what.into(),
        }
    }

    /// An [`Error::Config`].
    pub fn config(origin: &str, field: &str, what: impl Into<String>) -> Self {
        Self::Config {
            origin: origin.to_owned(),
            field: field.to_owned(),
            what: what.into(),
        }
    }
}
