//! Labels: words with italic symbols, superscripts and subscripts, in the bundled open font.
//!
//! Markup: `*x*` is italic, `^{..}` raised, `_{..}` lowered. Liberation Sans has the metrics of
//! Arial and Helvetica, so an SVG looks the same where one of these stands in for it.

use super::style::SCRIPT;
use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId};

/// The bundled font: upright and italic.
pub const FONTS: [&[u8]; 2] = [
    include_bytes!("../../assets/fonts/LiberationSans-Regular.ttf"),
    include_bytes!("../../assets/fonts/LiberationSans-Italic.ttf"),
];

/// A run of characters of one style.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub text: String,
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
            _ => runs.push(Run { text: c.into(), italic, scale, raise }),
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
    label.replace("^{", "^").replace("_{", "_").replace(['*', '}'], "")
}

/// Returns the character that is drawn for a combining mark over the one before it.
fn accent(c: char) -> Option<char> {
    match c {
        '\u{302}' => Some('ˆ'),
        '\u{303}' => Some('˜'),
        '\u{304}' => Some('¯'),
        _ => None,
    }
}

/// Additional height of the accent of a capital letter, in em: cap height less x-height of the font.
const ABOVE_CAPITAL: f64 = 0.2;

/// Measures the width of a run without its accents, in em of the label.
fn run_width(run: &Run) -> f64 {
    measured(&run.text.chars().filter(|c| accent(*c).is_none()).collect::<String>(), run.italic) * run.scale
}

/// Returns the characters of a run with the distances of their origins from the run's, in em of the run.
pub fn glyphs(run: &Run) -> Vec<(f64, char)> {
    let mut before = String::new();
    let place = |c: char| {
        before.push(c);
        // The difference of the two holds the kerning.
        (measured(&before, run.italic) - measured(c.encode_utf8(&mut [0; 4]), run.italic), c)
    };
    run.text.chars().map(place).collect()
}

/// Measures the advance of characters with kerning, in em.
fn measured(text: &str, italic: bool) -> f64 {
    // A bundled file that cannot be parsed fails the tests of this file.
    static FACES: LazyLock<[Option<Face>; 2]> = LazyLock::new(|| FONTS.map(|font| Face::parse(font, 0).ok()));
    let Some(face) = &FACES[usize::from(italic)] else { return 0.0 };
    let glyphs: Vec<GlyphId> = text.chars().map(|c| face.glyph_index(c).unwrap_or_default()).collect();
    let advances = glyphs.iter().filter_map(|glyph| face.glyph_hor_advance(*glyph)).map(i32::from);
    let kerning = |pair: &[GlyphId]| {
        let tables = face.tables().kern.into_iter().flat_map(|kern| kern.subtables).filter(|table| table.horizontal);
        tables.filter_map(|table| table.glyphs_kerning(pair[0], pair[1])).map(i32::from).sum::<i32>()
    };
    let units = advances.sum::<i32>() + glyphs.windows(2).map(kerning).sum::<i32>();
    f64::from(units) / f64::from(face.units_per_em())
}

/// Measures the width of a label (pt) at the type size `size` (pt).
pub fn width(label: &str, size: f64) -> f64 {
    runs(label).iter().map(run_width).sum::<f64>() * size
}

/// Returns the runs of a label with the distances of their left ends from the label's left end (pt). An
/// accent, as in x̃, is a run of its own over its letter.
pub fn placed(label: &str, size: f64) -> Vec<(f64, Run)> {
    let (mut left, mut parts) = (0.0, vec![]);
    for run in runs(label) {
        let (letters, accents) = split_accents(&run);
        parts.push((left, letters));
        parts.extend(accents.into_iter().map(|(em, accent)| (left + em * run.scale * size, accent)));
        left += run_width(&run) * size;
    }
    parts
}

/// Splits a run into its letters and its accents, each centred over its letter, with the distances of their
/// origins from the run's in em of the run.
fn split_accents(run: &Run) -> (Run, Vec<(f64, Run)>) {
    let (mut letters, mut marks) = (String::new(), vec![]);
    for c in run.text.chars() {
        match accent(c) {
            Some(mark) => marks.push((letters.chars().count(), mark)),
            None => letters.push(c),
        }
    }
    let text = |text: String| Run { text, ..run.clone() };
    let letters = text(letters);
    // Most runs have no accents, and need no places.
    let places = if marks.is_empty() { vec![] } else { glyphs(&letters) };
    let over = |(count, mark): (usize, char)| {
        let (origin, letter) = places.get(count.checked_sub(1)?).copied()?;
        let width = |c: char| measured(c.encode_utf8(&mut [0; 4]), run.italic);
        let raised = if letter.is_uppercase() { ABOVE_CAPITAL } else { 0.0 };
        let accent = Run { raise: run.raise + raised * run.scale, ..text(mark.to_string()) };
        Some((origin + (width(letter) - width(mark)) / 2.0, accent))
    };
    (letters, marks.into_iter().filter_map(over).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_split_and_removed() {
        let pieces = runs("SNR of 10^{-3}, *δ*_{0}");
        let texts: Vec<&str> = pieces.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(texts, ["SNR of 10", "-3", ", ", "δ", "0"]);
        assert!(pieces[1].raise > 0.0 && pieces[3].italic && pieces[4].raise < 0.0);
        assert_eq!(plain("SNR of 10^{-3}, *δ*_{0}"), "SNR of 10^-3, δ_0");
    }

    #[test]
    fn an_accent_is_centred_over_its_letter_and_takes_no_room() {
        let label = "*Px\u{303}*";
        assert_eq!(width(label, 8.0), width("*Px*", 8.0));
        let pieces = placed(label, 8.0);
        let texts: Vec<&str> = pieces.iter().map(|(_, run)| run.text.as_str()).collect();
        assert_eq!(texts, ["Px", "˜"]);
        let middle = pieces[1].0 + width("*˜*", 8.0) / 2.0;
        let expected = width("*P*", 8.0) + width("*x*", 8.0) / 2.0;
        assert!((middle - expected).abs() < 0.02, "{middle} {expected}");
        // A mark without a letter is left out.
        assert_eq!(placed("\u{303}", 8.0).len(), 1);
    }

    #[test]
    fn glyphs_follow_each_other_at_their_advances() {
        let run = &runs("AVn")[0];
        let letters = glyphs(run);
        assert_eq!(letters[0], (0.0, 'A'));
        // A and V are kerned: V begins before the advance of A, 1366 of 2048.
        assert!(letters[1].0 < 1366.0 / 2048.0 - 0.01, "{letters:?}");
    }

    #[test]
    fn widths_are_those_of_the_font_file() {
        // Advance widths in LiberationSans-Regular.ttf by fontTools: A 1366, n 1139, of 2048.
        let expected = (1366.0 + 1139.0) / 2048.0 * 8.0;
        assert!((width("An", 8.0) - expected).abs() < 0.02, "{} {expected}", width("An", 8.0));
    }
}
