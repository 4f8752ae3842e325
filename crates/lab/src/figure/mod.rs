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
pub use draw::{svg, svg_in_page};
pub use field::{Arrows, Cell, Contour, Heat, Palette};
pub use film::{Body, Film, film};
pub use model::{Axis, Figure, Marker, Panel, Rule, Scale, Series, Stroke, Width};
pub use pdf::pdf;
pub use point::{Measured, Point};
pub use style::{ASPECT, GREY, INK};
pub(crate) use text::runs;

use crate::run::files;
use attnlab_core::error::{Error, Result};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Writes NAME.svg, NAME.pdf, NAME.png and NAME.csv of every figure into `dir`, NAME_film.svg of its film if it has one, and
/// returns their paths. Pictures are made from rows, so pictures of the same names are replaced.
///
/// # Errors
/// When the folder cannot be written, or a figure has nothing to draw, such as a log axis without a
/// positive number.
pub fn write_all(figures: &[Figure], dir: &Path) -> Result<Vec<PathBuf>> {
    let advice = "Choose a folder that you may write with --out";
    std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e, advice))?;
    let drawn: Vec<Result<Files>> = figures.par_iter().map(files_of).collect();
    let mut written = vec![];
    for files in drawn {
        for (name, bytes) in files? {
            let path = dir.join(name);
            files::replace(&path, |file| file.write_all(&bytes)).map_err(|e| Error::io(&path, e, advice))?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Names and contents of files.
type Files = Vec<(String, Vec<u8>)>;

/// Draws the files of a figure.
fn files_of(figure: &Figure) -> Result<Files> {
    let drawn = svg(figure)?;
    let tree = pdf::tree(&drawn)?;
    let (pdf, png) = rayon::join(|| pdf::pdf_of(&tree), || draw::png_of(&tree));
    let named = |end: &str, bytes| (format!("{}{end}", figure.name), bytes);
    let csv = to_csv(figure)?.into_bytes();
    let mut files =
        vec![named(".svg", drawn.into_bytes()), named(".pdf", pdf?), named(".csv", csv), named(".png", png?)];
    if let Some(moving) = &figure.film {
        files.push(named("_film.svg", film(figure, moving)?.into_bytes()));
    }
    Ok(files)
}
