//! Questions of the Children's Book Test, in its own format and as the hub has them.

use super::{Format, Located, bytes, content, lines, needs, records, text_of};
use attnlab_lab::prelude::*;
use attnlab_networks::text;
use std::path::Path;

/// The mark of the omitted word in CBT.
const GAP: &str = "XXXXX";

/// Question of the Children's Book Test.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloze {
    /// Sentences before the question.
    pub passage: Vec<String>,
    /// The question; XXXXX stands for the omitted word.
    pub question: String,
    /// Candidates for the omitted word.
    pub candidates: Vec<String>,
    /// Index of the right one.
    pub answer: usize,
}

impl Cloze {
    /// Returns the question before and after the omitted word.
    pub fn sides(&self) -> (&str, &str) {
        self.question.split_once(GAP).unwrap_or((&self.question, ""))
    }

    /// Returns the candidates that occur most often as words of the passage and the question.
    pub fn most_frequent(&self) -> Vec<usize> {
        let words = || self.passage.iter().chain([&self.question]).flat_map(|s| s.split_whitespace());
        let count = |candidate: &String| words().filter(|w| w.eq_ignore_ascii_case(candidate)).count();
        let counts: Vec<usize> = self.candidates.iter().map(count).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        (0..counts.len()).filter(|i| counts[*i] == most).collect()
    }
}

/// Reads the questions of a file.
pub(super) fn questions(path: &Path) -> Result<Vec<Located<Cloze>>> {
    let bytes = bytes(path)?;
    match Format::of(path, &bytes) {
        Format::Plain => numbered(path, &text::decode(path, bytes)?),
        format => records(path, bytes, format)?.iter().map(of_hub).collect(),
    }
}

/// A question in the fields of the hub.
fn of_hub(record: &Located<Value>) -> Result<Located<Cloze>> {
    let texts = |name: &str| -> Result<Vec<String>> {
        let list = record.value.get(name).and_then(Value::as_array);
        let list = list.map(|l| l.iter().map(|x| x.as_str().map(str::to_string)).collect::<Option<_>>());
        list.flatten().ok_or_else(|| record.refused(&needs(name, "a list of texts", &record.value)))
    };
    let question = text_of(record, "question")?.to_string();
    checked(record, texts("sentences")?, question, text_of(record, "answer")?, texts("options")?)
}

/// Questions in CBT's own format.
fn numbered(path: &Path, text: &str) -> Result<Vec<Located<Cloze>>> {
    let (mut questions, mut passage) = (vec![], vec![]);
    for (place, line) in lines(path, text) {
        let expected = passage.len() + 1;
        let Some((number, sentence)) = line.split_once(' ') else {
            return Err(place.refused("must be a number, a space and a sentence"));
        };
        if number.parse() != Ok(expected) {
            let problem =
                format!("must begin with {expected}, its number within the question; it begins with {number:?}");
            return Err(place.refused(&problem));
        }
        match sentence.contains('\t') {
            false if expected > 20 => {
                return Err(place.refused("must be the question: sentence, answer and candidates between tabs"));
            }
            false => passage.push(sentence.trim().to_string()),
            true => {
                let parts: Vec<&str> = sentence.split('\t').map(str::trim).filter(|p| !p.is_empty()).collect();
                let [question, answer, candidates] = parts[..] else {
                    return Err(place.refused("must have a sentence, an answer and candidates between tabs"));
                };
                let candidates = candidates.split('|').map(str::to_string).collect();
                let passage = std::mem::take(&mut passage);
                questions.push(checked(&place, passage, question.to_string(), answer, candidates)?);
            }
        }
    }
    match passage.is_empty() {
        true => Ok(questions),
        false => Err(content(path, format!("the end: {} sentences must be followed by their question", passage.len()))),
    }
}

fn checked<T>(
    place: &Located<T>,
    passage: Vec<String>,
    question: String,
    answer: &str,
    candidates: Vec<String>,
) -> Result<Located<Cloze>> {
    if question.matches(GAP).count() != 1 {
        return Err(place.refused(&format!("question: must have {GAP} once, where the word is left out")));
    }
    if candidates.len() < 2 || candidates.iter().any(|c| c.trim().is_empty()) {
        return Err(place.refused("options: must be at least two words"));
    }
    if let Some(twice) = candidates.iter().enumerate().find_map(|(i, c)| candidates[..i].contains(c).then_some(c)) {
        return Err(place.refused(&format!("options: must be different; {twice:?} is there twice")));
    }
    let Some(right) = candidates.iter().position(|c| c == answer) else {
        let problem = format!("options: must contain the answer {answer:?}; they are {}", candidates.join(", "));
        return Err(place.refused(&problem));
    };
    Ok(place.with(Cloze { passage, question, candidates, answer: right }))
}
