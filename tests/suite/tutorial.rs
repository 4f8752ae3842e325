//! The programs in docs/tutorial are those of `examples`, which cargo compiles; `.ci/tutorial` runs them.

use crate::common::root;

const PAGE: &str = "docs/tutorial/4-from-rust.md";
const ADVICE: &str = "write it anew with ATTNLAB_BLESS=1 cargo test --test suite tutorial";

/// The page with every block after `<!-- examples/NAME.rs -->` replaced by that program, and how many there are.
fn with_programs(page: &str) -> (String, usize) {
    let (mut text, mut programs) = (String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let name = line.strip_prefix("<!-- examples/");
        if let Some(name) = name.and_then(|rest| rest.strip_suffix(" -->")) {
            let program = std::fs::read_to_string(root().join("examples").join(name)).unwrap();
            text += &format!("```rust\n{program}```\n");
            // The block that stood there.
            lines.by_ref().find(|line| *line == "```");
            programs += 1;
        }
    }
    (text, programs)
}

#[test]
fn the_page_shows_the_programs_that_are_compiled() {
    let path = root().join(PAGE);
    let stored = std::fs::read_to_string(&path).unwrap();
    let (current, programs) = with_programs(&stored);
    assert!(programs > 0, "{PAGE} shows no program");
    if std::env::var_os("ATTNLAB_BLESS").is_some() {
        std::fs::write(&path, current).unwrap();
    } else {
        assert!(stored == current, "{PAGE} is not current: {ADVICE}");
    }
}
