//! Every family against Hugging Face's own implementation, on the checkpoints that `tests/data/make.py` wrote.

use attnlab_networks::Checkpoint;
use attnlab_networks::transformer::{Recordings, TokenInput, Transformer, log_loss};
use ndarray::{Array2, ArrayView2, Ix2};
use std::path::PathBuf;

/// Largest distance, relative to the largest entry of the reference. Both sides compute in f32: some 20 roundings of
/// 6e-8 follow one another in a block of width 32 (two norms, four products, softmax), with gains near 2 in two
/// blocks; measured are at most 2e-6.
pub const TOLERANCE: f32 = 1e-5;

pub fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/networks/tests/data").join(name)
}

fn expected(name: &str) -> Checkpoint {
    Checkpoint::open(&data(&format!("{name}.expected.safetensors"))).unwrap()
}

pub fn ids(from: &Checkpoint, name: &str) -> Vec<u32> {
    from.values(name).unwrap().iter().map(|x| *x as u32).collect()
}

/// Distance from a stored matrix (N, .), tokens as rows, relative to its largest entry.
fn distance(got: ArrayView2<f32>, from: &Checkpoint, name: &str) -> f32 {
    let stored: Array2<f32> = from.values(name).unwrap().into_dimensionality::<Ix2>().unwrap();
    assert_eq!(got.t().dim(), stored.dim(), "{name}");
    let largest = stored.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    got.t().into_iter().zip(&stored).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs())) / largest
}

/// Largest distance of all hidden states, weights and logits from those of the reference, whose names begin with `part`.
pub fn worst(network: &Transformer, from: &Checkpoint, part: &str, input: TokenInput) -> f32 {
    let a = network.architecture();
    let wanted = if a.causal { &["residual", "weights", "logits"][..] } else { &["residual", "weights"] };
    let pass = network.forward(input, &Recordings::named(wanted).unwrap()).unwrap();
    let mut worst = 0.0_f32;
    let mut check = |got: &Array2<f32>, name: &str| {
        let d = distance(got.view(), from, &format!("{part}{name}"));
        assert!(d.is_finite());
        worst = worst.max(d);
    };
    check(pass.embedding.as_ref().unwrap(), "hidden.0");
    for layer in &pass.layers {
        for (h, weights) in layer.weights.iter().enumerate() {
            check(weights, &format!("weights.{}.{h}", layer.layer));
        }
        // The last hidden states of Hugging Face are those after the last norm.
        if layer.layer + 1 < a.layers {
            check(layer.residual.as_ref().unwrap(), &format!("hidden.{}", layer.layer + 1));
        }
    }
    check(pass.last.as_ref().unwrap(), &format!("hidden.{}", a.layers));
    if let Some(logits) = &pass.logits {
        check(logits, "logits");
    }
    worst
}

fn plain(file: &str) -> f32 {
    let name = &file.replace('.', "-");
    let network = Transformer::open(&data(file)).unwrap();
    let from = expected(name);
    worst(&network, &from, "", ids(&from, "ids").as_slice().into())
}

macro_rules! parity {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            let worst = plain($name);
            println!("{}: {worst:e}", $name);
            assert!(worst < TOLERANCE, "{worst:e}");
        })*
    };
}

parity! {
    gpt2 "gpt2"
    gpt_neox_as_pythia_is_stored "gpt-neox"
    gpt_neox_one_after_the_other "gpt-neox-serial"
    opt "opt"
    opt_with_the_norm_after "opt-after"
    llama_with_grouped_queries_in_bfloat16 "llama"
    llama_tied_in_shards_with_scaled_rotations "llama-tied"
    llama_with_biases_and_heads_of_another_width "llama-head-dim"
    llama_quantised_in_gguf "llama.gguf"
    bert "bert"
}

#[test]
fn bert_with_segments_and_padding() {
    let network = Transformer::open(&data("bert")).unwrap();
    let from = expected("bert");
    let segments = ids(&from, "segments");
    let mask: Vec<bool> = from.values("mask").unwrap().iter().map(|x| *x == 1.0).collect();
    let input = TokenInput { ids: &ids(&from, "ids"), segments: Some(&segments), mask: Some(&mask) };
    let worst = worst(&network, &from, "masked.", input);
    assert!(worst < TOLERANCE, "{worst:e}");
}

/// The mean loss against the logits of the reference.
#[test]
fn losses_are_those_of_the_logits() {
    let network = Transformer::open(&data("gpt2")).unwrap();
    let from = expected("gpt2");
    let ids = ids(&from, "ids");
    let logits = from.values("logits").unwrap().into_dimensionality::<Ix2>().unwrap();
    let losses = network.losses(&ids).unwrap();
    assert_eq!(losses.len(), ids.len() - 1);
    let largest = logits.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    for (t, loss) in losses.iter().enumerate() {
        let sum: f64 = logits.row(t).iter().map(|x| f64::from(*x).exp()).sum();
        let expected = sum.ln() - f64::from(logits[[t, ids[t + 1] as usize]]);
        assert!((loss - expected).abs() < f64::from(TOLERANCE * largest), "{t}: {loss} {expected}");
    }
}

/// Losses over a vocabulary as large as SmolLM2's and GPT-2's against sums in f64: flat logits, some with a long tail, and
/// one token far above the others, where a sum in f32 is 2e-6 and 1.5e-5 too low.
#[test]
fn losses_over_a_large_vocabulary_are_not_biased() {
    use attnlab_core::rng::Streams;
    use rand_distr::{Distribution, StandardNormal};
    for (vocabulary, spread, lead) in [(49_152, 1.0, 0.0), (50_257, 3.0, 0.0), (49_152, 2.0, 12.0), (50_257, 2.0, 18.0)]
    {
        let mut rng = Streams::new(1, "losses", 0, 0).part("logits", 0);
        let normal = std::iter::repeat_with(|| -> f32 { StandardNormal.sample(&mut rng) });
        let mut logits: Vec<f32> = normal.take(vocabulary).map(|x| spread * x).collect();
        logits[7] += lead;
        let sum: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
        for token in [0, 7, vocabulary as u32 - 1] {
            let expected = sum.ln() - f64::from(logits[token as usize]);
            let error = (log_loss(&logits, token) - expected).abs();
            assert!(error < 1e-7, "{vocabulary} {spread} {lead}: {error:e}");
        }
    }
}

/// One thread and several give the same bits, over several tiles of queries.
#[test]
fn threads_do_not_change_the_bits() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(data("llama").join(file), folder.path().join(file)).unwrap();
    }
    let config = folder.path().join("config.json");
    let text = std::fs::read_to_string(&config).unwrap();
    let long = text.replace("\"max_position_embeddings\": 32", "\"max_position_embeddings\": 500");
    assert_ne!(text, long);
    std::fs::write(&config, long).unwrap();
    let ids: Vec<u32> = (0..300).map(|i| i * i % 61).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let network = Transformer::open(folder.path()).unwrap();
            (network.forward(&ids, &Recordings::all()).unwrap(), network.losses(&ids).unwrap())
        })
    };
    let serial = run(1);
    for threads in [2, 3, 7] {
        assert!(serial == run(threads), "{threads} threads");
    }
    // What is recorded does not change what is computed.
    let network = Transformer::open(folder.path()).unwrap();
    assert_eq!(network.forward(&ids, &Recordings::named(&["logits"]).unwrap()).unwrap().logits, serial.0.logits);
}

#[test]
fn records_have_the_shapes_and_the_memory_that_were_announced() {
    let network = Transformer::open(&data("llama")).unwrap();
    let a = network.architecture();
    let (n, d, p) = (9, a.width, a.head_dim);
    let ids: Vec<u32> = (0..n as u32).collect();
    let recordings = Recordings::all();
    let pass = network.forward(&ids, &recordings).unwrap();
    let mut numbers = 0;
    for layer in &pass.layers {
        assert_eq!(layer.residual.as_ref().unwrap().dim(), (d, n));
        assert_eq!(layer.inputs.as_ref().unwrap().dim(), (d, n));
        assert_eq!(layer.hidden.as_ref().unwrap().dim(), (a.hidden, n));
        for (name, heads, shape) in [
            ("scores", &layer.scores, (n, n)),
            ("weights", &layer.weights, (n, n)),
            ("outputs", &layer.outputs, (p, n)),
        ] {
            assert_eq!(heads.len(), a.heads, "{name}");
            assert!(heads.iter().all(|h| h.dim() == shape), "{name}");
            numbers += heads.iter().map(|h| h.len()).sum::<usize>();
        }
        numbers += 2 * d * n + a.hidden * n;
        // Outputs are values times weights, and the block adds them through W_O.
        for (j, column) in layer.weights[1].columns().into_iter().enumerate() {
            assert!((column.sum() - 1.0).abs() < 1e-6);
            assert!(column.iter().skip(j + 1).all(|w| *w == 0.0));
            assert!(layer.scores[1].column(j).iter().skip(j + 1).all(|s| *s == f32::NEG_INFINITY));
        }
    }
    numbers += 2 * d * n + a.vocabulary * n;
    assert_eq!(recordings.bytes(a, n), 4 * numbers as u64);
    let value = network.head_matrices(0, 3).unwrap().value.dot(pass.layers[0].inputs.as_ref().unwrap());
    let output = value.dot(&pass.layers[0].weights[3]);
    let distance = (&output - &pass.layers[0].outputs[3]).iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    assert!(distance < 1e-4, "{distance}");
    let pass = network.forward(&ids, &Recordings::named(&["hidden"]).unwrap().in_layers([1])).unwrap();
    assert_eq!(pass.layers.iter().map(|l| l.layer).collect::<Vec<_>>(), [1]);
    assert!(pass.embedding.is_none() && pass.logits.is_none() && pass.last.is_none());
    assert!(network.head_matrices(2, 0).is_err() && network.head_matrices(0, 4).is_err());
}

/// A control has the entries that its law promises, and the same ones from the same seed.
#[test]
fn an_untrained_network_follows_its_law() {
    use attnlab_core::rng::Streams;
    let network = Transformer::open(&data("bert")).unwrap();
    let draw = |seed| network.untrained(&Streams::new(seed, "untrained", 0, 0));
    let (first, second) = (draw(1), draw(2));
    let entries = |n: &Transformer| n.head_matrices(1, 2).unwrap().query.to_owned();
    assert_eq!(entries(&first), entries(&draw(1)));
    assert_ne!(entries(&first), entries(&second));
    assert_ne!(entries(&first), first.head_matrices(0, 2).unwrap().query.to_owned());
    let squares: f32 = entries(&first).iter().map(|x| x * x).sum();
    let rms = (squares / entries(&first).len() as f32).sqrt();
    // Eight standard errors of 256 draws: 8 / √512 of σ.
    assert!((rms / 0.02 - 1.0).abs() < 0.35, "{rms}");
    assert!(first.forward(&vec![1, 2, 3], &Recordings::all().in_layers([0])).is_err(), "logits");
    assert!(first.forward(&vec![1, 2, 3], &Recordings::none()).is_ok());
}

/// Values of tokens are a linear map of the residual stream, divided by the spread of each token, plus one constant:
/// with RMSNorm (Llama), LayerNorm (GPT-2) and a norm after attention (BERT).
#[test]
fn a_value_map_reads_the_residual_stream() {
    for (name, layer_norm, before) in [("llama", false, true), ("gpt2", true, true), ("bert", true, false)] {
        let network = Transformer::open(&data(name)).unwrap();
        let pass = network.forward(&[3, 1, 4, 1, 5, 9], &Recordings::named(&["residual", "inputs"]).unwrap()).unwrap();
        let stream = pass.layers[0].residual.as_ref().unwrap();
        let inputs = pass.layers[1].inputs.as_ref().unwrap();
        let head = network.architecture().heads - 1;
        let values = network.head_matrices(1, head).unwrap().value.dot(inputs);
        let mut read = network.value_map(1, head).unwrap().dot(stream);
        for (mut read, z) in read.columns_mut().into_iter().zip(stream.columns()) {
            let mean = if layer_norm { z.mean().unwrap() } else { 0.0 };
            let spread = z.mapv(|x| (x - mean).powi(2)).mean().unwrap().sqrt();
            read /= if before { spread } else { 1.0 };
        }
        let constant = &values - &read;
        let first = constant.column(0).to_owned();
        for column in constant.columns() {
            let off = (&column - &first).mapv(f32::abs);
            assert!(off.iter().all(|x| *x < 1e-4), "{name}: {off}");
        }
    }
}

/// A sequence cut in two anywhere has the logits of the whole, in every family that predicts; a wrong offset of the
/// positions or of the mask would be far off.
#[test]
fn tokens_after_a_prefix_are_those_of_the_whole_sequence() {
    for name in ["gpt2", "gpt-neox", "gpt-neox-serial", "opt", "opt-after", "llama", "llama-tied", "llama.gguf"] {
        let network = Transformer::open(&data(name)).unwrap();
        let ids = ids(&expected(&name.replace('.', "-")), "ids");
        let read = |_: usize, logits: &mut [f32]| logits.to_vec();
        let whole = network.predict(&ids, 0..ids.len(), read).unwrap();
        let largest = whole.iter().flatten().fold(0.0_f32, |m, x| m.max(x.abs()));
        let agree = |part: &[Vec<f32>], first: usize| {
            for (t, logits) in (first..).zip(part) {
                let worst = logits.iter().zip(&whole[t]).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
                assert!(worst <= TOLERANCE * largest, "{name} from {first}, {t}: {worst}");
            }
        };
        for cut in [0, 1, 5, ids.len() - 1] {
            let prefix = network.prefix(&ids[..cut]).unwrap();
            assert_eq!(prefix.tokens(), cut);
            let rest = &ids[cut..];
            agree(&network.predict_after(&prefix, rest, 0..rest.len(), read).unwrap(), cut);
        }
        // Positions in the middle are those of the whole.
        agree(&network.predict(&ids, 3..6, read).unwrap(), 3);
    }
    let llama = Transformer::open(&data("llama")).unwrap();
    let prefix = llama.prefix(&vec![1; llama.architecture().context - 1]).unwrap();
    let read = |_: usize, _: &mut [f32]| ();
    let refused = llama.predict_after(&prefix, &[1, 2], 0..2, read).unwrap_err();
    assert!(refused.to_string().contains("must be from 1 to 1 tokens"), "{refused}");
    let refused = llama.predict(&[1, 2], 0..3, read).unwrap_err();
    assert!(refused.to_string().contains("within the 2 tokens"), "{refused}");
    assert!(Transformer::open(&data("bert")).unwrap().prefix(&[1]).unwrap_err().to_string().contains("causal"));
}
