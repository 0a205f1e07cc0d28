// What a backup of this node would have, and how one is drawn. Backups are files of whoever draws them: the node keeps no list.

import { get } from "../client.js";
import { copyButton, h, replace, setText } from "../dom.js";
import { bytes, count, counted } from "../format.js";

export const title = "Backups";
export const about = "What is on disk, how far the log reaches back, and the commands that draw and restore backups. Backups belong to who draws them: the node keeps no list of them.";
export const icon = "M4 4h10l2 2v10H4zM7 4v4h5V4M7 16v-5h6v5";
export const every = 5000;

export function mount(body) {
  const facts = h("dl", { class: "facts" });
  const folder = h("input", { id: "folder", value: "/backup/latsdb", spellcheck: "false" });
  const until = h("input", { id: "until", placeholder: "2026-01-31 14:05:00.250", spellcheck: "false" });
  const commands = h("div", { class: "sheet" });
  let from = location.host;

  const draw = () => {
    const to = shellWord(folder.value || "/backup/latsdb");
    const end = until.value.trim() ? ` --until ${shellWord(until.value.trim())}` : "";
    const all = [
      ["Everything, while the node runs", `latsdb backup --from ${from} --to ${to}`],
      ["What the log has more since then; as often as you like", `latsdb backup --from ${from} --log --to ${to}`],
      ["All the time, until it is stopped", `latsdb backup --from ${from} --log --follow --to ${to}`],
      ["What is in it, and which moments can be restored", `latsdb backup --verify ${to}`],
      ["Restore into a new data directory", `latsdb restore --from ${to} --data-dir ./restored${end}`],
    ];
    replace(commands, all.map(([what, text]) => h("div", { class: "snippet" },
      h("div", { class: "head" }, h("h3", {}, what), copyButton(text, what)), h("pre", { class: "code", tabindex: 0 }, text))));
  };
  folder.addEventListener("input", draw);
  until.addEventListener("input", draw);
  draw();
  replace(body,
    h("section", { class: "card sheet" }, h("h2", {}, "On this node's disk"), facts),
    h("section", { class: "card sheet" }, h("h2", {}, "Draw and restore"),
      h("div", { class: "head" },
        h("label", { class: "inline", for: "folder" }, "Directory of the backup", folder),
        h("label", { class: "inline", for: "until" }, "Restore to a moment (UTC), or everything", until)),
      commands),
    h("p", { class: "hint" }, "A backup is taken over loopback by the user who runs the node, or by an account with the privilege BACKUP_ADMIN (",
      h("code", { class: "code" }, "--user"), "); from other machines by whoever has a certificate of the nodes' authority. It has all rows and password hashes: keep it as you keep the data."));

  return {
    async update(signal) {
      let status;
      try {
        status = await get("/status", { signal });
      } catch (error) {
        if (error.status !== 403) throw error;
        replace(facts, h("dt", {}, "Not shown"), h("dd", {}, "for accounts with the privilege PROCESS"));
        return;
      }
      const shard = status.shards[0];
      const all = shard ? [
        ["Data directory", status.data_dir],
        ["Newest checkpoint", `log entry ${count(shard.checkpoint_index)}`],
        ["Newest entry", count(shard.last_log_index)],
        ["Log behind the checkpoint", counted(Math.max(shard.last_log_index - shard.checkpoint_index, 0), "entry", "entries")],
        ["Log on disk", `${bytes(shard.log_bytes)}; up to ${bytes(shard.log_keep_bytes)} are kept behind a checkpoint`],
        ["An archive goes on", "with --log, as long as it lacks no more than that"],
      ] : [["Data directory", status.data_dir]];
      const text = JSON.stringify(all);
      if (facts.dataset.shown === text) return;
      facts.dataset.shown = text;
      replace(facts, all.map(([name, value]) => [h("dt", {}, name), setText(h("dd"), value)]));
    },
  };
}

/** A word that a shell takes as it is. */
function shellWord(text) {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
