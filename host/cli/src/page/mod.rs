//! `--html FILE`: what a replay found out as one page that needs nothing else, neither a network nor a font.
//!
//! Words and tables stand in the page as they are; what is drawn is drawn by `page.js` from the data that the page
//! carries, in the size that the reader's screen has.

mod text;
mod walks;

use std::path::Path;

use brute_host::config::Config;
use brute_host::layers::Layers;
use serde::Serialize;

use crate::args::Global;
use crate::exit::Failure;
use crate::grid::Grid;
use crate::{output, session};

pub(crate) use walks::{Walks, Went};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: String,
    /// What it is about, each a paragraph.
    pub(crate) lead: Vec<String>,
    /// What is weighed against each other; nothing is drawn of fewer than two.
    pub(crate) trade: Vec<Point>,
    /// Whether costs are in dollars; otherwise they are in tokens of input.
    pub(crate) is_priced: bool,
    /// Tables, each with a caption.
    pub(crate) tables: Vec<(String, Grid)>,
    /// What to know of the tables, each a paragraph.
    pub(crate) notes: Vec<String>,
    /// What can be gone through message by message.
    pub(crate) walks: Walks,
    /// Ladders, each with its name.
    pub(crate) ladders: Vec<(String, String)>,
}

/// What something costs and what recall it has.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) cost: f64,
    pub(crate) recall: f64,
    /// The cost as the table has it.
    pub(crate) words: String,
    /// Whether no other ladder beats it.
    pub(crate) unbeaten: bool,
    /// Whether it is no ladder, but what happens without one.
    pub(crate) baseline: bool,
}

/// The file of a ladder as it is written, or all that is in force where no single file says it.
pub(crate) fn ladder(
    global: &Global,
    file: Option<&Path>,
    config: &Config,
    layers: &Layers,
) -> Result<String, Failure> {
    match file.filter(|_| global.set.is_empty() && !global.no_config) {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| session::cannot_read(file, &error))
        }
        None => Ok(config.resolved_toml(layers)),
    }
}

impl Page {
    /// Writes it to `file`.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        output::file(file, self.html().as_bytes())
    }

    fn html(&self) -> String {
        let title = text::escaped(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        html.extend(self.lead.iter().map(|words| paragraph("lead", words)));
        html.push_str(
            "<noscript><p>Charts and messages need JavaScript; the tables do not.</p></noscript>\n",
        );
        if self.trade.len() > 1 {
            html.push_str(
                "<section aria-labelledby=\"trade-head\">\n<h2 id=\"trade-head\">Recall against cost</h2>\n\
                 <p>Up is what is remembered, left is what is cheap. What nothing else beats is filled and \
                 joined.</p>\n<div id=\"trade\" class=\"chart\"></div>\n</section>\n",
            );
        }
        for (number, (caption, grid)) in self.tables.iter().enumerate() {
            html.push_str(&table(number, caption, grid));
        }
        html.extend(self.notes.iter().map(|words| paragraph("note", words)));
        if !self.walks.is_empty() {
            html.push_str(&walk(&self.walks));
        }
        if !self.ladders.is_empty() {
            html.push_str("<section aria-labelledby=\"ladder-head\">\n<h2 id=\"ladder-head\">The ladder</h2>\n");
            for (name, toml) in &self.ladders {
                html.push_str(&format!(
                    "<details{}><summary>{}</summary>\n<pre tabindex=\"0\" class=\"toml\">{}</pre></details>\n",
                    if self.ladders.len() == 1 { " open" } else { "" },
                    text::escaped(name),
                    text::escaped(toml)
                ));
            }
            html.push_str("</section>\n");
        }
        let data = text::in_script(&Data {
            trade: &self.trade,
            priced: self.is_priced,
            walks: &self.walks,
        });
        html.push_str(&format!(
            "</main>\n<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n\
             </body>\n</html>\n"
        ));
        html
    }
}

/// What the script draws.
#[derive(Serialize)]
struct Data<'p> {
    trade: &'p [Point],
    priced: bool,
    walks: &'p Walks,
}

/// Words, of which those in backticks are code.
fn paragraph(class: &str, words: &str) -> String {
    let pieces = words.split('`').map(text::escaped).enumerate();
    let pieces = pieces.map(|(at, piece)| match at % 2 {
        0 => piece,
        _ => format!("<code>{piece}</code>"),
    });
    format!("<p class=\"{class}\">{}</p>\n", pieces.collect::<String>())
}

fn table(number: usize, caption: &str, grid: &Grid) -> String {
    let cell = |column: usize, words: &str| {
        let class = if column < grid.figures { " class=\"words\"" } else { "" };
        format!("<td{class}>{}</td>", text::escaped(words))
    };
    let mut html = format!(
        "<section aria-labelledby=\"table-{number}\">\n<h2 id=\"table-{number}\">{}</h2>\n\
         <div class=\"table\" tabindex=\"0\" role=\"region\" aria-labelledby=\"table-{number}\">\n<table>\n<thead><tr>",
        text::escaped(caption)
    );
    for (column, words) in grid.header.iter().enumerate() {
        let class = if column < grid.figures { " class=\"words\"" } else { "" };
        html.push_str(&match words.as_str() {
            "" => "<td></td>".to_owned(),
            words => format!("<th scope=\"col\"{class}>{}</th>", text::escaped(words)),
        });
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in &grid.rows {
        html.push_str("<tr>");
        for (column, words) in row.iter().enumerate() {
            html.push_str(&match column == grid.named {
                // Blanks at its head say that it is part of the row above.
                true if words.starts_with(' ') => {
                    format!("<th scope=\"row\" class=\"part\">{}</th>", text::escaped(words.trim()))
                }
                true => format!("<th scope=\"row\">{}</th>", text::escaped(words)),
                false => cell(column, words),
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n</section>\n");
    html
}

/// Where the script shows one session.
fn walk(walks: &Walks) -> String {
    let mut html = String::from(
        "<section aria-labelledby=\"walk-head\">\n<h2 id=\"walk-head\">Message by message</h2>\n",
    );
    html.extend(walks.notes().iter().map(|words| paragraph("note", words)));
    html.push_str(
        "<div id=\"choose\" class=\"choose\"></div>\n\
         <dl id=\"figures\" class=\"figures\"></dl>\n\
         <div id=\"saw\" class=\"chart\"></div>\n\
         <fieldset id=\"compactions\" class=\"compactions\"><legend>Compaction</legend></fieldset>\n\
         <p id=\"compaction\" aria-live=\"polite\"></p>\n\
         <ul id=\"legend\" class=\"legend\" aria-label=\"What became of the messages\"></ul>\n\
         <div id=\"strip\" class=\"strip\" role=\"listbox\" aria-label=\"Recorded messages\" \
         aria-describedby=\"strip-help\"></div>\n\
         <p id=\"strip-help\" class=\"note\">Arrow keys move from message to message, Enter or a click opens one below. \
         Letters say who speaks: s instructions, u a person, a the model, t a tool. A ring marks what changed in this \
         compaction.</p>\n\
         <section id=\"reading\" class=\"reading\" aria-labelledby=\"reading-head\">\n\
         <h3 id=\"reading-head\" aria-live=\"polite\">No message is open</h3>\n\
         <div id=\"texts\" class=\"texts\"></div>\n</section>\n</section>\n",
    );
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays_text() {
        let odd = "</script><script>alert(1)</script>\u{2028}<!-- & \"quoted\" 'too'";
        let mut grid = Grid::new(["", "size"], 0);
        grid.rows.push(vec![odd.into(), "1".into()]);
        let page = Page {
            title: odd.into(),
            lead: vec![odd.into()],
            trade: ["a", odd]
                .map(|name| Point {
                    name: name.into(),
                    cost: 1.0,
                    recall: 1.0,
                    words: odd.into(),
                    unbeaten: true,
                    baseline: false,
                })
                .into(),
            tables: vec![(odd.into(), grid)],
            ladders: vec![(odd.into(), odd.into())],
            ..Page::default()
        };
        let html = page.html();
        let count = |piece: &str| html.matches(piece).count();
        assert_eq!((count("<script"), count("</script"), count("<!--")), (2, 2, 0));
        // The names of two kinds of elements, which nobody fetches.
        assert_eq!((count("://"), count("://www.w3.org/")), (2, 2));
        assert!(!html.contains("alert(1)<") && !html.contains("src=") && !html.contains("url("));
        assert_eq!(count("<th scope=\"row\">"), 1);
    }
}
