//! Labelled images: from files to the numbers that a network takes.
//!
//! - [`open`]: a data set at a path, whose kind is recognised by its content; [`readers`] has the reader of each kind;
//! - [`LabelledImages`]: a data set: images, labels, names of the classes;
//! - [`shapes`]: images drawn from a law, whose shapes are known to the pixel;
//! - [`Image`]: pixels (channels, height, width), as levels 0 to 255 or as real intensities;
//! - [`transforms`]: resizing, cropping, flipping, RandAugment and normalisation, in the arithmetic of Pillow;
//! - [`patches`]: an image as a matrix whose columns are tokens;
//! - [`ImageBatches`]: the images of a training in their order, augmented, as patches;
//! - [`targets`]: smoothed labels and mix-up;
//! - [`split`]: stratified training, validation and test parts, and the order of images in an epoch;
//! - [`baselines`]: nearest neighbours and a linear classifier, with exact intervals for their accuracy.
//!
//! Files are checked before they are believed: what a header announces is compared with the bytes that are there, and
//! memory is taken for the latter alone. Nothing is downloaded.
//!
//! ```no_run
//! use attnlab_core::rng::Streams;
//! use attnlab_images::{open, patches, transforms::Augmentation};
//! let opened = open("cifar-10-batches-bin".as_ref())?;
//! println!("{}", opened.description);
//! let recipe = Augmentation::small_images(32, 4, &[0.5; 3], &[0.25; 3]);
//! let image = opened.images.image(0)?;
//! let image = recipe.apply(&image, &Streams::new(1, "images", 0, 0), 0, 0)?;
//! let tokens = patches::patches(image.intensities().view(), 4, patches::PatchOrder::ChannelsLast)?;
//! assert_eq!(tokens.dim(), (3 * 4 * 4, 64));
//! # Ok::<(), attnlab_core::Error>(())
//! ```

pub mod baselines;
mod batches;
mod dataset;
mod decode;
mod files;
mod image;
mod open;
pub mod patches;
pub mod readers;
pub mod shapes;
pub mod split;
pub mod targets;
pub mod transforms;

pub use batches::{ImageBatch, ImageBatches};
pub use dataset::{ImageSubset, LabelledImages, StoredImages, flattened};
pub use decode::{MAX_EXPANSION, MAX_FILE_BYTES, MAX_PIXELS, decode, read};
pub use image::{Image, Pixels};
pub use open::{DatasetKind, OpenedImages, open};
