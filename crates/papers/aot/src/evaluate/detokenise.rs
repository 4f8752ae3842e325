//! Detokenisers: benchmarks store their texts cut into words, which networks have never seen so, and every evaluation
//! undoes some of it. Each is a reading of its own.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

/// Change of a text before it is cut into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Detokeniser {
    /// None.
    Off,
    /// OpenAI's for its LAMBADA file: “ and ” become ", no space at either end, a line break before
    /// (openai/gpt-2, issue 131).
    Openai,
    /// Spaces that a word tokeniser put before punctuation and contractions are removed; `` and '' become ".
    Spaces,
    /// WikiText's: as `Spaces`, and " @-@ ", " @,@ ", " @.@ " become -, comma and full stop; brackets and quotation
    /// marks close up.
    Wikitext,
    /// PTB's: as `Spaces`, and N, which stands for a number, becomes 1.
    Ptb,
    /// PTB's, and the tokens of `<unk>` are not counted, though they are read.
    PtbWithoutUnk,
}

/// PTB's word for every rare word.
const UNKNOWN: &str = "<unk>";

impl Detokeniser {
    /// Returns the name that the command line and the rows have.
    pub fn name(self) -> &'static str {
        match self {
            Detokeniser::Off => "off",
            Detokeniser::Openai => "openai",
            Detokeniser::Spaces => "spaces",
            Detokeniser::Wikitext => "wikitext",
            Detokeniser::Ptb => "ptb",
            Detokeniser::PtbWithoutUnk => "ptb-without-unk",
        }
    }

    /// Changes a text.
    ///
    /// ```
    /// use attnlab_aot::evaluate::Detokeniser;
    /// assert_eq!(Detokeniser::Openai.apply("\u{201c}Go on,\u{201d} he said "), "\n\"Go on,\" he said");
    /// assert_eq!(Detokeniser::Spaces.apply("`` I do n't know , '' she said ."), "\"I don't know,\" she said.");
    /// assert_eq!(Detokeniser::Wikitext.apply("a well @-@ known 1 @,@ 500 ( or so )"), "a well-known 1,500 (or so)");
    /// assert_eq!(Detokeniser::Ptb.apply("it rose N % to $ N million"), "it rose 1% to $1 million");
    /// ```
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Detokeniser::Off => text.into(),
            Detokeniser::Openai => format!("\n{}", text.replace(['\u{201c}', '\u{201d}'], "\"").trim()).into(),
            Detokeniser::Spaces => spaces(text).into(),
            Detokeniser::Wikitext => {
                let joined = text.replace(" @-@ ", "-").replace(" @,@ ", ",").replace(" @.@ ", ".");
                let mut text = spaces(&joined);
                for [open, close] in [['(', ')'], ['[', ']'], ['{', '}']] {
                    text = text.replace(&format!("{open} "), &open.to_string());
                    text = text.replace(&format!(" {close}"), &close.to_string());
                }
                text.into()
            }
            Detokeniser::Ptb | Detokeniser::PtbWithoutUnk => spaces(&numbers(text)).into(),
        }
    }

    /// Finds the bytes of a changed text whose tokens do not count. The space before a word belongs to its tokens.
    pub(super) fn uncounted(self, text: &str) -> Vec<Range<usize>> {
        if self != Detokeniser::PtbWithoutUnk {
            return vec![];
        }
        let unknown = text.match_indices(UNKNOWN);
        unknown.map(|(at, word)| at - usize::from(text[..at].ends_with(' '))..at + word.len()).collect()
    }
}

/// Replaces the word N by 1.
fn numbers(text: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').map(|word| if word == "N" { "1" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Marks that stand without a space after the word before them.
const CLOSING: [&str; 8] = [",", ".", ";", ":", "!", "?", "%", "''"];

/// Ends of words that a word tokeniser splits off.
const ENDINGS: [&str; 7] = ["n't", "'s", "'re", "'ve", "'ll", "'d", "'m"];

/// Undoes a word tokeniser: no space before closing marks and split endings, none after opening quotation marks and
/// signs of currency. A mark " opens and closes in turn within a line.
fn spaces(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            spaced.push('\n');
        }
        // Flags: no space before the next word; a quotation is open.
        let (mut close, mut quoted) = (true, false);
        // A leading space is one of the text's own.
        let body = line.trim_start_matches(' ');
        spaced.push_str(&line[..line.len() - body.len()]);
        for word in body.split(' ') {
            let before = CLOSING.contains(&word) || ENDINGS.contains(&word) || word == "'";
            let closing_quote = word == "\"" && quoted;
            if !(close || before || closing_quote) {
                spaced.push(' ');
            }
            spaced.push_str(if matches!(word, "``" | "''") { "\"" } else { word });
            let opening_quote = word == "``" || word == "\"" && !quoted;
            quoted = match word {
                "``" => true,
                "''" => false,
                "\"" => !quoted,
                _ => quoted,
            };
            close = opening_quote || matches!(word, "$" | "#" | "\u{a3}");
        }
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::Detokeniser;

    #[test]
    fn written_examples() {
        for (detokeniser, from, to) in [
            (Detokeniser::Off, "a , b\n", "a , b\n"),
            (Detokeniser::Openai, " \u{201c}Yes ,\u{201d} he said\n", "\n\"Yes ,\" he said"),
            (Detokeniser::Spaces, "she 'd gone ; they had n't .", "she'd gone; they hadn't."),
            (Detokeniser::Spaces, "he said \" go \" and \" stay \" twice", "he said \"go\" and \"stay\" twice"),
            (Detokeniser::Spaces, " the boys ' books", " the boys' books"),
            (
                Detokeniser::Wikitext,
                " = Title = \n\n the 12 @-@ inch ( 30 @.@ 5 cm ) gun , which cost 1 @,@ 000 \n",
                " = Title = \n\n the 12-inch (30.5 cm) gun, which cost 1,000 \n",
            ),
            (
                Detokeniser::Ptb,
                " the <unk> said N N were sold for $ N \n it 's N % more",
                " the <unk> said 1 1 were sold for $1 \n it's 1% more",
            ),
        ] {
            assert_eq!(detokeniser.apply(from), to, "{detokeniser:?}");
        }
    }

    #[test]
    fn unknown_words_have_the_space_before_them() {
        let text = "<unk> and the <unk> rose";
        assert_eq!(Detokeniser::PtbWithoutUnk.uncounted(text), [0..5, 13..19]);
        assert!(Detokeniser::Ptb.uncounted(text).is_empty());
    }
}
