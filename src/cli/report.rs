//! `attnlab report`: one HTML file, or a site, from stored rows.

use super::open;
use attnlab_core::error::{Error, Result};
use attnlab_core::format::quoted;
use attnlab_lab::catalogue::Catalogue;
use attnlab_lab::command::{Out, Status, input, note, wait};
use attnlab_lab::folder::{Contents, Follower, PageUpdate};
use attnlab_lab::report::{self, Report};
use attnlab_lab::run::files::content;
use attnlab_lab::run::store;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const EXAMPLES: &str = "\
Examples:
  attnlab report                                 from runs/, into report.html
  attnlab report runs/reproduce runs/theorem1_map --out for-my-coauthor.html
  attnlab report --site site                     a page per claim and per paper, index.html before them
  attnlab report --site site --page page/index.html   each claim leads to its check in the browser
  attnlab report --open                          opens the file in the browser
  attnlab report runs/icl --follow --open        a page of a run under way, which reloads itself
  attnlab report /shared/runs/icl --follow=60    the same of a run on another machine

Searches the folders and those below them for rows: verdicts of `attnlab reproduce`, and runs of
experiments and sweeps. No trial is run; the file needs no network.

--follow looks every 10 seconds, or as many as it is given, and writes the page anew when rows or
losses of trainings have come in, until every experiment and sweep there has all its rows; then the
page is the report itself. Ctrl-C ends it before. The folders of the runs are only read. Verdicts are
shown and not waited for.";

/// Write one self-contained HTML file, or a site: verdicts with their evidence, figures, and the origin of each
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folders with rows
    #[arg(value_name = "DIR", default_value = "runs")]
    folders: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Write a site into this folder instead: an index, a page per claim and per paper, the numbers of every figure
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    site: Option<PathBuf>,
    /// With a site: address of the page that runs the library in a browser (docs/page.md), to which claims then lead
    #[arg(long, value_name = "ADDRESS", requires = "site")]
    page: Option<String>,
    /// Draw runs with missing trials too, with a watermark; they are left out otherwise
    #[arg(long)]
    partial: bool,
    /// Write the page of runs under way, and write it anew as rows and losses come in, until the runs have ended
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    #[arg(value_parser = input::seconds, conflicts_with = "site")]
    follow: Option<Duration>,
    /// Open the file in the browser
    #[arg(long)]
    open: bool,
}

pub fn run(args: &Args, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let (page, another) = match &args.site {
        Some(folder) => (folder.join(report::INDEX), "folder with --site"),
        None => (args.out.clone(), "file with --out"),
    };
    spare(&page, another)?;
    if let Some(every) = args.follow {
        return follow(args, every, catalogue, out);
    }
    let contents = Contents::of_folders(&args.folders, catalogue, args.partial)?;
    contents.notes.iter().for_each(|text| note(text));
    let (command, audit) = (command(args), contents.audit()?);
    let report = contents.report(&command, audit.as_ref(), catalogue);
    match &args.site {
        Some(folder) => write_site(&report, args.page.as_deref(), folder)?,
        None => write(&page, "--out", &report::html(&report)?)?,
    }
    out.line(&page.display().to_string())?;
    if args.open {
        open::in_browser(&page);
    }
    Ok(Status::Expected)
}

/// Writes the page of runs under way, and again whenever they have grown: the report itself at their end, or the last page
/// without its reloads where the user or an error ends that.
fn follow(args: &Args, every: Duration, catalogue: &Catalogue, out: &mut Out) -> Result<Status> {
    let command = command(args);
    let mut follower = Follower::new(&args.folders, &command, every, catalogue);
    let mut shown = false;
    let ended = loop {
        let (html, notes) = match follower.look(SystemTime::now()) {
            Ok(PageUpdate::Unchanged) => (None, None),
            Ok(PageUpdate::Page(html)) => (Some(html), None),
            Ok(PageUpdate::Last { html, notes }) => (Some(html), Some(notes)),
            Err(error) => break Err(error),
        };
        if let Some(html) = html {
            write(&args.out, "--out", &html)?;
            if !shown {
                out.line(&args.out.display().to_string())?;
                if args.open {
                    open::in_browser(&args.out);
                }
            }
            shown = true;
        }
        if let Some(notes) = notes {
            notes.iter().for_each(|text| note(text));
            return Ok(Status::Expected);
        }
        if !wait(every) {
            break Ok(Status::Expected);
        }
    };
    if let Some(html) = follower.without_reloads()? {
        write(&args.out, "--out", &html)?;
    }
    ended
}

/// Writes a report to the file that `option` named.
pub fn write(path: &Path, option: &str, html: &str) -> Result<()> {
    let advice = format!("Choose a file that you may write with {option}");
    store::replace(path, html).map_err(|e| Error::io(path, e, advice))
}

/// Writes the files of a site, the index last: it is there when the pages that it leads to are.
fn write_site(report: &Report, page: Option<&str>, folder: &Path) -> Result<()> {
    let advice = "Choose a folder that you may write with --site";
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
    for file in report::site(report, page)? {
        let path = folder.join(file.name);
        store::replace(&path, &file.text).map_err(|e| Error::io(&path, e, advice))?;
    }
    Ok(())
}

/// Refuses an existing file that is not a report, so that `--out rows.jsonl` does not destroy the rows.
pub fn spare(path: &Path, another: &str) -> Result<()> {
    let Ok(mut file) = std::fs::File::open(path) else {
        // The file does not exist, or writing it will report the error.
        return Ok(());
    };
    let mut start = [0; report::START.len()];
    match file.read_exact(&mut start) {
        Ok(()) if start == *report::START.as_bytes() => Ok(()),
        _ => Err(content(path, format!("it is not a report and is left as it is. Choose another {another}"))),
    }
}

/// Returns the command that writes the same report.
fn command(args: &Args) -> String {
    let word = |path: &PathBuf| quoted(&path.display().to_string());
    let mut words = vec!["attnlab report".to_string()];
    words.extend(args.folders.iter().map(word));
    words.extend((args.out != Path::new("report.html")).then(|| format!("--out {}", word(&args.out))));
    words.extend(args.site.as_ref().map(|folder| format!("--site {}", word(folder))));
    words.extend(args.page.as_ref().map(|page| format!("--page {}", quoted(page))));
    words.extend(args.partial.then(|| "--partial".to_string()));
    words.join(" ")
}
