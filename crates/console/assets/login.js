// The form for who is not known.

import { Failure, logIn } from "./client.js";
import { h, setText } from "./dom.js";

/** Shows the form in the place of everything; done when somebody has logged in, or hopes to need no login. */
export function showLogin(main, why) {
  return new Promise((resolve) => {
    const user = h("input", { id: "user", name: "user", autocomplete: "username", required: true, autocapitalize: "none", spellcheck: "false" });
    const password = h("input", { id: "password", name: "password", type: "password", autocomplete: "current-password" });
    const problem = h("p", { class: "problem", role: "alert" });
    const button = h("button", { type: "submit", class: "primary" }, "Log in");
    const submit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      setText(problem, "");
      try {
        await logIn(user.value, password.value);
        resolve();
      } catch (error) {
        setText(problem, reasonOf(error));
        password.value = "";
        password.focus();
      } finally {
        button.disabled = false;
      }
    };
    main.replaceChildren(
      h("section", { class: "login card" },
        h("h1", {}, "Log in"),
        h("p", { class: "muted" }, why ?? "As an account of the database. Whoever runs the node needs no login on its machine."),
        h("form", { on: { submit } },
          h("label", { for: "user" }, "Account"), user,
          h("label", { for: "password" }, "Password"), password,
          problem, h("div", { class: "actions" }, button,
            h("button", { type: "button", class: "quiet", on: { click: () => resolve() } }, "Go on without a login")))));
    user.focus();
  });
}

function reasonOf(error) {
  if (!(error instanceof Failure)) return String(error);
  if (error.isLost) return "The node does not answer. Try again in a moment.";
  if (error.status === 429) return "Too many logins have failed. Wait a little, then try again.";
  return error.message;
}
