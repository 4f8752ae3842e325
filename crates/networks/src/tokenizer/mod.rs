//! Tokenizers of networks: text into the ids of tokens and back.

mod configuration;
mod forms;
mod gguf;

use crate::gguf::Gguf;
use crate::tensors::{content, require_content};
use crate::transformer::gguf_at;
use crate::{text, training};
use attnlab_core::error::Result;
use attnlab_core::input;
use attnlab_lab::run::files;
use configuration::Configuration;
use serde_json::Value;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;

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
    /// Opens the tokenizer of a network: in a folder `tokenizer.json`, `vocab.json` with `merges.txt` (GPT-2, OPT) or
    /// `vocab.txt` (BERT), each with `tokenizer_config.json`, `special_tokens_map.json` and `added_tokens.json` beside it;
    /// the vocabulary of a GGUF file; of a network that was trained here on bytes, the bytes. Truncation and padding that
    /// a file asks for are left out.
    ///
    /// # Errors
    /// A path without a tokenizer; a malformed file; a setting that is not known and may change the tokens; a GGUF
    /// vocabulary of an unknown kind.
    pub fn open(path: &Path) -> Result<Self> {
        let described = Described::find(path)?;
        let inner = contained(&described.path, "must be a tokenizer that can be built", || {
            let mut inner = tokenizers::Tokenizer::from_bytes(described.whole.to_string())?;
            inner.with_truncation(None)?;
            inner.with_padding(None);
            Ok(inner)
        })?;
        described.verify(&inner)?;
        Ok(Tokenizer { path: described.path, inner })
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

    /// Turns text into ids without special tokens around it, each with the bytes of the text that it stands for. A
    /// part of a text is cut out by these: encoded by itself it has other tokens, such as a space that SentencePiece
    /// puts before every text. A token may stand for no bytes of its own.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_with_spans(&self, text: &str) -> Result<Vec<(u32, Range<usize>)>> {
        let encoded = contained(&self.path, "must encode the text", || self.inner.encode(text, false))?;
        let spans = encoded.get_offsets().iter().map(|(start, end)| *start..*end);
        Ok(encoded.get_ids().iter().copied().zip(spans).collect())
    }

    fn ids(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        Ok(contained(&self.path, "must encode the text", || self.inner.encode_fast(text, special))?.get_ids().to_vec())
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
    let problem = match quietly(work) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(e)) => e.to_string(),
        Err(_) => "the file contradicts itself".into(),
    };
    Err(content(path, format!("{requirement} ({problem})")))
}

/// Catches a panic, of which nothing is printed: the caller's error says what happened.
fn quietly<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                others(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    result
}

/// A tokenizer in the form of `tokenizer.json`, the file that it comes from, and the settings beside it.
struct Described {
    path: PathBuf,
    whole: Value,
    beside: Option<Configuration>,
}

impl Described {
    fn find(path: &Path) -> Result<Self> {
        if input::is_file("tokenizer", path) && path.extension().is_some_and(|e| e == "json") {
            return Described::of_file(path);
        }
        let whole = path.join("tokenizer.json");
        if input::is_file("tokenizer", &whole) {
            return Described::of_file(&whole);
        }
        let alone = |path, whole| Described { path, whole, beside: None };
        let (vocabulary, merges, words) = (path.join("vocab.json"), path.join("merges.txt"), path.join("vocab.txt"));
        if input::is_file("tokenizer", &vocabulary) & input::is_file("tokenizer", &merges) {
            let whole = forms::gpt2(&vocabulary, &merges, &Configuration::read(path)?.or_class("GPT2Tokenizer"))?;
            return Ok(alone(vocabulary, whole));
        }
        if input::is_file("tokenizer", &words) {
            let whole = forms::bert(&words, &Configuration::read(path)?.or_class("BertTokenizer"))?;
            return Ok(alone(words, whole));
        }
        if let Some(checkpoint) = training::newest(path)? {
            return Ok(alone(checkpoint.state.clone(), forms::of_bytes(&checkpoint)?));
        }
        if let Some(file) = gguf_at(path)? {
            let opened = Gguf::open(&file)?;
            // Vocabularies of other kinds are read from what lies beside the file.
            let other = file.with_file_name("tokenizer.json");
            return match gguf::is_known(&opened) || !input::is_file("tokenizer", &other) {
                true => Ok(alone(file, gguf::describe(&opened)?)),
                false => Described::of_file(&other),
            };
        }
        let problem = if input::is_file("tokenizer", &path.join("tokenizer.model")) {
            "must hold tokenizer.json; a SentencePiece model alone is not read. Write it beside: \
             AutoTokenizer.from_pretrained(\"..\").save_pretrained(\"..\")"
        } else {
            "must hold tokenizer.json, vocab.json and merges.txt, or vocab.txt. Copy it from where the network is"
        };
        Err(content(path, problem))
    }

    fn of_file(path: &Path) -> Result<Self> {
        let mut whole = read_json(path)?;
        require_content(whole.is_object(), path, "must be a tokenizer that can be built, an object of JSON")?;
        forms::ids(path, &whole["model"]["vocab"])?;
        forms::pieces(path, &whole["model"]["vocab"])?;
        let dropout = &whole["model"]["dropout"];
        if dropout.as_f64().is_some_and(|share| share != 0.0) {
            let requirement = "must be null; merges would be left out at random, and a text had other tokens each time";
            return Err(content(path, format!("model.dropout = {dropout}: {requirement}. Set it to null")));
        }
        let beside = Configuration::read(path.parent().unwrap_or(Path::new("")))?;
        beside.amend(&mut whole)?;
        Ok(Described { path: path.to_path_buf(), whole, beside: Some(beside) })
    }

    /// Refuses added tokens whose ids are not those that the library gives them, one after another.
    fn verify(&self, inner: &tokenizers::Tokenizer) -> Result<()> {
        for token in self.whole["added_tokens"].as_array().into_iter().flatten() {
            let (Some(text), Some(id)) = (token["content"].as_str(), token["id"].as_u64()) else { continue };
            if let Some(given) = inner.token_to_id(text).filter(|given| u64::from(*given) != id) {
                let problem = format!(
                    "added token {text:?}: id = {id}: must be {given}, that of the vocabulary or the next after it. Take \
                     the files from one folder"
                );
                return Err(content(&self.path, problem));
            }
        }
        let Some(beside) = &self.beside else { return Ok(()) };
        let around = contained(&self.path, "must encode the empty text", || inner.encode_fast("", true))?;
        beside.agrees(around.get_ids(), |token| inner.token_to_id(token))
    }
}

/// Advice for a file that cannot be read.
const ADVICE: &str = "Give yourself the right to read it";

/// Reads JSON in UTF-8, with a byte order mark or without.
fn read_json(path: &Path) -> Result<Value> {
    let bytes = text::read_bytes(path, MOST_BYTES, ADVICE)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice(bytes).map_err(|e| content(path, format!("must be JSON ({e})")))
}

fn read_text(path: &Path) -> Result<String> {
    text::read(path, MOST_BYTES, ADVICE)
}
