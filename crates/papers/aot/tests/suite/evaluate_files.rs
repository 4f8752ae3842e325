//! Files of `attnlab evaluate`, good and bad, and the command.

use crate::catalogue;
use crate::drawn::command;
use crate::evaluate::{Folder, PASSAGES, gguf, llama, passes};
use attnlab_aot::evaluate::files::{self, Read};
use attnlab_aot::evaluate::{Prepared, Task};
use attnlab_lab::run::store;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn malformed_files_are_refused_with_their_place() {
    let folder = Folder::new();
    let (network, tokenizer) = llama();
    let refused = |name: &str, text: &[u8], task: Task| {
        let file = folder.with(name, text);
        let done = files::read(&[&file], task)
            .and_then(|read| Prepared::new(&read, &tokenizer, network.architecture(), passes(16, 16)));
        let message = done.err().unwrap_or_else(|| panic!("{name}")).to_string();
        assert!(message.starts_with(file.to_str().unwrap()) || task == Task::Text, "{message}");
        message
    };
    let (lambada, cbt) = (Task::Lambada, Task::Cbt);
    for (name, text, task, part) in [
        ("empty.txt", &b""[..], lambada, "at least one passage"),
        ("blank.txt", b"\n \n", lambada, "at least one passage"),
        ("one.txt", b"two words\n\nsingle\n", lambada, "line 3: must have at least two words"),
        ("latin.txt", b"fine here\nna\xefve\n", lambada, "line 2: must be UTF-8"),
        (
            "bad.jsonl",
            b"{\"text\": \"a b\"}\n{\"text\": 3}\n",
            lambada,
            "line 2: text: must be there, a text; the fields are: text",
        ),
        ("torn.jsonl", b"{\"text\": \"a b\"}\n{\"text\": \"a", lambada, "line 2: must be a JSON object"),
        ("other.jsonl", b"{\"passage\": \"a b\"}", lambada, "the fields are: passage"),
        ("void.jsonl", b"{\"text\": \" \"}", lambada, "line 1: text: must not be empty"),
        ("list.json", b"[1]", lambada, "must be a JSON object"),
        ("torn.parquet", b"PAR1abc", lambada, "parquet"),
        (
            "long.txt",
            b"a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            lambada,
            "line 1: must have a last word that fits",
        ),
        ("q1.txt", b"1 a b\n3 c d\n", cbt, "line 2: must begin with 2"),
        ("q2.txt", b"1 a b\n", cbt, "must be followed by their question"),
        (
            "q3.txt",
            b"1 a XXXXX\tcat\tdog|hen\n",
            cbt,
            "line 1: options: must contain the answer \"cat\"; they are dog, hen",
        ),
        ("q4.txt", b"1 a b\tcat\tcat|hen\n", cbt, "question: must have XXXXX once"),
        ("q5.txt", b"1 a XXXXX\tcat\tcat|cat\n", cbt, "\"cat\" is there twice"),
        ("q6.txt", b"1 a XXXXX\tcat\n", cbt, "an answer and candidates"),
        ("q7.txt", b"hello\n", cbt, "must be a number"),
        ("q8.txt", b"1 a XXXXX\tcat\tcat\n", cbt, "at least two words"),
        (
            "q9.txt",
            b"1 a XXXXX bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\tcat\tcat|hen\n",
            cbt,
            "line 1: must have candidates that fit",
        ),
        ("q.jsonl", b"{\"question\": \"XXXXX\"}", cbt, "sentences: must be there, a list of texts"),
        ("empty2.txt", b" \n", Task::Text, "at least one word"),
        ("a.txt", b"a", Task::Text, "at least 3 tokens"),
    ] {
        let message = refused(name, text, task);
        assert!(message.contains(part), "{name}: {message}");
    }
    let missing = files::read(&[folder.path_of("none.txt")], Task::Text).unwrap_err();
    assert!(missing.to_string().contains("--data"));
}

/// "the oak and the hill\nshe saw the the\n", packed by Python's gzip.
const PACKED: &[u8] =
    b"\x1f\x8b\x08\0\0\0\0\0\x02\x03+\xc9HU\xc8O\xccVH\xccKQ(\x01\xb232sr\xb8\x8a\x81\x8c\xe2\xc4r\xb0\
    \x00\x10s\x01\x00(Hm6%\0\0\0";

/// A byte order mark, line ends and gzip are no part of a text; other encodings are refused with what converts them.
#[test]
fn texts_in_the_wild_are_read_or_named() {
    let folder = Folder::new();
    let values = |name: &str, text: &[u8]| match files::read(&[folder.with(name, text)], Task::Lambada).unwrap() {
        Read::Passages(passages) => passages.into_iter().map(|p| p.value).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let expected = ["the oak and the hill", "she saw the the"];
    let json = "{\"text\": \"the oak and the hill\"}\r\n{\"text\": \"she saw the the\"}\n";
    for (name, text) in [
        ("mark.txt", "\u{feff}the oak and the hill\nshe saw the the\n".as_bytes()),
        ("mark", format!("\u{feff}{json}").as_bytes()),
        ("mark.jsonl", format!("\u{feff}{json}").as_bytes()),
        ("lines.txt", b"the oak and the hill\r\nshe saw the the\r\n"),
        ("packed.txt.gz", PACKED),
        ("packed", PACKED),
    ] {
        assert_eq!(values(name, text), expected, "{name}");
    }
    let question = "\u{feff}1 the cat sat .\r\n2 the XXXXX ran .\tdog\t\tcat|dog\r\n";
    assert!(files::read(&[folder.with("mark.cbt", question)], Task::Cbt).is_ok());
    let text = files::read(&[folder.with("text.txt", "\u{feff}a b\r\nc")], Task::Text).unwrap();
    assert_eq!(text, Read::Text("a b\nc".into()));
    let documents = files::documents(&folder.with("docs.txt", "\u{feff}one\r\n<|endoftext|>\r\ntwo")).unwrap();
    assert_eq!(documents.iter().map(|d| &d.value[..]).collect::<Vec<_>>(), ["one\n", "two"]);
    for (name, text, part) in [
        ("wide.txt", &b"\xff\xfea\0 \0b\0"[..], "UTF-16LE: must be UTF-8. Convert it: iconv -f UTF-16 -t UTF-8"),
        ("wide.jsonl", b"\xfe\xff\0a\0 \0b", "UTF-16BE: must be UTF-8. Convert it: iconv -f UTF-16 -t UTF-8"),
        ("latin.txt", b"fine here\nna\xefve\n", "line 2: must be UTF-8 text; byte 12 of the text, 0xef, is not"),
        ("torn.gz", &PACKED[..30], "must be a whole gzip file"),
    ] {
        let message = files::read(&[folder.with(name, text)], Task::Lambada).unwrap_err().to_string();
        assert!(message.contains(part), "{name}: {message}");
    }
}

#[test]
fn texts_are_joined_and_equal_files_are_read_once() {
    let folder = Folder::new();
    let first = folder.with("one.txt", "a b\nc");
    let second = folder.with("two.txt", "a b\nc");
    let lines =
        folder.with("three.jsonl", "{\"text\": \"d\"}\n{\"text\": \"\"}\n{\"text\": \"e\\n\"}\n{\"text\": \"f\"}");
    let read = |files: &[&PathBuf]| files::read(files, Task::Text).unwrap();
    assert_eq!(read(&[&first, &second]), Read::Text("a b\nc".into()));
    assert_eq!(read(&[&first, &lines]), Read::Text("a b\nc\nd\ne\nf".into()));
    let docs = folder.with("docs.txt", "one\ntwo\n<|endoftext|>\nthree\n<|endoftext|>\n");
    let docs = files::documents(&docs).unwrap();
    let numbered: Vec<(&str, usize)> = docs.iter().map(|d| (&d.value[..], d.number)).collect();
    assert_eq!(numbered, [("one\ntwo\n", 1), ("three\n", 4)]);
}

#[test]
fn the_command_writes_everything() {
    let folder = Folder::new();
    let file = folder.path_of("p.txt");
    fs::write(&file, PASSAGES.join("\n")).unwrap();
    let network = gguf();
    let evaluate = |out: &str, more: &[&str]| {
        command(&[&["evaluate", network.to_str().unwrap(), "--out", &folder.path_of(out)], more].concat())
    };
    evaluate("lambada", &["--task", "lambada", "--data", &file]).unwrap();
    let out = folder.path_of("lambada");
    let rows = store::read(Path::new(&out)).unwrap().rows;
    // Two networks, two detokenisers, six readings.
    assert_eq!(rows.len(), 24);
    for name in ["rows.csv", "evaluate.html", "evaluate.png"] {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    let page = fs::read_to_string(Path::new(&out).join("evaluate.html")).unwrap();
    for word in ["GPT-2 Base 124M", "random weights", "ceiling", "last word, no stop words"] {
        assert!(page.contains(word), "{word}");
    }
    evaluate("cost", &["--task", "cost", "--context", "24", "--runs", "2"]).unwrap();
    let cost = &store::read(Path::new(&folder.path_of("cost"))).unwrap().rows[0];
    let number = |name: &str| cost.number(name).unwrap();
    assert!(number("gflop") <= number("gflop_executed") && number("gflop_maps") < number("gflop"));
    assert!(number("low") <= number("value") && number("value") <= number("high"));
    assert_eq!(cost.series("seconds").unwrap().len(), 2);
}

#[test]
fn the_examples_of_the_help_are_sound() {
    let catalogue = catalogue();
    let command = catalogue.commands().find(|c| c.describe().get_name() == "evaluate").unwrap();
    let help = command.describe().render_long_help().to_string();
    let examples: Vec<&str> = help.lines().filter_map(|l| l.trim().strip_prefix("attnlab ")).collect();
    assert_eq!(examples.len(), 6);
    for example in examples {
        let parsed = command.describe().try_get_matches_from(example.split_whitespace());
        assert!(parsed.is_ok(), "{example}: {:?}", parsed.err());
    }
}

/// The passages that are ours, which docs/evaluate.md measures, are read.
#[test]
fn our_passages_are_passages() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/papers/aot/tests/data/passages.txt");
    let Read::Passages(passages) = files::read(&[file], Task::Lambada).unwrap() else { panic!("passages") };
    assert_eq!(passages.len(), 12);
    // As in LAMBADA, the last word is in the passage before.
    for passage in passages {
        let text = passage.value.to_lowercase();
        let (before, last) = text.rsplit_once(' ').unwrap();
        assert!(before.contains(last), "{last}");
    }
}

/// Questions made of the same passages: the omitted word is the last, the candidates are last words of other passages.
#[test]
fn our_questions_are_questions() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/papers/aot/tests/data/questions.txt");
    let Read::Questions(questions) = files::read(&[file], Task::Cbt).unwrap() else { panic!("questions") };
    assert_eq!(questions.len(), 12);
    assert!(questions.iter().all(|q| q.value.candidates.len() == 10));
}

/// The same records as JSON lines, and torn files.
#[cfg(feature = "parquet")]
#[test]
fn parquet_is_json_lines() {
    use attnlab_lab::run::export::{Column, Values, to_parquet};
    let folder = Folder::new();
    let values = Values::Text(PASSAGES[..2].iter().map(|p| Some(p.to_string())).collect());
    let bytes = to_parquet(&[Column { name: "text".into(), values }]).unwrap();
    let file = folder.with("p.parquet", &bytes);
    let Read::Passages(passages) = files::read(&[&file], Task::Lambada).unwrap() else { panic!("passages") };
    let texts: Vec<&str> = passages.iter().map(|p| &p.value[..]).collect();
    assert_eq!(texts, PASSAGES[..2]);
    for length in [5, bytes.len() / 2, bytes.len() - 5] {
        let torn = folder.with("torn.parquet", &bytes[..length]);
        let refused = files::read(&[&torn], Task::Lambada).unwrap_err().to_string();
        assert!(refused.contains("must be a parquet file"), "{refused}");
    }
}
