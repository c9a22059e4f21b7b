//! `autolevels generate`: the manual page and shell completions, made from the same table of commands and flags
//! that reads the command line.

use std::io::Write;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Ending, Usage};

/// Prints the manual page, or completions for a shell
///
/// A package or a user puts them where the system looks for them.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  autolevels generate man | man -l -\n  autolevels generate man file > autolevels-file.1\n  autolevels generate bash > ~/.local/share/bash-completion/completions/autolevels\n  autolevels generate fish > ~/.config/fish/completions/autolevels.fish"
)]
pub struct Arguments {
    /// What to print
    what: What,
    /// With man, the command whose page is wanted instead of the program's
    #[arg(value_name = "COMMAND")]
    job: Option<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// A manual page in roff
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut command = Cli::command().disable_help_subcommand(true).version(env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    let shell = match arguments.what {
        What::Man => {
            clap_mangen::Man::new(page(command, arguments.job.as_deref())?).render(&mut text)?;
            return print(&text);
        }
        What::Bash => Shell::Bash,
        What::Zsh => Shell::Zsh,
        What::Fish => Shell::Fish,
    };
    if arguments.job.is_some() {
        return Err(Usage("completions are of the whole program: leave COMMAND out".into()).into());
    }
    clap_complete::generate(shell, &mut command, "autolevels", &mut text);
    print(&text)
}

/// The command that a page describes.
fn page(mut program: Command, job: Option<&str>) -> anyhow::Result<Command> {
    // Gives each command its full name, e.g. autolevels-file.
    program.build();
    let Some(job) = job else { return Ok(program) };
    let Some(found) = program.find_subcommand(job) else {
        let jobs: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
        return Err(Usage(format!("there is no command '{job}'; there are {}", jobs.join(", "))).into());
    };
    Ok(found.clone().version(env!("CARGO_PKG_VERSION")))
}

fn print(text: &[u8]) -> anyhow::Result<Ending> {
    std::io::stdout().lock().write_all(text)?;
    Ok(Ending::Done)
}
