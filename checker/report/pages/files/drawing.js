"use strict";
// Draws a story: its steps on lanes, and the state after a step. Every text becomes a text node, never markup.

const Drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const EPOCHS = 6;
  const COLOURS = 5;
  const FOLDED = 24;
  const TAGGED = new Set(["role", "epoch", "leader_epoch", "high_watermark"]);

  /** An element with attributes and children. Children are texts or elements; null is left out. */
  function make(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
  }

  function shape(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
  }

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** A text in which a short `old -> new` stays on one line. */
  const flowing = (text) => text.split(/((?:\{[^{}]{0,14}\}|\S{1,14}) -> (?:\{[^{}]{0,14}\}|\S{1,14})|->)/).map((part, i) => i % 2 ? make("span", { class: "flow" }, part) : part);

  /** The state after each step: every text and every log. A step of the story has only those that differ. */
  function unfold(story) {
    let texts = [], logs = [];
    return story.steps.map((step) => {
      texts = texts.slice();
      logs = logs.slice();
      for (const [row, text] of Object.entries(step.texts)) texts[row] = text;
      for (const [log, drawn] of Object.entries(step.logs)) logs[log] = drawn;
      return { texts, logs };
    });
  }

  /** Matches a window so narrow that the state is shown below its step and not beside the list, as in the style. */
  const narrow = matchMedia("(max-width: 56rem)");

  /** The colour of a broker or another member of a scalarset. A controller has none, because it may be a broker. */
  const colour = (name) => {
    const found = /^(?!controller )\S+ (\d+)$/.exec(name || "");
    return found ? `broker${Number(found[1]) % COLOURS}` : "nobody";
  };

  // --- lanes ---------------------------------------------------------------------------------------------------------

  /** The middle and the width of each lane, and the width of all. A folded lane is as narrow as its mark. */
  function measured(lanes, folded) {
    const widths = lanes.map((lane) => folded.has(lane.name) ? FOLDED : Math.max(54, 7 * lane.title.length + 12));
    let left = 0;
    const middle = new Map();
    lanes.forEach((lane, i) => { middle.set(lane.name, left + widths[i] / 2); left += widths[i]; });
    return { middle, widths, width: left };
  }

  /** The heads of the lanes. A click on a head folds or unfolds its lane. */
  function laneHeads(lanes, places, folded, toggle) {
    const heads = lanes.map((lane, i) => {
      const away = folded.has(lane.name);
      const says = `${lane.title}: lane ${away ? "folded" : "shown"}`;
      const head = make("button", {
        type: "button", class: `lane-head ${colour(lane.name)}`, "aria-expanded": String(!away), "aria-label": says,
        title: `${says}; ${away ? "unfold" : "fold"} it`, "data-lane": lane.name, onclick: () => toggle(lane.name),
      }, away ? "▸" : lane.title);
      head.style.width = `${places.widths[i]}px`;
      return head;
    });
    return make("div", { class: "lanes", role: "group", "aria-label": "Lanes" }, heads);
  }

  /** One step on its lanes: the actor, its partners, and the members whose part of the state changes. */
  function laneRow(story, step, lanes, places) {
    const lines = lanes.map((lane) => shape("line", {
      class: `lane ${colour(lane.name)}`, x1: places.middle.get(lane.name), x2: places.middle.get(lane.name), y1: 0, y2: "100%",
    }));
    const from = places.middle.get(step.lane);
    const marks = [];
    if (from !== undefined) {
      for (const name of touched(story, step)) {
        if (name !== step.lane && places.middle.has(name)) {
          marks.push(shape("circle", { class: `touched ${colour(name)}`, cx: places.middle.get(name), cy: "50%", r: 4.5 }));
        }
      }
      for (const name of step.partners.filter((partner) => places.middle.has(partner))) {
        marks.push(arrow(from, places.middle.get(name), colour(step.lane)));
      }
      marks.push(shape("svg", { x: from, y: "50%", class: colour(step.lane) }, step.outside
        ? shape("path", { class: "dot outside", d: "M0,-8 L8,0 L0,8 L-8,0 Z" })
        : shape("circle", { class: "dot", r: 6.5 })));
    }
    const drawing = shape("svg", { width: places.width, height: "100%", "aria-hidden": "true", focusable: "false" }, lines, marks);
    const box = make("span", { class: "lanes-of-step" }, drawing);
    box.style.width = `${places.width}px`;
    return box;
  }

  function touched(story, step) {
    return new Set(Object.keys(step.texts).map((row) => story.rows[row].owner).filter((owner) => owner !== null));
  }

  function arrow(from, to, lane) {
    const way = Math.sign(to - from);
    const end = to - way * 7;
    return shape("g", { class: lane },
      shape("line", { class: "arrow", x1: from, x2: end - way * 4, y1: "50%", y2: "50%" }),
      shape("svg", { x: end, y: "50%" }, shape("path", { class: "head", d: `M${-way * 9},-5 L0,0 L${-way * 9},5 Z` })));
  }

  /** The list of steps. A click on a step calls `choose` with its position; `folded` has the names of folded lanes. The
   * list has two methods: `show` marks a step; `unfold` shows all lanes, and returns a function that folds them again.
   */
  function steps(story, lanes, choose, folded = new Set()) {
    const why = explained(story);
    const parted = Math.min(...why.fixes.map((fix) => fix.step), Infinity);
    const buttons = story.steps.map((step, i) => make("button", {
      type: "button", class: `step${i + 1 > parted ? " unfixed" : ""}`, tabindex: "-1", "data-step": i + 1,
      "data-of": why.letters.get(i + 1) || null, onclick: () => choose(i),
    },
    make("span", { class: "position" }, String(i + 1), letter(why, i + 1)),
    make("span", { class: "row" }, make("span", { class: "lanes-of-step" }),
      make("span", { class: "words" }, flowing(step.sentence), " ", make("span", { class: "action" }, step.action), gives(why, i + 1)))));
    const list = make("ol", { class: "steps", "aria-label": "Steps of the trace" },
      buttons.map((button, i) => make("li", {}, why.fixes.filter((fix) => fix.step === i + 1).map(bar), button)));
    const element = make("div", { class: "diagram" }, make("div"), list);
    const lay = (hidden) => {
      const places = measured(lanes, hidden);
      const held = document.activeElement.closest(".lane-head") && element.contains(document.activeElement) ? document.activeElement.dataset.lane : null;
      element.firstChild.replaceWith(laneHeads(lanes, places, hidden, toggle));
      buttons.forEach((button, i) => button.querySelector(".lanes-of-step").replaceWith(laneRow(story, story.steps[i], lanes, places)));
      [...element.querySelectorAll(".lane-head")].find((head) => head.dataset.lane === held)?.focus();
    };
    const toggle = (name) => {
      if (!folded.delete(name)) folded.add(name);
      lay(folded);
    };
    const unfold = () => { lay(new Set()); return () => lay(folded); };
    const show = (at, visibly) => buttons.forEach((button, i) => {
      button.tabIndex = i === at ? 0 : -1;
      button.classList.toggle("later", i > at);
      if (i === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
      if (i === at && visibly) intoView(button);
    });
    lay(folded);
    return { element, show, buttons, unfold };
  }

  /** For the first false invariant: each step's reason (a letter), the steps that end a reason, and the fixes. */
  function explained(story) {
    const first = (story.falsified || []).find((each) => each.reasons);
    const each = first ? first.reasons.each : [];
    return {
      letters: new Map(each.flatMap((reason) => reason.steps.map((step) => [step, reason.letter]))),
      ends: new Map(each.map((reason) => [reason.end, reason.facts.join("; ")])),
      fixes: (first ? first.fixes : []).filter((fix) => fix.step !== null),
      needs: first ? first.needs : {},
    };
  }

  function letter(why, step) {
    const found = why.letters.get(step);
    const end = why.ends.has(step);
    const words = end ? `completes reason ${found}` : `part of reason ${found}`;
    return found ? make("span", { class: `letter${end ? " end-of-reason" : ""}`, title: words, "aria-label": `, ${words}` }, found) : null;
  }

  /** The facts of the reason that a step completes, if it completes one. */
  function gives(why, step) {
    return why.ends.has(step) ? make("span", { class: "gives path" }, flowing(why.ends.get(step))) : null;
  }

  /** The note at the step at which a fixed design departs from the trace. */
  function bar(fix) {
    return make("div", { class: "fix", role: "note" }, make("strong", {}, flowing(fix.title)), fix.lines.map((line) => make("div", { class: "path" }, flowing(line))),
      make("div", { class: "soft" }, "From here on, the fixed version behaves differently."));
  }

  function intoView(button) {
    const box = button.getBoundingClientRect();
    if (narrow.matches) button.scrollIntoView({ block: "start" });
    else if (box.height && (box.top < 110 || box.bottom > window.innerHeight - 10)) button.scrollIntoView({ block: "center" });
  }

  // --- a state -------------------------------------------------------------------------------------------------------

  /** The brokers and the state outside of them, after a step. Changes of the step are marked. */
  function cards(story, states, at) {
    const now = states[at], before = at > 0 ? states[at - 1] : null;
    const owners = [...new Set(story.rows.map((row) => row.owner))].filter((owner) => owner !== null);
    const shared = owners.every((owner) => owner.startsWith("broker ")) ? ["cluster", "Outside the brokers"] : ["shared", "Shared state"];
    const found = [outside(story, now, before, shared), ...owners.map((owner) => memberCard(story, now, before, owner))];
    return make("div", { class: "cards" }, found);
  }

  function outside(story, now, before, [title, label]) {
    const logs = drawnLogs(now, before, null);
    const lines = facts(story, now, before, null);
    return logs.length + lines.length ? make("div", { role: "group", class: "card nobody", "aria-label": label },
      make("header", {}, make("strong", {}, title)), lines, logs) : null;
  }

  function memberCard(story, now, before, name) {
    const mine = now.logs.findIndex((log) => owns(name, log));
    const down = mine >= 0 && now.logs[mine].role === "down";
    return make("div", { role: "group", class: `card ${colour(name)}${down ? " down" : ""}`, "aria-label": name },
      make("header", {}, make("strong", { class: colour(name) }, name), mine >= 0 ? tags(now.logs[mine], before && before.logs[mine]) : null),
      drawnLogs(now, before, name), facts(story, now, before, name));
  }

  const owns = (name, log) => name === null ? log.broker === null : name === `broker ${log.broker}`;

  /** The role and epoch that a broker believes in, and its ISR membership. Changes of the step are marked. */
  function tags(log, old) {
    const tag = (kind, words, field) => make("span", { class: `tag ${kind}${old && old[field] !== log[field] ? " changed" : ""}` }, words);
    return [
      log.role && log.role !== "none" ? tag(log.role, log.role === "leader" ? "leads" : log.role, "role") : null,
      known(log.epoch) ? tag("", `epoch ${log.epoch}`, "epoch") : null,
      known(log.member) ? tag(log.member ? "member" : "", log.member ? "in the ISR" : "not in the ISR", "member") : null,
    ];
  }

  function drawnLogs(now, before, owner) {
    return now.logs.map((log, i) => [log, before && before.logs[i]])
      .filter(([log]) => owns(owner, log)).map(([log, old]) => drawnLog(log, old));
  }

  const known = (value) => value !== null && value !== undefined;

  /** A log, offset by offset, with the high watermark. Records that the step has cut off are struck through. */
  function drawnLog(log, old) {
    const records = log.records || Array.from({ length: log.log_end }, (_, offset) => ({ offset, id: null, epoch: null }));
    const gone = old && old.records && log.records ? old.records.slice(log.records.length) : [];
    const parts = records.map((record) => cell(log, record, old && !same(record, old.records && old.records[record.offset])));
    const marked = known(log.high_watermark);
    for (let offset = records.length; marked && offset < log.high_watermark; offset += 1) {
      parts.push(make("span", { class: "cell empty" }, make("span", { class: "offset" }, String(offset)), "?"));
    }
    if (marked) {
      const moved = old && old.high_watermark !== log.high_watermark;
      parts.splice(log.high_watermark, 0, make("span", { class: "mark" }, make("span", { class: moved ? "changed" : "" }, `HW ${log.high_watermark}`)));
    }
    const title = log.name || (known(log.partition) ? `partition ${log.partition}` : "");
    return make("div", { class: `log${marked ? " marked" : ""}`, role: "img", "aria-label": inWords(log, records, gone) },
      title ? make("span", { class: "title" }, title) : null, parts,
      gone.map((record) => make("span", { class: "cell gone", title: "truncated by this step" }, inside(record))),
      make("span", { class: "end" }, records.length ? (log.name ? "" : `log end ${log.log_end}`) : "empty"));
  }

  const same = (a, b) => Boolean(b) && a.id === b.id && a.epoch === b.epoch;

  function cell(log, record, fresh) {
    const below = !known(log.high_watermark) || record.offset < log.high_watermark;
    const epoch = known(record.epoch) ? ` e${((record.epoch % EPOCHS) + EPOCHS) % EPOCHS}` : "";
    return make("span", { class: `cell${epoch}${below ? "" : " uncommitted"}${fresh ? " fresh" : ""}` }, inside(record));
  }

  function inside(record) {
    return [
      make("span", { class: "offset" }, `offset ${record.offset}`),
      known(record.id) ? `record ${record.id}` : "record",
      known(record.epoch) ? make("span", { class: "epoch" }, `epoch ${record.epoch}`) : null,
    ];
  }

  function inWords(log, records, gone) {
    const name = log.broker === null ? `Log: ${log.name}` : `Log of broker ${log.broker}`;
    const each = records.map((r) => `offset ${r.offset}${known(r.id) ? ` record ${r.id}` : ""}${known(r.epoch) ? ` of epoch ${r.epoch}` : ""}`);
    const lost = gone.length ? `; truncated: ${gone.map((r) => `record ${r.id} at offset ${r.offset}`).join(", ")}` : "";
    const mark = known(log.high_watermark) ? `; high watermark ${log.high_watermark}` : "";
    return `${name}: ${each.length ? each.join(", ") : "empty"}${mark}${lost}`;
  }

  /** The parts of the state that are shown as text: a line for each group, and one for the rest. */
  function facts(story, now, before, owner) {
    const groups = new Map();
    story.rows.forEach((row, i) => {
      if (row.owner !== owner || (owner !== null && row.group === "replica" && now.logs.length && TAGGED.has(row.name)) || (row.log && (owner !== null || now.logs.some((log) => log.name === row.group)))) return;
      if (!groups.has(row.group)) groups.set(row.group, []);
      const old = before ? before.texts[i] : null;
      if (now.texts[i] === "[]" && (old === null || old === "[]")) return;  // nothing is on its way
      groups.get(row.group).push(fact(row, now.texts[i], old));
    });
    const hasIsr = (group) => story.rows.some((row) => row.group === group && row.owner === owner && row.name === "isr");
    const weight = ([group]) => group === "" ? 2 : hasIsr(group) && !group.includes("[") ? 0 : 1;
    return [...groups].filter(([, found]) => found.length).sort((a, b) => weight(a) - weight(b)).map(([group, found]) => make("div", { class: "facts" },
      group && !(owner !== null && group === "replica") ? make("span", { class: "group" }, group) : null, found));
  }

  function fact(row, text, old) {
    const changed = old !== null && old !== text;
    return make("span", { class: `fact${changed ? " changed" : ""}`, title: changed ? `${row.path}: ${old} → ${text}` : row.path },
      make("span", { class: "name" }, `${row.name.replaceAll("_", " ")} `), text);
  }

  /** A table of the changes of a step. */
  function changes(story, states, at) {
    if (at === 0) return null;
    const rows = Object.entries(story.steps[at].texts).map(([row, text]) => make("tr", {},
      make("th", { scope: "row", class: "path" }, story.rows[row].path),
      make("td", { class: "path" }, make("span", { class: "old" }, states[at - 1].texts[row]), " → ", text)));
    if (!rows.length) return make("p", { class: "changes soft" }, "Nothing changes.");
    return make("table", { class: "changes" }, make("caption", { class: "soft" }, "What changes"), make("tbody", {}, rows));
  }

  /** A folded table of every part of the state. */
  function whole(story, states, at, open) {
    const rows = story.rows.map((row, i) => make("tr", {},
      make("th", { scope: "row", class: "path" }, row.path), make("td", { class: "path" }, states[at].texts[i])));
    return make("details", { class: "whole", open }, make("summary", {}, "The whole state"), make("table", {}, make("tbody", {}, rows)));
  }

  return { make, shape, flowing, unfold, steps, cards, changes, whole, colour, drawnLog, explained, narrow };
})();
