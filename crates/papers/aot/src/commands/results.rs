//! Results of a command that measures files: rows that are kept, the page, the figures, and lines on standard output.

use crate::experiments;
use attnlab_core::error::{Error, Result};
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Bar, Out, RowOptions, Status};
use attnlab_lab::experiment::{self, Described, Entry, Experiment, RunOptions};
use attnlab_lab::figure::{self, Figure};
use attnlab_lab::folder;
use attnlab_lab::report::{self, Picture, Report, Table};
use attnlab_lab::run::{Origin, Row, export, files, store};
use std::path::{Path, PathBuf};

/// Form in which rows are shown.
pub(super) struct Shown {
    /// What the rows say together, one paragraph each; first on the page and on standard output.
    pub(super) summary: fn(&[Row]) -> Result<Vec<String>>,
    /// A row in lines.
    pub(super) lines: fn(&Row) -> Result<Vec<String>>,
    /// The tables of the page.
    pub(super) tables: fn(&[Row]) -> Result<Vec<Table>>,
    /// Name of the page's file.
    pub(super) page: &'static str,
}

/// Destination of the results.
pub(super) struct Destination<'a> {
    pub(super) folder: &'a Path,
    pub(super) rows: RowOptions,
    pub(super) seed: u64,
    /// Flag: standard output has the rows as JSON.
    pub(super) json: bool,
}

/// Computes the rows, writes everything and shows it.
pub(super) fn computed<E: Experiment + Described>(
    settings: &E,
    shown: &Shown,
    to: &Destination,
    out: &mut Out,
) -> Result<Status> {
    let entries = experiments::entries();
    let entry = entries.iter().find(|e: &&Entry| e.id == E::ID);
    let entry = entry.ok_or_else(|| Error::undefined("this build has no such experiment"))?;
    let command = folder::command(entry, settings, to.seed)?;
    let RowOptions { force, mix_builds, shard } = to.rows;
    let how = RunOptions { seed: to.seed, force, mix_builds, shard, command: Some(&command) };
    let results = experiment::run(settings, to.folder, &how, &Bar::resumable())?;
    folder::note_trials(&results.dropped, results.resumed, results.computed);
    if !shard.is_whole() {
        folder::note_shard(shard, results.rows.len(), to.folder);
        return Ok(Status::Expected);
    }
    let _owner = store::Store::share(to.folder, &experiment::manifest(settings, to.seed))?;
    let summary = (shown.summary)(&results.rows)?;
    let figures = settings.figures(&results.rows)?.into_iter().map(|f| f.noted(&settings.size())).collect();
    let mut tables = (shown.tables)(&results.rows)?;
    if !summary.is_empty() {
        tables.insert(0, Table { title: "Summary".into(), text: summary.clone(), ..Table::default() });
    }
    let written = write(figures, &tables, &results.rows, &command, shown.page, to)?;
    if to.json {
        results.rows.iter().try_for_each(|row| out.json(row))?;
        return Ok(Status::Expected);
    }
    summary.iter().try_for_each(|paragraph| out.line(&format!("{paragraph}\n")))?;
    for row in &results.rows {
        (shown.lines)(row)?.iter().try_for_each(|line| out.line(line))?;
    }
    folder::list(&written, out)?;
    Ok(Status::Expected)
}

/// Writes figures, table and page, and returns their paths.
fn write(
    figures: Vec<Figure>,
    tables: &[Table],
    rows: &[Row],
    command: &str,
    page: &str,
    to: &Destination,
) -> Result<Vec<PathBuf>> {
    let advice = "Choose a folder that you may write with --out";
    let mut written = figure::write_all(&figures, to.folder)?;
    let columns = export::columns(rows)?;
    let table = to.folder.join("rows.csv");
    files::replace(&table, |w| export::to_csv(&columns, rows.len(), w)).map_err(|e| Error::io(&table, e, advice))?;
    let origins = Origin::read(to.folder).unwrap_or_default();
    let picture = |figure| Picture { figure, seed: to.seed, origins: origins.clone(), source: None, claim: None };
    let pictures: Vec<Picture> = figures.into_iter().map(picture).collect();
    let (checks, mutants, audit, catalogue) = (&[], &[], None, &Catalogue::new());
    let html = report::html(&Report { command, checks, mutants, tables, pictures: &pictures, audit, catalogue })?;
    let page = to.folder.join(page);
    store::replace(&page, &html).map_err(|e| Error::io(&page, e, advice))?;
    written.extend([table, page]);
    Ok(written)
}
