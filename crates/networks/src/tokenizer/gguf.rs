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
    rule: Rule,
    /// Words that are tokens are not merged.
    ignore_merges: bool,
    /// A beginning-of-text token where `add_bos_token` is absent.
    begins: bool,
}

#[derive(Clone, Copy)]
enum Rule {
    /// GPT-2's expression.
    Gpt2,
    /// The same after every digit is by itself.
    Digits,
    /// An expression of its own.
    Expression(&'static str),
}

const fn splitter(names: &'static [&'static str], rule: Rule, ignore_merges: bool, begins: bool) -> Splitter {
    Splitter { names, rule, ignore_merges, begins }
}

/// Splitters that are known, after `llama_vocab::impl::load` and `llm_tokenizer_bpe` of llama.cpp.
const SPLITTERS: [Splitter; 5] = [
    splitter(&["gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion"], Rule::Gpt2, false, false),
    splitter(&["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"], Rule::Digits, false, false),
    splitter(&["llama-bpe", "llama3", "llama-v3", "falcon3"], Rule::Expression(LLAMA3), true, true),
    splitter(&["dbrx", "smaug-bpe"], Rule::Expression(LLAMA3), false, false),
    splitter(&["qwen2", "stablelm2", "deepseek-r1-qwen"], Rule::Expression(QWEN2), false, false),
];

/// Returns `true` for a vocabulary of a kind that [`describe`] reads.
pub(super) fn is_known(file: &Gguf) -> bool {
    let is = |name: &str, known: &dyn Fn(&str) -> bool| match file.metadata().get(&format!("tokenizer.ggml.{name}")) {
        Some(GgufValue::Text(text)) => known(text),
        _ => false,
    };
    is("model", &|model| model == "gpt2") && is("pre", &|pre| SPLITTERS.iter().any(|s| s.names.contains(&pre)))
}

/// Returns the tokenizer of a GGUF file.
pub(super) fn describe(file: &Gguf) -> Result<Value> {
    let metadata = file.metadata();
    let get = |name: &str| metadata.get(&format!("tokenizer.ggml.{name}"));
    let bad = |problem: &str| content(file.path(), format!("tokenizer.ggml.{problem}"));
    let text = |name: &str| match get(name) {
        Some(GgufValue::Text(text)) => text.as_str(),
        _ => "",
    };
    if text("model") != "gpt2" {
        let problem = format!(
            "model = {:?}: must be gpt2, byte-level pairs; others are not supported. Put the network's tokenizer.json \
             beside the file",
            text("model")
        );
        return Err(bad(&problem));
    }
    let texts = |name: &str| match get(name) {
        Some(GgufValue::Texts(texts)) => Ok(texts),
        _ => Err(bad(&format!("{name}: must be there, an array of texts"))),
    };
    let (tokens, merges) = (texts("tokens")?, texts("merges")?);
    let splitter = SPLITTERS.iter().find(|s| s.names.contains(&text("pre"))).ok_or_else(|| {
        let known: Vec<&str> = SPLITTERS.iter().flat_map(|s| s.names.iter().copied()).collect();
        let problem = format!(
            "pre = {:?}: must be one of {}; others are not supported. Put the network's tokenizer.json beside the file",
            text("pre"),
            known.join(", ")
        );
        bad(&problem)
    })?;
    let split = match splitter.rule {
        Rule::Gpt2 => Value::Null,
        Rule::Digits => json!({"type": "Digits", "individual_digits": true}),
        Rule::Expression(text) => {
            json!({"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": false})
        }
    };
    let mut vocabulary = Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocabulary.insert(token.clone(), json!(id)).is_some() {
            return Err(bad(&format!("tokens[{id}] = {token:?}: must be there once")));
        }
    }
    let mut added = vec![];
    if let Some(GgufValue::Wholes(kinds)) = get("token_type") {
        if kinds.len() != tokens.len() {
            return Err(bad("token_type: must have as many entries as tokens"));
        }
        for (id, (token, kind)) in (0..).zip(tokens.iter().zip(kinds)) {
            if [CONTROL, USER_DEFINED].contains(kind) {
                added.push(AddedToken { special: *kind == CONTROL, ..AddedToken::new(token) }.entry(id));
            }
        }
    }
    if flag(get("add_sep_token"), "add_sep_token", bad)?.unwrap_or(false) {
        return Err(bad("add_sep_token = true: must be false or absent; separators are not supported"));
    }
    let end = |add: &str, role: &str, default: bool| -> Result<Option<Special>> {
        if !flag(get(add), add, bad)?.unwrap_or(default) {
            return Ok(None);
        }
        let id = match get(role) {
            Some(GgufValue::Unsigned(id)) => Some(*id),
            Some(GgufValue::Signed(id)) => u64::try_from(*id).ok(),
            _ => None,
        };
        let token = id.and_then(|id| Some((id, tokens.get(usize::try_from(id).ok()?)?.clone())));
        let why = match get(add) {
            Some(_) => format!("{add} asks for it"),
            None => format!("pre = {:?} puts it around every text unless {add} is false", text("pre")),
        };
        let problem = || bad(&format!("{role}: must be the id of a token; {why}"));
        token.ok_or_else(problem).map(Some)
    };
    let before = end("add_bos_token", "bos_token_id", splitter.begins)?;
    let after = end("add_eos_token", "eos_token_id", false)?;
    let post = match before.is_some() || after.is_some() {
        true => around(before, after),
        false => Value::Null,
    };
    let whole = ByteLevel {
        vocabulary: Value::Object(vocabulary),
        merges: json!(merges),
        added,
        split,
        ignore_merges: splitter.ignore_merges,
        post,
        ..ByteLevel::default()
    };
    Ok(whole.description())
}

fn flag(value: Option<&GgufValue>, name: &str, bad: impl Fn(&str) -> Error) -> Result<Option<bool>> {
    match value {
        None => Ok(None),
        Some(GgufValue::Flag(flag)) => Ok(Some(*flag)),
        Some(_) => Err(bad(&format!("{name}: must be a flag"))),
    }
}
