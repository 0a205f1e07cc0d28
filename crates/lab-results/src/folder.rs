//! Where the files are:
//!
//! ```text
//! results/<name>/
//!   run.json           the series            run::Run
//!   plan.toml          as it was given, without passwords
//!   probes.json        of every node         [host::NodeProbes]
//!   rungs/007-ours-rw-t8-r2/
//!     rung.json        the interval's sums   rung::Rung
//!     seconds.jsonl    each second           rung::Second
//!     samples.jsonl    each node's seconds   host::NodeSample
//!   availability.json  only of `lab availability`: [availability::Availability]
//!   summary.json, report.md, report.html     made from these by `lab report`
//! ```
//!
//! Each file is written beside its name and moved there, so that a stop at any moment leaves whole files.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Availability, NodeProbes, NodeSample, Run, Rung, SCHEMA, Second};

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: line {line}: {source}", .path.display())]
    Json {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("{} has schema {found}, this version reads up to {SCHEMA}: use the version that wrote it, or a newer one", .path.display())]
    Newer { path: PathBuf, found: u32 },
    #[error("{} is there already: give another name, or remove it", .0.display())]
    Exists(PathBuf),
}

/// The folder of a series.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

/// The folder of one rung.
#[derive(Debug, Clone)]
pub struct RungFolder(PathBuf);

impl Folder {
    /// A new, empty one; refuses to mix two series.
    pub fn create(path: &Path) -> Result<Folder, FolderError> {
        if path.join("run.json").exists() {
            return Err(FolderError::Exists(path.to_owned()));
        }
        let rungs = path.join("rungs");
        fs::create_dir_all(&rungs).map_err(|source| io_error(&rungs, source))?;
        Ok(Folder(path.to_owned()))
    }

    pub fn open(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write_run(&self, run: &Run) -> Result<(), FolderError> {
        write_json(&self.0.join("run.json"), run)
    }

    pub fn run(&self) -> Result<Run, FolderError> {
        let path = self.0.join("run.json");
        let run: Run = read_json(&path)?;
        if run.schema > SCHEMA {
            return Err(FolderError::Newer {
                path,
                found: run.schema,
            });
        }
        Ok(run)
    }

    pub fn write_probes(&self, probes: &[NodeProbes]) -> Result<(), FolderError> {
        write_json(&self.0.join("probes.json"), probes)
    }

    /// Empty if the series was run without probes.
    pub fn probes(&self) -> Result<Vec<NodeProbes>, FolderError> {
        let path = self.0.join("probes.json");
        if path.exists() {
            read_json(&path)
        } else {
            Ok(Vec::new())
        }
    }

    /// One of each target.
    pub fn write_availability(&self, targets: &[Availability]) -> Result<(), FolderError> {
        write_json(&self.0.join("availability.json"), targets)
    }

    /// Empty if the series was not about availability.
    pub fn availability(&self) -> Result<Vec<Availability>, FolderError> {
        let path = self.0.join("availability.json");
        if path.exists() {
            read_json(&path)
        } else {
            Ok(Vec::new())
        }
    }

    /// Writes a text file of the series (`plan.toml`, `report.html`, …) as a whole.
    pub fn write_text(&self, name: &str, text: &str) -> Result<PathBuf, FolderError> {
        let path = self.0.join(name);
        write_whole(&path, text.as_bytes())?;
        Ok(path)
    }

    /// The folder for `rung`, named after its place, target, workload, load and repeat.
    pub fn create_rung(&self, rung: &Rung) -> Result<RungFolder, FolderError> {
        let load = match &rung.load {
            crate::run::Load::Closed { threads_total, .. } => format!("t{threads_total}"),
            crate::run::Load::Open { rate_per_s, .. } => format!("rate{rate_per_s:.0}"),
        };
        let name = format!(
            "{:03}-{}-{}-{load}-r{}",
            rung.index, rung.target, rung.workload, rung.repeat
        );
        let safe: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let path = self.0.join("rungs").join(safe);
        fs::create_dir_all(&path).map_err(|source| io_error(&path, source))?;
        Ok(RungFolder(path))
    }

    /// Every rung that was measured to its end, in the order in which they ran.
    pub fn rungs(&self) -> Result<Vec<RungFolder>, FolderError> {
        let path = self.0.join("rungs");
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(io_error(&path, source)),
        };
        let mut rungs = Vec::new();
        for entry in entries {
            let rung = entry.map_err(|source| io_error(&path, source))?.path();
            if rung.join("rung.json").exists() {
                rungs.push(RungFolder(rung));
            }
        }
        rungs.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(rungs)
    }
}

impl RungFolder {
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Last of a rung's files to be written: a rung without it was not finished.
    pub fn write_rung(&self, rung: &Rung) -> Result<(), FolderError> {
        write_json(&self.0.join("rung.json"), rung)
    }

    pub fn rung(&self) -> Result<Rung, FolderError> {
        read_json(&self.0.join("rung.json"))
    }

    pub fn write_seconds(&self, seconds: &[Second]) -> Result<(), FolderError> {
        write_lines(&self.0.join("seconds.jsonl"), seconds)
    }

    pub fn seconds(&self) -> Result<Vec<Second>, FolderError> {
        read_lines(&self.0.join("seconds.jsonl"))
    }

    /// The same lines in another shape, for readers that need few of their fields: a [`Second`] with all its
    /// histograms spread out takes megabytes.
    pub fn seconds_as<T: DeserializeOwned>(&self) -> Result<Vec<T>, FolderError> {
        read_lines(&self.0.join("seconds.jsonl"))
    }

    pub fn write_samples(&self, samples: &[NodeSample]) -> Result<(), FolderError> {
        write_lines(&self.0.join("samples.jsonl"), samples)
    }

    pub fn samples(&self) -> Result<Vec<NodeSample>, FolderError> {
        read_lines(&self.0.join("samples.jsonl"))
    }
}

fn io_error(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io {
        path: path.to_owned(),
        source,
    }
}

fn write_json<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), FolderError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| FolderError::Json {
        path: path.to_owned(),
        line: 0,
        source,
    })?;
    text.push(b'\n');
    write_whole(path, &text)
}

fn write_lines<T: Serialize>(path: &Path, values: &[T]) -> Result<(), FolderError> {
    let mut text = Vec::new();
    for (line, value) in values.iter().enumerate() {
        serde_json::to_writer(&mut text, value).map_err(|source| FolderError::Json {
            path: path.to_owned(),
            line: line + 1,
            source,
        })?;
        text.push(b'\n');
    }
    write_whole(path, &text)
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let beside = path.with_extension("partial");
    let write = || {
        let mut file = fs::File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&beside, path)
    };
    write().map_err(|source| io_error(path, source))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let bytes = fs::read(path).map_err(|source| io_error(path, source))?;
    serde_json::from_slice(&bytes).map_err(|source| FolderError::Json {
        path: path.to_owned(),
        line: source.line(),
        source,
    })
}

/// A file that is not there has no lines.
fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, FolderError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(io_error(path, source)),
    };
    let mut values = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|source| io_error(path, source))?;
        values.push(serde_json::from_str(&line).map_err(|source| FolderError::Json {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?);
    }
    Ok(values)
}
