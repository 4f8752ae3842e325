//! Values of the metadata of a GGUF file.

use serde_json::Value;
use std::io::Read;

/// Deepest nesting of arrays; the format's own files have none.
const MOST_NESTED: u32 = 8;

/// A value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum GgufValue {
    /// u8, u16, u32 or u64.
    Unsigned(u64),
    /// i8, i16, i32 or i64.
    Signed(i64),
    /// f32 or f64.
    Float(f64),
    /// A flag.
    Flag(bool),
    /// A text; bytes that are no UTF-8 are replaced.
    Text(String),
    /// Texts, such as the tokens of a vocabulary.
    Texts(Vec<String>),
    /// Whole numbers.
    Wholes(Vec<i64>),
    /// Real numbers.
    Floats(Vec<f64>),
    /// Flags.
    Flags(Vec<bool>),
    /// Arrays.
    Nested(Vec<GgufValue>),
}

impl GgufValue {
    /// Returns a whole number, at least 0; None for another value.
    pub(crate) fn whole(&self) -> Option<u64> {
        match self {
            GgufValue::Unsigned(n) => Some(*n),
            GgufValue::Signed(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    /// Returns the value as JSON. A number that is not finite, which JSON has not, becomes a text: null would read as an
    /// absent setting.
    pub(crate) fn json(&self) -> Value {
        let float = |x: &f64| if x.is_finite() { Value::from(*x) } else { Value::from(x.to_string()) };
        match self {
            GgufValue::Unsigned(n) => Value::from(*n),
            GgufValue::Signed(n) => Value::from(*n),
            GgufValue::Float(x) => float(x),
            GgufValue::Flag(flag) => Value::from(*flag),
            GgufValue::Text(text) => Value::from(text.as_str()),
            GgufValue::Texts(texts) => Value::from(texts.as_slice()),
            GgufValue::Wholes(wholes) => Value::from(wholes.as_slice()),
            GgufValue::Floats(floats) => floats.iter().map(float).collect(),
            GgufValue::Flags(flags) => Value::from(flags.as_slice()),
            GgufValue::Nested(values) => values.iter().map(GgufValue::json).collect(),
        }
    }
}

/// Reader of a header that counts its bytes and stops at a bound.
pub(super) struct Header<R> {
    from: R,
    /// Number of bytes that were read.
    pub(super) position: u64,
    end: u64,
}

type Parsed<T> = std::result::Result<T, String>;

impl<R: Read> Header<R> {
    pub(super) fn new(from: R, end: u64) -> Self {
        Header { from, position: 0, end }
    }

    /// Refuses `count` things of at least `least` bytes each if fewer bytes are left.
    pub(super) fn holds(&self, count: u64, least: u64, things: &str) -> Parsed<()> {
        let left = self.end - self.position;
        if count.saturating_mul(least) <= left {
            return Ok(());
        }
        Err(format!("must be a whole GGUF file; its header announces {count} {things}, and {left} bytes are left"))
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        self.holds(1, N as u64, "more values")?;
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        self.position += N as u64;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Parsed<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Parsed<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self, what: &str) -> Parsed<String> {
        let length = self.u64()?;
        self.holds(length, 1, &format!("bytes for {what}"))?;
        let mut bytes = vec![0; length as usize];
        self.from.read_exact(&mut bytes).map_err(|e| e.to_string())?;
        self.position += length;
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    pub(super) fn value(&mut self, name: &str) -> Parsed<GgufValue> {
        let kind = self.u32()?;
        if kind == 9 { self.array(name, 0) } else { self.single(name, kind) }
    }

    fn single(&mut self, name: &str, kind: u32) -> Parsed<GgufValue> {
        Ok(match kind {
            0 | 2 | 4 | 10 => GgufValue::Unsigned(self.whole(name, kind)? as u64),
            6 | 12 => GgufValue::Float(self.float(kind)?),
            7 => GgufValue::Flag(self.flag(name)?),
            8 => GgufValue::Text(self.text(name)?),
            _ => GgufValue::Signed(self.whole(name, kind)? as i64),
        })
    }

    fn float(&mut self, kind: u32) -> Parsed<f64> {
        Ok(if kind == 6 { f32::from_le_bytes(self.bytes()?).into() } else { f64::from_le_bytes(self.bytes()?) })
    }

    fn flag(&mut self, name: &str) -> Parsed<bool> {
        match self.bytes::<1>()?[0] {
            0 => Ok(false),
            1 => Ok(true),
            byte => Err(format!("{name} = {byte}: must be 0 or 1, a flag")),
        }
    }

    /// Reads a whole number, within the range of u64 for unsigned kinds and of i64 for the others.
    fn whole(&mut self, name: &str, kind: u32) -> Parsed<i128> {
        Ok(match kind {
            0 => self.bytes::<1>()?[0].into(),
            1 => i8::from_le_bytes(self.bytes()?).into(),
            2 => u16::from_le_bytes(self.bytes()?).into(),
            3 => i16::from_le_bytes(self.bytes()?).into(),
            4 => self.u32()?.into(),
            5 => i32::from_le_bytes(self.bytes()?).into(),
            10 => self.u64()?.into(),
            11 => i64::from_le_bytes(self.bytes()?).into(),
            _ => return Err(format!("{name}: must have a type from 0 to 12; it is {kind}")),
        })
    }

    fn array(&mut self, name: &str, depth: u32) -> Parsed<GgufValue> {
        if depth > MOST_NESTED {
            return Err(format!("{name}: must be nested at most {MOST_NESTED} deep"));
        }
        let kind = self.u32()?;
        let count = self.u64()?;
        let least = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            9 => 12,
            _ => return Err(format!("{name}: must have a type from 0 to 12; it is {kind}")),
        };
        self.holds(count, least, &format!("entries of {name}"))?;
        // Grows with what is read: a count alone reserves nothing.
        let entries = 0..count;
        Ok(match kind {
            6 | 12 => GgufValue::Floats(entries.map(|_| self.float(kind)).collect::<Parsed<_>>()?),
            7 => GgufValue::Flags(entries.map(|_| self.flag(name)).collect::<Parsed<_>>()?),
            8 => GgufValue::Texts(entries.map(|_| self.text(name)).collect::<Parsed<_>>()?),
            9 => GgufValue::Nested(entries.map(|_| self.array(name, depth + 1)).collect::<Parsed<_>>()?),
            _ => {
                let signed = |whole: i128| i64::try_from(whole).map_err(|e| format!("{name}: {e}"));
                GgufValue::Wholes(entries.map(|_| signed(self.whole(name, kind)?)).collect::<Parsed<_>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_are_not_absent() {
        assert_eq!(GgufValue::Float(f64::NAN).json(), Value::from("NaN"));
        assert_eq!(GgufValue::Floats(vec![0.5, f64::INFINITY]).json().to_string(), r#"[0.5,"inf"]"#);
    }
}
