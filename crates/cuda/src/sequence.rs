//! The host's half of a state: which pages a sequence has, which of them the device's page table knows,
//! and where the sequence stands.

use std::ops::Range;

use engine::pages::{PAGE, PagePool, PageTable};
use engine::{Error, Result};

/// Position and pages of one sequence.
#[derive(Debug, Default)]
pub struct Sequence {
    table: PageTable,
    position: usize,
    /// Entries of the device's page table that are up to date.
    known: usize,
    /// Whether the device holds the next token's logits.
    pub pending: bool,
}

impl Sequence {
    /// Tokens that count.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The page that holds position `p`.
    pub fn page(&self, p: usize) -> Option<u32> {
        self.table
            .pages()
            .get(p / PAGE)
            .map(engine::pages::Page::id)
    }

    /// Takes pages for positions below `end`. Positions from the present one on may then be written.
    ///
    /// # Errors
    /// When the pool is empty.
    pub fn reserve(&mut self, pool: &PagePool, end: usize) -> Result<()> {
        self.table.reserve(pool, end)?;
        debug_assert!(
            self.table.pages()[(self.position / PAGE).min(self.table.pages().len())..]
                .iter()
                .all(|p| !p.is_shared()),
            "a shared page is never written"
        );
        Ok(())
    }

    /// The entries the device's page table lacks, and where they go; counts as told from now on.
    pub fn news(&mut self) -> (usize, Vec<u32>) {
        let first = self.known;
        let ids: Vec<u32> = self.table.pages()[first..]
            .iter()
            .map(engine::pages::Page::id)
            .collect();
        self.known = self.table.pages().len();
        (first, ids)
    }

    /// Sets the position, forward over what the device wrote or back over what doesn't count, and lets go
    /// of pages beyond it.
    pub fn settle(&mut self, position: usize, pending: bool) {
        self.position = position;
        self.pending = pending;
        self.table.truncate(position);
        self.known = self.known.min(self.table.pages().len());
    }

    /// A sequence that shares the full pages at or before `at`.
    #[must_use]
    pub fn fork(&self, at: usize) -> Self {
        let pages = at.min(self.position) / PAGE;
        Self {
            table: self.table.share(pages),
            position: pages * PAGE,
            known: 0,
            pending: false,
        }
    }

    /// Ids of the full pages `pages`.
    ///
    /// # Errors
    /// When one of them is not full.
    pub fn full(&self, pages: Range<usize>) -> Result<Vec<u32>> {
        if pages.start > pages.end || pages.end * PAGE > self.position {
            return Err(Error::Input("only full pages can be exported".to_owned()));
        }
        Ok(self.table.pages()[pages]
            .iter()
            .map(engine::pages::Page::id)
            .collect())
    }
}

/// Lengths of the chunks in which `tokens` more are fed from `position`: each ends at the latest on a
/// multiple of [`PAGE`].
pub fn chunks(position: usize, tokens: usize) -> impl Iterator<Item = Range<usize>> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let n = (PAGE - (position + done) % PAGE).min(tokens - done);
        done += n;
        (n > 0).then_some(done - n..done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the device's table holds after every [`Sequence::news`].
    fn tell(s: &mut Sequence, device: &mut Vec<u32>) {
        let (first, ids) = s.news();
        device.truncate(first);
        device.extend(ids);
    }

    #[test]
    fn the_device_always_knows_the_pages_it_writes() {
        let pool = PagePool::new(8);
        let mut s = Sequence::default();
        let mut device = Vec::new();
        s.reserve(&pool, 200).unwrap();
        tell(&mut s, &mut device);
        assert_eq!(device.len(), 4);
        // A launch is rolled back over a page; another sequence takes the page; this one takes a new one.
        s.settle(100, false);
        assert_eq!(pool.available(), 6);
        let taken = pool.take().unwrap();
        s.reserve(&pool, 200).unwrap();
        tell(&mut s, &mut device);
        let want: Vec<u32> = (0..4).filter_map(|i| s.page(i * PAGE)).collect();
        assert_eq!(device, want);
        assert!(!device.contains(&taken.id()));
        assert!(s.news().1.is_empty(), "nothing is told twice");
    }

    #[test]
    fn a_fork_shares_full_pages_and_writes_its_own() {
        let pool = PagePool::new(8);
        let mut s = Sequence::default();
        s.reserve(&pool, 150).unwrap();
        s.settle(150, true);
        let mut f = s.fork(140);
        assert_eq!((f.position(), f.pending), (128, false));
        f.reserve(&pool, 150).unwrap();
        assert_eq!(f.page(0), s.page(0));
        assert_ne!(f.page(130), s.page(130));
        assert_eq!(f.news().1.len(), 3, "a new table knows nothing");
        assert_eq!(s.fork(63).position(), 0);
        drop((s, f));
        assert_eq!(pool.available(), 8);
    }

    #[test]
    fn an_empty_pool_is_an_error_and_gives_everything_back() {
        let pool = PagePool::new(2);
        let mut s = Sequence::default();
        assert!(s.reserve(&pool, 200).is_err());
        s.settle(0, false);
        assert_eq!(pool.available(), 2);
    }

    #[test]
    fn only_full_pages_are_exported() {
        let pool = PagePool::new(4);
        let mut s = Sequence::default();
        s.reserve(&pool, 130).unwrap();
        s.settle(130, true);
        assert_eq!(s.full(0..2).unwrap().len(), 2);
        assert!(s.full(0..3).is_err());
    }

    #[test]
    fn chunks_end_on_multiples_of_a_page() {
        let cut = |p, n| chunks(p, n).map(|r| r.len()).collect::<Vec<_>>();
        assert_eq!(cut(0, 150), [64, 64, 22]);
        assert_eq!(cut(60, 70), [4, 64, 2]);
        assert_eq!(cut(64, 64), [64]);
        assert!(cut(5, 0).is_empty());
    }
}
