//! What one user does with a model: sessions, sampling, stop conditions, state and statistics.
//!
//! The border to the devices is [`Backend`]. It is coarse on purpose (prefill, decode, score): a decode
//! loop that lives on the device never waits for the host between tokens. Everything in this crate is
//! tested against two backends without weights, [`mock::Scripted`] and [`mock::Asynchronous`].
//!
//! This crate names no concrete device.

pub mod backend;
pub mod error;
pub mod mock;
pub mod pages;
pub mod sampler;
pub mod session;
pub mod stop;
pub mod text;

pub use backend::{
    Backend, Cancel, Capabilities, Control, Decode, DeviceInfo, DeviceKind, Finish, Flow,
    MaskSource, Scores, Token, TokenSink, Want,
};
pub use error::{Error, Result};
pub use pages::PAGE;
pub use sampler::{Sampler, Sampling};
pub use session::{Generated, Request, Session, Stats};
