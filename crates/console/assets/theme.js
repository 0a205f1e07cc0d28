// Runs before anything is painted, so that a scheme that was chosen is there from the beginning.
"use strict";
{
  const chosen = localStorage.getItem("latsdb.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
