//! The machine on which a run measures.

use std::fs::read_to_string;

/// A load average above this makes durable works and threads slower, and their ratios useless.
const LOAD_MAX: f64 = 0.5;

/// The machine, as a run finds it when it starts.
pub struct Machine {
    cores: usize,
    processor: String,
    /// The average number of processes that ran or waited for a disk in the last minute.
    load: f64,
}

impl Machine {
    pub fn new() -> Self {
        let information = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = information
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let load = read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: name
                .map_or("", |name| name.trim_start_matches([' ', '\t', ':']))
                .to_owned(),
            load: load
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or_default(),
        }
    }

    /// Returns why the results of this run are doubtful, if they are.
    pub fn warning(&self) -> Option<String> {
        let text = "other programs use the machine (load average";
        (self.load > LOAD_MAX).then(|| format!("{text} {:.1}), so the figures are doubtful", self.load))
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            cores,
            processor,
            load,
        } = self;
        write!(
            f,
            "{cores} cores of {processor}, load average {load:.1} when the run began"
        )
    }
}
