// Clicking a number shows how it was computed, and which files it was read from.
(function () {
  var files = JSON.parse(document.getElementById("file-names").textContent);
  var box = document.getElementById("source");
  function close() { box.hidden = true; }
  box.querySelector("button").addEventListener("click", close);
  document.addEventListener("keydown", function (e) { if (e.key === "Escape") close(); });
  document.addEventListener("click", function (e) {
    if (!e.target.closest || e.target.closest("#source")) return;
    var at = e.target.closest("[data-from]");
    if (!at) { close(); return; }
    var from = at.getAttribute("data-from");
    var title = at.querySelector("title");
    box.querySelector("p").textContent = (title ? title.textContent : at.textContent) + " = " + from;
    var list = box.querySelector("dl");
    list.textContent = "";
    var seen = {};
    (from.match(/[a-z0-9:]+(\/[a-z]+)?#/g) || []).forEach(function (name) {
      name = name.slice(0, -1).split("/")[0];
      if (seen[name] || !files[name]) return;
      seen[name] = true;
      var term = document.createElement("dt"), path = document.createElement("dd");
      term.textContent = name;
      path.textContent = files[name];
      list.append(term, path);
    });
    box.hidden = false;
  });
  // Everything is read in print.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
})();
