//! Cells of heat maps, which are most of a page, written shortly.

use std::collections::HashMap;

/// Number of cells in a row of marks from which they are joined.
const MANY: usize = 64;

/// Joins the cells of one colour in a heat map to one path each: a third of the bytes, and the same picture.
pub(super) fn joined(svg: &str) -> String {
    let mut page = String::with_capacity(svg.len());
    let mut run: Vec<(&str, Cell)> = vec![];
    for line in svg.split_inclusive('\n') {
        match Cell::of(line) {
            Some(cell) => run.push((line, cell)),
            None => {
                flush(&mut page, &mut run);
                page.push_str(line);
            }
        }
    }
    flush(&mut page, &mut run);
    page
}

/// A cell: its colour and its outline as a path.
struct Cell<'a> {
    fill: &'a str,
    outline: String,
}

impl<'a> Cell<'a> {
    /// Reads a line that is a filled rectangle without a border and nothing else.
    fn of(line: &'a str) -> Option<Self> {
        let mut rest = line.trim_end().strip_prefix("<rect")?;
        let mut value = |name: &str| -> Option<&'a str> {
            let (value, after) = rest.strip_prefix(' ')?.strip_prefix(name)?.strip_prefix("=\"")?.split_once('"')?;
            rest = after;
            Some(value)
        };
        let [x, y] = [value("x")?, value("y")?];
        let [width, height] = [value("width")?, value("height")?];
        let fill = value("fill")?;
        (rest == " stroke=\"none\"/>").then(|| Cell { fill, outline: format!("M{x} {y}h{width}v{height}h-{width}z") })
    }
}

fn flush(page: &mut String, run: &mut Vec<(&str, Cell)>) {
    if run.len() < MANY {
        run.drain(..).for_each(|(line, _)| page.push_str(line));
        return;
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut paths: Vec<(&str, String)> = vec![];
    for (_, cell) in run.iter() {
        let place = *places.entry(cell.fill).or_insert(paths.len());
        if place == paths.len() {
            paths.push((cell.fill, String::new()));
        }
        paths[place].1.push_str(&cell.outline);
    }
    for (fill, outline) in paths {
        page.push_str(&format!("<path fill=\"{fill}\" d=\"{outline}\"/>\n"));
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_colour_are_one_path() {
        let cell = |x: usize, fill: &str| {
            format!("<rect x=\"{x}\" y=\"7\" width=\"2\" height=\"3\" fill=\"{fill}\" stroke=\"none\"/>\n")
        };
        let few: String = (0..5).map(|x| cell(x, "#000000")).collect();
        assert_eq!(joined(&few), few);
        let other = "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"#112233\" stroke=\"#000000\"/>\n";
        let many: String = (0..100).map(|x| cell(x, ["#AA0000", "#00BB00"][x % 2])).collect();
        let found = joined(&format!("{other}{many}{other}"));
        assert!(found.starts_with(other) && found.ends_with(other), "{found}");
        assert_eq!(found.matches("<path").count(), 2);
        assert_eq!(found.matches("h2v3h-2z").count(), 100);
        assert!(found.contains("<path fill=\"#AA0000\" d=\"M0 7h2v3h-2zM2 7h2v3h-2z"));
        assert!(found.len() < many.len() / 2);
    }
}
