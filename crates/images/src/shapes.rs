//! Images drawn from a law: a shape at a random place on noise. What a network has to look at is known to the pixel.

use crate::dataset::{LabelledImages, StoredImages};
use crate::image::Image;
use attnlab_core::error::{Result, positive, require};
use attnlab_core::rng::Streams;
use ndarray::{Array2, Array4, ArrayViewMut2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Names of the shapes, in the order of the classes. All have the same area but for rounding.
pub const SHAPES: [&str; 6] = ["disc", "square", "diamond", "cross", "ring", "triangle"];

/// Law of images (1, side, side) with one shape each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeLaw {
    /// Side of an image (pixels).
    pub side: usize,
    /// Number of classes: the first ones of [`SHAPES`].
    pub classes: usize,
    /// Side of a square of the shapes' area, relative to that of the image, in (0, 0.6].
    pub size: f64,
    /// Intensity of the shape above the background's mean 0.3.
    pub contrast: f64,
    /// σ, standard deviation of the noise of every pixel.
    pub noise: f64,
}

/// Drawn images with the pixels of their shapes.
#[derive(Clone, Debug)]
pub struct DrawnShapes {
    images: StoredImages,
    masks: Vec<Array2<bool>>,
}

/// Mean intensity of the background.
const BACKGROUND: f64 = 0.3;

impl ShapeLaw {
    /// Refuses a law that cannot be drawn.
    ///
    /// # Errors
    /// [`Error::Invalid`](attnlab_core::Error::Invalid) with the number, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        require(self.side >= 8, "side", self.side, "must be at least 8")?;
        let allowed = format!("must be from 2 to {}", SHAPES.len());
        require((2..=SHAPES.len()).contains(&self.classes), "classes", self.classes, allowed)?;
        require(self.size > 0.0 && self.size <= 0.6, "size", self.size, "must be a number in (0, 0.6]")?;
        positive("contrast", self.contrast)?;
        let noise = self.noise;
        require(noise >= 0.0 && noise.is_finite(), "noise", noise, "must be a number >= 0")
    }

    /// Draws `count` images. Image i has label i modulo the number of classes, and is a function of the streams and of i.
    /// Intensities are rounded to levels and cut off at 0 and 1.
    ///
    /// # Errors
    /// Those of [`ShapeLaw::validate`]; fewer images than classes.
    ///
    /// ```
    /// use attnlab_core::rng::Streams;
    /// use attnlab_images::{LabelledImages, shapes::ShapeLaw};
    /// let law = ShapeLaw { side: 16, classes: 2, size: 0.4, contrast: 0.5, noise: 0.0 };
    /// let drawn = law.draw(10, &Streams::new(1, "shapes", 0, 0))?;
    /// let levels = drawn.image(0)?;
    /// let lit = levels.levels()?.iter().filter(|x| **x > 100).count();
    /// assert_eq!(lit, drawn.mask(0).unwrap().iter().filter(|m| **m).count());
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn draw(&self, count: usize, streams: &Streams) -> Result<DrawnShapes> {
        self.validate()?;
        require(count >= self.classes, "images", count, format!("must be at least classes = {}", self.classes))?;
        let mut pixels = Array4::zeros((count, 1, self.side, self.side));
        let masks = pixels.axis_iter_mut(Axis(0)).into_par_iter().enumerate();
        let masks = masks.map(|(i, mut image)| {
            self.draw_image(i % self.classes, image.index_axis_mut(Axis(0), 0), &streams.child("shape", i as u64))
        });
        let masks = masks.collect();
        let labels = (0..count).map(|i| i % self.classes).collect();
        let names = SHAPES[..self.classes].iter().map(ToString::to_string);
        Ok(DrawnShapes { images: StoredImages::from_bytes(pixels, labels, Some(names.collect()))?, masks })
    }

    fn draw_image(&self, class: usize, mut image: ArrayViewMut2<u8>, streams: &Streams) -> Array2<bool> {
        let mut place = streams.part("place", 0);
        let side = self.side as f64;
        let half = 0.5 * self.size * side;
        // The widest shape, the cross, stays inside.
        let reach = (1.5 * half).min(0.5 * side);
        let mut coordinate = || reach + (side - 2.0 * reach) * place.random::<f64>();
        let (x, y) = (coordinate(), coordinate());
        let mask = Array2::from_shape_fn((self.side, self.side), |(i, j)| {
            inside(class, (j as f64 + 0.5 - x) / half, (i as f64 + 0.5 - y) / half)
        });
        let mut noise = streams.part("noise", 0);
        for (pixel, lit) in image.iter_mut().zip(&mask) {
            let shape = if *lit { self.contrast } else { 0.0 };
            let normal: f64 = StandardNormal.sample(&mut noise);
            *pixel = (255.0 * (BACKGROUND + shape + self.noise * normal)).round().clamp(0.0, 255.0) as u8;
        }
        mask
    }
}

/// Decides whether a point belongs to a shape of area 4 around 0.
fn inside(class: usize, x: f64, y: f64) -> bool {
    use std::f64::consts::PI;
    let radius = x.hypot(y);
    match SHAPES[class] {
        "disc" => radius * radius <= 4.0 / PI,
        "square" => x.abs().max(y.abs()) <= 1.0,
        "diamond" => x.abs() + y.abs() <= 2.0_f64.sqrt(),
        // Two bars, 2a long and 2a/3 wide: 20 a²/9 = 4.
        "cross" => {
            let a = 1.8_f64.sqrt();
            (x.abs() <= a && y.abs() <= a / 3.0) || (y.abs() <= a && x.abs() <= a / 3.0)
        }
        // Radii r and r/2: 3 π r²/4 = 4.
        "ring" => {
            let outer = (16.0 / (3.0 * PI)).sqrt();
            radius <= outer && radius >= 0.5 * outer
        }
        // Height and base h: h²/2 = 4; y points down.
        _ => {
            let h = 8.0_f64.sqrt();
            let from_tip = y + 0.5 * h;
            (0.0..=h).contains(&from_tip) && x.abs() <= 0.5 * from_tip
        }
    }
}

impl DrawnShapes {
    /// Returns the pixels of an image that belong to its shape, (side, side); None for an index out of range.
    pub fn mask(&self, index: usize) -> Option<&Array2<bool>> {
        self.masks.get(index)
    }
}

impl LabelledImages for DrawnShapes {
    fn class_names(&self) -> &[String] {
        self.images.class_names()
    }

    fn labels(&self) -> &[usize] {
        self.images.labels()
    }

    fn image(&self, index: usize) -> Result<Image> {
        self.images.image(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_one_area_and_stay_inside() {
        let law = ShapeLaw { side: 200, classes: 6, size: 0.3, contrast: 0.5, noise: 0.0 };
        let drawn = law.draw(24, &Streams::new(1, "t", 0, 0)).unwrap();
        for i in 0..24 {
            let area = drawn.mask(i).unwrap().iter().filter(|m| **m).count() as f64;
            assert!((area / 3600.0 - 1.0).abs() < 0.02, "{}: {area}", SHAPES[i % 6]);
        }
        assert!(drawn.mask(24).is_none());
    }

    #[test]
    fn noise_has_its_standard_deviation_and_an_image_is_a_function_of_its_number() {
        let law = ShapeLaw { side: 64, classes: 3, size: 0.2, contrast: 0.2, noise: 0.05 };
        let streams = Streams::new(2, "t", 0, 0);
        let (few, many) = (law.draw(3, &streams).unwrap(), law.draw(9, &streams).unwrap());
        assert_eq!(few.image(2).unwrap().intensities(), many.image(2).unwrap().intensities());
        let image = few.image(0).unwrap().intensities();
        let outside = image.iter().zip(few.mask(0).unwrap()).filter(|(_, m)| !**m);
        let outside: Vec<f64> = outside.map(|(x, _)| f64::from(*x) - BACKGROUND).collect();
        let square = outside.iter().map(|x| x * x).sum::<f64>() / outside.len() as f64;
        assert!((square.sqrt() / 0.05 - 1.0).abs() < 0.05, "{square}");
    }

    #[test]
    fn laws_out_of_range_are_refused() {
        let law = ShapeLaw { side: 28, classes: 4, size: 0.3, contrast: 0.3, noise: 0.1 };
        for (law, part) in [
            (ShapeLaw { side: 7, ..law }, "side = 7"),
            (ShapeLaw { classes: 7, ..law }, "classes = 7"),
            (ShapeLaw { size: 0.7, ..law }, "size = 0.7"),
            (ShapeLaw { contrast: 0.0, ..law }, "contrast = 0"),
            (ShapeLaw { noise: -1.0, ..law }, "noise = -1"),
        ] {
            let refused = law.validate().unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
