//! Parquet files for `attnlab evaluate` (feature `parquet`): the same records as JSON lines, and torn files.

use crate::evaluate::Folder;
use attnlab_aot::evaluate::Task;
use attnlab_aot::evaluate::files::{self, Read};
use attnlab_lab::run::export::{Column, Values, to_parquet};

const PASSAGES: [&str; 2] = ["the oak and the hill", "she saw the the"];

#[test]
fn parquet_is_json_lines() {
    let folder = Folder::new();
    let values = Values::Text(PASSAGES.iter().map(|p| Some(p.to_string())).collect());
    let bytes = to_parquet(&[Column { name: "text".into(), values }]).unwrap();
    let file = folder.with("p.parquet", &bytes);
    let Read::Passages(passages) = files::read(&[&file], Task::Lambada).unwrap() else { panic!("passages") };
    let texts: Vec<&str> = passages.iter().map(|p| &p.value[..]).collect();
    assert_eq!(texts, PASSAGES);
    for length in [5, bytes.len() / 2, bytes.len() - 5] {
        let torn = folder.with("torn.parquet", &bytes[..length]);
        let refused = files::read(&[&torn], Task::Lambada).unwrap_err().to_string();
        assert!(refused.contains("must be a parquet file"), "{refused}");
    }
}
