// Elements with their attributes and children. Text is always text: there is no way from a string to HTML in here.

const SVG = "http://www.w3.org/2000/svg";

/** `h("button", { class: "quiet", on: { click } }, "Stop")`; children are nodes, texts, lists of them, or nothing. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "value") element.value = value;
    else if (name === "style") for (const [property, to] of Object.entries(value)) element.style.setProperty(property, to);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  const there = children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false);
  return there.map((child) => (child instanceof Node ? child : String(child)));
}

/** Puts children in the place of those that are there. */
export function replace(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

/** Sets an element's text, and leaves it alone where it is the same: a screen reader hears of changes only. */
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

let ids = 0;

export function freshId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}

/** Says something to who listens to the page. */
export function say(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  // A text that is the same again is said again.
  requestAnimationFrame(() => (live.textContent = text));
}

/** A button that puts a text into the clipboard. */
export function copyButton(text, label) {
  const button = h("button", { type: "button", class: "quiet small", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await copy(text);
      button.textContent = "Copied";
      say(`Copied ${label}`);
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Without TLS, on another machine, there is the old way alone.
  const field = h("textarea", { class: "unseen", value: text });
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("not allowed");
}

/** Gives the user a file. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
