// Reads a `.env` file: assignments, comments, quotes and references to other variables (bridge contract, section 1.5).

type Lookup = (name: string) => string | undefined

// One assignment. A quoted value may span lines; an unquoted one ends at the line or at a blank followed by `#`.
const ASSIGNMENT =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|([^\r\n]*))/gm

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/**
 * Returns the assignments of a `.env` text in file order. `${NAME}` and `${NAME:-otherwise}` are replaced in unquoted and double
 * quoted values, from the environment first and from earlier lines second; single quotes keep everything as it is.
 */
export function parseDotenv(
  text: string,
  environment: Readonly<Record<string, string | undefined>>
): Record<string, string> {
  const values: Record<string, string> = Object.create(null)
  const lookup: Lookup = name => environment[name] ?? values[name]
  for (const match of text.replace(/^\ufeff/, '').matchAll(ASSIGNMENT)) {
    const [, name, singleQuoted, doubleQuoted, bare] = match
    if (name === undefined) continue
    if (singleQuoted !== undefined) values[name] = singleQuoted
    else if (doubleQuoted !== undefined) values[name] = expandQuoted(doubleQuoted, lookup)
    else values[name] = expand(stripComment(bare ?? ''), lookup)
  }
  return values
}

function stripComment(bare: string): string {
  return bare.replace(/(^|[ \t])#.*$/, '').trim()
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

function expand(text: string, lookup: Lookup): string {
  return text.replace(REFERENCE, (_, name: string, otherwise: string | undefined) => {
    const value = lookup(name)
    return value === undefined || (value === '' && otherwise !== undefined) ? (otherwise ?? '') : value
  })
}

/** Escapes and references in one pass, so that an escaped dollar is not expanded and an expanded text is not unescaped. */
function expandQuoted(text: string, lookup: Lookup): string {
  return text.replace(/\\([\s\S])|\$\{[^}]*\}/g, (whole: string, escaped: string | undefined) =>
    escaped === undefined ? expand(whole, lookup) : (ESCAPES[escaped] ?? escaped)
  )
}
