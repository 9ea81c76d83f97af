//! The host's side: a plugin's root module, its strategies, and layers made of them.

use std::fmt;
use std::sync::Mutex;

use abi_stable::library::{AbiHeaderRef, LibHeader, LibraryError};
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{ROption, RResult, RStr, RString};

use super::convert::{completion_to_raw, error_from_raw, level_from_byte, one_line, plan_from_raw};
use super::guard::caught;
use super::lend::Flat;
use super::raw::{
    LayerBox, PANICKED, PluginRef, RawCompletion, RawError, RawHost, RawHost_TO, RawPrompt,
    RawStrategy,
};
use crate::{CompletionError, Host, LayerError, Plan, Prompt, Strategy, Window};
use abi_stable::sabi_types::RRef;

/// What stands behind [`HEADER_SYMBOL`](super::HEADER_SYMBOL) in a library.
pub type Header = AbiHeaderRef;

/// The strategies of a library whose layout was found to be this crate's.
#[derive(Clone, Copy)]
pub struct Library {
    module: PluginRef,
}

/// A library that was built for another ABI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// What is different, one finding a line, without the layouts around it.
    pub findings: Vec<String>,
    /// All that the check of the layout says: thousands of lines, for the author of the plugin.
    pub report: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.findings.first() {
            Some(first) => write!(f, "its types are laid out in another way ({first})"),
            None => f.write_str("its types are laid out in another way"),
        }
    }
}

impl std::error::Error for Mismatch {}

impl Library {
    /// The library behind `header`, once its types were found to be laid out as here.
    ///
    /// # Errors
    /// If they are not.
    pub fn of(header: Header) -> Result<Self, Mismatch> {
        let module = header.upgrade().and_then(LibHeader::init_root_module::<PluginRef>);
        module.map(|module| Self { module }).map_err(|error| mismatch(&error))
    }

    /// The library of a module in this program.
    #[cfg(test)]
    pub(super) fn of_module(module: PluginRef) -> Self {
        Self { module }
    }

    /// Its strategies.
    pub fn strategies(&self) -> impl ExactSizeIterator<Item = Exported> + use<> {
        self.module.strategies().as_slice().iter().map(|raw| Exported { raw })
    }
}

fn mismatch(error: &LibraryError) -> Mismatch {
    let report = error.to_string();
    let is_finding = |line: &&str| line.starts_with("Error:");
    let findings = report.lines().map(str::trim).filter(is_finding);
    let findings = findings.map(|line| line.trim_start_matches("Error:").trim().to_owned());
    Mismatch { findings: findings.filter(|line| !line.is_empty()).collect(), report }
}

/// A strategy in a library.
#[derive(Clone, Copy)]
pub struct Exported {
    raw: &'static RawStrategy,
}

/// Why a library gave no layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFailure {
    /// The option at fault, if it is one in particular.
    pub option: Option<String>,
    /// What is wrong, on one line.
    pub message: String,
    /// Whether it panicked, which is no fault of the options.
    pub panicked: bool,
}

impl BuildFailure {
    fn of(error: RawError) -> Self {
        let option = Some(error.option.into_string()).filter(|name| !name.is_empty());
        let message = one_line(&error.message);
        Self { option, message, panicked: error.kind == PANICKED }
    }
}

impl Exported {
    /// Its name in `brute.toml`.
    pub fn name(&self) -> &'static str {
        self.raw.name.as_str()
    }

    /// The JSON Schema of its options, as JSON text.
    ///
    /// # Errors
    /// If the library panicked over it.
    pub fn schema(&self) -> Result<String, BuildFailure> {
        match (self.raw.schema)() {
            RResult::ROk(schema) => Ok(schema.into_string()),
            RResult::RErr(error) => Err(BuildFailure::of(error)),
        }
    }

    /// The layer with these options, a JSON object.
    ///
    /// # Errors
    /// If the strategy does not take the options.
    pub fn build(&self, options: &str) -> Result<PluginLayer, BuildFailure> {
        match (self.raw.build)(RStr::from_str(options)) {
            RResult::ROk(layer) => Ok(PluginLayer { layer }),
            RResult::RErr(error) => Err(BuildFailure::of(error)),
        }
    }
}

/// A layer that lives in a library.
pub struct PluginLayer {
    layer: LayerBox,
}

impl Strategy for PluginLayer {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let flat = Flat::of(window)?;
        let lent = LentHost { host, panicked: Mutex::default() };
        let asked = RawHost_TO::from_ptr(RRef::new(&lent), TD_Opaque);
        let planned = self.layer.plan(&flat.raw(), &flat.parts(), &asked);
        let panicked = lent.panicked.lock().ok().and_then(|mut panicked| panicked.take());
        let panicked = panicked.or_else(|| flat.panicked().map(str::to_owned));
        match (panicked, planned) {
            (Some(said), _) => Err(LayerError::new(format!("the host panicked below it: {said}"))),
            (None, RResult::ROk(plan)) => plan_from_raw(plan),
            (None, RResult::RErr(error)) => Err(error_from_raw(error)),
        }
    }

    /// Drops what the plugin holds, too. A layer that is dropped without keeps a panic over it to itself; one
    /// that has ended only fails.
    fn end(&mut self) -> Result<(), LayerError> {
        match self.layer.end() {
            ROption::RNone => Ok(()),
            ROption::RSome(said) => Err(LayerError::new(one_line(&said))),
        }
    }
}

/// The host as it is lent to a plugin. Its panics must not cross the plugin's frames: they are kept here,
/// and the plan that was made in spite of one is not taken.
struct LentHost<'h> {
    host: &'h dyn Host,
    panicked: Mutex<Option<String>>,
}

impl LentHost<'_> {
    fn ask<T>(&self, otherwise: impl FnOnce() -> T, question: impl FnOnce(&dyn Host) -> T) -> T {
        caught(|| question(self.host)).unwrap_or_else(|said| {
            if let Ok(mut panicked) = self.panicked.lock() {
                panicked.get_or_insert(said);
            }
            otherwise()
        })
    }
}

impl RawHost for LentHost<'_> {
    fn count(&self, text: RStr<'_>) -> u32 {
        self.ask(|| 0, |host| host.count(text.as_str()))
    }

    fn summarizer_window(&self) -> ROption<u64> {
        self.ask(|| None, |host| host.summarizer().map(|limits| limits.window)).into()
    }

    fn complete(&self, prompt: RawPrompt<'_>) -> RawCompletion {
        let prompt = Prompt {
            instructions: prompt.instructions.into(),
            input: prompt.input.into(),
            max_tokens: prompt.max_tokens,
        };
        let failed = || Err(CompletionError::Failed { reason: "the host panicked".to_owned() });
        completion_to_raw(self.ask(failed, |host| host.complete(&prompt)))
    }

    fn retrieval(&self, message: u64) -> ROption<RString> {
        let retrieval = |host: &dyn Host| host.retrieval(usize::try_from(message).ok()?);
        self.ask(|| None, retrieval).map(RString::from).into()
    }

    fn log(&self, level: u8, message: RStr<'_>) {
        self.ask(|| (), |host| host.log(level_from_byte(level), &one_line(&message)));
    }
}
