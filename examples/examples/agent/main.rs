//! An agent for the terminal: a model, three tools, and brute between them.
//!
//! ```sh
//! cargo run -p brute-examples --example agent -- --url http://127.0.0.1:8080/v1 --model qwen3 --window 32768 \
//!     "Why does the newest test fail?"
//! ```
//!
//! How brute is embedded stands in `memory.rs` (from a `brute.toml` to a session) and in [`answer`] below (where the
//! session is called). `client.rs` and `tools.rs` are what any agent has.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program talks to a person")]

mod client;
mod memory;
mod tools;

use std::error::Error;
use std::path::PathBuf;

use brute_host::core::{Part, Role};
use clap::Parser;

use self::client::Client;
use self::memory::Memory;
use self::tools::Tools;

/// Works on the files of a folder, by a model behind any server that speaks OpenAI's Chat Completions.
///
/// The answer goes to standard output, everything else to standard error. In the working folder, `.agent` has the
/// sessions, the full texts of long results, what compactions gave up, and a log of what happened.
#[derive(Debug, Parser)]
#[command(name = "agent")]
struct Options {
    /// What to do. Can be left out where a session that was stopped goes on.
    prompt: Option<String>,
    /// The server's address, up to what stands before `/chat/completions`.
    #[arg(long, default_value = "http://127.0.0.1:8080/v1")]
    url: String,
    /// The model, as the server calls it.
    #[arg(long)]
    model: String,
    /// The environment variable that holds the server's key, if it wants one.
    #[arg(long, value_name = "VARIABLE")]
    key_from: Option<String>,
    /// The working folder. The nearest `brute.toml` from here upwards holds.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// The model's window in tokens, if brute does not know the model.
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// The longest reply.
    #[arg(long, value_name = "TOKENS", default_value_t = 2_048)]
    max_tokens: u32,
    /// Goes on with the session of this name.
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// Runs the commands that the model wants run, with your rights, without asking you about each.
    #[arg(long)]
    yes: bool,
}

/// Goes on until the model answers without wanting a tool. Each step is in the session before the next begins: this
/// may end anywhere, by an error, by Ctrl-C (which drops this future), by a power cut.
async fn answer(memory: &Memory, client: &Client, tools: &Tools) -> Result<String, Box<dyn Error>> {
    let session = memory.session();
    loop {
        // Level two, before *every* call: compacts the conversation if it is time to. What the disk does not hold, the
        // model is not told.
        let ready = session.before_call(memory.schemas()).await?;
        let reply = client.ask(memory.request()).await?;
        // What the provider counted is what all sizes are measured by from here on.
        session.after_call(&ready, reply.parts(), reply.usage)?;
        memory.report(reply.usage);
        if reply.calls.is_empty() {
            return Ok(reply.text);
        }
        for call in &reply.calls {
            let (output, is_error) = tools.run(call).await;
            // Level one: what is too long goes to a file, and the result says which.
            session.tool_result(&call.id, &call.name, output, is_error).await?;
        }
    }
}

async fn work(mut options: Options) -> Result<(), Box<dyn Error>> {
    let folder = options.folder.canonicalize();
    options.folder = folder.map_err(|error| format!("`{}`: {error}", options.folder.display()))?;
    let client = Client::new(&options.url, options.key_from.as_deref())?;
    let memory = Memory::open(&options)?;
    let is_open = memory.settle().await?;
    match options.prompt.take() {
        Some(prompt) => _ = memory.session().push(Role::User, [Part::text(prompt)])?,
        None if is_open => {}
        None => return Err("nothing is to be answered: say what to do".into()),
    }
    let tools = Tools::new(options, memory.archive().cloned());
    let answered = tokio::select! {
        answered = answer(&memory, &client, &tools) => answered,
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    };
    let closed = memory.close().await;
    println!("{}", answered?);
    closed
}

#[tokio::main]
async fn main() {
    let done = work(Options::parse()).await;
    if let Err(error) = &done {
        memory::say(&error.to_string());
    }
    // At once: a thread may still wait for what a person types.
    std::process::exit(i32::from(done.is_err()));
}
