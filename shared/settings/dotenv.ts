// Reads a `.env` file: assignments, comments, quotes and references to other variables
// (bridge.md 1.5). Own code, because `util.parseEnv` and dotenv cut an unquoted value at any `#`,
// drop the quotes before a reference could be replaced (so that one in single quotes would be,
// too), and report no ignored lines.

type Lookup = (name: string) => string | undefined

// One assignment. A quoted value may span lines; an unquoted one ends at the end of its line or at a blank followed by `#`.
const ASSIGNMENT =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?:'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|([^\r\n]*))/gm

/** What a byte that is no UTF-8 is read as. */
const REPLACEMENT = '\uFFFD'

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

export interface Dotenv {
  readonly values: Record<string, string>
  /** Numbers of the lines that are neither assignment nor comment, counted from 1. */
  readonly ignoredLines: readonly number[]
  /** Names whose values hold bytes that are no UTF-8, as editors with a code page write them. */
  readonly brokenNames: readonly string[]
}

/**
 * Returns the assignments of a `.env` text in file order, and the lines that it ignores. `${NAME}` and `${NAME:-otherwise}` are
 * replaced in unquoted and double quoted values, from the environment first and from earlier lines second; single quotes keep
 * everything as it is.
 */
export function parseDotenv(text: string, environment: Readonly<Record<string, string | undefined>>): Dotenv {
  const values: Record<string, string> = Object.create(null)
  const brokenNames = new Set<string>()
  const lookup: Lookup = name => environment[name] ?? values[name]
  for (const match of text.matchAll(ASSIGNMENT)) {
    const [, name, singleQuoted, doubleQuoted, bare] = match
    if (name === undefined) continue
    const written = singleQuoted ?? doubleQuoted ?? stripComment(bare ?? '')
    if (written.includes(REPLACEMENT)) brokenNames.add(name)
    if (singleQuoted !== undefined) values[name] = singleQuoted
    else if (doubleQuoted !== undefined) values[name] = expandQuoted(doubleQuoted, lookup)
    else values[name] = expand(written, lookup)
  }
  return { values, ignoredLines: findIgnoredLines(text), brokenNames: [...brokenNames] }
}

/** Whether a text was read as UTF-8 and is UTF-16: its characters of ASCII have a byte of zero each. No `.env` file has such a byte otherwise. */
export function isUtf16(text: string): boolean {
  return text.includes('\0')
}

function findIgnoredLines(text: string): number[] {
  // An assignment becomes a comment with as many line ends, because a quoted value may span lines.
  const rest = text.replace(ASSIGNMENT, assignment => `#${assignment.replace(/[^\r\n]/g, '')}`)
  const ignored: number[] = []
  for (const [index, line] of rest.split(/\r\n|\r|\n/).entries()) {
    if (!/^[ \t]*(?:#|$)/.test(line)) ignored.push(index + 1)
  }
  return ignored
}

/** Returns a warning for each ignored line. It names the line and never its content, which may be part of a secret. */
export function describeIgnoredLines(lines: readonly number[]): string[] {
  const warnings = lines
    .slice(0, WARNINGS_MAX)
    .map(line => `Line ${line} of the .env file is not an assignment; it is ignored.`)
  const unnamed = lines.length - warnings.length
  if (unnamed > 0) warnings.push(`${unnamed} further lines of the .env file are not assignments; they are ignored.`)
  return warnings
}

/** Returns a warning for each value that is not what was written. */
export function describeBrokenNames(names: readonly string[]): string[] {
  return names
    .slice(0, WARNINGS_MAX)
    .map(name => `${name} in the .env file has characters that are not UTF-8: save the file as UTF-8.`)
}

/** Bounds the warnings about a file that is not a `.env` file at all. */
const WARNINGS_MAX = 10

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

/** Replaces escapes and references in one pass, so that an escaped dollar is not expanded and an expanded text is not unescaped. */
function expandQuoted(text: string, lookup: Lookup): string {
  return text.replace(/\\([\s\S])|\$\{[^}]*\}/g, (whole: string, escaped: string | undefined) =>
    escaped === undefined ? expand(whole, lookup) : (ESCAPES[escaped] ?? escaped)
  )
}
