"use strict";
// Draws a trace beside the path of the fixed design with the same events: each step, and its effect on the logs.

const Beside = (() => {
  const { make, flowing } = Drawing;

  /** The table of a story beside the story of one fixed design; it is folded until the reader opens it. */
  function pair(story, states, other) {
    const theirs = Drawing.unfold(other.story);
    const rows = story.steps.slice(1).map((_, i) => row(story, states, other, theirs, i + 1));
    return make("details", { class: "beside" },
      make("summary", {}, `Side by side: this trace, and the same events with the fix (${other.control})`),
      make("table", { class: "pair" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "at" }, "Step"), make("th", { scope: "col" }, "In this trace"), make("th", { scope: "col" }, "With the fix"))),
        make("tbody", {}, rows, ending(story, other))));
  }

  function row(story, states, other, theirs, i) {
    const at = other.at[i];
    const parted = other.parted === i + 1;
    return make("tr", { class: parted ? "parted" : null },
      make("th", { scope: "row", class: "at" }, String(i + 1)), cell(story, states, i),
      at === null
        ? make("td", { class: "not" }, parted ? ["The fix acts: ", how(story, other)] : "Does not happen: the fixed design does not allow it here.")
        : make("td", {}, parted ? make("strong", { class: "good" }, "The fix acts: the step has a different effect. ") : null, alike(story, other, i, at) ? make("span", { class: "soft" }, "The same.") : inner(other.story, theirs, at)));
  }

  /** In words, why the fixed design does not take the step at which it departs from the trace. */
  function how(story, other) {
    const fixes = story.falsified.flatMap((each) => each.fixes);
    const fix = fixes.find((each) => each.step === other.parted && each.title.includes(other.control));
    return fix ? [`${fix.title.split("): ").at(-1)}. `, fix.lines.map((line) => make("div", { class: "path" }, flowing(line)))] : "it does not allow this.";
  }

  const cell = (story, states, i) => make("td", {}, inner(story, states, i));

  function inner(story, states, i) {
    const moved = Object.keys(story.steps[i].logs).map((n) => [states[i - 1].logs[n], states[i].logs[n]])
      .filter(([old, log]) => JSON.stringify(kept(old)) !== JSON.stringify(kept(log)));
    const logs = moved.map(([old, log]) => log.broker === null ? Drawing.drawnLog(log, old)
      : make("div", {}, make("strong", { class: Drawing.colour(`broker ${log.broker}`) }, `broker ${log.broker}`), Drawing.drawnLog(log, old)));
    return [flowing(story.steps[i].sentence), logs];
  }

  /** The parts of a log that are drawn here. A step that changes only the leader moves no record. */
  const kept = (log) => [log.records, log.log_end, log.high_watermark];

  const alike = (story, other, i, at) => story.steps[i].sentence === other.story.steps[at].sentence
    && JSON.stringify(story.steps[i].logs) === JSON.stringify(other.story.steps[at].logs);

  function ending(story, other) {
    const name = story.falsified[0].name;
    const held = other.false === null;
    return make("tr", {}, make("th", { scope: "row", class: "at" }, "End"), make("td", { class: "bad" }, `✗ ${name} is false.`),
      make("td", { class: held ? "good" : "bad" }, held ? `✓ ${name} holds in every state of this path.` : `✗ ${name} is false here too.`));
  }

  return { pair };
})();
