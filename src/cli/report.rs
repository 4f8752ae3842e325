//! `attnlab report`: one HTML file from stored rows.

use super::Status;
use super::experiment::{figures_of, no_rows, pictures, rows_of};
use super::out::{Out, note};
use crate::error::{Error, Result};
use crate::report::{self, Checked, Found, MutantResult, Origin, Picture, Report};
use crate::run::Row;
use crate::run::store::{self, Manifest};
use crate::sweep::{self, Plan};
use std::io::Read;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  attnlab report                                 from runs/, into report.html
  attnlab report runs/reproduce runs/theorem1_map --out for-my-coauthor.html

Looks into the folders and what is below them for rows: verdicts that `attnlab reproduce` left, and
runs of experiments. Nothing is computed but pictures and closed forms; the file needs no network.";

/// How deep below a folder rows are looked for: runs/NAME/rows/EXPERIMENT and one more.
const DEEPEST: usize = 4;

/// Write one self-contained HTML file: verdicts with their evidence, figures, and what made each
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folders with rows
    #[arg(value_name = "DIR", default_value = "runs")]
    folders: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

/// What the folders hold.
#[derive(Default)]
struct Contents {
    checks: Vec<Checked>,
    mutants: Vec<MutantResult>,
    pictures: Vec<Picture>,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut Out) -> Result<Status> {
    spare(&args.out)?;
    let mut runs = vec![];
    for folder in &args.folders {
        let before = runs.len();
        search(folder, DEEPEST, &mut runs)?;
        if runs.len() == before {
            let problem = format!(
                "no {} there or below: give a folder that `attnlab reproduce` or `attnlab run` wrote",
                Manifest::FILE
            );
            let path = folder.clone();
            return Err(Error::Content { path, problem });
        }
    }
    let mut contents = Contents::default();
    for (folder, manifest) in &runs {
        contents.add(folder, manifest)?;
    }
    let html = report::html(&Report {
        command: &command(args),
        checks: &contents.checks,
        mutants: &contents.mutants,
        pictures: &contents.pictures,
    })?;
    let advice = "Choose a file that you may write with --out";
    store::replace(&args.out, &html).map_err(|e| Error::io(&args.out, e, advice))?;
    out.line(&args.out.display().to_string())?;
    Ok(Status::Expected)
}

/// Refuses a file that is there and no report: `--out rows.jsonl` must not cost the rows.
fn spare(path: &Path) -> Result<()> {
    let Ok(mut file) = std::fs::File::open(path) else {
        // Nothing is there, or writing will say what is wrong.
        return Ok(());
    };
    let mut start = [0; report::START.len()];
    match file.read_exact(&mut start) {
        Ok(()) if start == *report::START.as_bytes() => Ok(()),
        _ => Err(Error::Content {
            path: path.to_path_buf(),
            problem: "holds no report and is left as it is: choose another file with --out".into(),
        }),
    }
}

/// Every folder at or below `folder` that holds a run, in the order of their names; each once.
fn search(folder: &Path, deepest: usize, runs: &mut Vec<(PathBuf, Manifest)>) -> Result<()> {
    let unreadable = |e| Error::io(folder, e, "Give a folder with rows");
    let known = runs.iter().any(|(known, _)| known == folder);
    if let Some(manifest) = Manifest::read(folder)?
        && !known
    {
        runs.push((folder.to_path_buf(), manifest));
    }
    let mut below = vec![];
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() && !path.is_symlink() {
            below.push(path);
        }
    }
    below.sort();
    match deepest {
        0 => Ok(()),
        _ => below
            .iter()
            .try_for_each(|path| search(path, deepest - 1, runs)),
    }
}

impl Contents {
    fn add(&mut self, folder: &Path, manifest: &Manifest) -> Result<()> {
        if manifest.id == report::VERDICTS {
            return self.verdicts(folder);
        }
        let plan = Plan::of_manifest(manifest)?;
        let rows = rows_of(folder)?;
        if rows.is_empty() {
            // One run that has only begun is no reason to withhold the others.
            note(&format!("warning: left out: {}", no_rows(folder)));
            return Ok(());
        }
        if plan.claim().is_some() {
            return self.map(folder, &plan, &rows);
        }
        for part in plan.parts(&rows) {
            let (experiment, rows) = (part.experiment, &part.rows);
            let figures = figures_of(&part)?;
            self.pictures
                .extend(pictures(figures, experiment, rows, folder)?);
        }
        Ok(())
    }

    /// The maps of a sweep over a claim; its cells are too many for the table of verdicts.
    fn map(&mut self, folder: &Path, plan: &Plan, rows: &[Row]) -> Result<()> {
        let figures = sweep::figures(plan, &sweep::summarise(plan, rows)?)?;
        if figures.is_empty() {
            let (what, where_) = (&plan.manifest.id, folder.display());
            note(&format!(
                "note: {where_}: a sweep over {what} without a numeric axis has no map; its table is cells.csv"
            ));
        }
        let mut origins = Origin::read(folder)?;
        if origins.is_empty() {
            origins.push(Origin::unknown(
                format!(
                    "attnlab sweep FILE --out {}",
                    report::quoted(&folder.display().to_string())
                ),
                &plan.manifest.build,
            ));
        }
        let picture = |figure| Picture {
            figure,
            seed: plan.manifest.seed,
            origins: origins.clone(),
        };
        self.pictures.extend(figures.into_iter().map(picture));
        Ok(())
    }

    fn verdicts(&mut self, folder: &Path) -> Result<()> {
        for row in &rows_of(folder)? {
            match report::restore(row) {
                Ok(Found::Claim(checked)) => self.checks.push(checked),
                Ok(Found::Mutant(mutant)) => self.mutants.push(mutant),
                // One row that cannot be read is no reason to withhold the others.
                Err(e) => note(&format!("warning: left out: {e}")),
            }
        }
        Ok(())
    }
}

/// The command that makes the same report.
fn command(args: &Args) -> String {
    let mut command = "attnlab report".to_string();
    for folder in &args.folders {
        command.push_str(&format!(
            " {}",
            report::quoted(&folder.display().to_string())
        ));
    }
    if args.out != Path::new("report.html") {
        let file = report::quoted(&args.out.display().to_string());
        command.push_str(&format!(" --out {file}"));
    }
    command
}
