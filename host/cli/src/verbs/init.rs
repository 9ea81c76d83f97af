//! `brute init`: a brute.toml to start from.

use brute_host::config::init_toml;

use crate::args::{Global, Init};
use crate::exit::{Done, Exit, Failure};
use crate::{output, setup};

pub(crate) fn run(global: &Global, args: &Init) -> Done {
    let file = global.config.as_deref().unwrap_or_else(|| setup::project_file());
    if file.exists() && !args.force {
        let message = format!("`{}` is there already; `--force` overwrites it", file.display());
        return Err(Failure::configuration(message));
    }
    output::file(file, init_toml().as_bytes())?;
    if !global.quiet {
        output::say(&format!(
            "wrote {}; `brute check` says whether it can be used",
            file.display()
        ));
    }
    Ok(Exit::Fitted)
}
