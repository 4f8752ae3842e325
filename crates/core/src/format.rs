//! Formatting of numbers and values for people. JSON output does not use this module.

use serde_json::{Map, Value};

/// Formats `x` with six significant digits and without trailing zeros; very large and very small numbers
/// are written with powers of ten.
pub fn number(x: f64) -> String {
    significant(x, 6)
}

/// Formats `x` as [`number`] does, with `digits` significant digits (at least one).
pub fn significant(x: f64, digits: usize) -> String {
    if !x.is_finite() || x == 0.0 {
        return x.to_string();
    }
    let digits = digits.max(1);
    let exponent = x.abs().log10().floor() as i32;
    if !(-4..9).contains(&exponent) {
        let text = format!("{x:.*e}", digits - 1);
        return match text.split_once('e') {
            Some((mantissa, power)) => format!("{}e{power}", trimmed(mantissa)),
            None => text,
        };
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    trimmed(&format!("{x:.decimals$}")).to_string()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Formats a JSON value: numbers shortened, text without quotes, long arrays cut.
pub fn value(value: &Value) -> String {
    match value {
        Value::Number(n) if n.is_f64() => number(n.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            // The first entries show the kind of array; the JSON output has all of them.
            let shown: Vec<_> = items.iter().take(8).map(self::value).collect();
            let rest = if items.len() > shown.len() { ", .." } else { "" };
            format!("[{}{rest}]", shown.join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns a word of a command line, quoted if a shell would change it.
pub fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./,:+".contains(c)) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Characters that begin a formula in a spreadsheet, or are skipped before one (OWASP, "CSV Injection").
const FORMULA: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

/// Returns a text as a cell of a CSV table that no spreadsheet takes for a formula: an apostrophe is put before one that
/// begins with `=`, `+`, `-`, `@`, a tab or an end of line, and is no number. The same is done where apostrophes stand
/// before such a beginning already, so that the text is had back by taking one apostrophe from `'=`, `''=` and the like.
///
/// ```
/// use attnlab_core::format::csv_cell;
/// assert_eq!(csv_cell("=1+1"), "'=1+1");
/// assert_eq!(csv_cell("'=1+1"), "''=1+1");
/// assert_eq!(["-0.5", "tanh"].map(csv_cell), ["-0.5", "tanh"]);
/// ```
pub fn csv_cell(text: &str) -> String {
    let formula = text.trim_start_matches('\'').starts_with(FORMULA);
    if formula && text.parse::<f64>().is_err() { format!("'{text}") } else { text.into() }
}

/// Formats a map as `a = 1, b = 2`.
pub fn pairs(map: &Map<String, Value>) -> String {
    map.iter().map(|(name, v)| format!("{name} = {}", value(v))).collect::<Vec<_>>().join(", ")
}

/// Characters of a line of a message; lines of settings and sweeps written by hand are shorter.
const LINE_CHARACTERS: usize = 200;

/// Cuts every line of a message after 200 characters: the line of a file that a parser quotes may be as long as the
/// file.
///
/// ```
/// let text = attnlab_core::format::short_lines(&format!("at line 3\n{}", "[".repeat(1000)));
/// assert_eq!(text.chars().count(), "at line 3\n".len() + 201);
/// ```
pub fn short_lines(text: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    };
    text.trim().lines().map(short).collect::<Vec<_>>().join("\n")
}

/// Formats a day, counted from 1970-01-01, as year-month-day (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// Formats a number of bytes in decimal units: "3.2 GB".
pub fn size(bytes: u64) -> String {
    let units = [(1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// Aligns rows in columns of equal width, two spaces apart; the last column is not padded.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(c, cell): (usize, &String)| format!("{cell:<w$}", w = widths[c]);
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

/// Breaks text between words into lines of at most `width` characters, each after `indent` spaces.
pub fn wrapped(text: &str, indent: usize, width: usize) -> Vec<String> {
    let margin = " ".repeat(indent);
    let mut lines = vec![];
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && indent + longer > width {
            lines.push(format!("{margin}{line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(format!("{margin}{line}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, text) in [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_819, "2027-01-01")] {
            assert_eq!(date(days), text);
        }
    }

    #[test]
    fn numbers_read_well() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.55, "0.55"),
            (1.0 / 3.0, "0.333333"),
            (177_515.0, "177515"),
            (1.275_000_000_1, "1.275"),
            (2e-16, "2e-16"),
            (123_456_789_012.0, "1.23457e11"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(3_200_000_000), "3.2 GB");
        assert_eq!(size(u64::MAX), "18.4 EB");
    }

    #[test]
    fn cells_of_tables_are_no_formulas_and_read_back() {
        let formulas = ["=1", "+a", "-a", "@a", "\ta", "\ra", "\na", "-", "--", "-2+3", "-1,5", "'=1", "''@"];
        let others = ["", "a=1", "-0.5", "+3", "-1e-300", "-inf", "inf", "'", "'a", "[-1,2]", "tanh", " =1"];
        let read = |cell: &str| match cell.trim_start_matches('\'') {
            rest if cell.starts_with('\'') && rest.starts_with(FORMULA) => cell[1..].to_string(),
            _ => cell.to_string(),
        };
        for (text, changed) in formulas.map(|t| (t, true)).into_iter().chain(others.map(|t| (t, false))) {
            let cell = csv_cell(text);
            assert_eq!((cell != text, read(&cell).as_str()), (changed, text), "{text:?}: {cell:?}");
            assert!(!cell.starts_with(FORMULA) || cell.parse::<f64>().is_ok(), "{cell:?}");
        }
    }

    #[test]
    fn text_wraps_between_words() {
        assert_eq!(wrapped("aa bb cc", 1, 6), [" aa bb", " cc"]);
        assert_eq!(wrapped("", 1, 6), [""; 0]);
    }
}
