// Draws the charts and the strip of messages from the data in the page. What messages say is only ever set as text.
"use strict";
(() => {
  const { trade, priced, walks } = JSON.parse(document.getElementById("data").textContent);
  const FATES = ["kept", "shrunk", "gone", "summarized"];
  const LETTERS = { system: "s", user: "u", assistant: "a", tool: "t", other: "o" };
  const SPEAKERS = { system: "instructions", user: "a person", assistant: "the model", tool: "a tool", other: "a record" };
  const byId = (id) => document.getElementById(id);
  const number = (value) => Math.round(value).toLocaleString("en-US");

  /** An element with attributes, children, and listeners (functions). */
  const made = (space) => (name, attributes = {}, ...children) => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };
  const html = made("http://www.w3.org/1999/xhtml");
  const svg = made("http://www.w3.org/2000/svg");

  /** Round values within [least, most], about `count` of them. */
  const ticks = (least, most, count) => {
    const rough = (most - least) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
    const all = [];
    for (let at = Math.ceil(least / step); at * step <= most + step * 1e-9; at += 1) all.push(at * step);
    return all;
  };
  const short = (tokens) => {
    if (tokens >= 1e6) return `${+(tokens / 1e6).toFixed(2)}M`;
    return tokens >= 1e3 ? `${+(tokens / 1e3).toFixed(1)}k` : `${+tokens.toFixed(2)}`;
  };
  const redrawn = (place, draw) => {
    let width = 0;
    new ResizeObserver(() => {
      if (place.clientWidth !== width) {
        width = place.clientWidth;
        draw();
      }
    }).observe(place);
  };

  /** Recall against cost: what nothing beats is filled, named and joined. */
  const drawTrade = () => {
    const place = byId("trade");
    const [width, height] = [place.clientWidth, Math.min(380, Math.max(260, place.clientWidth * 0.5))];
    const [left, right, top, bottom] = [52, 16, 28, 44];
    const costs = trade.map((point) => point.cost);
    const recalls = trade.map((point) => point.recall * 100);
    const span = (values, least) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const room = Math.max((high - low) * 0.12, least);
      return [Math.max(0, low - room), high + room];
    };
    const [x0, x1] = span(costs, Math.max(...costs) * 0.01 || 1);
    let [y0, y1] = span(recalls, 2);
    y1 = Math.min(y1, 100.5);
    const x = (cost) => left + ((cost - x0) / (x1 - x0)) * (width - left - right);
    const y = (recall) => height - bottom - ((recall - y0) / (y1 - y0)) * (height - top - bottom);
    const chart = svg("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, height,
      "aria-label": `Recall against cost of ${trade.length}, as the table has them. Nothing beats ${trade.filter((point) => point.unbeaten)
        .map((point) => `${point.name}, recall ${(point.recall * 100).toFixed(1)} %, cost ${point.words}`).join("; ")}.` });
    for (const tick of ticks(y0, Math.min(y1, 100), 5)) {
      chart.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, `${+tick.toFixed(2)} %`));
    }
    for (const tick of ticks(x0, x1, Math.max(3, Math.floor(width / 130)))) {
      chart.append(svg("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, short(tick)));
    }
    chart.append(svg("text", { x: left - 44, y: 13 }, "recall"),
      svg("text", { x: width - right, y: height - 6, "text-anchor": "end" }, `cost, in ${priced ? "US$" : "tokens of input"} →`));
    const best = trade.filter((point) => point.unbeaten).sort((one, other) => one.cost - other.cost);
    // One may be unbeaten for the requests over the window that it does not send: it is filled, but joins nothing.
    const front = best.filter((point, at) => best.slice(0, at).every((other) => other.recall < point.recall));
    const joined = front.map((point) => `${x(point.cost)},${y(point.recall * 100)}`).join(" ");
    chart.append(svg("polyline", { class: "front", points: joined }));
    const taken = trade.map((point) => [x(point.cost) - 6, y(point.recall * 100) - 6, 12, 12]);
    for (const point of [...trade].sort((one, other) => one.unbeaten - other.unbeaten)) {
      const [cx, cy] = [x(point.cost), y(point.recall * 100)];
      const shape = point.baseline ? svg("rect", { x: cx - 5, y: cy - 5, width: 10, height: 10, class: "baseline" })
        : svg("circle", { cx, cy, r: 5.5, class: point.unbeaten ? "best" : "" });
      shape.append(svg("title", {}, `${point.name}: recall ${(point.recall * 100).toFixed(1)} %, cost ${point.words}`));
      chart.append(shape);
    }
    for (const point of [...best, ...trade.filter((point) => !point.unbeaten)]) {
      const [cx, cy, long] = [x(point.cost), y(point.recall * 100), point.name.length * 7.5];
      const places = [[cx + 10, cy - 8], [cx - 10 - long, cy - 8], [cx - long / 2, cy - 24], [cx - long / 2, cy + 9],
        [cx + 8 - long, cy + 9], [cx + 8 - long, cy - 24]];
      const free = places.find(([px, py]) => px >= left && px + long <= width && py >= 0 && !taken.some(
        ([tx, ty, tw, th]) => px < tx + tw && tx < px + long && py < ty + th && ty < py + 16));
      if (!free) continue;
      taken.push([free[0], free[1], long, 16]);
      chart.append(svg("text", { x: free[0], y: free[1] + 12, class: "on" }, point.name));
    }
    place.replaceChildren(chart);
  };

  /** What is shown: a walk, a compaction of it, and the message that is open. */
  const shown = { walk: walks.walks[0], step: 0, open: null };

  /** The fate of each message before compaction `step`: [fate, rung, text, compaction]. */
  const statesAt = (walk, step) => {
    const states = [];
    walk.compactions.slice(0, step + 1).forEach((compaction, at) => {
      while (states.length < compaction.message) states.push([0, null, null, 0]);
      for (const [first, last, fate, rung, text] of compaction.changed) {
        for (let message = first; message <= last; message += 1) {
          const [was, by, , since] = states[message];
          // A summary of a summary tells of what was summarized before.
          states[message] = [fate, rung, text, was === fate && by === rung ? since : at];
        }
      }
    });
    return states;
  };

  /** The size of requests over calls, which compactions make a saw-tooth. */
  const drawSaw = () => {
    const [place, walk] = [byId("saw"), shown.walk];
    if (walk.calls.length === 0) return place.replaceChildren();
    const [width, height] = [place.clientWidth, 300];
    const [left, right, top, bottom] = [52, 12, 40, 44];
    // An agent may have compacted before a message that is no call: then the next call shows it.
    const due = new Map(walk.compactions.map((compaction, at) =>
      [walk.calls.find(([message]) => message >= compaction.message)?.[0], at]));
    const peak = Math.max(...walk.calls.map((call) => call[1]), ...walk.compactions.map((one) => one.before));
    const lines = [["limit", walk.window, "window"], ["due", walk.due, "compaction at"], ["target", walk.target, "target"]]
      .filter(([name, size]) => name === "limit" || (size !== null && walk.compactions.length > 0));
    const most = Math.max(peak, ...lines.map((line) => line[1]).filter((size) => size < peak * 4)) * 1.06;
    const x = (call) => left + ((call + 0.5) / walk.calls.length) * (width - left - right);
    const y = (size) => height - bottom - (size / most) * (height - top - bottom);
    const count = walk.compactions.length;
    const chart = svg("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, height,
      "aria-label": `Size of ${walk.calls.length} requests, the largest ${number(peak)} tokens, with ${count} ` +
        `compactions; the window is ${number(walk.window)} tokens.` });
    for (const tick of ticks(0, most, 4)) {
      chart.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, short(tick)));
    }
    for (const tick of ticks(1, walk.calls.length, Math.max(2, Math.floor(width / 110)))) {
      if (Number.isInteger(tick)) {
        chart.append(svg("text", { x: x(tick - 1), y: height - bottom + 18, "text-anchor": "middle" }, number(tick)));
      }
    }
    const labels = [];
    chart.append(svg("text", { x: left - 44, y: 13 }, "tokens"),
      svg("text", { x: width - right, y: height - 6, "text-anchor": "end" }, "call of the model →"));
    const wide = (width - left - right) / walk.calls.length;
    const [sizes, cached] = [[], []];
    walk.calls.forEach(([message, size, had], at) => {
      const compaction = walk.compactions[due.get(message)];
      if (compaction) sizes.push(`${x(at)},${y(compaction.before)}`);
      sizes.push(`${x(at)},${y(size)}`);
      cached.push(`${x(at) - wide / 2},${y(had)}`, `${x(at) + wide / 2},${y(had)}`);
    });
    const floor = [`${width - right},${y(0)}`, `${left},${y(0)}`];
    chart.append(svg("polygon", { class: "cached", points: [...cached, ...floor].join(" ") }),
      svg("polyline", { class: "size", points: sizes.join(" ") }));
    const names = [];
    for (const [name, size, words] of lines.filter((line) => line[1] <= most)) {
      chart.append(svg("line", { class: name, x1: left, x2: width - right, y1: y(size), y2: y(size) }));
      const at = y(size) + (name === "target" ? 16 : -6);
      const clash = names.some((other) => Math.abs(other - at) < 14);
      names.push(at);
      labels.push(svg("text", { class: "on", x: clash ? left + 6 : width - right, y: at,
        "text-anchor": clash ? "start" : "end" }, `${words} ${number(size)}`));
    }
    let numbered = -Infinity;
    walk.calls.forEach(([message], at) => {
      const step = due.get(message);
      if (step === undefined) return;
      const [cx, chosen] = [x(at), step === shown.step];
      const mark = svg("g", { class: chosen ? "mark chosen" : "mark", click: () => choose(step) },
        svg("title", {}, `compaction ${step + 1}`),
        svg("rect", { x: cx - Math.max(6, wide / 2), y: 16, width: Math.max(12, wide), height: height - bottom - 16 }),
        svg("line", { x1: cx, x2: cx, y1: 36, y2: y(walk.compactions[step].after) }),
        svg("path", { d: `M${cx - 5} 27h10l-5 9z` }));
      if (cx - numbered >= 20) {
        mark.append(svg("text", { x: cx, y: 22, "text-anchor": "middle", class: chosen ? "on" : "" }, `${step + 1}`));
        numbered = cx;
      }
      chart.append(mark);
    });
    chart.append(...labels);
    if (walk.window > most) {
      chart.append(svg("text", { class: "on", x: width - right, y: 13, "text-anchor": "end" },
        `window ${number(walk.window)}, beyond this chart`));
    }
    place.replaceChildren(chart, html("p", { class: "note" }, "The line is the size of each request; the filled part of it " +
      "is what the prompt cache had. Triangles are compactions."));
  };

  /** The messages before the chosen compaction, and what became of each. */
  const drawStrip = () => {
    const { walk, step } = shown;
    const compaction = walk.compactions[step];
    const strip = byId("strip");
    byId("strip-help").hidden = !compaction;
    byId("reading").hidden = !compaction;
    strip.hidden = !compaction;
    if (!compaction) {
      strip.replaceChildren();
      byId("legend").replaceChildren();
      byId("compaction").textContent = "Nothing was compacted.";
      return;
    }
    const states = statesAt(walk, step);
    const messages = walks.sessions[walk.session].messages;
    byId("compaction").textContent = compaction.words;
    byId("legend").replaceChildren(...FATES.map((name, fate) => html("li", {},
      html("span", { class: `cell ${name}`, "aria-hidden": "true" }),
      `${number(states.filter((state) => state[0] === fate).length)} ${name}`)));
    strip.replaceChildren(...states.map(([fate, , text, at], index) => {
      const { role, tool, tokens } = messages[index];
      const size = fate === 1 && text !== null ? `${number(tokens)} to ${number(walks.texts[text].tokens)}` : number(tokens);
      const fresh = fate !== 0 && at === step;
      return html("div", { role: "option", id: `message-${index}`, tabindex: index === 0 ? "0" : "-1",
        class: `cell ${FATES[fate]}${fresh ? " fresh" : ""}`, "aria-selected": "false",
        "aria-label": `message ${index}, ${tool ?? SPEAKERS[role]}, ${FATES[fate]}, ${size} tokens`,
        title: `${index}: ${tool ?? SPEAKERS[role]}, ${FATES[fate]}, ${size} tokens` }, LETTERS[role]);
    }));
    read(null);
  };

  /** Opens a message in the reading pane, or none. */
  const read = (index) => {
    byId("strip").querySelectorAll("[aria-selected=true]").forEach((cell) => cell.setAttribute("aria-selected", "false"));
    shown.open = index;
    const [head, texts] = [byId("reading-head"), byId("texts")];
    if (index === null) {
      head.textContent = "No message is open";
      texts.replaceChildren();
      return;
    }
    const { walk, step } = shown;
    const [fate, rung, text, at] = statesAt(walk, step)[index];
    const recorded = walks.sessions[walk.session].messages[index];
    const now = text === null ? null : walks.texts[text];
    focusOn(byId(`message-${index}`), false).setAttribute("aria-selected", "true");
    const who = walk.own ? "its own agent" : walk.rungs[rung];
    const by = who === undefined ? (walk.calls.length && fate === 1 ? " by truncation, before it came in" : "")
      : ` by ${who}${walk.calls.length ? `, in compaction ${at + 1}` : ""}`;
    head.textContent = `Message ${index}, ${recorded.tool ?? SPEAKERS[recorded.role]}: ${FATES[fate]}${fate ? by : ""}`;
    const pane = (title, said) => html("div", {}, html("h4", {}, title),
      html("pre", { tabindex: "0", role: "region", "aria-label": title }, said || "(nothing to read)"));
    const panes = [pane(`${fate ? "Before" : "Before and after"}, ${number(recorded.tokens)} tokens`, recorded.text)];
    if (fate !== 0) {
      const title = ["", "After", "What tells of it", "The summary in its place"][fate];
      panes.push(now ? pane(`${title}, ${number(now.tokens)} tokens`, now.text)
        : html("div", {}, html("h4", {}, "After"), html("p", {}, "Nothing stands in its place.")));
    }
    texts.replaceChildren(...panes);
  };

  /** Makes `cell` the one that Tab comes to. */
  const focusOn = (cell, moves = true) => {
    byId("strip").querySelectorAll("[tabindex='0']").forEach((other) => other.setAttribute("tabindex", "-1"));
    cell.setAttribute("tabindex", "0");
    if (moves) cell.focus();
    return cell;
  };

  const onStrip = (event) => {
    const cell = event.target.closest("[role=option]");
    if (!cell) return;
    const cells = [...byId("strip").children];
    const at = cells.indexOf(cell);
    if (event.type === "click" || event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      read(at);
      return;
    }
    const row = Math.max(1, cells.filter((other) => other.offsetTop === cells[0].offsetTop).length);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0,
      End: cells.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (cells[to]) focusOn(cells[to]);
  };

  const choose = (step) => {
    shown.step = step;
    const input = byId("compactions").querySelectorAll("input")[step];
    if (input) input.checked = true;
    drawSaw();
    drawStrip();
  };

  /** The choices of a walk: of each axis what there is under those before it. */
  const drawChoices = () => {
    const { walk } = shown;
    byId("choose").replaceChildren(...walks.axes.map((axis, at) => {
      const under = walks.walks.filter((other) => other.keys.slice(0, at).every((key, up) => key === walk.keys[up]));
      const keys = [...new Set(under.map((other) => other.keys[at]))];
      const options = keys.map((key) => html("option", key === walk.keys[at] ? { selected: "" } : {}, key));
      const select = html("select", { change: (event) => {
        const fits = under.filter((other) => other.keys[at] === event.target.value);
        const alike = (other) => other.keys.filter((key, place) => key === shown.walk.keys[place]).length;
        show(fits.reduce((best, other) => (alike(other) > alike(best) ? other : best)));
        byId("choose").querySelectorAll("select")[at].focus();
      } }, ...options);
      return html("label", {}, axis, select);
    }));
  };

  const show = (walk) => {
    shown.walk = walk;
    drawChoices();
    byId("figures").replaceChildren(...walk.figures.map(([name, figure]) =>
      html("div", {}, html("dt", {}, name), html("dd", {}, figure))));
    const radios = walk.compactions.map((compaction, step) => html("label", {},
      html("input", { type: "radio", name: "compaction", change: () => choose(step),
        "aria-label": `compaction ${step + 1}, ${number(compaction.before)} to ${number(compaction.after)} tokens` }),
      html("span", {}, `${step + 1}`)));
    const fieldset = byId("compactions");
    fieldset.replaceChildren(fieldset.firstElementChild, ...radios);
    fieldset.hidden = radios.length < 2;
    choose(Math.max(0, walk.compactions.length - 1));
  };

  if (trade.length > 1) redrawn(byId("trade"), drawTrade);
  if (shown.walk) {
    const first = walks.walks.find((walk) => walk.compactions.length > 0);
    byId("strip").addEventListener("click", onStrip);
    byId("strip").addEventListener("keydown", onStrip);
    show(first ?? shown.walk);
    redrawn(byId("saw"), drawSaw);
  }
  document.documentElement.dataset.drawn = "whole";
})();
