//! `attnlab export`: rows as a table for other programs.

use super::experiment::rows_of;
use attnlab_core::error::Result;
use attnlab_lab::command::{Out, Status};
use attnlab_lab::folder::no_rows;
use attnlab_lab::run::export::{columns, to_csv};
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

/// File format of the table.
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
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    let default = || args.folder.join(format!("rows.{}", args.format.extension()));
    let path = args.out.clone().unwrap_or_else(default);
    Manifest::of_folder(&args.folder)?;
    files::ensure_free(&path, args.force)?;
    let rows = rows_of(&args.folder)?;
    if rows.is_empty() {
        return Err(no_rows(&args.folder));
    }
    let columns = columns(&rows)?;
    match args.format {
        Format::Csv => {
            let write = |to: &mut dyn std::io::Write| to_csv(&columns, rows.len(), to);
            files::write_whole(&path, args.force, write)?;
        }
        Format::Parquet => {
            let bytes = parquet(&columns)?;
            files::write_whole(&path, args.force, |to| to.write_all(&bytes))?;
        }
    }
    out.line(&path.display().to_string())?;
    Ok(Status::Expected)
}

#[cfg(feature = "parquet")]
use attnlab_lab::run::export::to_parquet as parquet;

#[cfg(not(feature = "parquet"))]
fn parquet(_columns: &[attnlab_lab::run::export::Column]) -> Result<Vec<u8>> {
    let allowed = "must be csv in this build. Build with --features parquet, or write csv, which \
                   pandas and polars read too";
    Err(attnlab_core::error::Error::invalid("format", "parquet", allowed))
}
