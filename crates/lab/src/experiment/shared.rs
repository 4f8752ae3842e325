//! State that the trials of an experiment share.

use std::ops::Deref;

/// State that trials share, such as opened files. It follows from the settings beside it: a copy begins without, and
/// comparisons leave it out.
#[derive(Debug, Default)]
pub struct Shared<T>(T);

impl<T: Default> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
