//! Readers of data sets, one for each kind of files. [`open`](crate::open) chooses by content; these are for a caller who
//! knows.

pub mod cifar;
pub mod digits;
pub mod folder;
pub mod idx;
pub mod mnist_json;
pub mod numpy;
pub mod shards;

/// Data set with remarks for the user on files that were left aside.
#[derive(Clone, Debug)]
pub struct Remarked<T> {
    /// The data set.
    pub images: T,
    /// Remarks, such as "3 other files skipped"; may be empty.
    pub remarks: Vec<String>,
}
