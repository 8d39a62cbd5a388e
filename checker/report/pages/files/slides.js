"use strict";
// Shows one slide at a time. The address names it: #7, or #lesson-2. Keys, buttons and links change the address.

(() => {
  const slides = [...document.querySelectorAll(".slide")];
  const where = document.getElementById("where");
  const [back, forth] = ["back", "forth"].map((id) => document.getElementById(id));
  let at = 0;

  /** The slide that the address names, or the first slide. */
  function wanted() {
    const name = location.hash.slice(1);
    const found = /^\d+$/.test(name) ? Number(name) - 1 : slides.findIndex((slide) => name && slide.id === name);
    return Math.min(Math.max(found, 0), slides.length - 1);
  }

  function show() {
    at = wanted();
    slides.forEach((slide, i) => slide.classList.toggle("now", i === at));
    where.textContent = `${at + 1} / ${slides.length}`;
    back.disabled = at === 0;
    forth.disabled = at === slides.length - 1;
    slides[at].scrollTop = 0;
    slides[at].focus({ preventScroll: true });
  }

  /** Shows a slide at once: the event that says the address changed comes later, maybe after the next key. */
  function go(to) {
    location.hash = `#${Math.min(Math.max(to, 0), slides.length - 1) + 1}`;
    show();
  }

  function pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("a, button") && /^( |Enter)$/.test(event.key)) return;
    const to = {
      ArrowRight: at + 1, ArrowDown: at + 1, PageDown: at + 1, " ": at + 1, n: at + 1,
      ArrowLeft: at - 1, ArrowUp: at - 1, PageUp: at - 1, p: at - 1, Home: 0, End: slides.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  }

  document.documentElement.classList.add("playing");
  document.getElementById("moves").hidden = false;
  back.addEventListener("click", () => go(at - 1));
  forth.addEventListener("click", () => go(at + 1));
  document.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", show);
  show();
})();
