//! `attnlab export`: rows as a table for other programs.

use attnlab_core::error::{Error, Result};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::folder::{self, no_rows};
use attnlab_lab::run::export::write_csv;
use attnlab_lab::run::files;
use attnlab_lab::run::store::Manifest;
use clap::ValueEnum;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  attnlab export runs/map --format csv                  writes runs/map/rows.csv
  attnlab export runs/map --format parquet --out map.parquet
  python3 -c 'import pandas; print(pandas.read_csv(\"runs/map/rows.csv\").describe())'

Columns are named by their path in a row: cell, trial, parameters.tokens, data.holds, ...; series are
JSON lists in CSV and lists of doubles in Parquet. Parquet needs a build with --features parquet.";

/// Write the rows of a folder as one table, CSV or Parquet
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folder with rows
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Format of the table
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// The file to write [default: rows.csv or rows.parquet in the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Parquet,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }

    /// Refuses a format that this build lacks.
    fn ensure_built(self) -> Result<()> {
        if self == Format::Csv || cfg!(feature = "parquet") {
            return Ok(());
        }
        let allowed = "must be csv in this build. Build with --features parquet, or write csv, which \
                       pandas and polars read too";
        Err(Error::invalid("format", "parquet", allowed))
    }
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let path = args.out.clone().unwrap_or_else(|| args.folder.join(format!("rows.{}", args.format.extension())));
    args.format.ensure_built()?;
    Manifest::of_folder(&args.folder)?;
    files::ensure_free(&path, args.force)?;
    let stored = folder::rows(&args.folder, catalogue)?;
    folder::note_dropped(&stored.dropped());
    if stored.is_empty() {
        return Err(no_rows(&args.folder));
    }
    let advice = "Nothing was changed";
    let written = files::replace_by(&path, advice, |to| match args.format {
        Format::Csv => write_csv(&stored, to),
        #[cfg(feature = "parquet")]
        Format::Parquet => attnlab_lab::run::export::write_parquet(&stored, to),
        // Refused above.
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => args.format.ensure_built(),
    });
    written.map_err(|e| match e {
        // Rows that could not be read: the message names their file.
        Error::Content { .. } | Error::Io { .. } => e,
        unnamed => Error::io(&path, std::io::Error::other(unnamed.to_string()), advice),
    })?;
    out.line(&path.display().to_string())?;
    Ok(Status::Expected)
}
