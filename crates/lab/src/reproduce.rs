//! Reproduction of all results: checks claims with their mutants, runs experiments at their quick size, draws
//! their figures and writes one report.
//!
//! Each verdict is stored as a row ([`crate::run::store`]), so that a run that was stopped continues where it
//! was. Pictures and report are made from the rows.

use crate::catalogue::{Catalogue, is_pattern};
use crate::claim::{Claim, Mutant};
use crate::command::input;
use crate::experiment::{self, Entry, RunOptions};
use crate::figure;
use crate::folder;
use crate::report::{self, Checked, Found, MutantResult, Picture, Report};
use crate::run::store::{self, Manifest, Opening, Row, Store};
use crate::run::{self, CheckOptions, Origin, Progress, check};
use attnlab_core::error::{Error, Result, require};
use attnlab_core::format::quoted;
use attnlab_core::params::Params;
use attnlab_core::stats::MAX_TRIALS;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Settings of [`reproduce`], which `attnlab reproduce` takes from the command line. Without `only`, all claims are checked
/// and all experiments run that train no networks and measure no files.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Folder for the report, the pictures and the rows
    #[arg(long, value_name = "DIR", default_value = Options::FOLDER)]
    pub out: PathBuf,
    /// Run only these claims and experiments; `prefix*` stands for all claims whose ids begin so
    #[arg(long, value_name = "ID", num_args = 1..)]
    pub only: Vec<String>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = input::whole, allow_negative_numbers = true)]
    pub seed: u64,
    /// Number of seeds under which each mutant is checked; the share that refutes it is the power
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::mutant_seeds)]
    #[arg(allow_negative_numbers = true)]
    pub mutant_seeds: u64,
    /// Take N times each claim's own number of trials; verdicts of other numbers stay among the rows
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = input::positive, allow_negative_numbers = true)]
    pub times: u64,
    /// Go on with twice the trials, up to 128 times, where they do not decide
    #[arg(long)]
    pub until_decided: bool,
    /// Delete the rows of another run that the folder holds
    #[arg(long)]
    pub force: bool,
    /// Keep the rows that another build of attnlab has computed; rows and reports then name every build
    #[arg(long)]
    pub mix_builds: bool,
}

impl Options {
    /// Default folder of the command line.
    pub const FOLDER: &'static str = "runs/reproduce";
}

impl Default for Options {
    /// Returns options for all claims and experiments, seed 0, one seed per mutant, into [`Options::FOLDER`].
    fn default() -> Self {
        Options {
            out: Options::FOLDER.into(),
            only: vec![],
            seed: 0,
            mutant_seeds: 1,
            times: 1,
            until_decided: false,
            force: false,
            mix_builds: false,
        }
    }
}

/// Finished step of [`reproduce`].
pub enum Event<'a> {
    /// A claim and its mutants are checked.
    Checked {
        /// The verdict.
        check: &'a Checked,
        /// Number of its mutants that were refuted under every seed.
        refuted: usize,
        /// Number of its mutants.
        mutants: usize,
    },
    /// A file was written.
    Written(&'a Path),
    /// A message for the user.
    Note(String),
}

/// Tally of [`reproduce`].
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Number of verdicts, those on mutants included.
    pub verdicts: usize,
    /// Number of verdicts that were the expected ones.
    pub expected: usize,
    /// Wall-clock time of each claim with its mutants and of each experiment, by id.
    pub times: Vec<(String, Duration)>,
}

impl Summary {
    /// Returns the steps that took longest, the longest first.
    pub fn slowest(&self, count: usize) -> Vec<(&str, Duration)> {
        let mut times: Vec<_> = self.times.iter().map(|(id, time)| (id.as_str(), *time)).collect();
        times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        times.truncate(count);
        times
    }

    fn add(&mut self, as_expected: bool) {
        self.verdicts += 1;
        self.expected += usize::from(as_expected);
    }
}

/// Returns the number of trials of a claim at its defaults, `times` its own number.
fn trials_of(claim: &dyn Claim, times: u64) -> Result<u64> {
    let trials = claim.default_trials(&Params::resolve(&claim.schema(), &Map::new())?);
    let (most, id) = (MAX_TRIALS / trials, &claim.sheet().id);
    let allowed = format!("must be at most {most}, so that {id} has {MAX_TRIALS} trials at most");
    require(times <= most, "times", times, allowed)?;
    Ok(trials * times)
}

/// Checks claims, runs experiments, draws figures and writes `report.html` into the folder. If it is stopped,
/// the same call continues where it was and gives the same results to the bit.
///
/// # Errors
/// An unknown id in `only`, a folder with rows of another run, a disk that is full, a failed trial; the
/// user's wish to stop. Rows so far are kept.
///
/// ```
/// use attnlab_lab::catalogue::{Catalogue, Room};
/// use attnlab_lab::{reproduce::{Options, reproduce}, run::Silent, toy};
/// let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]);
/// let folder = tempfile::tempdir().unwrap();
/// let options = Options { out: folder.path().into(), ..Options::default() };
/// let summary = reproduce(&Catalogue::new().with(room), &options, &Silent, &mut |_| Ok(()))?;
/// assert_eq!((summary.verdicts, summary.expected), (2, 2));
/// assert!(folder.path().join("report.html").exists());
/// # Ok::<(), attnlab_core::Error>(())
/// ```
pub fn reproduce(
    catalogue: &Catalogue,
    options: &Options,
    progress: &dyn Progress,
    on: &mut dyn FnMut(Event) -> Result<()>,
) -> Result<Summary> {
    let (claims, experiments) = select(catalogue, &options.only)?;
    claims.iter().try_for_each(|claim| trials_of(&**claim, options.times).map(drop))?;
    let mutants: usize = claims.iter().map(|c| c.mutants().len()).sum();
    let steps = (claims.len() + mutants + experiments.len()) as u64;
    let checks = CheckOptions { seed: options.seed, until_decided: options.until_decided, ..CheckOptions::default() };
    let manifest = Manifest::new(report::VERDICTS, options.seed, settings(options));
    let opening = Opening { force: options.force, mix_builds: options.mix_builds, ..Opening::default() };
    let store = Store::open(&options.out, &manifest, &opening)?;
    for note in store.notes() {
        on(Event::Note(format!("warning: {note}")))?;
    }
    let rows = store.existing().rows()?;
    let mut work = Work { catalogue, options, progress, checks, store, rows, manifest, steps, done: 0 };
    let (mut checks, mut results, mut summary) = (vec![], vec![], Summary::default());
    let mut pictures = vec![];
    // One figure before all verdicts: a picture is there within seconds.
    let mut experiments = experiments.into_iter();
    if let Some(entry) = experiments.next() {
        pictures.extend(work.draw(entry, &mut summary, on)?);
    }
    for claim in &claims {
        let started = Instant::now();
        let checked = work.claim(claim)?;
        summary.add(checked.report.as_expected());
        let mutants = claim.mutants();
        let mut refuted = 0;
        for mutant in &mutants {
            let result = work.mutant(&claim.sheet().id, mutant)?;
            summary.add(result.first.report.as_expected());
            refuted += usize::from(result.refuted == result.seeds);
            results.push(result);
        }
        on(Event::Checked { check: &checked, refuted, mutants: mutants.len() })?;
        checks.push(checked);
        summary.times.push((claim.sheet().id.clone(), started.elapsed()));
    }
    for entry in experiments {
        pictures.extend(work.draw(entry, &mut summary, on)?);
    }
    let html = report::html(&Report {
        command: &command(options),
        checks: &checks,
        mutants: &results,
        tables: &[],
        pictures: &pictures,
        audit: None,
        catalogue,
    })?;
    let path = options.out.join("report.html");
    let advice = "Choose a folder that you may write with --out";
    store::replace(&path, &html).map_err(|e| Error::io(&path, e, advice))?;
    on(Event::Written(&path))?;
    Ok(summary)
}

type Selection<'a> = (Vec<Arc<dyn Claim>>, Vec<&'a Entry>);

/// Selects the claims and experiments to run: all, or the named ones.
fn select<'a>(catalogue: &'a Catalogue, only: &[String]) -> Result<Selection<'a>> {
    if only.is_empty() {
        // Training takes minutes even at its quick size, and some measure files of the user: they run only if they
        // are named.
        let quick = catalogue.experiments().filter(|e| !e.trains && !e.measures_files());
        return Ok((catalogue.claims().cloned().collect(), quick.collect()));
    }
    let (experiments, claims): (Vec<&String>, Vec<&String>) =
        only.iter().partition(|id| catalogue.experiment(id).is_ok());
    if let Some(id) = claims.iter().find(|id| !is_pattern(id) && catalogue.claim(id).is_err()) {
        let ids = catalogue.claims().map(|c| c.sheet().id.as_str());
        let error = Error::unknown("claim or experiment", id, ids.chain(catalogue.experiments().map(|e| e.name)));
        return Err(error.listed_by("`attnlab list` and `attnlab list experiments`"));
    }
    let wanted = |e: &&Entry| experiments.iter().any(|id| e.answers_to(id));
    let wanted: Vec<&Entry> = catalogue.experiments().filter(wanted).collect();
    if let Some(entry) = wanted.iter().find(|e| e.measures_files()) {
        let allowed = format!("must be an experiment that needs no files; give yours to `attnlab run {}`", entry.name);
        return Err(Error::invalid("only", entry.name, allowed));
    }
    Ok((catalogue.claims_named("only", &claims)?, wanted))
}

/// State of a running [`reproduce`].
struct Work<'a> {
    catalogue: &'a Catalogue,
    options: &'a Options,
    progress: &'a dyn Progress,
    checks: CheckOptions,
    store: Store,
    /// Verdicts that were there before.
    rows: Vec<Row>,
    manifest: Manifest,
    /// Number of checks and experiments.
    steps: u64,
    done: u64,
}

impl Work<'_> {
    /// Counts a finished step.
    ///
    /// # Errors
    /// [`Error::Stopped`] when the user has asked to stop.
    fn step(&mut self) -> Result<()> {
        self.done += 1;
        self.progress.overall(self.done, self.steps);
        if self.progress.stopped() && self.done < self.steps {
            return Err(self.stopped());
        }
        Ok(())
    }

    fn stopped(&self) -> Error {
        Error::Stopped { done: self.done, all: self.steps, what: "steps", kept: true }
    }

    fn claim(&mut self, claim: &Arc<dyn Claim>) -> Result<Checked> {
        let (set, times, progress) = (Map::new(), self.options.times, self.progress);
        let options = CheckOptions { trials: Some(trials_of(&**claim, times)?), ..self.checks.clone() };
        let compute = || -> Result<Checked> { Ok(Checked::here(claim, check(&**claim, &set, &options, progress)?)) };
        let name = report::row_name(&claim.sheet().id, None);
        match self.once(&**claim, (name, times - 1), &set, || compute().map(Found::Claim))? {
            Found::Claim(checked) => Ok(checked),
            // A row of a mutant under the name of a claim: not of this version.
            Found::Mutant(_) => compute(),
        }
    }

    fn mutant(&mut self, id: &str, mutant: &Mutant) -> Result<MutantResult> {
        let set = mutant.set.iter().map(|(name, v)| (name.to_string(), v.clone())).collect();
        let (options, seeds, progress) = (self.checks.clone(), self.options.mutant_seeds, self.progress);
        let compute = || -> Result<MutantResult> {
            Ok(MutantResult::here(mutant, run::mutant(id, mutant, &options, seeds, progress)?))
        };
        let name = report::row_name(id, Some(mutant.name));
        match self.once(&*mutant.claim, (name, 0), &set, || compute().map(Found::Mutant))? {
            Found::Mutant(result) => Ok(result),
            // A row of a claim under the name of a mutant: not of this version.
            Found::Claim(_) => compute(),
        }
    }

    /// Returns the verdict of the row of this name and number, or computes and stores it. A verdict whose interval is not finite has
    /// no JSON form, so its row cannot be read and it is computed again.
    fn once(
        &mut self,
        claim: &dyn Claim,
        (name, number): (String, u64),
        set: &Map<String, Value>,
        compute: impl FnOnce() -> Result<Found>,
    ) -> Result<Found> {
        let params = Params::resolve(&claim.schema(), set)?;
        let cell = attnlab_core::rng::hash(format!("{name}/{}", params.cell()).as_bytes());
        let stored = self.rows.iter().find(|r| r.cell == store::cell_name(cell) && r.trial == number);
        let verdict = match stored.map(|row| report::restore(row, self.catalogue)) {
            Some(Ok(verdict)) => verdict,
            _ => {
                let verdict = compute().map_err(|e| match e {
                    // The check itself is lost, those before it are kept.
                    Error::Stopped { .. } => self.stopped(),
                    e => e,
                })?;
                if stored.is_none() {
                    let (parameters, data) = report::keep(&verdict);
                    self.store.pause(self.progress)?;
                    self.store.append(&Row::new(&self.manifest, cell, number, parameters, data))?;
                }
                verdict
            }
        };
        self.step()?;
        Ok(verdict)
    }

    /// Runs one experiment at its quick size, with its rows in a folder of their own, and draws it.
    fn draw(
        &mut self,
        entry: &Entry,
        summary: &mut Summary,
        on: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<Picture>> {
        let started = Instant::now();
        let experiment = entry.configure(true, None, &toml::Table::new())?;
        let (seed, out) = (self.options.seed, &self.options.out);
        let command = folder::command(entry, &*experiment, seed)?;
        let options = RunOptions {
            seed,
            force: self.options.force,
            mix_builds: self.options.mix_builds,
            command: Some(&command),
            ..RunOptions::default()
        };
        let folder = out.join("rows").join(entry.name);
        let report = experiment::run(&*experiment, &folder, &options, self.progress)?;
        for dropped in &report.dropped {
            on(Event::Note(format!("warning: {dropped}")))?;
        }
        let figures = folder::with_size(experiment.figures(&report.rows)?, entry, &*experiment)?;
        for path in figure::write_all(&figures, &out.join("plots"))? {
            on(Event::Written(&path))?;
        }
        let mut origins = Origin::read(&folder)?;
        if origins.is_empty() {
            origins.push(Origin::unknown(command, &self.manifest.build));
        }
        let source = Some(entry.source);
        let picture = |figure| Picture { figure, seed, origins: origins.clone(), source, claim: None };
        let pictures = figures.into_iter().map(picture).collect();
        summary.times.push((entry.name.to_string(), started.elapsed()));
        self.step()?;
        Ok(pictures)
    }
}

/// Returns the settings on which the rows depend besides the seed.
fn settings(options: &Options) -> Map<String, Value> {
    let until_decided = options.until_decided.then(|| ("until_decided".to_string(), Value::from(true)));
    [("mutant_seeds".to_string(), options.mutant_seeds.into())].into_iter().chain(until_decided).collect()
}

/// Returns the command that writes the same report.
fn command(options: &Options) -> String {
    let folder = quoted(&options.out.display().to_string());
    let names: Vec<String> = options.only.iter().map(|name| quoted(name)).collect();
    let parts = [
        (true, format!("attnlab reproduce --seed {}", options.seed)),
        (options.mutant_seeds != 1, format!(" --mutant-seeds {}", options.mutant_seeds)),
        (options.times != 1, format!(" --times {}", options.times)),
        (options.until_decided, " --until-decided".into()),
        (options.out != Path::new(Options::FOLDER), format!(" --out {folder}")),
        (!names.is_empty(), format!(" --only {}", names.join(" "))),
    ];
    parts.into_iter().filter(|(differs, _)| *differs).map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Room;
    use crate::toy;

    #[test]
    fn a_star_stands_for_claims_whose_ids_begin_so() {
        let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
        let only = ["toy.*", "toy.fair"].map(String::from);
        let (claims, experiments) = select(&catalogue, &only).unwrap();
        assert_eq!((claims.len(), experiments.len()), (1, 0));
        let command = command(&Options { only: only.to_vec(), ..Options::default() });
        assert!(command.ends_with(" --only 'toy.*' toy.fair"), "{command}");
        let error = select(&catalogue, &["tory.*".into()]).err().unwrap().to_string();
        assert_eq!(error, catalogue.claims_named("only", &["tory.*"]).err().unwrap().to_string());
    }
}
