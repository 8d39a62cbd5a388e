"use strict";
// Steps through the traces of a report. The address gives the step: #step=7, #trace=2&step=7, #scenario=kip-101&step=3.

(() => {
  const { make } = Drawing;
  const stories = JSON.parse(document.getElementById("data").textContent);
  const viewers = new Map();
  const MOST_PRINTED = 400;
  let active = null;

  function viewer(section) {
    const name = section.dataset.trace;
    const story = stories[name];
    const states = Drawing.unfold(story);
    const last = story.steps.length - 1;
    let at = 0;
    const slider = make("input", { type: "range", min: 1, max: last + 1, "aria-label": "Step", oninput: () => show(Number(slider.value) - 1) });
    const output = make("output", { "aria-live": "off" });
    const button = (label, text, to) => make("button", { type: "button", "aria-label": label, title: label, onclick: () => show(to()) }, text);
    const first = button("First step", "«", () => 0);
    const back = button("Previous step", "‹", () => at - 1);
    const forth = button("Next step", "›", () => at + 1);
    const end = button("Last step", "»", () => last);
    const only = make("button", { type: "button", class: "only", "aria-pressed": "false", onclick: () => {
      only.setAttribute("aria-pressed", String(only.getAttribute("aria-pressed") !== "true"));
      show(at, { visibly: false });
    } }, "Only what changed");
    const controls = make("div", { class: "controls", role: "group", "aria-label": "Navigate the trace" },
      first, back, slider, forth, end, only, output);
    const list = Drawing.steps(story, story.lanes, (i) => show(i, { focus: true }));
    const needs = Drawing.explained(story).needs;
    choosable(section, list.buttons);
    const sentence = make("p", { class: "sentence", "aria-live": "polite" });
    const state = make("div");
    const now = make("div", { class: "now", role: "region", "aria-label": `The state after the step: ${section.getAttribute("aria-label")}` }, sentence, state);
    const body = make("div", { class: "viewer" }, list.element, now);
    const pairs = (story.beside || []).map((other) => Beside.pair(story, states, other));
    const print = make("div", { class: "print" });
    section.querySelector(".plain").replaceWith(controls, body, ...pairs, print);

    function moment(i) {
      return [
        i === last ? (story.falsified || []).map((each) => make("p", { class: "bad" }, story.for_ever ? `✗ ${each.name} is false of that.` : `✗ ${each.name} is false here.`)) : null,
        Drawing.cards(story, states, i),
        i === last ? falsified(story) : null,
        rests(needs[i + 1], show),
        Drawing.changes(story, states, i),
      ].flat().filter(Boolean);
    }

    function show(to, { focus = false, visibly = true } = {}) {
      at = Math.min(Math.max(to, 0), last);
      active = self;
      slider.value = at + 1;
      slider.setAttribute("aria-valuetext", `step ${at + 1} of ${last + 1}: ${story.steps[at].action}`);
      output.textContent = `step ${at + 1} of ${last + 1}`;
      first.disabled = back.disabled = at === 0;
      forth.disabled = end.disabled = at === last;
      const open = state.querySelector("details.whole")?.open ?? false;
      sentence.replaceChildren(...Drawing.flowing(story.steps[at].sentence));
      now.classList.toggle("only-changed", at > 0 && only.getAttribute("aria-pressed") === "true");
      state.replaceChildren(...moment(at), Drawing.whole(story, states, at, open));
      place();
      list.show(at, visibly);
      if (focus) list.buttons[at].focus();
      if (visibly) history.replaceState(null, "", fragment(section, name, at));
    }

    /** Puts the state beside the list, or on a narrow screen below the step that leads to it. */
    function place() {
      const home = Drawing.narrow.matches ? list.buttons[at].parentElement : body;
      if (now.parentElement !== home) home.append(now);
    }

    let folded = () => {}, opened = [];
    function unprinted() {
      print.replaceChildren();
      folded();
      opened.forEach((pair) => { pair.open = false; });
    }

    function printed() {
      folded = list.unfold();
      opened = pairs.filter((pair) => !pair.open);
      opened.forEach((pair) => { pair.open = true; });
      const shown = story.steps.slice(0, MOST_PRINTED).map((step, i) => make("section", { class: "moment" },
        make("h3", {}, `${i + 1}  ${step.action}`), make("p", { class: "sentence" }, Drawing.flowing(step.sentence)), moment(i)));
      print.replaceChildren(...shown);
    }

    Drawing.narrow.addEventListener("change", place);
    const self = { section, show, printed, unprinted, at: () => at, step: () => list.buttons[at], last };
    return self;
  }

  function falsified(story) {
    return (story.falsified || []).map((each) => make("div", { class: "why" },
      make("h3", {}, `${each.name} is false here`), make("p", {}, each.sentence),
      each.choice.length ? make("p", {}, `For ${each.choice.map(([name, value]) => `${name} ${value}`).join(", ")}, where`) : null,
      make("table", {}, make("tbody", {}, each.reads.map(([path, value]) => make("tr", {},
        make("th", { scope: "row", class: "path" }, path), make("td", { class: "path" }, value))))),
      each.notes.map((line) => make("p", {}, `${line[0].toUpperCase()}${line.slice(1)}.`)),
      each.fixes.filter((fix) => fix.step === null).map((fix) => make("p", {}, Drawing.flowing([fix.title, ...fix.lines].join(" ")))),
      each.alternatives ? make("pre", {}, each.alternatives) : null));
  }

  /** The earlier steps that a step rests on, and the fact that each of them gave. */
  function rests(needs, show) {
    return needs && needs.length ? make("div", { class: "rests" }, make("p", { class: "soft" }, "Depends on"), make("ul", {}, needs.map((need) => make("li", {},
      make("button", { type: "button", onclick: () => show(need.step - 1) }, `step ${need.step}`), " ", make("span", { class: "path" }, Drawing.flowing(need.text)))))) : null;
  }

  /** Makes each reason a button that dims the steps of the other reasons. */
  function choosable(section, buttons) {
    const lines = [...section.querySelectorAll("li[data-reason]")];
    for (const line of lines) {
      const mine = line.dataset.reason;
      const toggle = make("button", { type: "button", "aria-pressed": "false", title: `Show only the steps of reason ${mine}`, onclick: () => {
        const chosen = toggle.getAttribute("aria-pressed") !== "true";
        lines.forEach((each) => each.querySelector("button").setAttribute("aria-pressed", String(chosen && each === line)));
        buttons.forEach((button) => button.classList.toggle("dim", chosen && button.dataset.of !== mine));
      } }, mine);
      line.querySelector(".letter").replaceWith(toggle);
    }
  }

  function fragment(section, name, at) {
    const kind = section.closest("details.scenario") ? "scenario" : "trace";
    const which = kind === "trace" && Object.keys(stories).length === 1 ? "" : `${kind}=${encodeURIComponent(name)}&`;
    return `#${which}step=${at + 1}`;
  }

  function viewerOf(name) {
    const section = [...document.querySelectorAll("[data-trace]")].find((each) => each.dataset.trace === name);
    if (!section) return null;
    if (!viewers.has(name)) {
      viewers.set(name, viewer(section));
      viewers.get(name).show(0, { visibly: false });
    }
    return viewers.get(name);
  }

  /** Goes to the step in the address. An address without a step or trace is an ordinary place on the page. */
  function jump() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const name = wanted.get("scenario") || wanted.get("trace") || (wanted.has("step") ? Object.keys(stories)[0] : null);
    if (name === null) return;
    const folder = [...document.querySelectorAll("details.scenario")].find((each) => each.dataset.name === name);
    if (folder) folder.open = true;
    const found = viewerOf(name);
    missing(found || folder ? null : name);
    if (found) found.show(Number(wanted.get("step")) - 1 || 0, { visibly: false });
    const step = Drawing.narrow.matches && found && wanted.has("step") ? found.step() : null;
    (step || folder || (found && found.section))?.scrollIntoView({ block: "start" });
  }

  /** Shows a message if the address names a trace that does not exist; no other trace is shown for it. */
  function missing(name) {
    document.getElementById("missing")?.remove();
    if (name === null) return;
    const known = Object.keys(stories).join(", ") || "none";
    const note = make("p", { id: "missing", class: "alert", role: "alert" }, `There is no trace ${name} on this page. Known: ${known}.`);
    document.getElementById("main").prepend(note);
    note.scrollIntoView({ block: "center" });
  }

  function pressed(event) {
    if (!active || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("input:not([type=range]), textarea, select, summary")) return;
    const last = active.last;
    const to = {
      ArrowRight: active.at() + 1, ArrowDown: active.at() + 1, j: active.at() + 1,
      ArrowLeft: active.at() - 1, ArrowUp: active.at() - 1, k: active.at() - 1, Home: 0, End: last,
    }[event.key];
    const onSteps = event.target.matches(".step");
    if (to === undefined || (/^Arrow(Up|Down)$/.test(event.key) && !onSteps)) return;
    event.preventDefault();
    active.show(to, { focus: onSteps });
  }

  function filter(field) {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelectorAll("[data-words]")) {
      row.hidden = !words.every((word) => row.dataset.words.includes(word));
    }
  }

  for (const section of document.querySelectorAll("section[data-trace]")) {
    if (!section.closest("details:not([open])")) viewerOf(section.dataset.trace);
  }
  for (const folder of document.querySelectorAll("details.scenario")) {
    folder.addEventListener("toggle", () => { if (folder.open && stories[folder.dataset.name]) viewerOf(folder.dataset.name); });
  }
  active = viewers.values().next().value || null;
  const field = document.getElementById("filter");
  if (field) field.addEventListener("input", () => filter(field));
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", jump);
  window.addEventListener("beforeprint", () => viewers.forEach((each) => each.printed()));
  window.addEventListener("afterprint", () => viewers.forEach((each) => each.unprinted()));
  jump();
})();
