//! A comparison as one self-contained HTML file.

use super::{Change, Comparison, Item, Pair, Side};
use crate::report::{badge, close, escape, open, origin, put, two};
use attnlab_core::format::{number, pairs, significant};
use std::fmt::Write;

/// Largest number of rows of one kind on a page.
const MAX_ROWS: usize = 2000;

/// Writes the comparison as an HTML file; `command` is the one that makes it.
pub fn html(comparison: &Comparison, command: &str) -> String {
    let mut page = String::new();
    open(&mut page, "attnlab diff");
    put!(page, "<main id=\"top\"><h1>attnlab diff</h1>");
    origin(&mut page, &[], command);
    put!(page, "<dl>");
    side(&mut page, "A", &comparison.a);
    side(&mut page, "B", &comparison.b);
    put!(page, "</dl><p><strong>{}</strong></p>", escape(&comparison.sentence()));
    put!(page, "<p>{}</p>", escape(&comparison.method()));
    for change in Change::ALL {
        let of_kind: Vec<&Pair> = comparison.items.iter().filter(|p| p.change == change).collect();
        if of_kind.is_empty() {
            continue;
        }
        put!(page, "<h2>{}: {}</h2><div class=\"claims\">", capital(change.heading()), of_kind.len());
        for pair in of_kind.iter().take(MAX_ROWS) {
            row(&mut page, pair);
        }
        if of_kind.len() > MAX_ROWS {
            let rest = of_kind.len() - MAX_ROWS;
            put!(page, "<p>And {rest} more, which --json lists.</p>");
        }
        put!(page, "</div>");
    }
    close(&mut page);
    page
}

fn side(page: &mut String, name: &str, side: &Side) {
    let list = |words: Vec<String>| words.join(", ");
    put!(
        page,
        "<dt>{name}</dt><dd>{}; seeds {}; {}</dd>",
        escape(&side.path),
        list(side.seeds.iter().map(u64::to_string).collect()),
        escape(&list(side.builds.iter().cloned().collect()))
    );
    for note in &side.notes {
        put!(page, "<dt></dt><dd>{}</dd>", escape(note));
    }
}

fn row(page: &mut String, pair: &Pair) {
    put!(
        page,
        "<div class=\"row\"><span class=\"name\"><code>{}</code></span><span class=\"title\">{}</span>",
        escape(&pair.name),
        escape(&match pair.settings.as_str() {
            "" => pairs(&pair.parameters),
            settings => format!("settings differ: {settings}"),
        })
    );
    let estimate = |item: &Option<Item>| {
        let item = item.as_ref()?;
        Some((item.estimate?, item.verdict))
    };
    match (estimate(&pair.a), estimate(&pair.b)) {
        (Some(a), Some(b)) => two(page, [a, b]),
        _ => page.push_str("<span></span>"),
    }
    put!(page, "<span class=\"estimate\">");
    for (name, item) in [("A", &pair.a), ("B", &pair.b)] {
        if let Some(item) = item {
            put!(page, "<small>{name} {}</small>", shown(item));
        }
    }
    if let Some(test) = &pair.test {
        put!(
            page,
            "<small>{}: p {}, by Holm {}</small>",
            test.method.name(),
            significant(test.p_value, 2),
            significant(test.adjusted, 2)
        );
    }
    put!(page, "</span></div>");
}

fn shown(item: &Item) -> String {
    let verdict = item.verdict.map(badge).unwrap_or_default();
    match &item.estimate {
        Some(e) if e.low < e.high => format!("{verdict} {} [{}, {}]", number(e.value), number(e.low), number(e.high)),
        Some(e) => format!("{verdict} {}", number(e.value)),
        None => verdict,
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
