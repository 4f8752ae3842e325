//! Left bearings of glyphs, from the tables `cmap`, `hhea` and `hmtx` of the bundled fonts.
//!
//! plotters' bitmap text drops the bearing and sets the ink of each glyph at its origin; the canvas adds the
//! bearing back.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

const REGULAR: &[u8] = include_bytes!("../../../assets/fonts/LiberationSans-Regular.ttf");
const ITALIC: &[u8] = include_bytes!("../../../assets/fonts/LiberationSans-Italic.ttf");

/// Bearings by (italic, character).
type Known = Mutex<HashMap<(bool, char), f64>>;

static KNOWN: LazyLock<Known> = LazyLock::new(Mutex::default);

/// Returns the distance from the origin of a glyph to the left end of its ink, in em; 0 for a character
/// without a glyph.
pub fn bearing(italic: bool, c: char) -> f64 {
    let find = || read(if italic { ITALIC } else { REGULAR }, c).unwrap_or(0.0);
    match KNOWN.lock() {
        Ok(mut known) => *known.entry((italic, c)).or_insert_with(find),
        Err(_) => find(),
    }
}

/// Reads the left side bearing of a character, in em. In both fonts it is the least x of the outline (bit 1
/// of the flags of `head`).
fn read(font: &[u8], c: char) -> Option<f64> {
    let units = f64::from(u16_at(font, table(font, b"head")? + 18)?);
    let metrics = u16_at(font, table(font, b"hhea")? + 34)? as usize;
    let glyph = glyph(font, u16::try_from(u32::from(c)).ok()?)? as usize;
    let start = table(font, b"hmtx")?;
    // The glyphs after the last advance width have a bearing alone.
    let at = match glyph < metrics {
        true => start + 4 * glyph + 2,
        false => start + 4 * metrics + 2 * (glyph - metrics),
    };
    Some(f64::from(u16_at(font, at)? as i16) / units)
}

/// Returns the index of the glyph of a character by a `cmap` subtable of format 4.
fn glyph(font: &[u8], code: u16) -> Option<u16> {
    let cmap = table(font, b"cmap")?;
    let subtables = u16_at(font, cmap + 2)? as usize;
    let place = |i: usize| Some(cmap + u32_at(font, cmap + 8 + 8 * i)? as usize);
    let format_4 = |at: &usize| u16_at(font, *at) == Some(4);
    let at = (0..subtables).filter_map(place).find(format_4)?;
    let twice = u16_at(font, at + 6)? as usize;
    let (ends, starts) = (at + 14, at + 16 + twice);
    for i in 0..twice / 2 {
        if code > u16_at(font, ends + 2 * i)? {
            continue;
        }
        let start = u16_at(font, starts + 2 * i)?;
        if code < start {
            return None;
        }
        let delta = u16_at(font, starts + twice + 2 * i)?;
        let offset_at = starts + 2 * twice + 2 * i;
        let offset = u16_at(font, offset_at)? as usize;
        return match offset {
            0 => Some(code.wrapping_add(delta)),
            _ => {
                let found = u16_at(font, offset_at + offset + 2 * (code - start) as usize)?;
                (found != 0).then(|| found.wrapping_add(delta))
            }
        };
    }
    None
}

/// Returns the offset of a table.
fn table(font: &[u8], tag: &[u8; 4]) -> Option<usize> {
    let count = u16_at(font, 4)? as usize;
    let entry = (0..count).map(|i| 12 + 16 * i);
    let found = entry
        .into_iter()
        .find(|at| font.get(*at..*at + 4) == Some(tag))?;
    Some(u32_at(font, found + 8)? as usize)
}

fn u16_at(font: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(font.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(font: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(font.get(at..at + 4)?.try_into().ok()?))
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
            assert_eq!(read(&REGULAR[..length], 'l'), None);
        }
    }
}
