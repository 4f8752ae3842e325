//! Tokenizers against those of Hugging Face, on the texts of `tests/data/make.py`.

use crate::parity::data;
use crate::quantised::{changed, changes};
use attnlab_networks::{Tokenizer, Transformer};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;

fn expected(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(data(&format!("{name}.expected.json"))).unwrap()).unwrap()
}

/// Texts, each with the ids of its tokens.
fn texts_with_ids<'a>(texts: &'a Value, ids: &'a Value) -> impl Iterator<Item = (&'a str, Vec<u32>)> {
    let texts = texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    texts.zip(ids.as_array().unwrap().iter().map(|ids| serde_json::from_value::<Vec<u32>>(ids.clone()).unwrap()))
}

fn compare(tokenizer: &Tokenizer, kind: &str) {
    let expected = expected("tokenizers");
    for (text, ids) in texts_with_ids(&expected["texts"], &expected[kind]) {
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
    assert_eq!(tokenizer.token(tokenizer.id("\u{120}t").unwrap()).as_deref(), Some("\u{120}t"));
    assert_eq!(tokenizer.token(1_000_000), None);
    let words = Tokenizer::open(&data("tokenizer-bert")).unwrap();
    let (ids, plain) = (words.encode("tokens").unwrap(), words.encode_plain("tokens").unwrap());
    assert_eq!(ids[1..ids.len() - 1], plain[..], "[CLS] and [SEP] around it");
}

/// A folder with a vocabulary of a kind and files beside it.
fn vocabulary(kind: &str, files: &[(&str, Value)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let read = |name: &str| fs::read_to_string(data(name)).unwrap();
    match kind {
        "gpt2" => {
            put("vocab.json", &read("tokenizer-gpt2/vocab.json"));
            put("merges.txt", &read("tokenizer-gpt2/merges.txt"));
        }
        "bert" => {
            let whole: Value = serde_json::from_str(&read("tokenizer-bert/tokenizer.json")).unwrap();
            let mut words: Vec<(&String, &Value)> = whole["model"]["vocab"].as_object().unwrap().iter().collect();
            words.sort_by_key(|(_, id)| id.as_u64());
            put("vocab.txt", &words.iter().map(|(word, _)| format!("{word}\n")).collect::<String>());
        }
        "spm" => put("tokenizer.json", &expected("tokenizers-settings")["spm"].to_string()),
        _ => put("tokenizer.json", &read("tokenizer/tokenizer.json")),
    }
    files.iter().for_each(|(name, content)| put(name, &content.to_string()));
    folder
}

/// Expected ids: transformers, by `settings` of make.py.
#[test]
fn settings_beside_a_vocabulary_are_obeyed() {
    let expected = expected("tokenizers-settings");
    for case in expected["cases"].as_array().unwrap() {
        let files: Vec<(&str, Value)> =
            case["files"].as_object().unwrap().iter().map(|(name, content)| (&name[..], content.clone())).collect();
        let tokenizer = Tokenizer::open(vocabulary(case["vocabulary"].as_str().unwrap(), &files).path()).unwrap();
        for (text, ids) in texts_with_ids(&expected["texts"], &case["ids"]) {
            assert_eq!(tokenizer.encode(text).unwrap(), ids, "{files:?}: {text:?}");
        }
    }
}

#[test]
fn settings_that_are_not_understood_are_refused_by_name() {
    let config = "tokenizer_config.json";
    let llama = json!({"tokenizer_class": "LlamaTokenizer", "bos_token": "<|endoftext|>", "add_bos_token": true});
    for (kind, files, part) in [
        ("gpt2", vec![(config, json!({"split_special_tokens": true}))], "split_special_tokens = true: must be false"),
        ("gpt2", vec![(config, json!({"normalization": true}))], "normalization = true: must be absent"),
        ("whole", vec![(config, json!({"auto_map": {"AutoTokenizer": ["a", null]}}))], "auto_map = "),
        ("gpt2", vec![(config, json!({"tokenizer_class": "RobertaTokenizer"}))], "tokenizer_class = \"Roberta"),
        ("gpt2", vec![(config, json!({"add_bos_token": "yes"}))], "add_bos_token = \"yes\": must be true or false"),
        ("gpt2", vec![(config, json!({"add_bos_token": true, "bos_token": 3}))], "bos_token = 3: must be a token"),
        ("gpt2", vec![("config.json", json!({"model_type": "opt"}))], "must have tokenizer_config.json beside it"),
        ("gpt2", vec![("added_tokens.json", json!({"<a>": 300}))], "\"<a>\": id = 300: must be 288"),
        ("gpt2", vec![("added_tokens.json", json!({"<a>": -1}))], "<a> = -1: must be a whole number"),
        ("gpt2", vec![("added_tokens.json", json!({"<a>": u64::MAX}))], "must be a tokenizer that can be built"),
        ("whole", vec![(config, llama)], "add_bos_token = true: must be false, as the post_processor"),
        ("whole", vec![(config, json!({"add_prefix_space": true}))], "add_prefix_space = true: must be false"),
        ("whole", vec![(config, json!({"do_lower_case": true}))], "do_lower_case = true: must be false"),
        ("bert", vec![(config, json!({"cls_token": null, "unk_token": "<unk>"}))], "unk_token = \"<unk>\": must be"),
        ("bert", vec![(config, json!({"tokenizer_class": "AlbertTokenizer"}))], "must be one of BertTokenizer"),
        ("gpt2", vec![(config, json!([1]))], "must be an object"),
    ] {
        let message = Tokenizer::open(vocabulary(kind, &files).path()).unwrap_err().to_string();
        assert!(message.contains(part), "{files:?}: {message}");
    }
}

#[test]
fn vocabularies_that_contradict_themselves_are_refused_by_name() {
    let folder = vocabulary("gpt2", &[]);
    let refused = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        Tokenizer::open(folder.path()).unwrap_err().to_string()
    };
    let merges = fs::read_to_string(folder.path().join("merges.txt")).unwrap();
    fs::write(folder.path().join("merges.txt"), "#version: 0.2\n").unwrap();
    let twice = refused("vocab.json", r#"{"a": 0, "b": 1, "c": 1}"#);
    assert!(twice.contains("\"c\" = 1: must have an id of its own; \"b\" has it too"), "{twice}");
    let hole = refused("vocab.json", r#"{"a": 0, "b": 1, "c": 3}"#);
    assert!(hole.contains("2 is missing, before 3, that of \"c\""), "{hole}");
    let kind = refused("vocab.json", r#"{"a": 0, "b": "1"}"#);
    assert!(kind.contains("\"b\" = \"1\": must be a whole number"), "{kind}");
    // A byte order mark is no part of either file.
    let vocabulary = fs::read_to_string(data("tokenizer-gpt2/vocab.json")).unwrap();
    fs::write(folder.path().join("vocab.json"), format!("\u{feff}{vocabulary}")).unwrap();
    fs::write(folder.path().join("merges.txt"), format!("\u{feff}{merges}")).unwrap();
    compare(&Tokenizer::open(folder.path()).unwrap(), "pairs");
    let words = tempfile::tempdir().unwrap();
    fs::write(words.path().join("vocab.txt"), "[UNK]\n[CLS]\n[SEP]\nthe\nthe\n").unwrap();
    let twice = Tokenizer::open(words.path()).unwrap_err().to_string();
    assert!(twice.contains("line 5: must be a token of its own; \"the\" has the id 3"), "{twice}");
    fs::write(words.path().join("vocab.txt"), "[UNK]\n[CLS]\n[SEP]\nThe\n").unwrap();
    let cased = Tokenizer::open(words.path()).unwrap_err().to_string();
    assert!(cased.contains("with do_lower_case: the vocabulary has \"The\""), "{cased}");
}

/// The library's tree of pieces is dropped by recursion: 5300 bytes overflow the stack of a test's thread.
#[test]
fn a_piece_that_would_overflow_the_stack_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |bytes: usize| {
        let vocab = json!([["<unk>", 0.0], ["x".repeat(bytes), -1.0], ["a", -2.0]]);
        let whole = json!({"added_tokens": [], "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}});
        fs::write(folder.path().join("tokenizer.json"), whole.to_string()).unwrap();
        Tokenizer::open(folder.path())
    };
    assert_eq!(open(1000).unwrap().encode("a").unwrap(), [2]);
    let message = open(100_000).unwrap_err().to_string();
    assert!(message.contains("(number 1, 100000 bytes): must have at most 1000 bytes"), "{message}");
}

/// A GGUF file that has a vocabulary alone, with some settings: name below `tokenizer.ggml`, type and bytes.
fn gguf_of(pre: &str, more: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let texts = |texts: &[&str]| {
        let head = [&8_u32.to_le_bytes()[..], &(texts.len() as u64).to_le_bytes()].concat();
        texts.iter().fold(head, |bytes, t| [bytes, text(t)].concat())
    };
    let vocabulary: Value = serde_json::from_slice(&fs::read(data("tokenizer-gpt2/vocab.json")).unwrap()).unwrap();
    let mut tokens: Vec<(&String, &Value)> = vocabulary.as_object().unwrap().iter().collect();
    tokens.sort_by_key(|(_, id)| id.as_u64());
    let tokens: Vec<&str> = tokens.iter().map(|(token, _)| &token[..]).collect();
    let merges = fs::read_to_string(data("tokenizer-gpt2/merges.txt")).unwrap();
    let merges: Vec<&str> = merges.lines().filter(|line| !line.starts_with("#version")).collect();
    let kinds: Vec<u8> = (0..tokens.len()).flat_map(|i| if i == 0 { 3_i32 } else { 1 }.to_le_bytes()).collect();
    let kinds = [&5_u32.to_le_bytes()[..], &(tokens.len() as u64).to_le_bytes(), &kinds].concat();
    let fixed = [
        ("model", 8, text("gpt2")),
        ("pre", 8, text(pre)),
        ("tokens", 9, texts(&tokens)),
        ("merges", 9, texts(&merges)),
        ("token_type", 9, kinds),
    ];
    let more = more.iter().map(|(name, kind, bytes)| (*name, *kind, bytes.to_vec()));
    let settings: Vec<(&str, u32, Vec<u8>)> = fixed.into_iter().chain(more).collect();
    let mut bytes = [&b"GGUF"[..], &3_u32.to_le_bytes(), &0_u64.to_le_bytes()].concat();
    bytes.extend((settings.len() as u64).to_le_bytes());
    for (name, kind, value) in settings {
        bytes.extend([&text(&format!("tokenizer.ggml.{name}"))[..], &kind.to_le_bytes(), &value].concat());
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes
}

/// Defaults: llama.cpp's `llama-vocab.cpp`. Ids: Hugging Face's tokenizers with the expressions that Llama 3 and Qwen 2
/// publish.
#[test]
fn vocabularies_of_gguf_files_have_the_defaults_of_their_splitter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.gguf");
    let open = |pre: &str, more: &[(&str, u32, &[u8])]| {
        fs::write(&path, gguf_of(pre, more)).unwrap();
        Tokenizer::open(&path)
    };
    let expected = expected("tokenizers-settings");
    let (bos, yes, no) = (&7_u32.to_le_bytes()[..], &[1][..], &[0][..]);
    for (pre, more, before, after) in [
        ("llama-bpe", vec![("bos_token_id", 4, bos)], &[7][..], &[][..]),
        ("llama3", vec![("bos_token_id", 4, bos), ("add_bos_token", 7, no)], &[], &[]),
        ("qwen2", vec![("bos_token_id", 4, bos)], &[], &[]),
        ("stablelm2", vec![("eos_token_id", 4, bos), ("add_eos_token", 7, yes)], &[], &[7]),
    ] {
        let tokenizer = open(pre, &more).unwrap();
        let splitter = if pre.starts_with("llama") { "llama-bpe" } else { "qwen2" };
        for (text, ids) in texts_with_ids(&expected["texts"], &expected["splitters"][splitter]) {
            assert_eq!(tokenizer.encode(text).unwrap(), [before, &ids, after].concat(), "{pre}: {text:?}");
        }
    }
    for (pre, more, part) in [
        ("llama-bpe", vec![], "bos_token_id: must be the id of a token; pre = \"llama-bpe\" puts it around"),
        ("gpt-2", vec![("add_bos_token", 7, yes)], "bos_token_id: must be the id of a token; add_bos_token asks"),
        ("gpt-2", vec![("add_bos_token", 4, bos)], "add_bos_token: must be a flag"),
        ("gpt-2", vec![("add_sep_token", 7, yes)], "add_sep_token = true: must be false"),
        ("deepseek-llm", vec![], "pre = \"deepseek-llm\": must be one of gpt-2"),
    ] {
        let message = open(pre, &more).unwrap_err().to_string();
        assert!(message.contains(part), "{pre}: {message}");
    }
    // The advice of the refusal works.
    fs::copy(data("tokenizer/tokenizer.json"), folder.path().join("tokenizer.json")).unwrap();
    compare(&open("deepseek-llm", &[]).unwrap(), "pairs");
}

/// The tokens that a part of a text has within the whole are found by their bytes.
#[test]
fn spans_are_bytes_of_the_text() {
    let tokenizer = Tokenizer::open(&data("tokenizer")).unwrap();
    let text = "the attention of na\u{ef}ve tokens";
    let tokens = tokenizer.encode_with_spans(text).unwrap();
    let ids: Vec<u32> = tokens.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, tokenizer.encode_plain(text).unwrap());
    assert!(tokens.windows(2).all(|pair| pair[0].1.start <= pair[1].1.start));
    assert_eq!(tokens.last().unwrap().1.end, text.len());
    assert!(tokens.iter().all(|(_, span)| text.get(span.clone()).is_some()));
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
    fs::write(folder.path().join("tokenizer.json"), "[".repeat(100_000)).unwrap();
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
