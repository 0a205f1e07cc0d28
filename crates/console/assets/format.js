// Numbers, sizes and times as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(count) {
  if (count === null || count === undefined) return "–";
  let value = Number(count);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Whole numbers with gaps between thousands; what is beyond doubles comes as text and keeps its digits. */
export function count(value) {
  if (value === null || value === undefined) return "–";
  return String(value).replace(/^(-?\d+)/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f"));
}

/** `1 row`, `2 rows`. */
export function counted(value, what, many = `${what}s`) {
  return `${count(value)} ${String(value) === "1" ? what : many}`;
}

/** A figure of three digits or so. */
export function figure(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${trim(value / 1e9)} G`;
  if (size >= 1e6) return `${trim(value / 1e6)} M`;
  if (size >= 1e4) return `${trim(value / 1e3)} k`;
  return trim(value);
}

function trim(value) {
  const size = Math.abs(value);
  const text = size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
  return count(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

export function micros(value) {
  if (value === null || value === undefined) return "–";
  const time = Number(value);
  if (time < 1000) return `${Math.round(time)} µs`;
  if (time < 1e6) return `${trim(time / 1e3)} ms`;
  if (time < 120e6) return `${trim(time / 1e6)} s`;
  return seconds(time / 1e6);
}

export function seconds(value) {
  const all = Math.floor(Number(value));
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  if (all < 86_400) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86_400)} d ${Math.floor((all % 86_400) / 3600)} h`;
}

/** The time of day of seconds since 1970. */
export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

/** One line of a text, not longer than `most`. */
export function line(text, most = 200) {
  const flat = String(text ?? "").replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most)}…` : flat;
}

/** As the name of a database, table or column stands in a statement. */
export function quoted(name) {
  return `\`${String(name).replaceAll("`", "``")}\``;
}
