//! Arithmetic expressions such as `c * sqrt(log(tokens) / dim)`.
//!
//! The parser is our own, because the available crates are no longer maintained, or evaluate `-2^2` to 4, or
//! truncate the quotient of whole numbers, which would silently change a parameter. The rules here are those
//! of Python and of mathematical notation: `-2^2 = -4`, `2^3^2 = 2^9`, `1/2 = 0.5`; `log` is natural.

use attnlab_core::error::{Error, Result, require};
use std::collections::BTreeSet;

/// Largest depth of nesting, so that no text can exhaust the stack.
const DEEPEST: usize = 100;

/// Largest length of an expression, in bytes.
const LONGEST: usize = 4000;

type Function = fn(f64) -> f64;
type PairFunction = fn(f64, f64) -> f64;

/// The functions of one argument.
const FUNCTIONS: [(&str, Function); 10] = [
    ("sqrt", f64::sqrt),
    ("log", f64::ln),
    ("ln", f64::ln),
    ("log2", f64::log2),
    ("log10", f64::log10),
    ("exp", f64::exp),
    ("abs", f64::abs),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("round", f64::round),
];

/// The functions of two arguments.
const PAIRS: [(&str, PairFunction); 2] = [("min", f64::min), ("max", f64::max)];

/// Summary of the grammar for messages, in one line.
pub const SYNTAX: &str = "numbers, names, pi, + - * / ^, brackets, sqrt log (natural) ln log2 log10 \
                          exp abs floor ceil round min max";

/// A parsed expression, of at most 4000 bytes and 100 nested brackets or powers.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Negative(Box<Node>),
    Binary(char, Box<Node>, Box<Node>),
    /// Call of a function, by index into [`FUNCTIONS`].
    Call(usize, Box<Node>),
    /// Call of a function of two arguments, by index into [`PAIRS`].
    CallPair(usize, Box<Node>, Box<Node>),
}

impl Expression {
    /// Parses an expression; `name` is that of the axis, for messages.
    ///
    /// # Errors
    /// Names the expected symbol and its position.
    ///
    /// ```
    /// use attnlab_lab::sweep::Expression;
    /// let delta = Expression::parse("delta", "c * sqrt(log(tokens) / dim)")?;
    /// assert_eq!(delta.names().into_iter().collect::<Vec<_>>(), ["c", "dim", "tokens"]);
    /// let value = delta.value(&|name| Some(if name == "c" { 0.5 } else { 1.0 }));
    /// assert_eq!(value, 0.0);
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let shown = format!("an expression of {} bytes", text.len());
        require(text.len() <= LONGEST, name, shown, format!("must be at most {LONGEST} bytes long"))?;
        let mut parser = Parser { rest: text, text, depth: 0 };
        let read = parser.sum().and_then(|root| match parser.peek() {
            None => Ok(Expression { text: text.to_string(), root }),
            Some(_) => Err(parser.expected("an operator, or the end")),
        });
        read.map_err(|problem| {
            let allowed = format!("must be an expression; {problem}. It may have {SYNTAX}");
            Error::invalid(name, format!("\"{text}\""), allowed)
        })
    }

    /// Returns the text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names in the expression.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect(&mut names);
        names
    }

    /// Computes the value; NaN if a name has none.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> f64 {
        self.root.value(of)
    }
}

impl Node {
    fn collect<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Node::Number(_) => {}
            Node::Name(name) => {
                names.insert(name);
            }
            Node::Negative(a) | Node::Call(_, a) => a.collect(names),
            Node::Binary(_, a, b) | Node::CallPair(_, a, b) => {
                a.collect(names);
                b.collect(names);
            }
        }
    }

    fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> f64 {
        match self {
            Node::Number(x) => *x,
            Node::Name(name) => of(name).unwrap_or(f64::NAN),
            Node::Negative(a) => -a.value(of),
            Node::Call(f, a) => FUNCTIONS[*f].1(a.value(of)),
            Node::CallPair(f, a, b) => PAIRS[*f].1(a.value(of), b.value(of)),
            Node::Binary(sign, a, b) => {
                let (a, b) = (a.value(of), b.value(of));
                match sign {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    _ => a.powf(b),
                }
            }
        }
    }
}

/// Recursive-descent parser; an error names the expected symbol and its position.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

type Parsed = Result<Node, String>;

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Consumes one of `signs` if it is the next character.
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.peek().filter(|c| signs.contains(c))?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(sign)
    }

    fn expected(&mut self, what: &str) -> String {
        let next = self.peek().map_or("the end".into(), |c| format!("'{c}'"));
        let position = self.text[..self.text.len() - self.rest.len()].chars().count() + 1;
        format!("expected {what} at character {position}, found {next}")
    }

    fn sum(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            left = Node::Binary(sign, Box::new(left), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            left = Node::Binary(sign, Box::new(left), Box::new(self.signed()?));
        }
        Ok(left)
    }

    /// Parses signs, which bind less than a power: -2^2 is -(2^2).
    fn signed(&mut self) -> Parsed {
        let mut minus = false;
        while let Some(sign) = self.take(&['+', '-']) {
            minus ^= sign == '-';
        }
        let power = self.power()?;
        Ok(if minus { Node::Negative(Box::new(power)) } else { power })
    }

    /// Parses a power, which associates to the right: 2^3^2 is 2^(3^2).
    fn power(&mut self) -> Parsed {
        let base = self.atom()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".into());
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Node::Binary('^', Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self) -> Parsed {
        match self.peek() {
            Some('(') => self.bracket(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.expected("a number, a name or '('")),
        }
    }

    fn bracket(&mut self) -> Parsed {
        self.take(&['(']);
        let inner = self.sum()?;
        self.closed(inner)
    }

    /// Consumes the bracket after the last argument.
    fn closed(&mut self, node: Node) -> Parsed {
        self.take(&[')']).map(|_| node).ok_or_else(|| self.expected("')'"))
    }

    fn number(&mut self) -> Parsed {
        let bytes = self.rest.as_bytes();
        let digits =
            |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        let mut end = digits(0);
        // An exponent needs digits: `2e3` has one, `2e` has none.
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        match self.rest[..end].parse::<f64>() {
            Ok(x) if x.is_finite() => {
                self.rest = &self.rest[end..];
                Ok(Node::Number(x))
            }
            _ => Err(self.expected("a number")),
        }
    }

    fn name(&mut self) -> Parsed {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if self.peek() != Some('(') {
            return Ok(match name {
                "pi" => Node::Number(std::f64::consts::PI),
                _ => Node::Name(name.to_string()),
            });
        }
        if let Some(f) = FUNCTIONS.iter().position(|(n, _)| *n == name) {
            return Ok(Node::Call(f, Box::new(self.bracket()?)));
        }
        if let Some(f) = PAIRS.iter().position(|(n, _)| *n == name) {
            self.take(&['(']);
            let first = self.sum()?;
            if self.take(&[',']).is_none() {
                return Err(self.expected("',' and a second argument"));
            }
            let second = self.sum()?;
            return self.closed(Node::CallPair(f, Box::new(first), Box::new(second)));
        }
        // Every message about an expression lists the known functions.
        Err(format!("unknown function '{name}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> f64 {
        let names = |name: &str| match name {
            "n" => Some(200.0),
            "p" => Some(40.0),
            _ => None,
        };
        Expression::parse("x", text).unwrap().value(&names)
    }

    /// The values are Python's: `from math import *`, with ** for ^.
    #[test]
    fn the_rules_are_those_of_paper() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("1 - 2 - 3", -4.0),
            ("8 / 4 / 2", 1.0),
            ("1 / 2", 0.5),
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("--3", 3.0),
            ("2 * -3", -6.0),
            ("1e2 + 1.5E-1", 100.15),
            ("sqrt(log(n) / p)", 0.363_947_708_007_209_3),
            ("0.125*sqrt(log(n)/p)", 0.045_493_463_500_901_166),
            ("max(n, p) - min(n, p)", 160.0),
            ("2 * round(n / 3)", 134.0),
            ("log2(8) + log10(1000) + ln(1)", 6.0),
            ("unknown / 1", f64::NAN),
            ("2*pi", std::f64::consts::TAU),
        ] {
            let computed = value(text);
            let close = (computed - expected).abs() <= 1e-15 * expected.abs();
            assert!(close || expected.is_nan() && computed.is_nan(), "{text} = {computed}");
        }
    }

    #[test]
    fn errors_say_what_was_expected_and_where() {
        for (text, problem) in [
            ("", "expected a number, a name or '(' at character 1, found the end"),
            ("1 +", "expected a number, a name or '(' at character 4, found the end"),
            ("(1 + 2", "expected ')' at character 7, found the end"),
            ("1 2", "expected an operator, or the end at character 3, found '2'"),
            ("max(1)", "expected ',' and a second argument at character 6, found ')'"),
            ("sqr(2)", "unknown function 'sqr'"),
            ("1.2.3", "expected a number at character 1, found '1'"),
            ("δ §", "expected an operator, or the end at character 3, found '§'"),
        ] {
            let error = Expression::parse("delta", text).unwrap_err().to_string();
            let expected = format!("delta = \"{text}\": must be an expression; {problem}. ");
            assert!(error.starts_with(&expected), "{error}");
        }
        for (brackets, problem) in [(1000, "nested too deeply"), (100_000, "must be at most 4000 bytes long")] {
            let error = Expression::parse("x", &"(".repeat(brackets)).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    proptest! {
        /// An expression printed with every bracket is read back as itself, and no text panics.
        #[test]
        fn sums_and_products_of_numbers(a in -9..9i32, b in -9..9i32, c in 1..9i32) {
            let text = format!("{a} + {b} * {c} - ({b} - {a}) / {c} ^ 2");
            let (a, b, c) = (f64::from(a), f64::from(b), f64::from(c));
            prop_assert_eq!(value(&text), a + b * c - (b - a) / c.powf(2.0));
        }

        #[test]
        fn no_text_panics(text in "[-+*/^(). 0-9a-eδ,pisqrtlog]{0,40}") {
            let _ = Expression::parse("x", &text);
        }
    }
}
