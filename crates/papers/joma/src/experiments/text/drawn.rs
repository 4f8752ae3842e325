//! Drawn texts: documents with a topic each, documents of a latent tree, or a Markov chain.

use super::JomaText;
use crate::text::Text;
use crate::theory::tree::{Parent, Tree};
use crate::tree::TreeDraw;
use attnlab_core::error::{self, Error, Result, require};
use attnlab_core::rng::Streams;
use attnlab_theory::sample::markov;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, StandardNormal};

/// Laws of drawn texts.
pub const SOURCES: [&str; 3] = ["topics", "latents", "chain"];

/// Refuses sizes from which no text can be drawn.
pub fn validate(settings: &JomaText) -> Result<()> {
    let least = match settings.source.as_str() {
        "chain" => {
            markov::check_concentration(settings.concentration)?;
            attnlab_theory::markov::contexts(settings.vocabulary, 1)?;
            2
        }
        "latents" => 2 * settings.latents,
        _ => 2,
    };
    error::at_least("vocabulary", settings.vocabulary, least)?;
    let [shortest, longest] = settings.document;
    let allowed = "must be the least and the largest number of words, such as [20, 60]";
    require(shortest > 0 && shortest <= longest, "document", format!("{:?}", settings.document), allowed)?;
    let (held, length) = (settings.held_out, settings.words as f64);
    for (part, words, streams) in [
        ("training", (1.0 - held) * length, settings.streams),
        ("validation", held * length, settings.validation_streams),
    ] {
        let needed = streams * (settings.window + 1);
        let allowed = format!("must be such that the {part} part has more than {needed} words");
        require(words >= needed as f64 + 1.0, "words", settings.words, allowed)?;
    }
    Ok(())
}

/// Draws the text of these settings.
pub fn text(settings: &JomaText, streams: &Streams) -> Result<Text> {
    let words: Vec<u32> = match settings.source.as_str() {
        "chain" => {
            let chain = markov::dirichlet(settings.vocabulary, 1, settings.concentration, streams)?;
            markov::draw(&chain, settings.words, streams).into_iter().map(u32::from).collect()
        }
        "latents" => documents(settings, streams)?,
        _ => topics(settings, streams)?,
    };
    let train = ((1.0 - settings.held_out) * words.len() as f64).round() as usize;
    Ok(Text { train: words[..train].to_vec(), valid: words[train..].to_vec(), vocabulary: settings.vocabulary })
}

/// Documents one after the other, each with a topic k and independent words: word i has a probability in proportion
/// to exp(g_{ki})/(i + 1), a standard normal g on top of Zipf's law.
fn topics(settings: &JomaText, streams: &Streams) -> Result<Vec<u32>> {
    let mut rng = streams.part("topics", 0);
    let mut laws = vec![];
    for _ in 0..settings.topics {
        let weights = (0..settings.vocabulary).map(|i| {
            let g: f64 = StandardNormal.sample(&mut rng);
            g.exp() / (i + 1) as f64
        });
        let weights: Vec<f64> = weights.collect();
        laws.push(WeightedIndex::new(weights).map_err(|e| Error::undefined(e.to_string()))?);
    }
    let [shortest, longest] = settings.document;
    let mut rng = streams.part("documents", 0);
    let mut text = Vec::with_capacity(settings.words);
    while text.len() < settings.words {
        let law = &laws[rng.random_range(0..settings.topics)];
        for _ in 0..rng.random_range(shortest..=longest) {
            // A vocabulary is far below 2^32.
            text.push(law.sample(&mut rng) as u32);
        }
    }
    text.truncate(settings.words);
    Ok(text)
}

/// Documents one after the other: each draws its class and its latents, and has the words that are on, in random order.
fn documents(settings: &JomaText, streams: &Streams) -> Result<Vec<u32>> {
    let mut rng = streams.part("tree", 0);
    // A probability P[y = 0 | class].
    let mut zero = |_| f64::from(u8::from(rng.random::<f64>() >= settings.active));
    let class = |_| Parent::Class { zero: (0..settings.topics).map(&mut zero).collect() };
    let mut parents: Vec<Parent> = (0..settings.latents).map(class).collect();
    let leaf = |word: usize| Parent::Latent { index: word % settings.latents, rho: settings.rho };
    parents.extend((0..settings.vocabulary).map(leaf));
    let tree = Tree::new(vec![1.0 / settings.topics as f64; settings.topics], parents)?;
    let mut text = Vec::with_capacity(settings.words);
    let mut document = 0;
    while text.len() < settings.words {
        let streams = streams.child("document", document);
        document += 1;
        let values = TreeDraw::new(&tree, &streams).values;
        let on = values[settings.latents..].iter().enumerate().filter(|(_, on)| **on);
        let mut words: Vec<u32> = on.map(|(word, _)| word as u32).collect();
        words.shuffle(&mut streams.part("order", 0));
        text.extend(words);
        if document > 100 * settings.words as u64 {
            return Err(Error::undefined("the documents of this tree have no words"));
        }
    }
    text.truncate(settings.words);
    Ok(text)
}
