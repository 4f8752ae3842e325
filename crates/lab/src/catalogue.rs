//! Catalogue of the claims, experiments and closed forms that the laboratory can check, run and evaluate.
//!
//! A [`Room`] is the contribution of one package: its papers, claims, experiments, closed forms and
//! commands. A [`Catalogue`] is a list of rooms. Sweeps, reports, figures and the command line use the
//! catalogue that they are given and no other registry, so a room in a user's package can do everything
//! that a built-in room can.

use crate::claim::{Claim, Paper};
use crate::command::Command;
use crate::experiment::Entry;
use crate::formula::Formula;
use crate::run::files::content;
use attnlab_core::error::{Error, Result, require};
use attnlab_core::params::{Params, Schema};
use serde_json::Map;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Papers, claims, experiments, closed forms and commands of one package.
///
/// ```
/// use attnlab_lab::catalogue::{Catalogue, Room};
/// use attnlab_lab::toy;
/// let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]);
/// room.validate()?;
/// let catalogue = Catalogue::new().with(room);
/// assert_eq!(catalogue.claim("toy.fair")?.sheet().id, "toy.fair");
/// assert!(catalogue.claim("toy.fare").unwrap_err().to_string().contains("toy.fair"));
/// # Ok::<(), attnlab_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Room {
    /// Short name, by which `attnlab list` groups.
    pub name: &'static str,
    /// Papers whose statements the room checks.
    pub papers: &'static [Paper],
    /// Subjects, by which `attnlab list --subject` filters.
    pub subjects: &'static [&'static str],
    /// Claims, in the order in which the papers print them.
    pub claims: Vec<Arc<dyn Claim>>,
    /// Experiments.
    pub experiments: Vec<Entry>,
    /// Closed forms.
    pub formulas: Vec<Formula>,
    /// Commands of the room, such as `attnlab horizon`.
    pub commands: Vec<Arc<dyn Command>>,
    /// Terms of the room with their definitions, for the glossary.
    pub terms: &'static [(&'static str, &'static str)],
}

impl Room {
    /// Creates an empty room.
    pub fn new(name: &'static str, papers: &'static [Paper]) -> Self {
        Room { name, papers, ..Room::default() }
    }

    /// Sets the subjects of the room, in small letters: "clustering", "training dynamics".
    pub fn subjects(mut self, subjects: &'static [&'static str]) -> Self {
        self.subjects = subjects;
        self
    }

    /// Adds a claim.
    pub fn claim(mut self, claim: impl Claim + 'static) -> Self {
        self.claims.push(Arc::new(claim));
        self
    }

    /// Adds claims.
    pub fn claims(mut self, claims: Vec<Arc<dyn Claim>>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// Adds experiments.
    pub fn experiments(mut self, experiments: Vec<Entry>) -> Self {
        self.experiments.extend(experiments);
        self
    }

    /// Adds closed forms.
    pub fn formulas(mut self, formulas: Vec<Formula>) -> Self {
        self.formulas.extend(formulas);
        self
    }

    /// Adds commands.
    pub fn commands(mut self, commands: Vec<Arc<dyn Command>>) -> Self {
        self.commands.extend(commands);
        self
    }

    /// Adds terms with their definitions, for the glossary.
    pub fn terms(mut self, terms: &'static [(&'static str, &'static str)]) -> Self {
        self.terms = terms;
        self
    }

    /// Refuses a room that contradicts itself. The tests of every package call it.
    ///
    /// # Errors
    /// A repeated id; a sheet that lacks the sentence of a mutant, has one of an unknown mutant, or a wrong line under
    /// "Checked at"; a repeated parameter; a mutant with a constant or a parameter that its claim does not take; an
    /// experiment whose defaults are refused.
    pub fn validate(&self) -> Result<()> {
        unique("claim", self.claims.iter().map(|c| c.sheet().id.as_str()))?;
        unique("experiment", self.experiments.iter().map(|e| e.id))?;
        unique("formula", self.formulas.iter().map(|f| f.id))?;
        for claim in &self.claims {
            fits(&**claim)?;
            let (sheet, ids) = (claim.sheet(), self.claims.iter().map(|c| c.sheet().id.as_str()));
            if let Some(draws) = sheet.draws.as_deref().filter(|draws| !ids.clone().any(|id| id == *draws)) {
                return Err(sheet.wrong(format!("- draws: {}", Error::unknown("claim", draws, ids))));
            }
        }
        for formula in &self.formulas {
            unique_names(formula.id, &(formula.schema)())?;
        }
        for entry in self.experiments.iter().filter(|e| e.lacks().is_none()) {
            entry.configure(false, None, &toml::Table::new())?;
            entry.configure(true, None, &toml::Table::new())?;
        }
        Ok(())
    }
}

/// Refuses a claim whose sheet, mutants and parameters do not fit together.
fn fits(claim: &dyn Claim) -> Result<()> {
    let (sheet, schema) = (claim.sheet(), claim.schema());
    unique_names(&sheet.id, &schema)?;
    sheet.checked()?;
    let mutants = claim.mutants();
    unique("mutant", mutants.iter().map(|m| m.name))?;
    for mutant in &mutants {
        if mutant.says().is_empty() {
            return Err(sheet.wrong(format!("## Mutants must have a line \"- `{}`: sentence\"", mutant.name)));
        }
        let set = mutant.set.iter().map(|(n, v)| (n.to_string(), v.clone()));
        mutant.claim.validate(&Params::resolve(&mutant.claim.schema(), &set.collect())?)?;
    }
    let named = |name: &String| mutants.iter().any(|m| m.name == name);
    if let Some(stray) = sheet.mutants.iter().find(|variant| !named(&variant.name)) {
        return Err(sheet.wrong(format!("## Mutants has `{}`, which is not a mutant of the claim", stray.name)));
    }
    let params = Params::resolve(&schema, &Map::new());
    params.map_or(Ok(()), |params| claim.validate(&params))
}

fn unique_names(id: &str, schema: &Schema) -> Result<()> {
    let names = schema.iter().flat_map(|s| s.aliases.iter().chain([&s.name]));
    unique("parameter", names.copied()).map_err(|e| content(id, e))
}

fn unique<'a>(what: &'static str, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    names.try_for_each(|name| require(seen.insert(name), what, name, "must occur once"))
}

/// Returns `true` for a name that stands for all claims whose ids begin so, as `aot.*` does.
pub fn is_pattern(name: &str) -> bool {
    name.ends_with('*')
}

/// List of the rooms of one program.
#[derive(Clone, Default)]
pub struct Catalogue {
    rooms: Vec<Room>,
}

impl Catalogue {
    /// Creates an empty catalogue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a room.
    pub fn with(mut self, room: Room) -> Self {
        self.rooms.push(room);
        self
    }

    /// Returns the rooms, in the order in which they were added.
    pub fn rooms(&self) -> &[Room] {
        &self.rooms
    }

    /// Refuses rooms that contradict themselves or each other.
    ///
    /// # Errors
    /// As [`Room::validate`]; an id in two rooms.
    pub fn validate(&self) -> Result<()> {
        self.rooms.iter().try_for_each(Room::validate)?;
        self.distinct()
    }

    /// Refuses rooms that contradict each other. It only compares names, so that every start of the command
    /// may call it.
    ///
    /// # Errors
    /// An id, or the name of a room or command, in two rooms.
    pub fn distinct(&self) -> Result<()> {
        let commands: Vec<String> = self.commands().map(|c| c.describe().get_name().to_string()).collect();
        unique("command", commands.iter().map(String::as_str))?;
        unique("claim", self.claims().map(|c| c.sheet().id.as_str()))?;
        unique("experiment", self.experiments().map(|e| e.name))?;
        unique("formula", self.formulas().map(|f| f.id))?;
        unique("room", self.rooms.iter().map(|r| r.name))
    }

    /// Returns the catalogue of the rooms with this subject.
    ///
    /// # Errors
    /// An unknown subject, with the nearest known ones.
    ///
    /// ```
    /// use attnlab_lab::catalogue::{Catalogue, Room};
    /// use attnlab_lab::toy;
    /// let room = Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]).subjects(&["coins"]);
    /// let catalogue = Catalogue::new().with(room).with(Room::new("empty", &[]));
    /// assert_eq!(catalogue.about("coins")?.rooms().len(), 1);
    /// assert!(catalogue.about("coin").err().unwrap().to_string().contains("coins"));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn about(&self, subject: &str) -> Result<Catalogue> {
        let rooms: Vec<Room> = self.rooms.iter().filter(|room| room.subjects.contains(&subject)).cloned().collect();
        if rooms.is_empty() {
            let known = self.rooms.iter().flat_map(|room| room.subjects).copied();
            return Err(Error::unknown("subject", subject, known));
        }
        Ok(Catalogue { rooms })
    }

    /// Returns every claim.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<dyn Claim>> {
        self.rooms.iter().flat_map(|room| &room.claims)
    }

    /// Returns every experiment.
    pub fn experiments(&self) -> impl Iterator<Item = &Entry> {
        self.rooms.iter().flat_map(|room| &room.experiments)
    }

    /// Returns every closed form.
    pub fn formulas(&self) -> impl Iterator<Item = &Formula> {
        self.rooms.iter().flat_map(|room| &room.formulas)
    }

    /// Returns every command of a room.
    pub fn commands(&self) -> impl Iterator<Item = &Arc<dyn Command>> {
        self.rooms.iter().flat_map(|room| &room.commands)
    }

    /// Returns the claim with this id.
    ///
    /// # Errors
    /// An unknown id, with the nearest known ones.
    pub fn claim(&self, id: &str) -> Result<&Arc<dyn Claim>> {
        let known = || self.claims().map(|c| c.sheet().id.as_str());
        let unknown = || Error::unknown("claim", id, known()).listed_by("`attnlab list`");
        self.claims().find(|c| c.sheet().id == id).ok_or_else(unknown)
    }

    /// Returns the claims that a name stands for: the one with this id or, where a `*` ends it, all whose ids begin so.
    ///
    /// # Errors
    /// An unknown id, with the nearest known ones; a beginning that no claim has.
    ///
    /// ```
    /// use attnlab_lab::catalogue::{Catalogue, Room};
    /// use attnlab_lab::toy;
    /// let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
    /// assert_eq!(catalogue.named("toy.*")?.len(), 1);
    /// assert_eq!(catalogue.named("toy.fair")?.len(), 1);
    /// assert!(catalogue.named("tory.*").err().unwrap().to_string().contains("must be the beginning of a claim's id"));
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn named(&self, name: &str) -> Result<Vec<&Arc<dyn Claim>>> {
        self.named_by("ID", name)
    }

    /// Returns the claims that an option names, each name as in [`named`](Self::named), in the order of the catalogue; none
    /// for no names.
    ///
    /// # Errors
    /// As [`named`](Self::named).
    ///
    /// ```
    /// use attnlab_lab::catalogue::{Catalogue, Room};
    /// use attnlab_lab::toy;
    /// let catalogue = Catalogue::new().with(Room::new("toy", toy::PAPERS).claims(vec![toy::fair_coin()]));
    /// assert_eq!(catalogue.claims_named("only", &["toy.*", "toy.fair"])?.len(), 1);
    /// let error = catalogue.claims_named("only", &["tory.*"]).err().unwrap().to_string();
    /// assert!(error.starts_with("only = tory.*: must be the beginning"), "{error}");
    /// # Ok::<(), attnlab_core::Error>(())
    /// ```
    pub fn claims_named(&self, option: &str, names: &[impl AsRef<str>]) -> Result<Vec<Arc<dyn Claim>>> {
        let mut named = BTreeSet::new();
        for name in names {
            named.extend(self.named_by(option, name.as_ref())?.into_iter().map(|claim| &claim.sheet().id));
        }
        Ok(self.claims().filter(|claim| named.contains(&claim.sheet().id)).cloned().collect())
    }

    fn named_by(&self, option: &str, name: &str) -> Result<Vec<&Arc<dyn Claim>>> {
        if !is_pattern(name) {
            return Ok(vec![self.claim(name)?]);
        }
        let prefix = name.trim_end_matches('*');
        let claims: Vec<_> = self.claims().filter(|c| c.sheet().id.starts_with(prefix)).collect();
        require(!claims.is_empty(), option, name, "must be the beginning of a claim's id. See `attnlab list`")?;
        Ok(claims)
    }

    /// Returns the experiment with this id, or of this name.
    ///
    /// # Errors
    /// An unknown id, with the nearest known ones.
    pub fn experiment(&self, id: &str) -> Result<&Entry> {
        let known = || self.experiments().map(|e| e.name);
        let unknown = || Error::unknown("experiment", id, known()).listed_by("`attnlab list experiments`");
        self.experiments().find(|e| e.answers_to(id)).ok_or_else(unknown)
    }

    /// Returns the closed form with this id.
    ///
    /// # Errors
    /// An unknown id, with the nearest known ones.
    pub fn formula(&self, id: &str) -> Result<&Formula> {
        let known = || self.formulas().map(|f| f.id);
        let unknown = || Error::unknown("formula", id, known()).listed_by("`attnlab list formulas`");
        self.formulas().find(|f| f.id == id).ok_or_else(unknown)
    }
}
