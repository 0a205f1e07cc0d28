//! The data directory is its owner's alone: whoever reads the log reads every row and every password's hash.
//!
//! A directory that others may look into is refused with the command that mends it, not mended in silence: what was open
//! may have been read, and who opened it should know. An empty one, made for us a moment ago, is closed.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use env::{Directory, OsUser};
use rustix::fs::Mode;
use rustix::process::umask;

/// What others are allowed.
pub const OTHERS: u32 = 0o077;
const OWNER_ALONE: u32 = 0o700;

/// Files that this process makes from now on are its user's alone.
pub fn keep_others_out() {
    umask(Mode::from_raw_mode(OTHERS));
}

/// The directory for files that statements use. It is no part of the data directory, nor the other way round: nobody reads or changes
/// the log by a statement.
pub fn files_beside(files: &Path, data: &Path) -> Result<Directory> {
    let shown = files.display();
    let directory = Directory::open(files).with_context(|| format!("cannot use secure_file_priv {shown}"))?;
    let data = fs::canonicalize(data).with_context(|| format!("cannot use the data directory {}", data.display()))?;
    if data.starts_with(directory.path()) || directory.path().starts_with(&data) {
        bail!(
            "secure_file_priv {shown} and the data directory {} hold each other: name one beside it",
            data.display()
        );
    }
    Ok(directory)
}

/// Makes the directory, or makes sure that it is ours and nobody else's.
pub fn prepare(dir: &Path) -> Result<()> {
    let cannot = |error: io::Error| format!("cannot use the data directory {}: {error}", dir.display());
    let found = match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return DirBuilder::new()
                .recursive(true)
                .mode(OWNER_ALONE)
                .create(dir)
                .with_context(|| format!("cannot create the data directory {}", dir.display()));
        }
        found => found.map_err(|error| anyhow::anyhow!(cannot(error)))?,
    };
    let is_empty = fs::read_dir(dir)
        .map_err(|error| anyhow::anyhow!(cannot(error)))?
        .next()
        .is_none();
    let own = OsUser::of_this_process();
    if found.uid() != own.0 {
        bail!(
            "the data directory {} belongs to user {}, and the server runs as user {}: start it as the owner, or give it to \
             this user: chown -R {} {}",
            dir.display(),
            found.uid(),
            own.0,
            own.0,
            quoted(dir)
        );
    }
    if is_empty {
        return fs::set_permissions(dir, Permissions::from_mode(OWNER_ALONE))
            .with_context(|| format!("cannot close the data directory {}", dir.display()));
    }
    refuse_open(dir, dir, &found)?;
    check_inside(dir, dir)
}

fn check_inside(top: &Path, dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        // A link has no permissions of its own, and what it leads to is looked at. Files come and go.
        let Ok(found) = fs::metadata(&path) else { continue };
        if found.is_dir() {
            refuse_open(top, &path, &found)?;
            check_inside(top, &path)?;
        } else if found.is_file() && !is_public(&path) {
            refuse_open(top, &path, &found)?;
        }
    }
    Ok(())
}

/// Certificates are shown to every client.
fn is_public(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| matches!(name, "server-cert.pem" | "ca.pem"))
}

fn refuse_open(top: &Path, path: &Path, found: &Metadata) -> Result<()> {
    if found.mode() & OTHERS == 0 {
        return Ok(());
    }
    bail!(
        "refusing to start: others on this machine may read {} (mode {:04o}), and with it rows and password hashes. Mend it: \
         chmod -R go= {}",
        path.display(),
        found.mode() & 0o7777,
        quoted(top)
    )
}

/// As a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    match text.chars().all(is_plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("latsdb-data-dir-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_new_or_empty_directory_is_the_owners_alone() {
        let dir = directory("new").join("inner");
        prepare(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
        set_mode(&dir, 0o755);
        prepare(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
        fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    }

    #[test]
    fn what_others_may_read_is_refused_with_the_command_that_mends_it() {
        let dir = directory("open");
        prepare(&dir).unwrap();
        let log = dir.join("log");
        fs::create_dir(&log).unwrap();
        let segment = log.join("1");
        fs::write(&segment, "rows").unwrap();
        let certificate = dir.join("server-cert.pem");
        fs::write(&certificate, "public").unwrap();
        for (path, open, closed) in [(&dir, 0o750, 0o700), (&log, 0o701, 0o700), (&segment, 0o604, 0o600)] {
            for path in [&dir, &log] {
                set_mode(path, 0o700);
            }
            set_mode(&segment, 0o600);
            set_mode(&certificate, 0o644);
            set_mode(path, open);
            let message = prepare(&dir).unwrap_err().to_string();
            let command = format!("chmod -R go= {}", dir.display());
            assert!(
                message.contains(&path.display().to_string()) && message.ends_with(&command),
                "{message}"
            );
            let mended = std::process::Command::new("sh")
                .arg("-c")
                .arg(&command)
                .status()
                .unwrap();
            assert!(mended.success());
            assert_eq!(mode(path), closed);
            prepare(&dir).unwrap();
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn commands_are_safe_to_paste() {
        assert_eq!(quoted(Path::new("./latsdb-data")), "./latsdb-data");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
