//! Time of a forward pass of a network on a text, for `benches/peers/forward.sh`; prints a line of JSON.
//!
//! `cargo bench -p attnlab-networks --bench forward -- --network PATH --text FILE [--tokens 1000] [--rounds 3]`

use attnlab_networks::transformer::Recordings;
use attnlab_networks::{Tokenizer, Transformer};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| -> Option<&str> {
        arguments.get(arguments.iter().position(|a| a == name)? + 1).map(String::as_str)
    };
    let Some((network, text)) = value("--network").zip(value("--text")) else {
        // `cargo test --benches` runs it without arguments.
        println!("usage: forward --network PATH --text FILE [--tokens N] [--rounds N]");
        return Ok(());
    };
    let tokens: usize = value("--tokens").unwrap_or("1000").parse()?;
    let rounds: usize = value("--rounds").unwrap_or("3").parse()?;
    let start = Instant::now();
    let model = Transformer::open(Path::new(network))?;
    let opened = start.elapsed().as_secs_f64();
    let mut ids = Tokenizer::open(Path::new(network))?.encode(&std::fs::read_to_string(text)?)?;
    ids.truncate(tokens);
    let mut seconds = vec![];
    let mut losses = vec![];
    // The first warms up.
    for _ in 0..=rounds {
        let start = Instant::now();
        losses = model.losses(&ids)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let recordings = Recordings::all();
    let start = Instant::now();
    let pass = model.forward(&ids, &recordings)?;
    let recorded = start.elapsed().as_secs_f64();
    let line = serde_json::json!({
        "peer": "attnlab",
        "threads": rayon::current_num_threads(),
        "tokens": ids.len(),
        "loss": losses.iter().sum::<f64>() / losses.len() as f64,
        "seconds": seconds[1..],
        "opened": opened,
        "recorded_seconds": recorded,
        "recorded_bytes": recordings.bytes(model.architecture(), ids.len()),
        "recorded_layers": pass.layers.len(),
    });
    println!("{line}");
    Ok(())
}
