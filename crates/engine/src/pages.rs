//! Pages: the unit in which sequences hold and share memory.
//!
//! The engine owns ids and reference counts; a backend owns the memory behind an id. A page is freed when
//! its last [`Page`] is dropped, so freeing twice or using a freed page is impossible by construction.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};

/// Tokens per page, and the distance between checkpoints.
pub const PAGE: usize = 64;

#[derive(Debug)]
struct Inner {
    free: Vec<u32>,
    next: u32,
    capacity: u32,
}

/// Hands out page ids below a fixed capacity.
#[derive(Debug, Clone)]
pub struct PagePool(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Lease {
    id: u32,
    pool: PagePool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.lock().free.push(self.id);
    }
}

/// A reference to a page. Clones share it.
#[derive(Debug, Clone)]
pub struct Page(Arc<Lease>);

impl Page {
    /// The page's id, below the pool's capacity.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// Whether another sequence holds this page too; a shared page is never written.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl PagePool {
    /// A pool of `capacity` pages.
    pub fn new(capacity: u32) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            free: Vec::new(),
            next: 0,
            capacity,
        })))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // The guarded operations cannot panic midway, so a poisoned lock still holds sound data.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages there are in all.
    pub fn capacity(&self) -> usize {
        self.lock().capacity as usize
    }

    /// Pages not held by any sequence.
    pub fn available(&self) -> usize {
        let inner = self.lock();
        (inner.capacity - inner.next) as usize + inner.free.len()
    }

    /// A page nobody holds.
    ///
    /// # Errors
    /// [`Error::Memory`] when all pages are held.
    pub fn take(&self) -> Result<Page> {
        let mut inner = self.lock();
        let id = match inner.free.pop() {
            Some(id) => id,
            None if inner.next < inner.capacity => {
                inner.next += 1;
                inner.next - 1
            }
            None => {
                return Err(Error::Memory {
                    what: format!("the state of {} tokens", inner.capacity as usize * PAGE),
                    todo: "end other sequences or start with a larger --context".to_owned(),
                });
            }
        };
        drop(inner);
        Ok(Page(Arc::new(Lease {
            id,
            pool: self.clone(),
        })))
    }
}

/// The pages of one sequence, in order of position.
#[derive(Debug, Clone, Default)]
pub struct PageTable(Vec<Page>);

impl PageTable {
    /// The pages.
    pub fn pages(&self) -> &[Page] {
        &self.0
    }

    /// Makes room for positions below `end`, taking new pages from `pool`.
    ///
    /// # Errors
    /// When the pool is empty; pages taken before that stay in the table.
    pub fn reserve(&mut self, pool: &PagePool, end: usize) -> Result<()> {
        while self.0.len() * PAGE < end {
            self.0.push(pool.take()?);
        }
        Ok(())
    }

    /// Drops pages that hold no position below `end`.
    pub fn truncate(&mut self, end: usize) {
        self.0.truncate(end.div_ceil(PAGE));
    }

    /// A table that shares the first `pages` pages.
    #[must_use]
    pub fn share(&self, pages: usize) -> Self {
        Self(self.0[..pages].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_once_and_only_when_the_last_holder_lets_go() {
        let pool = PagePool::new(3);
        let mut a = PageTable::default();
        a.reserve(&pool, 2 * PAGE + 1).unwrap();
        assert_eq!(pool.available(), 0);
        assert!(pool.take().is_err());
        let b = a.share(2);
        assert!(a.pages()[0].is_shared() && !a.pages()[2].is_shared());
        drop(a);
        assert_eq!(pool.available(), 1);
        let ids: Vec<u32> = b.pages().iter().map(Page::id).collect();
        let new = pool.take().unwrap();
        assert!(!ids.contains(&new.id()));
        drop((b, new));
        assert_eq!(pool.available(), 3);
    }
}
