//! Forward passes of an evaluation: done once for all readings, and kept in the folder of the run while they go on.

use super::{Evaluate, Sample, hash_of};
use crate::evaluate::files::{self, Read};
use crate::evaluate::{Passes, Prepared, Task};
use crate::experiments::parts::changed;
use attnlab_core::format::significant;
use attnlab_lab::prelude::*;
use attnlab_lab::run::Clock;
use attnlab_networks::transformer::{OutputHead, TransformerArchitecture};
use attnlab_networks::{Checkpoint, Tokenizer, Transformer};
use rand::seq::index;
use rayon::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens of the items between two lines of progress and two writes, per thread.
const CHUNK_TOKENS: usize = 2048;

/// Items that are computed before the scores are written: they may all be in memory at once.
fn chunk(longest: usize) -> usize {
    (CHUNK_TOKENS / longest.max(1)).clamp(1, 8) * rayon::current_num_threads()
}

/// A trial asks for at least this memory (bytes), so that trials run one after another and each has all threads.
const ALONE: u64 = (1 << 29) + 1;

/// Files, networks and scores that trials share.
#[derive(Debug, Default)]
pub struct Cache {
    opened: Mutex<Option<Arc<Opened>>>,
    scored: Mutex<Option<(String, Passes, Arc<Scored>)>>,
}

/// Input of a run.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) trained: Transformer,
    tokenizer: Option<Tokenizer>,
    read: Read,
}

/// Scores of all items.
pub(super) struct Scored {
    pub(super) prepared: Prepared,
    pub(super) scores: Vec<Vec<f64>>,
    /// Number of items of the files.
    pub(super) of: usize,
}

impl std::fmt::Debug for Scored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} items", self.scores.len())
    }
}

impl Cache {
    /// The files, opened once. A trial waits for another one that opens them.
    pub(super) fn opened(&self, settings: &Evaluate) -> Result<Arc<Opened>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*opened {
            return Ok(known.clone());
        }
        let new = Arc::new(open(settings)?);
        *opened = Some(new.clone());
        Ok(new)
    }

    /// Bytes of the forward passes under way and of the network with random weights.
    pub(super) fn memory(&self, settings: &Evaluate) -> u64 {
        let Ok(opened) = self.opened(settings) else { return ALONE };
        let a = opened.trained.architecture();
        let longest = match settings.task {
            Task::Cost => settings.context,
            Task::Text => settings.windows.iter().copied().max().unwrap_or(0),
            Task::Lambada | Task::Cbt => a.context.min(1024),
        };
        let passes = a.activation_bytes(longest).saturating_mul(chunk(longest) as u64);
        let control = if settings.controls { 4 * a.parameters() } else { 0 };
        passes.saturating_add(control).max(ALONE)
    }

    /// The scores of a network under a choice of passes; the latest are kept, because readings of one choice follow each
    /// other.
    pub(super) fn scores(
        &self,
        settings: &Evaluate,
        variant: &str,
        passes: Passes,
        context: &TrialContext,
    ) -> Result<Arc<Scored>> {
        let mut latest = self.scored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, of, scored)) = &*latest
            && known == variant
            && *of == passes
        {
            return Ok(scored.clone());
        }
        let scored = Arc::new(self.opened(settings)?.scored(settings, variant, passes, context)?);
        *latest = Some((variant.into(), passes, scored.clone()));
        Ok(scored)
    }
}

/// Refuses a network that does not predict the next token.
pub(super) fn ensure_causal(a: &TransformerArchitecture) -> Result<()> {
    require(a.causal, "network", a.family, "must be a causal network; this family does not predict the next token")
}

fn open(settings: &Evaluate) -> Result<Opened> {
    if hash_of(&settings.data)? != settings.data_hash {
        return Err(changed(settings.data.first().unwrap_or(&PathBuf::new())));
    }
    if Checkpoint::open(&settings.network)?.digest()? != settings.network_hash {
        return Err(changed(&settings.network));
    }
    let trained = Transformer::open(&settings.network)?;
    let a = trained.architecture();
    ensure_causal(a)?;
    let headless = "must have a language-model head, whose matrix the file does not hold. Store the network of \
                    AutoModelForCausalLM";
    require(a.output != OutputHead::Absent, "network", settings.network.display(), headless)?;
    if settings.task == Task::Cost {
        let allowed = format!("must be at most the context of the network, {}", a.context);
        require(settings.context <= a.context, "context", settings.context, allowed)?;
        return Ok(Opened { trained, tokenizer: None, read: Read::Text(String::new()) });
    }
    let read = files::read(&settings.data, settings.task)?;
    let tokenizer = trained.tokenizer()?;
    let opened = Opened { trained, tokenizer: Some(tokenizer), read };
    // Every choice is refused before the first pass.
    for (_, passes) in settings.choices() {
        opened.prepared(settings, passes)?;
    }
    Ok(opened)
}

impl Opened {
    /// The items under a choice, and their number without a limit.
    fn prepared(&self, settings: &Evaluate, passes: Passes) -> Result<(Prepared, usize)> {
        let tokenizer = self.tokenizer.as_ref().ok_or_else(|| Error::undefined("a task without texts"))?;
        let mut prepared = Prepared::new(&self.read, tokenizer, self.trained.architecture(), passes)?;
        let total = prepared.len();
        if settings.limit > 0 && settings.limit < total {
            let numbers: Vec<usize> = match settings.sample {
                Sample::First => (0..settings.limit).collect(),
                Sample::Random => {
                    let mut rng = Streams::new(settings.control_seed, "aot.evaluate", 0, 0).part("sample", 0);
                    let mut numbers = index::sample(&mut rng, total, settings.limit).into_vec();
                    numbers.sort_unstable();
                    numbers
                }
            };
            prepared.keep(&numbers);
        }
        Ok((prepared, total))
    }

    fn scored(&self, settings: &Evaluate, variant: &str, passes: Passes, context: &TrialContext) -> Result<Scored> {
        let (prepared, of) = self.prepared(settings, passes)?;
        let control;
        let network = match variant {
            "untrained" => {
                control = self.trained.untrained(&Streams::new(settings.control_seed, "aot.evaluate", 0, 0));
                &control
            }
            _ => &self.trained,
        };
        let (task, detokenise, stride) = (settings.task.name(), passes.detokenise.name(), passes.stride);
        let label = match passes.window {
            0 => format!("{task} ({variant}, {detokenise})"),
            window => format!("{task} ({variant}, {detokenise}, window {window}, stride {stride})"),
        };
        let n = prepared.len();
        let tokens: usize = (0..n).map(|i| prepared.tokens(i)).sum();
        let longest = (0..n).map(|i| prepared.tokens(i)).max().unwrap_or(0);
        let cost = network.architecture().forward_cost(1);
        let each = cost.maps as f64 + cost.logits_of_a_token as f64;
        context.progress.announce(&format!(
            "{label}: {n} items, {tokens} tokens, about {} TFLOP in linear maps and logits",
            significant(tokens as f64 * each / 1e12, 2)
        ));
        let (mut file, mut scores) = Kept::open(context.folder.as_deref(), n)?;
        let clock = Clock::new(scores.len() as u64);
        while scores.len() < n {
            if context.progress.stopped() {
                return Err(Error::Stopped { done: scores.len() as u64, all: n as u64, what: "items", kept: true });
            }
            let end = n.min(scores.len() + chunk(longest));
            let new: Result<Vec<_>> = (scores.len()..end).into_par_iter().map(|i| prepared.score(network, i)).collect();
            let new = new.map_err(|e| e.during(&label))?;
            file.append(&new)?;
            scores.extend(new);
            context.progress.line(&clock.line(&label, scores.len() as u64, n as u64, None));
        }
        Ok(Scored { prepared, scores, of })
    }
}

/// File of scores in the folder of a trial, a line of JSON per item; None without a folder.
struct Kept(Option<(PathBuf, File)>);

impl Kept {
    /// Opens the file, and returns the scores of earlier runs, at most `n`.
    fn open(folder: Option<&Path>, n: usize) -> Result<(Kept, Vec<Vec<f64>>)> {
        let Some(folder) = folder else { return Ok((Kept(None), vec![])) };
        let advice = "Choose a folder that you may write with --out";
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e, advice))?;
        let path = folder.join("scores.jsonl");
        let failed = |e| Error::io(&path, e, advice);
        let text = if path.exists() { fs::read_to_string(&path).map_err(failed)? } else { String::new() };
        // What follows a torn line is computed again.
        let (mut lines, mut length) = (vec![], 0);
        for line in text.split_inclusive('\n') {
            match serde_json::from_str(line) {
                Ok(scores) if line.ends_with('\n') => lines.push(scores),
                _ => break,
            }
            length += line.len() as u64;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        file.set_len(length).map_err(failed)?;
        lines.truncate(n);
        Ok((Kept(Some((path, file))), lines))
    }

    fn append(&mut self, scores: &[Vec<f64>]) -> Result<()> {
        let Some((path, file)) = &mut self.0 else { return Ok(()) };
        let text: String = scores.iter().map(|scores| format!("{scores:?}\n")).collect();
        let written = file.write_all(text.as_bytes());
        written.map_err(|e| Error::io(path, e, "The scores so far are kept. Give the same command again"))
    }
}
