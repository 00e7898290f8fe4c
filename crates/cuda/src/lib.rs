//! The CUDA backend, first edition: a proof that the engine's border fits an asynchronous device.
//!
//! Naive kernels in single precision (`kernels/`, one file per operator) are compiled by NVRTC when a model
//! is opened, its shapes baked in ([`source`]). One stream carries everything in order.
//!
//! * **Decode** runs in chains of 32 steps that follow each other on the device ([`chain`]): a step's
//!   token is sampled there, read there by the next step's embedding, and checked there against the stop
//!   set, after which later steps write nothing. The host enqueues, copies 32 ids per chain, and keeps two
//!   chains in flight while the sink reads.
//! * **Roll-back** is setting a number: keys and values beyond the position are never read before they are
//!   written again, and the conv windows are rows of a ring that still holds them ([`sequence`]).
//! * **Checkpoints** of the conv windows are left by the conv kernel itself at each full page.
//!
//! Speed is no aim of this edition, and models over 2 GB in single precision are refused.

pub mod backend;
pub mod chain;
mod decode;
mod forward;
mod gpu;
mod model;
pub mod nvrtc;
pub mod sequence;
pub mod source;

pub use backend::{Cuda, Options, State};
