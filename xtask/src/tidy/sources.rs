//! Rules on Rust sources.

use super::lexer::{self, Parts};
use super::text::{has_word, marks_in_line};
use super::{File, Finding};

/// Where `unsafe` may stand.
const UNSAFE_FOLDERS: [&str; 2] = ["core/src/abi/", "host/src/plugins/"];
/// A file with more lines than this says why.
const MANY_LINES: usize = 500;
/// A reason stands at most this many lines of code above the `unsafe` that it is for.
const REASON_WITHIN: usize = 3;
/// The one crate for layouts that stay the same between compilers is named here only, so that it can be replaced.
const ABI_FOLDER: &str = "core/src/abi/";
/// An expectation would be met or not by the place where a macro lands; so a macro may say this, with its reason.
const IN_MACROS: &str = "#[allow(";
/// Code that does not stay, and what to do about it.
const FORBIDDEN: [(&str, &str); 6] = [
    (IN_MACROS, "use `#[expect(lint, reason = \"…\")]`"),
    ("#![allow(", "use `#![expect(lint, reason = \"…\")]`"),
    (
        "load_from_file",
        "it hands out the first library for every later file; use `abi::Library::of`",
    ),
    ("todo!", "write it"),
    ("unimplemented!", "write it"),
    ("dbg!", "take it out"),
];

/// Runs every check on a source.
pub(super) fn check(file: &File, findings: &mut Vec<Finding>) {
    let parts = lexer::take_apart(&file.text);
    documentation(file, findings);
    size(file, findings);
    unsafe_code(file, &parts, findings);
    abi_crate(file, &parts, findings);
    forbidden(file, &parts, findings);
}

/// Every file starts by saying what it is.
fn documentation(file: &File, findings: &mut Vec<Finding>) {
    let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !first.starts_with("//!") {
        findings.push(Finding::new(&file.path, 1, "no `//!` documentation at the top of the file"));
    }
}

/// A long file gives its reason among the lines of its documentation.
fn size(file: &File, findings: &mut Vec<Finding>) {
    let lines = file.text.lines().count();
    let mut head = file.text.lines().take_while(|line| line.starts_with("//!"));
    let reason =
        |line: &str| line.strip_prefix("//! Size:").is_some_and(|reason| !reason.trim().is_empty());
    if lines > MANY_LINES && !head.any(reason) {
        let message = format!(
            "{lines} lines, more than {MANY_LINES}: split it, or say why not in a line `//! Size: <reason>` at the top"
        );
        findings.push(Finding::new(&file.path, 1, message));
    }
}

/// `unsafe` stands in its folders only, each with its reason.
fn unsafe_code(file: &File, parts: &Parts, findings: &mut Vec<Finding>) {
    let code: Vec<&str> = parts.code.lines().collect();
    let comments: Vec<&str> = parts.comments.lines().collect();
    for (index, _) in code.iter().enumerate().filter(|(_, line)| has_word(line, "unsafe")) {
        let mut found = |message: &str| findings.push(Finding::new(&file.path, index + 1, message));
        if !UNSAFE_FOLDERS.iter().any(|folder| file.path.starts_with(folder)) {
            found("`unsafe` belongs in core/src/abi/ and host/src/plugins/ only");
        } else if !has_reason(&code, &comments, index) {
            found("no `SAFETY:` comment just above this `unsafe`");
        }
    }
}

/// Whether a comment on this line, or above it with little code and no other `unsafe` between, gives a reason: `SAFETY:`,
/// or the section `# Safety` that the documentation of an unsafe function has.
fn has_reason(code: &[&str], comments: &[&str], index: usize) -> bool {
    let mut code_between = 0;
    for line in (0..=index).rev() {
        if comments[line].contains("SAFETY:") || comments[line].contains("# Safety") {
            return true;
        }
        let text = code[line].trim();
        let is_attribute = text.starts_with("#[");
        if line == index || is_attribute {
            continue;
        }
        if text.is_empty() {
            if comments[line].trim().is_empty() {
                return false;
            }
            continue;
        }
        code_between += 1;
        if code_between > REASON_WITHIN || has_word(text, "unsafe") {
            return false;
        }
    }
    false
}

/// The boundary to plugins is one module.
fn abi_crate(file: &File, parts: &Parts, findings: &mut Vec<Finding>) {
    if file.path.starts_with(ABI_FOLDER) {
        return;
    }
    for (index, _) in
        parts.code.lines().enumerate().filter(|(_, line)| has_word(line, "abi_stable"))
    {
        let message = format!("`abi_stable` belongs in {ABI_FOLDER} only");
        findings.push(Finding::new(&file.path, index + 1, message));
    }
}

/// Which lines stand between the braces of a `macro_rules!`.
fn in_macros(code: &str) -> Vec<bool> {
    let mut depth = 0_usize;
    let mut opens = false;
    let mut inside = Vec::new();
    for line in code.lines() {
        opens |= depth == 0 && has_word(line, "macro_rules");
        inside.push(depth > 0);
        for char in line.chars() {
            match char {
                '{' if opens || depth > 0 => (depth, opens) = (depth + 1, false),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    inside
}

/// Code that was meant to be temporary, and comments that say so.
fn forbidden(file: &File, parts: &Parts, findings: &mut Vec<Finding>) {
    let in_macros = in_macros(&parts.code);
    for (index, (code, comments)) in parts.code.lines().zip(parts.comments.lines()).enumerate() {
        let mut found = |message| findings.push(Finding::new(&file.path, index + 1, message));
        for (words, instead) in FORBIDDEN {
            let is_excused = words == IN_MACROS && in_macros[index] && has_word(code, "reason");
            if has_word(code, words) && !is_excused {
                found(format!("`{words}`: {instead}"));
            }
        }
        for mark in marks_in_line(code).chain(marks_in_line(comments)) {
            found(format!("`{mark}`: do it, or file an issue"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check(&File { path: path.to_owned(), text: text.to_owned() }, &mut findings);
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.message)).collect()
    }

    fn assert_found(path: &str, text: &str, line: usize, says: &str) {
        let found = findings(path, text);
        let start = format!("{line}: ");
        assert!(
            found.len() == 1 && found[0].starts_with(&start) && found[0].contains(says),
            "{path}: {text}\n{found:?}"
        );
    }

    #[test]
    fn documentation_comes_first() {
        assert_eq!(findings("a.rs", "\n//! What it is.\nfn f() {}\n"), [""; 0]);
        for text in ["", "fn f() {}\n//! Late.\n", "// A remark.\n//! What it is.\n", "/// Item.\n"]
        {
            assert_found("a.rs", text, 1, "`//!`");
        }
    }

    #[test]
    fn long_files_give_a_reason() {
        let long = |head: &str, lines| format!("//! What it is.\n{head}{}", "\n".repeat(lines));
        assert_eq!(findings("a.rs", &long("", 499)), [""; 0]);
        assert_eq!(findings("a.rs", &long("//! Size: one table.\n", 499)), [""; 0]);
        assert_found("a.rs", &long("", 500), 1, "501 lines");
        assert_found("a.rs", &long("//! Size:\n", 500), 1, "502 lines");
        assert_found("a.rs", &long("\n//! Size: late.\n", 500), 1, "Size");
    }

    #[test]
    fn unsafe_stands_in_its_folders() {
        let text = "//! D.\n// SAFETY: it is.\nunsafe { f() }\n";
        for path in ["core/src/abi/view.rs", "host/src/plugins/load/file.rs"] {
            assert_eq!(findings(path, text), [""; 0], "{path}");
        }
        for path in
            ["core/src/abi.rs", "core/src/plan.rs", "plugins/a/src/lib.rs", "core/tests/abi.rs"]
        {
            assert_found(path, text, 3, "belongs in");
        }
    }

    #[test]
    fn only_the_keyword_is_unsafe() {
        for line in [
            "#![deny(unsafe_code)]",
            "// unsafe",
            "/* unsafe */",
            "const A: &str = \"unsafe\";",
            "const A: &str = r#\"unsafe\"#;",
            "fn not_unsafe() {}",
        ] {
            assert_eq!(findings("a.rs", &format!("//! D.\n{line}\n")), [""; 0], "{line}");
        }
        for line in [
            "unsafe fn f() {}",
            "let a=unsafe{f()};",
            "#[unsafe(no_mangle)]",
            "unsafe impl Send for A {}",
        ] {
            assert_found("a.rs", &format!("//! D.\n{line}\n"), 2, "`unsafe`");
        }
    }

    #[test]
    fn unsafe_has_a_reason_of_its_own() {
        let found = |text: &str| findings("core/src/abi/a.rs", &format!("//! D.\n{text}"));
        for text in [
            "// SAFETY: it is.\nunsafe { f() }\n",
            "// SAFETY: it is,\n// by the rules.\n#[inline]\nlet a =\n    unsafe { f() };\n",
            "unsafe { f() } // SAFETY: it is.\n",
            "/// Does it.\n///\n/// # Safety\n///\n/// Call it once.\npub unsafe fn f() {}\n",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        for (text, line) in [
            ("unsafe { f() }\n", 2),
            ("// It is safe.\nunsafe { f() }\n", 3),
            ("const A: &str = \"SAFETY: no\";\nunsafe { f() }\n", 3),
            ("// SAFETY: it is.\n\nunsafe { f() }\n", 4),
            ("// SAFETY: it is.\nunsafe { f() }\nunsafe { g() }\n", 4),
            ("// SAFETY: it is.\na();\nb();\nc();\nd();\nunsafe { f() }\n", 7),
        ] {
            let all = found(text);
            assert!(
                all.len() == 1 && all[0].starts_with(&format!("{line}: no `SAFETY:`")),
                "{text}: {all:?}"
            );
        }
    }

    #[test]
    fn the_crate_of_the_boundary_is_named_in_one_folder() {
        for text in ["//! D.\nuse abi_stable::RStr;\n", "//! D.\nfn f(a: ::abi_stable::RStr) {}\n"]
        {
            assert_eq!(findings("core/src/abi/raw.rs", text), [""; 0]);
            for path in ["core/src/window.rs", "host/src/plugins/load.rs", "plugins/a/src/lib.rs"] {
                assert_found(path, text, 2, "`abi_stable` belongs in core/src/abi/ only");
            }
        }
        assert_eq!(findings("core/src/window.rs", "//! `abi_stable`\n// abi_stable\n"), [""; 0]);
    }

    #[test]
    fn a_macro_may_allow_with_a_reason() {
        let macro_of = |line: &str| {
            format!("//! D.\nmacro_rules! m {{\n    () => {{\n        {line}\n    }};\n}}\n")
        };
        assert_eq!(findings("a.rs", &macro_of("#[allow(unsafe_code, reason = \"r\")]")), [""; 0]);
        assert_found("a.rs", &macro_of("#[allow(unsafe_code)]"), 4, "expect");
        assert_found("a.rs", &macro_of("#![allow(unsafe_code, reason = \"r\")]"), 4, "expect");
        let after = macro_of("{}") + "#[allow(unsafe_code, reason = \"r\")]\n";
        assert_found("a.rs", &after, 7, "expect");
    }

    #[test]
    fn what_was_meant_to_be_temporary_is_found() {
        for (line, says) in [
            ("#[allow(dead_code)]", "expect"),
            ("#![allow(dead_code)]", "expect"),
            ("fn f() { todo!() }", "`todo!`"),
            ("fn f() { unimplemented!(\"later\") }", "`unimplemented!`"),
            ("let a = dbg!(b);", "`dbg!`"),
            ("PluginRef::load_from_file(path)", "`load_from_file`"),
            ("// TODO: more", "`TODO`"),
            ("fn f() {} // (FIXME)", "`FIXME`"),
            ("/* XXX */", "`XXX`"),
            ("const TODO: u8 = 1;", "`TODO`"),
        ] {
            assert_found("a.rs", &format!("//! D.\n{line}\n"), 2, says);
        }
        for line in [
            "// `todo!` is a macro",
            "const A: &str = \"TODO #[allow( dbg!\";",
            "#[expect(dead_code, reason = \"r\")]",
            "fn f() { my_todo!() }",
            "// TODOS of others, MAXXX",
            "let todo_write = 1;",
        ] {
            assert_eq!(findings("a.rs", &format!("//! D.\n{line}\n")), [""; 0], "{line}");
        }
    }
}
