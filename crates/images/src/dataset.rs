//! Data sets of labelled images.

use crate::image::Image;
use attnlab_core::error::{Error, Result, require, require_shape};
use ndarray::{Array2, Array4, Axis, s};
use rayon::prelude::*;

/// Images with a class each. Reading an image must not depend on the images read before.
pub trait LabelledImages: Send + Sync {
    /// Returns the names of the classes; label c is the class with name number c. Readers refuse a class without images; a
    /// part of a data set may have one.
    fn class_names(&self) -> &[String];

    /// Returns the labels of all images, in their order.
    fn labels(&self) -> &[usize];

    /// Returns the number of images, at least 1.
    fn count(&self) -> usize {
        self.labels().len()
    }

    /// Returns the name of image number `index`, that of its file without ending; None where images have no names.
    fn name(&self, _index: usize) -> Option<&str> {
        None
    }

    /// Reads image number `index`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an index out of range; a file that cannot be read or decoded, with its name.
    fn image(&self, index: usize) -> Result<Image>;
}

/// Numbers (images, channels, height, width) of a data set in memory.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    Bytes(Array4<u8>),
    Floats(Array4<f32>),
}

impl Numbers {
    fn dim(&self) -> (usize, usize, usize, usize) {
        match self {
            Numbers::Bytes(images) => images.dim(),
            Numbers::Floats(images) => images.dim(),
        }
    }
}

/// Images of one size, in memory.
#[derive(Clone, Debug)]
pub struct StoredImages {
    numbers: Numbers,
    labels: Vec<usize>,
    class_names: Vec<String>,
}

impl StoredImages {
    /// Makes a data set of levels (images, channels, height, width); classes that have no names are called by their
    /// numbers.
    ///
    /// # Errors
    /// Another number of labels than of images, none of them, a side of 0, channels other than 1 or 3, a class without
    /// images, a label without a name.
    pub fn from_bytes(images: Array4<u8>, labels: Vec<usize>, class_names: Option<Vec<String>>) -> Result<Self> {
        Self::new(Numbers::Bytes(images), labels, class_names)
    }

    /// Makes a data set of real intensities (images, channels, height, width).
    ///
    /// # Errors
    /// As [`StoredImages::from_bytes`]; a number that is not finite.
    pub fn from_floats(images: Array4<f32>, labels: Vec<usize>, class_names: Option<Vec<String>>) -> Result<Self> {
        if let Some(((i, c, y, x), value)) = images.indexed_iter().find(|(_, x)| !x.is_finite()) {
            return Err(Error::invalid(format!("pixel[{c}, {y}, {x}] of image {i}"), value, "must be a finite number"));
        }
        Self::new(Numbers::Floats(images), labels, class_names)
    }

    pub(crate) fn new(numbers: Numbers, labels: Vec<usize>, class_names: Option<Vec<String>>) -> Result<Self> {
        let (count, channels, height, width) = numbers.dim();
        let fits = matches!(channels, 1 | 3) && height > 0 && width > 0;
        let expected = "(images, channels, height, width) with 1 or 3 channels and no side of 0";
        require_shape(fits, "images", numbers.dim(), expected)?;
        require(labels.len() == count, "labels", labels.len(), format!("must be as many as the images, {count}"))?;
        let class_names = check_classes(&labels, class_names)?;
        Ok(StoredImages { numbers, labels, class_names })
    }

    /// Returns (channels, height, width) of every image.
    pub fn dim(&self) -> (usize, usize, usize) {
        let (_, channels, height, width) = self.numbers.dim();
        (channels, height, width)
    }
}

impl LabelledImages for StoredImages {
    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn labels(&self) -> &[usize] {
        &self.labels
    }

    fn image(&self, index: usize) -> Result<Image> {
        check_index(index, self.labels.len())?;
        match &self.numbers {
            Numbers::Bytes(images) => Image::from_bytes(images.slice(s![index, .., .., ..]).to_owned()),
            Numbers::Floats(images) => Image::from_floats(images.slice(s![index, .., .., ..]).to_owned()),
        }
    }
}

/// Part of a data set, such as its training part.
pub struct ImageSubset<'a> {
    images: &'a dyn LabelledImages,
    indices: Vec<usize>,
    labels: Vec<usize>,
}

impl<'a> ImageSubset<'a> {
    /// Makes the data set of some images of another, in the order of `indices`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no index, or one out of range.
    pub fn new(images: &'a dyn LabelledImages, indices: Vec<usize>) -> Result<Self> {
        require(!indices.is_empty(), "indices", "[]", "must be at least one")?;
        let label = |i: &usize| {
            check_index(*i, images.count())?;
            Ok(images.labels()[*i])
        };
        let labels = indices.iter().map(label).collect::<Result<_>>()?;
        Ok(ImageSubset { images, indices, labels })
    }
}

impl LabelledImages for ImageSubset<'_> {
    fn class_names(&self) -> &[String] {
        self.images.class_names()
    }

    fn labels(&self) -> &[usize] {
        &self.labels
    }

    fn image(&self, index: usize) -> Result<Image> {
        check_index(index, self.indices.len())?;
        self.images.image(self.indices[index])
    }
}

/// Reads all images as the columns of a matrix (channels · height · width, images) of real intensities, in parallel.
///
/// # Errors
/// An image that cannot be read; [`Error::Shape`] for one of another size than the first.
pub fn flattened(images: &dyn LabelledImages) -> Result<Array2<f32>> {
    let first = images.image(0)?.dim();
    let mut rows = Array2::zeros((images.count(), first.0 * first.1 * first.2));
    rows.axis_iter_mut(Axis(0)).into_par_iter().enumerate().try_for_each(|(i, mut row)| {
        let image = images.image(i)?;
        if image.dim() != first {
            let expected = format!("{first:?}, as image 0. Resize the images");
            return Err(Error::shape(format!("image {i}"), image.dim(), expected));
        }
        for (to, from) in row.iter_mut().zip(image.intensities()) {
            *to = from;
        }
        Ok(())
    })?;
    Ok(rows.reversed_axes())
}

/// Refuses an index out of range.
pub(crate) fn check_index(index: usize, count: usize) -> Result<()> {
    require(index < count, "index", index, format!("must be below the number of images, {count}"))
}

/// Refuses a label without a class.
pub(crate) fn check_label(label: usize, classes: usize) -> Result<()> {
    if label < classes {
        return Ok(());
    }
    Err(Error::invalid("label", label, format!("must be below the number of classes, {classes}")))
}

/// Refuses labels without a name and classes without images; returns the names. Since every class has an image, the
/// number of classes is at most the number of labels, whatever a file says.
pub(crate) fn check_classes(labels: &[usize], names: Option<Vec<String>>) -> Result<Vec<String>> {
    let most = labels.iter().max().ok_or_else(|| Error::invalid("images", 0, "must be at least one"))?;
    let classes = names.as_ref().map_or(labels.len(), Vec::len);
    if *most >= classes {
        let requirement = match names {
            Some(_) => format!("must be below the number of classes, {classes}"),
            None => format!(
                "must be below the number of images, {classes}; every class must have one. Number the classes from 0"
            ),
        };
        return Err(Error::invalid("label", most, requirement));
    }
    let classes = names.as_ref().map_or(most + 1, Vec::len);
    let requirement =
        format!("must be at most the number of images, {}; every class must have one. Add images", labels.len());
    require(classes <= labels.len(), "classes", classes, requirement)?;
    let mut counts = vec![0_usize; classes];
    for label in labels {
        counts[*label] += 1;
    }
    let names = names.unwrap_or_else(|| (0..classes).map(|c| c.to_string()).collect());
    if let Some(empty) = counts.iter().position(|count| *count == 0) {
        let name = format!("images of class '{}'", names[empty]);
        return Err(Error::invalid(name, 0, "must be at least one. Add images, or number the classes without it"));
    }
    Ok(names)
}
