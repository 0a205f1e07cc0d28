// A text with several statements, taken apart: a semicolon in a string, a quoted name or a comment ends nothing.

/** The statements of a text, without their semicolons. DELIMITER, as MySQL's client has it, is understood. */
export function statementsOf(text) {
  const all = [];
  let delimiter = ";";
  let begin = 0;
  let at = 0;
  const end = (to) => {
    const statement = text.slice(begin, to).trim();
    if (hasMore(statement)) all.push(statement);
  };
  while (at < text.length) {
    const rest = text.slice(at, at + 24);
    const isAtBegin = text.slice(begin, at).trim() === "";
    const told = isAtBegin && /^delimiter[ \t]+(\S+)/i.exec(text.slice(at, at + 60));
    if (told) {
      delimiter = told[1];
      const lineEnd = text.indexOf("\n", at);
      at = lineEnd < 0 ? text.length : lineEnd + 1;
      begin = at;
    } else if (text.startsWith(delimiter, at)) {
      end(at);
      at += delimiter.length;
      begin = at;
    } else {
      at = afterToken(text, at, rest);
    }
  }
  end(text.length);
  return all;
}

/** Where what begins at a place ends: a string, a name, a comment, or one character. */
function afterToken(text, at, rest) {
  const char = text[at];
  if (char === "'" || char === '"' || char === "`") {
    for (let next = at + 1; next < text.length; next += 1) {
      if (text[next] === "\\" && char !== "`") next += 1;
      else if (text[next] === char) return next + 1;
    }
    return text.length;
  }
  if (char === "#" || /^--(\s|$)/.test(rest)) {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end + 1;
  }
  if (rest.startsWith("/*")) {
    const end = text.indexOf("*/", at + 2);
    return end < 0 ? text.length : end + 2;
  }
  return at + 1;
}

/** Whether there is more than comments. */
function hasMore(statement) {
  return statement.replace(/\/\*(?!!)[\s\S]*?\*\/|#.*|--\s.*/g, "").trim() !== "";
}
