//! Parts of a data set, and the order of its images in an epoch.

use crate::dataset::{check_index, check_label};
use attnlab_core::error::{Result, require};
use attnlab_core::rng::{Streams, shuffle};

/// Indices of the images in each part, ascending; no image is in two parts, and each is in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Images to train on.
    pub training: Vec<usize>,
    /// Images to choose settings by; none if their share is 0.
    pub validation: Vec<usize>,
    /// Images to report on; none if their share is 0.
    pub test: Vec<usize>,
}

/// Splits images so that every class has the same shares in all parts. Of the n images of a class the test part gets
/// test · n and the validation part validation · n, each rounded to nearest (halves to even); the training part gets the
/// others. Which they are is drawn from `streams`, for every class on its own.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for shares outside [0, 1) or that leave nothing to train on; a label
/// without a class; a class too small to have an image in every part whose share is not 0.
pub fn stratified(
    labels: &[usize],
    class_names: &[String],
    validation: f64,
    test: f64,
    streams: &Streams,
) -> Result<Partition> {
    for (name, share) in [("validation", validation), ("test", test)] {
        require((0.0..1.0).contains(&share), name, share, "must be a number in [0, 1)")?;
    }
    let share = validation + test;
    require(share < 1.0, "validation + test", share, "must be below 1; the training part gets the rest")?;
    let mut classes = vec![vec![]; class_names.len()];
    for (i, label) in labels.iter().enumerate() {
        check_label(*label, classes.len())?;
        classes[*label].push(i);
    }
    let mut parts = Partition { training: vec![], validation: vec![], test: vec![] };
    for (c, mut class) in classes.into_iter().enumerate() {
        let count = |share: f64| (share * class.len() as f64).round_ties_even() as usize;
        let (held, tested) = (count(validation), count(test));
        let empty = |share: f64, count: usize| share > 0.0 && count == 0;
        let requirement = format!(
            "must be enough for one in every part; validation gets {held}, test {tested}. Write larger shares, or leave \
             out the class"
        );
        let enough = !empty(validation, held) && !empty(test, tested) && held + tested < class.len();
        require(enough, format!("images of class '{}'", class_names[c]), class.len(), requirement)?;
        shuffle(&mut class, &mut streams.part("split", c as u64));
        parts.test.extend(&class[..tested]);
        parts.validation.extend(&class[tested..tested + held]);
        parts.training.extend(&class[tested + held..]);
    }
    for part in [&mut parts.training, &mut parts.validation, &mut parts.test] {
        part.sort_unstable();
    }
    Ok(parts)
}

/// Counts the images of each of `classes` classes among some images.
///
/// # Errors
/// [`Error::Invalid`](attnlab_core::Error::Invalid) for an index without a label, or a label without a class.
pub fn counts(labels: &[usize], indices: &[usize], classes: usize) -> Result<Vec<usize>> {
    let mut counts = vec![0; classes];
    for index in indices {
        check_index(*index, labels.len())?;
        check_label(labels[*index], classes)?;
        counts[labels[*index]] += 1;
    }
    Ok(counts)
}

/// Returns a uniform order of `count` images for an epoch, the same on every machine.
pub fn epoch_order(count: usize, streams: &Streams, epoch: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(&mut order, &mut streams.part("order", epoch));
    order
}
