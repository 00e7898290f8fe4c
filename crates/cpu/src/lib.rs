//! The CPU backend: x86-64 (AVX-512 with VNNI, AVX2 with FMA), AArch64 (NEON, with or without dotprod),
//! and portable code, chosen when the model is opened.
//!
//! Weights stay packed at the bits the file gives them ([`pack`]); activations become
//! one or two eight-bit terms ([`Precision`]) before each integer product, the same way on every path. A team of pinned threads
//! ([`team`]) shares each operator; nothing depends on their number.

pub mod backend;
pub mod fit;
pub mod forward;
pub mod isa;
pub mod kernels;
pub mod model;
pub mod pack;
pub mod probe;
pub mod state;
pub mod team;

pub use backend::{Cpu, Options, processor_name};
pub use forward::Precision;
pub use isa::Isa;
