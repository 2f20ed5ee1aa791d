// Creates a short string that matches a simple regular expression: literals, classes, groups, alternatives, repetitions.
// Look-arounds and back references are not supported, so the string does not match an expression that depends on them.

const REPEAT_MAX = 64
const SOURCE_LENGTH_MAX = 2000
const classExamples: Record<string, string> = { d: '1', D: 'a', w: 'a', W: '-', s: ' ', S: 'a' }
const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' }

interface Cursor {
  source: string
  index: number
}

/**
 * Creates an example for a regular expression.
 * @param source the expression without delimiters or flags
 * @returns the example; an empty string for an expression of more than 2000 characters.
 */
export function exampleOfRegex(source: string): string {
  if (source.length > SOURCE_LENGTH_MAX) return ''
  return readAlternatives({ source, index: 0 })
}

/** Reads alternatives up to the closing parenthesis or the end; the first one that is not empty is the example. */
function readAlternatives(cursor: Cursor): string {
  let example = readSequence(cursor)
  while (cursor.source[cursor.index] === '|') {
    cursor.index++
    const other = readSequence(cursor)
    if (example === '') example = other
  }
  return example
}

function readSequence(cursor: Cursor): string {
  let example = ''
  while (cursor.index < cursor.source.length && !'|)'.includes(cursor.source[cursor.index] ?? '')) {
    const atom = readAtom(cursor)
    example += atom.repeat(readRepetition(cursor))
  }
  return example
}

function readAtom(cursor: Cursor): string {
  const letter = cursor.source[cursor.index++] ?? ''
  switch (letter) {
    case '^':
    case '$':
      return ''
    case '.':
      return 'a'
    case '(':
      return readGroup(cursor)
    case '[':
      return readClass(cursor)
    case '\\':
      return readEscape(cursor)
    default:
      return letter
  }
}

function readGroup(cursor: Cursor): string {
  const prefix = /\?(?:[:=!]|<[=!]|<[^>]*>)/y
  prefix.lastIndex = cursor.index
  const match = prefix.exec(cursor.source)
  if (match !== null) cursor.index += match[0].length
  const example = readAlternatives(cursor)
  cursor.index++
  return match !== null && /[=!]/.test(match[0].slice(1, 3)) ? '' : example
}

function readEscape(cursor: Cursor): string {
  const letter = cursor.source[cursor.index++] ?? ''
  if (letter === 'b' || letter === 'B') return ''
  if (letter === 'u' || letter === 'x') {
    const digits = cursor.source.slice(cursor.index, cursor.index + (letter === 'u' ? 4 : 2))
    if (/^[0-9a-fA-F]+$/.test(digits)) {
      cursor.index += digits.length
      return String.fromCharCode(Number.parseInt(digits, 16))
    }
  }
  if (letter === 'p' || letter === 'P') {
    const close = cursor.source.indexOf('}', cursor.index)
    if (close !== -1) cursor.index = close + 1
    return 'a'
  }
  return classExamples[letter] ?? escapes[letter] ?? letter
}

/** Reads a class after its `[`. The example is the first member, or for a negated class a letter that is not in it. */
function readClass(cursor: Cursor): string {
  const start = cursor.index - 1
  const isNegated = cursor.source[cursor.index] === '^'
  if (isNegated) cursor.index++
  let first: string | undefined
  while (cursor.index < cursor.source.length && cursor.source[cursor.index] !== ']') {
    const letter = cursor.source[cursor.index++] ?? ''
    const member = letter === '\\' ? readEscape(cursor) : letter
    first ??= member
  }
  cursor.index++
  if (!isNegated) return first ?? ''
  const matcher = compile(cursor.source.slice(start, cursor.index))
  return [...'a1 -_A.'].find(candidate => matcher?.test(candidate) === true) ?? 'a'
}

function readRepetition(cursor: Cursor): number {
  const quantifier = /(?:[*?]|\+|\{(\d+)(?:,\d*)?\})\??/y
  quantifier.lastIndex = cursor.index
  const match = quantifier.exec(cursor.source)
  if (match === null) return 1
  cursor.index += match[0].length
  if (match[1] !== undefined) return Math.min(REPEAT_MAX, Number(match[1]))
  return match[0].startsWith('+') ? 1 : 0
}

function compile(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u')
  } catch {
    return undefined
  }
}
