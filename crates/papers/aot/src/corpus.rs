//! Documents as tokens: each cut by a tokenizer, one after another, with an end-of-text token after each.

use crate::evaluate::files::documents;
use attnlab_lab::prelude::*;
use attnlab_networks::Tokenizer;
use rayon::prelude::*;
use std::path::Path;

/// Tokens that end a document, in the order in which they are looked for.
const END_OF_TEXT: [&str; 3] = ["<|endoftext|>", "<|end_of_text|>", "</s>"];

/// Documents that are cut at a time.
const CHUNK: usize = 256;

/// Documents as token ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// Ids of all documents, an end-of-text token after each.
    pub ids: Vec<u32>,
    /// Index of the first token of every document.
    pub starts: Vec<usize>,
    /// Bytes (UTF-8) of every document.
    pub bytes: Vec<u64>,
    /// Number of different tokens of the tokenizer.
    pub vocabulary: usize,
}

impl Corpus {
    /// Reads the documents of a file or folder ([`documents`]) and cuts them with the tokenizer of another
    /// ([`Tokenizer::open`]). `end_of_text` names the token after each; empty: the first of `<|endoftext|>`,
    /// `<|end_of_text|>` and `</s>` that the tokenizer has.
    ///
    /// ```
    /// # let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../networks/tests/data");
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let file = folder.path().join("docs.jsonl");
    /// # std::fs::write(&file, "{\"text\": \"the tokens\"}\n{\"text\": \"the end\"}\n").unwrap();
    /// let tokenizer = format!("{data}/llama.gguf");
    /// let corpus = attnlab_aot::corpus::Corpus::read(&file, tokenizer.as_ref(), "")?;
    /// assert_eq!((corpus.starts.len(), corpus.bytes[0]), (2, 10));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Files that cannot be read or are malformed, with the line or row; a tokenizer without the end-of-text token;
    /// more text than fits into memory at four bytes per byte.
    pub fn read(text: &Path, tokenizer: &Path, end_of_text: &str) -> Result<Corpus> {
        let cutter = Tokenizer::open(tokenizer)?;
        let end = match end_of_text {
            "" => END_OF_TEXT.iter().find_map(|name| cutter.id(name)),
            name => cutter.id(name),
        };
        let end = end.ok_or_else(|| {
            let allowed = format!("must be a token of {}; it ends every document", cutter.path().display());
            let given = if end_of_text.is_empty() { END_OF_TEXT.join(", ") } else { end_of_text.to_string() };
            Error::invalid("end_of_text", given, allowed)
        })?;
        let documents = documents(text)?;
        let bytes: u64 = documents.iter().map(|d| d.value.len() as u64).sum();
        // No token is shorter than a byte.
        let work = format!("cutting {} into tokens", text.display());
        memory::ensure(&work, memory::product(&[4, bytes + documents.len() as u64]))?;
        let mut corpus = Corpus { ids: vec![], starts: vec![], bytes: vec![], vocabulary: cutter.vocabulary() };
        for chunk in documents.chunks(CHUNK) {
            let cut: Result<Vec<Vec<u32>>> = chunk.par_iter().map(|d| cutter.encode_plain(&d.value)).collect();
            for (document, ids) in chunk.iter().zip(cut?) {
                corpus.starts.push(corpus.ids.len());
                corpus.bytes.push(document.value.len() as u64);
                corpus.ids.extend(ids);
                corpus.ids.push(end);
            }
        }
        Ok(corpus)
    }
}
