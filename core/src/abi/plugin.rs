//! The plugin's side: strategies of this crate's kind behind the boundary, and the macro that exports them.

use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::std_types::{ROption, RResult, RSlice, RStr, RString};
use serde_json::Value;

use super::convert::{completion_from_raw, error_to_raw, level_to_byte, plan_to_raw};
use super::guard::watched;
use super::lend::Lent;
use super::raw::{
    HostRef, LayerBox, PANICKED, PartsRef, Plugin, PluginRef, RawError, RawLayer, RawLayer_TO,
    RawPlan, RawPrompt, RawStrategy, RawWindow,
};
use crate::{
    Completion, CompletionError, Configure, Host, LayerError, LogLevel, Prompt, Strategy,
    SummarizerLimits, Window, schema_of,
};

/// The strategy `T` in the form that crosses the boundary.
#[doc(hidden)]
pub fn exported<T: Configure>() -> RawStrategy {
    RawStrategy {
        name: RStr::from_str(T::NAME),
        schema: schema::<T>,
        build: build::<T>,
        reserved: [0; 4],
    }
}

/// The root module of a plugin with these strategies.
#[doc(hidden)]
pub fn plugin(strategies: Vec<RawStrategy>) -> PluginRef {
    // Libraries are never unloaded, and this is made once in each.
    Plugin { strategies: RSlice::from_slice(strategies.leak()) }.leak_into_prefix()
}

extern "C" fn schema<T: Configure>() -> RResult<RString, RawError> {
    let written = watched(|| schema_of::<T::Options>().to_string());
    match written {
        Ok(schema) => RResult::ROk(schema.into()),
        Err(panic) => RResult::RErr(failure(panic)),
    }
}

extern "C" fn build<T: Configure>(options: RStr<'_>) -> RResult<LayerBox, RawError> {
    let built = watched(|| {
        let unusable = |error: serde_json::Error| failure(error.to_string());
        // By way of a value, as the options of a built-in come: errors read the same.
        let options: Value = serde_json::from_str(options.as_str()).map_err(unusable)?;
        let options = match options {
            Value::Object(map) if map.is_empty() => T::Options::default(),
            options => serde_json::from_value(options).map_err(unusable)?,
        };
        T::build(options).map_err(|error| RawError {
            option: error.option.into(),
            message: error.message.into(),
            ..failure(String::new())
        })
    });
    match built {
        Ok(Ok(strategy)) => {
            RResult::ROk(RawLayer_TO::from_value(Guarded(Some(strategy)), TD_Opaque))
        }
        Ok(Err(error)) => RResult::RErr(error),
        Err(panic) => RResult::RErr(RawError { kind: PANICKED, ..failure(panic) }),
    }
}

fn failure(message: String) -> RawError {
    RawError { message: message.into(), ..error_to_raw(&LayerError::new("")) }
}

/// A strategy whose panics stay in the plugin, the one of its drop too. Nothing once it has ended.
struct Guarded<T: Strategy>(Option<T>);

impl<T: Strategy> Guarded<T> {
    fn end(&mut self) -> Result<(), String> {
        let Some(mut strategy) = self.0.take() else { return Ok(()) };
        let ended = watched(|| strategy.end().map_err(|error| error.to_string())).flatten();
        let dropped = watched(|| drop(strategy));
        ended.and(dropped)
    }
}

impl<T: Strategy> Drop for Guarded<T> {
    fn drop(&mut self) {
        // A host that did not end it does not want to know.
        drop(self.end());
    }
}

impl<T: Strategy> RawLayer for Guarded<T> {
    fn plan(
        &self,
        window: &RawWindow<'_>,
        parts: &PartsRef<'_>,
        host: &HostRef<'_>,
    ) -> RResult<RawPlan, RawError> {
        let Some(strategy) = &self.0 else {
            return RResult::RErr(failure("the layer has ended".to_owned()));
        };
        let planned = watched(|| {
            let lent = Lent::new(window, parts);
            strategy.plan(&Window::lent(&lent), &HostOf(host))
        });
        match planned {
            Ok(Ok(plan)) => RResult::ROk(plan_to_raw(plan)),
            Ok(Err(error)) => RResult::RErr(error_to_raw(&error)),
            Err(panic) => RResult::RErr(failure(panic)),
        }
    }

    fn end(&mut self) -> ROption<RString> {
        Guarded::end(self).err().map(RString::from).into()
    }
}

/// The host of a plugin's layer.
struct HostOf<'a, 'h>(&'a HostRef<'h>);

impl Host for HostOf<'_, '_> {
    fn count(&self, text: &str) -> u32 {
        self.0.count(text.into())
    }

    fn summarizer(&self) -> Option<SummarizerLimits> {
        let window: Option<u64> = self.0.summarizer_window().into();
        window.map(|window| SummarizerLimits { window })
    }

    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        completion_from_raw(self.0.complete(RawPrompt {
            instructions: prompt.instructions.as_str().into(),
            input: prompt.input.as_str().into(),
            max_tokens: prompt.max_tokens,
        }))
    }

    fn retrieval(&self, message: usize) -> Option<String> {
        match self.0.retrieval(message as u64) {
            ROption::RSome(text) => Some(text.into_string()),
            ROption::RNone => None,
        }
    }

    fn log(&self, level: LogLevel, message: &str) {
        self.0.log(level_to_byte(level), message.into());
    }
}

/// Exports strategies from a dynamic library, so that a host can load them as layers.
///
/// Write it once in the root of a crate whose `crate-type` is `["cdylib"]`, or `["cdylib", "rlib"]` to
/// test the strategies in Rust as well, and name every strategy that the library offers. A strategy is
/// any type that implements [`Configure`].
///
/// A panic in the options or in the plan becomes an error of the layer; one when the layer is ended or dropped is
/// told to the host, which tells of it. For that, the library must be built with `panic = "unwind"`;
/// another setting does not compile.
///
/// ```
/// use brute_core::{Configure, Host, LayerError, OptionsError, Plan, Strategy, Window};
/// # use schemars::JsonSchema;
///
/// /// Gives up nothing.
/// pub struct Nothing;
///
/// /// It has no options.
/// #[derive(Default, serde::Serialize, serde::Deserialize, JsonSchema)]
/// #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
/// pub struct Options {}
///
/// impl Configure for Nothing {
///     type Options = Options;
///     const NAME: &'static str = "nothing";
///     const SUMMARY: &'static str = "gives up nothing";
///     const VERSION: &'static str = env!("CARGO_PKG_VERSION");
///     fn build(_: Options) -> Result<Self, OptionsError> {
///         Ok(Self)
///     }
/// }
///
/// impl Strategy for Nothing {
///     fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
///         Ok(Plan::decline())
///     }
/// }
///
/// brute_core::export_plugin!(Nothing);
/// ```
///
/// [`Configure`]: crate::Configure
#[macro_export]
macro_rules! export_plugin {
    ($($strategy:ty),+ $(,)?) => {
        #[allow(unsafe_code, reason = "symbols with a fixed name are how a library is found out")]
        const _: () = {
            #[cfg(panic = "abort")]
            ::core::compile_error!(
                "a plugin must be built with `panic = \"unwind\"`: with \"abort\", a panic in it would end the host"
            );

            const ENTRIES: &[$crate::abi::Entry] = &[$($crate::abi::Entry::of::<$strategy>()),+];

            // SAFETY: no other symbol of the library has this name, or it would not link.
            #[used]
            #[unsafe(export_name = "BRUTE_PLUGIN_MANIFEST")]
            static MANIFEST: [u8; $crate::abi::manifest_len(ENTRIES)] =
                $crate::abi::manifest(ENTRIES);

            fn load() -> $crate::abi::PluginRef {
                $crate::abi::plugin(::std::vec![$($crate::abi::exported::<$strategy>()),+])
            }

            extern "C" fn module() -> $crate::abi::RootModuleResult {
                $crate::abi::__call_root_module_loader(load)
            }

            // SAFETY: `module` returns a `PluginRef`, erased.
            #[used]
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            static HEADER: $crate::abi::LibHeader = unsafe {
                $crate::abi::LibHeader::from_constructor::<$crate::abi::PluginRef>(
                    module,
                    $crate::abi::CheckTypeLayout::Yes,
                )
            };
        };
    };
}
