//! The file that is written: beside its place under another name, and moved there when it is complete.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::{NamedTempFile, TempPath};

/// A file that appears under its name only when it is complete. Dropped earlier, nothing is left of it.
pub struct Target {
    path: PathBuf,
    temporary: TempPath,
    overwrite: bool,
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
        let file = named(&format!(".{name}."), folder).with_context(|| format!("cannot write beside {shown}"))?;
        Ok(Target { path: path.to_owned(), temporary: file.into_temp_path(), overwrite })
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

fn named(prefix: &str, folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(".part");
    // The usual rights of a new file, not the private ones of a temporary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
