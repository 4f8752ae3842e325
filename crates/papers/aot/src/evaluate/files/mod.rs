//! Files of benchmarks and texts: plain text, JSON lines, parquet (feature `parquet`), and CBT's own format.
//!
//! A file may be packed by gzip, and a byte order mark is no text ([`attnlab_networks::text`]). Files are believed after
//! they have been checked: a wrong one is refused with file and line (of parquet: row).

mod questions;

pub use questions::Cloze;

use super::Task;
use attnlab_lab::prelude::*;
use attnlab_networks::{sha256, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest file, in bytes.
const MOST_BYTES: u64 = 4 << 30;

/// Something that was read, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value that was read.
    pub value: T,
    /// The file.
    pub path: PathBuf,
    /// Line or row, from 1.
    pub number: usize,
    /// "line" or "row".
    pub kind: &'static str,
}

impl<T> Located<T> {
    /// Builds the refusal of this part of the file.
    pub fn refused(&self, problem: &str) -> Error {
        content(&self.path, format!("{} {}: {problem}", self.kind, self.number))
    }

    fn with<U>(&self, value: U) -> Located<U> {
        Located { value, path: self.path.clone(), number: self.number, kind: self.kind }
    }
}

/// Content of the files of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// Passages of LAMBADA.
    Passages(Vec<Located<String>>),
    /// Questions of the Children's Book Test.
    Questions(Vec<Located<Cloze>>),
    /// One text: the files one after another, of equal files the first alone.
    Text(String),
}

/// Reads the files of a task, one after another.
///
/// - LAMBADA: one passage per line; JSON lines or parquet with `text`.
/// - CBT: its own format (20 numbered sentences, a 21st with the question, the answer and the candidates between tabs);
///   JSON lines or parquet with `sentences`, `question`, `answer` and `options`.
/// - text: plain text as it is; JSON lines or parquet with `text`, whose records are put one after another, with a line
///   break between them where a record does not end in one. Of equal files, such as the test splits of WikiText-2 and
///   WikiText-103, the first is read.
///
/// # Errors
/// A file that cannot be read, or is malformed, with the line or row and what it must be.
pub fn read<P: AsRef<Path>>(paths: &[P], task: Task) -> Result<Read> {
    let mut read = match task {
        Task::Cbt => Read::Questions(vec![]),
        Task::Lambada => Read::Passages(vec![]),
        Task::Text | Task::Cost => Read::Text(String::new()),
    };
    let mut hashes = vec![];
    for path in paths {
        let path = path.as_ref();
        match &mut read {
            Read::Passages(items) => items.extend(passages(path)?),
            Read::Questions(items) => items.extend(questions::questions(path)?),
            Read::Text(text) => {
                let part = texts(path)?;
                let hash = sha256(part.as_bytes());
                if !hashes.contains(&hash) {
                    hashes.push(hash);
                    join(text, &part);
                }
            }
        }
    }
    let (empty, what) = match &read {
        Read::Passages(passages) => (passages.is_empty(), "passage"),
        Read::Questions(questions) => (questions.is_empty(), "question"),
        Read::Text(text) => (text.trim().is_empty(), "word"),
    };
    match paths.first().filter(|_| empty) {
        Some(path) => Err(content(path.as_ref(), format!("must have at least one {what}; it is empty"))),
        None => Ok(read),
    }
}

/// Reads the documents of a file: every record of JSON lines or parquet with `text`, or, in plain text, what lines with
/// nothing but `<|endoftext|>` separate; of a folder, those of its files in the order of their names.
///
/// # Errors
/// As [`read`]; an empty document.
pub fn documents(path: &Path) -> Result<Vec<Located<String>>> {
    if path.is_dir() {
        let advice = "Give a folder with texts";
        let entries = fs::read_dir(path).map_err(|e| Error::io(path, e, advice))?.map(|e| e.map(|e| e.path()));
        let mut files: Vec<PathBuf> =
            entries.collect::<std::io::Result<_>>().map_err(|e| Error::io(path, e, advice))?;
        files.retain(|file| file.is_file());
        files.sort();
        return Ok(files.iter().map(|file| documents(file)).collect::<Result<Vec<_>>>()?.concat());
    }
    let bytes = bytes(path)?;
    let documents = match Format::of(path, &bytes) {
        Format::Plain => {
            let text = text::decode(path, bytes)?;
            let mut parts = vec![];
            let mut part = (1, String::new());
            for (i, line) in text.split_inclusive('\n').enumerate() {
                match line.trim_end() == "<|endoftext|>" {
                    true => parts.push(std::mem::replace(&mut part, (i + 2, String::new()))),
                    false => part.1.push_str(line),
                }
            }
            parts.push(part);
            parts.retain(|(_, text)| !text.trim().is_empty());
            let located = |(number, value)| Located { value, path: path.to_path_buf(), number, kind: "line" };
            parts.into_iter().map(located).collect()
        }
        format => of_records(path, bytes, format)?,
    };
    if documents.is_empty() {
        return Err(content(path, "must have at least one document; it is empty".into()));
    }
    Ok(documents)
}

fn passages(path: &Path) -> Result<Vec<Located<String>>> {
    let bytes = bytes(path)?;
    match Format::of(path, &bytes) {
        Format::Plain => {
            let text = text::decode(path, bytes)?;
            Ok(lines(path, &text).map(|(place, line)| place.with(line.to_string())).collect())
        }
        format => of_records(path, bytes, format),
    }
}

fn texts(path: &Path) -> Result<String> {
    let bytes = bytes(path)?;
    match Format::of(path, &bytes) {
        Format::Plain => text::decode(path, bytes),
        format => {
            let mut text = String::new();
            for record in records(path, bytes, format)? {
                // Empty lines are records of their own in WikiText's parquet.
                join(&mut text, text_of(&record, "text")?);
            }
            Ok(text)
        }
    }
}

/// Appends a text, on a line of its own.
fn join(whole: &mut String, text: &str) {
    if !(whole.is_empty() || whole.ends_with('\n')) {
        whole.push('\n');
    }
    whole.push_str(text);
}

/// The field `text` of every record; an empty one is refused.
fn of_records(path: &Path, bytes: Vec<u8>, format: Format) -> Result<Vec<Located<String>>> {
    let document = |record: &Located<Value>| match text_of(record, "text")? {
        text if text.trim().is_empty() => Err(record.refused("text: must not be empty. Remove the record")),
        text => Ok(record.with(text.to_string())),
    };
    records(path, bytes, format)?.iter().map(document).collect()
}

/// A field of a record that is a text.
fn text_of<'a>(record: &'a Located<Value>, name: &str) -> Result<&'a str> {
    let text = record.value.get(name).and_then(Value::as_str);
    text.ok_or_else(|| record.refused(&needs(name, "a text", &record.value)))
}

/// The message about a field that is missing or of another kind.
fn needs(name: &str, kind: &str, record: &Value) -> String {
    let fields = record.as_object().map(|o| o.keys().map(String::as_str).collect::<Vec<_>>());
    let fields = fields.unwrap_or_default().join(", ");
    format!("{name}: must be there, {kind}; the fields are: {fields}")
}

/// Form of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Plain,
    JsonLines,
    Parquet,
}

impl Format {
    /// The form, by the first bytes or the name.
    fn of(path: &Path, bytes: &[u8]) -> Format {
        // The form of texts.jsonl.gz is that of texts.jsonl.
        let unpacked = path.with_extension("");
        let named = if path.extension().is_some_and(|e| e == "gz") { &unpacked } else { path };
        let extension = named.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let first = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).iter().find(|b| !b.is_ascii_whitespace());
        match extension {
            _ if bytes.starts_with(b"PAR1") => Format::Parquet,
            "parquet" => Format::Parquet,
            "json" | "jsonl" | "ndjson" => Format::JsonLines,
            _ if first == Some(&b'{') => Format::JsonLines,
            _ => Format::Plain,
        }
    }
}

/// The lines of a text that are not blank, with their places.
fn lines<'a>(path: &'a Path, text: &'a str) -> impl Iterator<Item = (Located<()>, &'a str)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(move |(i, line)| (Located { value: (), path: path.to_path_buf(), number: i + 1, kind: "line" }, line))
}

fn content(path: &Path, problem: String) -> Error {
    Error::Content { path: path.to_path_buf(), problem }
}

/// The bytes of a file, out of gzip.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    text::read_bytes(path, MOST_BYTES, "Give a text, JSON lines or a parquet file with --data")
}

/// The records of a file of JSON lines or parquet.
fn records(path: &Path, bytes: Vec<u8>, format: Format) -> Result<Vec<Located<Value>>> {
    if format == Format::Parquet {
        return rows(path, bytes);
    }
    let text = text::decode(path, bytes)?;
    let record = |(place, line): (Located<()>, &str)| match serde_json::from_str(line) {
        Ok(value @ Value::Object(_)) => Ok(place.with(value)),
        Ok(_) => Err(place.refused("must be a JSON object, one per line")),
        Err(e) => Err(place.refused(&format!("must be a JSON object, one per line ({e})"))),
    };
    lines(path, &text).map(record).collect()
}

#[cfg(not(feature = "parquet"))]
fn rows(path: &Path, _: Vec<u8>) -> Result<Vec<Located<Value>>> {
    let problem = "is a parquet file, which this build does not read. Build with --features parquet, or write it as JSON \
                   lines: python -c \"import pandas; pandas.read_parquet('IN').to_json('OUT.jsonl', orient='records', \
                   lines=True)\"";
    Err(content(path, problem.into()))
}

#[cfg(feature = "parquet")]
fn rows(path: &Path, _: Vec<u8>) -> Result<Vec<Located<Value>>> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn value(field: &Field) -> Value {
        match field {
            Field::Str(text) => text.as_str().into(),
            Field::ListInternal(list) => list.elements().iter().map(value).collect(),
            _ => Value::Null,
        }
    }
    let read = || -> Result<Vec<Located<Value>>, parquet::errors::ParquetError> {
        let reader = SerializedFileReader::new(attnlab_core::input::open("text", path)?)?;
        let record = |(i, row): (usize, parquet::errors::Result<parquet::record::Row>)| {
            let value = row?.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect();
            Ok(Located { value, path: path.to_path_buf(), number: i + 1, kind: "row" })
        };
        reader.get_row_iter(None)?.enumerate().map(record).collect()
    };
    // The library ends in a panic on some malformed files.
    let problem = match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(records)) => return Ok(records),
        Ok(Err(e)) => e.to_string(),
        Err(_) => "the file contradicts itself".into(),
    };
    let problem =
        format!("must be a parquet file that can be read ({problem}). Download it again, or write it as JSON lines");
    Err(content(path, problem))
}
