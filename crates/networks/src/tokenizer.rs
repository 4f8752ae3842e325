//! Tokenizers of networks: text into the ids of tokens and back.

use crate::gguf::{Gguf, GgufValue};
use crate::tensors::{content, json, unreadable};
use crate::training::{self, TrainingCheckpoint};
use crate::transformer::gguf_at;
use attnlab_core::error::Result;
use attnlab_core::input;
use attnlab_lab::run::files;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Largest file of a tokenizer, in bytes; those of 256 000 tokens have some 20 million.
const MOST_BYTES: u64 = 100 << 20;

/// Tokenizer of a network.
///
/// ```
/// use attnlab_networks::Tokenizer;
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tokenizer");
/// let tokenizer = Tokenizer::open(folder.as_ref())?;
/// let ids = tokenizer.encode("the attention of the tokens")?;
/// assert_eq!(tokenizer.decode(&ids)?, "the attention of the tokens");
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    path: PathBuf,
    inner: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// Opens the tokenizer of a network: `tokenizer.json`, or `vocab.json` with `merges.txt` (GPT-2), in a folder, or
    /// the vocabulary of a GGUF file; of a network that was trained here on bytes, the bytes. Truncation and padding that the file asks for are left out.
    ///
    /// # Errors
    /// A path without a tokenizer; a malformed file; a GGUF vocabulary of an unknown kind.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, description) = describe(path)?;
        let requirement = "must be a tokenizer that can be built";
        // The library ends in a panic on some texts that are no JSON.
        let json = serde_json::from_slice::<IgnoredAny>(&description);
        json.map_err(|e| content(&file, format!("{requirement} ({e})")))?;
        let inner = contained(&file, requirement, || {
            let mut inner = tokenizers::Tokenizer::from_bytes(description)?;
            inner.with_truncation(None)?;
            inner.with_padding(None);
            Ok(inner)
        })?;
        Ok(Tokenizer { path: file, inner })
    }

    /// Returns the file that was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the tokenizer as a `tokenizer.json`; its folder is made where it is missing.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let problem = |e: &dyn std::fmt::Display| content(path, format!("cannot be written: {e}"));
        let json = self.inner.to_string(false).map_err(|e| problem(&e))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| problem(&e))?;
        }
        files::replace(path, |file| file.write_all(json.as_bytes())).map_err(|e| problem(&e))
    }

    /// Turns text into ids, with the special tokens that the tokenizer puts around a text (BERT's `[CLS]` and `[SEP]`).
    ///
    /// # Errors
    /// A text that the tokenizer cannot represent.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        self.ids(text, true)
    }

    /// Turns text into ids without special tokens around it.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_plain(&self, text: &str) -> Result<Vec<u32>> {
        self.ids(text, false)
    }

    fn ids(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        let encoded = contained(&self.path, "must encode the text", || self.inner.encode_fast(text, special))?;
        Ok(encoded.get_ids().to_vec())
    }

    /// Turns ids into text, without special tokens.
    ///
    /// # Errors
    /// Ids whose tokens do not decode to text.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        contained(&self.path, "must decode the ids", || self.inner.decode(ids, true))
    }

    /// Returns a token as the vocabulary writes it, such as "Ġthe"; None outside the vocabulary.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Returns the id of a token as the vocabulary writes it.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Counts the tokens, special ones included.
    pub fn vocabulary(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}

/// Calls the library of tokenizers and turns its errors, and its panics on files that contradict themselves, into the
/// refusal of a file.
fn contained<T>(path: &Path, requirement: &str, work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T> {
    let problem = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(e)) => e.to_string(),
        Err(_) => "the file contradicts itself".into(),
    };
    Err(content(path, format!("{requirement} ({problem})")))
}

/// Returns the file of a tokenizer and its description in the form of `tokenizer.json`.
fn describe(path: &Path) -> Result<(PathBuf, Vec<u8>)> {
    if input::is_file("tokenizer", path) && path.extension().is_some_and(|e| e == "json") {
        return Ok((path.to_path_buf(), bytes(path)?));
    }
    let whole = path.join("tokenizer.json");
    if input::is_file("tokenizer", &whole) {
        let description = bytes(&whole)?;
        return Ok((whole, description));
    }
    let (vocabulary, merges) = (path.join("vocab.json"), path.join("merges.txt"));
    if input::is_file("tokenizer", &vocabulary) & input::is_file("tokenizer", &merges) {
        let description = gpt2(&vocabulary, &merges)?.to_string().into_bytes();
        return Ok((vocabulary, description));
    }
    if let Some(checkpoint) = training::newest(path)? {
        return Ok((checkpoint.state.clone(), of_bytes(&checkpoint)?));
    }
    match gguf_at(path)? {
        Some(file) => {
            let description = gguf(&Gguf::open(&file)?)?.to_string().into_bytes();
            Ok((file, description))
        }
        None => {
            let problem = "must hold tokenizer.json, or vocab.json and merges.txt. Copy it from where the network is";
            Err(content(path, problem.into()))
        }
    }
}

/// The tokenizer of a network that was trained on bytes: the token of a byte is its value.
fn of_bytes(checkpoint: &TrainingCheckpoint) -> Result<Vec<u8>> {
    let model = checkpoint.configuration()?;
    let tokens = model.get("input").and_then(|input| input.get("vocabulary"));
    if tokens.and_then(Value::as_u64) != Some(BYTES as u64) {
        let problem =
            "must be of a network with a vocabulary of 256, whose tokens are bytes, or have tokenizer.json beside it";
        return Err(content(&checkpoint.state, problem.into()));
    }
    let pairs = (0..BYTES).map(|byte| (letter(byte as u8).to_string(), json!(byte)));
    let vocabulary: Map<String, Value> = pairs.collect();
    let whole = byte_level(vocabulary.into(), json!([]), vec![], json!(null), false, json!(null));
    Ok(whole.to_string().into_bytes())
}

/// Number of different bytes.
const BYTES: usize = 256;

/// The letter that stands for a byte in vocabularies of GPT-2's kind: itself where it can be printed, and else a letter
/// from U+0100 on, in the order of the bytes.
fn letter(byte: u8) -> char {
    let printed = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match printed(byte) {
        true => char::from(byte),
        false => {
            let before = (0..byte).filter(|b| !printed(*b)).count() as u32;
            char::from_u32(0x100 + before).unwrap_or('?')
        }
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let file = input::open("tokenizer", path).map_err(|e| unreadable(path, e))?;
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|e| unreadable(path, e))?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(content(path, format!("must have at most {MOST_BYTES} bytes"))),
        false => Ok(bytes),
    }
}

/// GPT-2's files as a tokenizer.json.
fn gpt2(vocabulary: &Path, merges: &Path) -> Result<Value> {
    let vocabulary = json(vocabulary, MOST_BYTES)?;
    let text = bytes(merges)?;
    let text = String::from_utf8(text).map_err(|e| content(merges, format!("must be UTF-8 ({e})")))?;
    let lines = text.lines().enumerate();
    // The first line names the version.
    let lines = lines.filter(|(i, line)| !(line.is_empty() || *i == 0 && line.starts_with("#version")));
    let merges: Vec<&str> = lines.map(|(_, line)| line).collect();
    let special = vocabulary.get("<|endoftext|>").cloned();
    let special = special.map(|id| added(&id, "<|endoftext|>", true));
    let special: Vec<Value> = special.into_iter().collect();
    Ok(byte_level(vocabulary, json!(merges), special, json!(null), false, json!(null)))
}

/// Kinds of tokens in `tokenizer.ggml.token_type`: control and user-defined, which are matched before all others.
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;

/// Expression by which Llama 3 splits a text before it looks for merges.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The vocabulary of a GGUF file as a tokenizer.json.
fn gguf(file: &Gguf) -> Result<Value> {
    let metadata = file.metadata();
    let get = |name: &str| metadata.get(&format!("tokenizer.ggml.{name}"));
    let bad = |problem: &str| content(file.path(), format!("tokenizer.ggml.{problem}"));
    let text = |name: &str| match get(name) {
        Some(GgufValue::Text(text)) => text.as_str(),
        _ => "",
    };
    if text("model") != "gpt2" {
        let problem = format!(
            "model = {:?}: must be gpt2, byte-level pairs; others are not supported. Put tokenizer.json beside it and \
             give that",
            text("model")
        );
        return Err(bad(&problem));
    }
    let texts = |name: &str| match get(name) {
        Some(GgufValue::Texts(texts)) => Ok(texts),
        _ => Err(bad(&format!("{name}: must be there, an array of texts"))),
    };
    let (tokens, merges) = (texts("tokens")?, texts("merges")?);
    let (split, ignore_merges) = match text("pre") {
        "gpt-2" => (json!(null), false),
        "smollm" => (json!({"type": "Digits", "individual_digits": true}), false),
        "llama-bpe" => {
            let pattern = json!({"Regex": LLAMA3});
            let split = json!({"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": false});
            (split, true)
        }
        other => {
            let problem = format!(
                "pre = {other:?}: must be one of gpt-2, smollm, llama-bpe; others are not supported. Put tokenizer.json \
                 beside it and give that"
            );
            return Err(bad(&problem));
        }
    };
    let mut vocabulary = Map::new();
    for (id, token) in tokens.iter().enumerate() {
        if vocabulary.insert(token.clone(), json!(id)).is_some() {
            return Err(bad(&format!("tokens[{id}] = {token:?}: must be there once")));
        }
    }
    let mut special = vec![];
    if let Some(GgufValue::Wholes(kinds)) = get("token_type") {
        if kinds.len() != tokens.len() {
            return Err(bad("token_type: must have as many entries as tokens"));
        }
        for (id, (token, kind)) in tokens.iter().zip(kinds).enumerate() {
            if [CONTROL, USER_DEFINED].contains(kind) {
                special.push(added(&json!(id), token, *kind == CONTROL));
            }
        }
    }
    let post = match get("add_bos_token") {
        Some(GgufValue::Flag(true)) => {
            let bos = match get("bos_token_id") {
                Some(GgufValue::Unsigned(id)) => tokens.get(*id as usize).map(|t| (*id, t)),
                _ => None,
            };
            let Some((id, token)) = bos else {
                return Err(bad("bos_token_id: must be the id of a token; add_bos_token asks for it"));
            };
            let (first, text) =
                (json!({"SpecialToken": {"id": token, "type_id": 0}}), json!({"Sequence": {"id": "A", "type_id": 0}}));
            let other = json!({"Sequence": {"id": "B", "type_id": 1}});
            let known = json!({token.as_str(): {"id": token, "ids": [id], "tokens": [token]}});
            json!({"type": "TemplateProcessing", "single": [first, text], "pair": [first, text, other], "special_tokens": known})
        }
        _ => json!(null),
    };
    Ok(byte_level(Value::Object(vocabulary), json!(merges), special, split, ignore_merges, post))
}

fn added(id: &Value, token: &str, special: bool) -> Value {
    json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
           "special": special})
}

/// A tokenizer of byte-level pairs: texts are split, first by `split`, into words whose bytes are merged. Without a
/// `split`, or with digits alone, GPT-2's expression splits.
fn byte_level(
    vocabulary: Value,
    merges: Value,
    special: Vec<Value>,
    split: Value,
    ignore_merges: bool,
    post: Value,
) -> Value {
    let bytes = |expression: bool| json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": expression});
    let before = match split.get("type").and_then(Value::as_str) {
        None => bytes(true),
        Some(kind) => {
            let parts = [split.clone(), bytes(kind == "Digits")];
            json!({"type": "Sequence", "pretokenizers": parts})
        }
    };
    let model = json!({"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges,
        "vocab": vocabulary, "merges": merges});
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": special, "normalizer": null,
        "pre_tokenizer": before, "post_processor": post, "decoder": bytes(true), "model": model})
}
