//! Papers and their citations.

use serde::Serialize;

/// A paper whose statements are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Paper {
    /// The word by which sheets name it, unique within the package.
    pub key: &'static str,
    /// Title.
    pub title: &'static str,
    /// Authors, "A. Author, B. Author"; empty where it names none.
    pub authors: &'static str,
    /// Venue, as in the brackets of a citation: "ICML 2025".
    pub venue: &'static str,
    /// Year of publication; 0 for none.
    pub year: u16,
    /// Address, such as <https://arxiv.org/abs/0000.00000>; empty where there is none.
    pub link: &'static str,
}

impl Paper {
    /// Short citation.
    pub fn cite(&self) -> String {
        match self.venue {
            "" => self.title.to_string(),
            venue => format!("{} ({venue})", self.title),
        }
    }

    /// Returns the entry of a BibTeX file.
    pub fn bibtex(&self) -> String {
        let mut entry = format!("@misc{{{},\n  title = {{{}}}", self.key, self.title);
        let authors = self.authors.replace(", ", " and ");
        let year = match self.year {
            0 => String::new(),
            year => year.to_string(),
        };
        for (field, value) in [("author", &*authors), ("year", &*year), ("note", self.venue), ("url", self.link)] {
            if !value.is_empty() {
                entry.push_str(&format!(",\n  {field} = {{{value}}}"));
            }
        }
        entry + "\n}"
    }
}
