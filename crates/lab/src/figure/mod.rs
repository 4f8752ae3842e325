//! Figures as data, and their drawing in one common style.
//!
//! A [`Figure`] holds numbers and words only; an experiment fills it from stored rows. The same
//! drawing code makes NAME.svg, NAME.pdf and NAME.png, and NAME.csv holds the numbers behind them.

mod axis;
mod canvas;
mod clip;
mod contour;
mod csv;
mod draw;
mod field;
mod film;
mod heat;
mod layout;
mod marks;
mod model;
mod pdf;
mod point;
mod style;
mod text;

pub use axis::ends;
pub use csv::to_csv;
pub use draw::{png_of_svg, svg, svg_in_page};
pub use field::{Arrows, Cell, Contour, Heat, Palette};
pub use film::{Body, Film, film};
pub use model::{Axis, Figure, Marker, Panel, Rule, Scale, Series, Stroke, Width};
pub use pdf::{pdf, pdf_of_svg};
pub use point::{Measured, Point};
pub use style::{ASPECT, GREY, INK};
pub(crate) use text::runs;

use crate::run::files;
use attnlab_core::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Writes NAME.svg, NAME.pdf, NAME.png and NAME.csv of every figure into `dir`, NAME_film.svg of its film if it has one, and
/// returns their paths.
/// Pictures are made from rows, so pictures of the same names are replaced.
///
/// # Errors
/// When the folder cannot be written, or a figure has nothing to draw, such as a log axis without a
/// positive number.
pub fn write_all(figures: &[Figure], dir: &Path) -> Result<Vec<PathBuf>> {
    let advice = "Choose a folder that you may write with --out";
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e, advice))?;
    let mut written = vec![];
    for figure in figures {
        let path = |extension: &str| dir.join(format!("{}.{extension}", figure.name));
        let drawn = svg(figure)?;
        let mut files = vec![
            (path("svg"), drawn.as_bytes().to_vec()),
            (path("pdf"), pdf_of_svg(&drawn)?),
            (path("csv"), to_csv(figure)?.into_bytes()),
            (path("png"), png_of_svg(&drawn)?),
        ];
        if let Some(moving) = &figure.film {
            files.push((dir.join(format!("{}_film.svg", figure.name)), film(figure, moving)?.into_bytes()));
        }
        for (path, bytes) in files {
            files::replace(&path, |file| file.write_all(&bytes)).map_err(|e| Error::io(&path, e, advice))?;
            written.push(path);
        }
    }
    Ok(written)
}
