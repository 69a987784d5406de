"use strict";
// Every page works without this: it hides what a verb does not use, and shows what a node is linked to.

const search = document.getElementById("search");
if (search) {
  const verb = search.elements.namedItem("verb");
  const show = () => {
    for (const label of search.querySelectorAll("[data-verbs]")) {
      label.hidden = !label.dataset.verbs.split(" ").includes(verb.value);
    }
  };
  verb.addEventListener("change", show);
  show();
  // The address then holds only what was asked for.
  search.addEventListener("submit", () => {
    for (const field of search.elements) {
      if (field.name && (field.value === "" || field.closest("[hidden]"))) field.disabled = true;
    }
  });
  window.addEventListener("pageshow", () => {
    for (const field of search.elements) field.disabled = false;
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.elements.namedItem(verb.value === "expand" ? "object" : "q").focus();
    }
  });
}

const picture = document.getElementById("picture");
if (picture) {
  const lines = [...picture.querySelectorAll("[data-from]")];
  const light = (id) => {
    for (const line of lines) {
      line.classList.toggle("dim", id !== null && line.dataset.from !== id && line.dataset.to !== id);
    }
  };
  for (const node of picture.querySelectorAll("[data-node]")) {
    for (const name of ["mouseenter", "focus"]) node.addEventListener(name, () => light(node.dataset.node));
    for (const name of ["mouseleave", "blur"]) node.addEventListener(name, () => light(null));
  }
}
