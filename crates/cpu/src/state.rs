//! State on this device: pages of keys and values with their checkpoints, and the live conv windows.
//!
//! A page holds, for each attention layer and key/value head, the keys of 64 positions transposed
//! (`[head_dim, 64]`) and the values (`[64, head_dim]`), in f16; and, once it is full, the conv windows
//! after its last position in single precision: the checkpoint.

use engine::pages::{PAGE, PagePool, PageTable};
use engine::{Error, Result};
use lfm2::config::{Config, LayerKind};

/// One sequence.
#[derive(Debug)]
pub struct State {
    pub(crate) table: PageTable,
    pub(crate) position: usize,
    /// `[conv layers, kernel − 1, hidden]`, oldest row first.
    pub(crate) windows: Vec<f32>,
    /// Logits of the next token, when `pending`.
    pub(crate) logits: Vec<f32>,
    pub(crate) pending: bool,
}

#[derive(Debug, Default)]
struct PageMemory {
    kv: Vec<u16>,
    checkpoint: Vec<f32>,
    full: bool,
}

/// The memory behind page ids.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) pool: PagePool,
    pages: Vec<PageMemory>,
    head_dim: usize,
    kv_heads: usize,
    attention_layers: usize,
    window_len: usize,
}

/// Converts to f16, saturating: an outlier must not become an infinity that poisons every later score.
pub(crate) fn to_f16(x: f32) -> u16 {
    half::f16::from_f32(x.clamp(-65_504.0, 65_504.0)).to_bits()
}

impl Memory {
    pub(crate) fn new(c: &Config, pages: usize) -> Self {
        Self {
            pool: PagePool::new(pages as u32),
            pages: std::iter::repeat_with(PageMemory::default)
                .take(pages)
                .collect(),
            head_dim: c.head_dim,
            kv_heads: c.kv_heads,
            attention_layers: c.count_layers(LayerKind::Attention),
            window_len: (c.conv_kernel - 1) * c.hidden_size * c.count_layers(LayerKind::Conv),
        }
    }

    /// Numbers of one head in one layer of a page: keys, then values.
    fn head_len(&self) -> usize {
        2 * PAGE * self.head_dim
    }

    fn kv_len(&self) -> usize {
        self.attention_layers * self.kv_heads * self.head_len()
    }

    pub(crate) fn create(&self) -> State {
        State {
            table: PageTable::default(),
            position: 0,
            windows: vec![0.0; self.window_len],
            logits: Vec::new(),
            pending: false,
        }
    }

    /// Takes pages for positions below `end` and makes sure memory stands behind them.
    pub(crate) fn reserve(&mut self, s: &mut State, end: usize) -> Result<()> {
        let first = s.table.pages().len();
        s.table.reserve(&self.pool, end)?;
        let len = self.kv_len();
        for p in &s.table.pages()[first..] {
            let m = &mut self.pages[p.id() as usize];
            m.full = false;
            if m.kv.len() < len {
                m.kv.try_reserve_exact(len).map_err(|_| Error::Memory {
                    what: "keys and values".to_owned(),
                    todo: "lower --context".to_owned(),
                })?;
                m.kv.resize(len, 0);
            }
        }
        Ok(())
    }

    /// Keys (`[head_dim, 64]`) and values (`[64, head_dim]`) of a page.
    pub(crate) fn head(&self, page: u32, layer: usize, head: usize) -> (&[u16], &[u16]) {
        let at = (layer * self.kv_heads + head) * self.head_len();
        self.pages[page as usize].kv[at..at + self.head_len()].split_at(PAGE * self.head_dim)
    }

    /// Stores one position's key and value rows, `[kv_heads · head_dim]` each.
    pub(crate) fn store(&mut self, page: u32, layer: usize, slot: usize, k: &[f32], v: &[f32]) {
        let (d, len) = (self.head_dim, self.head_len());
        let base = layer * self.kv_heads * len;
        let kv = &mut self.pages[page as usize].kv[base..base + self.kv_heads * len];
        for ((head, k), v) in kv
            .chunks_exact_mut(len)
            .zip(k.chunks_exact(d))
            .zip(v.chunks_exact(d))
        {
            let (keys, values) = head.split_at_mut(PAGE * d);
            for (i, k) in k.iter().enumerate() {
                keys[i * PAGE + slot] = to_f16(*k);
            }
            for (o, v) in values[slot * d..][..d].iter_mut().zip(v) {
                *o = to_f16(*v);
            }
        }
    }

    /// The pages of `s` for a team of threads.
    pub(crate) fn view(&mut self, s: &State) -> PagesView {
        PagesView {
            pages: s
                .table
                .pages()
                .iter()
                .map(|p| self.pages[p.id() as usize].kv.as_mut_ptr())
                .collect(),
            len: self.kv_len(),
            head_dim: self.head_dim,
            kv_heads: self.kv_heads,
        }
    }

    /// Leaves the windows of `s`, whose position is a multiple of 64, with its last page.
    pub(crate) fn checkpoint(&mut self, s: &State) {
        if let Some(p) = s.table.pages().get((s.position / PAGE).wrapping_sub(1)) {
            let m = &mut self.pages[p.id() as usize];
            m.checkpoint.clear();
            m.checkpoint.extend_from_slice(&s.windows);
            m.full = true;
        }
    }

    /// A sequence at the end of the last full page of `s` at or before `at`.
    pub(crate) fn fork(&self, s: &State, at: usize) -> State {
        let pages = at.min(s.position) / PAGE;
        let mut new = State {
            table: s.table.share(pages),
            position: pages * PAGE,
            ..self.create()
        };
        if let Some(last) = new.table.pages().last() {
            new.windows
                .copy_from_slice(&self.pages[last.id() as usize].checkpoint);
        }
        new
    }

    /// Bytes of one exported page.
    pub(crate) fn export_len(&self) -> usize {
        2 * self.kv_len() + 4 * self.window_len
    }

    pub(crate) fn export(&self, s: &State, pages: std::ops::Range<usize>) -> Result<Vec<u8>> {
        if pages.start > pages.end || pages.end * PAGE > s.position {
            return Err(Error::Input("only full pages can be exported".to_owned()));
        }
        let mut out = Vec::with_capacity(pages.len() * self.export_len());
        for p in &s.table.pages()[pages] {
            let m = &self.pages[p.id() as usize];
            m.kv.iter().for_each(|v| out.extend(v.to_le_bytes()));
            m.checkpoint
                .iter()
                .for_each(|v| out.extend(v.to_le_bytes()));
        }
        Ok(out)
    }

    pub(crate) fn import(&mut self, s: &mut State, bytes: &[u8]) -> Result<()> {
        let len = self.export_len();
        if !s.position.is_multiple_of(PAGE) || !bytes.len().is_multiple_of(len) {
            return Err(Error::Input(
                "saved pages do not fit this model or sequence".to_owned(),
            ));
        }
        for page in bytes.chunks_exact(len) {
            self.reserve(s, s.position + PAGE)?;
            let id = s.table.pages()[s.position / PAGE].id() as usize;
            let (kv, windows) = page.split_at(2 * self.kv_len());
            for (o, b) in self.pages[id].kv.iter_mut().zip(kv.chunks_exact(2)) {
                *o = u16::from_le_bytes([b[0], b[1]]);
            }
            for (o, b) in s.windows.iter_mut().zip(windows.chunks_exact(4)) {
                *o = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
            s.position += PAGE;
            s.pending = false;
            self.checkpoint(s);
        }
        Ok(())
    }
}

/// The pages of one sequence while several threads write keys and values of its newest position.
#[derive(Debug)]
pub(crate) struct PagesView {
    pages: Vec<*mut u16>,
    /// Numbers in a page.
    len: usize,
    head_dim: usize,
    kv_heads: usize,
}

// SAFETY: the pointers are used through `head` and `store` only, whose callers promise not to let a write
// meet another access.
unsafe impl Sync for PagesView {}

impl PagesView {
    /// Pages.
    pub(crate) fn count(&self) -> usize {
        self.pages.len()
    }

    fn at(&self, layer: usize, head: usize) -> (usize, usize) {
        let len = PAGE * self.head_dim;
        let at = (layer * self.kv_heads + head) * 2 * len;
        assert!(head < self.kv_heads && at + 2 * len <= self.len);
        (at, len)
    }

    /// As [`Memory::head`], by index in the sequence.
    ///
    /// # Safety
    /// The memory is alive, and nobody stores into this head of this layer meanwhile.
    pub(crate) unsafe fn head(&self, page: usize, layer: usize, head: usize) -> (&[u16], &[u16]) {
        let (at, len) = self.at(layer, head);
        // SAFETY: in bounds by the check in `at`; not written by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.pages[page].add(at), 2 * len) }.split_at(len)
    }

    /// Stores one head's key (`values` false) or value row of one position.
    ///
    /// # Safety
    /// The memory is alive, and nobody else touches this half of this head of this layer meanwhile.
    pub(crate) unsafe fn store(
        &self,
        page: usize,
        layer: usize,
        head: usize,
        slot: usize,
        values: bool,
        row: &[f32],
    ) {
        let (at, len) = self.at(layer, head);
        let d = self.head_dim;
        assert!(slot < PAGE && row.len() == d);
        // SAFETY: in bounds by the checks above; exclusive by the caller's promise.
        unsafe {
            let p = self.pages[page].add(at);
            for (i, x) in row.iter().enumerate() {
                let place = if values {
                    len + slot * d + i
                } else {
                    i * PAGE + slot
                };
                *p.add(place) = to_f16(*x);
            }
        }
    }
}
