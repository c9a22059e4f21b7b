//! The file that is written: beside its place under another name, and moved there when it is complete.
//!
//! It is called `.NAME.autolevels-XXXXXX.part` and locked as long as it is written. One that nobody has locked is left
//! from a program that was killed, and is removed when the same NAME is written again.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::{NamedTempFile, TempPath};

/// A file that appears under its name only when it is complete. Dropped earlier, nothing is left of it.
pub struct Target {
    path: PathBuf,
    temporary: TempPath,
    overwrite: bool,
    /// Holds the lock.
    _file: File,
}

impl Target {
    /// Makes the temporary file beside `path`.
    pub fn create(path: &Path, overwrite: bool) -> anyhow::Result<Target> {
        let shown = path.display();
        if path.is_dir() {
            bail!("{shown} is a directory: name the file to write");
        }
        if !overwrite && path.symlink_metadata().is_ok() {
            bail!("{shown} exists: choose another name, or --overwrite");
        }
        let folder = folder(path);
        if !folder.is_dir() {
            bail!("cannot write {shown}: the folder {} is missing; make it first", folder.display());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.autolevels-");
        remove_abandoned(&prefix, folder);
        let file = named(&prefix, folder).with_context(|| format!("cannot write beside {shown}"))?;
        let (file, temporary) = file.into_parts();
        // Where there are no locks, nothing is ever removed either.
        let _ = file.try_lock();
        Ok(Target { path: path.to_owned(), temporary, overwrite, _file: file })
    }

    /// Where to write.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name.
    pub fn commit(self) -> anyhow::Result<()> {
        let moved = if self.overwrite {
            self.temporary.persist(&self.path)
        } else {
            // So that a file that came to be in the meantime is not replaced.
            self.temporary.persist_noclobber(&self.path)
        };
        moved
            .map_err(|error| error.error)
            .with_context(|| format!("cannot give the result its name {}", self.path.display()))
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const SUFFIX: &str = ".part";

/// Characters that the temporary name has between prefix and suffix.
const RANDOM: usize = 6;

/// Removes what programs that were killed have left: files of our own pattern that nobody has locked.
fn remove_abandoned(prefix: &str, folder: &Path) {
    let is_ours = |name: &str| {
        let middle = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(SUFFIX));
        middle.is_some_and(|middle| middle.len() == RANDOM && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    // What cannot be looked at or removed stays; it does no harm.
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file
            && entry.file_name().to_str().is_some_and(is_ours)
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn named(prefix: &str, folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(SUFFIX).rand_bytes(RANDOM);
    // The usual rights of a new file, not the private ones of a temporary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
