//! Vocabularies in the form of `tokenizer.json`: GPT-2's and BERT's files, and bytes.

use super::configuration::{BERT, Configuration};
use super::{read_json, read_text};
use crate::tensors::{content, require_content};
use crate::training::TrainingCheckpoint;
use attnlab_core::error::Result;
use attnlab_core::input;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of different bytes.
const BYTES: usize = 256;

/// A token that is matched in a text before all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AddedToken {
    pub(super) content: String,
    pub(super) single_word: bool,
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    pub(super) normalized: bool,
    pub(super) special: bool,
}

impl AddedToken {
    /// A special token as `transformers` takes a text.
    pub(super) fn new(content: &str) -> Self {
        AddedToken { content: content.into(), special: true, ..AddedToken::default() }
    }

    pub(super) fn entry(&self, id: u64) -> Value {
        json!({"id": id, "content": self.content, "single_word": self.single_word, "lstrip": self.lstrip,
               "rstrip": self.rstrip, "normalized": self.normalized, "special": self.special})
    }
}

/// A tokenizer of byte-level pairs: a text is split into words, whose bytes are merged.
#[derive(Default)]
pub(super) struct ByteLevel {
    pub(super) vocabulary: Value,
    pub(super) merges: Value,
    pub(super) added: Vec<Value>,
    /// Splitting before the bytes are mapped; null for GPT-2's expression alone.
    pub(super) split: Value,
    /// Words that are tokens are not merged.
    pub(super) ignore_merges: bool,
    pub(super) add_prefix_space: bool,
    /// Special tokens around a text.
    pub(super) post: Value,
}

impl ByteLevel {
    /// Returns the tokenizer as a tokenizer.json. Without a `split`, or with digits alone, GPT-2's expression splits.
    pub(super) fn description(self) -> Value {
        let bytes = |expression: bool| {
            json!({"type": "ByteLevel", "add_prefix_space": self.add_prefix_space, "trim_offsets": true,
                   "use_regex": expression})
        };
        let before = match self.split.get("type").and_then(Value::as_str) {
            None => bytes(true),
            Some(kind) => {
                json!({"type": "Sequence", "pretokenizers": [self.split.clone(), bytes(kind == "Digits")]})
            }
        };
        let model = json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": self.ignore_merges,
            "vocab": self.vocabulary, "merges": self.merges});
        let decoder = bytes(true);
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": self.added, "normalizer": null,
            "pre_tokenizer": before, "post_processor": self.post, "decoder": decoder, "model": model})
    }

    /// Sets the space before a text in a pre-tokenizer, wherever it splits into bytes.
    pub(super) fn set_prefix(splitter: &mut Value, wanted: bool) {
        if splitter["type"] == "ByteLevel" {
            splitter["add_prefix_space"] = json!(wanted);
        }
        let parts = splitter.get_mut("pretokenizers").and_then(Value::as_array_mut);
        parts.into_iter().flatten().for_each(|part| ByteLevel::set_prefix(part, wanted));
    }
}

/// A special token with its id.
pub(super) type Special = (u64, String);

/// Special tokens before and after every text, as a post-processor.
pub(super) fn around(before: Option<Special>, after: Option<Special>) -> Value {
    let named = |token: &Option<Special>| -> Vec<Value> {
        token.iter().map(|(_, t)| json!({"SpecialToken": {"id": t, "type_id": 0}})).collect()
    };
    let text = |name: &str| json!({"Sequence": {"id": name, "type_id": 0}});
    let parts = |texts: &[Value]| [named(&before), texts.to_vec(), named(&after)].concat();
    let (single, pair) = (parts(&[text("A")]), parts(&[text("A"), text("B")]));
    let known = before.iter().chain(&after).map(|(id, t)| (t.clone(), json!({"id": t, "ids": [id], "tokens": [t]})));
    let known: Map<String, Value> = known.collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known})
}

/// The tokenizer of a network that was trained on bytes: the token of a byte is its value.
pub(super) fn of_bytes(checkpoint: &TrainingCheckpoint) -> Result<Value> {
    let model = checkpoint.configuration()?;
    let tokens = model.get("input").and_then(|input| input.get("vocabulary"));
    let problem =
        "must be of a network with a vocabulary of 256, whose tokens are bytes, or have tokenizer.json beside it";
    require_content(tokens.and_then(Value::as_u64) == Some(BYTES as u64), &checkpoint.state, problem)?;
    let vocabulary: Map<String, Value> = (0..BYTES).map(|byte| (letter(byte as u8).to_string(), json!(byte))).collect();
    Ok(ByteLevel { vocabulary: vocabulary.into(), merges: json!([]), ..ByteLevel::default() }.description())
}

/// The letter that stands for a byte in vocabularies of GPT-2's kind: itself where it can be printed, and else a letter
/// from U+0100 on, in the order of the bytes.
fn letter(byte: u8) -> char {
    let printed = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let before = || (0..byte).filter(|b| !printed(*b)).count() as u32;
    if printed(byte) { char::from(byte) } else { char::from_u32(0x100 + before()).unwrap_or('?') }
}

/// GPT-2's files as a tokenizer.json, under the settings beside them.
pub(super) fn gpt2(vocabulary: &Path, merges: &Path, beside: &Configuration) -> Result<Value> {
    beside.only(&["GPT2Tokenizer"], "vocab.json with merges.txt")?;
    let folder = vocabulary.parent().unwrap_or(Path::new(""));
    if !beside.is_there && model_type(folder)?.as_deref() == Some("opt") {
        let problem = "must have tokenizer_config.json beside it, as OPT is published: it says which token begins every \
                       text. Copy it from where the network is";
        return Err(content(vocabulary, problem));
    }
    let tokens = read_json(vocabulary)?;
    contiguous(vocabulary, &tokens)?;
    let text = read_text(merges)?;
    let lines = text.lines().enumerate();
    // The first line names the version.
    let lines = lines.filter(|(i, line)| !(line.is_empty() || *i == 0 && line.starts_with("#version")));
    let pairs: Vec<&str> = lines.map(|(_, line)| line).collect();
    let mut whole = ByteLevel {
        merges: json!(pairs),
        added: defaults(&tokens, beside, &[("bos_token", END), ("eos_token", END), ("unk_token", END)]),
        add_prefix_space: beside.flag("add_prefix_space").unwrap_or(false),
        vocabulary: tokens,
        ..ByteLevel::default()
    }
    .description();
    beside.amend(&mut whole)?;
    let end = |flag: &str, role: &str| {
        (beside.flag(flag) == Some(true)).then(|| special(&whole, beside, role, END)).transpose()
    };
    let (bos, eos) = (end("add_bos_token", "bos_token")?, end("add_eos_token", "eos_token")?);
    if bos.is_some() || eos.is_some() {
        whole["post_processor"] = around(bos, eos);
    }
    Ok(whole)
}

/// GPT-2's special token, in every role that no setting names.
const END: &str = "<|endoftext|>";

/// BERT's `vocab.txt` as a tokenizer.json, under the settings beside it.
pub(super) fn bert(vocabulary: &Path, beside: &Configuration) -> Result<Value> {
    beside.only(&BERT, "vocab.txt")?;
    let text = read_text(vocabulary)?;
    let mut tokens = Map::new();
    for (id, token) in text.lines().enumerate() {
        if let Some(first) = tokens.insert(token.into(), json!(id)) {
            let problem = format!(
                "line {}: must be a token of its own; {token:?} has the id {first}. Take the file from where the network is",
                id + 1
            );
            return Err(content(vocabulary, problem));
        }
    }
    let cased = |token: &&String| !token.starts_with('[') && token.chars().any(char::is_uppercase);
    if !beside.is_there
        && let Some(token) = tokens.keys().find(cased)
    {
        let problem = format!(
            "must have tokenizer_config.json beside it, with do_lower_case: the vocabulary has {token:?}, and without the \
             setting texts become lower-case. Copy it from where the network is"
        );
        return Err(content(vocabulary, problem));
    }
    let tokens = Value::Object(tokens);
    let roles = [
        ("unk_token", "[UNK]"),
        ("sep_token", "[SEP]"),
        ("pad_token", "[PAD]"),
        ("cls_token", "[CLS]"),
        ("mask_token", "[MASK]"),
    ];
    let unknown = beside.role("unk_token").unwrap_or("[UNK]");
    if tokens.get(unknown).is_none() {
        return Err(beside.missing("unk_token", unknown));
    }
    let normaliser = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": null, "lowercase": true});
    let model = json!({"type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100, "vocab": tokens});
    let mut whole = json!({"version": "1.0", "truncation": null, "padding": null,
        "added_tokens": defaults(&model["vocab"], beside, &roles), "normalizer": normaliser,
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}, "model": model});
    beside.amend(&mut whole)?;
    let (cls, sep) = (special(&whole, beside, "cls_token", "[CLS]")?, special(&whole, beside, "sep_token", "[SEP]")?);
    whole["post_processor"] = around(Some(cls), Some(sep));
    Ok(whole)
}

/// Special tokens of a class that are in the vocabulary and whose roles no setting names, as added tokens.
fn defaults(vocabulary: &Value, beside: &Configuration, roles: &[(&str, &str)]) -> Vec<Value> {
    let mut tokens: Vec<Value> = vec![];
    for (_, token) in roles.iter().filter(|(role, _)| beside.role(role).is_none()) {
        let id = vocabulary.get(token).and_then(Value::as_u64);
        if let Some(id) = id.filter(|_| tokens.iter().all(|t| t["content"] != *token)) {
            tokens.push(AddedToken::new(token).entry(id));
        }
    }
    tokens
}

/// The id and text of a special token that is put around every text.
fn special(whole: &Value, beside: &Configuration, role: &str, default: &str) -> Result<Special> {
    let token = beside.role(role).unwrap_or(default);
    let mut added = whole["added_tokens"].as_array().into_iter().flatten();
    let id = added.find(|t| t["content"] == token).and_then(|t| t["id"].as_u64());
    let id = id.or_else(|| whole["model"]["vocab"].get(token).and_then(Value::as_u64));
    id.map(|id| (id, token.to_string())).ok_or_else(|| beside.missing(role, token))
}

/// The family of the network in the same folder, if it says.
fn model_type(folder: &Path) -> Result<Option<String>> {
    let path = folder.join("config.json");
    if !input::is_file("config.json", &path) {
        return Ok(None);
    }
    Ok(read_json(&path)?.get("model_type").and_then(Value::as_str).map(String::from))
}

/// Returns the least id that no token has, in the vocabulary or among added tokens.
pub(super) fn next_id(description: &Value, added: &[Value]) -> u64 {
    let tokens = match &description["model"]["vocab"] {
        Value::Object(tokens) => tokens.values().filter_map(Value::as_u64).max().map_or(0, |id| id.saturating_add(1)),
        Value::Array(tokens) => tokens.len() as u64,
        _ => 0,
    };
    added.iter().filter_map(|t| t["id"].as_u64()).map(|id| id.saturating_add(1)).max().unwrap_or(0).max(tokens)
}

/// Refuses a vocabulary whose ids are not 0, 1, 2, ..
fn contiguous(path: &Path, vocabulary: &Value) -> Result<()> {
    let names = ids(path, vocabulary)?;
    let Some((hole, id)) = (0..).zip(names.keys()).find(|(expected, id)| expected != *id) else { return Ok(()) };
    let problem = format!(
        "vocabulary: must have a token of every id up to {}; {hole} is missing, before {id}, that of {:?}. Take the file \
         from where the network is",
        names.len() - 1,
        names[id]
    );
    Err(content(path, problem))
}

/// Tokens by their ids.
///
/// # Errors
/// Ids that are no whole numbers; two tokens of the same id.
pub(super) fn ids<'a>(path: &Path, vocabulary: &'a Value) -> Result<BTreeMap<u64, &'a str>> {
    let mut names: BTreeMap<u64, &str> = BTreeMap::new();
    for (token, id) in vocabulary.as_object().into_iter().flatten() {
        let problem = || content(path, format!("vocabulary: {token:?} = {id}: must be a whole number, an id"));
        let id = id.as_u64().ok_or_else(problem)?;
        if let Some(other) = names.insert(id, token) {
            let problem = format!(
                "vocabulary: {token:?} = {id}: must have an id of its own; {other:?} has it too. Take the file from where \
                 the network is"
            );
            return Err(content(path, problem));
        }
    }
    Ok(names)
}

/// Longest piece of a Unigram vocabulary (bytes): the library drops its tree of pieces by a recursion as deep as the longest,
/// which takes some 400 bytes of stack for each. SentencePiece learns pieces of up to 16 letters by default.
const LONGEST_PIECE: usize = 1000;

/// Checks the pieces of a Unigram vocabulary, an array of pieces with their scores. Such a vocabulary comes from a
/// tokenizer.json alone: of GGUF files byte-level pairs are read.
///
/// # Errors
/// A piece that is too long.
pub(super) fn pieces(path: &Path, vocabulary: &Value) -> Result<()> {
    let mut pieces = vocabulary.as_array().into_iter().flatten().enumerate();
    let long = pieces.find_map(|(i, entry)| Some((i, entry[0].as_str().filter(|piece| piece.len() > LONGEST_PIECE)?)));
    let Some((i, piece)) = long else { return Ok(()) };
    let (start, bytes) = (piece.chars().take(20).collect::<String>(), piece.len());
    let problem = format!(
        "vocabulary: {start:?}.. (number {i}, {bytes} bytes): must have at most {LONGEST_PIECE} bytes. Take the file from \
         where the network is"
    );
    Err(content(path, problem))
}
