//! Contenders that take turns, round after round, so that whatever else the machine does strikes all
//! of them; ratios are taken within a round.

use std::sync::OnceLock;
use std::time::Instant;

/// A name and the work to time.
type Contender<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Seconds of every contender in every round.
pub struct Race<'a> {
    /// Seconds so far, by whichever clock the user asked for.
    now: fn() -> f64,
    contenders: Vec<Contender<'a>>,
    seconds: Vec<Vec<f64>>,
}

impl<'a> Race<'a> {
    /// A race by wall-clock time, or by processor time after `--cpu-time`.
    #[allow(clippy::new_without_default, reason = "a benchmark, no library")]
    pub fn new() -> Self {
        let cpu = std::env::args().any(|a| a == "--cpu-time");
        Race { now: if cpu { cpu_seconds } else { wall_seconds }, contenders: vec![], seconds: vec![] }
    }

    pub fn add(&mut self, name: &'static str, run: impl FnMut() + 'a) {
        self.contenders.push((name, Box::new(run)));
        self.seconds.push(vec![]);
    }

    /// Runs one round to warm up, then `rounds` that count.
    pub fn run(&mut self, rounds: usize) {
        for round in 0..=rounds {
            for ((_, run), seconds) in self.contenders.iter_mut().zip(&mut self.seconds) {
                let start = (self.now)();
                run();
                if round > 0 {
                    seconds.push((self.now)() - start);
                }
            }
        }
    }

    /// The seconds of a contender, round by round.
    pub fn seconds(&self, name: &str) -> &[f64] {
        let index = self.contenders.iter().position(|(n, _)| *n == name);
        &self.seconds[index.unwrap_or_else(|| panic!("no contender {name}"))]
    }

    /// Prints median and range of every contender.
    pub fn print_times(&self) {
        for (name, _) in &self.contenders {
            let (low, median, high) = spread(self.seconds(name).to_vec());
            println!("  {name:<44} {median:8.3} s  [{low:.3}, {high:.3}]");
        }
    }

    /// Prints time(`a`) / time(`b`), round by round.
    pub fn print_ratio(&self, label: &str, a: &str, b: &str, goal: &str) {
        let (low, median, high) = spread(self.seconds(a).iter().zip(self.seconds(b)).map(|(a, b)| a / b).collect());
        println!("  {label:<52} {median:6.3}  [{low:.3}, {high:.3}]  {goal}");
    }
}

fn wall_seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Processor time of all threads of this process, from the Linux scheduler's own count.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("--cpu-time needs Linux");
    let nanoseconds = tasks.flatten().filter_map(|task| {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Smallest, median and largest.
pub fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2], values[values.len() - 1])
}
