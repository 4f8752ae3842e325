//! Values of pure functions that were computed before.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// The values of a pure function at its last arguments. Since a value depends on its argument alone, it does not matter
/// which thread computed it, or whether it was known.
///
/// ```
/// use attnlab_core::memo::Memo;
/// let squares = Memo::new();
/// let square = |x: u64| squares.value(x, || Ok(x * x));
/// assert_eq!(square(3)?, 9);
/// // Known, so that it is not computed.
/// assert_eq!(squares.value(3, || unreachable!())?, 9);
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Memo<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// Values that are kept at most: a full memo begins anew, so that a long run does not fill the memory.
    pub const CAPACITY: usize = 4096;

    /// A memo of no values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value at `key`: the known one, or that of `compute`. The lock is not held meanwhile, since threads that
    /// wait for one another may hold each other's work; two threads may so compute the same value.
    ///
    /// # Errors
    /// Those of `compute`; they are not kept.
    pub fn value<E>(&self, key: K, compute: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let values = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = values().get(&key) {
            return Ok(known.clone());
        }
        let value = compute()?;
        let mut values = values();
        if values.len() >= Self::CAPACITY {
            values.clear();
        }
        values.insert(key, value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Memo;

    /// An error is not kept, and a full memo forgets.
    #[test]
    fn what_is_kept() {
        let memo = Memo::new();
        assert_eq!(memo.value(0, || Err("no")), Err("no"));
        let count = Memo::<usize, usize>::CAPACITY;
        for key in 0..=count {
            assert_eq!(memo.value(key, || Ok::<_, &str>(key)), Ok(key));
        }
        assert_eq!(memo.value(count, || Err("forgotten")), Ok(count));
        assert_eq!(memo.value(0, || Err("forgotten")), Err("forgotten"));
    }
}
