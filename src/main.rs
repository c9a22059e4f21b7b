//! The command line.

mod cli;

fn main() -> std::process::ExitCode {
    // A Vulkan layer of Mesa looks for a display to choose a GPU by, and complains on stderr where there is none;
    // adapters are chosen here by what they are.
    // SAFETY: this is the only thread so far, so nobody reads the environment meanwhile.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    cli::run()
}
