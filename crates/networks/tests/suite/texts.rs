//! Tokenizers against those of Hugging Face, on the texts of `tests/data/make.py`.

use crate::parity::data;
use crate::quantised::{changed, changes};
use attnlab_networks::{Tokenizer, Transformer};
use proptest::prelude::*;
use serde_json::Value;
use std::fs;

fn expected() -> Value {
    let text = fs::read_to_string(data("tokenizers.expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn compare(tokenizer: &Tokenizer, kind: &str) {
    let expected = expected();
    for (text, ids) in expected["texts"].as_array().unwrap().iter().zip(expected[kind].as_array().unwrap()) {
        let ids: Vec<u32> = serde_json::from_value(ids.clone()).unwrap();
        let text = text.as_str().unwrap();
        assert_eq!(tokenizer.encode(text).unwrap(), ids, "{kind}: {text:?}");
    }
}

#[test]
fn every_form_gives_the_ids_of_the_reference() {
    // Its file asks for truncation to 8 tokens and padding, which are not obeyed.
    compare(&Tokenizer::open(&data("tokenizer")).unwrap(), "pairs");
    compare(&Tokenizer::open(&data("tokenizer-gpt2")).unwrap(), "pairs");
    compare(&Tokenizer::open(&data("tokenizer-bert")).unwrap(), "words");
    let network = Transformer::open(&data("llama.gguf")).unwrap();
    let tokenizer = network.tokenizer().unwrap();
    compare(&tokenizer, "smollm");
    assert_eq!(tokenizer.vocabulary(), network.architecture().vocabulary);
}

#[test]
fn texts_come_back() {
    let tokenizer = Tokenizer::open(&data("llama.gguf")).unwrap();
    let text = " It's 12  tokens;\n\tna\u{ef}ve \u{1f600}!";
    let ids = tokenizer.encode(text).unwrap();
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    let id = tokenizer.id("\u{120}t").unwrap();
    assert_eq!(tokenizer.token(id).as_deref(), Some("\u{120}t"));
    assert_eq!(tokenizer.token(1_000_000), None);
    let words = Tokenizer::open(&data("tokenizer-bert")).unwrap();
    let (ids, plain) = (words.encode("tokens").unwrap(), words.encode_plain("tokens").unwrap());
    assert_eq!(ids[1..ids.len() - 1], plain[..], "[CLS] and [SEP] around it");
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = || Tokenizer::open(folder.path()).unwrap_err().to_string();
    assert!(refusal().contains("must hold tokenizer.json"));
    let whole = fs::read(data("tokenizer/tokenizer.json")).unwrap();
    for bytes in [&b""[..], b"{}", b"[1, 2]", &whole[..whole.len() / 2], b"\xff\xfe"] {
        fs::write(folder.path().join("tokenizer.json"), bytes).unwrap();
        assert!(refusal().contains("tokenizer"), "{}", refusal());
    }
    let deep = "[".repeat(100_000);
    fs::write(folder.path().join("tokenizer.json"), deep).unwrap();
    assert!(refusal().contains("tokenizer"));
    fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    fs::write(folder.path().join("vocab.json"), "{\"a\": 0}").unwrap();
    fs::write(folder.path().join("merges.txt"), "#version: 0.2\na b\n").unwrap();
    assert!(refusal().contains("must be a tokenizer"), "{}", refusal());
}

proptest! {
    /// A tokenizer with some bytes changed or cut short is read or refused, and encodes and decodes or refuses.
    #[test]
    fn no_bytes_bring_the_reader_of_tokenizers_down(bert in any::<bool>(), changes in changes()) {
        let file = if bert { "tokenizer-bert" } else { "tokenizer" };
        let whole = fs::read(data(file).join("tokenizer.json")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        fs::write(&path, changed(&whole, 1000, &changes)).unwrap();
        if let Ok(tokenizer) = Tokenizer::open(&path) {
            let ids = tokenizer.encode("we'll see 12 tokens<|endoftext|> na\u{ef}ve").unwrap_or_default();
            let _ = tokenizer.decode(&ids);
            let _ = tokenizer.decode(&[0, 5, u32::MAX]);
        }
    }
}
