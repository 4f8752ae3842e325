//! PDF files for LaTeX, made from the SVG.

use super::draw::svg;
use super::model::Figure;
use super::text;
use attnlab_core::error::{Error, Result};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// Draws the figure as a PDF at its size on paper. Lines stay lines, and labels stay text, in the bundled font. The
/// picture is the same each time; entries of the file's dictionaries may stand in another order.
///
/// # Errors
/// When the figure has nothing to draw.
pub fn pdf(figure: &Figure) -> Result<Vec<u8>> {
    pdf_of(&tree(&svg(figure)?)?)
}

/// Converts a figure to PDF.
pub(super) fn pdf_of(tree: &Tree) -> Result<Vec<u8>> {
    let conversion = svg2pdf::ConversionOptions::default();
    let page = svg2pdf::PageOptions { dpi: Options::default().dpi };
    svg2pdf::to_pdf(tree, conversion, page).map_err(|e| Error::unwritable("a figure (PDF)", e))
}

/// Reads the SVG of a figure, with the bundled font.
///
/// # Errors
/// When the text is no SVG.
pub(super) fn tree(svg: &str) -> Result<Tree> {
    static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        text::FONTS.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
        Arc::new(fonts)
    });
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|e| Error::unwritable("a figure", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Panel, Point, Series};

    #[test]
    fn the_file_holds_the_font() {
        let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
        let panel = Panel::new("", Axis::linear("*x*"), Axis::linear("SNR (dB)"));
        let panel = panel.with(Series::measured("measured", 0, points));
        let bytes = pdf(&Figure::column("small", "A line", vec![panel])).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("%PDF-") && text.contains("LiberationSans"));
    }

    #[test]
    fn what_is_no_svg_is_refused() {
        assert!(tree("no picture").is_err());
    }
}
