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
    #[error("there is no series in {}: it has no run.json", .0.display())]
    NoSeries(PathBuf),
    #[error("{} is there already, and not empty: give another name, or remove it", .0.display())]
    Exists(PathBuf),
}

/// The folder of a series.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

/// The folder of one rung.
#[derive(Debug, Clone)]
pub struct RungFolder(PathBuf);

impl Folder {
    /// A new one; refuses to mix two series, or a series with anything else: what is not a series' may not be removed with it.
    pub fn create(path: &Path) -> Result<Folder, FolderError> {
        match fs::read_dir(path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(FolderError::Exists(path.to_owned()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(io_error(path, source)),
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
        if !path.exists() {
            return Err(FolderError::NoSeries(self.0.clone()));
        }
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
            crate::run::Load::Open {
                profile: Some(profile), ..
            } => profile.name.clone(),
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
        rungs.sort_by_key(|rung| (place(&rung.0), rung.0.clone()));
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

/// The number that a rung's folder begins with; it may have more digits than its neighbours'.
fn place(path: &Path) -> u64 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.split('-').next().and_then(|number| number.parse().ok());
    number.unwrap_or(u64::MAX)
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
    write().map_err(|source| {
        // On a full disk the half of a file takes the place that a smaller one, such as how the series ended, could have.
        fs::remove_file(&beside).ok();
        io_error(path, source)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("lab-results-{name}-{}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let path = scratch("else");
        Folder::create(&path).unwrap();
        fs::remove_dir(path.join("rungs")).unwrap();
        fs::write(path.join("thesis.tex"), "years of work").unwrap();
        assert!(matches!(Folder::create(&path), Err(FolderError::Exists(_))));
        assert!(matches!(
            Folder::create(&path.join("thesis.tex")),
            Err(FolderError::Io { .. })
        ));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn the_thousandth_rung_comes_after_the_others() {
        let path = scratch("thousand");
        let folder = Folder::create(&path).unwrap();
        for name in ["999-a-w-t1-r1", "1000-a-w-t1-r2", "002-a-w-t1-r1"] {
            let rung = path.join("rungs").join(name);
            fs::create_dir(&rung).unwrap();
            fs::write(rung.join("rung.json"), "").unwrap();
        }
        let names: Vec<_> = folder.rungs().unwrap().iter().map(|rung| place(rung.path())).collect();
        assert_eq!(names, [2, 999, 1000]);
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing_beside_it() {
        let path = scratch("partial");
        // Its name is taken by a folder: the move fails after the writing.
        fs::create_dir_all(path.join("run.json/inside")).unwrap();
        assert!(write_whole(&path.join("run.json"), b"{}").is_err());
        assert!(!path.join("run.partial").exists());
        fs::remove_dir_all(&path).unwrap();
    }
}
