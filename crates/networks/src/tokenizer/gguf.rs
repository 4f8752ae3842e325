//! The vocabulary of a GGUF file as a `tokenizer.json`, with the defaults of llama.cpp's reader.

use super::forms::{AddedToken, ByteLevel, Special, around};
use crate::gguf::{Gguf, GgufValue};
use crate::tensors::content;
use attnlab_core::error::{Error, Result};
use serde_json::{Map, Value, json};

/// Kinds of tokens in `tokenizer.ggml.token_type`: control and user-defined, which are matched before all others.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// Expression by which Llama 3 splits a text before it looks for merges.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Qwen 2's: every digit by itself.
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Way of splitting a text into words, by `tokenizer.ggml.pre`.
struct Splitter {
    names: &'static [&'static str],
    /// Splitting as `tokenizer.json` writes it; null for GPT-2's expression alone.
    split: fn() -> Value,
    /// Words that are tokens are not merged.
    ignore_merges: bool,
    /// A beginning-of-text token where `add_bos_token` is absent.
    begins: bool,
}

const fn splitter(names: &'static [&'static str], split: fn() -> Value, ignore_merges: bool, begins: bool) -> Splitter {
    Splitter { names, split, ignore_merges, begins }
}

/// Every digit by itself, before GPT-2's expression.
fn digits() -> Value {
    json!({"type": "Digits", "individual_digits": true})
}

fn expression(text: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": false})
}

/// Splitters that are known, after `llama_vocab::impl::load` and `llm_tokenizer_bpe` of llama.cpp.
const SPLITTERS: [Splitter; 5] = [
    splitter(&["gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion"], || Value::Null, false, false),
    splitter(&["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"], digits, false, false),
    splitter(&["llama-bpe", "llama3", "llama-v3", "falcon3"], || expression(LLAMA3), true, true),
    splitter(&["dbrx", "smaug-bpe"], || expression(LLAMA3), false, false),
    splitter(&["qwen2", "stablelm2", "deepseek-r1-qwen"], || expression(QWEN2), false, false),
];

/// Returns `true` for a vocabulary of a kind that [`describe`] reads.
pub(super) fn is_known(file: &Gguf) -> bool {
    let entries = Entries(file);
    entries.text("model") == "gpt2" && entries.splitter().is_ok()
}

/// Returns the tokenizer of a GGUF file.
pub(super) fn describe(file: &Gguf) -> Result<Value> {
    let entries = Entries(file);
    let model = entries.text("model");
    if model != "gpt2" {
        return Err(entries.bad(&format!(
            "model = {model:?}: must be gpt2, byte-level pairs; others are not supported. Put the network's \
             tokenizer.json beside the file"
        )));
    }
    let (tokens, merges) = (entries.texts("tokens")?, entries.texts("merges")?);
    let splitter = entries.splitter()?;
    let (vocabulary, added) = (entries.vocabulary(tokens)?, entries.added(tokens)?);
    if entries.flag("add_sep_token")?.unwrap_or(false) {
        return Err(entries.bad("add_sep_token = true: must be false or absent; separators are not supported"));
    }
    let before = entries.end("add_bos_token", "bos_token_id", splitter.begins, tokens)?;
    let after = entries.end("add_eos_token", "eos_token_id", false, tokens)?;
    let post = if before.is_some() || after.is_some() { around(before, after) } else { Value::Null };
    let whole = ByteLevel {
        vocabulary,
        merges: json!(merges),
        added,
        split: (splitter.split)(),
        ignore_merges: splitter.ignore_merges,
        post,
        ..ByteLevel::default()
    };
    Ok(whole.description())
}

/// The entries `tokenizer.ggml.NAME` of a file.
struct Entries<'a>(&'a Gguf);

impl<'a> Entries<'a> {
    fn get(&self, name: &str) -> Option<&'a GgufValue> {
        self.0.metadata().get(&format!("tokenizer.ggml.{name}"))
    }

    fn bad(&self, problem: &str) -> Error {
        content(self.0.path(), format!("tokenizer.ggml.{problem}"))
    }

    /// A text, empty where there is none.
    fn text(&self, name: &str) -> &'a str {
        if let Some(GgufValue::Text(text)) = self.get(name) { text } else { "" }
    }

    fn texts(&self, name: &str) -> Result<&'a [String]> {
        match self.get(name) {
            Some(GgufValue::Texts(texts)) => Ok(texts),
            _ => Err(self.bad(&format!("{name}: must be there, an array of texts"))),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(GgufValue::Flag(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.bad(&format!("{name}: must be a flag"))),
        }
    }

    fn splitter(&self) -> Result<&'static Splitter> {
        let pre = self.text("pre");
        SPLITTERS.iter().find(|s| s.names.contains(&pre)).ok_or_else(|| {
            let known: Vec<&str> = SPLITTERS.iter().flat_map(|s| s.names.iter().copied()).collect();
            self.bad(&format!(
                "pre = {pre:?}: must be one of {}; others are not supported. Put the network's tokenizer.json beside the \
                 file",
                known.join(", ")
            ))
        })
    }

    /// The ids of the tokens.
    fn vocabulary(&self, tokens: &[String]) -> Result<Value> {
        let mut vocabulary = Map::new();
        for (id, token) in tokens.iter().enumerate() {
            if vocabulary.insert(token.clone(), json!(id)).is_some() {
                return Err(self.bad(&format!("tokens[{id}] = {token:?}: must be there once")));
            }
        }
        Ok(vocabulary.into())
    }

    /// Tokens that are matched before all others.
    fn added(&self, tokens: &[String]) -> Result<Vec<Value>> {
        let Some(GgufValue::Wholes(kinds)) = self.get("token_type") else { return Ok(vec![]) };
        if kinds.len() != tokens.len() {
            return Err(self.bad("token_type: must have as many entries as tokens"));
        }
        let listed =
            (0..).zip(tokens.iter().zip(kinds)).filter(|(_, (_, kind))| [CONTROL, USER_DEFINED].contains(kind));
        let entry = |(id, (token, kind)): (u64, (&String, &i64))| {
            AddedToken { special: *kind == CONTROL, ..AddedToken::new(token) }.entry(id)
        };
        Ok(listed.map(entry).collect())
    }

    /// The token at an end of every text, if `add` or its default asks for one.
    fn end(&self, add: &str, role: &str, default: bool, tokens: &[String]) -> Result<Option<Special>> {
        if !self.flag(add)?.unwrap_or(default) {
            return Ok(None);
        }
        let id = self.get(role).and_then(GgufValue::whole);
        let token = id.and_then(|id| Some((id, tokens.get(usize::try_from(id).ok()?)?.clone())));
        token.map(Some).ok_or_else(|| {
            let why = match self.get(add) {
                Some(_) => format!("{add} asks for it"),
                None => format!("pre = {:?} puts it around every text unless {add} is false", self.text("pre")),
            };
            self.bad(&format!("{role}: must be the id of a token; {why}"))
        })
    }
}
