// A question that has to be answered before something is done that cannot be undone.

import { h, freshId } from "./dom.js";

/** True: it is to be done. */
export function confirm(title, text, action) {
  const id = freshId("dialog");
  const dialog = h("dialog", { "aria-labelledby": id, "aria-describedby": `${id}-text` },
    h("form", { method: "dialog" },
      h("h2", { id }, title),
      h("p", { id: `${id}-text` }, text),
      h("div", { class: "actions" },
        h("button", { value: "no", class: "quiet", autofocus: true }, "Cancel"),
        h("button", { value: "yes", class: "danger" }, action))));
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before?.isConnected) before.focus();
      resolve(dialog.returnValue === "yes");
    });
  });
}
