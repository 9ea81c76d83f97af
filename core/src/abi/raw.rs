//! The types that cross the boundary, and nothing else.
//!
//! What the host lends is borrowed and made of numbers, slices and strings. Roles, kinds and flags are
//! plain bytes on both ways, so that one which the other side does not know is a value like any other
//! and never undefined behavior. The size of a type that stands in a slice is frozen for as long as the
//! ABI number is; `reserved` is room for it.

use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::sabi_types::{RRef, VersionStrings};
use abi_stable::std_types::{ROption, RResult, RSlice, RStr, RString, RVec};
use abi_stable::{StableAbi, declare_root_module_statics, sabi_trait};

/// No message, no step: an index that is none.
pub const NONE: u32 = u32::MAX;

/// A conversation as it is lent to a plugin.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawWindow<'a> {
    pub messages: RSlice<'a, RawMessage>,
    pub turns: RSlice<'a, RawTurn>,
    pub steps: RSlice<'a, RawStep>,
    pub pending: RSlice<'a, RawPlace>,
    /// Messages before this index are the instructions.
    pub instructions: u32,
    /// The message of the task, or [`NONE`].
    pub task: u32,
    pub window: u64,
    pub used: u64,
    pub target: u64,
    pub reserved: [u64; 4],
}

/// A message.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RawMessage {
    /// The call that its result answers; the message is [`NONE`] if it carries none.
    pub call: RawPlace,
    pub mark_count: u64,
    pub tokens: u32,
    /// The step that it belongs to, or [`NONE`].
    pub step: u32,
    pub role: u8,
    /// 0 for no mark.
    pub mark: u8,
    /// See [`PROTECTED`].
    pub flags: u8,
    pub reserved: u64,
}

/// A flag of a message: no layer may touch it.
pub const PROTECTED: u8 = 1;

/// A part of a message. Which of the strings stand for what depends on its kind.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RawPart<'a> {
    /// The text; the arguments of a call; what a medium or an opaque part is.
    pub text: RStr<'a>,
    /// The id of a call, or of the call that a result answers.
    pub id: RStr<'a>,
    /// The tool of a call.
    pub name: RStr<'a>,
    pub tokens: u32,
    /// How many media stand beside the text of a result.
    pub media: u32,
    pub kind: u8,
    /// See [`SIGNED`] and [`IS_ERROR`].
    pub flags: u8,
    pub reserved: u64,
}

/// A flag of reasoning: it must not be altered.
pub const SIGNED: u8 = 1;
/// A flag of a result: the tool reported a failure.
pub const IS_ERROR: u8 = 2;

/// Where a part stands.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RawPlace {
    pub message: u32,
    pub part: u32,
}

/// A turn: its messages, its steps, and the user message that begins it or [`NONE`].
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RawTurn {
    pub start: u32,
    pub end: u32,
    pub first_step: u32,
    pub end_step: u32,
    pub user: u32,
}

/// A step: its messages, and how many tools it calls.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct RawStep {
    pub start: u32,
    pub end: u32,
    pub calls: u32,
}

/// What a plugin wants done.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawPlan {
    pub edits: RVec<RawEdit>,
    pub flow: u8,
}

/// One edit. `start` and `end` are a span, or a message and a part.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawEdit {
    pub text: RString,
    pub start: u64,
    pub end: u64,
    pub kind: u8,
    pub role: u8,
}

/// A failure of a layer, or options that it does not take.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawError {
    pub message: RString,
    /// The option at fault; empty if it is none in particular.
    pub option: RString,
    pub kind: u8,
}

/// A kind of error, beside those of layers: the strategy panicked where it was built.
pub const PANICKED: u8 = 2;

/// A request to the summarizer.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawPrompt<'a> {
    pub instructions: RStr<'a>,
    pub input: RStr<'a>,
    pub max_tokens: u32,
}

/// What the summarizer answered, or why it did not: see `kind` in [`super::convert`].
#[repr(C)]
#[derive(StableAbi)]
pub struct RawCompletion {
    pub text: RString,
    pub number: u64,
    pub kind: u8,
}

/// The parts of the messages of a window, flattened when they are asked for: many a layer decides by sizes and roles,
/// and reads few of them.
#[sabi_trait]
pub trait RawParts: Sync {
    #[sabi(last_prefix_field)]
    fn of(&self, message: u32) -> RSlice<'_, RawPart<'_>>;
}

/// The parts that are lent for one plan.
pub type PartsRef<'a> = RawParts_TO<'a, RRef<'a, ()>>;

/// What a plugin may ask of its host. Grows by methods appended below `log`, each with a default body.
#[sabi_trait]
pub trait RawHost {
    fn count(&self, text: RStr<'_>) -> u32;

    /// The largest request that the summarizer takes; nothing if there is no summarizer.
    fn summarizer_window(&self) -> ROption<u64>;

    fn complete(&self, prompt: RawPrompt<'_>) -> RawCompletion;

    fn retrieval(&self, message: u64) -> ROption<RString>;

    #[sabi(last_prefix_field)]
    fn log(&self, level: u8, message: RStr<'_>);
}

/// A host that is lent for one plan.
pub type HostRef<'a> = RawHost_TO<'a, RRef<'a, ()>>;

/// A layer in a plugin. Grows by methods appended below `plan`, each with a default body.
#[sabi_trait]
pub trait RawLayer: Send + Sync {
    #[sabi(last_prefix_field)]
    fn plan(
        &self,
        window: &RawWindow<'_>,
        parts: &PartsRef<'_>,
        host: &HostRef<'_>,
    ) -> RResult<RawPlan, RawError>;

    /// Ends the layer before it is dropped; what it said if it panicked over that.
    fn end(&mut self) -> ROption<RString> {
        ROption::RNone
    }
}

/// A layer that the host owns.
pub type LayerBox = RawLayer_TO<'static, abi_stable::std_types::RBox<()>>;

/// A strategy in a plugin.
#[repr(C)]
#[derive(StableAbi)]
pub struct RawStrategy {
    pub name: RStr<'static>,
    /// The JSON Schema of its options.
    pub schema: extern "C" fn() -> RResult<RString, RawError>,
    /// The layer with these options, a JSON object.
    pub build: extern "C" fn(options: RStr<'_>) -> RResult<LayerBox, RawError>,
    pub reserved: [usize; 4],
}

/// What a plugin exports. Grows by fields appended below `strategies`.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRef)))]
#[sabi(missing_field(panic))]
pub struct Plugin {
    #[sabi(last_prefix_field)]
    pub strategies: RSlice<'static, RawStrategy>,
}

impl RootModule for PluginRef {
    declare_root_module_statics! {PluginRef}
    const BASE_NAME: &'static str = "brute_plugin";
    const NAME: &'static str = "brute_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}
