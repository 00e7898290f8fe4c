//! Zeroed bytes on cache-line borders.

/// A cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Bytes whose first lies on a 64-byte border.
#[derive(Debug)]
pub(super) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// `len` zeros. The pages come from the system zeroed, so untouched ones cost nothing.
    pub(super) fn zeroed(len: usize) -> Self {
        Self {
            lines: vec![Line([0; 64]); len.div_ceil(64)],
            len,
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: lines are plain bytes without padding, and `len` is at most 64 times their number.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
