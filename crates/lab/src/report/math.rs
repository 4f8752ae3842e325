//! The TeX of statements (a small subset, between dollar signs) as MathML.
//!
//! Covered: letters, numbers, operators, groups, `^` and `_`, `\frac`, `\sqrt`, `\text` and its
//! kin, `\mathbb` and the other alphabets, accents, `\left` and `\right`, and the symbols of the
//! table below. An unknown command is shown as it is written.

use super::escape;
use std::iter::Peekable;
use std::str::Chars;

/// Converts text with TeX between dollar signs to HTML with MathML; words between backticks are code.
///
/// ```
/// let html = attnlab_lab::report::mathml("rate $\\eta\\tau$ < 1");
/// assert_eq!(html, "rate <math><mi>η</mi><mi>τ</mi></math> &lt; 1");
/// ```
pub fn mathml(text: &str) -> String {
    let mut html = String::new();
    for (i, part) in text.split('$').enumerate() {
        match i % 2 {
            0 => html.push_str(&code(part)),
            // `$$`, or the end of a display: nothing between the signs.
            _ if part.is_empty() => {}
            _ => html.push_str(&format!("<math>{}</math>", Parser::new(part).row())),
        }
    }
    html
}

/// Converts text without TeX: what stands between two backticks is code.
pub(super) fn code(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escape).collect();
    let mut html = String::new();
    for (i, part) in parts.iter().enumerate() {
        match i % 2 {
            1 if i + 1 < parts.len() => html.push_str(&format!("<code>{part}</code>")),
            // A backtick without its second one.
            1 => html.push_str(&format!("`{part}")),
            _ => html.push_str(part),
        }
    }
    html
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
}

impl<'a> Parser<'a> {
    fn new(tex: &'a str) -> Self {
        Parser { rest: tex.chars().peekable() }
    }

    /// Converts everything up to the closing brace or the end.
    fn row(&mut self) -> String {
        let mut row = String::new();
        while let Some(atom) = self.scripted() {
            row.push_str(&atom);
        }
        row
    }

    /// Converts an atom with its subscript and superscript.
    fn scripted(&mut self) -> Option<String> {
        let base = self.atom()?;
        let (mut sub, mut sup) = (None, None);
        loop {
            self.skip_space();
            match self.rest.peek() {
                Some('_') if sub.is_none() => sub = self.argument_after(),
                Some('^') if sup.is_none() => sup = self.argument_after(),
                _ => break,
            }
        }
        Some(match (sub, sup) {
            (None, None) => base,
            (Some(sub), None) => format!("<msub>{base}{sub}</msub>"),
            (None, Some(sup)) => format!("<msup>{base}{sup}</msup>"),
            (Some(sub), Some(sup)) => format!("<msubsup>{base}{sub}{sup}</msubsup>"),
        })
    }

    fn argument_after(&mut self) -> Option<String> {
        self.rest.next();
        Some(self.argument())
    }

    /// Converts a group or a single atom to one element.
    fn argument(&mut self) -> String {
        self.atom().unwrap_or_else(|| "<mrow></mrow>".into())
    }

    /// Converts one element; None at the end of the group.
    fn atom(&mut self) -> Option<String> {
        self.skip_space();
        if self.rest.peek()?.is_ascii_digit() {
            return Some(self.number());
        }
        Some(match self.rest.next()? {
            '}' => return None,
            '{' => format!("<mrow>{}</mrow>", self.row()),
            '\\' => self.command(),
            '\'' => "<mo>′</mo>".into(),
            '-' => "<mo>−</mo>".into(),
            '*' => "<mo>∗</mo>".into(),
            '~' => "<mspace width=\"0.3em\"/>".into(),
            '&' => String::new(),
            c if c.is_alphabetic() => format!("<mi>{c}</mi>"),
            c => format!("<mo>{}</mo>", escape(&c.to_string())),
        })
    }

    fn number(&mut self) -> String {
        let mut digits = String::new();
        while let Some(c) = self.rest.peek().copied() {
            // A full stop belongs to the number only when a digit follows it.
            let inside = c == '.' && self.rest.clone().nth(1).is_some_and(|next| next.is_ascii_digit());
            if !(c.is_ascii_digit() || inside) {
                break;
            }
            digits.push(c);
            self.rest.next();
        }
        format!("<mn>{digits}</mn>")
    }

    fn command(&mut self) -> String {
        let name: String = std::iter::from_fn(|| self.rest.next_if(char::is_ascii_alphabetic)).collect();
        if name.is_empty() {
            return self.escaped_sign();
        }
        let accented = |letter: String, accent: char| format!("<mover>{letter}<mo>{accent}</mo></mover>");
        match name.as_str() {
            "frac" | "tfrac" | "dfrac" => format!("<mfrac>{}{}</mfrac>", self.argument(), self.argument()),
            "sqrt" => format!("<msqrt>{}</msqrt>", self.argument()),
            "text" | "mathrm" | "operatorname" | "textbf" | "mbox" => self.words(),
            "mathbb" | "mathbf" | "mathcal" | "boldsymbol" | "bm" | "mathsf" => self.alphabet(&name),
            "hat" | "widehat" => accented(self.argument(), '^'),
            "tilde" | "widetilde" => accented(self.argument(), '~'),
            "bar" | "overline" => accented(self.argument(), '¯'),
            "dot" => accented(self.argument(), '˙'),
            // Fences stretch by themselves in MathML; an invisible one is a full stop.
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" => self.fence(),
            name => symbol(name),
        }
    }

    fn escaped_sign(&mut self) -> String {
        match self.rest.next() {
            Some(c @ ('{' | '}' | '%' | '#' | '_')) => format!("<mo>{c}</mo>"),
            Some('&') => "<mo>&amp;</mo>".into(),
            Some('|') => "<mo>‖</mo>".into(),
            Some(',' | ':' | ';' | ' ') => "<mspace width=\"0.2em\"/>".into(),
            _ => String::new(),
        }
    }

    fn fence(&mut self) -> String {
        self.skip_space();
        if self.rest.next_if_eq(&'.').is_some() { String::new() } else { self.atom().unwrap_or_default() }
    }

    /// Returns the characters of a group without converting them.
    fn raw(&mut self) -> String {
        self.skip_space();
        if self.rest.next_if_eq(&'{').is_none() {
            return self.rest.next().map(String::from).unwrap_or_default();
        }
        self.rest.by_ref().take_while(|c| *c != '}').collect()
    }

    fn words(&mut self) -> String {
        let words = self.raw();
        let (tag, upright) = if words.contains(' ') { ("mtext", "") } else { ("mi", " mathvariant=\"normal\"") };
        format!("<{tag}{upright}>{}</{tag}>", escape(&words))
    }

    fn alphabet(&mut self, name: &str) -> String {
        let variant = match name {
            "mathbb" => "double-struck",
            "mathcal" => "script",
            "mathsf" => "sans-serif",
            _ => "bold",
        };
        let inside = self.raw();
        // Greek letters in bold: `\boldsymbol{\delta}`.
        let letters = match inside.strip_prefix('\\') {
            Some(name) => symbol_of(name).unwrap_or(name).to_string(),
            None => inside,
        };
        match (variant, letters.as_str()) {
            // Browsers have these as characters, and few honour the attribute.
            ("double-struck", "E") => "<mi>𝔼</mi>".into(),
            ("double-struck", "P") => "<mi>ℙ</mi>".into(),
            ("double-struck", "R") => "<mi>ℝ</mi>".into(),
            ("double-struck", "I" | "1") => "<mn>𝟙</mn>".into(),
            ("script", "O") => "<mi>𝒪</mi>".into(),
            ("script", "N") => "<mi>𝒩</mi>".into(),
            ("bold", letters) => format!("<mi style=\"font-weight:bold\">{}</mi>", escape(letters)),
            (_, letters) => format!("<mi mathvariant=\"{variant}\">{}</mi>", escape(letters)),
        }
    }

    fn skip_space(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
    }
}

fn symbol(name: &str) -> String {
    match symbol_of(name) {
        // A function name: upright, and its own word.
        Some(sign) if sign.chars().all(char::is_alphabetic) && sign.len() > 2 => {
            format!("<mi>{sign}</mi><mspace width=\"0.15em\"/>")
        }
        Some(sign) if sign.chars().all(char::is_alphabetic) => format!("<mi>{sign}</mi>"),
        Some(sign) => format!("<mo>{}</mo>", escape(sign)),
        None => format!("<mtext>\\{name}</mtext>"),
    }
}

fn symbol_of(name: &str) -> Option<&'static str> {
    SYMBOLS.iter().find(|(known, _)| *known == name).map(|(_, sign)| *sign)
}

#[rustfmt::skip]
const SYMBOLS: &[(&str, &str)] = &[
    ("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ϵ"), ("varepsilon", "ε"),
    ("zeta", "ζ"), ("eta", "η"), ("theta", "θ"), ("iota", "ι"), ("kappa", "κ"), ("lambda", "λ"), ("mu", "μ"),
    ("nu", "ν"), ("xi", "ξ"), ("pi", "π"), ("rho", "ρ"), ("sigma", "σ"), ("tau", "τ"), ("phi", "ϕ"),
    ("varphi", "φ"), ("chi", "χ"), ("psi", "ψ"), ("omega", "ω"), ("Gamma", "Γ"), ("Delta", "Δ"),
    ("Theta", "Θ"), ("Lambda", "Λ"), ("Xi", "Ξ"), ("Pi", "Π"), ("Sigma", "Σ"), ("Phi", "Φ"), ("Psi", "Ψ"),
    ("Omega", "Ω"), ("ell", "ℓ"), ("partial", "∂"), ("nabla", "∇"), ("infty", "∞"), ("forall", "∀"),
    ("exists", "∃"), ("in", "∈"), ("notin", "∉"), ("subset", "⊂"), ("cup", "∪"), ("cap", "∩"),
    ("emptyset", "∅"), ("le", "≤"), ("leq", "≤"), ("ge", "≥"), ("geq", "≥"), ("ne", "≠"), ("neq", "≠"),
    ("ll", "≪"), ("gg", "≫"), ("lesssim", "≲"), ("gtrsim", "≳"), ("approx", "≈"), ("sim", "∼"),
    ("equiv", "≡"), ("propto", "∝"), ("to", "→"), ("rightarrow", "→"), ("mapsto", "↦"),
    ("Rightarrow", "⇒"), ("iff", "⇔"), ("leftarrow", "←"), ("times", "×"), ("cdot", "⋅"), ("pm", "±"),
    ("otimes", "⊗"), ("odot", "⊙"), ("circ", "∘"), ("top", "⊤"), ("perp", "⊥"), ("mid", "|"),
    ("sum", "∑"), ("prod", "∏"), ("int", "∫"), ("langle", "⟨"), ("rangle", "⟩"), ("lfloor", "⌊"),
    ("rfloor", "⌋"), ("lceil", "⌈"), ("rceil", "⌉"), ("Vert", "‖"), ("vert", "|"), ("lVert", "‖"),
    ("rVert", "‖"), ("dots", "…"), ("ldots", "…"), ("cdots", "⋯"), ("colon", ":"), ("log", "log"),
    ("ln", "ln"), ("exp", "exp"), ("max", "max"), ("min", "min"), ("sup", "sup"), ("inf", "inf"),
    ("lim", "lim"), ("det", "det"), ("Pr", "Pr"), ("sin", "sin"), ("cos", "cos"), ("tanh", "tanh"),
    ("arg", "arg"), ("quad", "\u{2003}"), ("qquad", "\u{2003}\u{2003}"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_the_papers_become_mathml() {
        let cases = [
            ("$a_i^2$", "<math><msubsup><mi>a</mi><mi>i</mi><mn>2</mn></msubsup></math>"),
            (
                "$\\sqrt{\\log N}/\\sqrt p$",
                "<math><msqrt><mrow><mi>log</mi><mspace width=\"0.15em\"/><mi>N</mi></mrow></msqrt>\
                 <mo>/</mo><msqrt><mi>p</mi></msqrt></math>",
            ),
            ("$x < 1.5$.", "<math><mi>x</mi><mo>&lt;</mo><mn>1.5</mn></math>."),
            ("$\\unheard{x}$", "<math><mtext>\\unheard</mtext><mrow><mi>x</mi></mrow></math>"),
            ("no formula & no harm", "no formula &amp; no harm"),
            ("`eps` < 1 and `", "<code>eps</code> &lt; 1 and `"),
        ];
        for (tex, html) in cases {
            assert_eq!(mathml(tex), html, "{tex}");
        }
    }

    #[test]
    fn broken_tex_gives_well_formed_output() {
        for tex in ["$a^$", "${$", "$}$", "$\\frac{1}$", "$\\", "$\\left.$", "$_{a}$", "$a'$"] {
            let html = mathml(tex);
            assert_eq!(html.matches('<').count(), html.matches('>').count(), "{tex}: {html}");
        }
    }
}
