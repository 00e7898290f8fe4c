//! Large zeroed buffers on huge pages, where the system gives them.

/// Zeroed bytes; the first lies on a 64-byte border, in large buffers on a 2 MiB border.
#[derive(Debug)]
pub struct Bytes {
    map: memmap2::MmapMut,
    start: usize,
    len: usize,
}

/// Size of a huge page; smaller buffers do not ask for them.
const HUGE: usize = 2 << 20;

impl Bytes {
    /// `len` zeros. Untouched pages cost nothing.
    ///
    /// # Panics
    /// When the system has no address space for them.
    pub fn zeroed(len: usize) -> Self {
        let slack = if len >= HUGE { HUGE } else { 0 };
        let map = memmap2::MmapMut::map_anon((len + slack).max(1))
            .expect("address space for a buffer that passed the fit check");
        #[cfg(target_os = "linux")]
        if slack > 0 {
            // Without them only the speed suffers.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let start = if slack > 0 {
            map.as_ptr().align_offset(HUGE).min(slack)
        } else {
            0
        };
        Self { map, start, len }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.map[self.start..self.start + self.len]
    }

    /// The bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.map[self.start..self.start + self.len]
    }
}
