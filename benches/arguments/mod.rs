//! `--name value` on a benchmark's command line; what `cargo bench` itself passes is ignored.
#![allow(dead_code, reason = "not every benchmark takes every kind")]

/// Arguments as they were written.
pub struct Arguments(Vec<String>);

impl Arguments {
    pub fn of_process() -> Self {
        Arguments(std::env::args().collect())
    }

    /// Decides whether this flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|a| a == name)
    }

    /// The word after a name.
    pub fn after(&self, name: &str) -> Option<&str> {
        let index = self.0.iter().position(|a| a == name)?;
        Some(self.0.get(index + 1).map_or("", String::as_str))
    }

    /// The number after a name; without it `normal`, and `small` under `--quick`.
    pub fn whole(&self, name: &str, normal: usize, small: usize) -> Result<usize, String> {
        match self.after(name).map(str::parse) {
            None if self.has("--quick") => Ok(small),
            None => Ok(normal),
            Some(Ok(value)) if value > 0 => Ok(value),
            Some(_) => Err(format!("{name}: write a whole number >= 1 after it")),
        }
    }
}

/// The value, or a message and exit status 2.
pub fn or_exit<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2)
    })
}
