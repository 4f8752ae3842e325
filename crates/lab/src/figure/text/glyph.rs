//! Left bearings of the glyphs of the bundled font.
//!
//! plotters' bitmap text drops the bearing and sets the ink of each glyph at its origin; the canvas adds the
//! bearing back.

use super::FONTS;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};
use ttf_parser::Face;

/// Bearings by (italic, character).
type Known = Mutex<HashMap<(bool, char), f64>>;

static KNOWN: LazyLock<Known> = LazyLock::new(Mutex::default);

/// Returns the distance from the origin of a glyph to the left end of its ink, in em; 0 for a character
/// without a glyph.
pub fn bearing(italic: bool, c: char) -> f64 {
    let find = || read(FONTS[usize::from(italic)], c).unwrap_or(0.0);
    match KNOWN.lock() {
        Ok(mut known) => *known.entry((italic, c)).or_insert_with(find),
        Err(_) => find(),
    }
}

/// Reads the left side bearing of a character, in em.
fn read(font: &[u8], c: char) -> Option<f64> {
    let face = Face::parse(font, 0).ok()?;
    let bearing = face.glyph_hor_side_bearing(face.glyph_index(c)?)?;
    Some(f64::from(bearing) / f64::from(face.units_per_em()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bearings in the font files, by a separate reader: l 138 and δ 86 upright, y −116 italic, of 2048.
    #[test]
    fn bearings_are_those_of_the_font_files() {
        let close = |found: f64, units: f64| (found - units / 2048.0).abs() < 1e-12;
        assert!(close(bearing(false, 'l'), 138.0));
        assert!(close(bearing(false, 'δ'), 86.0));
        assert!(close(bearing(true, 'y'), -116.0));
        assert_eq!(bearing(false, '\u{10ffff}'), 0.0);
    }

    #[test]
    fn a_font_cut_short_has_no_bearings() {
        for length in (0..4000).step_by(97) {
            assert_eq!(read(&FONTS[0][..length], 'l'), None);
        }
    }
}
