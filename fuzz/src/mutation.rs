//! Mutations of the inputs of a corpus, each a function of seed and number.

use attnlab_core::rng::{Generator, Streams};
use rand::RngExt;
use std::ops::Range;

/// Longest input (bytes).
const MAX_BYTES: usize = 1 << 15;

/// Whole numbers at the ends of the ranges of types, and small ones.
const INTEGERS: [u64; 14] =
    [0, 1, 2, 7, 16, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX / 2, u64::MAX];

/// Numbers as texts write them.
const NUMBERS: [&str; 17] = [
    "0",
    "-0.0",
    "-1",
    "1e5",
    "1e-400",
    "1e999",
    "nan",
    "inf",
    "0.1",
    "255",
    "65536",
    "268435456",
    "4294967296",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
];

const MARKS: [&str; 24] = [
    "{", "}", "[", "]", "(", ")", "\"", "'", ",", ":", "=", "\n", "\r", "\0", "\\", "^", "-", "e", "null", "true", "#",
    "\t", "é", "\u{feff}",
];

/// Returns case number `case` of the target `name`: an input of the corpus after one or more mutations.
pub(crate) fn case(name: &str, corpus: &[Vec<u8>], seed: u64, case: u64) -> Vec<u8> {
    let mut rng = Streams::new(seed, &format!("fuzz.{name}"), 0, case).part("mutations", 0);
    let mut bytes = chosen(corpus, &mut rng).clone();
    loop {
        mutate(&mut bytes, corpus, &mut rng);
        bytes.truncate(MAX_BYTES);
        if rng.random_bool(0.4) {
            return bytes;
        }
    }
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Generator) {
    let place = rng.random_range(0..=bytes.len());
    match rng.random_range(0..11) {
        0 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << rng.random_range(0..8)),
        1 => bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte = rng.random_range(0..=255)),
        2 => bytes.truncate(place),
        3 => drop(bytes.drain(span(bytes, rng))),
        4 => {
            let part = bytes[span(bytes, rng)].repeat(1 << rng.random_range(0..8));
            bytes.splice(place..place, part);
        }
        5 => {
            let other = chosen(corpus, rng);
            bytes.truncate(place);
            bytes.extend(&other[rng.random_range(0..=other.len())..]);
        }
        6 => {
            let other = chosen(corpus, rng);
            let over = if rng.random_bool(0.5) { span(bytes, rng) } else { place..place };
            bytes.splice(over, other[span(other, rng)].iter().copied());
        }
        7 => {
            let width = 1 << rng.random_range(0..4);
            let integer = *chosen(&INTEGERS, rng);
            let mut new = integer.to_le_bytes()[..width].to_vec();
            if rng.random_bool(0.2) {
                new.reverse();
            }
            let end = bytes.len().min(place + width);
            bytes.splice(place..end, new);
        }
        8 => {
            // The next number of a text.
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            let start = bytes.iter().skip(place).position(is_digit).map_or(place, |i| place + i);
            let length = bytes[start..].iter().take_while(|byte| is_digit(byte)).count();
            bytes.splice(start..start + length, chosen(&NUMBERS, rng).bytes());
        }
        9 => drop(bytes.splice(place..place, chosen(&MARKS, rng).bytes())),
        _ => {
            let mark = chosen(&MARKS, rng).repeat(1 << rng.random_range(0..13));
            bytes.splice(place..place, mark.bytes());
        }
    }
}

fn chosen<'a, T>(list: &'a [T], rng: &mut Generator) -> &'a T {
    &list[rng.random_range(0..list.len())]
}

/// A part of an input, mostly a short one.
fn span(bytes: &[u8], rng: &mut Generator) -> Range<usize> {
    let start = rng.random_range(0..=bytes.len());
    let length = rng.random_range(0..16) << rng.random_range(0..5);
    start..bytes.len().min(start + length)
}

#[cfg(test)]
mod tests {
    use super::case;

    #[test]
    fn a_case_can_be_drawn_again() {
        let corpus = [b"{\"a\": 12}".to_vec(), vec![], vec![0; 40]];
        let cases = |seed| (0..500).map(|number| case("npy", &corpus, seed, number)).collect::<Vec<_>>();
        assert_eq!(cases(1), cases(1));
        assert_ne!(cases(1), cases(2));
    }
}
