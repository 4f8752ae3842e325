//! Documents cut into tokens for `attnlab train language`.

use crate::data;
use crate::evaluate::{Folder, gguf};
use attnlab_aot::corpus::Corpus;
use attnlab_networks::Tokenizer;
use std::fs;
use std::path::Path;

/// Every document is its own tokens and one end-of-text token, in every form of file.
#[test]
fn documents_are_packed_one_after_another() {
    let folder = Folder::new();
    let texts = ["the tokens of the text", "an end", "and the weights"];
    let lines: Vec<String> = texts.iter().map(|t| serde_json::json!({ "text": t }).to_string()).collect();
    let json = folder.with("d.jsonl", lines.join("\n"));
    let plain = folder.with("d.txt", texts.join("\n<|endoftext|>\n"));
    let many = folder.0.path().join("many");
    fs::create_dir(&many).unwrap();
    for (i, text) in texts.iter().enumerate() {
        fs::write(many.join(format!("{i}.txt")), text).unwrap();
    }
    let tokenizer = Tokenizer::open(&gguf()).unwrap();
    let end = tokenizer.id("<|endoftext|>").unwrap();
    let read = |path: &Path| Corpus::read(path, &gguf(), "").unwrap();
    let corpus = read(&json);
    assert_eq!(corpus, read(&many));
    let mut ids = vec![];
    for (text, start) in texts.iter().zip(&corpus.starts) {
        assert_eq!(*start, ids.len());
        ids.extend(tokenizer.encode_plain(text).unwrap());
        ids.push(end);
    }
    assert_eq!(corpus.ids, ids);
    assert_eq!(corpus.bytes, texts.map(|t| t.len() as u64));
    assert_eq!(corpus.vocabulary, tokenizer.vocabulary());
    // Plain text keeps the line breaks before the marks.
    assert_eq!(read(&plain).bytes, [23, 7, 15]);
    // GPT-2's two files in a folder are a tokenizer too.
    let pairs = Corpus::read(&json, &data("tokenizer-gpt2"), "").unwrap();
    let other = Tokenizer::open(&data("tokenizer-gpt2")).unwrap();
    assert_eq!(pairs.ids[..pairs.starts[1] - 1], other.encode_plain(texts[0]).unwrap());
}

#[test]
fn what_cannot_be_packed_is_refused_by_name() {
    let folder = Folder::new();
    let text = folder.with("d.txt", "one document");
    let empty = folder.with("e.txt", "\n");
    let bad = folder.with("b.jsonl", "{\"text\": \"a\"}\n{\"words\": \"b\"}\n");
    for (file, tokenizer, end, part) in [
        (&text, gguf(), "</end>", "end_of_text = </end>: must be a token of"),
        (&text, data("tokenizer-bert"), "", "end_of_text = <|endoftext|>, <|end_of_text|>, </s>"),
        (&text, data("passage.txt"), "", "passage.txt"),
        (&empty, gguf(), "", "at least one document"),
        (&bad, gguf(), "", "line 2: text: must be there"),
    ] {
        let refused = Corpus::read(file, &tokenizer, end).unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
    }
}
