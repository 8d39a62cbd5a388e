"use strict";
// Walks through a model. The address holds the whole place, so reload, undo and links all work by the address:
// #initial=0&path=3.5.17&at=2&ask=s.quorum.isr&branch=0~3.5~elects&of=1a2b3c4d. Each `ask` is an expression whose
// values are shown. Each `branch` is a named path. `of` identifies the model, whose numbers the address uses.

(() => {
  const { make } = Drawing;
  const at = (id) => document.getElementById(id);
  const LETTERS = "abcdefghijklmnopqrstuvwxyz";
  const STATUS = { true: ["holds", "good"], false: ["false", "bad"], null: ["undefined", "open"] };
  let about = null;   // the answer about the model, asked once
  let here = null;    // the answer about the present place
  let asked = 0;      // number of the last question; earlier answers are dropped
  let warning = "";   // a message to show at the next place
  const folded = new Set();

  async function ask(path, question) {
    let answer;
    try {
      answer = await fetch(path, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question),
      });
    } catch {
      const gone = new Error("The explorer has stopped; run `isrcheck explore` again");
      throw Object.assign(gone, { ended: true });
    }
    const data = await answer.json();
    if (!answer.ok) throw new Error(data.error);
    return data;
  }

  function say(id, message) {
    at(id).textContent = message || "";
    at(id).hidden = !message;
  }

  // --- the address ---------------------------------------------------------------------------------------------------

  function place() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const steps = (wanted.get("path") || "").split(".").filter(Boolean).map(Number);
    const found = { initial: Number(wanted.get("initial") || 0), path: steps };
    return wanted.has("at") ? { ...found, at: Number(wanted.get("at")) } : { ...found, at: steps.length };
  }

  const branches = () => new URLSearchParams(location.hash.slice(1)).getAll("branch")
    .map((text) => /^(\d+)~([\d.]*)~(.+)$/s.exec(text)).filter(Boolean)
    .map(([, initial, path, name]) => ({ initial: Number(initial), path: path.split(".").filter(Boolean).map(Number), name }));

  const expressions = () => new URLSearchParams(location.hash.slice(1)).getAll("ask");

  function address(to, texts = expressions(), named = branches()) {
    const later = to.at < to.path.length ? `&at=${to.at}` : "";
    const asked = texts.map((text) => `&ask=${encodeURIComponent(text)}`).join("");
    const kept = named.map((each) => `&branch=${encodeURIComponent(`${each.initial}~${each.path.join(".")}~${each.name}`)}`).join("");
    return `#initial=${to.initial}${to.path.length ? `&path=${to.path.join(".")}` : ""}${later}${asked}${kept}&of=${about.of}`;
  }

  /** Every move changes the address, so the browser's Back is an undo, too. */
  function go(to) {
    if (address(to) === location.hash) arrive();
    else location.hash = address(to);
  }

  async function arrive() {
    const number = asked += 1;
    try {
      const of = new URLSearchParams(location.hash.slice(1)).get("of");
      if (of !== null && of !== about.of) throw new Error("This link is for another model or other settings");
      const answer = await ask("/api/state", place());
      if (number !== asked) return;
      here = answer;
      say("alert", warning);
      warning = "";
      draw();
    } catch (error) {
      if (number !== asked) return;
      say("alert", `${error.message}.${error.ended ? "" : " Restart, or correct the address."}`);
      if (!here) at("restart").focus();
    }
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  function draw() {
    const { story, at: position } = here;
    const states = Drawing.unfold(story);
    const focused = ["path", "choices"].find((id) => at(id).contains(document.activeElement));
    const list = Drawing.steps(story, story.lanes, (i) => go({ ...here, at: i }), folded);
    at("path").replaceChildren(list.element);
    list.show(position, false);
    const step = list.buttons[position];
    at("path").scrollTop = step.offsetTop - (at("path").clientHeight - step.offsetHeight) / 2;
    const open = at("now").querySelector("details.whole")?.open ?? false;
    at("sentence").replaceChildren(...Drawing.flowing(story.steps[position].sentence));
    at("now").replaceChildren(...[
      Drawing.cards(story, states, position), Drawing.changes(story, states, position),
      Drawing.whole(story, states, position, open),
    ].filter(Boolean));
    at("where").textContent = `state ${position + 1} of ${here.path.length + 1}`;
    at("undo").disabled = position === 0;
    at("restart").disabled = here.path.length === 0;
    at("redo").disabled = position === here.path.length;
    at("initial").value = here.initial;
    drawChoices();
    drawDisabled();
    drawJudged();
    drawExpressions();
    drawBranches();
    // The focused element was replaced. Keyboard users continue from the same place.
    if (focused === "path") list.buttons[position].focus();
    if (focused === "choices") at("choices").querySelector("button.choice:not(:disabled)")?.focus();
  }

  /** Instances by lane, in the order of the lanes. */
  function byLane(numbers) {
    const groups = about.lanes.map((lane) => [lane, numbers.filter((n) => about.instances[n].lane === lane.name)]);
    return groups.filter(([, found]) => found.length);
  }

  function drawChoices() {
    const known = new Map(here.choices.map((choice) => [choice.instance, choice]));
    let count = 0;
    const groups = byLane([...known.keys()]).map(([lane, numbers]) => make("div", { role: "group", class: "actor", "aria-label": lane.title },
      make("h3", { class: Drawing.colour(lane.name) }, lane.title),
      make("ul", { class: "choices" }, numbers.map((n) => choiceOf(known.get(n), LETTERS[count++])))));
    const outside = Object.entries(here.constraints).filter(([, holds]) => holds === false).map(([name]) => name);
    at("choices").replaceChildren(...[
      outside.length ? make("p", { class: "note" }, `This state violates ${outside.join(", ")}, so a search does not continue from here.`) : null,
      ...groups,
      groups.length ? null : make("p", {}, "No action is enabled here (a deadlock)."),
    ].filter(Boolean));
  }

  function choiceOf(choice, letter) {
    const instance = about.instances[choice.instance];
    const outside = about.actions[instance.action].perturbation;
    const effect = choice.changes.map(([path, old, now]) => `${path}: ${old} → ${now}`).join("; ");
    return make("li", {}, make("button", {
      type: "button", class: "choice", disabled: choice.error !== null, "data-instance": choice.instance,
      title: about.actions[instance.action].sentence, "aria-keyshortcuts": letter, onclick: () => choose(choice.instance),
    },
    make("span", { class: "letter" }, letter ? make("kbd", {}, letter) : null),
    make("span", { class: "told" }, Drawing.flowing(choice.error === null ? choice.sentence : instance.text)),
    make("span", { class: "effect" }, make("span", { class: "action" }, instance.text, outside ? " (environment)" : "")),
    make("span", { class: "effect" }, choice.error !== null ? make("span", { class: "breaks" }, choice.error) : effect || "nothing changes",
      choice.breaks.length ? make("span", { class: "breaks" }, ` violates ${choice.breaks.join(", ")}`) : null)));
  }

  function choose(instance) {
    const path = [...here.path.slice(0, here.at), instance];
    if (path.length > about.longest) say("alert", `A path has at most ${about.longest} steps.`);
    else go({ initial: here.initial, path, at: path.length });
  }

  function drawDisabled() {
    const box = at("disabled");
    const fill = () => {
      if (!box.open) return;
      box.querySelector("div").replaceChildren(...byLane(here.disabled).map(([lane, numbers]) => make("div", { role: "group", "aria-label": lane.title },
        make("h3", { class: Drawing.colour(lane.name) }, lane.title),
        make("ul", { class: "judged" }, numbers.map((n) => make("li", {},
          make("button", { type: "button", "data-instance": n, "aria-expanded": "false", onclick: (event) => whyDisabled(event.currentTarget, n) }, "why?"),
          " ", make("code", {}, about.instances[n].text)))))));
    };
    box.ontoggle = fill;
    box.querySelector("div").replaceChildren();
    fill();
  }

  async function unfoldReason(button, question) {
    const item = button.closest("li");
    const shown = item.querySelector(".reason");
    button.setAttribute("aria-expanded", String(!shown));
    if (shown) { shown.remove(); return; }
    let lines;
    try { lines = await question(); } catch (error) { lines = [make("p", { class: "bad" }, error.message)]; }
    item.append(make("div", { class: "reason", role: "status" }, lines.filter(Boolean)));
  }

  const question = () => ({ initial: here.initial, path: here.path, at: here.at });

  const values = (rows) => rows.length ? make("table", {}, make("tbody", {}, rows.map(([path, value]) => make("tr", {},
    make("th", { scope: "row", class: "path" }, path), make("td", { class: "path" }, value))))) : null;

  function whyDisabled(button, instance) {
    return unfoldReason(button, async () => {
      const why = await ask("/api/disabled", { ...question(), instance });
      if (why.condition === null) return [make("p", {}, why.reason)];
      return [
        make("p", {}, "It requires ", make("code", {}, why.condition), why.where ? ` (${why.where})` : "", ", which is false here", why.values.length ? ", where" : "."),
        values(why.values),
      ];
    });
  }

  function whyFalse(button, invariant) {
    return unfoldReason(button, async () => {
      const why = await ask("/api/violated", { ...question(), invariant });
      if (why.reason) return [make("p", {}, why.reason)];
      const choice = why.choice.map(([name, value]) => `${name} ${value}`).join(", ");
      return [choice ? make("p", {}, `For ${choice}, where`) : null, values(why.reads)];
    });
  }

  // --- what is true here ---------------------------------------------------------------------------------------------

  function drawJudged() {
    const names = Object.keys(here.invariants);
    const first = names.filter((name) => about.invariants[name].default || here.invariants[name] === false);
    const rest = names.filter((name) => !first.includes(name));
    const open = at("judged").querySelector("details")?.open ?? false;
    at("judged").replaceChildren(
      make("h3", {}, "Invariants"), make("ul", { class: "judged", id: "invariants" }, first.map(invariantOf)),
      rest.length + Object.keys(about.unasked).length ? make("details", { open },
        make("summary", {}, `${rest.length} more`), make("ul", { class: "judged" }, rest.map(invariantOf),
          Object.entries(about.unasked).map(([name, why]) => make("li", { class: "soft" }, make("span", { class: "status" }, "not checked"), name, make("div", { class: "reason" }, why))))) : "",
      ...judgedList("Goals", here.goals, about.goals, ["reached", "good"], ["not here", "soft"]),
      ...judgedList("Bounds", here.bounds, about.bounds, ["hit", "open"], ["not hit", "soft"],
        about.bounds_not_explored));
  }

  function invariantOf(name) {
    const holds = here.invariants[name];
    const [words, kind] = STATUS[String(holds)];
    return make("li", { "data-invariant": name, "data-status": String(holds), title: about.invariants[name].sentence },
      make("span", { class: `status ${kind}` }, words), name, " ",
      holds === true ? null : make("button", { type: "button", "aria-expanded": "false", onclick: (event) => whyFalse(event.currentTarget, name) }, "why?"),
      holds === false ? make("div", { class: "soft" }, about.invariants[name].sentence) : null);
  }

  function judgedList(title, found, meanings, yes, no, off = []) {
    const names = Object.keys(found);
    if (!names.length) return [];
    return [make("h3", {}, title), make("ul", { class: "judged" }, names.map((name) => {
      const [words, kind] = off.includes(name) ? ["not explored", "soft"]
        : found[name] === null ? STATUS.null : found[name] ? yes : no;
      return make("li", { title: meanings[name] }, make("span", { class: `status ${kind}` }, words), name);
    }))];
  }

  // --- expressions ---------------------------------------------------------------------------------------------------

  /** The value here of each expression in the address, and the state since which it has this value. */
  async function drawExpressions() {
    const [number, place] = [asked, here];
    const rows = await Promise.all(expressions().map(async (text, i) => {
      let value, since = "";
      try {
        const { values } = await ask("/api/evaluated", { ...question(), at: place.path.length, expression: text });
        value = make("span", { class: "path" }, values[place.at]);
        let first = place.at;
        while (first > 0 && values[first - 1] === values[place.at]) first -= 1;
        since = ` since state ${first + 1}`;
      } catch (error) {
        value = make("span", { class: "bad" }, error.message);
      }
      return make("li", { "data-expression": text }, make("code", {}, text), " ", value, make("span", { class: "soft" }, since), " ",
        make("button", { type: "button", "aria-label": `Remove ${text}`, onclick: () => askFor(expressions().filter((_, j) => j !== i)) }, "×"));
    }));
    if (number === asked) at("expressions").replaceChildren(...rows);
  }

  function askFor(texts) {
    location.hash = address(place(), texts);
  }

  function askMore(event) {
    event.preventDefault();
    const text = at("expression").value.trim();
    if (text && !expressions().includes(text)) askFor([...expressions(), text]);
    at("expression").value = "";
  }

  // --- named paths ---------------------------------------------------------------------------------------------------

  function drawBranches() {
    const named = branches();
    at("branches").replaceChildren(...named.map((each, i) => make("li", { "data-branch": each.name },
      make("button", { type: "button", "aria-current": same(each) ? "true" : null, onclick: () => go({ ...each, at: each.path.length }) }, each.name),
      make("span", { class: "soft" }, ` ${each.path.length + 1} state${each.path.length ? "s" : ""} `),
      make("button", { type: "button", "aria-label": `Delete ${each.name}`, onclick: () => rename(named.filter((_, j) => j !== i)) }, "×"))));
  }

  const same = (branch) => branch.initial === here.initial && branch.path.join() === here.path.join();

  function rename(named) {
    location.hash = address(place(), expressions(), named);
  }

  function keep(event) {
    event.preventDefault();
    const name = at("branch").value.trim();
    if (!name || !here) return;
    rename([...branches().filter((each) => each.name !== name), { initial: here.initial, path: here.path, name }]);
    at("branch").value = "";
  }

  async function copy() {
    if (!here) return;
    const link = location.origin + location.pathname + address(place());
    try {
      await navigator.clipboard.writeText(link);
      say("note", "Copied the link, including all named paths. To open it in another explorer of this model, append the part from # to its address.");
    } catch {
      say("note", `Copy this: ${link}`);
    }
  }

  async function save() {
    if (!here) return;
    try {
      const { content } = await ask("/api/saved", { ...question(), at: here.path.length });
      const named = branches().find(same);
      const name = `${(named ? named.name : `${about.model}-path`).replace(/[^\w.-]+/g, "-")}.itf.json`;
      const url = URL.createObjectURL(new Blob([content], { type: "application/json" }));
      make("a", { href: url, download: name }).click();
      URL.revokeObjectURL(url);
      say("note", `Saved ${name}: open it with isrcheck replay, or load it in an explorer of this model.`);
    } catch (error) {
      say("alert", error.message);
    }
  }

  // --- traces of a file ----------------------------------------------------------------------------------------------

  async function load(file) {
    if (!file) return;
    try {
      if (file.size > 7 * 2 ** 20) throw new Error(`${file.name} is larger than 7 MiB`);
      const { traces } = await ask("/api/trace", { content: await file.text() });
      const [first] = traces;
      const others = traces.slice(1).map((each) => each.title);
      warning = first.refused ? `${file.name}: ${first.refused}` : "";
      say("note", `${file.name}: ${first.title}, ${first.length} states. Redo follows it; any other choice leaves it.`
        + (others.length ? ` The file also contains: ${others.join(", ")}.` : ""));
      go(first);
    } catch (error) {
      say("alert", `${file.name}: ${error.message}`);
    }
  }

  // --- keys ----------------------------------------------------------------------------------------------------------

  // The address changes before the answer comes, so the second of two quick keys counts, too.
  const move = (steps) => {
    const to = place();
    if (here && to.at + steps >= 0 && to.at + steps <= to.path.length) go({ ...to, at: to.at + steps });
  };
  const undo = () => move(-1);
  const redo = () => move(1);

  function pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
    const buttons = [...at("choices").querySelectorAll("button.choice:not(:disabled)")];
    if (event.key === "ArrowLeft") undo();
    else if (event.key === "ArrowRight") redo();
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      const now = buttons.indexOf(document.activeElement);
      const next = now < 0 ? (step > 0 ? 0 : buttons.length - 1) : (now + step + buttons.length) % buttons.length;
      buttons[next]?.focus();
    } else if (/^[a-z]$/.test(event.key)) {
      const button = buttons.find((each) => each.getAttribute("aria-keyshortcuts") === event.key);
      if (!button) return;
      button.click();
    } else return;
    event.preventDefault();
  }

  // --- the beginning -------------------------------------------------------------------------------------------------

  async function begin() {
    try {
      about = await ask("/api/model", {});
    } catch (error) {
      say("alert", `${error.message}.`);
      return;
    }
    document.title = `${about.model}: isrcheck explore`;
    at("model").textContent = about.model;
    at("about").textContent = about.sentence;
    at("settings").append(make("table", {}, make("tbody", {}, Object.entries(about.settings).map(([name, value]) => make("tr", {},
      make("th", { scope: "row" }, name), make("td", {}, String(value)))))));
    at("initial").append(...Array.from({ length: about.initial }, (_, i) => make("option", { value: i }, String(i))));
    at("choose-initial").hidden = about.initial < 2;
    await arrive();
  }

  at("undo").addEventListener("click", undo);
  at("redo").addEventListener("click", redo);
  at("restart").addEventListener("click", () => {
    if (here) go({ initial: here.initial, path: [], at: 0 });
    else location.hash = address({ initial: 0, path: [], at: 0 }, [], []);  // what the address names is not of this model
  });
  at("initial").addEventListener("change", () => go({ initial: Number(at("initial").value), path: [], at: 0 }));
  at("file").addEventListener("change", async () => { await load(at("file").files[0]); at("file").value = ""; });
  at("ask").addEventListener("submit", askMore);
  at("keep").addEventListener("submit", keep);
  at("copy").addEventListener("click", copy);
  at("save").addEventListener("click", save);
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", arrive);
  begin();
})();
