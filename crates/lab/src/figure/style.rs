//! Style of all figures: colours, lengths and type sizes, in points on paper (1 pt = 1/72 inch).
//!
//! Type sizes are for a figure printed at its own size (one column of 8.5 cm, or the text width of
//! 17.5 cm): 8 pt for labels, 7 pt for numbers on axes, and nothing smaller.

/// A colour: red, green, blue in 0..=255.
pub type Colour = (u8, u8, u8);

/// Okabe and Ito's palette, which colour-blind readers can distinguish. Its yellow is left out because it is
/// hardly visible on paper. Order: blue, vermillion, green, purple, orange, sky, grey, ink.
#[rustfmt::skip]
pub const COLOURS: [Colour; 8] = [
    (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (110, 110, 110),
    INK_COLOUR,
];

/// Index of the grey in `COLOURS`, for marks that are not data.
pub const GREY: usize = 6;
/// Index of the ink in `COLOURS`, for marks that must stand out from all curves.
pub const INK: usize = 7;

/// Colour of frames, ticks and text.
pub const INK_COLOUR: Colour = (30, 30, 30);
/// Colour of the background.
pub const PAPER: Colour = (255, 255, 255);
/// Colour of reference lines.
pub const RULE: Colour = (120, 120, 120);

/// Size of labels, legends and titles (pt).
pub const TEXT: f64 = 8.0;
/// Size of the numbers at ticks (pt).
pub const NUMBERS: f64 = 7.0;
/// Size of superscripts and subscripts, relative to the text around them.
pub const SCRIPT: f64 = 0.7;

/// Line width of frame and ticks (pt).
pub const HAIRLINE: f64 = 0.5;
/// Line width of curves (pt).
pub const LINE: f64 = 1.2;
/// Width (pt) of the light edge on both sides of a line over a heat map, so that it is visible on every
/// colour.
pub const CASING: f64 = 0.7;
/// Distance between the lines of hatching (pt).
pub const HATCH: f64 = 3.6;
/// Radius of a marker (pt).
pub const MARKER: f64 = 2.1;
/// Length of a major tick (pt); minor ones are 0.6 of it.
pub const TICK: f64 = 3.0;
/// Opacity of bands, in 0..=1.
pub const BAND: f64 = 0.2;

/// Points per centimetre.
pub const CM: f64 = 72.0 / 2.54;
/// Height of the plotting area relative to its width.
pub const ASPECT: f64 = 0.72;

/// Returns the colour of an index; the palette repeats beyond its end.
pub fn colour(index: usize) -> Colour {
    COLOURS[index % COLOURS.len()]
}

/// Cividis, at 9 equidistant points of 0..=1: even steps of lightness, also in grey and for
/// colour-blind readers (Nuñez, Anderton and Renslow 2018).
#[rustfmt::skip]
const CIVIDIS: [Colour; 9] = [
    (0, 34, 78), (18, 53, 112), (59, 73, 108), (87, 93, 109), (112, 113, 115), (138, 134, 120), (165, 156, 116),
    (195, 179, 105), (254, 232, 56),
];

/// Blue to orange through white, for differences: the hues of `COLOURS`, darkened towards the ends in even
/// steps of lightness. Colour-blind readers can distinguish the signs.
const DIVERGING: [Colour; 7] =
    [(0, 62, 112), (24, 119, 180), (140, 188, 222), (247, 247, 245), (240, 178, 128), (205, 96, 16), (122, 46, 0)];

/// Returns the colour of a sequential heat map at `t` in 0..=1.
pub fn heat(t: f64) -> Colour {
    between(&CIVIDIS, t)
}

/// Returns the colour of a diverging heat map at `t` in 0..=1, white at 1/2.
pub fn diverging(t: f64) -> Colour {
    between(&DIVERGING, t)
}

fn between(colours: &[Colour], t: f64) -> Colour {
    let steps = (colours.len() - 1) as f64;
    let place = t.clamp(0.0, 1.0) * steps;
    let i = (place as usize).min(colours.len() - 2);
    let f = place - i as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + f * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (colours[i], colours[i + 1]);
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Returns `true` if a colour is light, so that dark lines are visible on it (luma of ITU-R BT.601).
pub fn light((r, g, b): Colour) -> bool {
    0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b) > 128.0
}
