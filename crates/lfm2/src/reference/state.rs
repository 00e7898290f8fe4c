//! What a sequence leaves behind: the last gated inputs of each conv layer, keys and values of each
//! attention layer, and the position.

use crate::config::Config;

/// Keys and values of one attention layer, `[positions, kv_heads · head_dim]` each.
#[derive(Debug, Clone, Default)]
pub(super) struct Kv {
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
}

/// The state of one sequence. Clone it to branch.
#[derive(Debug, Clone)]
pub struct State {
    pub(super) position: usize,
    /// Per layer `[kernel − 1, H]`, oldest row first; unused for attention layers.
    pub(super) conv: Vec<Vec<f32>>,
    /// Per layer; unused for conv layers.
    pub(super) kv: Vec<Kv>,
}

impl State {
    pub(super) fn new(c: &Config) -> Self {
        Self {
            position: 0,
            conv: vec![vec![0.0; (c.conv_kernel - 1) * c.hidden_size]; c.layers.len()],
            kv: vec![Kv::default(); c.layers.len()],
        }
    }

    /// Tokens fed so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The conv window of layer `i`, `[kernel − 1, H]`, oldest row first.
    pub fn conv_window(&self, i: usize) -> &[f32] {
        &self.conv[i]
    }
}
