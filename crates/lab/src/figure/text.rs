//! Labels: words with italic symbols, superscripts and subscripts, in the bundled open font.
//!
//! Markup: `*x*` is italic, `^{..}` raised, `_{..}` lowered. Liberation Sans has the metrics of
//! Arial and Helvetica, so an SVG looks the same where one of these stands in for it.

use super::style::SCRIPT;
use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};
use std::sync::Once;

/// Font family as an SVG names it; plotters finds the bundled font under the same name.
pub const FAMILY: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// Height of a line relative to the em in the bundled font, (ascent + descent) / units per em =
/// (1854 + 434) / 2048. ab_glyph takes it as the size of type where SVG takes the em.
pub const LINE_PER_EM: f64 = 2288.0 / 2048.0;

/// The bundled font: upright and italic.
pub const FONTS: [&[u8]; 2] = [
    include_bytes!("../../assets/fonts/LiberationSans-Regular.ttf"),
    include_bytes!("../../assets/fonts/LiberationSans-Italic.ttf"),
];

/// Registers the bundled font with plotters, once.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, font) in [FontStyle::Normal, FontStyle::Italic]
            .into_iter()
            .zip(FONTS)
        {
            // A bundled file that cannot be parsed would fail every picture and the tests with it.
            let _ = register_font(FAMILY, style, font);
        }
    });
}

/// A run of characters of one style.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The characters.
    pub text: String,
    /// Flag: italic.
    pub italic: bool,
    /// Size relative to the label's.
    pub scale: f64,
    /// Height of the baseline above the label's, in em of the label.
    pub raise: f64,
}

/// Splits a label into runs.
pub fn runs(label: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = vec![];
    let (mut italic, mut script) = (false, 0.0);
    let mut push = |c: char, italic: bool, raise: f64| {
        let scale = if raise == 0.0 { 1.0 } else { SCRIPT };
        match runs.last_mut() {
            Some(run) if run.italic == italic && run.raise == raise => run.text.push(c),
            _ => runs.push(Run {
                text: c.into(),
                italic,
                scale,
                raise,
            }),
        }
    };
    let mut rest = label.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' => italic = !italic,
            '^' | '_' if rest.peek() == Some(&'{') => {
                rest.next();
                script = if c == '^' { 0.38 } else { -0.16 };
            }
            '}' if script != 0.0 => script = 0.0,
            c => push(c, italic, script),
        }
    }
    runs
}

/// Returns the label without markup: `*SNR*_{0}` becomes "SNR_0".
pub fn plain(label: &str) -> String {
    label
        .replace("^{", "^")
        .replace("_{", "_")
        .replace(['*', '}'], "")
}

/// Measures the width of a run, in em of the label.
fn run_width(run: &Run) -> f64 {
    register();
    let style = if run.italic {
        FontStyle::Italic
    } else {
        FontStyle::Normal
    };
    // Measured large, because plotters rounds to whole pixels.
    let size = 2000.0;
    let font = FontDesc::new(FontFamily::Name(FAMILY), size, style);
    let width = font
        .layout_box(&run.text)
        .map_or(0, |((x0, _), (x1, _))| x1 - x0);
    f64::from(width) / size * LINE_PER_EM * run.scale
}

/// Measures the width of a label (pt) at the type size `size` (pt).
pub fn width(label: &str, size: f64) -> f64 {
    runs(label).iter().map(run_width).sum::<f64>() * size
}

/// Returns the runs of a label with the distances of their left ends from the label's left end (pt).
pub fn placed(label: &str, size: f64) -> Vec<(f64, Run)> {
    let mut left = 0.0;
    runs(label)
        .into_iter()
        .map(|run| {
            let at = left;
            left += run_width(&run) * size;
            (at, run)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_split_and_removed() {
        let found = runs("SNR of 10^{-3}, *δ*_{0}");
        let texts: Vec<&str> = found.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["SNR of 10", "-3", ", ", "δ", "0"]);
        assert!(found[1].raise > 0.0 && found[3].italic && found[4].raise < 0.0);
        assert_eq!(plain("SNR of 10^{-3}, *δ*_{0}"), "SNR of 10^-3, δ_0");
    }

    #[test]
    fn widths_are_those_of_the_font_file() {
        // Advance widths in LiberationSans-Regular.ttf by fontTools: A 1366, n 1139, of 2048.
        let expected = (1366.0 + 1139.0) / 2048.0 * 8.0;
        assert!(
            (width("An", 8.0) - expected).abs() < 0.02,
            "{} {expected}",
            width("An", 8.0)
        );
    }
}
