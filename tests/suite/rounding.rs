//! Comparison of printed lines across machines: sums differ in their last bits where vector units differ.

/// Relative difference up to which printed numbers are equal. Rounding moves a sum in f64 by 1e-12 of itself and one in
/// f32 by 1e-6; another constant, seed or number of trials moves an estimate by more than this.
const RELATIVE: f64 = 1e-3;

/// Size below which numbers are equal: a difference of numbers of order one that is zero up to some fifty roundings
/// of 2.2e-16, or a p-value below every level.
const RESIDUE: f64 = 1e-14;

/// Least size of a number, in units of its last digit, for one such unit to count as rounding: two digits are printed.
const LEAST_UNITS: f64 = 10.0;

/// Decides whether two lines have the same words, and numbers that are equal up to rounding.
pub fn same(a: &str, b: &str) -> bool {
    beginning(a, b) == Some(b.len())
}

/// Decides whether a line is the [`same`] as a pattern, in which `[..]` stands for any text.
pub fn fits(pattern: &str, line: &str) -> bool {
    let Some((first, rest)) = pattern.split_once("[..]") else { return same(pattern, line) };
    let Some(length) = beginning(first, line) else { return false };
    // A number is found whole.
    let within_number = |start: usize| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && line[..start].ends_with(|c: char| c.is_ascii_digit() || c == '.')
    };
    let mut starts = (length..=line.len()).filter(|start| line.is_char_boundary(*start) && !within_number(*start));
    starts.any(|start| fits(rest, &line[start..]))
}

/// Returns the length of the part of a line, from its beginning, that is the [`same`] as `text`.
fn beginning(text: &str, line: &str) -> Option<usize> {
    let mut length = 0;
    for (index, piece) in pieces(text).into_iter().enumerate() {
        let rest = &line[length..];
        let is_number = index % 2 == 1;
        length += if is_number { number_length(rest.as_bytes()) } else { piece.len() };
        let part = line.get(line.len() - rest.len()..length)?;
        if part != piece && !(is_number && equal(piece, part)) {
            return None;
        }
    }
    Some(length)
}

/// Splits a line into text, number, text, .., text.
fn pieces(line: &str) -> Vec<&str> {
    let bytes = line.as_bytes();
    let mut pieces: Vec<&str> = vec![];
    let (mut text, mut place) = (0, 0);
    while place < bytes.len() {
        let length = number_length(&bytes[place..]);
        if length == 0 {
            place += 1;
            continue;
        }
        pieces.extend([&line[text..place], &line[place..place + length]]);
        place += length;
        text = place;
    }
    pieces.push(&line[text..]);
    pieces
}

/// Returns the length of the number with which the bytes begin, such as `-1.5e-9`; 0 if they begin with none.
fn number_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = |place: usize| usize::from(bytes.get(place) == Some(&b'-'));
    let mut end = sign(0) + digits(sign(0));
    if end == sign(0) {
        return 0;
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    let exponent = end + 1 + sign(end + 1);
    if bytes.get(end) == Some(&b'e') && digits(exponent) > 0 {
        end = exponent + digits(exponent);
    }
    end
}

/// Decides whether two printed numbers are equal up to rounding. Whole numbers are counts and settings, without
/// rounding.
fn equal(a: &str, b: &str) -> bool {
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    let whole = |number: &str| !number.contains(['.', 'e']);
    if whole(a) && whole(b) {
        return x == y;
    }
    let (size, gap) = (x.abs().max(y.abs()), (x - y).abs());
    // Zeros at the end may be left out: the last digit is that of the longer number.
    let unit = last_digit(a).min(last_digit(b));
    // 1.001: a difference of one unit is itself rounded.
    let by_one_unit = size >= LEAST_UNITS * unit && gap <= 1.001 * unit;
    size < RESIDUE || gap <= RELATIVE * size || by_one_unit
}

/// Returns the unit of the last digit of a number: 0.001 for `1.500`, 1e-18 for `2.7e-17`.
fn last_digit(number: &str) -> f64 {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len());
    10.0_f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals as i32)
}

#[test]
fn numbers_are_equal_up_to_rounding() {
    for (a, b) in [
        ("holds  margin 2.77556e-17", "holds  margin -0"),
        ("estimate -0.98763, 95 % [-1.01866, 1]", "estimate -0.987631, 95 % [-1.01865, 0.999999]"),
        ("p-value 3.5e-11", "p-value 3.6e-11"),
        ("p-value 8.1e-63", "p-value 0"),
        ("0.32 [0.288, 0.353]", "0.32 [0.289, 0.353]"),
        ("η = 1.275 within 5%", "η = 1.2751 within 5%"),
    ] {
        assert!(same(a, b) && same(b, a), "{a} | {b}");
    }
}

#[test]
fn other_numbers_and_words_differ() {
    for (a, b) in [
        ("40 of 40 draws", "39 of 40 draws"),
        ("tokens = 400", "tokens = 401"),
        ("factor 0.5", "factor 0.6"),
        ("τ = 12.3", "τ = 12"),
        ("estimate 0.5", "estimate 0.51235"),
        ("p-value 3.5e-11", "p-value 3.5e-12"),
        ("holds  margin 1e-9", "holds  margin 0"),
        ("holds  margin 0.45", "FAILS  margin 0.45"),
        ("0 [0, 0.369]", "0 [0, 0.369], p-value 1"),
    ] {
        assert!(!same(a, b) && !same(b, a), "{a} | {b}");
    }
}

#[test]
fn any_text_may_stand_in_a_pattern() {
    let line = "aot.lemma1: supported, 9 of 10 trials, 0.3 s";
    for pattern in ["[..]", "[..]9 of 10[..]", "aot.[..], 9 of [..] trials, 0.3[..]", "aot[..] s", "[..]lemma1[..]"] {
        assert!(fits(pattern, line), "{pattern}");
    }
    for pattern in ["", "[..]0 trials[..]", "[..]lemma[..]lemma[..]", "aot.lemma1[..], 0.3", "[..]8 of 10[..]"] {
        assert!(!fits(pattern, line), "{pattern}");
    }
}
