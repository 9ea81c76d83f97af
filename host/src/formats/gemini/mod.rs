//! Gemini: contents of parts, by the roles `user` and `model`.
//!
//! Names are read as the documentation spells them (`functionCall`) and as client libraries do
//! (`function_call`). What a tool answers comes from the user. A part with a `thoughtSignature` keeps it,
//! whatever becomes of its text or arguments.

mod pairing;
mod write;

pub(super) use write::Parts;

use brute_core::{Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use self::pairing::Pairing;
use super::body::wrong;
use super::json::{Texts, View, compact};
use super::pieces::{Pieces, Run, Shown, Wire, is_said, joined};
use super::slots::Slot;
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

/// The members of a response that hold its text, where it has one member.
const TEXTS: [&str; 4] = ["output", "result", "content", "error"];

/// Reads the instructions of the body, and all contents.
pub(super) fn read(
    body: Option<View<'_>>,
    contents: &[View<'_>],
    rule: ImageRule,
    texts: &mut Texts,
) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    let mut run = Run::default();
    let given = body.map(|body| either(body, ["systemInstruction", "system_instruction"]));
    if let Some(system) = given.flatten() {
        instructions(system, &mut run, &mut pieces)?;
    }
    let mut pairing = Pairing::default();
    for content in contents {
        let index = pieces.begin(content.index());
        let mut reader = Reader { content: *content, index, rule, texts, pairing: &mut pairing };
        reader.read(&mut run, &mut pieces)?;
    }
    Ok(pieces)
}

/// A content of text parts; from client libraries, a string.
fn instructions(system: View<'_>, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
    if !(system.is_string() || system.is_object()) {
        return Err(wrong(system, "a content with `parts` of text"));
    }
    run.begin(Wire::System, system.index(), Role::System);
    let parts = system.get("parts").into_iter().flat_map(View::items);
    for part in parts.chain(system.is_string().then_some(system)) {
        let text = if part.is_string() { Some(part) } else { part.get("text") };
        let text = text.and_then(View::string);
        let text = text.ok_or_else(|| wrong(part, "a part with a `text`"))?;
        if !text.is_empty() {
            run.add(Part::text(text), Slot::Content, system.index(), pieces);
        }
    }
    run.end(pieces);
    Ok(())
}

/// The member of one of these names that says something.
fn either<'a>(object: View<'a>, names: [&str; 2]) -> Option<View<'a>> {
    let found = names.into_iter().find_map(|name| object.get(name));
    found.filter(|value| !value.is_null())
}

/// The fields of a part that are read. Null says what a field that is not there says.
struct Fields<'a> {
    text: Option<View<'a>>,
    thought: Option<View<'a>>,
    signature: Option<View<'a>>,
    call: Option<View<'a>>,
    response: Option<View<'a>>,
}

impl<'a> Fields<'a> {
    fn of(part: View<'a>) -> Self {
        let found = part.fields([
            "text",
            "thought",
            "thoughtSignature",
            "thought_signature",
            "functionCall",
            "function_call",
            "functionResponse",
            "function_response",
        ]);
        let [text, thought, signature, signature_, call, call_, response, response_] =
            found.map(|field| field.filter(|value| !value.is_null()));
        Self {
            text,
            thought,
            signature: signature.or(signature_),
            call: call.or(call_),
            response: response.or(response_),
        }
    }
}

struct Reader<'a, 't> {
    content: View<'a>,
    index: usize,
    rule: ImageRule,
    texts: &'t mut Texts,
    pairing: &'t mut Pairing,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
        let [role, parts] = self.content.fields(["role", "parts"]);
        let named = role.filter(|role| !role.is_null());
        let role = match named.and_then(View::text).as_deref() {
            None if named.is_none() => Role::User,
            // What answers a call once had a role of its own.
            Some("user" | "function" | "tool") => Role::User,
            Some("model") => Role::Assistant,
            other => {
                return Err(ReadError::UnknownRole {
                    index: self.index,
                    pointer: pointer(named.unwrap_or(self.content)),
                    role: other.unwrap_or_default().to_owned(),
                    format: Format::Gemini,
                    known: "`user` and `model`",
                });
            }
        };
        let parts = match parts {
            Some(parts) if parts.is_array() => parts,
            found => {
                let found = found.unwrap_or(self.content);
                return Err(self.shape(found, "`parts`: an array of parts"));
            }
        };
        if role == Role::Assistant && parts.items().any(|part| Fields::of(part).call.is_some()) {
            self.pairing.forget();
        }
        run.begin(Wire::message(self.index), self.content.index(), role);
        let mut shown = Shown::default();
        let mut holds_results_alone = None;
        for part in parts.items() {
            let node = part.index();
            let read = self.part(part, role)?;
            match read {
                Part::ToolResult(result) if role == Role::User => {
                    run.end(pieces);
                    let wire = Wire::message(self.index);
                    pieces.push_result(wire, node, result, Slot::Element(node));
                }
                Part::Media(_) | Part::Opaque(_)
                    if role == Role::User
                        && *holds_results_alone
                            .get_or_insert_with(|| self::holds_results_alone(parts)) =>
                {
                    shown.add(read, node, pieces);
                }
                read => run.add(read, Slot::Element(node), node, pieces),
            }
        }
        run.end(pieces);
        shown.attach(self.index, pieces);
        if pieces.of_newest_wire().is_empty() {
            run.blank();
            run.end_even_empty(pieces);
        }
        Ok(())
    }

    fn part(&mut self, part: View<'a>, role: Role) -> Result<Part, ReadError> {
        if !part.is_object() {
            return Err(self.shape(part, "a part: an object with a `text`, a `functionCall`, …"));
        }
        let fields = Fields::of(part);
        if let Some(call) = fields.call {
            return self.call(call).map(Part::ToolCall);
        }
        if let Some(response) = fields.response {
            return self.response(response).map(Part::ToolResult);
        }
        if let Some(given) = fields.text {
            let text = self.texts.take(given);
            let text = text.ok_or_else(|| self.shape(given, "the text of the part, a string,"))?;
            let is_thought = fields.thought.and_then(View::bool).unwrap_or(false);
            let signed = fields.signature.is_some_and(|given| given.raw() != "\"\"");
            // A reply may end in a part that has no text, but the signature of what was thought.
            let is_thought = is_thought || (signed && text.is_empty());
            return Ok(match is_thought && role == Role::Assistant {
                true => Part::Reasoning(Reasoning { text, signed }),
                false => Part::text(text),
            });
        }
        let media = media::gemini(part, self.rule);
        Ok(media.map_or_else(|| opaque_part(part), Part::Media))
    }

    fn call(&mut self, call: View<'a>) -> Result<ToolCall, ReadError> {
        let [name, id, args] = call.fields(["name", "id", "args"]);
        let name = name.and_then(View::string);
        let name = name.ok_or_else(|| self.shape(call, "a call that names its function"))?;
        let id = self.pairing.call(&name, given_id(id));
        let arguments = args.filter(|args| !args.is_null()).map_or("{}", View::raw).to_owned();
        Ok(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
    }

    fn response(&mut self, response: View<'a>) -> Result<ToolResult, ReadError> {
        let [name, id, said, parts] = response.fields(["name", "id", "response", "parts"]);
        let name = name.and_then(View::string);
        let name =
            name.ok_or_else(|| self.shape(response, "a response that names its function"))?;
        let call = self.pairing.response(&name, given_id(id));
        let said = said.filter(|said| !said.is_null());
        let is_error = said.is_some_and(|said| {
            said.get("error").is_some_and(|error| !error.is_null() && error.bool() != Some(false))
        });
        let said = said.map(|said| self.words(said).into());
        let mut lines: Vec<Box<str>> = said.into_iter().collect();
        let mut media = Vec::new();
        for part in parts.into_iter().flat_map(View::items) {
            match self.part(part, Role::User)? {
                Part::Media(seen) => media.push(seen),
                Part::Text(text) => lines.push(text),
                Part::Opaque(opaque) => lines.push(opaque.text),
                _ => {}
            }
        }
        Ok(ToolResult { call: call.into(), text: joined(lines), media: media.into(), is_error })
    }

    /// What a response says: its text, if it is one, or its JSON.
    fn words(&mut self, said: View<'a>) -> String {
        match text_of(said).and_then(|text| self.texts.take(text)) {
            Some(text) => text.into(),
            None => compact(said.raw()),
        }
    }

    fn shape(&self, found: View<'_>, expected: &'static str) -> ReadError {
        let (index, pointer) = (self.index, pointer(found));
        ReadError::Shape { index, pointer, expected, found: found.describe() }
    }
}

/// Whether a part can be read, by itself.
pub(crate) fn is_part(part: View<'_>) -> bool {
    let (texts, pairing) = (&mut Texts::default(), &mut Pairing::default());
    let rule = ImageRule::from(Format::Gemini.provider());
    let mut reader = Reader { content: part, index: 0, rule, texts, pairing };
    reader.part(part, Role::Assistant).is_ok()
}

fn pointer(value: View<'_>) -> String {
    value.source().pointer(value.index())
}

/// An id that names something.
fn given_id(id: Option<View<'_>>) -> Option<String> {
    id.and_then(View::string).filter(|id| !id.is_empty())
}

/// The one text that a response is.
fn text_of(said: View<'_>) -> Option<View<'_>> {
    if said.is_string() {
        return Some(said);
    }
    let mut members = said.members();
    let (key, value) = members.next().filter(|(_, value)| value.is_string())?;
    let is_lone = members.next().is_none() && TEXTS.iter().any(|name| key.is_text(name));
    is_lone.then_some(value)
}

/// Whether `parts` bring results, and not a word of a person: what else is in them belongs to the results.
fn holds_results_alone(parts: View<'_>) -> bool {
    let mut has_results = false;
    for part in parts.items() {
        let fields = Fields::of(part);
        has_results |= fields.response.is_some();
        let text = fields.text.and_then(View::string);
        if text.is_some_and(|text| is_said(&Part::text(text))) {
            return false;
        }
    }
    has_results
}

/// A part that only the provider can read, named by its field.
fn opaque_part(part: View<'_>) -> Part {
    let beside = ["thought", "thoughtSignature", "thought_signature", "videoMetadata"];
    let key =
        part.members().map(|(key, _)| key).find(|key| !beside.iter().any(|it| key.is_text(it)));
    match opaque::part(part) {
        Part::Opaque(Opaque { kind, text }) => {
            let kind = key.and_then(View::string).unwrap_or(kind.into());
            Part::Opaque(Opaque { kind: kind.into(), text })
        }
        other => other,
    }
}

/// What `inlineData` or `fileData` of a part is.
pub(super) fn data_of(part: View<'_>) -> Option<View<'_>> {
    either(part, ["inlineData", "inline_data"]).or_else(|| either(part, ["fileData", "file_data"]))
}

/// The kind of such data.
pub(super) fn kind_of(data: View<'_>) -> Option<String> {
    either(data, ["mimeType", "mime_type"]).and_then(View::string)
}
