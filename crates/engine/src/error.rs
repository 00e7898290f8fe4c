//! This crate's errors: one line each, naming what, where and what to do.

use std::path::PathBuf;

/// What can go wrong between a prompt and its answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model could not be read.
    #[error(transparent)]
    Model(#[from] lfm2::Error),
    /// The sequence does not fit the context.
    #[error(
        "the prompt has {need} tokens and the context holds {have}: shorten it or raise --context"
    )]
    Context {
        /// Tokens needed.
        need: usize,
        /// Tokens the context holds.
        have: usize,
    },
    /// Memory for state ran out.
    #[error("out of memory for {what}: {todo}")]
    Memory {
        /// What was being allocated.
        what: String,
        /// What the user can do.
        todo: String,
    },
    /// The backend cannot do this yet.
    #[error("the {backend} backend does not support {what}")]
    Unsupported {
        /// The backend's name.
        backend: &'static str,
        /// The missing capability.
        what: &'static str,
    },
    /// The device failed.
    #[error("{device}: {what}")]
    Device {
        /// The device's name.
        device: String,
        /// What failed.
        what: String,
    },
    /// `decode` was called on a state without pending logits.
    #[error("decoding needs at least one prefilled token since the last interruption")]
    NoLogits,
    /// A saved state is damaged or belongs to something else.
    #[error("{}: {what}", path.display())]
    Saved {
        /// The file.
        path: PathBuf,
        /// What does not match.
        what: String,
    },
    /// A parameter has a value that makes no sense.
    #[error("{0}")]
    Input(String),
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
